"""The counts of one model on one text that the metrics are functions of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Counts:
    """All of them add up over texts.

    Attributes:
        bytes, characters: of the text. A byte that is not UTF-8 is a character.
        spaces: characters that are white space, line ends included.
        words: by the rule `word_rule`.
        whole_words: words that are one token, and not the unknown one.
        split_words: words that are two tokens or more.
        tokens: all of them, unknown ones included.
        unknown: unknown tokens; for a model that has none, characters without an id.
        lines: what `\\n` ends; behind the last one, what is left if anything is.
        exact_lines: lines with decode(encode(line)) = line.
        id_counts: how often each id came out, of those that did. What has no id is not there.
        word_rule: a name of `tokctl.analysis.metrics.words.WORD_RULES`; None where nothing was
            counted yet.
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
    id_counts: Mapping[int, int] = field(hash=False)
    word_rule: str | None = None

    @classmethod
    def of(cls, sums: Sequence[int], id_counts: Mapping[int, int], word_rule: str | None) -> Counts:
        """From the numbers in the order of the attributes, from `bytes` to `exact_lines`."""
        named = dict(zip(_SUMS, sums, strict=True))
        return cls(**named, id_counts=id_counts, word_rule=word_rule)

    @property
    def used_ids(self) -> frozenset[int]:
        """The distinct ids that came out."""
        return frozenset(self.id_counts)

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """The sum of any number of counts, in time that grows with their sizes alone.

        Raises:
            ValueError: words were counted by different rules.
        """
        sums = dict.fromkeys(_SUMS, 0)
        ids: dict[int, int] = {}
        rules: set[str | None] = set()
        for one in counts:
            rules.add(one.word_rule)
            for name in _SUMS:
                sums[name] += getattr(one, name)
            for id_, count in one.id_counts.items():
                ids[id_] = ids.get(id_, 0) + count
        rules.discard(None)
        if len(rules) > 1:
            raise ValueError("words by different rules do not add up")
        return cls(**sums, id_counts=ids, word_rule=rules.pop() if rules else None)

    def __add__(self, other: Counts) -> Counts:
        return Counts.total((self, other))


#: The counts that are one number.
_SUMS = [entry.name for entry in fields(Counts) if entry.type == "int"]

#: What the counts of several texts are added to.
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {})
