"""Sentences of a recommendation, each with the value that it is based on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from unicodedata import category

from tokctl import _native
from tokctl.analysis.explain.vocabulary import text_ids, written_text
from tokctl.analysis.metrics import Undefined, range_of, vocabulary_use
from tokctl.analysis.texts import count_words
from tokctl.core.humanize import percent, plural, times
from tokctl.extras.recommend.bench import CandidateBench, ChosenCandidate
from tokctl.extras.recommend.candidates import CANDIDATES
from tokctl.extras.recommend.corpus import HeldOutCorpus
from tokctl.extras.recommend.curves import LEAST_GAIN, SizeCurve, doubling_gain, gain_up_to
from tokctl.extras.recommend.results import (
    Advice,
    CandidateDifference,
    CoverageTrial,
    best_coverage,
)
from tokctl.extras.recommend.shape import ModelShape
from tokctl.model import Recipe
from tokctl.model.parts import native_parts
from tokctl.tokenizer import Tokenizer

#: Text that shows how a pre-tokenizer splits numbers.
_NUMBER = b"7654321kg"


def sentences(
    bench: CandidateBench,
    chosen: ChosenCandidate,
    curves: Mapping[str, SizeCurve],
    eligible: set[str],
    shape: ModelShape | None,
    differences: Sequence[CandidateDifference],
    coverages: Sequence[CoverageTrial],
) -> Iterator[Advice]:
    """Yield the advice on each subject."""
    yield Advice("vocabulary size", _on_size(chosen, curves[chosen.candidate.name], shape))
    if shape:
        yield Advice("embeddings", _on_embeddings(chosen.size, shape))
    algorithm = chosen.candidate.recipe.algorithm
    same_algorithm = [d for d in differences if CANDIDATES[d.name].recipe.algorithm == algorithm]
    other_algorithms = [d for d in differences if d not in same_algorithm]
    lossy = [curves[name] for name in curves if name not in eligible]
    compared = {chosen.candidate.name, *(difference.name for difference in differences)}
    ended_early = [curve for curve in curves.values() if curve.name not in compared]
    ending_notes = {
        is_same: [
            f"{curve.name} ends at {curve.points[-1].size:,} ids"
            for curve in ended_early
            if curve.name in eligible
            and (CANDIDATES[curve.name].recipe.algorithm == algorithm) is is_same
        ]
        for is_same in (True, False)
    }
    yield Advice(
        "algorithm", _on_algorithm(chosen, other_algorithms, eligible, lossy, ending_notes[False])
    )
    yield Advice("pre-tokenizer", _on_pre_tokenizer(chosen, same_algorithm, ending_notes[True]))
    characters = count_words(bench.corpus.training, "characters", bench.threads)
    unseen = count_words(bench.corpus.measured, "characters", bench.threads)
    yield Advice("numbers", _on_numbers(chosen, unseen))
    yield Advice("coverage", _on_coverage(chosen, coverages, characters, unseen))
    yield Advice("evidence", _on_evidence(bench, chosen))


def _on_size(chosen: ChosenCandidate, curve: SizeCurve, shape: ModelShape | None) -> str:
    """Return a sentence on the vocabulary size."""
    size = chosen.size
    index = next(index for index, point in enumerate(curve.points) if point.size == size)
    point = curve.points[index]
    sentences = [f"{size:,} ids"]
    if shape is None:
        onwards = doubling_gain(curve.points, index)
        gain = gain_up_to(curve, size)
        if onwards is not None and onwards < LEAST_GAIN:
            sentences.append(
                f"the knee of the curve: twice as many would save {percent(onwards)} of the "
                f"tokens, less than {LEAST_GAIN:.0%}"
            )
        elif onwards is not None:
            sentences.append(f"twice as many would save {percent(onwards)} of the tokens")
        else:
            sentences.append("the largest that was tried, and the curve has no knee up to here")
        if gain is not None:
            sentences.append(f"the doubling up to here saves {percent(gain)}")
    else:
        flops = shape.flops_per_byte(size, point.bytes_per_token)
        sentences.append(f"the least training compute, {flops:.2e} FLOPs for a byte of text")
        neighbours = (
            [other for other in curve.points if 1.4 * other.size <= size][-1:],
            [other for other in curve.points if other.size >= 1.4 * size][:1],
        )
        for neighbour in (other for group in neighbours for other in group):
            cost = shape.flops_per_byte(neighbour.size, neighbour.bytes_per_token) / flops - 1
            sentences.append(f"{neighbour.size:,} ids take {percent(cost)} more")
        if point is curve.points[-1] and curve.reach is None:
            sentences.append("no larger one was tried, and the compute still falls")
    text = "; ".join(sentences)
    step = math.gcd(size, 128)
    fits = f" It is a multiple of {step}, which suits matrix kernels." if step >= 64 else ""
    return f"{text}.{fits}"


def _on_embeddings(size: int, shape: ModelShape) -> str:
    """Return sentences on the size of the embeddings."""
    return (
        f"{_short(shape.embedding(size))} parameters at width {shape.width:,}: "
        f"{percent(shape.share(size))} of the model where input and output share them, "
        f"{percent(shape.share(size, tied=False))} where not. The width is that of a decoder with "
        f"{_short(shape.parameters)} other parameters, {plural(shape.layers, 'layer')} deep. The "
        f"scaling law of Tao et al. 2024 puts the vocabulary at {shape.by_scaling_law:,} ids."
    )


def _short(number: float) -> str:
    """Return a number of parameters in short form, such as 71.3M."""
    for scale, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= scale:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.0f}"


def _on_algorithm(
    chosen: ChosenCandidate,
    differences: Sequence[CandidateDifference],
    eligible: set[str],
    lossy: Sequence[SizeCurve],
    ending_notes: Sequence[str],
) -> str:
    """Return a sentence on the algorithm and the candidates of other algorithms."""
    per_token = chosen.counts.bytes / chosen.counts.tokens
    title = chosen.candidate.recipe.traits.title
    clauses = [f"{title}, with {per_token:.3f} bytes per token on what is held out"]
    clauses += [
        _compared_with(difference) for difference in differences if difference.name in eligible
    ]
    clauses += ending_notes
    clauses += [
        f"{lost.name} was left out: it gives back {percent(lost.round_trip)} of the lines"
        for lost in lossy
    ]
    return f"{'; '.join(clauses)}."


def _on_pre_tokenizer(
    chosen: ChosenCandidate, differences: Sequence[CandidateDifference], ending_notes: Sequence[str]
) -> str:
    """Return sentences on the pre-tokenizer and the candidates with other pre-tokenizers."""
    splitting = ", ".join(map(str, chosen.candidate.recipe.pre_tokenizers))
    joined, learned = _mixed(chosen.tokenizer)
    clauses = [splitting, *map(_compared_with, differences), *ending_notes]
    return (
        f"{'; '.join(clauses)}. {percent(joined / learned if learned else 0)} of its tokens join "
        "letters with punctuation or line ends."
    )


def _compared_with(difference: CandidateDifference) -> str:
    """Return a difference as text: `bpe/gpt2 needs 4.20% more tokens [+4.00%, +4.40%]`."""
    way = "more" if difference.more >= 0 else "fewer"
    change = f"{percent(abs(difference.more), 2)} {way} tokens"
    if difference.interval is None:
        return f"{difference.name} needs {change}"
    interval = f"[{100 * difference.interval.low:+.2f}%, {100 * difference.interval.high:+.2f}%]"
    noise = ", which is noise" if difference.is_noise else ""
    return f"{difference.name} needs {change} {interval}{noise}"


def _mixed(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the number of tokens that join letters with punctuation, and of all longer tokens.

    The first are tokens with letters and with characters that are neither letters, digits, marks
    nor spaces; the second all tokens of at least 2 characters.
    """
    mixed = learned = 0
    for id_ in text_ids(tokenizer):
        # Without the marker: the ## of a WordPiece token is not punctuation.
        text = written_text(tokenizer, id_).decode(errors="replace").strip(" ")
        if len(text) < 2 or "\ufffd" in text:
            continue
        learned += 1
        letters = sum(char.isalpha() for char in text)
        foreign = sum(
            not (char.isalnum() or char == " " or category(char)[0] == "M") for char in text
        )
        mixed += bool(letters and foreign)
    return mixed, learned


