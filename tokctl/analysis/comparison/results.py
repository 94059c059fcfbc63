"""Results of a comparison: plain data that prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tokctl.analysis.metrics import METRICS, Counts, Metric, MetricValue, Undefined


@dataclass(frozen=True)
class TextSummary:
    """Sizes of a text, or of all texts together, which don't depend on the model.

    A document with a count (`tokctl.sources.Batch`) is counted that many times in all of them.
    """

    name: str
    documents: int
    bytes: int
    characters: int
    words: int
    lines: int


@dataclass(frozen=True)
class Measured:
    """Counts and metrics of one model on one text, or on all texts together.

    Attributes:
        text: Name of the text; empty for all together.
        counts: Counts that the metrics are computed from.
        figures: Values by metric, one for each of `METRICS`.
    """

    text: str
    counts: Counts
    figures: Mapping[str, MetricValue]


@dataclass(frozen=True)
class Interval:
    """Range that contains the value of a metric in 95 % of the resamples."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Return whether a difference is more than noise: the interval does not include 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Speed:
    """Speeds in megabytes (10^6 bytes) of text per second.

    Attributes:
        encode_mb_per_s: Speed of encoding to an array of ids.
        decode_mb_per_s: Speed of decoding these ids; Absent if characters of the slice have no id.
        bytes: Length of the measured slice, from the start of the texts.
        seconds: Duration of the whole measurement.
        threads: Number of threads for encoding; decoding uses one.
    """

    encode_mb_per_s: MetricValue
    decode_mb_per_s: MetricValue
    bytes: int
    seconds: float
    threads: int


