"""Recommendation of a tokenizer for a corpus: vocabulary size, algorithm, pre-tokenizer, coverage.

A part of the corpus is held out. Candidates are trained on the rest at sizes that double; the
tokens that a candidate needs for the held-out part at each size make its curve. The size is the
knee of the best curve or, for a model of `params` parameters, the size with the least training
compute per byte of text. `docs/recommend.md` has the rules; every sentence of the advice states the
value that it is based on.
"""

from __future__ import annotations

import heapq
import math
import os
import shlex
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category

from tokctl import _native
from tokctl.analysis.comparison.measuring import Measurement, intervals, measure_all, prune_to
from tokctl.analysis.comparison.results import Interval
from tokctl.analysis.explain.vocabulary import text_ids, written_text
from tokctl.analysis.held_out import SHARE, split
from tokctl.analysis.metrics import Counts, Undefined, no_words, range_of, vocabulary_use
from tokctl.analysis.texts import Text, count_words
from tokctl.core.errors import BadInput, BadOption, CoreError, OutOfMemoryError, TokctlError
from tokctl.core.humanize import listed, percent, plural, times
from tokctl.core.values import available_threads
from tokctl.model import Recipe
from tokctl.model.parts import DECODERS, PRE_TOKENIZERS, native_parts
from tokctl.model.presets import default_recipe
from tokctl.sources import Document, Source, check_errors, check_utf8, checked_batch, flat, opened
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.tokenizer import check_threads
from tokctl.training.counting import Progress
from tokctl.training.options import Number

# -- Candidates and sizes --------------------------------------------------------------------------

#: Sizes at which every candidate is trained, each twice the previous one.
SIZES = tuple(1024 << octave for octave in range(8))
#: Sizes between two doublings, in sixteenths: about a quarter of an octave apart. All sizes from
#: 8,192 up are multiples of 512.
QUARTERS = (16, 19, 23, 27)
#: At the knee, twice as many ids save less than this share of the tokens.
LEAST_GAIN = 0.05
#: A curve that ran out of text is flat if a doubling saves less than this share.
FLAT = 0.01
#: Maximum bytes of a corpus that are kept in memory; a longer corpus is sampled.
SAMPLE_SIZE = 20 << 20
#: Character coverages to try for a model that reads characters.
COVERAGES = ("1", "0.9999", "0.9995")


class TokenizerCandidate(NamedTuple):
    """A tokenizer that can be recommended.

    Attributes:
        name: The algorithm, and what distinguishes the candidate from others of this algorithm.
        recipe: The recipe to train.
        options: Options of `tokctl train` that describe the recipe.
        crosses: Whether tokens can join a word with the punctuation and the line end after it,
            which compresses better and makes tokens like `sea.` beside `sea`. Such a candidate is
            tried only if a text has no spaces between words, or if it is named.
    """

    name: str
    recipe: Recipe
    options: tuple[str, ...]
    crosses: bool = False


def _of_bytes(pattern: str) -> TokenizerCandidate:
    """Return the byte-level BPE candidate with this pre-tokenizer."""
    recipe = default_recipe("bpe")
    steps = PRE_TOKENIZERS.steps(pattern)
    if steps != recipe.pre_tokenizers:
        recipe = replace(recipe, name="custom", pre_tokenizers=steps)
    return TokenizerCandidate(f"bpe/{pattern}", recipe, ("--algo", "bpe", "--pretokenize", pattern))


def _of_characters(
    recipe: Recipe, name: str, pre_tokenizer: str, *options: str
) -> TokenizerCandidate:
    """Return a lossless candidate: without normalizers, and with bytes for unknown characters."""
    spaces = ["metaspace:never"] if pre_tokenizer.startswith("metaspace") else []
    lossless = replace(
        recipe,
        name="custom",
        normalizers=(),
        pre_tokenizers=PRE_TOKENIZERS.steps(pre_tokenizer),
        byte_fallback=True,
        decoders=DECODERS.steps([*spaces, "byte-fallback"]),
    )
    written = ("--algo", recipe.algorithm, *options, "--pretokenize", pre_tokenizer)
    return TokenizerCandidate(
        f"{recipe.algorithm}/{name}", lossless, (*written, "--byte-fallback"), bool(spaces)
    )


