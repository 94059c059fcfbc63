"""The class `Encoding`, the result of encoding one text or two, and what is done to encodings.

An encoding is made of parts. Each part is a range of tokens from one source: a text, a template, or
padding. Slicing, joining and padding only rearrange parts; columns are made of them when they are
first read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, chain, groupby, islice, repeat
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from tokctl import _native
from tokctl._native import NO_ID
from tokctl.core.errors import BadInput, CoreError, TokctlError
from tokctl.core.foreign_names import Answering
from tokctl.core.values import brief, cached_property

if TYPE_CHECKING:
    from tokctl.model import Marker

T = TypeVar("T")

#: Start and end of a span.
Span = tuple[int, int]

#: Ids whose tokens are trimmed by their text in the input instead of their spelling. If an id has
#: a text, only tokens with this text are meant, because the model can produce the id from others.
AsInText = Mapping[int, str | None]

#: One trimming of offsets: whether a prefix space was added, whether the part's first token is the
#: first one of its encoding, and the tokens to trim by their text in the input.
Trim = tuple[bool, bool, AsInText]


class Source(Protocol):
    """Tokens from which encodings are made."""

    @property
    def has_all_ids(self) -> bool:
        """Return whether every token has an id."""

    def column(self, name: str, start: int, stop: int, /) -> list[Any]:
        """Return the column `name` of `Encoding` for tokens `start` to `stop`.

        The columns are `raw_ids`, `tokens`, `surfaces`, `offsets`, `byte_offsets` and `word_ids`.
        """


#: Source, start and stop of the tokens; type id, special mask and attention mask; trimmings of the
#: offsets, and the number to add to them.
Part = tuple[Source, int, int, int, int, int, tuple[Trim, ...], int]


class GivenTokens:
    """A source of tokens with given columns."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self._columns = columns
        self.has_all_ids = NO_ID not in columns["raw_ids"]

    def column(self, name: str, start: int, stop: int, /) -> list[Any]:
        """Return the column `name` for tokens `start` to `stop`."""
        return list(self._columns[name][start:stop])


# -- columns, made of the parts -----------------------------------------------------------------


class Deferred(Generic[T]):
    """A column of an encoding that is computed on first use, unless it was given."""

    def __init__(self, make: Callable[[Encoding], list[T]]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, encoding: Encoding | None, owner: type | None = None) -> list[T]:
        if encoding is None:
            # A dataclass reads the class attribute as the field's default.
            return None  # type: ignore[return-value]
        # The instance attribute hides this descriptor from now on. If two threads compute a column
        # at once, the first one stays.
        return encoding.__dict__.setdefault(self.name, self.make(encoding))  # type: ignore[no-any-return]


def _from_sources(name: str) -> Callable[[Encoding], list[Any]]:
    """Return a function that makes a column of the sources' columns."""

    def make(encoding: Encoding) -> list[Any]:
        parts = encoding._parts
        if len(parts) == 1:
            source, start, stop = parts[0][:3]
            return source.column(name, start, stop)
        columns = (part[0].column(name, part[1], part[2]) for part in parts)
        return list(chain.from_iterable(columns))

    return make


def _from_parts(index: int) -> Callable[[Encoding], list[int]]:
    """Return a function that makes the column of a field that is constant in each part."""

    def make(encoding: Encoding) -> list[int]:
        values = (repeat(part[index], part[2] - part[1]) for part in encoding._parts)
        return list(chain.from_iterable(values))  # type: ignore[arg-type]

    return make


def _spans(name: str) -> Callable[[Encoding], list[Span]]:
    """Return a function that makes a column of offsets."""

    def make(encoding: Encoding) -> list[Span]:
        spans: list[Span] = []
        for part in encoding._parts:
            source, start, stop, *_, trims, shift = part
            if trims:
                tokens = encoding.tokens[len(spans) : len(spans) + stop - start]
                own = _trimmed(part, tokens, name)
            else:
                own = source.column(name, start, stop)
            if shift:
                own = [(start + shift, end + shift) for start, end in own]
            if len(encoding._parts) == 1:
                return own
            spans += own
        return spans

    return make


