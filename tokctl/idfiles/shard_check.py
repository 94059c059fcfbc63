"""Are the shards of a folder whole? Their manifest says what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tokctl import orjson
from tokctl.errors import TokctlError
from tokctl.files import is_plain_name
from tokctl.idfiles import SHARDED
from tokctl.idfiles.dtypes import WRITTEN, dtype_named
from tokctl.idfiles.npy import read_npy
from tokctl.idfiles.places import Place
from tokctl.idfiles.random_access import InputFile
from tokctl.idfiles.reader import read_parts
from tokctl.idfiles.shard_journal import files_in, totals_of
from tokctl.idfiles.shards import EXACT, SHARD, manifest_at, read_manifest
from tokctl.sources.blocks import BlockStream, file_source


class ShardCheck(NamedTuple):
    """What a folder's manifest says, and what is not so.

    Attributes:
        form: of the shards.
        shards, documents, ids, bytes: the totals of the manifest.
        faults: each names the file.
    """

    form: str
    shards: int
    documents: int
    ids: int
    bytes: int
    faults: list[str]


def check_shards(path: str | Path) -> ShardCheck:
    """Reads every file of a folder of shards, and compares it with the manifest: its bytes and its
    checksum, how many ids and documents are in it, where these begin; the sums; and that no other
    shard lies there. No model is needed.

    Args:
        path: the folder, or its manifest; or the address of either.

    Raises:
        TokctlError: there is no manifest, or it is none of a folder of shards.
    """
    place, name = manifest_at(str(path))
    manifest, found = place.file(name), read_manifest(place, name)
    try:
        totals = {key: int(found["totals"][key]) for key in ("shards", "documents", "ids", "bytes")}
        size = int(found["shard_size"])
        known = found["form"] in SHARDED and (found["dtype"] in WRITTEN or found["form"] == "jsonl")
        shards = [_checked(shard) for shard in found["shards"]]
        sources = {key: sum(one[key] for one in found["sources"]) for key in ("documents", "ids")}
    except (KeyError, TypeError, ValueError):
        known = False
    if not known:
        raise TokctlError(
            f"{manifest} is no manifest of shards", "tokctl encode --shard-size writes it"
        )
    form = found["form"]
    faults: list[str] = []
    for number, shard in enumerate(shards):
        with place.fetched(file["file"] for file in files_in([shard])) as folder:
            faults += _faults(place, folder, form, found["dtype"], shard)
        ids, last = shard["ids"], number == len(shards) - 1
        if (ids < size and not last) or (form in EXACT and ids > size):
            faults.append(
                f"{place.file(shard['file'])} has {ids:,} ids, where shards have {size:,}"
            )
    for key, there in totals_of(shards).items():
        if there != totals[key]:
            faults.append(f"{manifest} has {totals[key]:,} {key} in all, and its shards {there:,}")
    for key, there in sources.items():
        if there != totals[key]:
            faults.append(f"{manifest} has {totals[key]:,} {key} in all, and its sources {there:,}")
    listed = {file["file"] for file in files_in(shards)}
    faults += [
        f"{place.file(entry)} is in the folder and not in {manifest}"
        for entry in place.entries() or ()
        if SHARD.fullmatch(entry) and entry not in listed
    ]
    return ShardCheck(form, **totals, faults=faults)


def _checked(shard: dict[str, Any]) -> dict[str, Any]:
    """The shard; an error where it is not as a manifest has it."""
    for file in files_in([shard]):
        if not is_plain_name(file["file"]) or not isinstance(file["sha256"], str):
            raise ValueError
        int(file["bytes"])
    if min(int(shard["ids"]), int(shard["documents"])) < 0:
        raise ValueError
    return shard


def _faults(
    place: Place, folder: Path, form: str, dtype: str | None, shard: dict[str, Any]
) -> Iterator[str]:
    """What is not so with a shard of a place, whose files are in a folder on the disk."""
    files = files_in([shard])
    if (form in EXACT or form == "megatron") != (len(files) == 2):
        yield f"{place.file(shard['file'])} has {len(files)} files, which {form} has not"
        return
    whole = True
    for file in files:
        for fault in _file_faults(place.file(file["file"]), folder / file["file"], file):
            whole = False
            yield fault
    if not whole:
        return
    name = place.file(shard["file"])
    try:
        ids, documents = _counted(form, str(folder / shard["file"]), dtype)
        if form in EXACT:
            documents = 0
            before = 0
            index = str(folder / shard["index"]["file"])
            for part in read_npy(_stream(index), index):
                for start in part.ids:
                    documents += 1
                    if not before <= start <= ids:
                        where = place.file(shard["index"]["file"])
                        yield f"{where}: document {documents} begins with id {start:,} of {ids:,}"
                        return
                    before = start
    except TokctlError as error:
        yield error.message.replace(str(folder), str(place))
        return
    for key, there in (("ids", ids), ("documents", documents)):
        if there != shard[key]:
            yield f"{name} has {there:,} {key}, and the manifest says {shard[key]:,}"


def _file_faults(name: str, path: Path, file: dict[str, Any]) -> Iterator[str]:
    try:
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            size = opened.tell()
    except FileNotFoundError:
        yield f"{name} is missing"
    except OSError as error:
        yield f"{name} can't be read: {error.strerror}"
    else:
        if size != file["bytes"]:
            yield f"{name} has {size:,} bytes, not {file['bytes']:,}"
        elif digest != file["sha256"]:
            yield f"{name} has another checksum (SHA-256)"


def _counted(form: str, name: str, dtype: str | None) -> tuple[int, int]:
    """The ids of a shard, and its documents where the form says where they end."""
    ids = documents = 0
    if form == "jsonl":
        with Path(name).open("rb") as lines:
            for line in lines:
                documents += 1
                try:
                    ids += len(orjson.loads(line)["ids"])
                except (LookupError, TypeError, ValueError):
                    raise TokctlError(
                        f"{name}: line {documents} has no list of ids",
                        "write the shard again: tokctl encode --resume",
                    ) from None
        return ids, documents
    assert dtype is not None
    parts = read_parts(
        form, InputFile(name, path=name), _stream(name), name, dtype_named(dtype), None
    )
    for part in parts:
        ids += len(part.ids)
        documents += part.ends
    return ids, documents


def _stream(path: str) -> BlockStream:
    return BlockStream(file_source(path).blocks())
