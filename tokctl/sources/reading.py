"""How sources are read, where their names and their bytes do not say it."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.values import Fixed, Value

#: What a file can hold; `auto` is what its name and its first bytes say.
FORMATS = ("auto", "text", "jsonl", "parquet", "arrow", "tsv", "tar", "raw")


@dataclass(init=False, eq=False, repr=False)
class Reading(Fixed, Value):
    """How sources are read.

    Attributes:
        format: one of `FORMATS`. `raw` takes every byte as it is: nothing is decompressed.
        text_field: the field of records (JSON Lines, tables) that holds the text; `a.b` is the
            field b of the object a. None: `text`.
        include: of the files in a folder, those whose path in it, or whose name, is one of
            these patterns; empty: all that are not hidden.
        exclude: not these, whatever `include` says.
    """

    format: str = "auto"
    text_field: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __init__(
        self,
        format: str = "auto",  # noqa: A002
        text_field: str | None = None,
        include: tuple[str, ...] = (),
        exclude: tuple[str, ...] = (),
    ) -> None:
        self.__dict__.update(format=format, text_field=text_field, include=include, exclude=exclude)


#: As names and first bytes say.
AUTO = Reading()
