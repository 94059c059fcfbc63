"""The `Encoding` of Hugging Face's `tokenizers`, whose columns are computed when they are read.

An encoding is a row of parts, and each part is a range of tokens from one source: a text, a
template, or padding. Truncating, merging and padding only rearrange parts. Ids are sliced from the
array of a whole batch; tokens, offsets and words of a text are computed on first use.

Definitions: `tokenizers/src/tokenizer/encoding.rs` of Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from tokctl.extras.compat.tokenizers import arguments
from tokctl.tokenizer.postprocess import Truncation, trim_offsets

Offsets = tuple[int, int]
#: For each trimming of offsets: whether a prefix space was added, and whether the part's first
#: token is the first one of its encoding.
Trims = tuple[tuple[bool, bool], ...]


class Tokens(Protocol):
    """A source of tokens; each method returns a column for tokens `start` to `stop`."""

    def ids(self, start: int, stop: int) -> list[int]:
        """Return the ids."""

    def names(self, start: int, stop: int) -> list[str]:
        """Return the texts of the tokens."""

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the word numbers; None for a token without a word."""

    def offsets(self, start: int, stop: int, trims: Trims, shift: int) -> list[Offsets]:
        """Return offsets in characters, trimmed, with `shift` added."""


#: Source, start and stop of the tokens; type id, special mask and attention mask; trimmings of the
#: offsets, and the number to add to them.
RowPart = tuple[Tokens, int, int, int, int, int, Trims, int]


def trimmed_all(names: list[str], offsets: list[Offsets], trims: Trims) -> list[Offsets]:
    """Return the offsets after all trimmings."""
    for prefix_space, first in trims:
        offsets = trim_offsets(names, offsets, prefix_space, first)
    return offsets


def shifted(offsets: list[Offsets], shift: int) -> list[Offsets]:
    """Return the offsets with `shift` added to both ends."""
    return [(start + shift, end + shift) for start, end in offsets] if shift else offsets


class GivenTokens:
    """A source of tokens with given columns."""

    __slots__ = ("_columns", "_ids")

    def __init__(
        self, ids: list[int], names: list[str], offsets: list[Offsets], words: list[int | None]
    ) -> None:
        self._ids = ids
        self._columns = names, offsets, words

    def ids(self, start: int, stop: int) -> list[int]:
        """Return the ids of tokens `start` to `stop`."""
        return self._ids[start:stop]

    def names(self, start: int, stop: int) -> list[str]:
        """Return the texts of tokens `start` to `stop`."""
        return self._columns[0][start:stop]

    def offsets(self, start: int, stop: int, trims: Trims, shift: int) -> list[Offsets]:
        """Return the trimmed character offsets of tokens `start` to `stop`, plus `shift`."""
        return shifted(
            trimmed_all(self.names(start, stop), self._columns[1][start:stop], trims), shift
        )

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the word numbers of tokens `start` to `stop`."""
        return self._columns[2][start:stop]


class PaddingTokens:
    """A source that repeats one padding token."""

    __slots__ = ("_id", "_token")

    def __init__(self, id_: int, token: str) -> None:
        self._id, self._token = id_, token

    def ids(self, start: int, stop: int) -> list[int]:
        """Return the padding id `stop - start` times."""
        return [self._id] * (stop - start)

    def names(self, start: int, stop: int) -> list[str]:
        """Return the padding token `stop - start` times."""
        return [self._token] * (stop - start)

    def offsets(self, start: int, stop: int, trims: Trims, shift: int) -> list[Offsets]:
        """Return the trimmed offsets of empty spans at `shift`."""
        return shifted(
            trimmed_all(self.names(start, stop), [(0, 0)] * (stop - start), trims), shift
        )

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return None `stop - start` times."""
        return [None] * (stop - start)


