"""Post-processing of the tokens of a text, or of two, before a language model gets them.

Tokens are cut to a length (`Truncation`), offsets lose the spaces of byte-level tokens (`trim`),
special tokens are added around the tokens (`Template`), and a batch is padded to one length
(`Padding`). `PostProcessor` applies a recipe's parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from tokctl.core.errors import BadOption
from tokctl.core.values import brief, cached_property, suggesting_class
from tokctl.model.parts import POST_PROCESSORS, PartsLike, check_template, template_pieces
from tokctl.tokenizer.encoding import (
    AsInText,
    Encoding,
    added_encoding,
    changed,
    each_window,
    in_sequence,
    merge,
    pad,
    truncate,
    window_ranges,
    with_trim,
    with_type,
)

STRATEGIES = ("longest-first", "only-first", "only-second")

DIRECTIONS = ("right", "left")


@suggesting_class
@dataclass(frozen=True)
class Truncation:
    """The maximum number of tokens of an encoding, and what happens to the rest.

    Attributes:
        max_length: the maximum number of tokens, both texts and the template included.
        stride: the number of tokens that a window shares with the one before.
        strategy: which of two texts is cut: `longest-first` (the longer, then both),
            `only-first`, `only-second`.
        direction: the end that is cut off: `right` or `left`.

    Raises:
        TokctlError: a number is invalid, or a name is unknown.

    Example:
        >>> tok.encode("a lot of treasure", truncation=Truncation(2)).tokens
        ['a', 'Ġlot']
    """

    max_length: int
    stride: int = 0
    strategy: str = "longest-first"
    direction: str = "right"

    def __post_init__(self) -> None:
        for name in ("max_length", "stride"):
            check_number(name, getattr(self, name), 0)
        check_name("strategy of truncation", self.strategy, STRATEGIES)
        check_name("direction of truncation", self.direction, DIRECTIONS)

    @overload
    @classmethod
    def of(cls, value: None) -> None: ...
    @overload
    @classmethod
    def of(cls, value: Truncation | int) -> Truncation: ...
    @classmethod
    def of(cls, value: Truncation | int | None) -> Truncation | None:
        """Return the truncation for a caller's argument.

        Args:
            value: a truncation, a length in tokens, or None.

        Raises:
            TokctlError: `value` has another type.
        """
        if value is None or isinstance(value, cls):
            return value
        if type(value) is int:
            return cls(value)
        raise BadOption(
            f"invalid value {brief(value)} for truncation",
            "give a length in tokens, Truncation(…), or tokenizer.truncation as the file has it",
            "bad-value",
        )

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> Truncation:
        """Return the truncation of a Hugging Face file."""
        strategies = {"".join(map(str.title, name.split("-"))): name for name in STRATEGIES}
        strategy, direction = strategies[data["strategy"]], data["direction"].lower()
        return cls(data["max_length"], data["stride"], strategy, direction)

    def room(self, added: int) -> int:
        """Return the number of tokens that the texts can have beside `added` special tokens.

        Raises:
            TokctlError: `max_length` is less than `added`, or `stride` too large for any text.
        """
        room = self.max_length - added
        if room < 0:
            raise BadOption(
                f"max_length is {self.max_length}, and the template alone has {added} tokens",
                "raise max_length, or leave the special tokens out",
                "conflict",
            )
        if self.stride and self.stride >= room:
            fits = f"a stride up to {room - 1}" if room > 1 else "no stride"
            raise BadOption(
                f"the stride {self.stride} is too much for windows of {room} tokens",
                f"max_length {self.max_length} less {added} special tokens allows {fits}",
                "conflict",
            )
        return room

    def lengths(self, first: int, second: int | None, added: int) -> tuple[int, int]:
        """Return how many tokens of each text are kept.

        Args:
            first: tokens of the first text.
            second: tokens of the second text; None without one.
            added: number of special tokens.

        Raises:
            TokctlError: see `room`; also if the strategy can't make the texts fit.
        """
        room = self.room(added)
        second_length = second or 0
        excess = first + second_length - room
        if excess <= 0:
            return first, second_length
        if room == 0:
            return 0, 0
        if self.strategy == "longest-first":
            kept = longest_first(first, second_length, room) if second is not None else (room, 0)
        else:
            kept = self._cut_one(first, second, excess)
        for which, before, after in zip(
            ("first", "second"), (first, second_length), kept, strict=True
        ):
            if after < before and 0 < after <= self.stride:
                raise BadOption(
                    f"the stride {self.stride} is too much for the {which} text, which is "
                    f"left with {after} tokens",
                    "lower the stride, or raise max_length",
                    "conflict",
                )
        return kept

    def _cut_one(self, first: int, second: int | None, excess: int) -> tuple[int, int]:
        if self.strategy == "only-second" and second is None:
            raise BadOption(
                "there is no second text that the strategy only-second could cut",
                "take longest-first or only-first",
                "conflict",
            )
        cuts_first = self.strategy == "only-first"
        kept = (first - excess, second or 0) if cuts_first else (first, (second or 0) - excess)
        if kept[0 if cuts_first else 1] < 1:
            cut_name, other_name = ("first", "second") if cuts_first else ("second", "first")
            raise BadOption(
                f"cutting the {cut_name} text is not enough: the {other_name} one leaves it no "
                "token",
                "raise max_length, or take the strategy longest-first",
                "conflict",
            )
        return kept

    def ranges(self, total: int, size: int) -> Iterator[tuple[int, int]]:
        """Return the windows over `total` tokens, as (start, end); the first one is the part kept.

        Args:
            total: number of tokens.
            size: greatest size of a window.
        """
        return window_ranges(total, size, self.stride, self.direction)

    def apply(
        self, first: Encoding, second: Encoding | None, added: int
    ) -> tuple[Encoding, Encoding | None]:
        """Return both texts at their allowed lengths, with the rest as their windows."""
        if second is None:
            return self._cut(first, self.lengths(len(first), None, added)[0]), None
        kept = self.lengths(len(first), len(second), added)
        return self._cut(first, kept[0]), self._cut(second, kept[1])

    def _cut(self, encoding: Encoding, size: int) -> Encoding:
        return truncate(encoding, size, self.stride, self.direction)

    def truncate_ids(self, ids: list[int], size: int) -> list[int]:
        """Return the `size` ids that truncation keeps."""
        return ids[:size] if self.direction == "right" else ids[len(ids) - size :]


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Return the lengths of two texts that do not fit: the shorter keeps up to half of the room."""
    short = min(first, second)
    if short > room // 2:
        # If the room is odd, the longer text gets the extra token; of equal texts, the second.
        short = room // 2
    return (room - short, short) if first > second else (short, room - short)