_UNIGRAM = default_recipe("unigram")
_UNIGRAM_OPTIONS = ("--normalize", "none")
_BPE_CHARACTERS = replace(default_recipe("bpe", characters=True), tie_break="lowest-id")

#: In order of preference: if candidates differ by no more than noise, the first is recommended.
CANDIDATES = {
    one.name: one
    for one in (
        *map(_of_bytes, ("gpt2", "cl100k", "o200k", "qwen2")),
        _of_characters(
            *(_BPE_CHARACTERS, "metaspace", "metaspace:never"),
            *("--chars", "--tie-break", "lowest-id"),
        ),
        _of_characters(_UNIGRAM, "cl100k", "cl100k", *_UNIGRAM_OPTIONS),
        _of_characters(_UNIGRAM, "o200k", "o200k", *_UNIGRAM_OPTIONS),
        _of_characters(_UNIGRAM, "metaspace", "metaspace:never", *_UNIGRAM_OPTIONS),
        TokenizerCandidate(
            "wordpiece/count",
            replace(
                default_recipe("wordpiece"),
                name="custom",
                score="count",
                alphabet="characters",
                tie_break="lowest-id",
            ),
            ("--algo", "wordpiece", "--score", "count"),
        ),
    )
}


def candidates_of(names: Sequence[str] | None, *, spaceless: bool) -> list[TokenizerCandidate]:
    """Return the candidates with these names or algorithms; None: all.

    Args:
        names: Names of candidates or of algorithms; None: all algorithms.
        spaceless: Whether the text has no spaces between words. Otherwise a candidate whose tokens
            cross the ends of words must be named itself.

    Raises:
        TokctlError: A name is unknown.
    """
    by_algorithm: dict[str, list[str]] = {}
    for name, candidate in CANDIDATES.items():
        of_it = by_algorithm.setdefault(candidate.recipe.algorithm, [])
        if spaceless or not candidate.crosses:
            of_it.append(name)
    algorithms: set[str] = set()
    for name in by_algorithm if names is None else names:
        if name not in CANDIDATES and name not in by_algorithm:
            raise BadOption(
                f"no candidate is called {name!r}",
                f"choose {', '.join(by_algorithm)}; or one of {', '.join(CANDIDATES)}; "
                "tokctl compare --algo trains and measures every algorithm",
                "unknown-name",
            )
        algorithms.update(by_algorithm.get(name, [name]))
    if not algorithms:
        raise BadOption("no candidate is named", "name one, or leave it to all", "missing-option")
    return [candidate for name, candidate in CANDIDATES.items() if name in algorithms]


def sizes_of(sizes: Sequence[int] | None) -> tuple[int, ...]:
    """Return the sizes to try, ascending; raise TokctlError if one is not a vocabulary size."""
    grid = SIZES if sizes is None else tuple(sorted(set(sizes)))
    for size in grid:
        if type(size) is not int or not 0 < size < 2**32:
            raise BadOption(
                f"invalid value {size!r} for sizes",
                "give numbers of ids of at least 1",
                "bad-value",
            )
    if not grid:
        raise BadOption("no size is named", "name one, or leave it to all", "missing-option")
    return grid


# -- The model that the tokenizer is for -----------------------------------------------------------

#: Width over depth: the Llama models of 7 and 13 billion parameters and GPT-3 have 128. Losses
#: differ little from 50 to 200 (Kaplan et al. 2020, arXiv 2001.08361, figure 5).
ASPECT = 128
#: Fit of Tao et al. 2024 (arXiv 2407.13623), second approach: the vocabulary parameters at 33
#: million other parameters, and the exponent.
TAO_VOCABULARY, TAO_OTHERS, TAO_EXPONENT = 3_145_728, 33_000_000, 0.8354