class Row:
    """The tokens of an encoding; immutable.

    Attributes:
        parts: ranges of tokens in order; see `RowPart`.
        size: number of tokens.
        ranges: (start, stop) of the tokens of each sequence; empty: one sequence.
    """

    __slots__ = ("_windows", "parts", "ranges", "size")

    def __init__(
        self,
        parts: tuple[RowPart, ...] = (),
        size: int = 0,
        ranges: dict[int, Offsets] | None = None,
        windows: list[Row] | Callable[[], list[Row]] | None = None,
    ) -> None:
        self.parts = parts
        self.size = size
        self.ranges = ranges or {}
        self._windows = windows

    @property
    def windows(self) -> list[Row]:
        """Return the windows over the tokens that truncation left out."""
        if callable(self._windows):
            self._windows = self._windows()
        return self._windows or []

    @property
    def has_windows(self) -> bool:
        """Return whether there may be windows, without computing them."""
        return bool(self._windows)

    def ids(self) -> list[int]:
        """Return the ids of all tokens."""
        if len(self.parts) == 1:
            source, start, stop = self.parts[0][:3]
            return source.ids(start, stop)
        found: list[int] = []
        for source, start, stop, *_ in self.parts:
            found += source.ids(start, stop)
        return found

    def constant(self, place: int) -> list[int]:
        """Return the column of a field that is constant in each part.

        Args:
            place: index of the field in `RowPart`.
        """
        found: list[int] = []
        for part in self.parts:
            found += [part[place]] * (part[2] - part[1])  # type: ignore[list-item]
        return found

    def names(self) -> list[str]:
        """Return the texts of all tokens."""
        found: list[str] = []
        for source, start, stop, *_ in self.parts:
            found += source.names(start, stop)
        return found

    def offsets(self) -> list[Offsets]:
        """Return the character offsets of all tokens."""
        found: list[Offsets] = []
        for source, start, stop, _, _, _, trims, shift in self.parts:
            found += source.offsets(start, stop, trims, shift)
        return found

    def words(self) -> list[int | None]:
        """Return the word numbers of all tokens."""
        found: list[int | None] = []
        for source, start, stop, *_ in self.parts:
            found += source.words(start, stop)
        return found

    def changed(
        self,
        parts: tuple[RowPart, ...] | None = None,
        ranges: dict[int, Offsets] | None = None,
        windows: Callable[[], list[Row]] | None = None,
    ) -> Row:
        """Return the row with other parts, ranges or windows; None keeps the own ones."""
        return Row(
            self.parts if parts is None else parts,
            self.size,
            self.ranges if ranges is None else ranges,
            self._windows if windows is None else windows,
        )

    def each_window(self, change: Callable[[Row], Row]) -> Callable[[], list[Row]] | None:
        """Return a function that applies `change` to every window; None without windows."""
        return (lambda: list(map(change, self.windows))) if self._windows else None

    def cut(self, start: int, stop: int) -> Row:
        """Return tokens `start` to `stop`, without ranges and windows."""
        kept: list[RowPart] = []
        place = 0
        for part in self.parts:
            size = part[2] - part[1]
            first, last = max(start - place, 0), min(stop - place, size)
            if first < last:
                trims = part[6]
                if first:
                    trims = tuple((prefix_space, False) for prefix_space, _ in trims)
                bounds = part[1] + first, part[1] + last
                kept.append((part[0], *bounds, *part[3:6], trims, part[7]))
            place += size
        return Row(tuple(kept), stop - start)

    def truncated(self, length: int, stride: int, direction: str) -> Row:
        """Return the tokens that truncation keeps, with the others as windows.

        Args:
            length: most tokens to keep.
            stride: number of tokens that adjacent windows share.
            direction: the end to cut off, `right` or `left`.

        Raises:
            ValueError: the stride is not less than the length.
        """
        size = self.size
        if length >= size:
            return self
        if length == 0:
            return Row(windows=[self])
        if stride >= length:
            raise ValueError(
                f"`stride` must be strictly less than `max_len={length}` (note that `max_len` may "
                "be shorter than the max length of the original model, as it subtracts the number "
                "of special characters"
            )
        cut = Truncation(length, stride, direction=direction)
        kept = self.cut(*next(cut.ranges(size, length)))
        return kept.changed(
            windows=lambda: [
                self.cut(*bounds) for bounds in islice(cut.ranges(size, length), 1, None)
            ]
        )

    def merged(self, other: Row, growing: bool) -> Row:
        """Return this row followed by another, with every combination of their windows.

        Args:
            other: the row that follows.
            growing: whether the offsets of `other` continue from this row's end.
        """

        def windows() -> list[Row]:
            found = []
            for window in self.windows:
                found.append(window.merged(other, growing))
                found += [window.merged(one, growing) for one in other.windows]
            return found + [self.merged(one, growing) for one in other.windows]

        row = _joined((self, other), growing)
        return row.changed(windows=windows) if self.has_windows or other.has_windows else row

    def end(self) -> int:
        """Return the offset where the last token ends in the text; the row must have a token."""
        part = next(part for part in reversed(self.parts) if part[1] < part[2])
        size = part[2] - part[1]
        return Row((part,), size).cut(size - 1, size).offsets()[0][1]

    def padded(self, length: int, id_: int, type_id: int, token: str, direction: str) -> Row:
        """Return the row and its windows padded to a length.

        Args:
            length: number of tokens; a longer row is unchanged.
            id_: padding id.
            type_id: type id of the padding.
            token: padding token.
            direction: the end to pad, `right` or `left`.
        """
        windows = self.each_window(lambda row: row.padded(length, id_, type_id, token, direction))
        missing = length - self.size
        if missing <= 0:
            return self.changed(windows=windows)
        part: RowPart = (PaddingTokens(id_, token), 0, missing, type_id, 1, 0, (), 0)
        if direction == "right":
            return Row((*self.parts, part), length, self.ranges, windows)
        ranges = {n: (a + missing, b + missing) for n, (a, b) in self.ranges.items()}
        return Row((part, *self.parts), length, ranges, windows)

    def with_type(self, type_id: int) -> Row:
        """Return the row with one type id for all tokens; windows are unchanged."""
        return self.changed(tuple((*part[:3], type_id, *part[4:]) for part in self.parts))

    def with_sequence(self, number: int) -> Row:
        """Return the row with all tokens in sequence `number`; windows are unchanged."""
        return self.changed(ranges={**self.ranges, number: (0, self.size)})

    def with_trim(self, prefix_space: bool) -> Row:
        """Return the row with offsets that leave out the spaces of byte-level tokens."""
        windows = self.each_window(lambda row: row.with_trim(prefix_space))
        return self.changed(
            tuple(
                (*part[:6], (*part[6], (prefix_space, place == 0)), part[7])
                for place, part in enumerate(self.parts)
            ),
            windows=windows,
        )

    def range_of(self, sequence: int) -> Offsets:
        """Return (start, stop) of a sequence's tokens; all tokens for an unknown sequence."""
        return self.ranges.get(sequence, (0, self.size))


