"""What is counted as a text, and what stands around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.encodes import Special
    from tokctl.tokenizer.postprocess import Truncation


@dataclass(frozen=True)
class Settings:
    """How texts are counted; the names are those of `encode`'s options.

    Attributes:
        whole: a file is one text, line feeds and all; else each of its lines is one, and line
            feeds are no tokens. A record is one text in any case.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        add_special: counts the special tokens of the model's template around each text.
        max_length: at most so many tokens of a text, special ones too; None: all.
        stride: what `max_length` cuts off counts in windows, which share so many tokens each with
            the one before; None: it does not count.
        sample: alpha of segmentations drawn at random (unigram); None: the best one.
        seed: of these; text number n, from 0, takes `seed + n`.
        threads: share out each block. The counts are the same with any number.

    Raises:
        TokctlError: they do not go together.
    """

    whole: bool = False
    special: Special = "none"
    errors: str = "strict"
    add_special: bool = False
    max_length: int | None = None
    stride: int | None = None
    sample: float | None = None
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        if self.errors not in ("strict", "replace"):
            raise TokctlError(f"errors can't be {self.errors!r}", "choose strict or replace")
        if self.stride is not None and self.max_length is None:
            raise TokctlError("a stride is for windows of max_length", "give max_length, too")
        if self.stride is not None and self.sample is not None:
            raise TokctlError("a sample has no windows", "leave the sample or the stride out")
        if self.threads < 1:
            raise TokctlError(f"threads can't be {self.threads}", "it is a number from 1 up")

    @cached_property
    def truncation(self) -> Truncation | None:
        """At most so many tokens."""
        if self.max_length is None:
            return None
        from tokctl.tokenizer.postprocess import Truncation

        return Truncation(self.max_length, self.stride or 0)


class Lengths:
    """How many tokens a text has with what is put around it, and cut off.

    Raises:
        TokctlError: a length that leaves no room.
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        self.truncation = settings.truncation
        self.windows = settings.stride is not None
        #: Does it change any number?
        self.changes = settings.add_special or self.truncation is not None
        self.added = 0
        if settings.add_special:
            self.added = tokenizer.post_processor.added_tokens_count()
        if self.truncation:
            self.truncation.room(self.added)

    def __call__(self, tokens: int) -> int:
        """Of all rows of a text that has so many tokens by itself: it, and its windows."""
        if self.truncation is None:
            return tokens + self.added
        kept = self.truncation.lengths(tokens, None, self.added)[0]
        if kept == tokens or not self.windows:
            return kept + self.added
        if kept == 0:  # special tokens are all that fits: the text is the one window, whole
            return tokens + 2 * self.added
        rows = self.truncation.ranges(tokens, kept)
        return sum(end - start + self.added for start, end in rows)
