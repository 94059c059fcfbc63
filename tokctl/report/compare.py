"""Comparisons as documents: tables, notes in words and definitions of metrics, for all forms.

The HTML page takes its notes and rows from here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tokctl.analysis.comparison.measuring import RESAMPLES
from tokctl.analysis.comparison.results import (
    Comparison,
    Interval,
    MadeFrom,
    ModelReport,
    ModelSegmentation,
    SweepPoint,
    TrainedText,
    Training,
    WordDifference,
)
from tokctl.analysis.comparison.samples import align
from tokctl.analysis.metrics import (
    HEADLINE,
    METRICS,
    OTHER_WAYS,
    Definition,
    Metric,
    MetricValue,
    Undefined,
)
from tokctl.core.humanize import file_names, listed, plural, times
from tokctl.report.document import (
    Block,
    Bullets,
    Cell,
    CutReason,
    CutWords,
    ExplainedWord,
    Figure,
    Figures,
    Gap,
    Heading,
    Inline,
    Legend,
    Paragraph,
    Report,
    Segmentations,
    Span,
    facts,
)
from tokctl.report.visible import safe

_USE = "vocabulary use is of the ids that text can become: no special ones but the unknown token"
POINTS = "pp: percentage points; % otherwise: of the baseline's figure"

#: Label, and one cell per model.
Row = tuple[str, Sequence[Cell]]


def comparison_answer(comparison: Comparison) -> Report:
    """Return the document of a comparison."""
    return Report("compare", "Comparison", lambda: _blocks(comparison), data=comparison.to_dict)


def _blocks(comparison: Comparison) -> Iterator[Block]:
    for line in opening(comparison):
        yield Paragraph(safe(line))
    yield from body(comparison)


def body(comparison: Comparison) -> Iterator[Block]:
    """Yield all blocks of a comparison after its opening lines."""
    models = tuple(safe(model.name) for model in comparison.models)
    if comparison.findings:
        yield _heading("What the figures say")
        yield Bullets(tuple(map(safe, comparison.findings)))
    yield _heading("Metrics")
    size: Row = ("vocabulary size", [Figure(model.vocab_size) for model in comparison.models])
    yield figures("metric", models, [size, *metric_rows(comparison, HEADLINE)])
    yield Legend()
    yield _heading("The same in other ways")
    yield figures("metric", models, metric_rows(comparison, OTHER_WAYS))
    yield from _notes(notes(comparison))
    others, lines = difference_rows(comparison)
    if lines:
        yield _heading(f"Against {comparison.baseline}, the baseline")
        yield figures("metric", map(safe, others), lines)
        yield from _notes(difference_notes(comparison))
    if lines := interval_rows(comparison):
        yield _heading("95% intervals over lines")
        yield figures("metric", models, lines)
        yield from _notes([RESAMPLED])
    if lines := speed_rows(comparison):
        yield _heading("Speed here")
        yield figures("", models, lines)
        yield from _notes([speed_note(comparison)])
    for name in SWEEP_TABLES if comparison.sweep else ():
        yield from _sweep(comparison, metric_named(name))
    if lacking := sweep_notes(comparison):
        yield Bullets(tuple(map(safe, lacking)), style="dim")
    if comparison.languages:
        for name, title in LANGUAGE_TABLES:
            yield _heading(title.format(reference=comparison.languages.reference))
            yield figures("language", models, language_rows(comparison, name))
        yield from _notes(language_notes(comparison))
    if by_text := text_rows(comparison):
        yield _heading("Bytes per token, by text")
        yield figures("text", models, by_text)
    yield from _sentences(comparison, models)
    yield from _stories(comparison)
    if len(models) > 1:
        yield from _of_pairs(comparison, models)
    if comparison.provenance:
        yield _heading("How this was made")
        yield facts((label, safe(text)) for label, text in made_of(comparison.provenance))


def _heading(text: str) -> Heading:
    return Heading(safe(text), "bold underline")


def _notes(lines: Iterable[str]) -> Iterator[Paragraph]:
    return (Paragraph(safe(line), "dim") for line in lines)


def figures(label: str, models: Iterable[str], rows: Iterable[Row]) -> Figures:
    """Return a table with a column for each model."""
    return Figures(label, tuple(models), tuple((name, tuple(cells)) for name, cells in rows))


def _sweep(comparison: Comparison, metric: Metric) -> Iterator[Block]:
    """Yield a metric's figures by size and model, each with a bar."""
    yield _heading(f"{metric.label} {'↓↑'[metric.higher_is_better]} by vocabulary size")
    models, lines = sweep_rows(comparison, metric.name)
    yield replace(figures("ids", map(safe, models), lines), has_bars=True)


