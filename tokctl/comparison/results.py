"""What a comparison finds: plain data that prints nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokctl.metrics import METRICS, Absent, Counts, Figure, Metric

#: Of the JSON document. It grows when a key changes its meaning or goes away.
SCHEMA = "tokctl.compare/1"


@dataclass(frozen=True)
class TextSummary:
    """One text, or all of them together: sizes that no model has a say in."""

    name: str
    bytes: int
    characters: int
    words: int
    lines: int


@dataclass(frozen=True)
class Measured:
    """One model on one text, or on all of them together.

    Attributes:
        text: the text's name; empty for all together.
        counts: what the figures are made from.
        figures: by the name of the metric, one for each of `METRICS`.
    """

    text: str
    counts: Counts
    figures: Mapping[str, Figure]

    def to_dict(self) -> dict[str, Any]:
        figures, reasons = {}, {}
        for name, figure in self.figures.items():
            absent = isinstance(figure, Absent)
            figures[name] = None if absent else figure
            if isinstance(figure, Absent):
                reasons[name] = figure.reason
        return {"metrics": figures, "reasons": reasons}


@dataclass(frozen=True)
class ModelReport:
    """One model.

    Attributes:
        name: unique within the comparison.
        emittable_ids: ids that ordinary text can become: all but special tokens other
            than the unknown one.
        exhausted: its training ended before the vocabulary was full, for want of pairs.
        total: over all texts together; texts: one by one, in the order given.
    """

    name: str
    algorithm: str
    recipe: str
    vocab_size: int
    emittable_ids: int
    exhausted: bool
    total: Measured
    texts: tuple[Measured, ...]


@dataclass(frozen=True)
class Segmentation:
    """A stretch of text as one model cuts it.

    Attributes:
        tokens: as the vocabulary spells them (`Ġthe`, `##ing`).
        shown: the same for people: byte-level tokens as the text that they stand for,
            a token that ends inside a character as its bytes (`\\xe2\\x80`).
    """

    model: str
    tokens: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """A sentence and what each model makes of it."""

    text: str
    segmentations: tuple[Segmentation, ...]


@dataclass(frozen=True)
class Disagreement:
    """A word that models cut in different places.

    Attributes:
        count: how often it occurs in the texts.
        weight: count times the boundaries that one model of a pair has and the other
            lacks, summed over all pairs.
    """

    word: str
    count: int
    weight: int
    segmentations: tuple[Segmentation, ...]


@dataclass(frozen=True)
class Comparison:
    """Models side by side on the same texts.

    Attributes:
        baseline: the name of the model that NSL is relative to.
        models: in the order given, as everywhere below.
        overlap: Jaccard index of vocabularies, row and column in the order of `models`.
        agreement: F1 of the boundaries inside words, likewise.
    """

    baseline: str
    total: TextSummary
    texts: tuple[TextSummary, ...]
    models: tuple[ModelReport, ...]
    samples: tuple[Sample, ...]
    disagreements: tuple[Disagreement, ...]
    overlap: tuple[tuple[Figure, ...], ...]
    agreement: tuple[tuple[Figure, ...], ...]

    def best(self, metric: Metric) -> set[str]:
        """Names of the models that are best at a metric; empty where all are equal."""
        figures = {model.name: model.total.figures[metric.name] for model in self.models}
        numbers = {name: f for name, f in figures.items() if not isinstance(f, Absent)}
        if len(set(numbers.values())) < 2:
            return set()
        best = (max if metric.higher_is_better else min)(numbers.values())
        return {name for name, number in numbers.items() if number == best}

    def to_dict(self) -> dict[str, Any]:
        """The JSON document. Figures that are absent are null, with the reason beside them."""
        return {
            "schema": SCHEMA,
            "baseline": self.baseline,
            "texts": [
                {
                    "name": text.name,
                    "bytes": text.bytes,
                    "characters": text.characters,
                    "words": text.words,
                    "lines": text.lines,
                }
                for text in self.texts
            ],
            "metrics": [
                {"name": metric.name, "better": "higher" if metric.higher_is_better else "lower"}
                for metric in METRICS
            ],
            "models": [
                {
                    "name": model.name,
                    "algorithm": model.algorithm,
                    "recipe": model.recipe,
                    "vocab_size": model.vocab_size,
                    "emittable_ids": model.emittable_ids,
                    "exhausted": model.exhausted,
                    **model.total.to_dict(),
                    "texts": [{"name": text.text, **text.to_dict()} for text in model.texts],
                }
                for model in self.models
            ],
            "sentences": [
                {"text": sample.text, "segmentations": _cuts(sample.segmentations)}
                for sample in self.samples
            ],
            "disagreements": [
                {
                    "word": word.word,
                    "count": word.count,
                    "weight": word.weight,
                    "segmentations": _cuts(word.segmentations),
                }
                for word in self.disagreements
            ],
            "overlap": _matrix(self.overlap),
            "agreement": _matrix(self.agreement),
        }


def _cuts(segmentations: tuple[Segmentation, ...]) -> list[dict[str, Any]]:
    return [
        {"model": cut.model, "count": len(cut.tokens), "tokens": list(cut.tokens)}
        for cut in segmentations
    ]


def _matrix(rows: tuple[tuple[Figure, ...], ...]) -> list[list[float | None]]:
    return [[None if isinstance(cell, Absent) else cell for cell in row] for row in rows]
