"""The tokens of texts as Hugging Face's `tokenizers` calls them, computed by tokctl's encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import tokctl
from tokctl import _native
from tokctl.compat.encoding import Columns
from tokctl.errors import CoreError
from tokctl.model import encoders
from tokctl.tokenizer.encoding import character_offsets, native_error


class Engine:
    """tokctl's encoder with the added tokens that it looks for."""

    def __init__(self, tokenizer: tokctl.Tokenizer, *, special_as_text: bool) -> None:
        if special_as_text:
            # They are not looked for, but the model may make them of text all the same.
            self._made = frozenset(token.id for token in tokenizer.model.added if token.made)
            self.encoder = encoders.encoder(tokenizer.model, self._made)
            self.matcher = encoders.matchers(tokenizer.model, self.encoder, set())
        else:
            self._made = frozenset()
            self.encoder = tokenizer.encoder
            self.matcher = tokenizer.special_matcher("all")
        self.strict = tokenizer.must_have_ids
        self._tokenizer = tokenizer
        model = tokenizer.model
        #: Tokens that are called otherwise than they are spelled: as the text has them.
        self._renamed = {
            token.id
            for token in model.added
            if token.strip_left or token.strip_right or token.normalized
        }
        self._unknown = tokenizer.unk_id if model.recipe.traits.has_scores else None
        if self._unknown is not None:
            self._renamed.add(self._unknown)
        self._of_pre_tokens: _native.Encoder | None = None

    def ids(self, text: str) -> list[int]:
        try:
            return self.encoder.ids(text, self.matcher, _no_text, self.strict)
        except CoreError as error:
            raise native_error(error) from None

    def batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """All ids end to end, and where those of each text begin."""
        try:
            ids, ends = self.encoder.batch_array(
                texts, threads, self.matcher, _no_text, self.strict
            )
        except CoreError as error:
            raise native_error(error) from None
        return memoryview(ids), memoryview(ends).cast("q")

    def columns(self, text: str) -> Columns:
        """Names, offsets and words of a text's tokens."""
        data = text.encode()
        ids, starts, ends, words = self.encoder.tokens(data, self.matcher)
        tokens = self._tokenizer.tokens
        names = [tokens[id_] for id_ in ids]
        if not self._renamed.isdisjoint(ids):
            self._rename(data, ids, words, names)
        offsets = list(zip(starts, ends, strict=True))
        if len(data) != len(text):
            offsets = character_offsets(text, offsets)
        return names, offsets, list(words)

    def _rename(self, data: bytes, ids: list[int], words: list[int], names: list[str]) -> None:
        """Calls added tokens as they are found, and unknown stretches of Unigram by their text."""
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
            self._of_pre_tokens = encoders.of_pre_tokens(self._tokenizer.model, self._made)
        ids, starts, ends, _ = self._of_pre_tokens.tokens(pre_token)
        rows = zip(ids, starts, ends, strict=True)
        return [pre_token[a:b].decode() for id_, a, b in rows if id_ == self._unknown]


def _no_text(_: object) -> NoReturn:
    raise TypeError("TextInputSequence must be str")


class TextTokens:
    """The tokens of one text, which was encoded alone or in a batch."""

    __slots__ = ("_columns", "_engine", "_ids", "_text")

    def __init__(self, engine: Engine, text: str, ids: list[int] | memoryview) -> None:
        self._engine = engine
        self._text = text
        self._ids = ids
        self._columns: Columns | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, start: int, stop: int) -> list[int]:
        found = self._ids[start:stop]
        return found if isinstance(found, list) else found.tolist()

    def columns(self) -> Columns:
        if self._columns is None:
            self._columns = self._engine.columns(self._text)
        return self._columns


class WordTokens(TextTokens):
    """The tokens of a word that was given as one: its number is the word's."""

    __slots__ = ("_number",)

    def __init__(self, engine: Engine, text: str, ids: list[int] | memoryview, number: int) -> None:
        super().__init__(engine, text, ids)
        self._number = number

    def columns(self) -> Columns:
        names, offsets, _ = super().columns()
        return names, offsets, [self._number] * len(names)


class BareTokens(TextTokens):
    """Ids without anything else: what `encode_batch_fast` gives."""

    __slots__ = ()

    def columns(self) -> Columns:
        size = len(self._ids)
        return [""] * size, [(0, 0)] * size, [None] * size
