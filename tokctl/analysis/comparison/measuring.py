"""Counting what models make of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tokctl import _native
from tokctl.analysis.metrics import Counts, Figure, boundary_f1, canonical_vocabulary, jaccard
from tokctl.analysis.texts import Text
from tokctl.tokenizer import Tokenizer

Matrix = tuple[tuple[Figure, ...], ...]


@dataclass(frozen=True)
class Measurement:
    """One model on one text.

    Attributes:
        counts: what the metrics are functions of.
        native: what is too much for Python: the boundaries, the counts of each line.
    """

    counts: Counts
    native: _native.Measured = field(compare=False, repr=False)


def measure_all(
    tokenizer: Tokenizer,
    text: Text | bytes,
    threads: int,
    *,
    words: str = "spaces",
    boundaries: bool = False,
    lines: bool = False,
) -> Measurement:
    """Measures one model on one text, in one pass over its tokens.

    Each document is encoded whole, and counts as often as the text says; each line is encoded
    once more by itself, for the round trip. Bytes are one document.

    Args:
        threads: the result does not depend on it.
        words: what a word is, of `tokctl.analysis.metrics.WORD_RULES`.
        boundaries: keeps what `agreements` needs, an eighth of the text's size.
        lines: keeps the counts of each line, which `tokctl.analysis.comparison.intervals` needs.
    """
    # Without an unknown token, what has no id is what the model does not know.
    unknown_id = _native.NO_ID if tokenizer.unk_id is None else tokenizer.unk_id
    text = Text("", text) if isinstance(text, bytes) else text
    native = _native.Measured.of(
        tokenizer.encoder,
        tokenizer.decoder,
        text.data,
        tokenizer.special_matcher("none"),
        unknown_id,
        words=words,
        threads=threads,
        boundaries=boundaries,
        lines=lines,
        ends=text.ends,
        weights=text.counts,
    )
    return Measurement(Counts.of(native.counts, native.id_counts, words), native)


def measure(
    tokenizer: Tokenizer, text: Text | bytes, threads: int, words: str = "spaces"
) -> Counts:
    """The counts of one model on one text; the arguments are those of `measure_all`."""
    return measure_all(tokenizer, text, threads, words=words).counts


def overlaps(tokenizers: Sequence[Tokenizer]) -> Matrix:
    """The Jaccard index of every two vocabularies."""
    vocabularies = [canonical_vocabulary(tokenizer.model) for tokenizer in tokenizers]
    pairs = {
        (i, j): jaccard(vocabularies[i], vocabularies[j])
        for i, j in combinations(range(len(vocabularies)), 2)
    }
    return _square(len(tokenizers), pairs)


def agreements(measured: Sequence[Sequence[Measurement]]) -> Matrix:
    """The F1 of the boundaries inside words, of every two models over all texts.

    Args:
        measured: for each model its texts, which are the same for all; measured with
            `boundaries`.
    """

    def shared(first: int, second: int) -> int:
        both = zip(measured[first], measured[second], strict=True)
        return sum(one.native.shared_boundaries(other.native) for one, other in both)

    pairs: dict[tuple[int, int], Figure] = {}
    if len(measured) > 1:
        cuts = [shared(model, model) for model in range(len(measured))]
        for i, j in combinations(range(len(measured)), 2):
            pairs[i, j] = boundary_f1(shared(i, j), cuts[i], cuts[j])
    return _square(len(measured), pairs)


def _square(size: int, pairs: dict[tuple[int, int], Figure]) -> Matrix:
    """Both are symmetric, and a model is its own equal."""
    return tuple(
        tuple(1.0 if i == j else pairs[min(i, j), max(i, j)] for j in range(size))
        for i in range(size)
    )
