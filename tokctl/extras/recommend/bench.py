"""Training of candidates, and their results on the held-out text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokctl.analysis.comparison.measuring import Measurement, measure_all, prune_to
from tokctl.analysis.metrics import Counts
from tokctl.core.errors import CoreError, OutOfMemoryError, TokctlError
from tokctl.extras.recommend.candidates import TokenizerCandidate
from tokctl.extras.recommend.corpus import HeldOutCorpus
from tokctl.extras.recommend.curves import CurvePoint, SizeCurve
from tokctl.model import Recipe
from tokctl.tokenizer import Tokenizer
from tokctl.training.options import Number


class CandidateBench:
    """Trains candidates, and measures them on the held-out text."""

    def __init__(self, corpus: HeldOutCorpus, threads: int, tell: Callable[[], None]) -> None:
        self.corpus = corpus
        self.threads = threads
        self.tell = tell
        self.failed: TokctlError | None = None
        self.text: Counts | None = None
        self._made: dict[str, list[Tokenizer]] = {}
        self._lines: dict[str, float] = {}

    def train(self, recipe: Recipe, size: int, coverage: Number | None = None) -> Tokenizer:
        """Train a recipe on the training part."""
        sources = [text.source() for text in self.corpus.training]
        return Tokenizer.train(
            sources, vocab_size=size, recipe=recipe, threads=self.threads, coverage=coverage
        )

    def model(self, candidate: TokenizerCandidate, size: int) -> Tokenizer | None:
        """Return the candidate at a size, or None if the size is too small for its alphabet.

        If a recipe's trainings nest, smaller models are cut out of the largest one.
        """
        models = self._made.get(candidate.name, [])
        larger = [one for one in models if size <= one.vocab_size or _ran_out(one)]
        try:
            if larger and (pruned := prune_to(larger[-1], size)):
                # Keep this model, too: cutting the next size out of a smaller model is faster.
                self._made[candidate.name] = [models[0], pruned]
                return pruned
            trained = self.train(candidate.recipe, size)
        except (CoreError, OutOfMemoryError):
            raise
        except TokctlError as error:  # the alphabet is larger than the size
            self.failed = self.failed or error
            return None
        if candidate.recipe.traits.is_nested:
            self._made[candidate.name] = [trained]
        return trained

    def measure(self, tokenizer: Tokenizer, *, lines: bool = False) -> list[Measurement]:
        """Measure a model on each held-out text."""
        texts = self.corpus.measured
        return [measure_all(tokenizer, text, self.threads, lines=lines) for text in texts]

    def point(self, candidate: TokenizerCandidate, size: int) -> CurvePoint | None:
        """Return the candidate's result at a size, or None if there is no model or no token."""
        tokenizer = self.model(candidate, size)
        self.tell()
        if tokenizer is None:
            return None
        counts = Counts.total(part.counts for part in self.measure(tokenizer))
        if not counts.tokens:
            return None
        self.text = counts
        self._lines[candidate.name] = counts.exact_lines / counts.lines if counts.lines else 1.0
        return CurvePoint(tokenizer.vocab_size, counts.tokens, counts.bytes / counts.tokens)

    def curve(self, candidate: TokenizerCandidate, sizes: Sequence[int]) -> SizeCurve:
        """Return the candidate's results at these sizes, as far as the text suffices.

        If it does not, the last point is at the largest multiple of 128 that the candidate reaches,
        unless the alphabet is larger.
        """
        points: dict[int, CurvePoint] = {}
        reach: int | None = None
        for size in sorted(sizes, reverse=True):
            if (point := self.point(candidate, size)) is None:
                continue
            if point.size < size:
                reach = point.size
                last_size = 128 * (reach // 128) or reach
                point = points.get(last_size) or self.point(candidate, last_size) or point
            if point:
                points[point.size] = point
        ordered = tuple(points[size] for size in sorted(points))
        return SizeCurve(candidate.name, ordered, reach, self._lines.get(candidate.name, 1.0))


class ChosenCandidate(NamedTuple):
    """The recommended candidate with its model and counts, for the sentences."""

    candidate: TokenizerCandidate
    size: int
    tokenizer: Tokenizer
    counts: Counts


def _ran_out(tokenizer: Tokenizer) -> bool:
    """Return whether training ended before the vocabulary was full."""
    record = tokenizer.model.training
    return bool(record and record.exhausted)