def _trimmed(part: Part, tokens: list[str], name: str) -> list[Span]:
    """Return the offsets of a part without the spaces of byte-level tokens; see `with_trim`."""
    source, start, stop, _, _, _, trims, _ = part
    spans = source.column("offsets", start, stop)
    asked = source.column(name, start, stop) if name == "byte_offsets" else spans
    for prefix_space, begins, as_in_text in trims:
        names = _spelled_as_in_text(part, tokens, as_in_text) if as_in_text else tokens
        trimmed = _native.trim_offsets(spans, names, prefix_space, begins)
        if asked == spans:
            asked = trimmed
        else:
            surfaces = source.column("surfaces", start, stop)
            rows = zip(surfaces, asked, spans, trimmed, strict=True)
            asked = [
                _trim_bytes(surface, span, new[0] - old[0], old[1] - new[1])
                for surface, span, old, new in rows
            ]
        spans = trimmed
    return asked


def _spelled_as_in_text(part: Part, tokens: list[str], as_in_text: AsInText) -> list[str]:
    source, start, stop = part[:3]
    ids = source.column("raw_ids", start, stop)
    if as_in_text.keys().isdisjoint(ids):
        return tokens
    return [
        surface if id_ in as_in_text and as_in_text[id_] in (None, surface.strip()) else token
        for id_, token, surface in zip(
            ids, tokens, source.column("surfaces", start, stop), strict=True
        )
    ]


def _trim_bytes(surface: str, bounds: Span, leading: int, trailing: int) -> Span:
    """Return the byte offsets of a surface without some characters at both ends.

    Args:
        surface: text that the token covers.
        bounds: byte offsets of the surface.
        leading: number of characters to leave out at the start.
        trailing: number of characters to leave out at the end.
    """
    start, end = bounds
    start = min(start + len(surface[:leading].encode("utf-8", "surrogatepass")), end)
    tail = surface[max(len(surface) - trailing, 0) :] if trailing else ""
    return start, max(end - len(tail.encode("utf-8", "surrogatepass")), start)


def _sequences(encoding: Encoding) -> list[int | None]:
    if encoding._ranges is None:
        return [0] * len(encoding)
    column: list[int | None] = [None] * len(encoding)
    for number, (start, stop) in encoding._ranges.items():
        column[start:stop] = [number] * (stop - start)
    return column


#: Windows, or a function that computes them on first use.
Windows: TypeAlias = "Sequence[Encoding] | Callable[[], list[Encoding]]"


def _compute_windows(encoding: Encoding) -> list[Encoding]:
    windows = encoding._windows
    return windows() if callable(windows) else list(windows)