def _on_numbers(chosen: ChosenCandidate, characters: Mapping[bytes, int]) -> str:
    """Return sentences on how numbers are split."""
    digits = sum(count for char, count in characters.items() if char.decode().isdigit())
    total = sum(characters.values())
    split_number = " ".join(_pre_tokens(chosen.candidate.recipe, _NUMBER))
    return (
        f"{_NUMBER.decode()} is split into {split_number} before any token is chosen; "
        f"{percent(digits / total if total else 0, 2)} of the characters are digits. "
        "How numbers should be split is for whoever trains the model to decide."
    )


def _pre_tokens(recipe: Recipe, text: bytes) -> list[str]:
    """Return the pre-tokens of a text."""
    counter = _native.Counter(native_parts(recipe.pre_tokenizers), [], 1)
    counter.feed_documents([text])
    return [word.decode() for word, _ in counter.finish(1).items()]


def _on_coverage(
    chosen: ChosenCandidate,
    trials: Sequence[CoverageTrial],
    characters: Mapping[bytes, int],
    unseen: Mapping[bytes, int],
) -> str:
    """Return sentences on the coverage of the characters."""
    total = sum(characters.values())
    reached = accumulate(sorted(characters.values(), reverse=True))
    needed = next((n for n, count in enumerate(reached, 1) if count >= 0.9995 * total), 0)
    unseen_count = sum(count for char, count in unseen.items() if char not in characters)
    share = percent(unseen_count / max(1, sum(unseen.values())), 4)
    facts = (
        f"The training part has {plural(len(characters), 'distinct character')}, and the "
        f"{needed:,} most frequent make 99.95% of it; {share} of the held-out characters are new."
    )
    recipe = chosen.candidate.recipe
    if recipe.is_byte_level:
        return f"Byte-level: 256 ids spell every text, and no --coverage is needed. {facts}"
    # WordPiece counts a character twice: at the start of a word, and inside a word (a, ##a).
    unit = "symbols" if recipe.marker.is_continuation else "characters"
    clauses = [
        f"--coverage {trial.coverage} gives {trial.alphabet:,} {unit} an id and needs "
        f"{percent(abs(trial.more), 3)} {'more' if trial.more >= 0 else 'fewer'} tokens"
        for trial in trials[1:]
    ]
    best = best_coverage(trials)
    base = (
        f"All {trials[0].alphabet:,} {unit} get an id"
        if best == trials[0].coverage
        else f"--coverage {best}"
    )
    falls = " What has no id becomes its bytes." if recipe.byte_fallback else ""
    return f"{base}; {'; '.join(clauses)}.{falls} {facts}"


