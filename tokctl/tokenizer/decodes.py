"""From ids to text: the methods of a tokenizer that decode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, overload

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.model import byte_level
from tokctl.tokenizer.described import Described
from tokctl.tokenizer.encoding import bad_ids_error
from tokctl.values import cached_property

if TYPE_CHECKING:
    from typing import Protocol

    from tokctl.tokenizer.streaming import DecodeStream

    class FlatIds(Protocol):
        """The ids of many texts end to end: a list, an array."""

        def __len__(self) -> int: ...
        def __getitem__(self, key: slice, /) -> Iterable[int]: ...


class Decodes(Described):
    """What a tokenizer does with ids."""

    @cached_property
    def decoder(self) -> _native.Decoder:
        """The native decoder."""
        from tokctl.tokenizer.segmenting import decoder

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

    @overload
    def decode_batch(
        self,
        ids: Iterable[Iterable[int]],
        offsets: None = None,
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]: ...
    @overload
    def decode_batch(
        self,
        ids: FlatIds,
        offsets: Iterable[int],
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]: ...
    def decode_batch(
        self,
        ids: Iterable[Iterable[int]] | FlatIds,
        offsets: Iterable[int] | None = None,
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]:
        """The text of each of many ids.

        Args:
            ids: the ids of each text: lists, arrays, the rows of an array of two dimensions;
                or, with `offsets`, all of them end to end, as `encode_batch_array` gives them.
            offsets: where the ids of each text begin, and behind the last where they end.
            skip_special, errors: as those of `decode`.

        Raises:
            TokctlError: as `decode`, with the number of the text, from 0.
        """
        rows = ids if offsets is None else _parts(ids, offsets)  # type: ignore[arg-type]
        texts = []
        try:
            for row in rows:  # type: ignore[union-attr]
                texts.append(self.decode(row, skip_special=skip_special, errors=errors))
        except TokctlError as error:
            raise TokctlError(f"text {len(texts)}: {error}", error.hint) from None
        return texts

    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Decodes ids as they come: each piece of text as soon as no later token can change
        it, and never half a character; see `tokctl.tokenizer.streaming`."""
        from tokctl.tokenizer.streaming import DecodeStream

        return DecodeStream(self, skip_special=skip_special)

    def decode_tokens(self, tokens: Sequence[str], *, errors: str = "strict") -> str:
        """The text that token strings stand for; they need not be in the vocabulary."""
        own = self._spelled_as_themselves
        try:
            if self.recipe.is_byte_level:
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


def _parts(ids: FlatIds, offsets: Iterable[int]) -> Iterable[Iterable[int]]:
    places = list(map(index, offsets))
    if not places or places[0] < 0 or places[-1] > len(ids) or places != sorted(places):
        raise TokctlError(
            f"the offsets are not places in {len(ids)} ids, in order",
            "they are one more than there are texts, the first one 0",
        )
    # A slice of our own array is a copy, one of its memory is not.
    memory = memoryview(ids) if isinstance(ids, _native.IdArray) else ids
    return (memory[start:end] for start, end in pairwise(places))


def _not_utf8(error: UnicodeDecodeError) -> TokctlError:
    return TokctlError(
        f"the decoded bytes are not UTF-8 at byte {error.start}",
        "take decode_bytes(), or errors='replace'",
    )
