"""From sources and a recipe to a filled recipe: counting, then merging."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from tokctl import _native
from tokctl.byte_level import BYTES, IN_ID_ORDER, unspell
from tokctl.errors import TokctlError
from tokctl.pretokenizers import matches_and_gaps
from tokctl.recipe import FilledRecipe, Merge, Recipe, TrainingRecord
from tokctl.sources import Document, check_utf8, documents

#: Told (phase, done, total): `count` in bytes, `merge` in ids of the vocabulary. The
#: total is None where it is not known. What it raises ends the training.
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Options:
    """What is asked of a training, beside the recipe.

    Attributes:
        vocab_size: ids wanted in all: special tokens, alphabet and merged tokens.
        min_count: pre-tokens that occur less often are dropped before training.
        min_frequency: pairs that occur less often are never merged.
        max_token_length: in bytes or characters, as the recipe's units; markers not counted.
        threads: for counting; None takes the processors that this process may use. The
            result does not depend on it.
        errors: `strict` or `replace`, for text that is not UTF-8 (character recipes).
    """

    vocab_size: int
    min_count: int = 1
    min_frequency: int = 1
    max_token_length: int | None = None
    threads: int | None = None
    errors: str = "strict"

    def __post_init__(self) -> None:
        for name in ("vocab_size", "min_count", "min_frequency", "max_token_length", "threads"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and 0 < value < 2**63):
                raise TokctlError(f"{name} can't be {value}", "it is a number from 1 up")
        if self.errors not in ("strict", "replace"):
            raise TokctlError(f"errors can't be {self.errors!r}", "choose strict or replace")


@dataclass
class Timing:
    """Seconds per phase of one training; never part of a model file."""

    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.started
        self.started = now


def available_threads() -> int:
    """Processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every platform
        return max(1, os.cpu_count() or 1)


def train(
    sources: Sequence[str | Path | Document],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
    timing: Timing | None = None,
) -> FilledRecipe:
    """Trains on files (`-` is stdin) or documents; each is one text.

    A document is read block by block, but with a pattern (`regex:`), which can match
    anything, it is read whole.

    Raises:
        TokctlError: unreadable or empty sources, text that is not UTF-8 for a character
            recipe, a vocabulary below alphabet plus special tokens.
    """
    timing = timing or Timing()
    if isinstance(sources, (str, Path, Document)):
        sources = [sources]
    opened = iter(documents([s for s in sources if not isinstance(s, Document)]))
    texts = [s if isinstance(s, Document) else next(opened) for s in sources]
    counts, read = count(texts, recipe, options, progress)
    timing.lap("count")
    return fill(counts, read, recipe, options, progress, timing)


def train_on_counts(
    words: Mapping[str, int] | Mapping[bytes, int],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
) -> FilledRecipe:
    """Trains on pre-tokens that are counted already, in the order of the mapping.

    Neither normalizers nor pre-tokenizer are applied to them.
    """
    counter = _native.Counter("none", [], 1)
    digest = hashlib.sha256()
    size = 0
    for word, times in words.items():
        if times < 0 or times >= 2**63 or not word:
            raise TokctlError(f"the word {word!r} can't have the count {times}")
        try:
            encoded = word.encode() if isinstance(word, str) else word
            if recipe.units == "characters":
                encoded.decode()
        except UnicodeError:
            raise TokctlError(f"the word {word!r} is not UTF-8, which this recipe needs") from None
        digest.update(b"%s\t%d\n" % (encoded, times))
        size += len(encoded)
        if times >= options.min_count:
            counter.add(encoded, times)
    read = Read(documents=1, bytes=size, digest=digest.hexdigest())
    return fill(counter.finish(1), read, recipe, options, progress, Timing())


@dataclass
class Read:
    """What went through the counter."""

    documents: int
    bytes: int
    digest: str