def _sentences(comparison: Comparison, models: tuple[str, ...]) -> Iterator[Block]:
    if comparison.samples:
        yield _heading("Sentences, with the number of tokens")
    for number, sample in enumerate(comparison.samples):
        if number:
            yield Gap()
        columns = tuple(map(tuple, align(sample.segmentations)))
        yield Segmentations(sample.text, models, _tokens(sample.segmentations), columns)


def _tokens(cuts: Iterable[ModelSegmentation]) -> tuple[tuple[str, ...], ...]:
    return tuple(cut.shown for cut in cuts)


def _stories(comparison: Comparison) -> Iterator[Block]:
    if not comparison.stories:
        return
    yield _heading("Words, and why they are split this way")
    for number, story in enumerate(comparison.stories):
        if number:
            yield Gap()
        cuts = tuple(
            CutReason(
                safe(cut.segmentation.model),
                cut.segmentation.shown,
                safe(cut.reason),
                [(f"with {size:,} ids", other.shown) for size, other in cut.elsewhere],
            )
            for cut in story.cuts
        )
        yield ExplainedWord(story.word, story_title(story, comparison), cuts)
    yield from _notes([COUNTED])


def _of_pairs(comparison: Comparison, models: tuple[str, ...]) -> Iterator[Block]:
    yield _heading("Words that are cut most differently")
    words = tuple(
        (word.word, word.count, _tokens(word.segmentations)) for word in comparison.disagreements
    )
    yield CutWords(models, words, ("none (words of more than 100 bytes are left out)", "None."))
    yield _heading("Vocabulary overlap (Jaccard index)")
    yield figures("", models, matrix_rows(comparison, comparison.overlap))
    yield _heading("Agreement on boundaries inside words (F1)")
    yield figures("", models, matrix_rows(comparison, comparison.agreement))


def opening(comparison: Comparison) -> list[str]:
    """Return the opening lines: vocabulary sizes that were not reached, texts and training data."""
    first = [] if comparison.training is None else _sizes(comparison, comparison.training)
    return [*first, headline(comparison), *measured_on(comparison)]


def headline(comparison: Comparison) -> str:
    """Return a line with the compared texts, their sizes and the baseline of NSL."""
    total, training = comparison.total, comparison.training
    what = _texts([text.name for text in comparison.texts])
    many = f"{plural(total.documents, 'document')}, "
    if training and any(text.held_out for text in training.texts):
        what, many = f"{what}, held-out part", ""
    elif total.documents == len(comparison.texts):
        many = ""
    return (
        f"{what}: {many}{plural(total.characters, 'character')}, {plural(total.words, 'word')}, "
        f"{plural(total.lines, 'line')}. NSL is relative to {comparison.baseline}."
    )


def _texts(names: Sequence[str]) -> str:
    return file_names(names)[0] if len(names) == 1 else f"{len(names):,} texts"


def _sizes(comparison: Comparison, training: Training) -> list[str]:
    """Return a line saying that the text is too short for the requested vocabulary size."""
    if training.size is not None:
        return [
            f"The text is too short for {training.asked:,} ids: the models are compared at "
            f"{training.size:,}, the most that all of them reach."
        ]
    sizes = {model.name: model.vocab_size for model in comparison.models}
    if not any(model.exhausted for model in comparison.models) or len(set(sizes.values())) < 2:
        return []
    found = listed([f"{name} has {size:,} ids" for name, size in sizes.items()])
    return [f"No size is reached by all models: {found}. So their tokens can't be compared."]


