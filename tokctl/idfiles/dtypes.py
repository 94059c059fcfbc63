"""How wide the ids in a file are, and what each form calls that."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.errors import TokctlError


@dataclass(frozen=True)
class Dtype:
    """A kind of whole number, little-endian.

    Attributes:
        name: NumPy's, as `--dtype` takes it.
        width: bytes of one.
        largest: the largest one.
        npy: as the header of an `.npy` has it.
        safetensors: as the header of safetensors has it.
        megatron: its number in an `.idx`; None where that format lacks it.
    """

    name: str
    width: int
    largest: int
    npy: str
    safetensors: str
    megatron: int | None


DTYPES = {
    dtype.name: dtype
    for dtype in (
        Dtype("uint16", 2, 2**16 - 1, "<u2", "U16", 8),
        Dtype("uint32", 4, 2**32 - 1, "<u4", "U32", None),
        Dtype("int32", 4, 2**31 - 1, "<i4", "I32", 4),
    )
}

#: Megatron-LM takes 16 bits for fewer ids than this, and 32 for more (`optimal_dtype` in its
#: `indexed_dataset.py`).
_MEGATRON_SHORT = 65_500


def dtype_for(form: str, vocab_size: int, forced: str | None = None) -> Dtype:
    """How wide the ids of a vocabulary are in a form of `tokctl.idfiles.FORMS`.

    Without `forced`: int32 in Parquet, which is Hugging Face's custom; in Megatron's files
    uint16 below 65,500 ids, else int32, as Megatron-LM has it; in the others uint16 up to 65,536
    ids, else uint32.

    Raises:
        TokctlError: `forced` is none of `DTYPES`, can't hold the vocabulary's last id, or is
            not known to the form.
    """
    if forced is None:
        if form == "parquet":
            name = "int32"
        elif form == "megatron":
            name = "uint16" if vocab_size < _MEGATRON_SHORT else "int32"
        else:
            name = "uint16" if vocab_size <= 1 << 16 else "uint32"
        return DTYPES[name]
    if forced not in DTYPES:
        raise TokctlError(f"--dtype can't be {forced!r}", f"choose one of: {', '.join(DTYPES)}")
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
