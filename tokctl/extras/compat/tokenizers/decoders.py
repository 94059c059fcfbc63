"""`tokenizers.decoders`: tokctl's `DecodeStream`, and the decoders of `tokenizers` itself.

Definition: `step_decode_stream` of `tokenizers/src/tokenizer/mod.rs`, Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any

from tokctl.extras.compat.tokenizers.tokenizer import Tokenizer

__all__ = ["DecodeStream"]


class DecodeStream:
    """A decoder that returns the text of ids as they arrive.

    Args:
        ids: ids that come before, for example the ids of a prompt.
        skip_special_tokens: whether to leave out special tokens.
    """

    def __init__(
        self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self._skip = bool(skip_special_tokens)
        # Ids that the next text depends on: the ids of `_prefix`, whose text was returned, and
        # later ones. The first `_read` ids only provide context for the prefix.
        # The list is never modified, because copies of the stream share it.
        self._ids = list(ids or ())
        self._prefix = ""
        self._read = 0

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:  # noqa: A002
        """Return the text that new ids add; None while the text ends inside a character.

        Args:
            tokenizer: a tokenizer of this package or of `tokenizers`.
            id: an id, or a list of ids.

        Raises:
            TypeError: `id` is neither an id nor a list of ids.
            Exception: the new ids change text that was already returned, as with a decoder that
                strips.
        """
        new = _numbers(id)
        if not self._prefix and self._ids:
            prefix = tokenizer.decode(self._ids, self._skip)
            if not prefix.endswith("\ufffd"):
                self._prefix, self._read = prefix, len(self._ids)
        if isinstance(tokenizer, Tokenizer):
            # A token without any text would only be decoded again at every step.
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
    """Return the ids as ints, converting NumPy's numbers."""
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
