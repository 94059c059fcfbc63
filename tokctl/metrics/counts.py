"""The counts of one model on one text that the metrics are functions of."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Counts:
    """All of them add up over texts.

    Attributes:
        bytes, characters: of the text. A byte that is not UTF-8 is a character.
        spaces: characters that are white space, line ends included.
        words: maximal runs of characters that are no white space.
        whole_words: words that are one token, and not the unknown one.
        split_words: words that are two tokens or more.
        tokens: all of them, unknown ones included.
        unknown: unknown tokens; for a model that has none, characters without an id.
        lines: what `\\n` ends; behind the last one, what is left if anything is.
        exact_lines: lines with decode(encode(line)) = line.
        used_ids: the distinct ids that came out.
    """

    bytes: int
    characters: int
    spaces: int
    words: int
    whole_words: int
    split_words: int
    tokens: int
    unknown: int
    lines: int
    exact_lines: int
    used_ids: frozenset[int]

    def __add__(self, other: Counts) -> Counts:
        sums = {
            entry.name: getattr(self, entry.name) + getattr(other, entry.name)
            for entry in fields(self)
            if entry.name != "used_ids"
        }
        return Counts(**sums, used_ids=self.used_ids | other.used_ids)


#: What the counts of several texts are added to.
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, frozenset())
