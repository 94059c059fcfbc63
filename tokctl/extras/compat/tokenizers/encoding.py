"""The `Encoding` of Hugging Face's `tokenizers`, a mutable view of a `tokctl.Encoding`.

Definitions: `tokenizers/src/tokenizer/encoding.rs` of Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import tokctl
from tokctl.extras.compat.tokenizers import arguments
from tokctl.tokenizer import encoding as edit
from tokctl.tokenizer.encoding import Span


def truncated(
    encoding: tokctl.Encoding, length: int, stride: int, direction: str
) -> tokctl.Encoding:
    """Return the tokens that truncation keeps, with the others as windows.

    Args:
        encoding: the encoding.
        length: most tokens to keep.
        stride: number of tokens that adjacent windows share.
        direction: the end to cut off, `right` or `left`.

    Raises:
        ValueError: the stride is not less than the length.
    """
    if 0 < length < len(encoding) and stride >= length:
        raise ValueError(
            f"`stride` must be strictly less than `max_len={length}` (note that `max_len` may "
            "be shorter than the max length of the original model, as it subtracts the number "
            "of special characters"
        )
    return edit.truncate(encoding, length, stride, direction)


def _padding(id_: int, type_id: int, token: str, size: int) -> tokctl.Encoding:
    return edit.added_encoding([token] * size, [id_] * size, [type_id] * size, attention=0)


def padded(encodings: Sequence[tokctl.Encoding], padding: dict[str, Any]) -> list[tokctl.Encoding]:
    """Return encodings padded to one length, with the settings of `Tokenizer.enable_padding`."""
    length = padding["length"]
    if length is None:
        length = max(map(len, encodings), default=0)
    length += -length % (padding["pad_to_multiple_of"] or 1)
    fill = partial(_padding, padding["pad_id"], padding["pad_type_id"], padding["pad_token"])
    return [edit.pad(one, length, fill, padding["direction"]) for one in encodings]


class Encoding:
    """The tokens of a text, or of two, with the members of `tokenizers.Encoding`.

    Every list has one entry per token, and each access returns a new list.
    """

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens = edit.of_parts((), 0)

    @classmethod
    def _of(cls, tokens: tokctl.Encoding) -> Encoding:
        made = object.__new__(cls)
        made._tokens = tokens
        return made

    def __len__(self) -> int:
        return len(self._tokens)

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __getstate__(self) -> tokctl.Encoding:
        return self._tokens

    def __setstate__(self, state: tokctl.Encoding) -> None:
        self._tokens = state

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Return several encodings joined into one.

        Args:
            encodings: the encodings, in order.
            growing_offsets: whether offsets continue from the encoding before.
        """
        some = [arguments.instance(one, Encoding)._tokens for one in encodings]
        return Encoding._of(edit.merge(some, arguments.flag(growing_offsets)))

    def _ranges(self) -> dict[int, Span]:
        return self._tokens._ranges or {}

    def _range_of(self, sequence: int) -> Span:
        return self._ranges().get(sequence, (0, len(self)))

    @property
    def ids(self) -> list[int]:
        """Return the ids."""
        return edit.fresh_column(self._tokens, "raw_ids")

    @property
    def tokens(self) -> list[str]:
        """Return the texts of the tokens, as the model spells them."""
        return self._tokens.tokens.copy()  # kept, because trimming the offsets needs the tokens

    @property
    def offsets(self) -> list[Span]:
        """Return the span of each token in its text: (start, end) in characters."""
        return edit.fresh_column(self._tokens, "offsets")

    @property
    def word_ids(self) -> list[int | None]:
        """Return the number of each token's word; None for special tokens."""
        return edit.fresh_column(self._tokens, "word_ids")

    @property
    def words(self) -> list[int | None]:
        """Return `word_ids`; the name is deprecated."""
        from warnings import warn

        message = "Encoding.words is deprecated, please use Encoding.word_ids instead."
        warn(message, DeprecationWarning, 2)
        return self.word_ids

    @property
    def type_ids(self) -> list[int]:
        """Return the type id of each token."""
        return edit.fresh_column(self._tokens, "type_ids")

    @property
    def special_tokens_mask(self) -> list[int]:
        """Return 1 for tokens of the template and padding, else 0."""
        return edit.fresh_column(self._tokens, "special_mask")

    @property
    def attention_mask(self) -> list[int]:
        """Return 0 for padding, else 1."""
        return edit.fresh_column(self._tokens, "attention_mask")

    @property
    def sequence_ids(self) -> list[int | None]:
        """Return the number of each token's text; None for tokens outside the texts."""
        found: list[int | None] = [None] * len(self)
        for number in range(self.n_sequences):
            start, stop = self._range_of(number)
            found[start:stop] = [number] * (stop - start)
        return found

    @property
    def overflowing(self) -> list[Encoding]:
        """Return the windows over the tokens that truncation left out."""
        return list(map(Encoding._of, self._tokens.overflowing))

    @property
    def n_sequences(self) -> int:
        """Return how many texts the encoding holds."""
        return len(self._ranges()) or 1

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all tokens to the text with this number."""
        self._tokens = edit.in_sequence(self._tokens, arguments.unsigned(sequence_id))

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text that a token belongs to; None for no text."""
        token_index = arguments.unsigned(token_index)
        ranges = self._ranges()
        if token_index > len(self):
            return None
        if not ranges:
            return 0
        return next((n for n, (a, b) in ranges.items() if a <= token_index < b), None)

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return the span of a token in its text; None for a token outside the texts."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._tokens.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of a token's word; None for a token without a word."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._tokens.word_ids[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the tokens of a word, as (first, one past the last); None for an unknown word."""
        word_index = arguments.unsigned(word_index, 32)
        bounds = self._range_of(arguments.unsigned(sequence_index))
        return edit.word_tokens(self._tokens, word_index, bounds)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the span of a word in its text; None for an unknown word."""
        return edit.covered(self._tokens, self.word_to_tokens(word_index, sequence_index))

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the first token that covers a character of a text; None if no token does."""
        char_pos = arguments.unsigned(char_pos)
        bounds = self._range_of(arguments.unsigned(sequence_index))
        return edit.token_at(self._tokens, char_pos, bounds)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that covers a character of a text; None if no word does."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pad this encoding and its windows to a length.

        Args:
            length: number of tokens; a longer encoding is unchanged.
            direction: the end to pad, `right` or `left`.
            pad_id: padding id.
            pad_type_id: type id of the padding.
            pad_token: padding token.

        Raises:
            ValueError: the direction is unknown.
        """
        length = arguments.unsigned(length)
        pad_id, pad_type_id = arguments.unsigned(pad_id, 32), arguments.unsigned(pad_type_id, 32)
        fill = partial(_padding, pad_id, pad_type_id, arguments.instance(pad_token, str))
        self._tokens = edit.pad(self._tokens, length, fill, arguments.direction(direction))

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncate this encoding to a length; the rest becomes its windows.

        Args:
            max_length: most tokens to keep.
            stride: number of tokens that adjacent windows share.
            direction: the end to cut off, `right` or `left`.

        Raises:
            ValueError: the direction is unknown, or the stride is not less than the length.
        """
        max_length, stride = arguments.unsigned(max_length), arguments.unsigned(stride)
        arguments.direction(direction)
        self._tokens = truncated(self._tokens, max_length, stride, direction)