def _on_evidence(bench: CandidateBench, chosen: ChosenCandidate) -> str:
    """Return a sentence on the data behind the recommendation."""
    corpus = bench.corpus
    use = vocabulary_use(len(chosen.counts.id_counts), range_of(chosen.tokenizer.model).emittable)
    clauses = [
        f"Measured on {corpus.measured_bytes:,} bytes, trained on {corpus.training_bytes:,}",
    ]
    if not isinstance(use, Undefined):
        clauses.append(f"{percent(use)} of the ids occur in what is held out")
    if merges := chosen.tokenizer.model.merges:
        clauses.append(f"the last pair that was merged occurred {times(merges[-1].count)}")
    advice = "; more text of the same kind gains more from large vocabularies"
    return f"{'; '.join(clauses)}{advice}."


def too_short(
    curves: Mapping[str, SizeCurve], name: str, shape: ModelShape | None, corpus: HeldOutCorpus
) -> Advice:
    """Return the advice for a text that runs out before the best curve is flat."""
    best, common = curves[name], min(curve.points[-1].size for curve in curves.values())
    reason = "there is no knee" if shape is None else "the compute still falls"
    gain = gain_up_to(best, best.points[-1].size)
    saved = "" if gain is None else f", while a doubling still saves {percent(gain)} of the tokens"
    text, remedy = "text", "Give more text of the same kind"
    if corpus.sampled is not None:
        text, remedy = "sample", "Take a larger one (--sample-size)"
    return Advice(
        "vocabulary size",
        f"The {text} is too short to tell: {reason} up to {best.reach or best.points[-1].size:,} "
        f"ids, where {name} has used it up{saved}. The largest size that all candidates reach is "
        f"{common:,}. {remedy}.",
    )
