"""The tokens of texts with Hugging Face's names for them, computed by tokctl's encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import tokctl
from tokctl import _native
from tokctl.core.errors import CoreError
from tokctl.model import encoders
from tokctl.tokenizer.encoding import native_error


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
        model = tokenizer.model
        #: Name of each id's token. None: the token is named by its text in the input.
        self.tokens: list[str | None] = list(tokenizer.tokens)
        self._unknown = tokenizer.unk_id if model.recipe.maximizes_probability else None
        for token in model.added:
            if token.varies_in_text:
                self.tokens[token.id] = None
        if self._unknown is not None:
            self.tokens[self._unknown] = None
        self._of_pre_tokens: _native.Encoder | None = None
        #: The text that was named last, and its names: windows ask for them one by one.
        self._named: tuple[_native.TextTokens, list[str]] | None = None

    def encode(self, text: str) -> _native.TextTokens:
        """Return the tokens of one text."""
        try:
            return self.encoder.encode(text, self, self.matcher, self.strict)
        except CoreError as error:
            raise native_error(error) from None

    def encode_batch(self, texts: list[str], threads: int) -> list[_native.TextTokens]:
        """Return the tokens of each text."""
        try:
            return self.encoder.encode_batch(texts, self, threads, self.matcher, self.strict)
        except CoreError as error:
            raise native_error(error) from None

    @staticmethod
    def as_bytes(_: object) -> NoReturn:
        """Raise the error for a text with lone surrogates; the native encoder calls this method.

        Raises:
            TypeError: in any case.
        """
        raise TypeError("TextInputSequence must be str")

    def token_names(self, tokens: _native.TextTokens, start: int, stop: int) -> list[str]:
        """Return the names of tokens `start` to `stop`, some of which `tokens` lacks.

        The native encoder calls this method.
        """
        named = self._named
        if named is None or named[0] is not tokens:
            self._named = named = tokens, self._names(tokens)
        return named[1][start:stop]

    def _names(self, tokens: _native.TextTokens) -> list[str]:
        """Return the names of all tokens of a text.

        Added tokens are named by their matched text, and unknown spans of Unigram by their text.
        """
        ids = tokens.column("raw_ids", 0, len(tokens))
        names = list(map(self._tokenizer.tokens.__getitem__, ids))
        assert isinstance(tokens.text, str)
        normalized, ranges, _, added = self.encoder.pre_tokens(tokens.text.encode(), self.matcher)
        unknown: dict[int, list[str]] = {}
        words = tokens.column("word_ids", 0, len(tokens))
        for place, (id_, word) in enumerate(zip(ids, words, strict=True)):
            if self.tokens[id_] is not None:
                continue
            start, end = ranges[word]
            if added[word] is not None:
                names[place] = normalized[start:end].decode()
            elif id_ == self._unknown:
                if word not in unknown:
                    unknown[word] = self._unknown_texts(normalized[start:end])[::-1]
                names[place] = unknown[word].pop()
        return names

    def _unknown_texts(self, pre_token: bytes) -> list[str]:
        if self._of_pre_tokens is None:
            self._of_pre_tokens = encoders.pre_token_encoder(self._tokenizer.model, self._made)
        ids, starts, ends, _ = self._of_pre_tokens.tokens(pre_token)
        rows = zip(ids, starts, ends, strict=True)
        return [pre_token[a:b].decode() for id_, a, b in rows if id_ == self._unknown]


@dataclass(frozen=True, slots=True)
class WordTokens:
    """The tokens of a word of a pre-tokenized text; all have the word's number."""

    source: _native.TextTokens
    number: int

    has_all_ids = True

    def column(self, name: str, start: int, stop: int, /) -> list[Any]:
        """Return the column `name` of an encoding for tokens `start` to `stop`."""
        if name == "word_ids":
            return [self.number] * (stop - start)
        return self.source.column(name, start, stop)


@dataclass(frozen=True, slots=True)
class BareTokens:
    """The ids of a text with empty other columns, for `encode_batch_fast`."""

    source: _native.TextTokens

    has_all_ids = True

    def column(self, name: str, start: int, stop: int, /) -> list[Any]:
        """Return the column `name` of an encoding for tokens `start` to `stop`."""
        if name == "raw_ids":
            return self.source.column(name, start, stop)
        empty = {"tokens": "", "surfaces": "", "word_ids": None}.get(name, (0, 0))
        return [empty] * (stop - start)
