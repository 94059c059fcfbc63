"""The result of encoding one text, or two."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from tokctl._native import NO_ID
from tokctl.errors import CoreError, TokctlError
from tokctl.habits import Answering
from tokctl.values import brief, cached_property

if TYPE_CHECKING:
    from tokctl.model import Marker

T = TypeVar("T")


class Deferred(Generic[T]):
    """A column of an encoding that is made when it is first read, unless it was given.

    Most callers never look at the columns that post-processing fills in, and a list of
    zeros as long as the text is not free.
    """

    def __init__(self, make: Callable[[Encoding], list[T]]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, encoding: Encoding | None, owner: type | None = None) -> list[T]:
        if encoding is None:
            # This is where a dataclass looks for the field's default.
            return None  # type: ignore[return-value]
        # From here on Python finds the column there and does not come here again.
        column = encoding.__dict__[self.name] = self.make(encoding)
        return column


#: Windows, or what makes them when they are asked for.
Windows: TypeAlias = "Sequence[Encoding] | Callable[[], list[Encoding]]"

#: Where an encoding keeps what makes its windows, until they are made.
_PROMISED = "_promised"


def _made_now(encoding: Encoding) -> list[Encoding]:
    """The windows that were promised."""
    columns = encoding.__dict__
    make = columns.get(_PROMISED)
    if make is None:
        # None were promised, or another thread has made them just now.
        return columns.get("overflowing", [])  # type: ignore[no-any-return]
    columns["overflowing"] = windows = list(make())
    columns.pop(_PROMISED, None)
    return windows


@dataclass(frozen=True, init=False, repr=False)
class Encoding(Answering):
    """The tokens of one text, or of a pair; every list except `overflowing` has one entry per
    token.

    Attributes:
        tokens: as the vocabulary spells them, markers included. A character that has no
            token, in a model without an unknown token, stays as itself.
        surfaces: the part of the text that each token covers; empty for a marker that is a token of
            its own. Bytes that are not whole characters are shown as U+FFFD.
        offsets: that part as (start, end), in characters if the text was given as str, in bytes if
            it was given as bytes. (0, 0) for a token that covers no text.
        word_ids: the number of the pre-token in its text, from 0, counting added tokens; None for a
            token that post-processing added.
        byte_offsets: as `offsets`, in bytes of the text's UTF-8.
        type_ids: which part of the template the token belongs to; 0 without one.
        special_mask: 1 for a token that post-processing added, including padding; 0 for a token of
            the text, also a special one.
        attention_mask: 0 for padding, else 1.
        sequence_ids: 0 for the first text, 1 for the second, None for a token of neither.
        overflowing: what truncation cut off, as windows; each is an encoding of its own. They are
            computed when you first read them.
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
    overflowing: Deferred[Encoding] = Deferred(_made_now)

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
        """Columns that are None are those of one text without anything around it."""
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
            columns[_PROMISED] = overflowing
        elif overflowing is not None:
            columns["overflowing"] = overflowing

    def __len__(self) -> int:
        return len(self.raw_ids)

    def __repr__(self) -> str:
        return f"<Encoding of {len(self):,} tokens: {brief(self.tokens)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def __getstate__(self) -> dict[str, object]:
        # What is still to be made is a function, which can be neither pickled nor copied.
        if _PROMISED in self.__dict__:
            _ = self.overflowing
        return self.__dict__

    @property
    def ids(self) -> list[int]:
        """The ids. TokctlError if a character has none and no token stands for it."""
        if NO_ID in self.raw_ids:
            surface = self.surfaces[self.raw_ids.index(NO_ID)]
            raise no_id_error(repr(surface))
        return self.raw_ids

    # -- from tokens to the text and back ---------------------------------------------
    # Positions are in the unit of `offsets`; `sequence_index` is 0 for the first text,
    # 1 for the second. An answer is None where there is nothing of the kind.

    def token_to_sequence(self, index: int) -> int | None:
        """The text that a token belongs to: 0, 1, or None."""
        return self.sequence_ids[index] if 0 <= index < len(self) else None

    def token_to_chars(self, index: int) -> tuple[int, int] | None:
        """The stretch of its text that a token covers, as (start, end)."""
        return None if self.token_to_sequence(index) is None else self.offsets[index]

    def token_to_word(self, index: int) -> int | None:
        """The number of the pre-token that a token belongs to."""
        return None if self.token_to_sequence(index) is None else self.word_ids[index]

    def char_to_token(self, position: int, sequence_index: int = 0) -> int | None:
        """The first token that covers a position of the text."""
        if sequence_index not in self._places:
            return None
        first, ends, starts = self._places[sequence_index]
        place = bisect_right(ends, position)
        while place < len(ends) and starts[place] <= position:
            start, end = self.offsets[first + place]
            if start <= position < end:
                return first + place
            place += 1
        return None

    def char_to_word(self, position: int, sequence_index: int = 0) -> int | None:
        """The number of the pre-token that covers a position of the text."""
        index = self.char_to_token(position, sequence_index)
        return None if index is None else self.word_ids[index]

    def word_to_tokens(self, word: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The tokens of a pre-token, as (first, one past the last)."""
        return self._words.get((sequence_index, word))

    def word_to_chars(self, word: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The stretch of its text that a pre-token covers, as (start, end)."""
        tokens = self.word_to_tokens(word, sequence_index)
        return (
            None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])
        )

    @cached_property
    def _places(self) -> dict[int, tuple[int, list[int], list[int]]]:
        """For each text: its first token, and for each of its tokens the greatest end up
        to there and the least start from there on.

        Offsets rise from token to token nearly always, but nothing promises it; these
        do rise, so that a search by halves finds where to look.
        """
        found: dict[int, tuple[int, list[int], list[int]]] = {}
        for sequence in (0, 1):
            if sequence in self.sequence_ids:
                first = self.sequence_ids.index(sequence)
                offsets = self.offsets[first : first + self.sequence_ids.count(sequence)]
                ends = list(accumulate((end for _, end in offsets), max))
                starts = list(accumulate((start for start, _ in reversed(offsets)), min))
                found[sequence] = first, ends, starts[::-1]
        return found

    @cached_property
    def _words(self) -> dict[tuple[int, int], tuple[int, int]]:
        found: dict[tuple[int, int], tuple[int, int]] = {}
        columns = zip(self.sequence_ids, self.word_ids, strict=True)
        for index, (sequence, word) in enumerate(columns):
            if sequence is not None and word is not None:
                first, _ = found.get((sequence, word), (index, index))
                found[sequence, word] = first, index + 1
        return found


