"""What `encode` does with the ids of each text: special tokens around, truncation, padding,
sampling; as its options say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.encoding import Encoding
    from tokctl.tokenizer.postprocess import Padding, Truncation

#: Padding tokens that need not be named.
_PADDING_TOKENS = ("[PAD]", "<pad>")


@dataclass(eq=False, repr=False)
class Around:
    """What is done with the tokens of one text.

    Attributes:
        add_special: puts the post-processor's special tokens around.
        truncation: at most so many tokens; None: all.
        windows: the tokens that truncation cuts off come in windows of their own.
        padding: fills up; its length may be known later only (`longest`).
        sample: alpha of segmentations drawn at random (unigram); None: the best one.
        seed: of these; text number n, from 0, takes `seed + n`.
        longest: tokens of the longest row so far.
    """

    add_special: bool = False
    truncation: Truncation | None = None
    windows: bool = False
    padding: Padding | None = None
    sample: float | None = None
    seed: int = 0
    longest: int = 0

    def __bool__(self) -> bool:
        """Is there anything to do?"""
        return bool(self.add_special or self.truncation or self.padding or self.sample is not None)

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        *,
        add_special: bool,
        max_length: int | None,
        stride: int | None,
        pad: str | None,
        pad_token: str | None,
        sample: float | None,
        seed: int | None,
    ) -> Around:
        """As the options of `encode` say; TokctlError where they do not go together, or do
        not fit the model."""
        if stride is not None and max_length is None:
            raise TokctlError("--stride is for windows of --max-length", "add --max-length N")
        if pad_token is not None and pad is None:
            raise TokctlError("--pad-token is for --pad", "add --pad N, or --pad longest")
        if seed is not None and sample is None:
            raise TokctlError("--seed is for --sample", "add --sample ALPHA")
        if sample is not None and stride is not None:
            raise TokctlError("--sample gives no windows", "leave --sample or --stride out")
        truncation = padding = None
        if max_length is not None:
            from tokctl.tokenizer.postprocess import Truncation

            truncation = Truncation(max_length, stride or 0)
            template = tokenizer.post_processor.template(False, add_special)
            truncation.room(template.added_tokens_count)
        if pad is not None:
            padding = _padding(tokenizer, pad, pad_token)
        if sample is not None:
            tokenizer.sample(b"", alpha=sample, seed=seed or 0)  # an error before all else
        return cls(add_special, truncation, stride is not None, padding, sample, seed or 0)

    def ids(self, tokenizer: Tokenizer, ids: list[int], last_id: int | None = None) -> list[int]:
        """The ids of a row: cut, wrapped, ended by `last_id`, padded."""
        if self.add_special or self.truncation:
            ids = tokenizer.post_processor.process_ids(
                ids, add_special=self.add_special, truncation=self.truncation
            )
        if last_id is not None:
            ids = [*ids, last_id]
        self.longest = max(self.longest, len(ids))
        if self.padding and self.padding.length is not None:
            ids = self.padding.pad_ids(ids, self.padding.length)
        return ids

    def rows(self, encoding: Encoding) -> list[Encoding]:
        """A text's row, and one for each of its windows."""
        rows = [encoding, *encoding.overflowing] if self.windows else [encoding]
        self.longest = max(self.longest, *map(len, rows))
        return rows

    @property
    def ready_padding(self) -> Padding | None:
        """The padding, where its length is known."""
        return self.padding if self.padding and self.padding.length is not None else None


def _padding(tokenizer: Tokenizer, pad: str, token: str | None) -> Padding:
    from tokctl.tokenizer.postprocess import Padding

    if pad != "longest" and not (pad.isascii() and pad.isdecimal() and 0 < int(pad) < 2**31):
        raise TokctlError(f"--pad can't be {pad!r}", "it is a number from 1 up, or longest")
    special = tokenizer.special_ids
    if token is None:
        token = next((known for known in _PADDING_TOKENS if known in special), None)
        if token is None:
            hint = (
                f"name one of its special tokens with --pad-token: {_listed(special)}"
                if special
                else "it has no special token at all: train it with --special '<pad>'"
            )
            raise TokctlError("this model has no padding token ([PAD] or <pad>)", hint)
    elif token not in special:
        raise TokctlError(
            f"the padding token {token!r} is no special token of this model",
            f"it has: {_listed(special)}",
        )
    length = None if pad == "longest" else int(pad)
    return Padding(length, token=token, id=special[token])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:50]) or "none"
