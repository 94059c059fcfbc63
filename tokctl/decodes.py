"""From ids to text: the methods of a tokenizer that decode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl import _native, byte_level
from tokctl.described import Described
from tokctl.encoding import bad_ids_error
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.streaming import DecodeStream


class Decodes(Described):
    """What a tokenizer does with ids."""

    @cached_property
    def decoder(self) -> _native.Decoder:
        """The native decoder."""
        from tokctl.segmenting import decoder

        return decoder(self.model)

    def decode_bytes(self, ids: Iterable[int], *, skip_special: bool = False) -> bytes:
        """The bytes that `ids` stand for; TokctlError where one is outside the vocabulary.

        Arrays of integers (NumPy's, `array.array`, what `encode_array` gives) are read without
        a Python object for each id.
        """
        try:
            return self.decoder.decode(ids, skip_special)
        except (_native.CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self.vocab_size) from None

    def decode(
        self, ids: Iterable[int], *, skip_special: bool = False, errors: str = "strict"
    ) -> str:
        """The text that `ids` stand for, which are those of `decode_bytes`.

        Args:
            skip_special: leaves special tokens out.
            errors: what to do where the bytes are not UTF-8 (ids can end inside a
                character): `strict`, or any other error handler of `bytes.decode`.
        """
        try:
            return self.decoder.text(ids, skip_special, errors)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None
        except (_native.CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self.vocab_size) from None

    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Decodes ids as they come: each piece of text as soon as no later token can change
        it, and never half a character; see `tokctl.streaming`."""
        from tokctl.streaming import DecodeStream

        return DecodeStream(self, skip_special=skip_special)

    def decode_tokens(self, tokens: Sequence[str], *, errors: str = "strict") -> str:
        """The text that token strings stand for; they need not be in the vocabulary."""
        own = self._spelled_as_themselves
        try:
            if self.recipe.units == "bytes":
                encoded = [own[t] if t in own else byte_level.unspell(t) for t in tokens]
            else:
                encoded = [token.encode() for token in tokens]
        except UnicodeEncodeError as error:
            raise TokctlError(f"the token {error.object!r} is not UTF-8") from None
        except ValueError as error:
            raise TokctlError(str(error), "a space is spelled Ġ, a line feed Ċ") from None
        try:
            return self.decoder.decode_tokens(encoded).decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None

    @cached_property
    def _spelled_as_themselves(self) -> dict[str, bytes]:
        """The tokens of a byte-level model that are no stand-ins of bytes, with their bytes."""
        ids = self.model.apart | {token.id for token in self.model.added}
        return {self.tokens[id_]: self.model.tokens[id_] for id_ in ids}


def _not_utf8(error: UnicodeDecodeError) -> TokctlError:
    return TokctlError(
        f"the decoded bytes are not UTF-8 at byte {error.start}",
        "take decode_bytes(), or errors='replace'",
    )