@dataclass(frozen=True)
class ModelShape:
    """A decoder-only Transformer, given the number of its parameters without embeddings.

    N = 12 · layers · width² (Kaplan et al. 2020), with width = 128 · layers.

    Attributes:
        parameters: N, without embeddings.
        width: Width of the residual stream, a multiple of 64.
        layers: Number of layers, so that 12 · layers · width² is about N.
    """

    parameters: int
    width: int
    layers: int

    @classmethod
    def of(cls, parameters: int) -> ModelShape:
        """Return the shape for N parameters; raise TokctlError if N is out of range."""
        if type(parameters) is not int or not 1000 <= parameters <= 10**15:
            raise BadOption(
                f"invalid value {parameters!r} for parameters",
                "give a number from a thousand (1K) to a thousand billion and more: 125M, 7B"
                if isinstance(parameters, int)
                else "give a whole number: 1_000_000_000",
                "bad-value",
            )
        width = max(64, 64 * round((ASPECT * parameters / 12) ** (1 / 3) / 64))
        return cls(parameters, width, max(1, round(parameters / (12 * width**2))))

    def embedding(self, vocabulary: int) -> int:
        """Return the number of parameters of one embedding matrix: vocabulary · width."""
        return vocabulary * self.width

    def share(self, vocabulary: int, *, tied: bool = True) -> float:
        """Return the embeddings' share of all parameters; untied embeddings are two matrices."""
        parameters = self.embedding(vocabulary) * (1 if tied else 2)
        return parameters / (self.parameters + parameters)

    def flops_per_byte(self, vocabulary: int, bytes_per_token: float) -> float:
        """Return the training compute in FLOPs per byte of text.

        6 · (N + vocabulary · width) / bytes per token.

        The output layer multiplies by its matrix; the input embedding is a look-up. Attention over
        the context is left out, because its cost per token does not depend on the vocabulary.
        """
        return 6 * (self.parameters + self.embedding(vocabulary)) / bytes_per_token

    @property
    def by_scaling_law(self) -> int:
        """Return the vocabulary size that Tao et al. 2024 predict at this width."""
        law: float = TAO_VOCABULARY * (self.parameters / TAO_OTHERS) ** TAO_EXPONENT
        return round(law / self.width)


# -- The corpus, or a sample of it -----------------------------------------------------------------

#: Approximate bytes of a piece of the sample, which ends at a line end.
_PIECE = 1 << 16
#: With at least this many documents, whole documents are held out, not blocks of each.
_MANY = 20


@dataclass(frozen=True)
class HeldOutCorpus:
    """A corpus, or a sample of it, in a training part and a held-out part.

    Attributes:
        documents: Number of documents that were read.
        bytes: Number of bytes that were read.
        sampled: Bytes of the sample; None: the whole corpus is used.
        training: Texts to train candidates on.
        measured: Texts to measure candidates on.
        unit: Unit of the held-out part: `documents`, `paragraphs`, `lines`, or `pieces` (of a
            sample, or of text without lines); empty if another text is measured.
    """

    documents: int
    bytes: int
    sampled: int | None
    training: tuple[Text, ...]
    measured: tuple[Text, ...]
    unit: str

    @property
    def training_bytes(self) -> int:
        """Return the size of the training part in bytes."""
        return sum(text.size for text in self.training)

    @property
    def measured_bytes(self) -> int:
        """Return the size of the held-out part in bytes."""
        return sum(text.size for text in self.measured)


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a document in pieces, cut at line ends if possible, whatever its blocks are."""
    remainder = b""
    for block in blocks:
        remainder += block
        start = 0
        while len(remainder) - start > 2 * _PIECE:
            end = remainder.find(b"\n", start + _PIECE, start + 2 * _PIECE) + 1
            if not end:
                end = start + 2 * _PIECE
                # A UTF-8 character has at most three bytes after its first.
                end -= next(
                    (overlap for overlap in range(4) if remainder[end - overlap] & 0xC0 != 0x80), 0
                )
            yield remainder[start:end]
            start = end
        remainder = remainder[start:]
    if remainder:
        yield remainder


class _Sampler:
    """Keeps pieces up to a total size: those whose numbers have the smallest hashes.

    Each piece of the corpus is equally likely to be kept.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.room = size
        self.seed = seed
        self.kept: list[tuple[int, int, int, bytes, int]] = []
        self.most = 1 << 64
        self.pieces = 0

    def add(self, document: int, piece: bytes, count: int) -> None:
        """Add a piece of a document; drop the largest hashes if the total size is exceeded."""
        number, self.pieces = self.pieces, self.pieces + 1
        key = int.from_bytes(sha256(f"{self.seed}:{number}".encode()).digest()[:8], "big")
        if key >= self.most:
            return
        heapq.heappush(self.kept, (-key, number, document, piece, count))
        self.room -= len(piece)
        while self.room < 0:
            dropped = heapq.heappop(self.kept)
            self.most = -dropped[0]
            self.room += len(dropped[3])

    def documents(self) -> list[tuple[bytes, int]]:
        """Return the kept documents in order, with their counts; pieces if some were dropped."""
        sampled = sorted(self.kept, key=lambda entry: entry[1])
        if self.is_all:
            pieces_by_document: dict[int, list[bytes]] = {}
            counts: dict[int, int] = {}
            for _, _, document, piece, count in sampled:
                pieces_by_document.setdefault(document, []).append(piece)
                counts[document] = count
            return [
                (b"".join(parts), counts[document])
                for document, parts in pieces_by_document.items()
            ]
        return [(piece, count) for _, _, _, piece, count in sampled]

    @property
    def is_all(self) -> bool:
        """Return whether no piece was dropped."""
        return self.most == 1 << 64


