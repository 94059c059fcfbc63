"""A comparison as one JSON document; `docs/compare.md` says what each key means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokctl.analysis.comparison.results import Interval, Speed
from tokctl.analysis.metrics import METRICS, Absent, Figure

if TYPE_CHECKING:
    from tokctl.analysis.comparison.results import (
        Comparison,
        Languages,
        Measured,
        ModelReport,
        ModelSegmentation,
        SweepPoint,
        WordStory,
    )

#: It grows when a key changes its meaning or goes away; a new key doesn't change it.
SCHEMA = "tokctl.compare/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """Figures that are absent are null, with the reason beside them."""
    languages = comparison.languages
    return {
        "schema": SCHEMA,
        "baseline": comparison.baseline,
        "texts": [asdict(text) for text in comparison.texts],
        "metrics": [
            {"name": metric.name, "better": "higher" if metric.higher_is_better else "lower"}
            for metric in METRICS
        ],
        "models": [_model(comparison, model) for model in comparison.models],
        "findings": list(comparison.findings),
        "sentences": [
            {"text": sample.text, "segmentations": list(map(_cut, sample.segmentations))}
            for sample in comparison.samples
        ],
        "words": [_story(story) for story in comparison.stories],
        "disagreements": [
            {
                "word": word.word,
                "count": word.count,
                "weight": word.weight,
                "segmentations": list(map(_cut, word.segmentations)),
            }
            for word in comparison.disagreements
        ],
        "overlap": _matrix(comparison.overlap),
        "agreement": _matrix(comparison.agreement),
        "languages": languages and _languages(languages, [m.name for m in comparison.models]),
        "sweep": [_point(point) for point in comparison.sweep],
    }


def _interval(found: Mapping[str, Interval | Absent], name: str) -> list[float] | None:
    one = found.get(name)
    return [one.low, one.high] if isinstance(one, Interval) else None


def _speed(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    return {
        "encode_mb_per_s": _number(speed.encode_mb_per_s),
        "decode_mb_per_s": _number(speed.decode_mb_per_s),
        "bytes": speed.bytes,
        "threads": speed.threads,
    }


def _model(comparison: Comparison, model: ModelReport) -> dict[str, Any]:
    differences = {metric.name: comparison.against_baseline(model, metric) for metric in METRICS}
    return {
        "name": model.name,
        "algorithm": model.algorithm,
        "recipe": model.recipe,
        "vocab_size": model.vocab_size,
        "emittable_ids": model.emittable_ids,
        "exhausted": model.exhausted,
        **_measured(model.total),
        "against_baseline": {
            name: None
            if isinstance(found, Absent)
            else {
                "amount": found.amount,
                "relative": found.relative,
                "better": found.better,
                "interval": _interval(model.difference_intervals, name),
            }
            for name, found in differences.items()
        },
        "intervals": {metric.name: _interval(model.intervals, metric.name) for metric in METRICS}
        if model.intervals
        else None,
        "speed": _speed(model.speed),
        "texts": [{"name": text.text, **_measured(text)} for text in model.texts],
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return _figures(measured.figures)


def _figures(figures: Mapping[str, Figure]) -> dict[str, Any]:
    reasons = {name: f.reason for name, f in figures.items() if isinstance(f, Absent)}
    return {
        "metrics": {name: _number(figure) for name, figure in figures.items()},
        "reasons": reasons,
    }


def _number(figure: Figure) -> float | None:
    return None if isinstance(figure, Absent) else figure


def _cut(cut: ModelSegmentation) -> dict[str, Any]:
    return {
        "model": cut.model,
        "count": len(cut.tokens),
        "tokens": list(cut.tokens),
        "ids": list(cut.ids),
    }


def _story(story: WordStory) -> dict[str, Any]:
    return {
        "word": story.word,
        "count": story.count,
        "models": [
            {
                **_cut(cut.segmentation),
                "whole": cut.whole,
                "reason": cut.reason,
                "other_sizes": [{"asked": size, **_cut(other)} for size, other in cut.elsewhere],
            }
            for cut in story.cuts
        ],
    }


def _matrix(rows: Sequence[Sequence[Figure]]) -> list[list[float | None]]:
    return [[_number(cell) for cell in row] for row in rows]


def _languages(found: Languages, models: Sequence[str]) -> dict[str, Any]:
    return {
        "reference": found.reference,
        "gini": dict(zip(models, map(_number, found.gini), strict=True)),
        "languages": [
            {
                "name": language.name,
                "lines": language.lines,
                "models": [
                    {"name": name, **_figures(figures)}
                    for name, figures in zip(models, language.figures, strict=True)
                ],
            }
            for language in found.languages
        ],
    }


def _point(point: SweepPoint) -> dict[str, Any]:
    return {
        "model": point.model,
        "asked": point.asked,
        "vocab_size": point.vocab_size,
        "exhausted": point.exhausted,
        **_figures(point.figures),
    }
