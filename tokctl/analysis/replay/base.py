"""What every replay can be asked, whatever its steps are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl.analysis.replay.frames import Frame, FrameWord, RoundFrame
from tokctl.errors import TokctlError
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: How words can be arranged: as the recipe's tie rule scans them, the most frequent first,
#: or those that the step has changed first.
ARRANGEMENTS = ("scan", "count", "changed")

#: Bytes of all distinct pre-tokens together: what is kept of a text grows with them. (8 MB of
#: books have 0.5 MB of them.)
MOST_BYTES = 8_000_000

#: Symbols of one word that a frame holds: a word can be as long as a book.
MOST_SYMBOLS = 200

#: Bytes of the longest word that can be followed: each of its stages is a replay of it.
LONGEST_FOLLOWED = 2_000

_SPACES = (b" ", "▁".encode(), "Ġ".encode())


@dataclass(frozen=True)
class Stage:
    """A word from the step that made it so until the next one that changes it."""

    step: int
    tokens: tuple[str, ...]
    more: int
    made: tuple[int, ...]


class Replay(ABC):
    """A training on counted pre-tokens, looked at step by step.

    Attributes:
        first, total: the steps there are.
        unit: what a step is called.
    """

    unit = "step"
    first = 0
    total: int

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        size = sum(len(pre_token) for pre_token, _ in counts)
        if size > MOST_BYTES:
            raise TokctlError(
                f"this text is too large to watch: its distinct pre-tokens have {size:,} bytes, "
                f"and {MOST_BYTES:,} are the most",
                "watch a part of it: head -c 8000000 TEXT > part.txt",
            )
        self.tokenizer = tokenizer
        self.counts = counts

    @abstractmethod
    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> Frame | RoundFrame:
        """What there is to see after a step.

        Args:
            first, limit: of the words, so many from this place on.
            arrange: one of `ARRANGEMENTS`.

        Raises:
            TokctlError: there is no such step.
        """

    @abstractmethod
    def find_token(self, token: str, after: int) -> int:
        """The step that makes a token: the first one behind `after`, else the first of all.

        Raises:
            TokctlError: no step makes it.
        """

    @abstractmethod
    def stages(self, number: int) -> tuple[Stage, ...]:
        """How the pre-token of that number evolves: as it starts, then at every step that
        changes it.

        Raises:
            TokctlError: it is longer than `LONGEST_FOLLOWED`.
        """

    @abstractmethod
    def word(self, number: int, step: int) -> FrameWord:
        """The pre-token of that number after a step."""

    def check(self, step: int) -> None:
        """TokctlError where there is no such step."""
        if not self.first <= step <= self.total:
            raise TokctlError(
                f"there is no {self.unit} {step:,}: this model has {plural(self.total, self.unit)}",
                f"choose one from {self.first} to {self.total}",
            )

    def find_word(self, text: str) -> int:
        """The number of the pre-token that a person means: spelled so, or with the space in
        front that pre-tokenizers leave there, the most frequent of these; else the first that
        holds it.

        Raises:
            TokctlError: no pre-token of the text holds it.
        """
        data = text.encode("utf-8", "surrogatepass")
        spellings = (data, *(space + data for space in _SPACES))
        found = [self._numbers[each] for each in spellings if each in self._numbers]
        if found and data:
            return max(found, key=lambda number: self.counts[number][1])
        if data:
            for number, (pre_token, _) in enumerate(self.counts):
                if data in pre_token:
                    return number
        raise TokctlError(
            f"no word of this text holds {text!r}", "words are as the pre-tokenizer cuts them"
        )

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {pre_token: number for number, (pre_token, _) in enumerate(self.counts)}

    @cached_property
    def by_count(self) -> list[int]:
        """The words' numbers, the most frequent first, equals as first seen."""
        return sorted(range(len(self.counts)), key=lambda number: -self.counts[number][1])
