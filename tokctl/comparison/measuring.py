"""Counting what models make of texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tokctl import _native
from tokctl.comparison.texts import Text, pieces
from tokctl.metrics import Counts, Figure, boundary_f1, canonical_vocabulary, jaccard
from tokctl.metrics.agreement import inner_offsets, internal_boundaries
from tokctl.tokenizer import Tokenizer

#: Lines that are encoded together: enough for threads, little memory.
_LINES_AT_A_TIME = 10_000

Matrix = tuple[tuple[Figure, ...], ...]


def measure(tokenizer: Tokenizer, text: bytes, threads: int) -> Counts:
    """The counts of one model on one text."""
    # Without an unknown token, what has no id is what the model does not know.
    unknown_id = _native.NO_ID if tokenizer.unk_id is None else tokenizer.unk_id
    found = tokenizer.encoder.measure(text, tokenizer.special_matcher("none"), unknown_id)
    (words, whole, split), (characters, spaces), (tokens, unknown, used) = found
    # A line ends at a line feed, with or without a carriage return before it.
    *lines, rest = text.split(b"\n")
    lines = [line.removesuffix(b"\r") for line in lines]
    if rest:
        lines.append(rest)
    return Counts(
        bytes=len(text),
        characters=characters,
        spaces=spaces,
        words=words,
        whole_words=whole,
        split_words=split,
        tokens=tokens,
        unknown=unknown,
        lines=len(lines),
        exact_lines=_exact(tokenizer, lines, threads),
        used_ids=frozenset(used),
    )


def _exact(tokenizer: Tokenizer, lines: list[bytes], threads: int) -> int:
    """How many lines decode(encode(line)) gives back. One with a character without an id
    has no ids to decode, and is not given back."""
    decode = tokenizer.decoder.decode
    exact = 0
    for first in range(0, len(lines), _LINES_AT_A_TIME):
        group = lines[first : first + _LINES_AT_A_TIME]
        batch = tokenizer.encoder.batch(group, threads, tokenizer.special_matcher("none"))
        for line, ids in zip(group, batch, strict=True):
            exact += _native.NO_ID not in ids and decode(ids, False) == line
    return exact


def segment(tokenizer: Tokenizer, text: bytes) -> tuple[list[int], list[int]]:
    """Where each token of a text starts and ends, in bytes."""
    columns = tokenizer.encoder.tokens(text, tokenizer.special_matcher("none"))
    return columns[1], columns[2]


def overlaps(tokenizers: Sequence[Tokenizer]) -> Matrix:
    """The Jaccard index of every two vocabularies."""
    vocabularies = [canonical_vocabulary(tokenizer.model) for tokenizer in tokenizers]
    pairs = {
        (i, j): jaccard(vocabularies[i], vocabularies[j])
        for i, j in combinations(range(len(vocabularies)), 2)
    }
    return _square(len(tokenizers), pairs)


def agreements(tokenizers: Sequence[Tokenizer], texts: Sequence[Text]) -> Matrix:
    """The F1 of the boundaries inside words, of every two models over all texts."""
    cuts = [0] * len(tokenizers)
    pairs = list(combinations(range(len(tokenizers)), 2))
    shared = dict.fromkeys(pairs, 0)
    recipes = [tokenizer.recipe for tokenizer in tokenizers]
    for text in texts if pairs else ():
        for piece in pieces(text.data, recipes):
            inner = inner_offsets(len(piece), _native.pre_tokens("whitespace", piece))
            found = [
                internal_boundaries(len(piece), inner, *segment(tokenizer, piece))
                for tokenizer in tokenizers
            ]
            for place, boundaries in enumerate(found):
                cuts[place] += boundaries.bit_count()
            for i, j in pairs:
                shared[i, j] += (found[i] & found[j]).bit_count()
    return _square(
        len(tokenizers), {(i, j): boundary_f1(shared[i, j], cuts[i], cuts[j]) for i, j in pairs}
    )


def _square(size: int, pairs: dict[tuple[int, int], Figure]) -> Matrix:
    """Both are symmetric, and a model is its own equal."""
    return tuple(
        tuple(1.0 if i == j else pairs[min(i, j), max(i, j)] for j in range(size))
        for i in range(size)
    )