@dataclass(frozen=True, init=False, repr=False)
class Encoding(Answering):
    """The tokens of one text, or of a pair.

    Every list except `overflowing` has one entry per token. All are made when they are first read.

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
        overflowing: the tokens that truncation cut off, as windows; each is an encoding.
    """

    raw_ids: Deferred[int] = Deferred(_from_sources("raw_ids"))
    tokens: Deferred[str] = Deferred(_from_sources("tokens"))
    surfaces: Deferred[str] = Deferred(_from_sources("surfaces"))
    offsets: Deferred[Span] = Deferred(_spans("offsets"))
    word_ids: Deferred[int | None] = Deferred(_from_sources("word_ids"))
    byte_offsets: Deferred[Span] = Deferred(_spans("byte_offsets"))
    type_ids: Deferred[int] = Deferred(_from_parts(3))
    special_mask: Deferred[int] = Deferred(_from_parts(4))
    attention_mask: Deferred[int] = Deferred(_from_parts(5))
    sequence_ids: Deferred[int | None] = Deferred(_sequences)
    overflowing: Deferred[Encoding] = Deferred(_compute_windows)

    if TYPE_CHECKING:
        _parts: tuple[Part, ...] = field(init=False)
        _size: int = field(init=False)
        _ranges: dict[int, Span] | None = field(init=False)
        _windows: Windows = field(init=False)
    else:
        # Not annotated, because a dataclass would make fields of them.
        #: (start, stop) of the tokens of each text; None: all belong to the first.
        _ranges = None
        _windows = ()

    def __init__(
        self,
        raw_ids: list[int],
        tokens: list[str],
        surfaces: list[str],
        offsets: list[Span],
        word_ids: Sequence[int | None],
        byte_offsets: list[Span] | None = None,
        type_ids: list[int] | None = None,
        special_mask: list[int] | None = None,
        attention_mask: list[int] | None = None,
        sequence_ids: list[int | None] | None = None,
        overflowing: Windows = (),
    ) -> None:
        """Create an encoding; None stands for the column of a single text with nothing around."""
        source = GivenTokens(
            raw_ids=raw_ids,
            tokens=tokens,
            surfaces=surfaces,
            offsets=offsets,
            word_ids=word_ids,
            byte_offsets=offsets if byte_offsets is None else byte_offsets,
        )
        size = len(raw_ids)
        masks = zip(
            type_ids or repeat(0, size), special_mask or repeat(0, size),
            attention_mask or repeat(1, size), strict=True,
        )  # fmt: skip
        parts: list[Part] = []
        stop = 0
        for constants, some in groupby(masks):
            start, stop = stop, stop + len(list(some))
            parts.append((source, start, stop, *constants, (), 0))
        if sequence_ids is None:
            _set(self, tuple(parts), size, None, overflowing)
        else:
            _set(self, tuple(parts), size, _ranges_of(sequence_ids), overflowing)
            self.__dict__["sequence_ids"] = sequence_ids

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<Encoding of {len(self):,} tokens: {brief(self.tokens)}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        columns = [getattr(self, entry.name) for entry in fields(self)]
        return _restore, (columns, self._ranges)

    @property
    def ids(self) -> list[int]:
        """Return the ids.

        Raises:
            TokctlError: a character has no id, and the model has no unknown token.
        """
        for part in self._parts:
            if not part[0].has_all_ids and NO_ID in self.raw_ids:
                surface = self.surfaces[self.raw_ids.index(NO_ID)]
                raise no_id_error(repr(surface))
        return self.raw_ids

    # -- from tokens to the text, and from the text to tokens ---------------------------
    # Positions are in the unit of `offsets`; `sequence_index` is 0 for the first text and 1 for the
    # second. All methods return None for an index or a position without a counterpart.

    def token_to_sequence(self, index: int) -> int | None:
        """Return the text that a token belongs to: 0, 1, or None for neither."""
        return self.sequence_ids[index] if 0 <= index < len(self) else None

    def token_to_chars(self, index: int) -> Span | None:
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
        bounds = self._range_of(sequence_index)
        return None if bounds is None else token_at(self, position, bounds)

    def char_to_word(self, position: int, sequence_index: int = 0) -> int | None:
        """Return the number of the pre-token that covers a position of the text."""
        index = self.char_to_token(position, sequence_index)
        return None if index is None else self.word_ids[index]

    def word_to_tokens(self, word: int, sequence_index: int = 0) -> Span | None:
        """Return the tokens of a pre-token, as (first, one past the last)."""
        bounds = self._range_of(sequence_index)
        return None if bounds is None else word_tokens(self, word, bounds)

    def word_to_chars(self, word: int, sequence_index: int = 0) -> Span | None:
        """Return the span of text that a pre-token covers, as (start, end)."""
        return covered(self, self.word_to_tokens(word, sequence_index))

    def _range_of(self, sequence: int) -> Span | None:
        if self._ranges is None:
            return (0, len(self)) if sequence == 0 else None
        return self._ranges.get(sequence)

    @cached_property
    def _searches(self) -> dict[Span, tuple[list[int], list[int]]]:
        return {}

    @cached_property
    def _words(self) -> dict[Span, dict[int, Span]]:
        return {}


def fresh_column(encoding: Encoding, name: str) -> list[Any]:
    """Return a column as a new list, which callers may change."""
    made: list[Any] = vars(Encoding)[name].make(encoding)
    return made


# -- making encodings ---------------------------------------------------------------------------


