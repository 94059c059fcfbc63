"""The result of a recommendation."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokctl.analysis.comparison.results import Interval
from tokctl.extras.recommend.corpus import HeldOutCorpus
from tokctl.extras.recommend.curves import CurvePoint, SizeCurve
from tokctl.extras.recommend.shape import ModelShape


class Advice(NamedTuple):
    """A sentence or two about one subject, with the values behind them."""

    subject: str
    text: str


@dataclass(frozen=True)
class CandidateDifference:
    """Difference of a candidate from the recommended one, at the recommended size.

    Attributes:
        more: Additional tokens as a share of the recommended candidate's tokens.
        interval: 95% interval of `more` over resampled held-out lines; None: too few lines.
    """

    name: str
    more: float
    interval: Interval | None

    @property
    def is_noise(self) -> bool:
        """Return whether the difference is not significant, or has no interval."""
        return self.interval is None or not self.interval.excludes_zero


@dataclass(frozen=True)
class CoverageTrial:
    """Result of the recommended candidate with one character coverage.

    Attributes:
        coverage: Character coverage, a share as text.
        alphabet: Size of the alphabet.
        more: Additional tokens compared with a coverage of 1, as a share.
        interval: 95% interval of `more` over resampled held-out lines; None: too few lines.
    """

    coverage: str
    alphabet: int
    more: float
    interval: Interval | None


@dataclass(frozen=True)
class Recommendation:
    """Result of `recommend`.

    Attributes:
        corpus: The corpus as it was read, sampled and split.
        shape: Shape of a model with `params` parameters; None if they were not given.
        curves: Results of each candidate on the held-out text.
        size: Recommended vocabulary size; None if the text is too short for a recommendation.
        candidate: Name of the recommended candidate; None if the text is too short.
        coverage: Recommended character coverage; None for a byte-level model.
        bytes_per_token: Value of the recommended model on the held-out text.
        interval: 95% interval of `bytes_per_token`.
        differences: Differences of the other candidates at the recommended size.
        coverages: Results of the coverages that were tried.
        advice: Sentences with the values behind them.
        options: Options of `tokctl train`, without the texts; empty if nothing is recommended.
    """

    corpus: HeldOutCorpus
    shape: ModelShape | None
    curves: tuple[SizeCurve, ...]
    size: int | None = None
    candidate: str | None = None
    coverage: str | None = None
    bytes_per_token: float | None = None
    interval: Interval | None = None
    differences: tuple[CandidateDifference, ...] = ()
    coverages: tuple[CoverageTrial, ...] = ()
    advice: tuple[Advice, ...] = ()
    options: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Recommendation(size={self.size}, candidate={self.candidate!r})"

    def command(self, texts: Sequence[str], reading: Sequence[str] = ()) -> str | None:
        """Return the command line that trains the recommended tokenizer, quoted for a shell.

        None if nothing is recommended.

        Args:
            texts: Paths to train on.
            reading: Options that say how to read the texts.
        """
        if not self.options:
            return None
        # A file's name can begin like an option.
        end = ["--"] if any(len(path) > 1 and path.startswith("-") for path in texts) else []
        words = ["tokctl", "train", *self.options, *reading, *end, *texts]
        return " ".join(map(_quoted, words))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        corpus, shape = self.corpus, self.shape
        return {
            "vocab_size": self.size,
            "candidate": self.candidate,
            "coverage": self.coverage,
            "bytes_per_token": self.bytes_per_token,
            "interval": _ends(self.interval),
            "options": list(self.options),
            "advice": [item._asdict() for item in self.advice],
            "corpus": {
                "documents": corpus.documents,
                "bytes": corpus.bytes,
                "sampled_bytes": corpus.sampled,
                "training_bytes": corpus.training_bytes,
                "held_out_bytes": corpus.measured_bytes,
                "unit": corpus.unit,
            },
            "model": shape
            and {
                "parameters": shape.parameters,
                "width": shape.width,
                "layers": shape.layers,
                "vocab_size_by_scaling_law": shape.by_scaling_law,
            },
            "curves": [
                {
                    "candidate": curve.name,
                    "reach": curve.reach,
                    "round_trip": curve.round_trip,
                    "points": [self._point(curve, point) for point in curve.points],
                }
                for curve in self.curves
            ],
            "differences": [
                {"candidate": item.name, "more_tokens": item.more, "interval": _ends(item.interval)}
                for item in self.differences
            ],
            "coverages": [
                {
                    "coverage": item.coverage,
                    "alphabet": item.alphabet,
                    "more_tokens": item.more,
                    "interval": _ends(item.interval),
                }
                for item in self.coverages
            ],
        }

    def _point(self, curve: SizeCurve, point: CurvePoint) -> dict[str, Any]:
        """Return a point of a curve as JSON data, with embedding sizes if a shape is given."""
        shape = self.shape
        document: dict[str, Any] = {
            "vocab_size": point.size,
            "tokens": point.tokens,
            "bytes_per_token": point.bytes_per_token,
            "gain": curve.gain(point),
        }
        if shape:
            document |= {
                "embedding_parameters": shape.embedding(point.size),
                "embedding_share": shape.share(point.size),
                "embedding_share_untied": shape.share(point.size, tied=False),
                "flops_per_byte": shape.flops_per_byte(point.size, point.bytes_per_token),
            }
        return document


def _quoted(word: str) -> str:
    """Return a word quoted for a shell.

    If a word has unprintable characters, its bytes are escaped in the form that bash, zsh and ksh
    read.
    """
    if word.isprintable():
        return shlex.quote(word)
    spelled = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in os.fsencode(word)
    )
    return f"$'{spelled}'"


def _ends(interval: Interval | None) -> list[float] | None:
    """Return the ends of an interval as a list, or None."""
    return None if interval is None else [interval.low, interval.high]


def best_coverage(trials: Sequence[CoverageTrial]) -> str | None:
    """Return the coverage with the fewest tokens if the difference is significant; otherwise 1."""
    if not trials:
        return None
    best = min(trials, key=lambda one: one.more)
    surely = best.more < 0 and best.interval is not None and best.interval.excludes_zero
    return best.coverage if surely else trials[0].coverage
