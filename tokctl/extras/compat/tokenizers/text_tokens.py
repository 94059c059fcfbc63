"""The tokens of texts with Hugging Face's names for them, computed by tokctl's encoder."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NoReturn

import tokctl
from tokctl import _native
from tokctl.core.errors import CoreError
from tokctl.core.values import cached_property
from tokctl.extras.compat.tokenizers.encoding import Offsets, Trims, shifted, trimmed_all
from tokctl.model import encoders
from tokctl.tokenizer.encoding import native_error
from tokctl.tokenizer.postprocess import spaces_of

#: A text with fewer characters is encoded together with its spans.
_SHORT = 1 << 12
#: Marks a token whose number of spaces depends on the text (`PlacedTokens`).
_UNKNOWN = (1 << 32) - 1


class Engine:
    """tokctl's encoder with a matcher of added tokens."""

    def __init__(self, tokenizer: tokctl.Tokenizer, *, special_as_text: bool) -> None:
        # The model may produce these special tokens from text in either mode.
        self._made = frozenset(token.id for token in tokenizer.model.added if token.made)
        if special_as_text:
            self.encoder = encoders.encoder(tokenizer.model, self._made)
            self.matcher = encoders.matchers(tokenizer.model, self.encoder, set())
        else:
            self.encoder = tokenizer.encoder
            self.matcher = tokenizer.special_matcher("all")
        self.strict = tokenizer.must_have_ids
        self._tokenizer = tokenizer
        self._tokens = tokenizer.tokens
        model = tokenizer.model
        #: Ids whose token is named by its text in the input, not by its spelling.
        self._renamed = {
            token.id
            for token in model.added
            if token.strip_left or token.strip_right or token.normalized
        }
        self._unknown = tokenizer.unk_id if model.recipe.traits.has_scores else None
        if self._unknown is not None:
            self._renamed.add(self._unknown)
        self._of_pre_tokens: _native.Encoder | None = None

    def tokens(self, text: str) -> TextTokens:
        """Return the tokens of one text.

        The spans of a short text are computed at once, which costs less than encoding it again.
        """
        try:
            if len(text) < _SHORT:
                return TextTokens(self, text, None, self.placed(text))
            ids = self.encoder.array(text, 1, self.matcher, _no_text, self.strict)
        except CoreError as error:
            raise native_error(error) from None
        return TextTokens(self, text, ids)

    def batch(self, texts: Sequence[str], threads: int) -> tuple[_native.IdArray, memoryview]:
        """Return all ids in one array, and the offsets where the ids of each text begin."""
        try:
            ids, ends = self.encoder.batch_array(
                texts, threads, self.matcher, _no_text, self.strict
            )
        except CoreError as error:
            raise native_error(error) from None
        return ids, memoryview(ends).cast("q")

    def placed(self, text: str) -> _native.PlacedTokens:
        """Return the spans of a text's tokens."""
        try:
            return self.encoder.placed(text, self.matcher, self.strict)
        except UnicodeEncodeError:
            _no_text(text)

    def usual_names(self, ids: list[int]) -> list[str] | None:
        """Return the names of the tokens, or None if one of them is named by its text."""
        if self._renamed.isdisjoint(ids):
            return list(map(self._tokens.__getitem__, ids))
        return None

    def names(self, text: str) -> list[str]:
        """Return the names of all tokens of a text."""
        data = text.encode()
        ids, _, _, words = self.encoder.tokens(data, self.matcher)
        names = list(map(self._tokens.__getitem__, ids))
        self._rename(data, ids, words, names)
        return names

    @cached_property
    def spaces(self) -> bytes:
        """Return how many spaces each id's token begins and ends with, for `PlacedTokens`."""
        found = array("I")
        for id_, token in enumerate(self._tokens):
            found.extend((_UNKNOWN, 0) if id_ in self._renamed else spaces_of(token))
        return found.tobytes()

    def _rename(self, data: bytes, ids: list[int], words: list[int], names: list[str]) -> None:
        """Name added tokens by their matched text, and unknown spans of Unigram by their text."""
        normalized, ranges, _, added = self.encoder.pre_tokens(data, self.matcher)
        unknown: dict[int, list[str]] = {}
        for place, (id_, word) in enumerate(zip(ids, words, strict=True)):
            if id_ not in self._renamed:
                continue
            start, end = ranges[word]
            if added[word] is not None:
                names[place] = normalized[start:end].decode()
            elif id_ == self._unknown:
                if word not in unknown:
                    unknown[word] = self._unknown_texts(normalized[start:end])[::-1]
                names[place] = unknown[word].pop()

    def _unknown_texts(self, pre_token: bytes) -> list[str]:
        if self._of_pre_tokens is None:
            self._of_pre_tokens = encoders.pre_token_encoder(self._tokenizer.model, self._made)
        ids, starts, ends, _ = self._of_pre_tokens.tokens(pre_token)
        rows = zip(ids, starts, ends, strict=True)
        return [pre_token[a:b].decode() for id_, a, b in rows if id_ == self._unknown]