def check_number(name: str, value: object, least: int) -> None:
    """Raise an error unless `value` is a whole number of at least `least`.

    Args:
        name: name of the value in the message.
        value: the value.
        least: the smallest allowed number.

    Raises:
        TokctlError: the value is invalid.
    """
    if type(value) is not int or value < least:
        raise BadOption(
            f"invalid value {brief(value)} for {name}",
            f"give a whole number of at least {least}",
            "bad-value",
        )


def check_name(what: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise an error unless `value` is one of the allowed names.

    Args:
        what: what the name stands for, in the message.
        value: the name.
        allowed: the allowed names.

    Raises:
        TokctlError: the name is unknown.
    """
    if value not in allowed:
        raise BadOption(
            f"no {what} is called {value!r}", f"choose one of: {', '.join(allowed)}", "unknown-name"
        )


@dataclass(frozen=True)
class Template:
    """The special tokens before, between and after the texts.

    Attributes:
        around: special tokens before, between and after the texts: one encoding more than texts.
        type_ids: type id of each text's tokens, in the template's order.
        order: number of each text, 0 or 1; the second text may come first (CodeLlama's infilling).
    """

    around: tuple[Encoding, ...]
    type_ids: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def read(cls, text: str, special_ids: Mapping[str, int]) -> Template:
        """Return the template that a text such as `[CLS] $A [SEP]` describes.

        Args:
            text: the template's text.
            special_ids: ids of the special tokens.

        Raises:
            TokctlError: a piece is invalid, or a token has no id.
        """
        groups: list[list[tuple[str, int, int]]] = [[]]
        type_ids = []
        order = []
        for piece in template_pieces(text):
            if piece.sequence is not None:
                type_ids.append(piece.type_id)
                order.append("AB".index(piece.sequence))
                groups.append([])
            elif piece.token is None or piece.token not in special_ids:
                raise BadOption(
                    f"the template {text!r} names {piece.token}, which has no id",
                    f"special tokens: {', '.join(special_ids) or 'none'}",
                    "unknown-name",
                )
            else:
                groups[-1].append((piece.token, special_ids[piece.token], piece.type_id))
        around = [
            added_encoding(
                [entry[0] for entry in group],
                [entry[1] for entry in group],
                [entry[2] for entry in group],
            )
            for group in groups
        ]
        return cls(tuple(around), tuple(type_ids), tuple(order))

    @cached_property
    def bare(self) -> Template:
        """Return the template without its special tokens; type ids are kept."""
        return replace(self, around=(added_encoding([], [], []),) * len(self.around))

    @cached_property
    def added_tokens_count(self) -> int:
        """Return how many special tokens the template adds."""
        return sum(map(len, self.around))

    def wrap_ids(self, ids: Sequence[int], pair_ids: Sequence[int] | None = None) -> list[int]:
        """Return the ids of a text, or of two, with the special tokens."""
        texts = (ids, () if pair_ids is None else pair_ids)
        wrapped = [*self.around[0].raw_ids]
        for number, after in zip(self.order, self.around[1:], strict=True):
            wrapped += [*texts[number], *after.raw_ids]
        return wrapped

    def apply(self, first: Encoding, second: Encoding | None = None) -> Encoding:
        """Return the tokens of a text, or of two, with the special tokens.

        Windows get special tokens, too. Every window of one text is combined with every window of
        the other: first for each window of the leading text, then for its beginning.
        """
        texts = [first] if second is None else [first, second]
        if self._is_empty and first._ranges is None and not any(p[3] for p in first._parts):
            return first
        pieces = [self.around[0]]
        for number, type_id, after in zip(self.order, self.type_ids, self.around[1:], strict=True):
            pieces += [_in_template(texts[number], number, type_id), after]
        return merge(pieces)

    @cached_property
    def _is_empty(self) -> bool:
        return self.added_tokens_count == 0 and self.type_ids == (0,)


def _in_template(text: Encoding, number: int, type_id: int | None = None) -> Encoding:
    """Return the text `number` and its windows with their type id; None: with their own ones."""
    windows = each_window(text, lambda window: _in_template(window, number, type_id))
    typed = text if type_id is None else with_type(text, type_id)
    return changed(in_sequence(typed, number), windows=windows)


@suggesting_class
@dataclass(frozen=True)
class Padding:
    """The length to which encodings are padded, and the padding token.

    Attributes:
        length: the number of tokens; a longer encoding is unchanged. None: the length of the
            longest encoding in the batch.
        multiple_of: the length is rounded up to a multiple of this.
        direction: the end that is padded: `right` or `left`.
        token: the padding token.
        id: id of the padding token; None: looked up among the special tokens.
        type_id: the type id of the padding.

    Raises:
        TokctlError: a number is invalid, or a name is unknown.

    Example:
        >>> tok.encode("a lot", padding=Padding(4, id=0)).ids
        [64, 281, 0, 0]
    """

    length: int | None = None
    multiple_of: int | None = None
    direction: str = "right"
    token: str = "[PAD]"
    id: int | None = None
    type_id: int = 0

    def __post_init__(self) -> None:
        for name, least in (("length", 0), ("multiple_of", 1), ("id", 0)):
            if getattr(self, name) is not None:
                check_number(f"the padding's {name}", getattr(self, name), least)
        check_number("the padding's type_id", self.type_id, 0)
        check_name("direction of padding", self.direction, DIRECTIONS)

    @overload
    @classmethod
    def of(cls, value: None) -> None: ...
    @overload
    @classmethod
    def of(cls, value: Padding | int) -> Padding: ...
    @classmethod
    def of(cls, value: Padding | int | None) -> Padding | None:
        """Return the padding for a caller's argument.

        Args:
            value: a padding, a length in tokens, or None.

        Raises:
            TokctlError: `value` has another type.
        """
        if value is None or isinstance(value, cls):
            return value
        if type(value) is int:
            return cls(value)
        raise BadOption(
            f"invalid value {brief(value)} for padding",
            "give a length in tokens, Padding() for the longest of the batch, Padding(…), or "
            "tokenizer.padding as the file has it",
            "bad-value",
        )

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> Padding:
        """Return the padding of a Hugging Face file."""
        strategy = data["strategy"]
        length = None if strategy == "BatchLongest" else strategy["Fixed"]
        direction, multiple = data["direction"].lower(), data["pad_to_multiple_of"]
        token, id_, type_id = data["pad_token"], data["pad_id"], data["pad_type_id"]
        return cls(length, multiple, direction, token, id_, type_id)

    def with_id(self, special_ids: Mapping[str, int]) -> Padding:
        """Return the padding with an id.

        Raises:
            TokctlError: the id is unknown, because the token is not a special token.
        """
        if self.id is not None:
            return self
        if self.token not in special_ids:
            raise BadOption(
                f"the padding token {self.token} is not a special token of this model",
                f"give the padding's id, or a special token: {', '.join(special_ids) or 'none'}",
                "unknown-name",
            )
        return replace(self, id=special_ids[self.token])

    def target(self, lengths: Sequence[int]) -> int:
        """Return the length to which encodings of these lengths are padded."""
        target = max(lengths, default=0) if self.length is None else self.length
        return target + -target % (self.multiple_of or 1)

    def fill(self, size: int) -> Encoding:
        """Return an encoding of `size` padding tokens."""
        if self.id is None:
            raise BadOption(
                f"the padding token {self.token} has no id",
                "give the padding's id",
                "missing-option",
            )
        columns = [self.token] * size, [self.id] * size, [self.type_id] * size
        return added_encoding(*columns, attention=0)

    def pad(self, encoding: Encoding, target: int) -> Encoding:
        """Return the encoding and its windows, each padded to `target` tokens."""
        if encoding._ranges is None:
            encoding = _in_template(encoding, 0)  # the padding belongs to no text
        return pad(encoding, target, self.fill, self.direction)

    def pad_ids(self, ids: Sequence[int], target: int) -> list[int]:
        """Return the ids padded to `target` ids."""
        filling = self.fill(max(target - len(ids), 0)).raw_ids
        return [*ids, *filling] if self.direction == "right" else [*filling, *ids]


def pad_batch(
    encodings: Sequence[Encoding],
    padding: Padding,
    special_ids: Mapping[str, int] | None = None,
) -> list[Encoding]:
    """Return the encodings of a batch, all padded to one length.

    Args:
        encodings: the encodings.
        padding: length and token of the padding.
        special_ids: ids of special tokens, for a padding without an id.
    """
    padding = padding.with_id(special_ids or {})
    target = padding.target([len(encoding) for encoding in encodings])
    return [padding.pad(encoding, target) for encoding in encodings]


@dataclass(frozen=True)
class PostProcessor:
    """A recipe's post-processors, ready for repeated use.

    Attributes:
        single, pair: the templates for one text and for two.
        trims: for each `trim-offsets`, whether a prefix space was added.
        as_in_text: tokens to trim by their text in the input; see `AsInText`.
    """

    single: Template
    pair: Template
    trims: tuple[bool, ...] = ()
    as_in_text: AsInText = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        parts: PartsLike,
        special_ids: Mapping[str, int],
        as_in_text: AsInText | None = None,
    ) -> PostProcessor:
        """Return the post-processor that the parts describe.

        Without a template, two texts are put one after the other.

        Args:
            parts: the recipe's post-processors.
            special_ids: ids of the special tokens.
            as_in_text: tokens to trim by their text in the input.

        Raises:
            TokctlError: there are two templates, or a template names a token that is not special.
        """
        single, pair = "$A", "$A $B:1"
        trims = []
        templates = 0
        for part in POST_PROCESSORS.steps(parts):
            if part.kind == "trim-offsets":
                trims.append(part["prefix_space"])
            elif templates:
                raise BadOption(
                    "two templates can't follow one another",
                    "put all tokens into one template",
                    "conflict",
                )
            else:
                single, pair = part["single"], part["pair"]
                templates += 1
        check_template(single, pair, tuple(special_ids))
        parsed = [Template.read(text, special_ids) for text in (single, pair)]
        return cls(parsed[0], parsed[1], tuple(trims), as_in_text or {})

    def template(self, pair: bool, add_special: bool = True) -> Template:
        """Return the template for one text or two.

        Args:
            pair: whether there are two texts.
            add_special: whether the template includes its special tokens.
        """
        template = self.pair if pair else self.single
        return template if add_special else template.bare

    def added_tokens_count(self, pair: bool = False) -> int:
        """Return how many special tokens are added to one text, or to two."""
        return self.template(pair).added_tokens_count

    def process(
        self,
        first: Encoding,
        second: Encoding | None = None,
        *,
        add_special: bool = True,
        truncation: Truncation | None = None,
    ) -> Encoding:
        """Return the tokens of a text, or of two, as the language model expects them.

        The texts are truncated first, then trimmed and wrapped.

        Args:
            first: tokens of the first text.
            second: tokens of the second text; None without one.
            add_special: whether to add the template's special tokens.
            truncation: the truncation; None: none.

        Raises:
            TokctlError: the truncation can't be applied.
        """
        template = self.template(second is not None, add_special)
        if truncation is not None:
            first, second = truncation.apply(first, second, template.added_tokens_count)
        for prefix_space in self.trims:
            first = with_trim(first, prefix_space, self.as_in_text)
            if second is not None:
                second = with_trim(second, prefix_space, self.as_in_text)
        return template.apply(first, second)

    def process_ids(
        self,
        ids: list[int],
        pair_ids: list[int] | None = None,
        *,
        add_special: bool = True,
        truncation: Truncation | None = None,
    ) -> list[int]:
        """Return only the ids that `process` returns: faster, and without windows."""
        template = self.template(pair_ids is not None, add_special)
        if truncation is not None:
            added = template.added_tokens_count
            pair_length = None if pair_ids is None else len(pair_ids)
            kept = truncation.lengths(len(ids), pair_length, added)
            ids = truncation.truncate_ids(ids, kept[0])
            pair_ids = None if pair_ids is None else truncation.truncate_ids(pair_ids, kept[1])
        return template.wrap_ids(ids, pair_ids)


def postprocess(
    first: Encoding,
    second: Encoding | None = None,
    *,
    parts: PartsLike,
    special_ids: Mapping[str, int],
    add_special: bool = True,
    truncation: Truncation | None = None,
    padding: Padding | None = None,
) -> Encoding:
    """Return the tokens of a text, or of two, truncated, wrapped and padded.

    Args:
        first: tokens of the first text, from segmentation.
        second: tokens of the second text; None without one.
        parts: the recipe's post-processors.
        special_ids: the ids of the special tokens.
        add_special: whether to add the template's special tokens. Its type ids and trimmed
            offsets apply in any case.
        truncation: see `Truncation`.
        padding: see `Padding`; `pad_batch` pads a whole batch.

    Raises:
        TokctlError: a setting is invalid or can't be applied.
    """
    processor = PostProcessor.of(parts, special_ids)
    processed = processor.process(first, second, add_special=add_special, truncation=truncation)
    return processed if padding is None else pad_batch([processed], padding, special_ids)[0]
