"""How many tokens texts have: what counting gives."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.errors import TokctlError


@dataclass(frozen=True, slots=True)
class FileCount:
    """One row of a count: a file, a member of an archive, stdin.

    Attributes:
        name: of the source.
        tokens: one number for each model, in the order of the models.
        bytes: of text, as it was read: decompressed, and of records the texts alone.
        documents: how many texts it holds; a file of text is one, in JSON Lines and tables each
            record is one.
    """

    name: str
    tokens: tuple[int, ...]
    bytes: int
    documents: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that could not be counted.

    Attributes:
        name: of the source.
        error: why; its message names the file, and the place where there is one.
    """

    name: str
    error: TokctlError


@dataclass(frozen=True)
class TokenCounts:
    """The counts of all sources.

    Attributes:
        models: names, in the order of every row's `tokens`.
        files: a row for each source that could be counted, in the order of the sources.
        failures: those that could not.
    """

    models: tuple[str, ...]
    files: list[FileCount]
    failures: list[Failure]

    @property
    def total(self) -> FileCount:
        """The sums of all rows."""
        return FileCount(
            "total",
            tuple(
                sum(row.tokens[place] for row in self.files) for place in range(len(self.models))
            ),
            sum(row.bytes for row in self.files),
            sum(row.documents for row in self.files),
        )

    @property
    def tokens(self) -> dict[str, int]:
        """All tokens by the name of the model."""
        return dict(zip(self.models, self.total.tokens, strict=True))