def _set(
    encoding: Encoding,
    parts: tuple[Part, ...],
    size: int,
    ranges: dict[int, Span] | None,
    windows: Windows,
) -> Encoding:
    # An encoding is frozen; its dictionary is not.
    state = encoding.__dict__
    state["_parts"] = parts
    state["_size"] = size
    if ranges is not None:
        state["_ranges"] = ranges
    if windows:
        state["_windows"] = windows
    return encoding


def of_parts(
    parts: tuple[Part, ...],
    size: int,
    ranges: dict[int, Span] | None = None,
    windows: Windows = (),
) -> Encoding:
    """Return an encoding of `size` tokens.

    Args:
        parts: the parts; see `Part`.
        size: number of tokens of all parts.
        ranges: (start, stop) of the tokens of each text; None: all belong to the first.
        windows: the windows, or a function that computes them.
    """
    return _set(object.__new__(Encoding), parts, size, ranges, windows)


def encoding_of(source: Source, size: int, trims: tuple[Trim, ...] = ()) -> Encoding:
    """Return the encoding of a text that nothing is added to; quicker than `of_parts`."""
    made = object.__new__(Encoding)
    state = made.__dict__
    state["_parts"] = ((source, 0, size, 0, 0, 1, trims, 0),)
    state["_size"] = size
    return made


def added_encoding(
    tokens: Sequence[str], ids: Sequence[int], type_ids: Sequence[int], attention: int = 1
) -> Encoding:
    """Return an encoding of added tokens, which cover no text and belong to none."""
    size = len(tokens)
    return Encoding(
        list(ids),
        list(tokens),
        [""] * size,
        [(0, 0)] * size,
        [None] * size,
        type_ids=list(type_ids),
        special_mask=[1] * size,
        attention_mask=[attention] * size,
        sequence_ids=[None] * size,
    )


def _restore(columns: list[Any], ranges: dict[int, Span] | None) -> Encoding:
    made = Encoding(*columns)
    made.__dict__["_ranges"] = ranges
    return made


def _ranges_of(sequence_ids: Sequence[int | None]) -> dict[int, Span]:
    places: dict[int, list[int]] = {}
    for place, number in enumerate(sequence_ids):
        if number is not None:
            places.setdefault(number, []).append(place)
    return {number: (some[0], some[-1] + 1) for number, some in places.items()}


# -- changing encodings; each function returns a new one ----------------------------------------


def changed(
    encoding: Encoding,
    *,
    parts: tuple[Part, ...] | None = None,
    ranges: dict[int, Span] | None = None,
    windows: Windows | None = None,
) -> Encoding:
    """Return the encoding with other parts, ranges or windows; None keeps the own ones."""
    return of_parts(
        encoding._parts if parts is None else parts,
        encoding._size,
        encoding._ranges if ranges is None else ranges,
        encoding._windows if windows is None else windows,
    )


def each_window(encoding: Encoding, change: Callable[[Encoding], Encoding]) -> Windows:
    """Return a function that applies `change` to every window; empty without windows."""
    return (lambda: list(map(change, encoding.overflowing))) if encoding._windows else ()


def with_type(encoding: Encoding, type_id: int) -> Encoding:
    """Return the encoding with one type id for all tokens; windows are unchanged."""
    parts = tuple((*part[:3], type_id, *part[4:]) for part in encoding._parts)
    return changed(encoding, parts=parts)


def in_sequence(encoding: Encoding, number: int) -> Encoding:
    """Return the encoding with all tokens in the text `number`; windows are unchanged."""
    return changed(encoding, ranges={**(encoding._ranges or {}), number: (0, encoding._size)})


def with_trim(
    encoding: Encoding, prefix_space: bool, as_in_text: AsInText | None = None
) -> Encoding:
    """Return the encoding and its windows with offsets that leave out the spaces of tokens.

    Surfaces are unchanged.

    Args:
        encoding: the encoding.
        prefix_space: whether a space was added before the text. One leading space of a first
            token is then this space, and is not trimmed. Every window has a first token.
        as_in_text: tokens to trim by their text in the input.
    """
    parts = tuple(
        (*part[:6], (*part[6], (prefix_space, place == 0, as_in_text or {})), part[7])
        for place, part in enumerate(encoding._parts)
    )
    windows = each_window(encoding, lambda window: with_trim(window, prefix_space, as_in_text))
    return changed(encoding, parts=parts, windows=windows)