def _read(
    sources: Sequence[Source], size: int, seed: int, errors: str, progress: Progress | None
) -> tuple[_Sampler, int, int]:
    """Return a sample of the sources, and their numbers of documents and bytes."""
    sampler, documents, read = _Sampler(size, seed), 0, 0
    for source in flat(sources):
        if isinstance(source, Document):
            for piece in _pieces(check_utf8(source, errors)):
                sampler.add(documents, piece, 1)
                read += len(piece)
                if progress:
                    progress("count", read, None)
            documents += 1
            continue
        for raw_batch in source.batches():
            batch = checked_batch(raw_batch, source, errors)
            counts = batch.counts or [1] * len(batch.texts)
            for text, count in zip(batch.texts, counts, strict=True):
                for piece in _pieces([text]) if count else ():
                    sampler.add(documents, piece, count)
                read += len(text)
                documents += 1
            if progress:
                progress("count", read, None)
    return sampler, documents, read


def _text(documents: Sequence[tuple[bytes, int]]) -> Text:
    """Return documents with counts as one text."""
    data = b"".join(text for text, _ in documents)
    text_ends = array("Q", accumulate(len(text) for text, _ in documents))
    counts = array("Q", (count for _, count in documents))
    weighted = any(count != 1 for count in counts)
    return Text("", data, text_ends, counts if weighted else None, is_utf8=True)


def read_corpus(
    sources: Sequence[Source],
    *,
    held_out: float | Sequence[Source] = SHARE,
    seed: int = 0,
    sample_size: int = SAMPLE_SIZE,
    errors: str = "strict",
    progress: Progress | None = None,
) -> HeldOutCorpus:
    """Read sources once, sample them if they are too long, and hold a part of them out.

    The part is held out as in `tokctl.analysis.held_out`.

    Args:
        sources: Sources of the corpus.
        held_out: Share to hold out, or other sources to measure on.
        seed: Random seed for the sample and the held-out part.
        sample_size: Maximum number of bytes to keep.
        errors: `strict` or `replace`, for text that is not UTF-8.
        progress: Called with (`count`, bytes read, None).

    Raises:
        TokctlError: The sources are unreadable or empty, a text is not UTF-8, or the text is too
            short to hold a part out.
    """
    sampler, count, read = _read(sources, sample_size, seed, errors, progress)
    documents = sampler.documents()
    if not documents and read:
        raise BadOption(
            f"a sample of {sample_size:,} bytes is too small: no piece of the text fits into it",
            f"pieces have up to {2 * _PIECE >> 10} kB: take a larger sample (--sample-size)",
            "bad-value",
        )
    if not documents:
        raise BadInput("the text is empty", "name a text to train a tokenizer on")
    sampled = None if sampler.is_all else sum(len(text) for text, _ in documents)
    if not isinstance(held_out, (int, float)):
        held_out_text, _, _ = _read(held_out, sample_size, seed, errors, progress)
        if not held_out_text.kept:
            raise BadInput("the text to measure on is empty", "name another with --held-out")
        parts = [_text(documents)], [_text(held_out_text.documents())], ""
    else:
        parts = _split_held_out(documents, held_out, seed)
    training, measured, unit = parts
    unit = "pieces" if unit and sampled is not None else unit
    return HeldOutCorpus(count, read, sampled, tuple(training), tuple(measured), unit)


