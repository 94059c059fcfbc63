"""Rows of numbers without documents: `bin`, and NumPy's `.npy`."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterator

from tokctl.errors import TokctlError
from tokctl.idfiles.readers.contract import Part
from tokctl.idfiles.readers.kinds import KINDS, Kind, numbers
from tokctl.sources.streams import Stream

NPY_MAGIC = b"\x93NUMPY"

#: Bytes of a header; those of one-dimensional arrays have about a hundred.
_LONGEST_HEADER = 1 << 16

_CUT = "is it cut off, or still being written?"


def bin_parts(stream: Stream, name: str, kind: Kind) -> Iterator[Part]:
    """Numbers one behind the other, and nothing else.

    Raises:
        TokctlError: at the end, where the bytes are no whole number of ids.
    """
    done = yield from _parts(stream, name, kind, 0)
    if left := stream.read(kind.width):
        raise TokctlError(
            f"{name}: {done + len(left)} bytes are no whole number of ids of {kind.width} bytes "
            "each",
            "is it cut off, or not what tokctl encode --as bin writes with this model? --dtype "
            "says how wide ids are",
        )


def npy_parts(stream: Stream, name: str) -> Iterator[Part]:
    """A one-dimensional array of whole numbers, as `numpy.lib.format` describes the file
    (versions 1.0 to 3.0).

    Raises:
        TokctlError: it holds something else, is cut short, or goes on behind the array.
    """
    kind, count, start = _header(stream, name)
    end = start + count * kind.width
    done = yield from _parts(stream, name, kind, start, end)
    if done < end:
        ids = (done - start) // kind.width
        raise TokctlError(f"{name}: it ends after {ids:,} of {count:,} ids", _CUT)
    if stream.read(1):
        raise TokctlError(
            f"{name}: something stands behind the array, at byte {end}",
            "arrays that were joined are no array: name each file",
        )


def _parts(
    stream: Stream, name: str, kind: Kind, start: int, end: int | None = None
) -> Generator[Part, None, int]:
    """The numbers up to `end`, or as long as any come. What is too short for one is left in
    the stream, as is what stands behind `end`; returns where that begins."""
    width = kind.width
    done, rest = start, b""
    blocks = stream.rest()
    for block in blocks:
        data = rest + block if rest else block
        if end is not None and done + len(data) >= end:
            behind = data[end - done :]
            data = data[: end - done]
        else:
            behind = b""
        whole = len(data) - len(data) % width
        rest = data[whole:] + behind
        if whole:
            yield _part(memoryview(data)[:whole], name, kind, done)
        done += whole
        if done == end:
            break
    stream.put_back(rest)
    return done


def _part(data: memoryview, name: str, kind: Kind, start: int) -> Part:
    return Part(numbers(data, kind), lambda at: f"{name}: byte {start + at * kind.width}")


def _header(stream: Stream, name: str) -> tuple[Kind, int, int]:
    """What the numbers are, how many, and at which byte they begin."""
    front = stream.read(8)
    if not front.startswith(NPY_MAGIC) or len(front) < 8:
        raise TokctlError(f"{name} is no .npy file", "which form is it? --from names it")
    major = front[6]
    if major not in (1, 2, 3):
        raise TokctlError(f"{name}: it is of version {major} of the .npy format", _hint())
    width = 2 if major == 1 else 4
    size = int.from_bytes(stream.read(width), "little")
    if size > _LONGEST_HEADER:
        raise TokctlError(f"{name}: its header claims {size:,} bytes", _hint())
    text = stream.read(size)
    if len(text) < size:
        raise TokctlError(f"{name}: it ends inside its header", _CUT)
    try:
        said = ast.literal_eval(text.decode("latin-1" if major < 3 else "utf-8").strip())
        descr, shape = said["descr"], said["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise TokctlError(f"{name}: its header can't be read", _hint()) from None
    kind = _kind(descr)
    if kind is None:
        raise TokctlError(f"{name} holds {descr!r}, which are no whole numbers", _hint())
    if not isinstance(shape, tuple) or len(shape) != 1:
        raise TokctlError(f"{name} holds an array of shape {shape!r}, not a row of ids", _hint())
    if type(shape[0]) is not int or not 0 <= shape[0] < 2**63:
        raise TokctlError(f"{name}: its header claims {shape[0]!r} ids", _hint())
    return kind, shape[0], 8 + width + size


def _kind(descr: object) -> Kind | None:
    """`<u2` and the like; the first letter is the order of bytes."""
    if not isinstance(descr, str) or len(descr) != 3 or descr[0] not in "<>|=":
        return None
    sorts = {"u": "uint", "i": "int"}
    name = f"{sorts.get(descr[1])}{8 * int(descr[2]) if descr[2].isdecimal() else ''}"
    kind = KINDS.get(name)
    if kind is None or descr[0] != ">":
        return kind
    return Kind(kind.name, kind.code, kind.width, big_endian=True)


def _hint() -> str:
    return "ids are a one-dimensional array of whole numbers: numpy.save(path, ids)"