def slice_encoding(encoding: Encoding, start: int, stop: int) -> Encoding:
    """Return the tokens from index `start` up to `stop`, without windows and ranges."""
    kept: list[Part] = []
    place = 0
    for source, begin, end, *constants, trims, shift in encoding._parts:
        first, last = max(start - place, 0), min(stop - place, end - begin)
        if first < last:
            if first:
                trims = tuple((prefix_space, False, names) for prefix_space, _, names in trims)
            kept.append((source, begin + first, begin + last, *constants, trims, shift))  # type: ignore[arg-type]
        place += end - begin
    return of_parts(tuple(kept), sum(part[2] - part[1] for part in kept))


def window_ranges(total: int, size: int, stride: int, direction: str) -> Iterator[Span]:
    """Yield the windows over `total` tokens, as (start, end); the first one is the part kept.

    Args:
        total: number of tokens.
        size: greatest size of a window.
        stride: number of tokens that a window shares with the one before; less than `size`.
        direction: the end that is cut off: `right` or `left`.
    """
    step = size - stride
    if direction == "right":
        start = 0
        while start + size < total:
            yield start, start + size
            start += step
        yield start, total
    else:
        end = total
        while end > size:
            yield end - size, end
            end -= step
        yield 0, end


def truncate(encoding: Encoding, size: int, stride: int, direction: str) -> Encoding:
    """Return the `size` tokens that truncation keeps, with the others as windows.

    With size 0, the whole encoding is the one window. See `window_ranges` for the arguments.
    """
    total = len(encoding)
    if size >= total:
        return encoding
    if size == 0:
        return of_parts((), 0, windows=[encoding])

    def windows() -> list[Encoding]:
        others = islice(window_ranges(total, size, stride, direction), 1, None)
        return [slice_encoding(encoding, *bounds) for bounds in others]

    kept = next(window_ranges(total, size, stride, direction))
    return changed(slice_encoding(encoding, *kept), windows=windows)


def pad(encoding: Encoding, size: int, fill: Callable[[int], Encoding], direction: str) -> Encoding:
    """Return the encoding and its windows, each padded to `size` tokens.

    Args:
        encoding: the encoding; a longer one is unchanged.
        size: number of tokens.
        fill: returns an encoding of a number of padding tokens.
        direction: the end to pad: `right` or `left`.
    """
    windows = each_window(encoding, lambda window: pad(window, size, fill, direction))
    missing = size - encoding._size
    if missing <= 0:
        return changed(encoding, windows=windows) if windows else encoding
    padding, ranges = fill(missing)._parts, encoding._ranges
    if direction == "right":
        return of_parts(encoding._parts + padding, size, ranges, windows)
    if ranges is not None:
        ranges = {n: (start + missing, stop + missing) for n, (start, stop) in ranges.items()}
    return of_parts(padding + encoding._parts, size, ranges, windows)


def merge(encodings: Iterable[Encoding], growing: bool = False) -> Encoding:
    """Return encodings one after the other, with every combination of their windows.

    Args:
        encodings: the encodings, in order.
        growing: whether offsets continue from the encoding before.
    """
    encodings = list(encodings)

    def windows() -> list[Encoding]:
        found = of_parts((), 0)
        for encoding in encodings:
            found = _merge_two(found, encoding, growing)
            # Computed now, because each step needs the windows of the one before.
            _ = found.overflowing
        return found.overflowing

    made = _joined(encodings, growing)
    return changed(made, windows=windows) if any(one._windows for one in encodings) else made


def _merge_two(first: Encoding, second: Encoding, growing: bool) -> Encoding:
    def windows() -> list[Encoding]:
        found = []
        for window in first.overflowing:
            found.append(_merge_two(window, second, growing))
            found += [_merge_two(window, one, growing) for one in second.overflowing]
        return found + [_merge_two(first, one, growing) for one in second.overflowing]

    made = _joined((first, second), growing)
    return changed(made, windows=windows) if first._windows or second._windows else made