def _split_held_out(
    documents: Sequence[tuple[bytes, int]], share: float, seed: int
) -> tuple[list[Text], list[Text], str]:
    """Return the texts to train on, the held-out texts, and the unit of the held-out part."""
    if not share:
        raise BadOption(
            "nothing is held out: on its own training text a larger vocabulary always seems better",
            "hold out a share of the text: --held-out 0.1",
            "bad-value",
        )
    if len(documents) < _MANY:
        texts = [Text("", text, None, None, is_utf8=True) for text, _ in documents]
        texts = [
            text if count == 1 else _text([(text.data, count)])
            for text, (_, count) in zip(texts, documents, strict=True)
        ]
        splits = [split(text, share, seed=seed) for text in texts]
        if units := {part.unit for part in splits if part.unit}:
            measured = [part.measured for part in splits if part.unit]
            return [part.training for part in splits], measured, listed(sorted(units))
    pieces = [(piece, count) for text, count in documents for piece in _pieces([text])]
    for unit, parts in (("documents", documents), ("pieces", pieces)):
        part = split(_text(parts), share, seed=seed)
        if part.unit:
            return [part.training], [part.measured], unit
    raise BadInput(
        "the text is too short: no part of it can be held out",
        "give more of it: candidates are measured on text that they were not trained on",
    )


# -- Curves ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CurvePoint:
    """A candidate's result at one size on the held-out text.

    Attributes:
        size: Number of ids.
        tokens: Number of tokens for the held-out text.
        bytes_per_token: Bytes of the held-out text per token.
    """

    size: int
    tokens: int
    bytes_per_token: float


@dataclass(frozen=True)
class SizeCurve:
    """A candidate's results at all its sizes.

    Attributes:
        name: Name of the candidate.
        points: Results by size, ascending.
        reach: Number of ids at which training ran out of text; None: every size was reached.
        round_trip: Share of held-out lines that are decoded exactly.
    """

    name: str
    points: tuple[CurvePoint, ...]
    reach: int | None
    round_trip: float

    def at(self, size: int) -> CurvePoint | None:
        """Return the point with this size, or None."""
        return next((point for point in self.points if point.size == size), None)

    def gain(self, point: CurvePoint) -> float | None:
        """Return the share of tokens that a point saves over the one before, or None."""
        smaller = [other for other in self.points if other.size < point.size]
        return 1 - point.tokens / smaller[-1].tokens if smaller else None


def doubling_gain(points: Sequence[CurvePoint], index: int) -> float | None:
    """Return the share of tokens that doubling the size saves from the point at index `index`.

    Points ascend by size. The gain is measured up to the largest size within the doubling. If the
    size grows by a factor from 1.4 to 2, the gain is extrapolated to a doubling as a power; below
    1.4, the result is None.
    """
    lower = points[index]
    upper = max(
        (point for point in points[index:] if point.size <= 2 * lower.size),
        key=lambda point: point.size,
    )
    return _per_doubling(lower, upper)


def _per_doubling(lower: CurvePoint, upper: CurvePoint) -> float | None:
    """Return the share of tokens saved between two points, scaled to a doubling of the size."""
    if upper.size < 1.4 * lower.size:
        return None
    ratio: float = (upper.tokens / lower.tokens) ** (1 / math.log2(upper.size / lower.size))
    return 1 - ratio


def knee(points: Sequence[CurvePoint]) -> CurvePoint | None:
    """Return the point at the smallest size from which a doubling saves less than `LEAST_GAIN`.

    None if every measured doubling saves more.
    """
    for index, point in enumerate(points):
        gain = doubling_gain(points, index)
        if gain is not None and gain < LEAST_GAIN:
            return point
    return None


def envelope(curves: Iterable[SizeCurve]) -> list[tuple[CurvePoint, str]]:
    """Return, for each size, the fewest tokens of any candidate up to this size, and its name."""
    every = sorted(
        ((point, curve.name) for curve in curves for point in curve.points),
        key=lambda entry: (entry[0].size, entry[0].tokens),
    )
    lowest: list[tuple[CurvePoint, str]] = []
    for point, name in every:
        if lowest and point.tokens >= lowest[-1][0].tokens:
            best, name = lowest[-1]
            point = replace(best, size=point.size)
        if lowest and lowest[-1][0].size == point.size:
            continue
        lowest.append((point, name))
    return lowest


