"""What a comparison finds: plain data that prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tokctl.analysis.metrics import METRICS, Absent, Counts, Figure, Metric


@dataclass(frozen=True)
class TextSummary:
    """One text, or all of them together: sizes that no model has a say in.

    What is counted more than once (`tokctl.sources.Batch`) is in all of them as often.
    """

    name: str
    documents: int
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


@dataclass(frozen=True)
class Interval:
    """Where a figure lies in 95 % of the resamples."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Of a difference: is it more than noise?"""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Speed:
    """Speeds in megabytes (10^6 bytes) of text per second.

    Attributes:
        encode_mb_per_s: of encoding to an array of ids.
        decode_mb_per_s: of decoding these; absent if characters of the slice have no id.
        bytes: how long the slice was that was measured, from the start of the texts.
        seconds: what measuring took in all.
        threads: that encoding had; decoding has one.
    """

    encode_mb_per_s: Figure
    decode_mb_per_s: Figure
    bytes: int
    seconds: float
    threads: int


@dataclass(frozen=True)
class ModelReport:
    """One model.

    Attributes:
        name: unique within the comparison.
        emittable_ids: ids that ordinary text can become: all but special tokens other
            than the unknown one.
        exhausted: its training ended before the vocabulary was full, for want of pairs.
        trained_on: names of the texts of this comparison that it was trained on before, by their
            digests: what it makes of them says little of others.
        total: over all texts together; texts: one by one, in the order given.
        intervals: of the figures over all texts, by metric; empty unless asked for.
        difference_intervals: of these less the baseline's, likewise; empty for the baseline.
        speed: None unless asked for.
    """

    name: str
    algorithm: str
    recipe: str
    vocab_size: int
    emittable_ids: int
    exhausted: bool
    total: Measured
    texts: tuple[Measured, ...]
    intervals: Mapping[str, Interval | Absent] = field(default_factory=dict)
    difference_intervals: Mapping[str, Interval | Absent] = field(default_factory=dict)
    speed: Speed | None = None
    trained_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelSegmentation:
    """A stretch of text as one model cuts it.

    Attributes:
        tokens: as the vocabulary spells them (`Ġthe`, `##ing`).
        shown: the same for people: byte-level tokens as the text that they stand for,
            a token that ends inside a character as its bytes (`\\xe2\\x80`).
        ids: of the tokens; None for a character without an id.
        spans: the bytes of the text that each token covers, as (start, end).
    """

    model: str
    tokens: tuple[str, ...]
    shown: tuple[str, ...]
    ids: tuple[int | None, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sample:
    """A sentence and what each model makes of it."""

    text: str
    segmentations: tuple[ModelSegmentation, ...]


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
    segmentations: tuple[ModelSegmentation, ...]


@dataclass(frozen=True)
class Cut:
    """What one model makes of a word, and why.

    Attributes:
        whole: the word is one token, and not the unknown one.
        reason: a phrase for people.
        elsewhere: the same model at the other sizes of a sweep, as (size asked for, cut),
            where it cuts the word otherwise.
    """

    segmentation: ModelSegmentation
    whole: bool
    reason: str
    elsewhere: tuple[tuple[int, ModelSegmentation], ...] = ()


@dataclass(frozen=True)
class WordStory:
    """What becomes of a word in each model.

    Attributes:
        count: how often the texts have it as a word of its own.
    """

    word: str
    count: int
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Language:
    """A text of one language.

    Attributes:
        figures: for each model, in the order of the comparison: `tokens`,
            `tokens_per_line`, `parity` (tokens over those of the reference language),
            `bytes_per_token`, `fertility`, `unk_rate`.
    """

    name: str
    lines: int
    figures: tuple[Mapping[str, Figure], ...]


@dataclass(frozen=True)
class Languages:
    """Texts of several languages that say the same, line by line.

    Attributes:
        reference: name of the language that parity is relative to.
        gini: of tokens per line over the languages, for each model: 0 where each language
            costs the same.
    """

    reference: str
    languages: tuple[Language, ...]
    gini: tuple[Figure, ...]


@dataclass(frozen=True)
class SweepPoint:
    """One training of a sweep over vocabulary sizes, measured on the texts.

    Attributes:
        model: the name of the recipe that was trained.
        asked: ids that were asked for; vocab_size: those it has.
        exhausted: it has fewer because the text gave no more.
        figures: of the metrics that a sweep takes.
    """

    model: str
    asked: int
    vocab_size: int
    exhausted: bool
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class TrainedText:
    """A text that models were trained on, and what of it they are measured on.

    Attributes:
        whole: the text with what is held out.
        bytes: that they were trained on.
        unit, units, held_out: how the rest was held out (`tokctl.analysis.held_out.Split`); no
            unit where nothing was.
    """

    whole: Digest
    bytes: int
    unit: str = ""
    units: int = 0
    held_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class Training:
    """How a comparison has trained its models.

    Attributes:
        texts: what they were trained on.
        share: that was to be held out of each text; None: other texts are measured.
        seed: of what was held out.
        asked: ids that were asked for.
        size: ids that all models have whose size training decides, where some could not reach
            what was asked; None: all have what was asked, or no size is common to them.
    """

    texts: tuple[TrainedText, ...]
    share: float | None
    seed: int
    asked: int
    size: int | None = None


@dataclass(frozen=True)
class Digest:
    """A text or a model that a comparison was made from.

    Attributes:
        sha256: in hexadecimal; of a text as the file of a model names it that was trained on it
            alone (of a plain file that of its bytes), of a model that of the file that tokctl
            writes.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class MadeFrom:
    """What it takes to make a comparison again.

    Attributes:
        version: of tokctl.
        command: the command line; empty if it was made from Python.
        texts: whole, those that models were trained on here among them.
        date: the day, if it was asked for; without it the same comparison gives the same bytes.
    """

    version: str
    command: str
    texts: tuple[Digest, ...]
    models: tuple[Digest, ...]
    date: str = ""


@dataclass(frozen=True)
class FigureDifference:
    """One figure against the baseline's.

    Attributes:
        amount: of counts and ratios the figure over the baseline's, less 1; of shares the
            figure less the baseline's.
        relative: which of the two it is.
        better: whether that is better; None if both are equal.
    """

    amount: float
    relative: bool
    better: bool | None


def difference(metric: Metric, figure: Figure, baseline: Figure) -> FigureDifference | Absent:
    """Absent if one of the two figures is, and where the baseline's is 0."""
    for one in (figure, baseline):
        if isinstance(one, Absent):
            return one
    assert not isinstance(figure, Absent) and not isinstance(baseline, Absent)
    better = None if figure == baseline else (figure > baseline) == metric.higher_is_better
    if metric.kind == "share":
        return FigureDifference(figure - baseline, False, better)
    if not baseline:
        return Absent("the baseline's is 0")
    return FigureDifference(figure / baseline - 1, True, better)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Models side by side on the same texts.

    Attributes:
        baseline: the name of the model that NSL is relative to.
        models: in the order given, as everywhere below.
        overlap: Jaccard index of vocabularies, row and column in the order of `models`.
        agreement: F1 of the boundaries inside words, likewise.
        stories: what becomes of words, and why.
        training: None if the models were trained before.
        provenance: what it takes to make the comparison again.
        languages: None unless languages were named.
        sweep: by model, then size; empty unless several sizes were asked for.
        findings: sentences that say what the figures say.
    """

    baseline: str
    total: TextSummary
    texts: tuple[TextSummary, ...]
    models: tuple[ModelReport, ...]
    samples: tuple[Sample, ...]
    disagreements: tuple[Disagreement, ...]
    overlap: tuple[tuple[Figure, ...], ...]
    agreement: tuple[tuple[Figure, ...], ...]
    stories: tuple[WordStory, ...] = ()
    languages: Languages | None = None
    sweep: tuple[SweepPoint, ...] = ()
    training: Training | None = None
    provenance: MadeFrom | None = None
    findings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(model.name for model in self.models)
        return f"<Comparison of {names[:200]} on {len(self.texts):,} text(s)>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def against_baseline(self, model: ModelReport, metric: Metric) -> FigureDifference | Absent:
        """A model's figure over all texts against that of the baseline."""
        own = next(report for report in self.models if report.name == self.baseline)
        return difference(metric, model.total.figures[metric.name], own.total.figures[metric.name])

    def best(self, metric: Metric) -> set[str]:
        """Names of the models that are best at a metric; empty if all are equal."""
        figures = {model.name: model.total.figures[metric.name] for model in self.models}
        numbers = {name: f for name, f in figures.items() if not isinstance(f, Absent)}
        if len(set(numbers.values())) < 2:
            return set()
        best = (max if metric.higher_is_better else min)(numbers.values())
        return {name for name, number in numbers.items() if number == best}

    def to_dict(self) -> dict[str, Any]:
        """The JSON document; see `docs/compare.md`."""
        return _document(self)


# -- As one JSON document; `docs/compare.md` says what each key means -----------------------------

#: It grows when a key changes its meaning or goes away; a new key doesn't change it.
SCHEMA = "tokctl.compare/1"


def _document(comparison: Comparison) -> dict[str, Any]:
    """Figures that are absent are null, with the reason beside them."""
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


def _interval(found: Mapping[str, Interval | Absent], name: str) -> list[float] | None:
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
        "texts": [{"name": text.text, **figures_document(text.figures)} for text in model.texts],
    }


def figures_document(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """Figures for JSON: `metrics`, null if one is absent, and `reasons` for those."""
    reasons = {name: f.reason for name, f in figures.items() if isinstance(f, Absent)}
    return {
        "metrics": {name: number_of(figure) for name, figure in figures.items()},
        "reasons": reasons,
    }


def number_of(figure: Figure) -> float | None:
    """For JSON: None if it is absent."""
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
    return [[number_of(cell) for cell in row] for row in rows]


def languages_document(found: Languages, models: Sequence[str]) -> dict[str, Any]:
    """Languages for JSON."""
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
