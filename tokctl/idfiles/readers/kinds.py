"""The kinds of whole numbers that ids are stored as, under the names of each form."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokctl.errors import TokctlError


@dataclass(frozen=True)
class Kind:
    """A kind of whole number.

    Attributes:
        name: NumPy's, as `--dtype` takes it.
        code: of `array` and `memoryview`.
        width: bytes of one.
        big_endian: its highest byte comes first.
    """

    name: str
    code: str
    width: int
    big_endian: bool = False


_ALL = (
    Kind("uint8", "B", 1),
    Kind("int8", "b", 1),
    Kind("uint16", "H", 2),
    Kind("int16", "h", 2),
    Kind("uint32", "I", 4),
    Kind("int32", "i", 4),
    Kind("uint64", "Q", 8),
    Kind("int64", "q", 8),
)
KINDS = {kind.name: kind for kind in _ALL}

#: The numbers of Megatron-LM's `DType`; 6 and 7 are floating-point numbers there.
MEGATRON = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}


def named(name: str, what: str) -> Kind:
    """The kind of this name; TokctlError, saying what for, where there is none."""
    if name not in KINDS:
        raise TokctlError(f"{what} can't be {name!r}", f"choose one of: {', '.join(KINDS)}")
    return KINDS[name]


def numbers(data: bytes | memoryview, kind: Kind) -> Sequence[int]:
    """The numbers in `data`, as something with the buffer protocol; no object is made for each."""
    if not data:  # which can't be cast
        return array(kind.code)
    if kind.width == 1 or kind.big_endian == (sys.byteorder == "big"):
        view: Any = memoryview(data)
        found: Sequence[int] = view.cast("B").cast(kind.code)
        return found
    swapped = array(kind.code, bytes(data))
    swapped.byteswap()
    return swapped