def merge(rows: Iterable[Row], growing: bool) -> Row:
    """Return the rows one after the other, with combined windows; see `Row.merged`."""
    rows = list(rows)

    def windows() -> list[Row]:
        found = Row()
        for row in rows:
            found = found.merged(row, growing)
            _ = found.windows  # computed now, because each step needs the windows of the one before
        return found.windows

    row = _joined(rows, growing)
    return row.changed(windows=windows) if any(one.has_windows for one in rows) else row


def _joined(rows: Iterable[Row], growing: bool) -> Row:
    """Return the rows one after the other, without windows; with `growing`, offsets continue."""
    parts: list[RowPart] = []
    size, shift = 0, 0
    ranges: dict[int, Offsets] = {}
    for row in rows:
        parts += [(*part[:7], part[7] + shift) for part in row.parts] if shift else row.parts
        ranges |= {n: (a + size, b + size) for n, (a, b) in row.ranges.items()}
        size += row.size
        if growing and row.size:
            shift += row.end()
    return Row(tuple(parts), size, ranges)


def pad_rows(rows: Sequence[Row], padding: dict[str, Any]) -> list[Row]:
    """Return the rows padded to one length, with the settings of `Tokenizer.enable_padding`."""
    length = padding["length"]
    if length is None:
        length = max((row.size for row in rows), default=0)
    length += -length % (padding["pad_to_multiple_of"] or 1)
    token = padding["pad_id"], padding["pad_type_id"], padding["pad_token"], padding["direction"]
    return [row.padded(length, *token) for row in rows]


