"""What was measured of each model, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokctl.analysis.comparison.intervals import ModelIntervals, intervals
from tokctl.analysis.comparison.measuring import Measurement
from tokctl.analysis.comparison.results import Measured, ModelReport, TextSummary
from tokctl.analysis.comparison.speed import speed
from tokctl.analysis.metrics import METRICS, Counts, Range, range_of
from tokctl.analysis.texts import Text
from tokctl.tokenizer import Tokenizer


def reports_of(
    models: Mapping[str, Tokenizer],
    texts: Sequence[Text],
    measured: Mapping[str, Sequence[Measurement]],
    baseline: str,
    threads: int,
    *,
    with_intervals: bool,
    with_speed: bool,
) -> tuple[ModelReport, ...]:
    """A report for each model.

    Args:
        measured: for each model its texts; with the counts of lines where intervals are
            wanted.
    """
    ranges = {name: range_of(tokenizer.model) for name, tokenizer in models.items()}
    found = intervals(measured, ranges, baseline, threads) if with_intervals else {}
    names = [text.name for text in texts]
    reference = [one.counts for one in measured[baseline]]
    whole = Counts.total(reference)
    reports = []
    for name, tokenizer in models.items():
        model, reach = tokenizer.model, ranges[name]
        counts = [one.counts for one in measured[name]]
        own = found.get(name, ModelIntervals({}, {}))
        total = _figures("", reach, Counts.total(counts), whole)
        reports.append(
            ModelReport(
                name=name,
                algorithm=model.recipe.algorithm,
                recipe=model.recipe.name,
                vocab_size=tokenizer.vocab_size,
                emittable_ids=reach.emittable,
                exhausted=model.training is not None and model.training.exhausted,
                total=total,
                texts=tuple(
                    _figures(text, reach, one, other)
                    for text, one, other in zip(names, counts, reference, strict=True)
                ),
                intervals=own.figures,
                difference_intervals=own.differences,
                speed=speed(tokenizer, texts, threads) if with_speed else None,
            )
        )
    return tuple(reports)


def _figures(text: str, reach: Range, own: Counts, baseline: Counts) -> Measured:
    return Measured(
        text, own, {metric.name: metric.figure(reach, own, baseline) for metric in METRICS}
    )


def summary(measured: Measured, documents: int) -> TextSummary:
    """The sizes of a text of so many documents, which are the same for all models."""
    counts = measured.counts
    return TextSummary(
        measured.text,
        documents,
        counts.bytes,
        counts.characters,
        counts.words,
        counts.lines,
    )