def measured_on(comparison: Comparison) -> list[str]:
    """Return lines that say which texts the models were trained on and measured on.

    Models loaded from files name their training texts if these are known.
    """
    training = comparison.training
    if training is None:
        known: dict[tuple[str, ...], list[str]] = {}
        for model in comparison.models:
            if model.trained_on:
                known.setdefault(model.trained_on, []).append(model.name)
        return [
            f"{listed(names)} {'was' if len(names) == 1 else 'were'} trained on "
            f"{_some(file_names(texts))}: what {'it makes' if len(names) == 1 else 'they make'} of "
            "that text says little about others."
            for texts, names in known.items()
        ]
    names = [text.whole.name for text in training.texts]
    size = sum(text.bytes for text in training.texts)
    trained = f"Trained on {plural(size, 'byte')} of {_texts(names)}"
    if training.share is None:
        return [f"{trained}; measured on another text."]
    held_out = [text for text in training.texts if text.held_out]
    rest = file_names([text.whole.name for text in training.texts if not text.held_out])
    if not held_out:
        reason = f"; too short to hold {training.share:g} of it out" if training.share else ""
        return [
            f"{trained}, and measured on the same{reason}: a text that the models don't know "
            "takes more tokens."
        ]
    rule = f"{_rule(held_out)}, seed {training.seed}"
    lines = [f"{trained}; measured on {plural(comparison.total.bytes, 'byte')} held out ({rule})."]
    if rest:
        lines.append(
            f"Too short to hold {training.share:g} out, so that it was trained on and measured "
            f"whole: {_some(rest)}."
        )
    return lines


def _rule(texts: Sequence[TrainedText]) -> str:
    """Return how much of the texts was held out, in words."""
    one = texts[0]
    if len(texts) == 1:
        unit = one.unit if one.unit == "documents" else f"blocks of {one.unit}"
        return f"{len(one.held_out):,} of {one.units:,} {unit}"
    units = list(dict.fromkeys(text.unit for text in texts))
    return f"of each text {listed(units, 'or')}"


def metric_rows(comparison: Comparison, metrics: Iterable[Metric] = METRICS) -> list[Row]:
    """Return one row per metric, with the figure of each model."""
    return [
        (
            f"{metric.label} {'↓↑'[metric.higher_is_better]}",
            [metric_figure(comparison, model, metric) for model in comparison.models],
        )
        for metric in metrics
    ]


def metric_figure(comparison: Comparison, model: ModelReport, metric: Metric) -> Figure:
    """Return a model's figure over all texts; the best of all models has this verdict."""
    verdict = "best" if model.name in comparison.best(metric) else ""
    return Figure(model.total.figures[metric.name], metric.kind, verdict)


#: Most texts with a row of their own; most texts named in a note.
MOST_TEXTS, _NAMED = 40, 8


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def text_rows(comparison: Comparison) -> list[Row]:
    """Return bytes per token for each of the first texts; no rows for a single text."""
    if len(comparison.texts) < 2:
        return []
    metric = metric_named("bytes_per_token")
    names = file_names([text.name for text in comparison.texts[:MOST_TEXTS]])
    found: list[Row] = [
        (
            safe(name),
            [
                Figure(model.texts[n].figures[metric.name], metric.kind)
                for model in comparison.models
            ],
        )
        for n, name in enumerate(names)
    ]
    if (more := len(comparison.texts) - MOST_TEXTS) > 0:
        found.append((f"{more:,} more: see --json", [""] * len(comparison.models)))
    return found


def difference_rows(comparison: Comparison) -> tuple[list[str], list[Row]]:
    """Return the names of the other models, and their differences from the baseline.

    Each headline metric has a row of differences, which say whether they are better. A single model
    gives no rows.
    """
    others = [model for model in comparison.models if model.name != comparison.baseline]
    rows: list[Row] = []
    for metric in HEADLINE:
        cells = [difference(comparison, model, metric) for model in others]
        if not all(isinstance(cell.value, Undefined) for cell in cells):
            rows.append((metric.label, cells))
    return [model.name for model in others], rows


def difference(comparison: Comparison, model: ModelReport, metric: Metric) -> Figure:
    """Return how a model differs from the baseline, and whether the difference is better."""
    found = comparison.against_baseline(model, metric)
    if isinstance(found, Undefined):
        return Figure(found)
    kind = "change" if found.relative else "points"
    if found.better is None:
        return Figure(found.amount, kind, "equal")
    interval = model.difference_intervals.get(metric.name)
    if isinstance(interval, Interval) and not interval.excludes_zero:
        return Figure(found.amount, kind, "unclear")
    return Figure(found.amount, kind, "better" if found.better else "worse")


def difference_notes(comparison: Comparison) -> list[str]:
    """Return notes that explain the words and units of the differences."""
    unclear = "unclear: the 95% interval of the difference, over lines, holds 0"
    _, found = difference_rows(comparison)
    verdicts = {cell.verdict for _, cells in found for cell in cells if isinstance(cell, Figure)}
    return [POINTS, unclear] if "unclear" in verdicts else [POINTS]


