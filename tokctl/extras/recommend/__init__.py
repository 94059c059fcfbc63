"""Recommendation of a tokenizer for a corpus: vocabulary size, algorithm, pre-tokenizer, coverage.

A part of the corpus is held out. Candidates are trained on the rest at sizes that double; the
tokens that a candidate needs for the held-out part at each size make its curve. The size is the
knee of the best curve or, for a model of `params` parameters, the size with the least training
compute per byte of text. `docs/recommend.md` has the rules; every sentence of the advice states the
value that it is based on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tokctl.analysis.comparison.measuring import Measurement, intervals
from tokctl.analysis.comparison.results import Interval
from tokctl.analysis.held_out import SHARE
from tokctl.analysis.metrics import Counts, Undefined, no_words, range_of
from tokctl.core.errors import BadInput, BadOption
from tokctl.extras.recommend.advice import sentences, too_short
from tokctl.extras.recommend.bench import CandidateBench, ChosenCandidate
from tokctl.extras.recommend.candidates import (
    CANDIDATES,
    COVERAGES,
    QUARTERS,
    SIZES,
    candidates_of,
    sizes_of,
)
from tokctl.extras.recommend.corpus import SAMPLE_SIZE, read_corpus
from tokctl.extras.recommend.curves import (
    CurvePoint,
    SizeCurve,
    choose,
    ends_early,
    merged_curve,
    refined,
)
from tokctl.extras.recommend.results import (
    CandidateDifference,
    CoverageTrial,
    Recommendation,
    best_coverage,
)
from tokctl.extras.recommend.shape import ModelShape
from tokctl.sources import Source, check_errors, opened
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.tokenizer import chosen_threads
from tokctl.training.counting import Progress


def recommend(
    texts: str | Path | Source | Sequence[str | Path | Source],
    *,
    params: int | None = None,
    candidates: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    held_out: float | str | Path | Sequence[Source] = SHARE,
    seed: int = 0,
    sample_size: int = SAMPLE_SIZE,
    threads: int | None = None,
    errors: str = "strict",
    progress: Progress | None = None,
) -> Recommendation:
    """Recommend a tokenizer for texts, from compression curves on a held-out part.

    Args:
        texts: Paths (`-` is stdin), or sources of `tokctl.sources`; together, they are one corpus.
        params: Number of parameters of the language model, without embeddings; None: the
            recommended size is the knee of the curve.
        candidates: Algorithms (`bpe`) or names of `CANDIDATES` (`bpe/o200k`) to try.
        sizes: Sizes to try; by default powers of two from 1,024 to 131,072, and then some around
            the best.
        held_out: Share of the texts to measure on, or another text to measure on.
        seed: Random seed for the sample and the held-out part.
        sample_size: Maximum number of bytes to use; longer texts are sampled.
        threads: Number of threads; None: one per processor that this process may use. No result
            depends on it.
        errors: `strict` or `replace`, for text that is not UTF-8.
        progress: Called with (phase, done, total): `count` in bytes, `sweep` in models.

    Raises:
        TokctlError: There is no text, or too little to hold a part out; a candidate is unknown; a
            text is unreadable or not UTF-8 (the message names file, line and byte).

    Example:
        found = recommend(["corpus/"], params=125_000_000)
        found.size, found.candidate
        found.command(["corpus/"])
    """
    check_errors(errors)
    tried, grid = candidates_of(candidates, spaceless=False), sizes_of(sizes)
    shape = None if params is None else ModelShape.of(params)
    threads = chosen_threads(threads)
    if type(sample_size) is not int or sample_size < 1:
        raise BadOption(
            f"invalid value {sample_size!r} for sample_size",
            "give a number of bytes of at least 1",
            "bad-value",
        )
    held_out_sources = list(opened(held_out)) if isinstance(held_out, (str, Path)) else held_out
    corpus = read_corpus(
        opened(texts),
        held_out=held_out_sources,
        seed=seed,
        sample_size=sample_size,
        errors=errors,
        progress=progress,
    )
    finished, planned = 0, len(tried) * len(grid) + 2 * len(QUARTERS) + len(COVERAGES)

    def tell() -> None:
        nonlocal finished
        finished += 1
        if progress:
            progress("sweep", finished, max(finished, planned))

    bench = CandidateBench(corpus, threads, tell)
    curves = _measure_curves(bench, candidates, grid)
    # A candidate that loses text is eligible only if no lossless one was tried.
    eligible = {name for name, curve in curves.items() if curve.round_trip == 1} or set(curves)
    name, size = choose([curves[name] for name in eligible], shape)
    if sizes is None:
        nearby = [64 * (size * part >> 11 - octave) for octave in (0, 1) for part in QUARTERS]
        fine = [near for near in (*nearby, 2 * size) if SIZES[0] <= near <= SIZES[-1]]
        curves[name] = merged_curve(curves[name], bench.curve(CANDIDATES[name], fine))
        size = refined(curves[name], size, shape)
    if ends_early(curves[name], size, shape):
        advice = (too_short(curves, name, shape, corpus),)
        return Recommendation(corpus, shape, tuple(curves.values()), advice=advice)
    return _compared(bench, curves, eligible, name, size, shape)


def _measure_curves(
    bench: CandidateBench, names: Sequence[str] | None, sizes: Sequence[int]
) -> dict[str, SizeCurve]:
    """Return the curve of each candidate that has a result at one of the sizes.

    Raises:
        TokctlError: There is no such candidate.
    """
    curves = {one.name: bench.curve(one, sizes) for one in candidates_of(names, spaceless=False)}
    if bench.text and no_words(bench.text):
        curves = {
            one.name: curves.get(one.name) or bench.curve(one, sizes)
            for one in candidates_of(names, spaceless=True)
        }
    if measured := {name: curve for name, curve in curves.items() if curve.points}:
        return measured
    raise bench.failed or BadInput("the text has no words", "name another text")


def _compared(
    bench: CandidateBench,
    curves: dict[str, SizeCurve],
    eligible: set[str],
    name: str,
    size: int,
    shape: ModelShape | None,
) -> Recommendation:
    """Compare all candidates at the chosen size and build the recommendation.

    The candidate with the fewest tokens is recommended, or the first of those that differ from it
    by no more than noise.
    """
    models = {candidate: bench.model(CANDIDATES[candidate], size) for candidate in curves}
    fitting = {
        candidate: model
        for candidate, model in models.items()
        if model is not None and (model.vocab_size == size or candidate == name)
    }
    measured = {candidate: bench.measure(model, lines=True) for candidate, model in fitting.items()}
    counts = {
        candidate: Counts.total(text.counts for text in texts)
        for candidate, texts in measured.items()
    }
    fit = [candidate for candidate in fitting if candidate in eligible]
    best = min(fit, key=lambda candidate: counts[candidate].tokens)
    more_tokens = _token_difference(bench, fitting, measured, best)
    name = next(
        candidate for candidate in fit if candidate == best or more_tokens[candidate].is_noise
    )
    if name != best:
        more_tokens = _token_difference(bench, fitting, measured, name)
    for candidate, own in counts.items():
        point = CurvePoint(size, own.tokens, own.bytes / own.tokens)
        curve = curves[candidate]
        curves[candidate] = merged_curve(curve, replace(curve, points=(point,)))
    chosen = ChosenCandidate(CANDIDATES[name], size, fitting[name], counts[name])
    differences = tuple(one for one in more_tokens.values() if one.name != name)
    coverages = _coverages(bench, chosen, measured[name])
    coverage = best_coverage(coverages)
    ranges = {name: range_of(fitting[name].model)}
    own_intervals = intervals({name: measured[name]}, ranges, name, bench.threads)
    interval = own_intervals[name].figures["bytes_per_token"]
    options = (*chosen.candidate.options, "--vocab", str(size))
    if coverage not in (None, "1"):
        options += ("--coverage", str(coverage))
    return Recommendation(
        corpus=bench.corpus,
        shape=shape,
        curves=tuple(curves.values()),
        size=size,
        candidate=name,
        coverage=coverage,
        bytes_per_token=chosen.counts.bytes / chosen.counts.tokens,
        interval=None if isinstance(interval, Undefined) else interval,
        differences=differences,
        coverages=coverages,
        advice=tuple(sentences(bench, chosen, curves, eligible, shape, differences, coverages)),
        options=options,
    )


def _token_difference(
    bench: CandidateBench,
    models: Mapping[str, Tokenizer],
    measured: Mapping[str, Sequence[Measurement]],
    baseline: str,
) -> dict[str, CandidateDifference]:
    """Return how many more tokens than the baseline each model needs: NSL less 1.

    The bootstrap over lines is that of `compare`: all models get the same lines.
    """
    ranges = {name: range_of(model.model) for name, model in models.items()}
    model_intervals = intervals(measured, ranges, baseline, bench.threads)
    tokens = {
        name: Counts.total(part.counts for part in texts).tokens for name, texts in measured.items()
    }
    differences = {}
    for name in models:
        interval = model_intervals[name].figures["nsl"]
        if isinstance(interval, Interval):
            interval = Interval(interval.low - 1, interval.high - 1)
        differences[name] = CandidateDifference(
            name,
            tokens[name] / tokens[baseline] - 1,
            None if isinstance(interval, Undefined) else interval,
        )
    return differences


def _coverages(
    bench: CandidateBench, chosen: ChosenCandidate, measurements: Sequence[Measurement]
) -> tuple[CoverageTrial, ...]:
    """Return the recommended candidate's results at each coverage; empty for a byte-level model."""
    recipe = chosen.candidate.recipe
    if recipe.is_byte_level:
        return ()
    models, measured = {}, {}
    for coverage in COVERAGES:
        model = chosen.tokenizer
        if coverage != COVERAGES[0]:
            model = bench.train(recipe, chosen.size, coverage)
        models[coverage] = model
        measured[coverage] = (
            measurements if coverage == COVERAGES[0] else bench.measure(model, lines=True)
        )
        bench.tell()
    differences = _token_difference(bench, models, measured, COVERAGES[0])
    return tuple(
        CoverageTrial(
            coverage,
            _alphabet(models[coverage]),
            differences[coverage].more,
            differences[coverage].interval,
        )
        for coverage in COVERAGES
    )


def _alphabet(tokenizer: Tokenizer) -> int:
    """Return the size of the model's alphabet."""
    record = tokenizer.model.training
    return record.alphabet_size if record else 0