class _Bench:
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
        larger = [
            larger_model
            for larger_model in models
            if size <= larger_model.vocab_size or _ran_out(larger_model)
        ]
        try:
            if larger and (pruned := prune_to(larger[-1], size)):
                # Keep this model, too: cutting the next size out of a smaller model is faster.
                self._made[candidate.name] = [models[0], pruned]
                return pruned
            pruned = self.train(candidate.recipe, size)
        except (CoreError, OutOfMemoryError):
            raise
        except TokctlError as error:  # the alphabet is larger than the size
            self.failed = self.failed or error
            return None
        if candidate.recipe.traits.is_nested:
            self._made[candidate.name] = [pruned]
        return pruned

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


# -- The recommendation ----------------------------------------------------------------------------


def _ran_out(tokenizer: Tokenizer) -> bool:
    """Return whether training ended before the vocabulary was full."""
    record = tokenizer.model.training
    return bool(record and record.exhausted)


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
    if threads is not None:
        check_threads(threads)
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

    bench = _Bench(corpus, threads or available_threads(), tell)
    curves = {tried_candidate.name: bench.curve(tried_candidate, grid) for tried_candidate in tried}
    if bench.text and no_words(bench.text):
        tried = candidates_of(candidates, spaceless=True)
        curves = {
            tried_candidate.name: curves.get(tried_candidate.name)
            or bench.curve(tried_candidate, grid)
            for tried_candidate in tried
        }
    curves = {name: curve for name, curve in curves.items() if curve.points}
    if not curves:
        raise bench.failed or BadInput("the text has no words", "name another text")
    # A candidate that loses text is eligible only if no lossless one was tried.
    eligible = {name for name, curve in curves.items() if curve.round_trip == 1} or set(curves)
    name, size = _choose([curves[name] for name in eligible], shape)
    if sizes is None:
        nearby = [64 * (size * part >> 11 - octave) for octave in (0, 1) for part in QUARTERS]
        fine = [
            tried_candidate
            for tried_candidate in (*nearby, 2 * size)
            if SIZES[0] <= tried_candidate <= SIZES[-1]
        ]
        curves[name] = _lower_envelope(curves[name], bench.curve(CANDIDATES[name], fine))
        size = _refined(curves[name], size, shape)
    if _ends_early(curves[name], size, shape):
        advice = (_too_short(curves, name, shape, corpus),)
        return Recommendation(corpus, shape, tuple(curves.values()), advice=advice)
    return _compared(bench, curves, eligible, name, size, shape)


def _choose(curves: Sequence[SizeCurve], shape: ModelShape | None) -> tuple[str, int]:
    """Return the candidate and size of the knee, or of the least compute if a shape is given.

    Without a knee, the largest measured size is chosen.
    """
    hull = envelope(sorted(curves, key=lambda curve: list(CANDIDATES).index(curve.name)))
    points = [point for point, _ in hull]
    best = (knee(points) or points[-1]) if shape is None else _cheapest(points, shape)
    name = next(name for point, name in hull if point is best)
    curve = next(curve for curve in curves if curve.name == name)
    # The envelope repeats a point at larger sizes; return the size of the candidate's own point.
    return name, next(point.size for point in curve.points if point.tokens == best.tokens)


def _ends_early(curve: SizeCurve, size: int, shape: ModelShape | None) -> bool:
    """Return whether the end of the text limits the choice, because the curve is not flat yet."""
    index = next(index for index, point in enumerate(curve.points) if point.size == size)
    onwards = doubling_gain(curve.points, index) if shape is None else None
    if curve.reach is None or onwards is not None:
        return False
    if shape is not None and index < len(curve.points) - 1:
        return False
    gain = _gain_up_to(curve, size)
    return gain is None or gain >= FLAT


def _gain_up_to(curve: SizeCurve, size: int) -> float | None:
    """Return the gain of a doubling up to the size; None if no smaller size shows it."""
    point = curve.at(size)
    smaller = [other for other in curve.points if size >= 1.4 * other.size]
    return _per_doubling(smaller[-1], point) if smaller and point else None


def _cheapest(points: Sequence[CurvePoint], shape: ModelShape) -> CurvePoint:
    """Return the point with the least training compute per byte."""
    return min(points, key=lambda one: shape.flops_per_byte(one.size, one.bytes_per_token))