def windows_of(encoding: Encoding) -> Windows:
    """`overflowing`, or what will make it: true if there are windows, and none is made."""
    columns = encoding.__dict__
    # In this order: another thread that makes them sets the one before it takes the other.
    return columns.get(_PROMISED) or columns.get("overflowing") or []


# -- cutting encodings apart and putting them together, column by column -----------------------

#: The lists of an encoding that have one entry per token.
COLUMNS = tuple(entry.name for entry in fields(Encoding) if entry.name != "overflowing")


def changed(encoding: Encoding, **columns: Any) -> Encoding:
    """The encoding with other columns or windows.

    As `dataclasses.replace`, but columns that nobody has read stay unmade.
    """
    made = vars(encoding)
    kept = {name: made[name] for name in COLUMNS if name in made}
    return Encoding(**{"overflowing": windows_of(encoding), **kept, **columns})


def each_window(encoding: Encoding, change: Callable[[Encoding], Encoding]) -> Windows:
    """Every window of the encoding as `change` makes it, when it is asked for."""
    if not windows_of(encoding):
        return []
    return lambda: [change(window) for window in encoding.overflowing]


def cut(encoding: Encoding, start: int, end: int, overflowing: Windows = ()) -> Encoding:
    """The tokens from `start` to `end`."""
    made = vars(encoding)
    columns = {name: made[name][start:end] for name in COLUMNS if name in made}
    return Encoding(**columns, overflowing=_own(overflowing))


def join(encodings: Sequence[Encoding], overflowing: Windows = ()) -> Encoding:
    """The tokens of several encodings, one after the other."""
    columns: dict[str, list[Any]] = {
        name: list(chain.from_iterable(getattr(one, name) for one in encodings)) for name in COLUMNS
    }
    return Encoding(**columns, overflowing=_own(overflowing))


def _own(overflowing: Windows) -> Windows:
    return overflowing if callable(overflowing) else list(overflowing)


def added(tokens: Sequence[str], ids: Sequence[int], type_ids: Sequence[int]) -> Encoding:
    """Tokens that stand for no text."""
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
    """The bytes of a text; bytes as they are. For a byte-level model lone surrogates stand for
    bytes that are not UTF-8 (Python's `surrogateescape`).

    Raises:
        TokctlError: a lone surrogate that stands for no byte.
        TypeError: it is not a text.
    """
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        many = "; encode_batch and encode_ids take many" if isinstance(text, (list, tuple)) else ""
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}{many}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if byte_level:
            try:
                return text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                pass
        raise TokctlError(
            f"character {error.start} of the text is a lone surrogate, which UTF-8 can't hold",
            "remove lone surrogates: text.encode('utf-8', 'replace').decode()",
        ) from None


def no_id_error(what: str) -> TokctlError:
    """The error for text that the alphabet lacks, in a model without an unknown token."""
    return TokctlError(
        f"{what} is not in the model's alphabet, and it has no unknown token",
        "look at it with --as tokens, or train a model that has one (--unk-token '[UNK]')",
    )


def native_error(error: CoreError, first: int = 0) -> TokctlError:
    """The error to show for one of the native encoder; `first` is the number of its first text."""
    if error.kind == "no-id":
        return no_id_error(f"a character of text {first + error.details[0]}")
    return error


def bad_ids_error(error: Exception, vocab_size: int, ids: object) -> TokctlError:
    """The error for ids that the native decoder refused with `error`."""
    # What the decoder could read is named by its place, whatever kind of array it came in.
    no_ids = not isinstance(ids, Iterable) or isinstance(ids, str)
    if no_ids and not isinstance(error, CoreError):
        return TokctlError(f"the ids can't be {brief(ids)}", "they are a list or an array: [5]")
    message = "one of the ids is no whole number from 0 to 2^32 - 1"
    if isinstance(error, CoreError):
        message = error.message
    return TokctlError(message, f"this model's ids are 0 to {vocab_size - 1}")


def character_offsets(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Byte offsets as character offsets; a cut inside a character widens to all of it."""
    from tokctl.model.patterns import byte_offsets

    starts: list[int] = []
    ends: list[int] = []
    bounds = byte_offsets(text)
    for number, (start, end) in enumerate(pairwise(bounds)):
        width = end - start
        starts += [number] * width
        # The end of a stretch that covers any byte of a character lies behind it.
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
    """What each token is called: its text in the vocabulary; where it has no id, its own part
    of the text `data`, with the marker (kind and text) where that would stand."""
    if NO_ID not in ids:
        return [tokens[id_] for id_ in ids]
    names = []
    for place, id_ in enumerate(ids):
        if id_ != NO_ID:
            names.append(tokens[id_])
            continue
        name = data[starts[place] : ends[place]].decode("utf-8", "replace")
        first = place == 0 or words[place] != words[place - 1]
        last = place + 1 == len(ids) or words[place] != words[place + 1]
        names.append(marker.on_symbol(name, first=first, last=last) or marker.text)
    return names
