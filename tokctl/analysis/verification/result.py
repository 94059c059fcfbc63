"""What a verification found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tokctl.wording import plural

#: Ids with their tokens.
Tokens = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Difference:
    """The first place where a reader of the file gives something else.

    Attributes:
        reader: `tokctl`, or the library with its version.
        what: `ids`, `text` (the ids are the same, and decode to another text) or `error`.
        text: name of the text; empty where the file could not be loaded.
        line, column: from 1; the column counts characters. Of a source of records the number of
            the record, and the character of its text.
        before, found: ids with tokens around that place, of the model and of the reader.
        said: the two decoded texts around the place where they differ, or the error.
        unit: what `line` counts: `line` or `row`.
    """

    reader: str
    what: str
    text: str = ""
    line: int = 0
    column: int = 0
    before: Tokens = ()
    found: Tokens = ()
    said: tuple[str, ...] = ()
    unit: str = "line"

    @property
    def place(self) -> str:
        """`book.txt, line 3, column 14`."""
        return f"{self.text}, {self.unit} {self.line}, column {self.column}"

    def __str__(self) -> str:
        if self.what == "error" and not self.text:
            return f"{self.reader} can't load it: {self.said[0]}"
        if self.what == "error":
            return f"{self.reader} fails at {self.text}, {self.unit} {self.line}: {self.said[0]}"
        other = "other ids" if self.what == "ids" else "another text for the same ids"
        return f"{self.reader} gives {other}: {self.place}"


@dataclass(frozen=True)
class Verification:
    """What a verification compared, and what differs.

    Attributes:
        lines, ids: of the texts, as the model before encodes them line by line.
        left_out: lines with a character that the model has no token for.
        readers: those that were compared, whether they agree or not.
        not_compared: readers that were not, as sentences that say why.
        differences: the first one of each reader that does not agree.
    """

    lines: int
    ids: int
    left_out: int
    readers: tuple[str, ...]
    not_compared: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Do all readers give the same ids and the same text?"""
        return not self.differences

    def __str__(self) -> str:
        if self.differences:
            return "\n".join(map(str, self.differences))
        same = f"the same {plural(self.ids, 'id')} in {plural(self.lines, 'line')}"
        return f"{same}: {', '.join(self.readers)}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it."""
        return {"same": self.same, **asdict(self)}
