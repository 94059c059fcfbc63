"""Manifest of a folder of shards: what is in each file, and where the ids come from."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokctl.core import orjson
from tokctl.core.errors import BadInput
from tokctl.core.schema import COUNT, PLAIN_NAME, AnyOf, OneOf, Satisfies, Whole, check
from tokctl.idfiles.registry import BY_NAME
from tokctl.idfiles.shard_stores import JOURNAL, LocalStore, ShardStore, open_store

MANIFEST = "manifest.json"

MANIFEST_HINT = (
    "copy it again from where it came, or make the shards again with tokctl encode --shard-size"
)
_SHARD_HINT = "copy it again from where it came, or make the shards again"

#: Names of the files of shards.
SHARD_NAME = re.compile(r"shard-\d{5,}\.[a-z.]+")

#: Version of the manifest's layout.
_VERSION = 1

#: Field of a manifest, and of a line of a journal, with its own SHA-256.
DIGEST_KEY = "sha256"

_DIGEST = Satisfies("a SHA-256", lambda value: bool(re.fullmatch("[0-9a-f]{64}", str(value))))
_FILE = {"file": PLAIN_NAME, "bytes": COUNT, "sha256": _DIGEST}

#: Schema of a shard in the manifest and in journals.
SHARD = {**_FILE, "ids": COUNT, "documents": COUNT, "index?": _FILE}

#: Schema of what any manifest must have to be read, whatever program wrote it.
_LISTED_FILE = {"file": PLAIN_NAME, "bytes?": COUNT, "sha256?": _DIGEST}
_LISTED = {
    "form": str,
    "dtype?": AnyOf(str, None),
    "shards": [{**_LISTED_FILE, "index?": _LISTED_FILE}],
}

#: Schema of the result of `manifest_of`.
_MANIFEST = {
    "manifest": OneOf(_VERSION),
    "form": str,
    "dtype": AnyOf(str, None),
    "shard_size": Whole(1),
    "sources": [
        {
            "name": AnyOf(str, {"bytes": str}),
            "bytes": AnyOf(COUNT, None),
            "documents": COUNT,
            "ids": COUNT,
        }
    ],
    "shards": [SHARD],
    "totals": dict.fromkeys(("shards", "documents", "ids", "bytes"), COUNT),
    DIGEST_KEY: _DIGEST,
}


def manifest_of(
    job: dict[str, Any], sources: list[dict[str, Any]], shards: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of `manifest.json`, equal for equal sources, model and options."""
    totals = totals_of(shards)
    content = {"manifest": _VERSION, **job, "sources": sources, "shards": shards, "totals": totals}
    return add_digest(content)


