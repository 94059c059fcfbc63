"""Number types that ids are stored as, with the name of each type in every form."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from tokctl.core.errors import BadOption
from tokctl.idfiles.registry import BY_NAME


class Dtype(NamedTuple):
    """A type of whole number, little-endian unless `big_endian`.

    Attributes:
        name: NumPy's name, as `--dtype` takes it.
        code: type code of `array` and `memoryview`.
        width: bytes per number.
        npy: type string in the header of an `.npy` file.
        safetensors: name in the header of a safetensors file.
        megatron: type number in a Megatron-LM `.idx`; None if that format lacks the type.
        big_endian: whether the highest byte comes first.
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
        """Largest number of this type."""
        return (1 << (8 * self.width - self.code.islower())) - 1


#: Types that ids are read from, by name. In Megatron-LM's `DType`, 6 and 7 are floating-point
#: types.
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

#: Names of the types that ids are written as.
WRITTEN = ("uint16", "uint32", "int32")


def dtype_for(form: str, vocab_size: int, forced: str | None = None) -> Dtype:
    """Return the type that a form stores the ids of a vocabulary as.

    Without `forced`, Parquet has int32, as Hugging Face writes it. Megatron's files have uint16
    below 65,500 ids and int32 from there on, as Megatron-LM does. The other forms have uint16 up
    to 65,536 ids, and uint32 above.

    Args:
        form: one of `tokctl.idfiles.BINARY_FORMS`, or `jsonl`.
        vocab_size: number of ids; the last id is one less.
        forced: one of `WRITTEN`, chosen by the user; None: the default of the form.

    Raises:
        TokctlError: `forced` is not one of `WRITTEN`, can't hold the last id of the vocabulary,
            or is not a type of the form.

    Example:
        dtype_for("npy", 50_257).name  # 'uint16'
        dtype_for("npy", 100_000).name  # 'uint32'
    """
    if forced is None:
        row = BY_NAME[form]
        return DTYPES["uint16" if vocab_size < row.wide_from else row.wide]
    if forced not in WRITTEN:
        raise BadOption(
            f"invalid value {forced!r} for --dtype",
            f"choose one of: {', '.join(WRITTEN)}",
            "bad-value",
        )
    dtype = DTYPES[forced]
    if vocab_size - 1 > dtype.largest:
        raise BadOption(
            f"--dtype {forced} can't hold every id of this model: they go up to "
            f"{vocab_size - 1:,}, and {forced} to {dtype.largest:,}",
            "take --dtype uint32, or leave --dtype out",
            "conflict",
        )
    if form == "megatron" and dtype.megatron is None:
        raise BadOption(
            f"Megatron's files can't have the dtype {forced}",
            "take --dtype int32 or uint16",
            "conflict",
        )
    return dtype


def unsigned_for(vocab_size: int) -> Dtype:
    """Return uint16 if it holds every id of the vocabulary, else uint32."""
    return DTYPES["uint16" if vocab_size <= 1 << 16 else "uint32"]


def dtype_named(name: str) -> Dtype:
    """Return the type with this name; raise TokctlError if the name is unknown."""
    if name not in DTYPES:
        raise BadOption(
            f"invalid value {name!r} for dtype",
            f"choose one of: {', '.join(DTYPES)}",
            "bad-value",
        )
    return DTYPES[name]


def numbers(data: bytes | memoryview, dtype: Dtype) -> Sequence[int]:
    """Return the numbers in `data` as an object with the buffer protocol.

    No Python object is made for each number. The result is a view of `data`, or a copy if the bytes
    have to be swapped.

    Args:
        data: numbers end to end; a whole number of them.
        dtype: type and byte order of the numbers.
    """
    if not data:  # memoryview can't cast empty memory
        return array(dtype.code)
    if dtype.width == 1 or dtype.big_endian == (sys.byteorder == "big"):
        view: Any = memoryview(data)
        values: Sequence[int] = view.cast("B").cast(dtype.code)
        return values
    swapped = array(dtype.code, bytes(data))
    swapped.byteswap()
    return swapped


def little_endian(numbers: array[int]) -> bytes:
    """Return the numbers as bytes, the lowest byte of each number first."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()
