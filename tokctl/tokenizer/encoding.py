"""The class `Encoding`: the result of encoding one text, or two."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from tokctl._native import NO_ID
from tokctl.core.errors import BadInput, CoreError, TokctlError
from tokctl.core.foreign_names import Answering
from tokctl.core.values import brief, cached_property

if TYPE_CHECKING:
    from tokctl.model import Marker

T = TypeVar("T")


class Deferred(Generic[T]):
    """A column of an encoding that is computed on first use, unless it was given.

    Most callers never read the columns that post-processing fills in, and a list of zeros as long
    as the text takes time and memory.
    """

    def __init__(self, make: Callable[[Encoding], list[T]]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, encoding: Encoding | None, owner: type | None = None) -> list[T]:
        if encoding is None:
            # A dataclass reads the class attribute as the field's default.
            return None  # type: ignore[return-value]
        # The instance attribute hides this descriptor from now on.
        column = encoding.__dict__[self.name] = self.make(encoding)
        return column


#: Windows, or a function that computes them on first use.
Windows: TypeAlias = "Sequence[Encoding] | Callable[[], list[Encoding]]"

#: Key in an encoding's `__dict__` of the function that computes its windows, until it has run.
_DEFERRED_WINDOWS = "_promised"


def _compute_windows(encoding: Encoding) -> list[Encoding]:
    """Return the windows, computing them if that has not happened yet."""
    columns = encoding.__dict__
    make = columns.get(_DEFERRED_WINDOWS)
    if make is None:
        # Nothing was cut off, or another thread has just computed the windows.
        return columns.get("overflowing", [])  # type: ignore[no-any-return]
    columns["overflowing"] = windows = list(make())
    columns.pop(_DEFERRED_WINDOWS, None)
    return windows


@dataclass(frozen=True, init=False, repr=False)
class Encoding(Answering):
    """The tokens of one text, or of a pair.

    Every list except `overflowing` has one entry per token.

    Attributes:
        raw_ids: ids; `NO_ID` for a character without an id in a model without an unknown token.
        tokens: spelled as in the vocabulary, markers included. A character without a token, in a
            model without an unknown token, is spelled as in the text.
        surfaces: the part of the text that each token covers; empty for a marker that is a token of
            its own. Bytes that are not whole characters are shown as U+FFFD.
        offsets: the same part as (start, end), in characters if the text was given as str, in bytes
            if it was given as bytes. (0, 0) for a token that covers no text.
        word_ids: number of the pre-token in its text, from 0, counting added tokens; None for a
            token that post-processing added.
        byte_offsets: like `offsets`, but always in bytes of the text's UTF-8.
        type_ids: the part of the template that the token belongs to; 0 without a template.
        special_mask: 1 for a token that post-processing added, including padding; 0 for a token of
            the text, also for a special one.
        attention_mask: 0 for padding, else 1.
        sequence_ids: 0 for the first text, 1 for the second, None for a token of neither.
        overflowing: the tokens that truncation cut off, as windows; each is an encoding. They are
            computed on first use.
    """

    raw_ids: list[int]
    tokens: list[str]
    surfaces: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]
    byte_offsets: Deferred[tuple[int, int]] = Deferred(lambda self: self.offsets)
    type_ids: Deferred[int] = Deferred(lambda self: [0] * len(self))
    special_mask: Deferred[int] = Deferred(lambda self: [0] * len(self))
    attention_mask: Deferred[int] = Deferred(lambda self: [1] * len(self))
    sequence_ids: Deferred[int | None] = Deferred(lambda self: [0] * len(self))
    overflowing: Deferred[Encoding] = Deferred(_compute_windows)

    def __init__(
        self,
        raw_ids: list[int],
        tokens: list[str],
        surfaces: list[str],
        offsets: list[tuple[int, int]],
        word_ids: Sequence[int | None],
        byte_offsets: list[tuple[int, int]] | None = None,
        type_ids: list[int] | None = None,
        special_mask: list[int] | None = None,
        attention_mask: list[int] | None = None,
        sequence_ids: list[int | None] | None = None,
        overflowing: Windows | None = None,
    ) -> None:
        """Create an encoding; None stands for the column of a single text with nothing around."""
        columns = self.__dict__
        columns["raw_ids"] = raw_ids
        columns["tokens"] = tokens
        columns["surfaces"] = surfaces
        columns["offsets"] = offsets
        columns["word_ids"] = word_ids
        if byte_offsets is not None:
            columns["byte_offsets"] = byte_offsets
        if type_ids is not None:
            columns["type_ids"] = type_ids
        if special_mask is not None:
            columns["special_mask"] = special_mask
        if attention_mask is not None:
            columns["attention_mask"] = attention_mask
        if sequence_ids is not None:
            columns["sequence_ids"] = sequence_ids
        if callable(overflowing):
            columns[_DEFERRED_WINDOWS] = overflowing
        elif overflowing is not None:
            columns["overflowing"] = overflowing

    def __len__(self) -> int:
        return len(self.raw_ids)

    def __repr__(self) -> str:
        return f"<Encoding of {len(self):,} tokens: {brief(self.tokens)}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def __getstate__(self) -> dict[str, object]:
        # A function that computes windows later can be neither pickled nor copied.
        if _DEFERRED_WINDOWS in self.__dict__:
            _ = self.overflowing
        return self.__dict__

    @property
    def ids(self) -> list[int]:
        """Return the ids.

        Raises:
            TokctlError: a character has no id, and the model has no unknown token.
        """
        if NO_ID in self.raw_ids:
            surface = self.surfaces[self.raw_ids.index(NO_ID)]
            raise no_id_error(repr(surface))
        return self.raw_ids

    # -- from tokens to the text, and from the text to tokens ---------------------------
    # Positions are in the unit of `offsets`; `sequence_index` is 0 for the first text and 1 for the
    # second. All methods return None for an index or a position without a counterpart.

    def token_to_sequence(self, index: int) -> int | None:
        """Return the text that a token belongs to: 0, 1, or None for neither."""
        return self.sequence_ids[index] if 0 <= index < len(self) else None

    def token_to_chars(self, index: int) -> tuple[int, int] | None:
        """Return the span of text that a token covers, as (start, end)."""
        return None if self.token_to_sequence(index) is None else self.offsets[index]

    def token_to_word(self, index: int) -> int | None:
        """Return the number of the pre-token that a token belongs to."""
        return None if self.token_to_sequence(index) is None else self.word_ids[index]

    def char_to_token(self, position: int, sequence_index: int = 0) -> int | None:
        """Return the index of the first token that covers a position of the text.

        Args:
            position: position in the unit of `offsets`.
            sequence_index: 0 for the first text, 1 for the second.

        Example:
            >>> tok.encode("a lot").char_to_token(2)
            1
        """
        if sequence_index not in self._search_columns:
            return None
        first, ends, starts = self._search_columns[sequence_index]
        index = bisect_right(ends, position)
        while index < len(ends) and starts[index] <= position:
            start, end = self.offsets[first + index]
            if start <= position < end:
                return first + index
            index += 1
        return None

    def char_to_word(self, position: int, sequence_index: int = 0) -> int | None:
        """Return the number of the pre-token that covers a position of the text."""
        index = self.char_to_token(position, sequence_index)
        return None if index is None else self.word_ids[index]

    def word_to_tokens(self, word: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the tokens of a pre-token, as (first, one past the last)."""
        return self._words.get((sequence_index, word))

    def word_to_chars(self, word: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the span of text that a pre-token covers, as (start, end)."""
        tokens = self.word_to_tokens(word, sequence_index)
        return (
            None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])
        )

    @cached_property
    def _search_columns(self) -> dict[int, tuple[int, list[int], list[int]]]:
        """Return, for each text, the index of its first token and two columns for binary search.

        The columns have, for each token, the greatest end up to this token and the smallest start
        from this token on. Offsets nearly always ascend, but nothing guarantees it; these columns
        always ascend.
        """
        columns: dict[int, tuple[int, list[int], list[int]]] = {}
        for sequence in (0, 1):
            if sequence in self.sequence_ids:
                first = self.sequence_ids.index(sequence)
                offsets = self.offsets[first : first + self.sequence_ids.count(sequence)]
                ends = list(accumulate((end for _, end in offsets), max))
                starts = list(accumulate((start for start, _ in reversed(offsets)), min))
                columns[sequence] = first, ends, starts[::-1]
        return columns

    @cached_property
    def _words(self) -> dict[tuple[int, int], tuple[int, int]]:
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        columns = zip(self.sequence_ids, self.word_ids, strict=True)
        for index, (sequence, word) in enumerate(columns):
            if sequence is not None and word is not None:
                first, _ = spans.get((sequence, word), (index, index))
                spans[sequence, word] = first, index + 1
        return spans


def windows_of(encoding: Encoding) -> Windows:
    """Return the windows, or the function that computes them; false if there are no windows."""
    columns = encoding.__dict__
    # In this order, because a thread that computes the windows stores them before it removes the
    # function.
    return columns.get(_DEFERRED_WINDOWS) or columns.get("overflowing") or []


# -- splitting and joining encodings, column by column ------------------------------------------

#: Names of the columns with one entry per token.
COLUMNS = tuple(entry.name for entry in fields(Encoding) if entry.name != "overflowing")


def with_columns(encoding: Encoding, **columns: Any) -> Encoding:
    """Return the encoding with other columns or windows.

    Like `dataclasses.replace`, but columns that nobody has read are not computed.
    """
    computed = vars(encoding)
    old_columns = {name: computed[name] for name in COLUMNS if name in computed}
    return Encoding(**{"overflowing": windows_of(encoding), **old_columns, **columns})


def each_window(encoding: Encoding, change: Callable[[Encoding], Encoding]) -> Windows:
    """Return a function that applies `change` to every window; empty without windows."""
    if not windows_of(encoding):
        return []
    return lambda: [change(window) for window in encoding.overflowing]


def slice_encoding(encoding: Encoding, start: int, end: int, overflowing: Windows = ()) -> Encoding:
    """Return the tokens from index `start` up to, but not including, `end`."""
    computed = vars(encoding)
    columns = {name: computed[name][start:end] for name in COLUMNS if name in computed}
    return Encoding(**columns, overflowing=_own_windows(overflowing))


def join_encodings(encodings: Sequence[Encoding], overflowing: Windows = ()) -> Encoding:
    """Return the tokens of several encodings, one after the other."""
    columns: dict[str, list[Any]] = {
        name: list(chain.from_iterable(getattr(encoding, name) for encoding in encodings))
        for name in COLUMNS
    }
    return Encoding(**columns, overflowing=_own_windows(overflowing))


def _own_windows(overflowing: Windows) -> Windows:
    return overflowing if callable(overflowing) else list(overflowing)


def added_encoding(tokens: Sequence[str], ids: Sequence[int], type_ids: Sequence[int]) -> Encoding:
    """Return an encoding of added tokens, which cover no text."""
    size = len(tokens)
    return Encoding(
        list(ids),
        list(tokens),
        [""] * size,
        [(0, 0)] * size,
        [None] * size,
        type_ids=list(type_ids),
        special_mask=[1] * size,
        sequence_ids=[None] * size,
    )


def utf8_of(text: str | bytes, *, byte_level: bool) -> bytes:
    """Return the UTF-8 bytes of a text; bytes are returned unchanged.

    For a byte-level model, lone surrogates stand for bytes that are not UTF-8 (Python's
    `surrogateescape`).

    Args:
        text: the text.
        byte_level: whether the text is for a byte-level model.

    Raises:
        TokctlError: a lone surrogate stands for no byte.
        TypeError: `text` is neither str nor bytes.
    """
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        hint = "; encode_batch and encode_ids take many" if isinstance(text, (list, tuple)) else ""
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}{hint}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if byte_level:
            try:
                return text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                pass
        raise BadInput(
            f"character {error.start} of the text is a lone surrogate, which UTF-8 can't hold",
            "remove lone surrogates: text.encode('utf-8', 'replace').decode()",
            "not-utf8",
        ) from None


def no_id_error(what: str) -> TokctlError:
    """Return the error for text outside the alphabet, in a model without an unknown token."""
    return BadInput(
        f"{what} is not in the model's alphabet, and it has no unknown token",
        "see the text with --as tokens, or train a model with an unknown token (--unk-token "
        "'[UNK]')",
        "no-id",
    )


def native_error(error: CoreError, first: int = 0) -> TokctlError:
    """Return the error to show for an error of the native encoder.

    Args:
        error: the native error.
        first: number of the first text of the batch, which counts from there.
    """
    if error.kind == "no-id":
        return no_id_error(f"a character of text {first + error.details[0]}")
    return error


def bad_ids_error(error: Exception, vocab_size: int, ids: object) -> TokctlError:
    """Return the error for ids that the native decoder refused with `error`."""
    # An id that the decoder could read is named by its index, for every type of array.
    no_ids = not isinstance(ids, Iterable) or isinstance(ids, str)
    if no_ids and not isinstance(error, CoreError):
        return BadInput(
            f"invalid value {brief(ids)} for the ids",
            "give a list or an array of ids, for example [5]",
            "bad-ids",
        )
    message = "one of the ids is not a whole number from 0 to 2^32 - 1"
    if isinstance(error, CoreError):
        message = error.message
    return BadInput(message, f"this model's ids are 0 to {vocab_size - 1}", "bad-ids")


def character_offsets(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return byte offsets as character offsets; a span always covers whole characters."""
    from tokctl.model.patterns import byte_offsets

    starts: list[int] = []
    ends: list[int] = []
    bounds = byte_offsets(text)
    for number, (start, end) in enumerate(pairwise(bounds)):
        width = end - start
        starts += [number] * width
        # A span that ends inside a character ends after the character.
        ends += [number + 1] * width
    starts.append(len(text))
    return [(starts[a], ends[b - 1] if b > a else starts[a]) for a, b in offsets]


def token_names(
    tokens: Sequence[str],
    marker: Marker,
    ids: list[int],
    data: bytes,
    starts: list[int],
    ends: list[int],
    words: list[int],
) -> list[str]:
    """Return the text of each token.

    A token with an id is spelled as in the vocabulary. A token without an id is spelled as in the
    text, with the word marker where a token of the vocabulary would have it.

    Args:
        tokens: text of each token, by id.
        marker: the recipe's word marker.
        ids: ids of the tokens.
        data: the text.
        starts: byte offset in `data` where each token starts.
        ends: byte offset in `data` where each token ends.
        words: number of each token's pre-token.
    """
    if NO_ID not in ids:
        return [tokens[id_] for id_ in ids]
    names = []
    for index, id_ in enumerate(ids):
        if id_ != NO_ID:
            names.append(tokens[id_])
            continue
        name = data[starts[index] : ends[index]].decode("utf-8", "replace")
        is_first = index == 0 or words[index] != words[index - 1]
        is_last = index + 1 == len(ids) or words[index] != words[index + 1]
        names.append(marker.on_symbol(name, first=is_first, last=is_last) or marker.text)
    return names
