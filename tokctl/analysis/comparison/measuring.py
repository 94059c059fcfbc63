"""Measurements of models on texts: counts, metrics, intervals, speed, sweeps over sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import median
from time import perf_counter

from tokctl import _native
from tokctl.analysis.comparison.results import (
    Interval,
    Language,
    Languages,
    Measured,
    ModelReport,
    Speed,
    SweepPoint,
    TextSummary,
)
from tokctl.analysis.metrics import (
    METRICS,
    Counts,
    MetricValue,
    Range,
    Undefined,
    boundary_f1,
    canonical_vocabulary,
    gini,
    jaccard,
    parity,
    range_of,
    tokens_per_line,
)
from tokctl.analysis.texts import Text
from tokctl.core.errors import CoreError, TokctlError
from tokctl.core.values import available_threads
from tokctl.model import Recipe
from tokctl.tokenizer import Tokenizer
from tokctl.training.resizing import prune

# -- Counts of one model on one text -------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """Counts of one model on one text.

    Attributes:
        counts: Counts that the metrics are computed from.
        native: Data too large for Python: the boundaries, the counts of each line.
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
    """Measure one model on one text, in one pass over its tokens.

    Each document is encoded whole, and counts by its weight. Each line is encoded once more by
    itself, for the round trip. Text given as bytes is one document. A character that the model
    drops is counted as an unknown token.

    Args:
        tokenizer: The model.
        text: The text, or the bytes of a document.
        threads: Number of threads; the result does not depend on it.
        words: Definition of a word, one of `tokctl.analysis.metrics.WORD_RULES`.
        boundaries: Whether to keep the token boundaries, which `agreements` needs; they take an
            eighth of the text's size.
        lines: Whether to keep the counts of each line, which `intervals` needs.
    """
    # In a model without an unknown token, tokens without an id are the unknown ones.
    unknown_id = _native.NO_ID if tokenizer.unk_id is None else tokenizer.unk_id
    text = Text("", text) if isinstance(text, bytes) else text
    encoder = tokenizer.encoder
    if tokenizer.recipe.drops_unknown:
        # Encode with an unknown token: dropped characters would otherwise look like compression.
        with_unknown = replace(tokenizer.recipe, unknown="word")
        encoder = Tokenizer(replace(tokenizer.model, recipe=with_unknown)).encoder
    native = _native.Measured.of(
        encoder,
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
    """Return the counts of one model on one text; see `measure_all` for the arguments."""
    return measure_all(tokenizer, text, threads, words=words).counts


# -- A report for each model ---------------------------------------------------------------------


def reports_of(
    models: Mapping[str, Tokenizer],
    trained_on: Mapping[str, Sequence[str]],
    texts: Sequence[Text],
    measured: Mapping[str, Sequence[Measurement]],
    baseline: str,
    threads: int,
    *,
    with_intervals: bool,
    with_speed: bool,
) -> tuple[ModelReport, ...]:
    """Return a report for each model.

    Args:
        models: Models by name.
        trained_on: Names of the texts that a model was trained on, if any.
        texts: The compared texts.
        measured: Measurements of each model, one per text; with the counts of lines for intervals.
        baseline: Name of the baseline model.
        threads: Number of threads.
        with_intervals: Whether to compute intervals.
        with_speed: Whether to measure the speed.
    """
    ranges = {name: range_of(tokenizer.model) for name, tokenizer in models.items()}
    intervals_by_model = intervals(measured, ranges, baseline, threads) if with_intervals else {}
    names = [text.name for text in texts]
    reference = [measurement.counts for measurement in measured[baseline]]
    whole_text = Counts.total(reference)
    reports = []
    for name, tokenizer in models.items():
        model, model_range = tokenizer.model, ranges[name]
        counts = [measurement.counts for measurement in measured[name]]
        own_intervals = intervals_by_model.get(name, ModelIntervals({}, {}))
        total = measured_of("", model_range, Counts.total(counts), whole_text)
        reports.append(
            ModelReport(
                name=name,
                algorithm=model.recipe.algorithm,
                recipe=model.recipe.name,
                vocab_size=tokenizer.vocab_size,
                emittable_ids=model_range.emittable,
                exhausted=model.training is not None and model.training.exhausted,
                total=total,
                texts=tuple(
                    measured_of(text, model_range, measurement, reference_counts)
                    for text, measurement, reference_counts in zip(
                        names, counts, reference, strict=True
                    )
                ),
                intervals=own_intervals.figures,
                difference_intervals=own_intervals.differences,
                speed=speed(tokenizer, texts, threads) if with_speed else None,
                trained_on=tuple(trained_on.get(name, ())),
            )
        )
    return tuple(reports)


def measured_of(text: str, model_range: Range, counts: Counts, baseline: Counts) -> Measured:
    """Return all metrics of a model on a text, from its counts and the baseline's."""
    return Measured(
        text,
        counts,
        {metric.name: metric.figure(model_range, counts, baseline) for metric in METRICS},
    )


def summary(measured: Measured, documents: int) -> TextSummary:
    """Return the sizes of a text, which are equal for all models."""
    counts = measured.counts
    return TextSummary(
        measured.text,
        documents,
        counts.bytes,
        counts.characters,
        counts.words,
        counts.lines,
    )


# -- Pairs of models -----------------------------------------------------------------------------

Matrix = tuple[tuple[MetricValue, ...], ...]


def overlaps(tokenizers: Sequence[Tokenizer]) -> Matrix:
    """Return the Jaccard index of each pair of vocabularies."""
    vocabularies = [canonical_vocabulary(tokenizer.model) for tokenizer in tokenizers]
    pairs = {
        (i, j): jaccard(vocabularies[i], vocabularies[j])
        for i, j in combinations(range(len(vocabularies)), 2)
    }
    return _symmetric_matrix(len(tokenizers), pairs)


def agreements(measured: Sequence[Sequence[Measurement]]) -> Matrix:
    """Return the F1 of the boundaries inside words over all texts, for each pair of models.

    Args:
        measured: Measurements of each model, one per text, made with `boundaries`; the texts are
            the same for all models.
    """

    def shared(first: int, second: int) -> int:
        pairs_of_texts = zip(measured[first], measured[second], strict=True)
        return sum(
            first_text.native.shared_boundaries(second_text.native)
            for first_text, second_text in pairs_of_texts
        )

    pairs: dict[tuple[int, int], MetricValue] = {}
    if len(measured) > 1:
        boundary_counts = [shared(model, model) for model in range(len(measured))]
        for i, j in combinations(range(len(measured)), 2):
            pairs[i, j] = boundary_f1(shared(i, j), boundary_counts[i], boundary_counts[j])
    return _symmetric_matrix(len(measured), pairs)


def _symmetric_matrix(size: int, pairs: dict[tuple[int, int], MetricValue]) -> Matrix:
    """Return a symmetric matrix with 1 on the diagonal."""
    return tuple(
        tuple(1.0 if i == j else pairs[min(i, j), max(i, j)] for j in range(size))
        for i in range(size)
    )


# -- Languages: the cost of each in each model ---------------------------------------------------

#: Metrics that are shown for each language.
_LANGUAGE_METRICS = ("tokens", "bytes_per_token", "fertility", "unk_rate")


def languages_of(
    names: Sequence[str], reference: str, models: Sequence[Mapping[str, Measured]]
) -> Languages:
    """Return the metrics of each language.

    Args:
        names: Names of the languages; each names a text of the comparison.
        reference: Name of the language that parity is relative to.
        models: Measurements of each model, by the name of the text.
    """
    languages = tuple(
        Language(
            name,
            models[0][name].counts.lines,
            tuple(_language_figures(model[name], model[reference]) for model in models),
        )
        for name in names
    )
    return Languages(
        reference,
        languages,
        tuple(gini([_tokens_per_line(model[name]) for name in names]) for model in models),
    )


def _language_figures(measured: Measured, reference: Measured) -> dict[str, MetricValue]:
    counts = measured.counts
    return {
        "parity": parity(counts.tokens, reference.counts.tokens),
        "tokens_per_line": _tokens_per_line(measured),
        **{name: measured.figures[name] for name in _LANGUAGE_METRICS},
    }


def _tokens_per_line(measured: Measured) -> MetricValue:
    return tokens_per_line(measured.counts.tokens, measured.counts.lines)


# -- Intervals: the variation of metrics with the choice of lines --------------------------------

# The bootstrap over lines: Efron (1979); percentile intervals as in Efron and Tibshirani (1993),
# chapter 13. The lines of all texts together are drawn with replacement, as many as there are,
# 1,000 times. Each time, every metric is computed anew, by its own formula, from the sums over the
# lines drawn. All models get the same lines each time, so that values relative to the baseline
# (NSL) and differences between models are paired: variation that affects both models cancels out.
#
# The lines drawn follow from `SEED` by the rule of `native/core/src/measure/resample.rs`: resample
# number r has the generator SplitMix64 (Steele, Lea and Flood 2014) with the number r of
# SplitMix64(`SEED`) as its seed, and draws line (n * next) >> 64 of n lines. So intervals are equal
# in every run, with any number of threads.
#
# The end of a document ends a line. The lines of a document with count n are n times in the list.

RESAMPLES = 1000
SEED = 1979
#: Ranks of the interval's ends among the sorted values, from 1: 2.5 % and 97.5 %.
LOW, HIGH = 25, 975

#: Interval of a metric that can't be resampled.
_NOT_ADDITIVE = Undefined(
    "it is no sum over lines: a resample leaves lines out, and has fewer ids whatever the noise"
)

_TOO_FEW_LINES = Undefined("the text has fewer than two lines to draw from")


@dataclass(frozen=True)
class ModelIntervals:
    """Intervals of one model by metric; an Absent one has the reason.

    Attributes:
        figures: Intervals of the values themselves.
        differences: Intervals of the differences from the baseline; empty for the baseline.
    """

    figures: Mapping[str, Interval | Undefined]
    differences: Mapping[str, Interval | Undefined]


def intervals(
    measured: Mapping[str, Sequence[Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
    threads: int,
) -> dict[str, ModelIntervals]:
    """Return the intervals of each model over all texts together.

    Args:
        measured: Measurements of each model, one per text, made with `lines`; the texts are the
            same for all models. With one text per model, the intervals are those of the text.
        ranges: Range of each model (`tokctl.analysis.metrics.range_of`).
        baseline: Name of the model that NSL and differences are relative to.
        threads: Number of threads; the result does not depend on it.
    """
    resampled = _resampled_figures(measured, ranges, baseline, threads)
    reference = resampled[baseline]
    return {
        name: ModelIntervals(
            {metric: _interval(figures) for metric, figures in figures_by_metric.items()},
            {
                metric: _interval(_differences(figures, reference[metric]))
                for metric, figures in figures_by_metric.items()
                if name != baseline
            },
        )
        for name, figures_by_metric in resampled.items()
    }


#: The value in each resample, or an Absent with the reason.
_Resampled = list[MetricValue] | Undefined


def _resampled_figures(
    measured: Mapping[str, Sequence[Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
    threads: int,
) -> dict[str, dict[str, _Resampled]]:
    """Return the values of each model and metric in each resample."""
    baseline_texts = measured[baseline]
    if sum(text.counts.lines for text in baseline_texts) < 2:
        return {name: dict.fromkeys((m.name for m in METRICS), _TOO_FEW_LINES) for name in measured}
    natives = [[text.native for text in texts] for texts in measured.values()]
    try:
        sums = _native.resample_lines(natives, RESAMPLES, SEED, threads)
    except CoreError as error:
        raise error.reworded(
            f"can't compute intervals: {error.message}",
            "leave --intervals out, or give smaller counts",
        ) from None
    rule = baseline_texts[0].counts.word_rule
    counts = {
        name: [Counts.of(row, {}, rule) for row in rows]
        for name, rows in zip(measured, sums, strict=True)
    }
    by_model: dict[str, dict[str, _Resampled]] = {}
    for name, samples in counts.items():
        model_range, sample_pairs = ranges[name], list(zip(samples, counts[baseline], strict=True))
        by_model[name] = {
            metric.name: [metric.figure(model_range, *pair) for pair in sample_pairs]
            if metric.adds_up
            else _NOT_ADDITIVE
            for metric in METRICS
        }
    return by_model


def _differences(figures: _Resampled, reference: _Resampled) -> _Resampled:
    """Return the difference of two models' values in each resample."""
    if isinstance(figures, Undefined) or isinstance(reference, Undefined):
        return figures if isinstance(figures, Undefined) else reference
    return [
        _difference(figure, baseline_figure)
        for figure, baseline_figure in zip(figures, reference, strict=True)
    ]


def _difference(figure: MetricValue, reference: MetricValue) -> MetricValue:
    """Return the difference of two values; Absent if either is Absent."""
    if isinstance(figure, Undefined):
        return figure
    return reference if isinstance(reference, Undefined) else figure - reference


def _interval(figures: _Resampled) -> Interval | Undefined:
    """Return the 95 % interval of the values, or Absent if some are Absent."""
    if isinstance(figures, Undefined):
        return figures
    defined = sorted(figure for figure in figures if not isinstance(figure, Undefined))
    if len(defined) == len(figures):
        return Interval(defined[LOW - 1], defined[HIGH - 1])
    reason = next(figure.reason for figure in figures if isinstance(figure, Undefined))
    if not defined:
        return Undefined(reason)
    missing = len(figures) - len(defined)
    return Undefined(f"in {missing:,} of {len(figures):,} resamples there is no figure: {reason}")


# -- Speed: the only metric that varies between runs ---------------------------------------------

#: Approximate seconds to measure one model; half of them for encoding.
BUDGET = 0.3
#: Bytes of the first slice, and of the largest.
_FIRST, _MOST = 1 << 14, 1 << 22
#: Number of runs for the median, and the minimum if they exceed the time budget.
_RUNS, _FEWEST = 7, 3
_MEGABYTE = 1_000_000


def speed(tokenizer: Tokenizer, texts: Sequence[Text], threads: int) -> Speed:
    """Measure the speed of one model on a slice of the texts, which ends at a line end if possible.

    The slice is as long as the time budget allows. A first run, which is not counted, fills the
    caches of words, as a long text would.
    """
    started = perf_counter()
    encoder, matchers = tokenizer.encoder, tokenizer.special_matcher("none")

    def encode(data: bytes) -> _native.IdArray:
        return encoder.array(data, threads, matchers)

    data = _leading_bytes(texts, _FIRST)
    if not data:
        undefined = Undefined("the texts are empty")
        return Speed(undefined, undefined, 0, perf_counter() - started, threads)
    first_seconds = _time_once(lambda: encode(data))
    # The first run is slow, because the caches are empty. Plan eight runs in half of the budget.
    slice_size = BUDGET / 2 / (_RUNS + 1) / first_seconds * len(data)
    data = _leading_bytes(texts, int(min(_MOST, max(_FIRST, slice_size))))
    ids = encode(data)
    encoding = _median_seconds(lambda: encode(data), BUDGET / 2)
    decoding: MetricValue = Undefined("some characters have no id, and nothing to decode")
    if not _lacks_ids(ids):
        decode = tokenizer.decoder.decode
        decoding = len(data) / _median_seconds(lambda: decode(ids, False), BUDGET / 3) / _MEGABYTE
    return Speed(
        encode_mb_per_s=len(data) / encoding / _MEGABYTE,
        decode_mb_per_s=decoding,
        bytes=len(data),
        seconds=perf_counter() - started,
        threads=threads,
    )


def _lacks_ids(ids: _native.IdArray) -> bool:
    """Return whether a character has no id."""
    with memoryview(ids) as numbers:
        return len(numbers) > 0 and max(numbers) == _native.NO_ID


def _leading_bytes(texts: Sequence[Text], size: int) -> bytes:
    """Return about `size` bytes from the start of the texts, up to a line end or a whole character.

    If a text has several documents, each begins a line, so that no token spans two.
    """
    parts: list[bytes] = []
    room = size + 1
    for text in texts:
        if room <= 0:
            break
        part = text.data if text.ends is None else _document_lines(text, room)
        parts.append(part[:room])
        room -= len(parts[-1])
    data = b"".join(parts)
    if len(data) <= size:
        return data
    if (end := data.rfind(b"\n", 0, size)) >= 0:
        return data[: end + 1]
    # A UTF-8 character has at most three bytes after its first.
    character_starts = (
        end for end in range(size, max(0, size - 4), -1) if data[end] & 0xC0 != 0x80
    )
    return data[: next(character_starts, size)]


def _document_lines(text: Text, size: int) -> bytes:
    """Return the first documents, at least `size` bytes if possible, each with a line end."""
    data = bytearray()
    for start, end in text.spans():
        data += text.data[start : min(end, start + size)]
        data += b"" if data.endswith(b"\n") else b"\n"
        if len(data) >= size:
            break
    return bytes(data)


def _median_seconds(run: Callable[[], object], budget: float) -> float:
    """Return the median seconds of a run; fewer runs are made if they exceed the budget."""
    runs: list[float] = []
    while len(runs) < _RUNS and (sum(runs) < budget or len(runs) < _FEWEST):
        runs.append(_time_once(run))
    return median(runs)


def _time_once(run: Callable[[], object]) -> float:
    """Return the seconds of one run, at least 1e-9."""
    start = perf_counter()
    run()
    # A coarse clock may not advance between two readings; the minimum avoids an infinite speed.
    return max(perf_counter() - start, 1e-9)


# -- Trainings at several vocabulary sizes -------------------------------------------------------

#: Metrics of a sweep: they need neither a baseline nor a decoder.
SWEPT = (
    "tokens",
    "bytes_per_token",
    "fertility",
    "continued_words",
    "strr",
    "unk_rate",
    "vocabulary_use",
)

#: Tokenizers by the name of the recipe and the size asked for.
Trained = dict[tuple[str, int], Tokenizer]


def train_sizes(
    recipes: Mapping[str, Recipe],
    texts: Sequence[Text],
    sizes: Sequence[int],
    *,
    threads: int | None = None,
    errors: str = "strict",
) -> Trained:
    """Train each recipe at each size.

    If a larger training only adds to a smaller one (merges, the most frequent words), the smaller
    models are cut out of the largest; they are equal to models trained one by one.

    Raises:
        TokctlError: See `Tokenizer.train`.
    """
    trained: Trained = {}
    for name, recipe in recipes.items():
        largest: Tokenizer | None = None
        for size in sorted(set(sizes), reverse=True):
            if largest is not None and (pruned := prune_to(largest, size)):
                trained[name, size] = pruned
                continue
            sources = [text.source() for text in texts]
            largest = trained[name, size] = Tokenizer.train(
                sources, vocab_size=size, recipe=recipe, threads=threads, errors=errors
            )
    return trained


def prune_to(largest: Tokenizer, size: int) -> Tokenizer | None:
    """Return a smaller model cut out of a larger one, or None if its trainings don't nest."""
    if not largest.recipe.traits.is_nested:
        return None
    # A training that ended early also ends early at each larger size.
    new_size = min(size, largest.vocab_size)
    return largest if new_size == largest.vocab_size else Tokenizer(prune(largest.model, new_size))


def at_equal_sizes(
    trained: Trained,
    texts: Sequence[Text],
    *,
    threads: int | None = None,
    errors: str = "strict",
) -> tuple[Trained, int | None]:
    """Replace sizes that not all models reach by the largest size that all of them reach.

    The sizes of word and character models are ignored, because the text limits them.

    Returns:
        The trainings, and the common size. If all models reached the size asked for, or no size is
        common to them, the trainings are unchanged and the size is None.
    """
    largest_size = max(size for _, size in trained)
    reached_sizes = [
        tokenizer.vocab_size
        for (_, size), tokenizer in trained.items()
        if size == largest_size
        and not (tokenizer.recipe.looks_up_pre_tokens or tokenizer.recipe.emits_symbols)
    ]
    common_size = min(reached_sizes, default=largest_size)
    if common_size >= largest_size:
        return trained, None
    equal: Trained = {}
    for (name, size), tokenizer in trained.items():
        key = name, min(size, common_size)
        if tokenizer.vocab_size <= common_size:
            equal[key] = tokenizer
        elif key not in equal:
            try:
                equal[key] = prune_to(tokenizer, common_size) or Tokenizer.train(
                    [text.source() for text in texts],
                    vocab_size=common_size,
                    recipe=tokenizer.recipe,
                    threads=threads,
                    errors=errors,
                )
            except TokctlError:
                return trained, None  # the alphabet alone is larger
    return equal, common_size


def sweep_points(
    trained: Trained,
    texts: Sequence[Text],
    threads: int | None = None,
    *,
    word_rule: str = "spaces",
    known: Mapping[Tokenizer, Counts] | None = None,
) -> tuple[SweepPoint, ...]:
    """Return the metrics of each training over all texts together, by model, then by size.

    Args:
        trained: Models by recipe and size.
        texts: Texts to measure on.
        threads: Number of threads; None: one per available processor.
        word_rule: Definition of a word, one of `tokctl.analysis.metrics.WORD_RULES`.
        known: Counts over all texts that were measured before, by the same rule.
    """
    threads = threads or available_threads()
    # A training that ended early gives the same tokenizer at several sizes.
    counts = dict(known or {})
    for tokenizer in trained.values():
        if tokenizer not in counts:
            measured = (measure(tokenizer, text, threads, word_rule) for text in texts)
            counts[tokenizer] = Counts.total(measured)
    names = list(dict.fromkeys(name for name, _ in trained))
    order = sorted(trained, key=lambda key: (names.index(key[0]), key[1]))
    return tuple(
        _point(name, size, trained[name, size], counts[trained[name, size]]) for name, size in order
    )


def _point(name: str, size: int, tokenizer: Tokenizer, counts: Counts) -> SweepPoint:
    model_range = range_of(tokenizer.model)
    figures = {
        metric.name: metric.figure(model_range, counts, counts)
        for metric in METRICS
        if metric.name in SWEPT
    }
    return SweepPoint(name, size, tokenizer.vocab_size, tokenizer.vocab_size < size, figures)