def _no_text(_: object) -> NoReturn:
    raise TypeError("TextInputSequence must be str")


class TextTokens:
    """The tokens of one text, encoded alone or in a batch."""

    __slots__ = ("_engine", "_ids", "_names", "_placed", "_text")

    def __init__(
        self,
        engine: Engine,
        text: str,
        ids: _native.IdArray | None,
        placed: _native.PlacedTokens | None = None,
    ) -> None:
        """Create the tokens from `ids` or `placed`; the other one is None."""
        self._engine = engine
        self._text = text
        self._ids = ids
        self._placed = placed
        self._names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.placed if self._ids is None else self._ids)

    def ids(self, start: int, stop: int) -> list[int]:
        """Return the ids of tokens `start` to `stop`."""
        ids = self._ids
        if ids is None:
            return self.placed.ids(start, stop)
        return (ids if stop - start == len(ids) else ids[start:stop]).tolist()

    def names(self, start: int, stop: int) -> list[str]:
        """Return the names of tokens `start` to `stop`."""
        usual = self._engine.usual_names(self.ids(start, stop))
        if usual is not None:
            return usual
        if self._names is None:
            self._names = self._engine.names(self._text)
        return self._names[start:stop]

    def offsets(self, start: int, stop: int, trims: Trims, shift: int) -> list[Offsets]:
        """Return the trimmed character offsets of tokens `start` to `stop`, plus `shift`."""
        found = self.placed.offsets(
            start, stop, shift, trims, self._engine.spaces if trims else b""
        )
        if found is None:
            offsets = self.placed.offsets(start, stop, 0, (), b"") or []
            found = shifted(trimmed_all(self.names(start, stop), offsets, trims), shift)
        return found

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the pre-token numbers of tokens `start` to `stop`."""
        return self.placed.words(start, stop)  # type: ignore[return-value]

    @property
    def placed(self) -> _native.PlacedTokens:
        """Return the spans of the tokens, computing them on first use."""
        if self._placed is None:
            self._placed = self._engine.placed(self._text)
        return self._placed


class WordTokens(TextTokens):
    """The tokens of a word of a pre-tokenized text; all have the word's number."""

    __slots__ = ("_number",)

    def __init__(self, engine: Engine, text: str, ids: _native.IdArray, number: int) -> None:
        super().__init__(engine, text, ids)
        self._number = number

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the word's number for each of tokens `start` to `stop`."""
        return [self._number] * (stop - start)


class BareTokens(TextTokens):
    """The ids of a text without other columns, for `encode_batch_fast`."""

    __slots__ = ()

    def names(self, start: int, stop: int) -> list[str]:
        """Return an empty text for each of tokens `start` to `stop`."""
        return [""] * (stop - start)

    def offsets(self, start: int, stop: int, trims: Trims, shift: int) -> list[Offsets]:  # noqa: ARG002
        """Return `(shift, shift)` for each of tokens `start` to `stop`."""
        return [(shift, shift)] * (stop - start)

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return None for each of tokens `start` to `stop`."""
        return [None] * (stop - start)