def totals_of(shards: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the sums over all shards: shards, documents, ids and bytes."""
    return {
        "shards": len(shards),
        "documents": sum(shard["documents"] for shard in shards),
        "ids": sum(shard["ids"] for shard in shards),
        "bytes": sum(file["bytes"] for file in files_in(shards)),
    }


def files_in(shards: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files of shards: for each shard the ids and, if it has one, the index."""
    return [file for shard in shards for file in (shard, shard.get("index")) if file is not None]


def digest_of(document: dict[str, Any], previous: str = "") -> str:
    """Return the SHA-256 of a document that follows a document with the digest `previous`.

    The chain of digests shows a missing or moved line. White space in the JSON does not count.
    """
    return hashlib.sha256(previous.encode() + orjson.dumps(document)).hexdigest()


def add_digest(document: dict[str, Any], previous: str = "") -> dict[str, Any]:
    """Return the document with its digest."""
    return {**document, DIGEST_KEY: digest_of(document, previous)}


def remove_digest(document: Any, previous: str = "") -> dict[str, Any]:
    """Return the document without its digest; raise ValueError if the digest is wrong."""
    if not isinstance(document, dict):
        raise ValueError
    rest = {key: value for key, value in document.items() if key != DIGEST_KEY}
    try:
        digest = digest_of(rest, previous)
    except TypeError:  # nested too deeply to be a document that tokctl wrote
        raise ValueError from None
    if document.get(DIGEST_KEY) != digest:
        raise ValueError
    return rest


def manifest_at(path: str) -> tuple[ShardStore, str]:
    """Return the place of a manifest, and its name there.

    Args:
        path: path or address of the manifest or of its folder.

    Raises:
        TokctlError: `path` is a folder without a manifest.
    """
    store, name = open_store(path), MANIFEST
    is_folder = store.path.is_dir() if isinstance(store, LocalStore) else bool(store.entries())
    if not is_folder:
        parent, _, name = path.replace(os.sep, "/").rstrip("/").rpartition("/")
        return open_store(parent if "://" in parent else Path(path).parent), name
    if store.size(MANIFEST) is None:
        if store.size(JOURNAL) is not None:
            raise BadInput(
                f"{path} holds shards of a run that stopped",
                "finish it: tokctl encode --resume",
                "damaged",
            )
        raise BadInput(
            f"{path} is a folder without {MANIFEST}", "name the files in it", "unreadable"
        )
    return store, name


def read_manifest(store: ShardStore, name: str) -> dict[str, Any]:
    """Return the content of a manifest.

    Args:
        store: folder of the manifest.
        name: its name.

    Raises:
        TokctlError: the file can't be read, or is not a manifest of shards.
    """
    manifest = store.file(name)
    data = store.read(name)
    if data is None:
        raise BadInput(
            f"can't read {manifest}: No such file or directory",
            "check the file and its permissions",
            "unreadable",
        )
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{manifest} is not valid JSON: {error}", MANIFEST_HINT, "damaged") from None
    checked: dict[str, Any] = check(
        content, _LISTED, f"{manifest} is not a manifest of shards", MANIFEST_HINT
    )
    return checked


def read_own_manifest(store: ShardStore, name: str) -> dict[str, Any]:
    """Return the content of a manifest that `manifest_of` made.

    Args:
        store: folder of the manifest.
        name: its name.

    Raises:
        TokctlError: as `read_manifest`, or a value is missing or was changed.
    """
    manifest, content = store.file(name), read_manifest(store, name)
    check(content, _MANIFEST, f"{manifest} is not a manifest of shards", MANIFEST_HINT)
    try:
        remove_digest(content)
    except ValueError:
        raise BadInput(
            f"{manifest} was changed after it was written", MANIFEST_HINT, "damaged"
        ) from None
    return content


@dataclass(frozen=True)
class ShardList:
    """Shards of a folder.

    Attributes:
        form: form of all shards.
        dtype: name of the type of the ids; None if unknown.
        folder: folder of the files.
        shards: the shards in the order of their ids, as in the manifest.
    """

    form: str
    dtype: str | None
    folder: Path
    shards: list[dict[str, Any]]

    @property
    def size(self) -> int:
        """Bytes of all ids."""
        return sum((self.folder / shard["file"]).stat().st_size for shard in self.shards)

    def verified(self) -> Iterator[str]:
        """Yield the path of each shard, after a check of its size and SHA-256.

        A shard is checked when it is reached. The indexes of `bin` and `npy` are not checked.

        Raises:
            TokctlError: a shard is damaged.
        """
        store = LocalStore(self.folder)
        for shard in self.shards:
            for file in files_in([shard]) if len(BY_NAME[self.form].endings) > 1 else [shard]:
                if "sha256" in file:
                    _check_shard(store, file)
            yield str(self.folder / shard["file"])


def list_shards(path: str) -> ShardList:
    """Return the shards in the manifest of a folder.

    Args:
        path: the folder or its manifest.

    Raises:
        TokctlError: the manifest is missing or can't be read, or a shard is missing.
    """
    store, name = manifest_at(path)
    content = read_manifest(store, name)
    folder = Path(store.file(name)).parent
    for shard in content["shards"]:
        _check_shard(LocalStore(folder), {**shard, "sha256": None})
    return ShardList(content["form"], content.get("dtype"), folder, content["shards"])


def unlisted(store: ShardStore, shards: list[dict[str, Any]], manifest: str) -> Iterator[str]:
    """Yield a fault for each shard file in the folder that the manifest does not list.

    Args:
        store: folder of the shards.
        shards: the shards of the manifest.
        manifest: name of the manifest for messages.
    """
    listed = {file["file"] for file in files_in(shards)}
    for entry in store.entries() or ():
        if SHARD_NAME.fullmatch(entry) and entry not in listed:
            yield f"{store.file(entry)} is in the folder and not in {manifest}"


def describe_file(path: Path) -> dict[str, Any]:
    """Return the name, the size and the SHA-256 of a file, as in the manifest."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": path.name, "bytes": file.tell(), "sha256": digest}


def file_fault(store: ShardStore, file: dict[str, Any], name: str | None = None) -> str | None:
    """Return a sentence about the fault of a file of a shard, or None.

    A file is right if it has the size and the SHA-256 in `file`; a value that is missing there is
    not checked.

    Args:
        store: folder of the shards.
        file: the file as in the manifest or the journal; see `describe_file`.
        name: name for messages, if it differs from the name in `store`.
    """
    name = name or store.file(file["file"])
    try:
        size = store.size(file["file"])
        if size is None:
            return f"{name} is missing"
        if size != file.get("bytes", size):
            return f"{name} has {size:,} bytes, not {file['bytes']:,}"
        if file.get("sha256") is not None:
            with store.reader(file["file"]) as stream:
                digest = hashlib.file_digest(stream, "sha256")  # type: ignore[arg-type]
                if digest.hexdigest() != file["sha256"]:
                    return f"{name} has another checksum (SHA-256)"
    except OSError as error:
        return f"{name} can't be read: {error.strerror or error}"
    return None


def _check_shard(store: ShardStore, file: dict[str, Any]) -> None:
    """Raise TokctlError if a file of a shard has a fault."""
    if (fault := file_fault(store, file)) is not None:
        raise BadInput(f"the shard {fault}", _SHARD_HINT, "damaged")
