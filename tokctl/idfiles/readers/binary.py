"""The ids of files that hold numbers, whatever their form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError
from tokctl.idfiles.readers import columns, flat, megatron, safetensors

if TYPE_CHECKING:
    from tokctl.idfiles.readers.contract import Part
    from tokctl.idfiles.readers.given import Given
    from tokctl.idfiles.readers.kinds import Kind
    from tokctl.sources.streams import Stream


def parts_of(
    form: str, given: Given, stream: Stream, path: str | None, field: str | None, kind: Kind
) -> Iterator[Part]:
    """The ids of a file.

    Args:
        form: one of `tokctl.idfiles.readers.reading.FORMS`, but for those of text.
        given, stream: the file, and its bytes as they come: one of the two is read.
        path: as the command line names it; None for stdin.
        field: the column or the tensor that holds the ids; None: the usual one.
        kind: of the numbers of the form `bin`.

    Raises:
        TokctlError: see each form's reader.
    """
    if form == "bin":
        return flat.bin_parts(stream, given.name, kind)
    if form == "npy":
        return flat.npy_parts(stream, given.name)
    if form == "parquet":
        return columns.parquet_parts(given, field)
    if form == "arrow":
        return columns.arrow_parts(given, field)
    if form == "megatron":
        if path is None:
            raise TokctlError(
                f"{given.name}: Megatron's ids are two files, a .bin and an .idx", "name them"
            )
        return megatron.parts(given.name, path, given.meter)
    return safetensors.parts(given, field)