def _has_intervals(comparison: Comparison) -> bool:
    return any(model.intervals for model in comparison.models)


def interval_rows(comparison: Comparison) -> list[Row]:
    """Return the 95 % interval of each figure, for metrics with an interval in some model."""
    if not _has_intervals(comparison):
        return []
    rows: list[Row] = []
    for metric in METRICS:
        cells = [interval_words(model, metric) for model in comparison.models]
        if any(cell != "n/a" for cell in cells):
            rows.append((metric.label, cells))
    return rows


def interval_words(model: ModelReport, metric: Metric) -> str:
    """Return the interval of a figure as "LOW to HIGH", or "n/a" if it is unknown."""
    found = model.intervals.get(metric.name)
    if not isinstance(found, Interval):
        return "n/a"
    return f"{metric.written(found.low)} to {metric.written(found.high)}"


#: Note on the intervals.
RESAMPLED = (
    f"the lines of the texts resampled {RESAMPLES:,} times, the same ones for all models; "
    "vocabulary use and the efficiencies are no sums over lines"
)


def speed_rows(comparison: Comparison) -> list[Row]:
    """Return encoding and decoding speeds in MB/s; no rows if a model was not measured."""
    speeds = [model.speed for model in comparison.models]
    if None in speeds:
        return []
    known = [speed for speed in speeds if speed is not None]
    return [
        ("encoding, MB/s", [Figure(speed.encode_mb_per_s, "speed") for speed in known]),
        ("decoding, MB/s", [Figure(speed.decode_mb_per_s, "speed") for speed in known]),
    ]


def speed_note(comparison: Comparison) -> str:
    """Return a note on the text and threads of the measurement, and on its variation."""
    speed = next(model.speed for model in comparison.models if model.speed)
    return (
        f"measured just now on up to {max(m.speed.bytes for m in comparison.models if m.speed):,} "
        f"bytes of the texts, encoding with {plural(speed.threads, 'thread')}: other work on the "
        "machine changes it"
    )


def metric_named(name: str) -> Metric:
    """Return the metric called `name`."""
    return next(metric for metric in METRICS if metric.name == name)


#: Metrics that the tables of a sweep show.
SWEEP_TABLES = ("tokens", "strr")


def sweep_rows(
    comparison: Comparison, name: str
) -> tuple[list[str], list[tuple[str, list[Figure]]]]:
    """Return the models of a sweep, and for each requested size the models' figures `name`."""
    metric = metric_named(name)
    points = {(point.model, point.asked): point for point in comparison.sweep}
    models = list(dict.fromkeys(model for model, _ in points))
    sizes = sorted({size for _, size in points})
    return models, [
        (f"{size:,}", [Figure(points[model, size].figures[name], metric.kind) for model in models])
        for size in sizes
    ]


def sweep_notes(comparison: Comparison) -> list[str]:
    """Return notes on models whose training ended early, each with its smallest unreached size."""
    short: dict[str, SweepPoint] = {}
    for point in comparison.sweep:
        if point.exhausted:
            short.setdefault(point.model, point)
    return [
        f"{point.model} has {point.vocab_size:,} ids where {point.asked:,} or more were asked "
        "for: the text gave no more"
        for point in short.values()
    ]


#: Figures in the tables of languages, with the tables' titles.
LANGUAGE_TABLES = (
    ("parity", "Parity: tokens over those of {reference}"),
    ("fertility", "Fertility: tokens per word"),
    ("tokens_per_line", "Tokens per line"),
)


def language_rows(comparison: Comparison, name: str) -> list[Row]:
    """Return the figure `name` by language; under parity, a last row has the Gini coefficients."""
    found = comparison.languages
    if found is None:
        return []
    rows: list[Row] = [
        (safe(language.name), [Figure(own[name], "ratio") for own in language.figures])
        for language in found.languages
    ]
    if name == "parity":
        rows.append(("Gini of tokens per line", [Figure(gini, "ratio") for gini in found.gini]))
    return rows