def _refined(curve: SizeCurve, size: int, shape: ModelShape | None) -> int:
    """Return the best size among all points of the curve around the chosen size."""
    nearby = [point for point in curve.points if size < 2 * point.size]
    if shape is not None:
        return _cheapest(nearby, shape).size
    knee_point = knee([point for point in nearby if point.size <= 2 * size])
    return knee_point.size if knee_point and knee_point.size <= size else size


def _lower_envelope(curve: SizeCurve, other_curve: SizeCurve) -> SizeCurve:
    """Return a curve with the points of both; at equal sizes, the points of `other_curve`."""
    points = {point.size: point for point in (*curve.points, *other_curve.points)}
    return replace(curve, points=tuple(points[size] for size in sorted(points)))


class _Chosen(NamedTuple):
    """The recommended candidate with its model and counts, for the sentences."""

    candidate: TokenizerCandidate
    size: int
    tokenizer: Tokenizer
    counts: Counts


def _compared(
    bench: _Bench,
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
        candidate: Counts.total(part.counts for part in texts)
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
    for candidate, texts in counts.items():
        point = CurvePoint(size, texts.tokens, texts.bytes / texts.tokens)
        curves[candidate] = _lower_envelope(
            curves[candidate], replace(curves[candidate], points=(point,))
        )
    chosen = _Chosen(CANDIDATES[name], size, fitting[name], counts[name])
    differences = tuple(candidate for candidate in more_tokens.values() if candidate.name != name)
    coverages = _coverages(bench, chosen, measured[name])
    coverage = _coverage(coverages)
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
        advice=tuple(_sentences(bench, chosen, curves, eligible, shape, differences, coverages)),
        options=options,
    )


def _token_difference(
    bench: _Bench,
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
    bench: _Bench, chosen: _Chosen, measurements: Sequence[Measurement]
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


def _coverage(trials: Sequence[CoverageTrial]) -> str | None:
    """Return the coverage with the fewest tokens if the difference is significant; otherwise 1."""
    if not trials:
        return None
    best = min(trials, key=lambda one: one.more)
    surely = best.more < 0 and best.interval is not None and best.interval.excludes_zero
    return best.coverage if surely else trials[0].coverage


# -- Sentences -------------------------------------------------------------------------------------

#: Text that shows how a pre-tokenizer splits numbers.
_NUMBER = b"7654321kg"


def _sentences(
    bench: _Bench,
    chosen: _Chosen,
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
            f"{difference.name} ends at {difference.points[-1].size:,} ids"
            for difference in ended_early
            if difference.name in eligible
            and (CANDIDATES[difference.name].recipe.algorithm == algorithm) is is_same
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


def _on_size(chosen: _Chosen, curve: SizeCurve, shape: ModelShape | None) -> str:
    """Return a sentence on the vocabulary size."""
    size = chosen.size
    index = next(index for index, point in enumerate(curve.points) if point.size == size)
    point = curve.points[index]
    sentences = [f"{size:,} ids"]
    if shape is None:
        onwards = doubling_gain(curve.points, index)
        gain = _gain_up_to(curve, size)
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
    chosen: _Chosen,
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
    chosen: _Chosen, differences: Sequence[CandidateDifference], ending_notes: Sequence[str]
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
    change = (
        f"{percent(abs(difference.more), 2)} {'change' if difference.more >= 0 else 'fewer'} tokens"
    )
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


def _on_numbers(chosen: _Chosen, characters: Mapping[bytes, int]) -> str:
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
    chosen: _Chosen,
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
    best = _coverage(trials)
    base = (
        f"All {trials[0].alphabet:,} {unit} get an id"
        if best == trials[0].coverage
        else f"--coverage {best}"
    )
    falls = " What has no id becomes its bytes." if recipe.byte_fallback else ""
    return f"{base}; {'; '.join(clauses)}.{falls} {facts}"


def _on_evidence(bench: _Bench, chosen: _Chosen) -> str:
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


def _too_short(
    curves: Mapping[str, SizeCurve], name: str, shape: ModelShape | None, corpus: HeldOutCorpus
) -> Advice:
    """Return the advice for a text that runs out before the best curve is flat."""
    best, common = curves[name], min(curve.points[-1].size for curve in curves.values())
    reason = "there is no knee" if shape is None else "the compute still falls"
    gain = _gain_up_to(best, best.points[-1].size)
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
