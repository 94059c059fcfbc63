"""`tokenizers.decoders`: `DecodeStream` by tokctl, the decoders themselves by `tokenizers`.

Definition: `step_decode_stream` of `tokenizers/src/tokenizer/mod.rs`, Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any

from tokctl.compat.tokenizers.tokenizer import Tokenizer

__all__ = ["DecodeStream"]


class DecodeStream:
    """Gives the text of ids that come one after the other.

    Args:
        ids: those that stand before, as of a prompt.
        skip_special_tokens: leaves special tokens out.
    """

    def __init__(
        self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self._skip = bool(skip_special_tokens)
        # What the next text hangs on: ids that gave `_prefix`, which was returned, and later ones.
        # The first `_read` of them only put the prefix where it stands.
        # A list is never changed: copies share it.
        self._ids = list(ids or ())
        self._prefix = ""
        self._read = 0

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:  # noqa: A002
        """The text that an id, or many, add; None while it ends inside a character.

        Args:
            tokenizer: one of `tokenizers` will do, too.
            id: an id, or a list of them.

        Raises:
            TypeError: it is neither an id nor a list of ids.
            Exception: a text that was returned changes, as by a decoder that strips.
        """
        new = _numbers(id)
        if not self._prefix and self._ids:
            prefix = tokenizer.decode(self._ids, self._skip)
            if not prefix.endswith("\ufffd"):
                self._prefix, self._read = prefix, len(self._ids)
        if isinstance(tokenizer, Tokenizer):
            # Tokens that give no text at all would only be decoded again and again.
            new = tokenizer._with_text(new, self._skip)
        self._ids = self._ids + new
        text = tokenizer.decode(self._ids, self._skip)
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith("\ufffd"):
            return None
        if not text.startswith(self._prefix):
            raise Exception(
                f"Invalid prefix encountered while decoding stream. Token ID: {self._ids[-1]}, "
                f"Expected prefix: '{self._prefix}', Actual string: '{text}'"
            )
        found = text[len(self._prefix) :]
        self._ids, self._read = self._ids[self._read :], len(self._ids) - self._read
        self._prefix = tokenizer.decode(self._ids, self._skip)
        return found


def _numbers(given: Any) -> list[int]:
    """The ids, as ints; NumPy's numbers are ids, too."""
    with suppress(TypeError):
        given = [index(given)]
    with suppress(TypeError):
        found = list(map(index, given))
        if not isinstance(given, str) and all(0 <= one < 1 << 32 for one in found):
            return found
    raise TypeError("StreamInput must be either an integer or a list of integers")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # `from … import DecodeStream` asks for `__path__`
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tokenizers import decoders

    return getattr(decoders, name)
