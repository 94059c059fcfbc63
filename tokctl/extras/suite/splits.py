"""Segmentation of numbers, code and characters: the positions of token boundaries.

A word is encoded after another word, as in `a 1234`. A token belongs to the word if it covers some
of its bytes. A boundary is inside the word if a token starts or ends strictly between its first and
its last byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from tokctl._native import NO_ID
from tokctl.analysis.metrics import MetricValue, Undefined, ratio
from tokctl.core.errors import TokctlError
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.tokenizer import Tokenizer


class WordSplit(NamedTuple):
    """Segmentation of a word.

    Attributes:
        tokens: Number of tokens that cover some of the word.
        cuts: Boundaries strictly inside the word, in bytes from its start.
        known: Whether no token is unknown, and all have ids.
        alone: Whether the word's tokens cover nothing outside it except white space.
    """

    tokens: int
    cuts: frozenset[int]
    known: bool
    alone: bool


def split_word(tokenizer: Tokenizer, word: str, *, suffix: str = "") -> WordSplit:
    """Return the segmentation of a word that follows `a` and a space, and precedes `suffix`."""
    prefix = b"a "
    data = prefix + word.encode() + suffix.encode()
    word_start, word_end = len(prefix), len(prefix) + len(word.encode())
    ids, starts, ends, _ = tokenizer.encoder.tokens(data, tokenizer.special_matcher("none"))
    unknown = (NO_ID, tokenizer.unk_id)
    tokens, is_known, is_alone = 0, True, True
    cuts = set()
    for id_, start, end in zip(ids, starts, ends, strict=True):
        if start < word_end and end > word_start:
            tokens += 1
            is_known = is_known and id_ not in unknown
            is_alone = is_alone and not (
                data[start:word_start].strip() or data[word_end:end].strip()
            )
            cuts |= {
                offset - word_start for offset in (start, end) if word_start < offset < word_end
            }
    return WordSplit(tokens, frozenset(cuts), is_known, is_alone)


# -- Numbers -----------------------------------------------------------------------------------

#: Numbers of digits of the numbers 1 to 9,999.
DIGITS = (1, 2, 3, 4)
#: Ways to split a number; if several fit, the first of them is used.
WAYS = ("unknown", "whole", "right", "left", "single", "other")


@dataclass(frozen=True)
class NumberSplits:
    """Segmentation of the numbers 1 to 9,999 after a space.

    Attributes:
        tokens: By number of digits d, then by number of tokens: the share of the d-digit numbers.
        ways: By number of digits d, then by one of `WAYS`: the share of the d-digit numbers that
            have an unknown token, are one token, are groups of three counted from the right or from
            the left, have a token for each digit, or are split in another way.
        places: By the place p, from 1: the share of the numbers with more than p digits that have a
            boundary before their last p digits.
    """

    tokens: Mapping[int, Mapping[int, float]]
    ways: Mapping[int, Mapping[str, float]]
    places: Mapping[int, float]


def number_splits(tokenizer: Tokenizer) -> NumberSplits:
    """Return how a model splits the numbers 1 to 9,999."""
    tokens: dict[int, dict[int, int]] = {digits: {} for digits in DIGITS}
    ways: dict[int, dict[str, int]] = {digits: dict.fromkeys(WAYS, 0) for digits in DIGITS}
    cut_at = dict.fromkeys(range(1, DIGITS[-1]), 0)
    for number in range(1, 10 ** DIGITS[-1]):
        word = str(number)
        split, digits = split_word(tokenizer, word), len(word)
        tokens[digits][split.tokens] = tokens[digits].get(split.tokens, 0) + 1
        ways[digits][number_way(split, digits)] += 1
        for cut in split.cuts:
            cut_at[digits - cut] += 1
    numbers = {digits: 9 * 10 ** (digits - 1) for digits in DIGITS}
    return NumberSplits(
        {n: {k: tokens[n][k] / numbers[n] for k in sorted(tokens[n])} for n in DIGITS},
        {n: {way: ways[n][way] / numbers[n] for way in WAYS} for n in DIGITS},
        {p: cut_at[p] / sum(numbers[n] for n in DIGITS if n > p) for p in cut_at},
    )


def number_way(split: WordSplit, digits: int) -> str:
    """Return which of `WAYS` describes the segmentation of a number with `digits` digits."""
    if not split.known:
        return "unknown"
    patterns = {
        "whole": (),
        "right": range(digits % 3 or 3, digits, 3),
        "left": range(3, digits, 3),
        "single": range(1, digits),
    }
    return next((name for name, cuts in patterns.items() if split.cuts == set(cuts)), "other")


# -- Code --------------------------------------------------------------------------------------

_NAMES = (
    "file name, line number, max value, is empty, user id, read line, next token, error code, "
    "get item, set value, start time, buffer size, parse header, write file, key count, new node, "
    "load config, open window, last index, test case, print result, data type, send message, "
    "base path, total price, to string, from bytes, has children, image width, sort order, "
    "get user name, max line length, read next block, default time zone, is valid key, "
    "write log file, parse date string, number of rows, first free slot, on mouse move"
)
#: Identifiers of two and three words; each is tested in both styles.
NAMES = tuple(tuple(name.split()) for name in _NAMES.split(", "))
STYLES = ("snake_case", "camelCase")
#: Runs of white space at the start of a line: spaces, and tabs.
INDENTATIONS = (
    *(("space", n) for n in (1, 2, 4, 8, 12, 16)),
    *(("tab", n) for n in (1, 2, 3, 4)),
)
_OPERATORS = (
    "== != <= >= && || += -= *= /= %= &= |= ^= << >> <<= >>= ** **= // //= -> => := :: === !== ?? "
    "?. .. ... <- |> ++ =~"
)
#: Operators of several characters in common languages.
OPERATORS = tuple(_OPERATORS.split())


@dataclass(frozen=True)
class CodeSplits:
    """Segmentation of code.

    Attributes:
        identifier_tokens: By one of `STYLES`: mean tokens per name of `NAMES`.
        identifier_whole: By style: share of the names that are one token.
        identifier_borders: By style: share of the names that are split at each border between their
            words, and nowhere else.
        indentation: By one of `INDENTATIONS`: number of tokens that the run adds; Undefined if
            the model does not keep white space.
        operators: Share of `OPERATORS` that are one token.
        cut_operators: The other operators, in the order of `OPERATORS`.
    """

    identifier_tokens: Mapping[str, float]
    identifier_whole: Mapping[str, float]
    identifier_borders: Mapping[str, float]
    indentation: Mapping[tuple[str, int], MetricValue]
    operators: float
    cut_operators: tuple[str, ...]


def code_splits(tokenizer: Tokenizer) -> CodeSplits:
    """Return how a model splits names, indentation and operators."""
    tokens, whole_names, borders = {}, {}, {}
    for style in STYLES:
        splits = [split_word(tokenizer, spelled(name, style)) for name in NAMES]
        tokens[style] = sum(split.tokens for split in splits) / len(NAMES)
        whole_names[style] = sum(split.tokens == 1 and split.known for split in splits) / len(NAMES)
        named_splits = zip(NAMES, splits, strict=True)
        borders[style] = sum(
            cut_at_borders(name, style, split) for name, split in named_splits
        ) / len(NAMES)
    cut = []
    for operator in OPERATORS:
        split = split_word(tokenizer, operator, suffix=" b")
        if not (split.tokens == 1 and split.known and split.alone):
            cut.append(operator)
    return CodeSplits(
        tokens,
        whole_names,
        borders,
        {run: indentation_tokens(tokenizer, *run) for run in INDENTATIONS},
        1 - len(cut) / len(OPERATORS),
        tuple(cut),
    )


def spelled(name: Sequence[str], style: str) -> str:
    """Return the words of a name in a style: `line_number` or `lineNumber`."""
    if style == "snake_case":
        return "_".join(name)
    return name[0] + "".join(word.capitalize() for word in name[1:])


def cut_at_borders(name: Sequence[str], style: str, split: WordSplit) -> bool:
    """Return whether a name is split at each border between its words, and nowhere else.

    An underscore may belong to either word, or be a separate token.
    """
    width = 1 if style == "snake_case" else 0
    ends = accumulate((len(word) + width for word in name), initial=0)
    borders = [{end - width, end} for end in list(ends)[1:-1]]
    return (
        split.known
        and split.cuts <= set().union(*borders)
        and all(split.cuts & border for border in borders)
    )


def indentation_tokens(tokenizer: Tokenizer, kind: str, length: int) -> MetricValue:
    """Return the number of tokens that spaces or tabs add at the start of a line."""
    run = {"space": " ", "tab": "\t"}[kind] * length
    flat, indented = "if a:\nb = c\n", f"if a:\n{run}b = c\n"
    try:
        ids = tokenizer.encode_ids(indented)
        is_kept = tokenizer.decode_bytes(ids) == indented.encode()
    except TokctlError:  # the indentation has a character without an id
        is_kept = False
    if not is_kept:
        return Undefined("the model does not keep white space")
    return len(ids) - len(tokenizer.encode_ids(flat))


# -- Characters --------------------------------------------------------------------------------


@dataclass(frozen=True)
class CharacterCuts:
    """Number of characters that have a token boundary inside their UTF-8 form.

    Attributes:
        characters: Characters of the text.
        non_ascii: Characters of several bytes; only these can be split.
        cut: Characters that are split.
    """

    characters: int = 0
    non_ascii: int = 0
    cut: int = 0

    @property
    def of_all(self) -> MetricValue:
        """Return the split share of all characters."""
        return ratio(self.cut, self.characters, "the text has no characters")

    @property
    def of_non_ascii(self) -> MetricValue:
        """Return the split share of the characters that are not ASCII."""
        return ratio(self.cut, self.non_ascii, "all characters are ASCII")

    def __add__(self, other: CharacterCuts) -> CharacterCuts:
        return CharacterCuts(
            self.characters + other.characters,
            self.non_ascii + other.non_ascii,
            self.cut + other.cut,
        )


def character_cuts(tokenizer: Tokenizer, text: bytes) -> CharacterCuts:
    """Return the number of characters that a model splits in a UTF-8 text.

    A character that falls back to byte tokens is split, although each token has the span of the
    whole character.
    """
    ids, starts, ends, _ = tokenizer.encoder.tokens(text, tokenizer.special_matcher("none"))
    bytes_of = _fallback_ids(tokenizer)
    cut = set()  # start offsets of the split characters
    for id_, start, end in zip(ids, starts, ends, strict=True):
        for offset in (start, end):
            if offset < len(text) and text[offset] & 0xC0 == 0x80:
                while text[offset] & 0xC0 == 0x80:
                    offset -= 1
                cut.add(offset)
        if id_ in bytes_of and text[start] >= 0x80:
            cut.add(start)
    characters = sum(byte & 0xC0 != 0x80 for byte in text)
    return CharacterCuts(characters, sum(byte >= 0xC0 for byte in text), len(cut))


def _fallback_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of the byte tokens of a byte fallback."""
    if not tokenizer.recipe.byte_fallback:
        return frozenset()
    return frozenset(
        id_ for id_, token in enumerate(tokenizer.model.tokens) if token in BYTE_TOKENS
    )


def sum_of_cuts(cuts: Iterable[CharacterCuts]) -> CharacterCuts:
    """Return the counts of several texts together."""
    return sum(cuts, CharacterCuts())


# -- Definitions -------------------------------------------------------------------------------