def _joined(encodings: Iterable[Encoding], growing: bool) -> Encoding:
    """Return encodings one after the other, without windows; with `growing`, offsets continue."""
    parts: list[Part] = []
    size, shift = 0, 0
    ranges: dict[int, Span] | None = None
    for encoding in encodings:
        own = encoding._parts
        parts += [(*part[:7], part[7] + shift) for part in own] if shift else own
        if (own_ranges := encoding._ranges) is not None:
            moved = {n: (start + size, stop + size) for n, (start, stop) in own_ranges.items()}
            ranges = {**(ranges or {}), **moved}
        size += encoding._size
        if growing and encoding._size:
            shift += slice_encoding(encoding, encoding._size - 1, encoding._size).offsets[0][1]
    return of_parts(tuple(parts), size, ranges)


# -- searching an encoding ----------------------------------------------------------------------


def token_at(encoding: Encoding, position: int, bounds: Span) -> int | None:
    """Return the index of the first token within `bounds` that covers a position, or None."""
    start, stop = bounds
    offsets = encoding.offsets
    if bounds not in encoding._searches:
        # For each token, the greatest end up to this token and the smallest start from this token
        # on. Offsets nearly always ascend, but nothing guarantees it; these columns always ascend.
        own = offsets[start:stop]
        ends = list(accumulate((end for _, end in own), max))
        starts = list(accumulate((start for start, _ in reversed(own)), min))
        encoding._searches[bounds] = ends, starts[::-1]
    ends, starts = encoding._searches[bounds]
    index = bisect_right(ends, position)
    while index < len(ends) and starts[index] <= position:
        first, end = offsets[start + index]
        if first <= position < end:
            return start + index
        index += 1
    return None


def word_tokens(encoding: Encoding, word: int, bounds: Span) -> Span | None:
    """Return the tokens of a pre-token within `bounds`, as (first, one past the last), or None.

    The search ends at the first greater number: joined texts number their pre-tokens anew.
    """
    if bounds not in encoding._words:
        spans: dict[int, Span] = {}
        greatest = -1
        for index, number in enumerate(encoding.word_ids[slice(*bounds)], bounds[0]):
            if number is not None and number >= greatest:
                greatest = number
                spans[number] = spans.get(number, (index, index))[0], index + 1
        encoding._words[bounds] = spans
    return encoding._words[bounds].get(word)


def covered(encoding: Encoding, tokens: Span | None) -> Span | None:
    """Return the span of text that tokens (first, one past the last) cover; None for None."""
    if tokens is None:
        return None
    return encoding.offsets[tokens[0]][0], encoding.offsets[tokens[1] - 1][1]


# -- texts, and errors of the native code -------------------------------------------------------


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
        return text.encode("utf-8", "surrogateescape" if byte_level else "strict")
    except UnicodeEncodeError as error:
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


def token_names(
    names: Sequence[str], marker: Marker, tokens: _native.TextTokens, start: int, stop: int
) -> list[str]:
    """Return the texts of tokens `start` to `stop`.

    A token with an id is spelled as in the vocabulary. A token without an id is spelled as in the
    text, with the word marker where a token of the vocabulary would have it.

    Args:
        names: text of each token of the vocabulary, by id.
        marker: the recipe's word marker.
        tokens: the tokens of the text.
        start: index of the first token.
        stop: index after the last token.
    """
    ids = tokens.column("raw_ids", start, stop)
    words = tokens.column("word_ids", 0, len(tokens))
    spelled = []
    surfaces = tokens.column("surfaces", start, stop)
    for index, (id_, surface) in enumerate(zip(ids, surfaces, strict=True)):
        if id_ != NO_ID:
            spelled.append(names[id_])
            continue
        place = start + index
        is_first = place == 0 or words[place] != words[place - 1]
        is_last = place + 1 == len(words) or words[place] != words[place + 1]
        spelled.append(marker.on_symbol(surface, first=is_first, last=is_last) or marker.text)
    return spelled
