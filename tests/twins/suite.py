"""The figures of morphology, stability and embeddings, one word and one row after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tokctl import Tokenizer

Cuts = tuple[int, set[int]]


def cuts(tokenizer: Tokenizer, before: str, word: str) -> Cuts:
    """The number of tokens of a word behind something, and where they start or end inside it, in
    bytes of the word."""
    encoding = tokenizer.encode((before + word).encode())
    start, end = len(before.encode()), len((before + word).encode())
    places = {place for span in encoding.offsets for place in span}
    return len(encoding), {place - start for place in places if start < place < end}


# -- Morphology --------------------------------------------------------------------------------


def morphology(
    tokenizer: Tokenizer, gold: Sequence[tuple[str, Sequence[str]]]
) -> dict[str, Fraction | None]:
    """Every figure, from the sets of each word; None where it is absent."""
    words = []
    for word, morphemes in gold:
        if "".join(morphemes) != word:
            continue
        ends = {len("".join(morphemes[:n]).encode()) for n in range(1, len(morphemes))}
        words.append((ends, cuts(tokenizer, " ", word)[1]))
    pairs = [(gold, cut) for gold, cut in words if gold]
    several = [(gold, cut) for gold, cut in pairs if cut]

    def recall(gold: set[int], cut: set[int]) -> Fraction:
        return Fraction(len(gold & cut), len(gold))

    def precision(gold: set[int], cut: set[int]) -> Fraction:
        return Fraction(len(gold & cut), len(cut)) if cut else Fraction(0)

    def f1(gold: set[int], cut: set[int]) -> Fraction:
        p, r = precision(gold, cut), recall(gold, cut) if gold else Fraction(0)
        return 2 * p * r / (p + r) if p + r else Fraction(0)

    # All words in a row are one word, with boundaries of its own.
    all_gold = {(n, place) for n, (gold, _) in enumerate(words) for place in gold}
    all_cut = {(n, place) for n, (_, cut) in enumerate(words) for place in cut}
    return {
        "precision": Fraction(len(all_gold & all_cut), len(all_cut)) if all_cut else None,
        "recall": Fraction(len(all_gold & all_cut), len(all_gold)) if all_gold else None,
        "f1": f1(all_gold, all_cut) if all_gold or all_cut else None,  # type: ignore[arg-type]
        "macro_precision": _mean([precision(*pair) for pair in words if pair[1]]),
        "macro_recall": _mean([recall(*pair) for pair in pairs]),
        "macro_f1": _mean([f1(*pair) for pair in words if pair[0] or pair[1]]),
        "all_cut": _mean([Fraction(gold <= cut) for gold, cut in pairs]),
        "morphscore_recall": _mean([recall(*pair) for pair in several]),
        "morphscore_precision": _mean([precision(*pair) for pair in several]),
        "morphscore_recall_all": _mean(
            [recall(*pair) if pair[1] else Fraction(0) for pair in pairs]
        ),
        "morphscore_precision_all": _mean([precision(*pair) for pair in pairs]),
    }


def _mean(values: Sequence[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None


# -- Stability ---------------------------------------------------------------------------------


def kept(old: str, new: str, pairs: Sequence[tuple[str, str]], before: Cuts, after: Cuts) -> Cuts:
    """How many boundaries of two words are counted, and those that both have.

    Each byte of the old word is followed to the new one: a boundary has a counterpart where the
    byte on one side of it has one that lies on the same side there.
    """
    at, new_at = 0, 0
    links: set[tuple[int, int]] = {(0, 0)}
    for text, variant in pairs:
        if text == variant:
            links |= {(at + n, new_at + n) for n in range(len(text.encode()) + 1)}
        at, new_at = at + len(text.encode()), new_at + len(variant.encode())
        links.add((at, new_at))
    inner = {
        (old_place, new_place)
        for old_place, new_place in links
        if 0 < old_place < len(old.encode()) and 0 < new_place < len(new.encode())
    }
    own = {new_place for old_place, new_place in inner if old_place in before[1]}
    others = {new_place for _, new_place in inner if new_place in after[1]}
    return len(own) + len(others), own & others


# -- Embeddings --------------------------------------------------------------------------------


def norms(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.hypot(*row) for row in rows]


def distances(
    rows: Sequence[Sequence[float]], reference: Sequence[int], indicator: str
) -> list[float]:
    """Cosine distances to the mean of some rows, without the first principal component of all,
    which power iteration finds, without their mean, or plain."""
    size = len(rows[0])
    mean = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    without = centred = [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]
    if indicator == "cosine-plain":
        without = [list(row) for row in rows]
    elif indicator == "cosine-without-component":
        first = _first_component(centred)
        without = []
        for row in rows:
            along = _dot(row, first)
            without.append([x - along * c for x, c in zip(row, first, strict=True)])
    unused = [math.fsum(without[n][k] for n in reference) / len(reference) for k in range(size)]
    found = []
    for row in without:
        lengths = math.hypot(*row) * math.hypot(*unused)
        found.append(1 - _dot(row, unused) / lengths if lengths else 1.0)
    return found


def _first_component(centred: Sequence[Sequence[float]]) -> list[float]:
    size = len(centred[0])
    covariance = [
        [_dot(a, b) for b in zip(*centred, strict=True)] for a in zip(*centred, strict=True)
    ]
    component = [1.0 + place / 7 for place in range(size)]
    for _ in range(2000):
        component = [_dot(row, component) for row in covariance]
        length = math.hypot(*component)
        component = [x / length for x in component]
    return component


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(first, second, strict=True))
