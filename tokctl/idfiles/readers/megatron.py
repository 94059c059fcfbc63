"""Megatron-LM's `.bin` and `.idx`, as `megatron/core/datasets/indexed_dataset.py` describes them.

The `.idx` has a header, the length of each sequence (32 bits), the byte of the `.bin` where each
begins (64 bits), and with which sequence each document begins, and behind the last one how many
there are (64 bits).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tokctl.errors import TokctlError
from tokctl.idfiles.readers.contract import Part
from tokctl.idfiles.readers.documents import Window, numbers_at
from tokctl.idfiles.readers.given import Given, Meter, Opened
from tokctl.idfiles.readers.kinds import KINDS, MEGATRON

MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQQ")
_HINT = "it was damaged, or is the index of another file"


def pair(path: str) -> tuple[str, str] | None:
    """The `.bin` and the `.idx` that a name means: either of them, or what both begin with."""
    stem = path
    for ending in (".bin", ".idx"):
        stem = stem.removesuffix(ending)
    names = (f"{stem}.bin", f"{stem}.idx")
    return names if all(Path(name).is_file() for name in names) else None


def is_index(path: str) -> bool:
    """Does a Megatron index begin there?"""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def parts(name: str, path: str, meter: Meter) -> Iterator[Part]:
    """The documents, each of its sequences end to end.

    Raises:
        TokctlError: one of the two files is missing or damaged, or they do not belong together.
    """
    names = pair(path)
    if names is None:
        raise TokctlError(
            f"{name}: Megatron's ids are two files, a .bin and an .idx of the same name",
            "name either of them, or what both names begin with",
        )
    data, index = (Given(name, lambda: iter(()), name, meter) for name in names)
    with data.opened() as ids, index.opened() as idx:
        yield from _parts(ids, idx)


def _parts(ids: Opened, idx: Opened) -> Iterator[Part]:
    name = idx.name
    if idx.size < _HEADER.size or idx.read(0, len(MAGIC)) != MAGIC:
        raise TokctlError(f"{name} is no index of Megatron's", _HINT)
    _, version, code, sequences, documents = _HEADER.unpack(idx.read(0, _HEADER.size))
    if version != 1:
        raise TokctlError(f"{name}: it is of version {version} of Megatron's index", _HINT)
    if code not in MEGATRON:
        raise TokctlError(
            f"{name}: its numbers are of kind {code}, which are no whole numbers", _HINT
        )
    size = _HEADER.size + 12 * sequences + 8 * documents
    if idx.size != size:
        raise TokctlError(
            f"{name}: it has {idx.size:,} bytes, and {sequences:,} sequences and {documents:,} "
            f"ends of documents take {size:,}",
            "is it cut off, or still being written?",
        )
    kind = KINDS[MEGATRON[code]]
    window = Window(ids, 0, ids.size // kind.width, kind)
    start = _HEADER.size
    lengths = numbers_at(idx, start, sequences, "int32")
    begins = numbers_at(idx, start + 4 * sequences, sequences, "int64")
    firsts = numbers_at(idx, start + 12 * sequences, documents, "int64")
    yield from _documents(window, ids, idx, lengths, begins, firsts, sequences)


def _documents(
    window: Window,
    ids: Opened,
    idx: Opened,
    lengths: Iterator[int],
    begins: Iterator[int],
    firsts: Iterator[int],
    sequences: int,
) -> Iterator[Part]:
    before = next(firsts, 0)
    if before != 0:
        raise TokctlError(f"{idx.name}: its first document begins with sequence {before}", _HINT)
    width = window.width
    for document, behind in enumerate(firsts, 1):
        if not before <= behind <= sequences:
            raise TokctlError(
                f"{idx.name}: document {document} ends with sequence {behind} of {sequences:,}, "
                f"and begins with {before}",
                _HINT,
            )
        for number in range(before, behind):
            length, begin = next(lengths), next(begins)
            if length < 0 or begin < 0 or begin % width or begin + length * width > ids.size:
                raise TokctlError(
                    f"{idx.name}: sequence {1 + number} has {length:,} ids from byte {begin:,} "
                    f"on, and {ids.name} has {ids.size:,} bytes",
                    "is it cut off, or not the .bin of this .idx?",
                )
            first = begin // width
            unit, last = "sequence", number + 1 == behind
            yield from window.parts(first, first + length, unit, 1 + number, ends=last)
        if before == behind:
            yield from window.parts(0, 0, "document", document)
        before = behind
    if before != sequences:
        raise TokctlError(
            f"{idx.name}: its documents end with sequence {before:,} of {sequences:,}", _HINT
        )