class Encoding:
    """The tokens of a text, or of two, with the members of `tokenizers.Encoding`.

    Every list has one entry per token, and each access returns a new list.
    """

    __slots__ = ("_offsets", "_row", "_words")

    def __init__(self) -> None:
        self._set(Row())

    def _set(self, row: Row) -> None:
        self._row = row
        self._offsets: list[Offsets] | None = None
        self._words: list[int | None] | None = None

    @classmethod
    def _of(cls, row: Row) -> Encoding:
        made = cls.__new__(cls)
        made._set(row)
        return made

    def __len__(self) -> int:
        return self._row.size

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __getstate__(self) -> dict[str, Any]:
        return _state(self._row)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(_restored(state))

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Return several encodings joined into one.

        Args:
            encodings: the encodings, in order.
            growing_offsets: whether offsets continue from the encoding before.
        """
        rows = [arguments.instance(one, Encoding)._row for one in encodings]
        return Encoding._of(merge(rows, arguments.flag(growing_offsets)))

    # Cached for methods about single tokens; the public properties return new lists.
    @property
    def _places(self) -> list[Offsets]:
        if self._offsets is None:
            self._offsets = self._row.offsets()
        return self._offsets

    @property
    def _numbers(self) -> list[int | None]:
        if self._words is None:
            self._words = self._row.words()
        return self._words

    @property
    def ids(self) -> list[int]:
        """Return the ids."""
        return self._row.ids()

    @property
    def tokens(self) -> list[str]:
        """Return the texts of the tokens, as the model spells them."""
        return self._row.names()

    @property
    def offsets(self) -> list[Offsets]:
        """Return the span of each token in its text: (start, end) in characters."""
        return self._row.offsets()

    @property
    def word_ids(self) -> list[int | None]:
        """Return the number of each token's word; None for special tokens."""
        return self._row.words()

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
        return self._row.constant(3)

    @property
    def special_tokens_mask(self) -> list[int]:
        """Return 1 for tokens of the template and padding, else 0."""
        return self._row.constant(4)

    @property
    def attention_mask(self) -> list[int]:
        """Return 0 for padding, else 1."""
        return self._row.constant(5)

    @property
    def sequence_ids(self) -> list[int | None]:
        """Return the number of each token's text; None for tokens outside the texts."""
        found: list[int | None] = [None] * len(self)
        for number in range(self.n_sequences):
            start, stop = self._row.range_of(number)
            found[start:stop] = [number] * (stop - start)
        return found

    @property
    def overflowing(self) -> list[Encoding]:
        """Return the windows over the tokens that truncation left out."""
        return list(map(Encoding._of, self._row.windows)) if self._row.has_windows else []

    @property
    def n_sequences(self) -> int:
        """Return how many texts the encoding holds."""
        return len(self._row.ranges) or 1

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all tokens to the text with this number."""
        self._row = self._row.with_sequence(arguments.unsigned(sequence_id))

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text that a token belongs to; None for no text."""
        token_index = arguments.unsigned(token_index)
        ranges = self._row.ranges
        if token_index > len(self):
            return None
        if not ranges:
            return 0
        return next((n for n, (a, b) in ranges.items() if a <= token_index < b), None)

    def token_to_chars(self, token_index: int) -> Offsets | None:
        """Return the span of a token in its text; None for a token outside the texts."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._places[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of a token's word; None for a token without a word."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self._numbers[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Offsets | None:
        """Return the tokens of a word, as (first, one past the last); None for an unknown word."""
        word_index = arguments.unsigned(word_index, 32)
        start, stop = self._row.range_of(arguments.unsigned(sequence_index))
        found = []
        for place, word in enumerate(self._numbers[start:stop], start):
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(place)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Offsets | None:
        """Return the span of a word in its text; None for an unknown word."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        return self._places[tokens[0]][0], self._places[tokens[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the first token that covers a character of a text; None if no token does."""
        char_pos = arguments.unsigned(char_pos)
        start, stop = self._row.range_of(arguments.unsigned(sequence_index))
        for place, (first, end) in enumerate(self._places[start:stop], start):
            if first <= char_pos < end:
                return place
        return None

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
        row = self._row.padded(
            arguments.unsigned(length),
            arguments.unsigned(pad_id, 32),
            arguments.unsigned(pad_type_id, 32),
            arguments.instance(pad_token, str),
            arguments.direction(direction),
        )
        self._set(row)

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
        self._set(self._row.truncated(max_length, stride, direction))


def _state(row: Row) -> dict[str, Any]:
    """Return a row as plain lists, for a pickle."""
    constants = [row.constant(place) for place in (3, 4, 5)]
    windows = [_state(window) for window in row.windows] if row.has_windows else []
    return {
        "ids": row.ids(),
        "columns": (row.names(), row.offsets(), row.words()),
        "constants": constants,
        "ranges": row.ranges,
        "windows": windows,
    }


def _restored(state: dict[str, Any]) -> Row:
    ids = state["ids"]
    source = GivenTokens(ids, *state["columns"])
    rows = list(zip(*state["constants"], strict=True))
    # One part for each run of equal constants.
    borders = [n for n in range(len(rows)) if n == 0 or rows[n] != rows[n - 1]]
    parts: list[RowPart] = []
    for start, stop in zip(borders, [*borders[1:], len(rows)], strict=False):
        parts.append((source, start, stop, *rows[start], (), 0))
    windows = list(map(_restored, state["windows"]))
    return Row(tuple(parts), len(ids), state["ranges"], windows or None)
