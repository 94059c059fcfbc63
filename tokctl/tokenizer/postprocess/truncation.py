"""Truncation: at most so many tokens, the others in windows behind.

As Hugging Face's `truncate_encodings`; where that one panics, or counts below zero, this
one raises TokctlError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tokctl.errors import TokctlError
from tokctl.tokenizer.encoding import Encoding
from tokctl.tokenizer.postprocess.columns import cut

STRATEGIES = ("longest-first", "only-first", "only-second")
DIRECTIONS = ("right", "left")


@dataclass(frozen=True)
class Truncation:
    """How many tokens an encoding may have, and what becomes of the others.

    Attributes:
        max_length: tokens of both texts and of the template, together.
        stride: tokens that a window shares with the one before.
        strategy: which of two texts is cut: `longest-first` (the longer, then both),
            `only-first`, `only-second`.
        direction: the end that is cut: `right` or `left`.

    Raises:
        TokctlError: a number that is none, an unknown name.
    """

    max_length: int
    stride: int = 0
    strategy: str = "longest-first"
    direction: str = "right"

    def __post_init__(self) -> None:
        for name in ("max_length", "stride"):
            check_number(name, getattr(self, name), 0)
        check_name("strategy of truncation", self.strategy, STRATEGIES)
        check_name("direction of truncation", self.direction, DIRECTIONS)

    def room(self, added: int) -> int:
        """The tokens that the texts can have beside `added` special tokens.

        Raises:
            TokctlError: `max_length` is less than these, or `stride` too much, whatever
                the texts.
        """
        room = self.max_length - added
        if room < 0:
            raise TokctlError(
                f"max_length is {self.max_length}, and the template alone has {added} tokens",
                "raise max_length, or leave the special tokens out",
            )
        if self.stride and self.stride >= room:
            fits = f"a stride up to {room - 1}" if room > 1 else "no stride"
            raise TokctlError(
                f"the stride {self.stride} is too much for windows of {room} tokens",
                f"max_length {self.max_length} less {added} special tokens allows {fits}",
            )
        return room

    def lengths(self, first: int, second: int | None, added: int) -> tuple[int, int]:
        """How many tokens of each text stay, of `first` and `second`.

        Raises:
            TokctlError: as `room`; also where the strategy can't make it fit.
        """
        room = self.room(added)
        other = second or 0
        excess = first + other - room
        if excess <= 0:
            return first, other
        if room == 0:
            return 0, 0
        if self.strategy == "longest-first":
            kept = longest_first(first, other, room) if second is not None else (room, 0)
        else:
            kept = self._one_cut(first, second, excess)
        for which, before, after in zip(("first", "second"), (first, other), kept, strict=True):
            if after < before and 0 < after <= self.stride:
                raise TokctlError(
                    f"the stride {self.stride} is too much for the {which} text, which is "
                    f"left with {after} tokens",
                    "lower the stride, or raise max_length",
                )
        return kept

    def _one_cut(self, first: int, second: int | None, excess: int) -> tuple[int, int]:
        if self.strategy == "only-second" and second is None:
            raise TokctlError(
                "there is no second text that the strategy only-second could cut",
                "take longest-first or only-first",
            )
        of_first = self.strategy == "only-first"
        kept = (first - excess, second or 0) if of_first else (first, (second or 0) - excess)
        if kept[0 if of_first else 1] < 1:
            which, rest = ("first", "second") if of_first else ("second", "first")
            raise TokctlError(
                f"cutting the {which} text is not enough: the {rest} one leaves it no token",
                "raise max_length, or take the strategy longest-first",
            )
        return kept

    def ranges(self, total: int, size: int) -> Iterator[tuple[int, int]]:
        """The windows over `total` tokens, as (start, end): first the one that stays."""
        step = size - self.stride
        if self.direction == "right":
            start = 0
            while start + size < total:
                yield start, start + size
                start += step
            yield start, total
        else:
            end = total
            while end > size:
                yield end - size, end
                end -= step
            yield 0, end

    def apply(
        self, first: Encoding, second: Encoding | None, added: int
    ) -> tuple[Encoding, Encoding | None]:
        """Both texts at the lengths that they may have, with the rest as their windows."""
        if second is None:
            return self._cut(first, self.lengths(len(first), None, added)[0]), None
        kept = self.lengths(len(first), len(second), added)
        return self._cut(first, kept[0]), self._cut(second, kept[1])

    def _cut(self, encoding: Encoding, size: int) -> Encoding:
        total = len(encoding)
        if size >= total:
            return encoding
        if size == 0:
            return cut(encoding, 0, 0, [encoding])
        stays = next(self.ranges(total, size))

        def rest() -> list[Encoding]:
            return [cut(encoding, *bounds) for bounds in islice(self.ranges(total, size), 1, None)]

        return cut(encoding, *stays, rest)

    def truncate_ids(self, ids: list[int], size: int) -> list[int]:
        """The ids that stay."""
        return ids[:size] if self.direction == "right" else ids[len(ids) - size :]


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """The lengths of two texts that do not fit: the shorter keeps up to half of the room."""
    short = min(first, second)
    if short > room // 2:
        # Of an odd number, the longer text has one more; the second where they are equal.
        short = room // 2
    return (room - short, short) if first > second else (short, room - short)


def check_number(name: str, value: object, least: int) -> None:
    """TokctlError unless `value` is a whole number from `least` up."""
    if type(value) is not int or value < least:
        raise TokctlError(f"{name} can't be {value!r}", f"it is a whole number from {least} up")


def check_name(what: str, value: object, allowed: tuple[str, ...]) -> None:
    """TokctlError unless `value` is one of the names."""
    if value not in allowed:
        raise TokctlError(f"no {what} is called {value!r}", f"choose one of: {', '.join(allowed)}")
