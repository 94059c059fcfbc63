"""The types of numbers that ids are stored as, under the names of each form."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from tokctl.errors import TokctlError


class Dtype(NamedTuple):
    """A type of whole number, little-endian unless `big_endian`.

    Attributes:
        name: NumPy's, as `--dtype` takes it.
        code: the type code of `array` and `memoryview`.
        width: bytes per number.
        npy: the type string in the header of an `.npy`.
        safetensors: the name in the header of safetensors.
        megatron: the number in a Megatron-LM `.idx`; None if that format lacks the type.
        big_endian: the highest byte comes first.
    """

    name: str
    code: str
    width: int
    npy: str
    safetensors: str
    megatron: int | None
    big_endian: bool = False

    @property
    def largest(self) -> int:
        """The largest number of this type."""
        return (1 << (8 * self.width - self.code.islower())) - 1


#: Every type that ids are read from. In Megatron-LM's `DType`, 6 and 7 are floating-point types.
DTYPES = {
    dtype.name: dtype
    for dtype in (
        Dtype("uint8", "B", 1, "<u1", "U8", 1),
        Dtype("int8", "b", 1, "<i1", "I8", 2),
        Dtype("uint16", "H", 2, "<u2", "U16", 8),
        Dtype("int16", "h", 2, "<i2", "I16", 3),
        Dtype("uint32", "I", 4, "<u4", "U32", None),
        Dtype("int32", "i", 4, "<i4", "I32", 4),
        Dtype("uint64", "Q", 8, "<u8", "U64", None),
        Dtype("int64", "q", 8, "<i8", "I64", 5),
    )
}

#: Those that ids are written as.
WRITTEN = ("uint16", "uint32", "int32")

#: Megatron-LM takes 16 bits for fewer ids than this, and 32 for more (`optimal_dtype` in its
#: `indexed_dataset.py`).
_MEGATRON_16_BITS = 65_500


def dtype_for(form: str, vocab_size: int, forced: str | None = None) -> Dtype:
    """The type of the ids of a vocabulary in a form of `tokctl.idfiles.FORMS`.

    Without `forced`: int32 in Parquet, as Hugging Face writes it; in Megatron's files uint16
    below 65,500 ids, else int32, as Megatron-LM does; in the others uint16 up to 65,536 ids,
    else uint32.

    Raises:
        TokctlError: `forced` is none of `WRITTEN`, can't hold the vocabulary's last id, or the
            form lacks it.
    """
    if forced is None:
        if form == "parquet":
            return DTYPES["int32"]
        if form == "megatron":
            return DTYPES["uint16" if vocab_size < _MEGATRON_16_BITS else "int32"]
        return unsigned_for(vocab_size)
    if forced not in WRITTEN:
        raise TokctlError(f"--dtype can't be {forced!r}", f"choose one of: {', '.join(WRITTEN)}")
    dtype = DTYPES[forced]
    if vocab_size - 1 > dtype.largest:
        raise TokctlError(
            f"--dtype {forced} can't hold every id of this model: they go up to "
            f"{vocab_size - 1:,}, and {forced} to {dtype.largest:,}",
            "take --dtype uint32, or leave --dtype out",
        )
    if form == "megatron" and dtype.megatron is None:
        raise TokctlError(f"Megatron's files know no {forced}", "take --dtype int32 or uint16")
    return dtype


def unsigned_for(vocab_size: int) -> Dtype:
    """uint16 where it holds every id of the vocabulary, else uint32."""
    return DTYPES["uint16" if vocab_size <= 1 << 16 else "uint32"]


def dtype_named(name: str) -> Dtype:
    """The type of this name; TokctlError if there is none."""
    if name not in DTYPES:
        raise TokctlError(f"the dtype can't be {name!r}", f"choose one of: {', '.join(DTYPES)}")
    return DTYPES[name]


def numbers(data: bytes | memoryview, dtype: Dtype) -> Sequence[int]:
    """The numbers in `data`, as an object with the buffer protocol; none of them is boxed."""
    if not data:  # empty memory can't be cast
        return array(dtype.code)
    if dtype.width == 1 or dtype.big_endian == (sys.byteorder == "big"):
        view: Any = memoryview(data)
        found: Sequence[int] = view.cast("B").cast(dtype.code)
        return found
    swapped = array(dtype.code, bytes(data))
    swapped.byteswap()
    return swapped


def little_endian(numbers: array[int]) -> bytes:
    """The numbers as bytes, the lowest byte of each first."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()