@dataclass(frozen=True)
class ModelReport:
    """Results of one model.

    Attributes:
        name: Unique name in the comparison.
        emittable_ids: Number of ids that encoding of ordinary text can give: all except special
            tokens, plus the unknown token's if something can be unknown.
        exhausted: Whether training ran out of pairs before the vocabulary was full.
        trained_on: Names of the compared texts on which the model was trained, recognized by their
            digests: results on these texts say little about others.
        total: Results over all texts together.
        texts: Results of each text, in the order given.
        intervals: Intervals of the values over all texts, by metric; empty unless requested.
        difference_intervals: Intervals of the differences from the baseline, likewise; empty for
            the baseline.
        speed: Measured speed; None unless requested.
    """

    name: str
    algorithm: str
    recipe: str
    vocab_size: int
    emittable_ids: int
    exhausted: bool
    total: Measured
    texts: tuple[Measured, ...]
    intervals: Mapping[str, Interval | Undefined] = field(default_factory=dict)
    difference_intervals: Mapping[str, Interval | Undefined] = field(default_factory=dict)
    speed: Speed | None = None
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelSegmentation:
    r"""Segmentation of a stretch of text by one model.

    Attributes:
        tokens: Tokens as the vocabulary spells them (`Ġthe`, `##ing`).
        shown: Readable tokens: byte-level tokens as the text that they stand for, a token that ends
            inside a character as its bytes (`\xe2\x80`).
        ids: Ids of the tokens; None for a character without an id.
        spans: Byte range of the text that each token covers, as (start, end).
    """

    model: str
    tokens: tuple[str, ...]
    shown: tuple[str, ...]
    ids: tuple[int | None, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sample:
    """A sentence and its segmentation by each model."""

    text: str
    segmentations: tuple[ModelSegmentation, ...]


@dataclass(frozen=True)
class Disagreement:
    """A word that models split at different positions.

    Attributes:
        count: Number of occurrences in the texts.
        weight: Count times the number of boundaries that one model of a pair has and the other
            lacks, summed over all pairs.
    """

    word: str
    count: int
    weight: int
    segmentations: tuple[ModelSegmentation, ...]


@dataclass(frozen=True)
class Cut:
    """Segmentation of a word by one model, with the reason.

    Attributes:
        whole: Whether the word is one token other than the unknown one.
        reason: Phrase that explains the segmentation.
        elsewhere: Segmentations of the word by the same model at other sizes of a sweep, as (size
            asked for, segmentation), if they differ.
    """

    segmentation: ModelSegmentation
    whole: bool
    reason: str
    elsewhere: tuple[tuple[int, ModelSegmentation], ...] = ()


@dataclass(frozen=True)
class WordDifference:
    """A word and its segmentation by each model.

    Attributes:
        count: Number of times the texts contain it as a separate word.
    """

    word: str
    count: int
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Language:
    """Metrics of a text of one language.

    Attributes:
        figures: Values for each model, in the order of the comparison: `tokens`, `tokens_per_line`,
            `parity` (tokens over those of the reference language), `bytes_per_token`, `fertility`,
            `unk_rate`.
    """

    name: str
    lines: int
    figures: tuple[Mapping[str, MetricValue], ...]


@dataclass(frozen=True)
class Languages:
    """Metrics of texts of several languages that are parallel line by line.

    Attributes:
        reference: Name of the language that parity is relative to.
        gini: Gini coefficient of tokens per line over the languages, for each model: 0 if all
            languages have equal costs.
    """

    reference: str
    languages: tuple[Language, ...]
    gini: tuple[MetricValue, ...]


@dataclass(frozen=True)
class SweepPoint:
    """A training in a sweep over vocabulary sizes, measured on the texts.

    Attributes:
        model: Name of the trained recipe.
        asked: Vocabulary size that was asked for.
        vocab_size: Vocabulary size of the trained model.
        exhausted: Whether the vocabulary is smaller because training ran out of pairs.
        figures: Values of the metrics in `SWEPT`.
    """

    model: str
    asked: int
    vocab_size: int
    exhausted: bool
    figures: Mapping[str, MetricValue]


@dataclass(frozen=True)
class TrainedText:
    """A text that models were trained on, and its held-out part.

    Attributes:
        whole: Digest of the text including the held-out part.
        bytes: Number of bytes that the models were trained on.
        unit: Kind of the held-out units (see `tokctl.analysis.held_out.Split`); empty if nothing
            was held out.
        units: Number of units in the text.
        held_out: Numbers of the held-out units.
    """

    whole: Digest
    bytes: int
    unit: str = ""
    units: int = 0
    held_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class Training:
    """Training of the models of a comparison.

    Attributes:
        texts: Texts that the models were trained on.
        share: Share to hold out of each text; None: other texts are measured.
        seed: Seed that determined which units were held out.
        asked: Vocabulary size that was asked for.
        size: Common size of all models whose size training decides, if some could not reach the
            size asked for; None: all reached it, or no size is common to them.
    """

    texts: tuple[TrainedText, ...]
    share: float | None
    seed: int
    asked: int
    size: int | None = None


@dataclass(frozen=True)
class Digest:
    """Name, size and digest of a text or a model in a comparison.

    Attributes:
        sha256: In hexadecimal. For a text, the digest in the file of a model that was trained on it
            alone (for a plain file, the digest of its bytes); for a model, the digest of the file
            that tokctl writes.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class MadeFrom:
    """Everything that is needed to repeat a comparison.

    Attributes:
        version: Version of tokctl.
        command: Command line; empty if the comparison was made from Python.
        texts: Whole texts, including those that models were trained on for the comparison.
        models: The compared models.
        date: Date, if it was asked for; without a date, the same comparison gives the same bytes.
    """

    version: str
    command: str
    texts: tuple[Digest, ...]
    models: tuple[Digest, ...]
    date: str = ""


@dataclass(frozen=True)
class FigureDifference:
    """Difference of a metric's value from the baseline's.

    Attributes:
        amount: For counts and ratios, the value over the baseline's, less 1; for shares, the value
            less the baseline's.
        relative: Whether the amount is relative: True for counts and ratios, False for shares.
        better: Whether the value is better than the baseline's; None if both are equal.
    """

    amount: float
    relative: bool
    better: bool | None


def difference(
    metric: Metric, figure: MetricValue, baseline: MetricValue
) -> FigureDifference | Undefined:
    """Return the difference from the baseline.

    Absent if either value is Absent, or if the baseline of a count or ratio is 0.
    """
    for one in (figure, baseline):
        if isinstance(one, Undefined):
            return one
    assert not isinstance(figure, Undefined) and not isinstance(baseline, Undefined)
    better = None if figure == baseline else (figure > baseline) == metric.higher_is_better
    if metric.kind == "share":
        return FigureDifference(figure - baseline, False, better)
    if not baseline:
        return Undefined("the baseline's is 0")
    return FigureDifference(figure / baseline - 1, True, better)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results of models on the same texts.

    Attributes:
        baseline: Name of the model that NSL is relative to.
        total: Sizes of all texts together.
        texts: Sizes of each text.
        models: Reports in the order given; other lists have the same order.
        samples: Sentences as the models split them.
        disagreements: Words that the models split differently.
        overlap: Jaccard index of vocabularies, rows and columns in the order of `models`.
        agreement: F1 of the boundaries inside words, likewise.
        stories: Single words with the reason for each segmentation.
        languages: None unless languages were named.
        sweep: Results by model, then size; empty unless several sizes were asked for.
        training: None if the models were not trained for the comparison.
        provenance: Everything that is needed to repeat the comparison.
        findings: Sentences that sum up the results.
    """

    baseline: str
    total: TextSummary
    texts: tuple[TextSummary, ...]
    models: tuple[ModelReport, ...]
    samples: tuple[Sample, ...]
    disagreements: tuple[Disagreement, ...]
    overlap: tuple[tuple[MetricValue, ...], ...]
    agreement: tuple[tuple[MetricValue, ...], ...]
    stories: tuple[WordDifference, ...] = ()
    languages: Languages | None = None
    sweep: tuple[SweepPoint, ...] = ()
    training: Training | None = None
    provenance: MadeFrom | None = None
    findings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(model.name for model in self.models)
        return f"<Comparison of {names[:200]} on {len(self.texts):,} text(s)>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def against_baseline(self, model: ModelReport, metric: Metric) -> FigureDifference | Undefined:
        """Return the difference of a model's value over all texts from the baseline's."""
        own = next(report for report in self.models if report.name == self.baseline)
        return difference(metric, model.total.figures[metric.name], own.total.figures[metric.name])

    def best(self, metric: Metric) -> set[str]:
        """Return the names of the models that are best in a metric; empty if all are equal."""
        figures = {model.name: model.total.figures[metric.name] for model in self.models}
        numbers = {name: f for name, f in figures.items() if not isinstance(f, Undefined)}
        if len(set(numbers.values())) < 2:
            return set()
        best = (max if metric.higher_is_better else min)(numbers.values())
        return {name for name, number in numbers.items() if number == best}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document; see `docs/compare.md`."""
        return _document(self)


# -- JSON document; `docs/compare.md` explains each key ------------------------------------------

#: The version increases when a key changes its meaning or is removed, not when a key is added.
SCHEMA = "tokctl.compare/1"


def _document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON document; Absent values are null, with the reason beside them."""
    languages = comparison.languages
    return {
        "schema": SCHEMA,
        "baseline": comparison.baseline,
        "training": comparison.training and _training(comparison.training),
        "texts": [asdict(text) for text in comparison.texts],
        "metrics": [
            {
                "name": metric.name,
                "better": "higher" if metric.higher_is_better else "lower",
                "like": metric.like or None,
            }
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
        "languages": languages
        and languages_document(languages, [m.name for m in comparison.models]),
        "sweep": [_point(point) for point in comparison.sweep],
        "provenance": comparison.provenance and _provenance(comparison.provenance),
    }


def _provenance(provenance: MadeFrom) -> dict[str, Any]:
    found = asdict(provenance)
    return {**found, "texts": list(found["texts"]), "models": list(found["models"])}


def _training(training: Training) -> dict[str, Any]:
    texts = [
        {
            "name": text.whole.name,
            "bytes": text.bytes,
            "unit": text.unit,
            "units": text.units,
            "held_out": list(text.held_out),
        }
        for text in training.texts
    ]
    return {**asdict(training), "texts": texts}


def _interval(found: Mapping[str, Interval | Undefined], name: str) -> list[float] | None:
    one = found.get(name)
    return [one.low, one.high] if isinstance(one, Interval) else None


def _speed(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    return {
        "encode_mb_per_s": number_of(speed.encode_mb_per_s),
        "decode_mb_per_s": number_of(speed.decode_mb_per_s),
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
        "trained_on": list(model.trained_on),
        **figures_document(model.total.figures),
        "against_baseline": {
            name: None
            if isinstance(found, Undefined)
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
        "texts": [{"name": text.text, **figures_document(text.figures)} for text in model.texts],
    }


def figures_document(figures: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Return values as JSON data: `metrics`, null for Absent values, and `reasons` for these."""
    reasons = {name: f.reason for name, f in figures.items() if isinstance(f, Undefined)}
    return {
        "metrics": {name: number_of(figure) for name, figure in figures.items()},
        "reasons": reasons,
    }


def number_of(figure: MetricValue) -> float | None:
    """Return a value as a JSON number, or None if it is Absent."""
    return None if isinstance(figure, Undefined) else figure


def _cut(cut: ModelSegmentation) -> dict[str, Any]:
    return {
        "model": cut.model,
        "count": len(cut.tokens),
        "tokens": list(cut.tokens),
        "ids": list(cut.ids),
    }


def _story(story: WordDifference) -> dict[str, Any]:
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


def _matrix(rows: Sequence[Sequence[MetricValue]]) -> list[list[float | None]]:
    return [[number_of(cell) for cell in row] for row in rows]


def languages_document(found: Languages, models: Sequence[str]) -> dict[str, Any]:
    """Return the results of languages as JSON data."""
    return {
        "reference": found.reference,
        "gini": dict(zip(models, map(number_of, found.gini), strict=True)),
        "languages": [
            {
                "name": language.name,
                "lines": language.lines,
                "models": [
                    {"name": name, **figures_document(figures)}
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
        **figures_document(point.figures),
    }
