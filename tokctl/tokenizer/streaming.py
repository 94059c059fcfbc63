"""Decoding ids as they come, as from a language model that is still writing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.tokenizer.encoding import bad_ids_error

if TYPE_CHECKING:
    from tokctl.tokenizer.decodes import Decodes


class DecodeStream:
    """Turns ids into text piece by piece.

    The pieces joined are what `Tokenizer.decode` gives for all the ids at once, with
    U+FFFD where bytes are not UTF-8. A piece never ends inside a character, nor where a
    later token could still change it.
    """

    def __init__(self, tokenizer: Decodes, *, skip_special: bool = False) -> None:
        self._stream = _native.DecodeStream(tokenizer.decoder, skip_special)
        self._size = tokenizer.vocab_size
        self._finished = False

    def push(self, ids: int | Iterable[int]) -> str:
        """The text that is certain now and was not before; often none.

        Raises:
            TokctlError: an id outside the vocabulary; the stream is finished.
        """
        if self._finished:
            raise TokctlError("the stream is finished", "decode what follows with a new one")
        try:
            return self._stream.push_text(ids)
        except (_native.CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self._size) from None

    def finish(self) -> str:
        """What was held back; nothing can be pushed after it, and a second time it is nothing."""
        if self._finished:
            return ""
        self._finished = True
        return self._stream.finish_text()