def count(
    texts: Sequence[Document],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
) -> tuple[_native.Counts, Read]:
    """Counts the pre-tokens of all documents, in first-seen order."""
    threads = options.threads or available_threads()
    native = "none" if recipe.is_regex else recipe.pre_tokenizer
    counter = _native.Counter(native, list(recipe.normalizers), threads)
    sizes = [text.size for text in texts]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    digests = []
    done = 0

    def watched(blocks: Iterable[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
        nonlocal done
        for block in blocks:
            digest.update(block)
            yield block
            done += len(block)
            if progress:
                progress("count", done, total)

    by_pattern: dict[str, int] = {}
    for text in texts:
        digest = hashlib.sha256()
        watch = Document(text.name, text.size, lambda t=text, d=digest: watched(t.blocks(), d))  # type: ignore[misc]
        blocks = watch.blocks() if recipe.units == "bytes" else check_utf8(watch, options.errors)
        if recipe.is_regex:
            _count_by_pattern(recipe, b"".join(blocks), by_pattern)
        else:
            for block in blocks:
                counter.feed(block)
            counter.end_document()
        digests.append(digest.hexdigest())
    for pre_token, times in by_pattern.items():
        if times >= options.min_count:
            counter.add(pre_token.encode("utf-8", "surrogateescape"), times)
    # A pattern's counts are filtered above; `add` must not see them twice.
    counts = counter.finish(1 if recipe.is_regex else options.min_count)
    if len(digests) > 1:
        lines = "".join(f"{digest}\n" for digest in digests)
        digests = [hashlib.sha256(lines.encode()).hexdigest()]
    return counts, Read(len(texts), done, digests[0] if digests else "")


def _count_by_pattern(recipe: Recipe, text: bytes, counts: dict[str, int]) -> None:
    text = _native.normalize(list(recipe.normalizers), text)
    characters = text.decode("utf-8", "surrogateescape")
    for start, end in matches_and_gaps(recipe.pre_tokenizer, characters):
        pre_token = characters[start:end]
        counts[pre_token] = counts.get(pre_token, 0) + 1


def fill(
    counts: _native.Counts,
    read: Read,
    recipe: Recipe,
    options: Options,
    progress: Progress | None,
    timing: Timing,
) -> FilledRecipe:
    if len(counts) == 0:
        raise TokctlError(
            "there is nothing to train on: no pre-token was found",
            "the text is empty or blank, or --min-count is higher than every count",
        )
    tell = (lambda size: progress("merge", size, options.vocab_size)) if progress else None
    try:
        trained = _native.train(
            counts,
            criterion=recipe.score,
            ties=recipe.tie_break,
            units=recipe.units,
            marker=recipe.marker,
            vocab_size=options.vocab_size,
            special_tokens=[token.encode() for token in recipe.special_tokens],
            reserved=_reserved(recipe),
            initial_alphabet=IN_ID_ORDER if recipe.alphabet == "bytes" else [],
            bare_characters=recipe.alphabet == "characters",
            min_frequency=options.min_frequency,
            max_token_length=options.max_token_length,
            progress=tell,
        )
    except _native.CoreError as error:
        raise _explained(error) from None
    timing.lap("merge")
    alphabet = trained.alphabet_end - len(recipe.special_tokens)
    record = TrainingRecord(
        documents=read.documents,
        bytes=read.bytes,
        sha256=read.digest,
        pre_tokens=counts.total(),
        distinct_pre_tokens=len(counts),
        alphabet_size=alphabet,
        vocab_size=options.vocab_size,
        min_count=options.min_count,
        min_frequency=options.min_frequency,
        max_token_length=options.max_token_length,
        exhausted=trained.exhausted,
    )
    merges = [Merge(*row) for row in trained.merges]
    return FilledRecipe(recipe, trained.tokens, merges, record)


def _reserved(recipe: Recipe) -> list[bytes]:
    """What a model file would spell as a special token is spelled: for a byte-level model
    with the special token `Ġt` that is a space and a t."""
    if recipe.units != "bytes":
        return []
    return [unspell(token) for token in recipe.special_tokens if set(token) <= BYTES.keys()]


def _explained(error: _native.CoreError) -> TokctlError:
    message, kind, details = error.args
    if kind == "vocabulary-too-small":
        return TokctlError(message, f"ask for {details[1]} or more: --vocab {details[1]}")
    hint = "choose another special token" if "special token" in message else None
    return TokctlError(message, hint)
