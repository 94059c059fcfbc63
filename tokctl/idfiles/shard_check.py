"""Check of a folder of shards against its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.core import orjson
from tokctl.core.errors import BadInput, TokctlError, Unsupported
from tokctl.idfiles import SHARDED
from tokctl.idfiles.dtypes import DTYPES, WRITTEN, Dtype, dtype_named
from tokctl.idfiles.manifest import (
    file_fault,
    files_in,
    manifest_at,
    read_own_manifest,
    totals_of,
    unlisted,
)
from tokctl.idfiles.npy import read_npy
from tokctl.idfiles.random_access import IdInput, InputFile
from tokctl.idfiles.registry import BY_NAME
from tokctl.idfiles.shard_stores import LocalStore, ShardStore
from tokctl.sources.blocks import BlockStream, file_source


class ShardCheck(NamedTuple):
    """Totals of a folder's manifest, and the faults that were found.

    Attributes:
        form: form of the shards.
        shards: number of shards in the manifest.
        documents: number of documents in the manifest.
        ids: number of ids in the manifest.
        bytes: number of bytes in the manifest.
        faults: sentences that name the file and the fault.
    """

    form: str
    shards: int
    documents: int
    ids: int
    bytes: int
    faults: list[str]


def check_shards(path: str | Path) -> ShardCheck:
    """Read every file of a folder of shards, and compare it with the manifest.

    Compared are: size and SHA-256 of each file; its number of ids and of documents; where documents
    begin; the totals. Shard files that the manifest does not list are faults, too. No model is
    needed.

    Args:
        path: path or address of the folder or of its manifest.

    Returns:
        The totals of the manifest and the faults, which are empty if the folder is intact.

    Raises:
        TokctlError: the manifest is missing, or is not one of a folder of shards.
    """
    store, name = manifest_at(str(path))
    manifest = store.file(name)
    content = read_own_manifest(store, name)
    shards, totals, size, form = (
        content[key] for key in ("shards", "totals", "shard_size", "form")
    )
    if form not in SHARDED or not (content["dtype"] in WRITTEN or form == "jsonl"):
        raise Unsupported(
            f"{manifest} is of the form {form} and the dtype {content['dtype']}, which this "
            "release "
            "does not know",
            "check it with the release of tokctl that made it",
        )
    sources = {
        key: sum(source[key] for source in content["sources"]) for key in ("documents", "ids")
    }
    faults: list[str] = []
    for number, shard in enumerate(shards):
        with store.fetched(file["file"] for file in files_in([shard])) as folder:
            faults += _find_faults(store, folder, form, content["dtype"], shard)
        ids, is_last = shard["ids"], number == len(shards) - 1
        if (ids < size and not is_last) or (BY_NAME[form].has_index and ids > size):
            faults.append(
                f"{store.file(shard['file'])} has {ids:,} ids, where shards have {size:,}"
            )
    for key, total in totals_of(shards).items():
        if total != totals[key]:
            faults.append(f"{manifest} has {totals[key]:,} {key} in all, and its shards {total:,}")
    for key, total in sources.items():
        if total != totals[key]:
            faults.append(f"{manifest} has {totals[key]:,} {key} in all, and its sources {total:,}")
    faults += unlisted(store, shards, manifest)
    return ShardCheck(form, **{key: totals[key] for key in ShardCheck._fields[1:5]}, faults=faults)


def _find_faults(
    store: ShardStore, folder: Path, form: str, dtype: str | None, shard: dict[str, Any]
) -> Iterator[str]:
    """Yield the faults of a shard.

    Args:
        store: folder of the shards; its name is used in messages.
        folder: folder on the disk with the files of the shard.
        form: form of the shards.
        dtype: name of the type of the ids; None for `jsonl`.
        shard: the shard, as in the manifest.
    """
    files, row = files_in([shard]), BY_NAME[form]
    if (row.has_index or len(row.endings) == 2) != (len(files) == 2):
        yield f"{store.file(shard['file'])} has {len(files)} files, which {form} has not"
        return
    local_store = LocalStore(folder)
    file_faults = [file_fault(local_store, file, store.file(file["file"])) for file in files]
    if any(file_faults):
        yield from filter(None, file_faults)
        return
    name = store.file(shard["file"])
    try:
        ids, documents = _count_shard(form, str(folder / shard["file"]), dtype)
        if row.has_index:
            documents = 0
            last_start = 0
            index = str(folder / shard["index"]["file"])
            for starts in read_npy(_open_file(index, DTYPES["int64"])):
                for start in starts.ids:
                    documents += 1
                    if not last_start <= start <= ids:
                        where = store.file(shard["index"]["file"])
                        yield f"{where}: document {documents} begins with id {start:,} of {ids:,}"
                        return
                    last_start = start
    except TokctlError as error:
        yield error.message.replace(str(folder), str(store))
        return
    for key, count in (("ids", ids), ("documents", documents)):
        if count != shard[key]:
            yield f"{name} has {count:,} {key}, and the manifest says {shard[key]:,}"


def _count_shard(form: str, name: str, dtype: str | None) -> tuple[int, int]:
    """Return the number of ids of a shard, and of documents if the form stores where they end."""
    ids = documents = 0
    if form == "jsonl":
        with Path(name).open("rb") as lines:
            for line in lines:
                documents += 1
                try:
                    ids += len(orjson.loads(line)["ids"])
                except (LookupError, TypeError, ValueError):
                    raise BadInput(
                        f"{name}: line {documents} has no list of ids",
                        "write the shard again: tokctl encode --resume",
                        "damaged",
                    ) from None
        return ids, documents
    assert dtype is not None
    for part in BY_NAME[form].read(_open_file(name, dtype_named(dtype))):
        ids += len(part.ids)
        documents += part.ends
    return ids, documents


def _open_file(path: str, dtype: Dtype) -> IdInput:
    stream = BlockStream(file_source(path).blocks())
    return IdInput(InputFile(path, path=path), stream, path, dtype)