def language_notes(comparison: Comparison) -> list[str]:
    """Return a note if the texts' numbers of lines show that they are not parallel."""
    found = comparison.languages
    if found is None:
        return []
    lines = {language.name: language.lines for language in found.languages}
    if len(set(lines.values())) < 2:
        return []
    least, most = min(lines, key=lambda n: lines[n]), max(lines, key=lambda n: lines[n])
    return [
        f"the texts are not parallel line by line: {least} has {lines[least]:,} lines, {most} "
        f"{lines[most]:,}; parity compares whole texts"
    ]


#: Note on how the explained words are counted.
COUNTED = "counted without punctuation; elsewhere a word is the text between spaces"


def story_title(story: WordDifference, comparison: Comparison) -> str:
    """Return how often the word occurs in the training text or, without training, in the text."""
    where = "the training text" if comparison.training else "the text"
    return f"{times(story.count)} in {where}" if story.count else f"not in {where}"


def made_of(provenance: MadeFrom) -> Iterator[tuple[str, str]]:
    """Yield the command line, the date, the version, and the digests of texts and models."""
    if provenance.command:
        yield "command", provenance.command
    if provenance.date:
        yield "date", provenance.date
    yield "tokctl", provenance.version
    for label, origins in (("texts", provenance.texts), ("models", provenance.models)):
        names = file_names([origin.name for origin in origins])
        for number, origin in enumerate(origins[:MOST_TEXTS]):
            size = plural(origin.bytes, "byte")
            said = f"{names[number]}: {size}, sha256 {origin.sha256}"
            yield "" if number else label, said
        if (more := len(origins) - MOST_TEXTS) > 0:
            yield "", f"{more:,} more: see --json"


def matrix_rows(comparison: Comparison, matrix: Sequence[Sequence[MetricValue]]) -> list[Row]:
    """Return a square of figures, with a dash on its diagonal."""
    return [
        (
            safe(model.name),
            ["\u2013" if i == j else Figure(cell, "index") for j, cell in enumerate(matrix[i])],
        )
        for i, model in enumerate(comparison.models)
    ]


def notes(comparison: Comparison) -> list[str]:
    """Return notes on absent figures, and on metrics that need explaining."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for metric in METRICS:
        reasons: dict[str, list[str]] = {}
        for model in comparison.models:
            figure = model.total.figures[metric.name]
            if isinstance(figure, Undefined):
                reasons.setdefault(figure.reason, []).append(model.name)
        for reason, models in reasons.items():
            found.setdefault((reason, tuple(models)), []).append(metric.label)
    lines = [_USE]
    for (reason, names), labels in found.items():
        every = len(names) == len(comparison.models)
        whose = "" if every else f" of {', '.join(names)}"
        lines.append(f"n/a: {', '.join(labels)}{whose}: {reason}")
    return [*lines, *_partly(comparison)]


def _partly(comparison: Comparison) -> list[str]:
    """Return notes on figures over all texts that include texts without a figure of their own."""
    first = comparison.models[0]
    lacking = {
        metric.label: names
        for metric in METRICS
        if not isinstance(first.total.figures[metric.name], Undefined)
        and (
            names := tuple(
                text.text
                for text in first.texts
                if isinstance(text.figures[metric.name], Undefined)
            )
        )
    }
    return [
        f"{', '.join(label for label in lacking if lacking[label] == names)} over all texts "
        f"hold {_some(names)}, which by themselves have none"
        for names in dict.fromkeys(lacking.values())
    ]


#: Description of each direction of a metric.
_BETTER = {"higher": "more is better", "lower": "less is better", "neither": "neither is better"}


def definitions_answer(definitions: Sequence[Definition]) -> Report:
    """Return definitions of metrics: formula, unit, better direction, source, and pitfalls."""
    return Report(
        "compare",
        "Metrics",
        lambda: _definitions(definitions),
        data=lambda: {"definitions": [entry.to_dict() for entry in definitions]},
    )


def _definitions(definitions: Sequence[Definition]) -> Iterator[Block]:
    for place, definition in enumerate(definitions):
        if place:
            yield Gap()
        title: list[Inline] = [Span(definition.name, "bold")]
        if definition.label != definition.name:
            title.append(Span(f"  {definition.label}", "dim"))
        yield Paragraph(title)
        found = [
            ("formula", definition.formula),
            ("unit", f"{definition.unit}; {_BETTER[definition.better]}"),
            ("source", definition.source or ""),
            ("misleads", definition.misleads),
        ]
        yield facts((label, text) for label, text in found if text)
