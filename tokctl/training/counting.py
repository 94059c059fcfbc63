"""Counting: read, normalize, split and weigh texts, and count their pre-tokens.

Existing counts (a mapping, or a file of `word<TAB>count` lines) enter the training here, too.
Counts that don't fit in `--memory` go to temporary files.
"""

from __future__ import annotations

import hashlib
import marshal
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.core.values import ProgressCount, available_threads, brief
from tokctl.model import Recipe
from tokctl.model.parts import Part, native_parts
from tokctl.sources import (
    BLOCK_SIZE,
    STDIN,
    Archive,
    Batch,
    Document,
    Records,
    Source,
    check_utf8,
    checked_batch,
    flat,
    total_size,
)
from tokctl.sources.blocks import read_ahead
from tokctl.training.options import MOST, TrainOptions, exact, share

if TYPE_CHECKING:
    from fractions import Fraction

    from tokctl.sources.parts import SourcePart, TextPart

#: Number of pre-tokens that are turned into lines at a time.
LINES_AT_ONCE = 1 << 16

#: Called with (phase, done, total). `count` is in bytes of the sources, `merge-runs` in bytes of
#: spilled counts that are being merged, `merge` in ids of the vocabulary. The total is None if it
#: is not known. An exception that the function raises ends the training.
Progress = Callable[[str, int, int | None], None]


@dataclass(eq=False, repr=False)
class TextStats:
    """Statistics of the texts that were counted.

    Attributes:
        documents: Number of documents.
        bytes: Length of all texts together, uncompressed.
        digest: A SHA-256 in hexadecimal. For a single document: of its bytes. For a source of
            records: of its texts in order, each preceded by its length and its weight as 8-byte
            little-endian numbers. For several of either: of the list of their digests (see
            `digest_of`). The digest depends on the texts alone: not on batches, compression or file
            format (JSON Lines, a table).
        weights: Weights of the sources, in their order; empty if all weights are equal.
        scale: Factor that makes every weighted count a whole number.
        count_runs: Reads the texts a second time and counts runs of the given words; None if the
            counts came from elsewhere or the algorithm needs only one pass.
    """

    documents: int
    bytes: int
    digest: str
    weights: tuple[Fraction, ...] = ()
    scale: int = 1
    count_runs: Callable[[_native.RunWords], _native.Counts] | None = None


class Engine(Protocol):
    """Interface of something that counts texts elsewhere, such as `tokctl.extras.ray.Cluster`."""

    def count(
        self,
        sources: Sequence[Source],
        recipe: Recipe,
        options: TrainOptions,
        progress: Progress | None = None,
    ) -> tuple[_native.Counts, TextStats]:
        """Return exactly the counts and statistics that `counting.count` would return."""


def count(
    sources: Sequence[Source],
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None = None,
) -> tuple[_native.Counts, TextStats]:
    """Count the pre-tokens of all documents of all sources, in first-seen order.

    No pre-token crosses the end of a document. In a source of records, `options.sample` keeps or
    drops whole documents; in a text, whole lines. The counts of a batch multiply the weight of its
    source, and a document with count 0 is not read.

    Raises:
        TokctlError: A source can't be read or is not UTF-8, a weight is wrong, or a count exceeds
            64 bits.
    """
    weights, scale = weigh([source.name for source in sources], options.weights)
    min_count = scale_threshold(first_pass_min_count(recipe, options), scale)
    reads_twice = recipe.traits.reads_twice
    # stdin, pipes and downloads can be read only once.
    recordings = {
        number: _Recording(options.temporary)
        for number, source in enumerate(sources)
        if reads_twice and not source.prompt
    }

    def read_all(words: _native.RunWords | None = None) -> _TextCounter:
        texts = _TextCounter(recipe, options, progress, total_size(sources), words)
        for number, source in enumerate(sources):
            weight = int(weights[number] * scale) if weights else 1
            if words is not None and number in recordings:
                texts.replay(recordings[number], weight)
            else:
                for _ in texts.read(source, weight, recordings.get(number)):
                    pass
        return texts

    def count_runs(words: _native.RunWords) -> _native.Counts:
        second_pass = read_all(words)
        if second_pass.digests != texts.digests:
            raise BadInput(
                "the texts changed between two readings, which this algorithm needs",
                "train again when nothing writes to them",
            )
        return finish_counts(second_pass.counter, 1, progress)

    texts = read_all()
    counts = finish_counts(texts.counter, min_count, progress)
    stats = TextStats(texts.documents, texts.bytes, digest_of(texts.digests), tuple(weights), scale)
    if reads_twice:
        stats.count_runs = count_runs
    return counts, stats


class PartCounts(NamedTuple):
    """Counts of the pre-tokens in some parts of sources.

    Attributes:
        counts: Weighted counts; pre-tokens below the minimum count are not dropped yet.
        documents: Number of documents; one that spans several parts belongs to the part in which it
            begins.
        bytes: Length of the texts, uncompressed.
        digests: For each part, the digests of its source; empty if the source is cut, so that
            `source_digests` has to read it once more.
    """

    counts: _native.Counts
    documents: int
    bytes: int
    digests: list[list[str]]


def count_parts(
    parts: Sequence[tuple[SourcePart, int]],
    recipe: Recipe,
    options: TrainOptions,
    *,
    threads: int = 1,
    memory_limit: float = math.inf,
) -> Iterator[PartCounts]:
    """Count the parts of sources that one process reads.

    All parts together give the result of `count`.

    Args:
        parts: Parts in the order of the sources, each with the weight of its occurrences.
        recipe: Its normalizers and pre-tokenizers split the texts.
        options: The number of threads in it is not used.
        threads: Number of threads to count with.
        memory_limit: Size of the counting tables in bytes above which their counts are yielded and
            the tables emptied.

    Yields:
        The counts since the last result, in the order of the texts. `documents`, `bytes` and
        `digests` cover everything read until then.

    Raises:
        TokctlError: Like `count`, with the same line or row number.
    """
    check_parts(recipe, options)
    texts = _TextCounter(recipe, replace(options, threads=threads), None, None, None)
    digests: list[list[str]] = []
    for part, weight in parts:
        texts.digests = []
        steps = (
            texts.read_part(part, weight) if part.boundaries else texts.read(part.source, weight)
        )
        try:
            for _ in steps:
                if texts.counter.memory() > memory_limit:
                    counts = _run_counter(texts.counter.take)
                    yield PartCounts(counts, texts.documents, texts.bytes, digests)
        except TokctlError:
            if part.boundaries:
                # Read the whole source, so that the error has the line number in the whole source.
                source_digests(part.source, recipe, options)
            raise
        digests.append([] if part.boundaries else texts.digests)
    yield PartCounts(finish_counts(texts.counter, 1), texts.documents, texts.bytes, digests)


def source_digests(source: Source, recipe: Recipe, options: TrainOptions) -> list[str]:
    """Return the digests that a source adds to the list behind `TextStats.digest`; count nothing.

    Raises:
        TokctlError: The source can't be read, or is not UTF-8 though the recipe needs characters.
    """
    texts = _TextCounter(recipe, options, None, None, None)
    for document in flat([source]):
        digest = hashlib.sha256()
        for _ in texts.checked_blocks(document, digest, lambda: 0):
            pass
        texts.digests.append(digest.hexdigest())
    return texts.digests


def check_parts(recipe: Recipe, options: TrainOptions) -> None:
    """Raise TokctlError if the recipe or the options don't allow counting in parts."""
    if recipe.traits.reads_twice:
        raise BadOption(
            f"{recipe.algorithm} is trained on one machine: it reads the texts twice",
            "leave --engine out, or take --algo bpe or superbpe",
            "conflict",
        )
    if options.sample is not None:
        raise BadOption(
            "a sample is drawn from line to line, and a cluster reads many lines at a time",
            "leave --sample out, or name fewer files",
            "conflict",
        )


def first_pass_min_count(recipe: Recipe, options: TrainOptions) -> int:
    """Return the minimum count of a pre-token in the first pass.

    If a stage of the training splits pre-tokens further, the minimum is 1: the pre-tokens of the
    last stage can be as long as a line, hardly ever occur twice, and `options.min_count` applies to
    the parts.
    """
    splits = any(stage.pre_tokenizers for stage in recipe.stages)
    return 1 if splits else options.min_count


def split_further(
    counts: _native.Counts, pre_tokenizers: Sequence[Part], options: TrainOptions, scale: int
) -> _native.Counts:
    """Split counted pre-tokens with more pre-tokenizers, and count the parts."""
    if not pre_tokenizers:
        return counts
    threads = options.threads or available_threads()
    counter = _native.Counter(native_parts(pre_tokenizers), [], threads, **memory_limit(options))
    counter.feed_counts(counts)
    return finish_counts(counter, scale_threshold(options.min_count, scale))


class _TextCounter:
    """Counts sources one after the other, and collects the data for the training record.

    Attributes:
        counter: The native counter.
        documents: Number of documents read so far.
        bytes: Bytes of uncompressed text read so far.
        digests: One digest for each document that is read in blocks and for each source of records.
    """

    def __init__(
        self,
        recipe: Recipe,
        options: TrainOptions,
        progress: Progress | None,
        total: int | None,
        words: _native.RunWords | None,
    ) -> None:
        """Create a counter of pre-tokens, or of runs of `words` if they are given."""
        self.threads = options.threads or available_threads()
        parts = native_parts(recipe.pre_tokenizers), native_parts(recipe.normalizers)
        limit = memory_limit(options)
        self.counter = _native.Counter(*parts, self.threads, words=words, **limit)
        self.documents = self.bytes = 0
        self.digests: list[str] = []
        self._errors = options.errors if not recipe.is_byte_level else None
        sampled = share("sample", options.sample)
        self._sampler = _native.LineSampler(sampled, options.seed) if sampled else None
        self._progress = progress
        self._total = total
        self._bytes_before = 0  # bytes of the finished sources, as stored
        self._recording: _Recording | None = None

    def replay(self, recording: _Recording, weight: int) -> None:
        """Count a source from its recording instead of reading it."""
        self.counter.set_weight(weight)
        for part in recording.parts():
            if part is None:
                self.counter.end_document()
            elif isinstance(part, bytes):
                self.counter.feed(part)
            else:
                self.counter.feed_documents(*part)
        self.digests += recording.digests

    def read(
        self, source: Source, weight: int, recording: _Recording | None = None
    ) -> Iterator[None]:
        """Count a source's documents, each occurrence `weight` times; yield after each block."""
        self.counter.set_weight(weight)
        self._recording = recording
        start = self.bytes
        tell = source.tell or (lambda: self.bytes - start)
        if isinstance(source, Archive):
            for member in source.members():
                yield from self._count_document(member, tell)
        else:
            yield from self._count_document(source, tell)
        self._bytes_before += tell() if source.size is None else source.size

    def read_part(self, part: SourcePart, weight: int) -> Iterator[None]:
        """Count one part of a source that can be cut; yield after each block.

        The first document of the part may begin in an earlier part, and the last may continue in a
        later one.
        """
        source = part.source
        assert not isinstance(source, Archive) and source.splitter
        self.counter.set_weight(weight)
        read = source.splitter().read
        if isinstance(source, Records):
            batches = partial(read, part.boundaries, part.number)
            records = Records(source.name, None, batches, lambda: 0, unit=source.unit)
            yield from self._count_document(records, int)
            return
        text: TextPart = read(part.boundaries, part.number, self.counter.cut)
        if not text.opens:
            self.counter.go_on()
        yield from self._count_document(Document(source.name, None, text.blocks), int, text)

    def checked_blocks(
        self, source: Document | Records, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[bytes | Batch, int], None, None]:
        """Yield checked and sampled blocks or batches, each with the bytes read so far.

        The bytes are counted over all sources, as stored.
        """
        if isinstance(source, Document):
            return self._blocks(source, digest, tell)
        return self._batches(source, digest, tell)

    def _count_document(
        self, source: Document | Records, tell: Callable[[], int], text_part: TextPart | None = None
    ) -> Iterator[None]:
        """Count one document or source of records; yield after each block.

        `text_part` is set if the source is a part of a document, which may begin or end elsewhere.
        """
        digest = hashlib.sha256()
        checked_blocks = self.checked_blocks(source, digest, tell)
        if self.threads > 1 and source.prompt and source.size and source.size > BLOCK_SIZE:
            checked_blocks = read_ahead(checked_blocks)
        with closing(checked_blocks):
            for block, bytes_read in checked_blocks:
                if self._recording:
                    self._recording.add(block)
                if isinstance(block, Batch):
                    self.counter.feed_documents(block.texts, block.counts)
                else:
                    self.counter.feed(block)
                if self._progress:
                    self._progress("count", ProgressCount(bytes_read, self.documents), self._total)
                yield
        if isinstance(source, Document):
            self.documents += text_part is None or text_part.opens
            if text_part is None or text_part.closes:
                self.counter.end_document()
            else:
                self.counter.end_part()
            if self._recording:
                self._recording.add(None)
            if self._sampler:
                self._sampler.end_document()
        self.digests.append(digest.hexdigest())
        if self._recording:
            self._recording.digests.append(digest.hexdigest())

    def _blocks(
        self, text: Document, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[bytes, int], None, None]:
        """Yield the blocks of a document to count, with the bytes read of all sources so far."""

        def hashed() -> Generator[bytes, None, None]:
            for block in text.blocks():
                digest.update(block)
                self.bytes += len(block)
                yield block

        hashed_document = Document(text.name, text.size, hashed)
        for block in check_utf8(hashed_document, self._errors):
            sample = self._sampler.keep(block) if self._sampler else block
            yield sample, self._bytes_before + tell()

    def _batches(
        self, records: Records, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[Batch, int], None, None]:
        """Yield the batches of documents to count, with the bytes read of all sources so far.

        The digest covers the texts, each preceded by its length and its count, so it does not
        depend on batches, compression or file format.
        """
        for batch in records.batches():
            readable = _blank_uncounted(batch)
            digest.update(_native.framed(readable.texts, readable.counts))
            self.bytes += readable.size
            self.documents += len(readable.texts) - (readable.counts or []).count(0)
            readable = checked_batch(readable, records, self._errors)
            yield self._sample(readable), self._bytes_before + tell()

    def _sample(self, batch: Batch) -> Batch:
        """Return the batch without the documents that the sample drops."""
        if self._sampler is None:
            return batch
        texts, counts = batch.texts, batch.counts
        if counts is not None:
            texts = list(compress(texts, counts))
            counts = [count for count in counts if count]
        is_kept = self._sampler.choose(len(texts))
        return Batch(
            list(compress(texts, is_kept)),
            None if counts is None else list(compress(counts, is_kept)),
        )


class _Recording:
    """Blocks and batches of a source in a temporary file, to be counted a second time.

    Attributes:
        digests: Digests of the texts of the source.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.digests: list[str] = []
        self._file = Scratch(
            folder,
            what="the texts",
            hint="they go there because they are read twice, and stdin and pipes come only once: "
            "name a folder with more room in $TMPDIR, or put the text into a file",
        )
        self._sizes: list[int] = []

    def add(self, part: bytes | Batch | None) -> None:
        """Append a block, a batch, or None for the end of a document."""
        payload: Any = part
        if isinstance(part, Batch):
            counts = None if part.counts is None else list(part.counts)
            payload = list(map(bytes, part.texts)), counts
        data = marshal.dumps(payload)
        self._file.append(data)
        self._sizes.append(len(data))

    def parts(self) -> Iterator[bytes | tuple[list[bytes], list[int] | None] | None]:
        """Yield the recorded parts in order; a batch is a pair of its texts and its counts."""
        offset = 0
        for size in self._sizes:
            yield marshal.loads(self._file.read(offset, size))
            offset += size


def _blank_uncounted(batch: Batch) -> Batch:
    """Return the batch with an empty text for each document with count 0.

    The list keeps its length, so that document numbers stay right.
    """
    if batch.counts is None or 0 not in batch.counts:
        return batch
    pairs = zip(batch.texts, batch.counts, strict=True)
    texts = [text if count else b"" for text, count in pairs]
    return Batch(texts, batch.counts, batch.first)


def digest_of(digests: Sequence[str]) -> str:
    """Return the digest of texts whose SHA-256 are `digests`, in hexadecimal.

    For one text, the digest is its SHA-256; for several, the SHA-256 of the list of digests, one
    per line; for none, the empty string.
    """
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def weigh(
    names: Sequence[str], weights_by_name: Mapping[str, object]
) -> tuple[list[Fraction], int]:
    """Return the weight of each source, and the factor that makes weighted counts whole numbers.

    The factor is the least common multiple of the weights' denominators. Without weights, the
    result is ([], 1).

    Raises:
        TokctlError: A name is not a source, a weight is not a positive number, or the factor
            exceeds 64 bits.
    """
    if not weights_by_name:
        return [], 1
    from fractions import Fraction

    source_names = {_normal_name(name) for name in names}
    weights = {}
    for name, value in weights_by_name.items():
        source_name = "stdin" if name == STDIN else _normal_name(name)
        if source_name not in source_names:
            raise BadOption(
                f"a weight is given for {name!r}, which is not read",
                f"weights are for the sources of this training: {', '.join(names[:20])}",
                "unknown-name",
            )
        weights[source_name] = exact(f"the weight of {name}", value)  # type: ignore[arg-type]
    scale = math.lcm(*(weight.denominator for weight in weights.values()))
    if scale >= MOST or any(weight * scale >= MOST for weight in weights.values()):
        raise BadOption(
            "the weights can't be written as whole numbers of 64 bits",
            "give weights with fewer decimals",
            "bad-value",
        )
    return [weights.get(_normal_name(name), Fraction(1)) for name in names], scale


def _normal_name(name: str) -> str:
    """Return a name in its normal spelling: `a.txt` for `./a.txt`; addresses don't change."""
    return name if "://" in name else str(Path(name))


def scale_threshold(threshold: int, scale: int) -> int:
    """Return a minimum count in the scale of the weighted counts.

    The result is at most 2^63, which no count reaches. A minimum of 1 drops nothing, even if
    weights reduce an occurrence to less than 1.
    """
    return min(threshold * scale, MOST) if threshold > 1 else 1


def finish_counts(
    counter: _native.Counter, min_count: int, progress: Progress | None = None
) -> _native.Counts:
    """Return the counts of at least `min_count`; raise TokctlError if a count exceeds 64 bits."""
    report = (lambda done, total: progress("merge-runs", done, total)) if progress else None
    return _run_counter(lambda: counter.finish(min_count, report))


def _run_counter(work: Callable[[], _native.Counts]) -> _native.Counts:
    """Return the result of `work`; turn an error of the core into a TokctlError."""
    try:
        return work()
    except CoreError as error:
        raise error.reworded(hint="train on less text, or give smaller weights or counts") from None


def count_mapping(
    words: Mapping[str, int] | Mapping[bytes, int] | _native.Counts,
    recipe: Recipe,
    options: TrainOptions,
) -> tuple[_native.Counts, TextStats]:
    """Return existing counts in the order of the mapping, with statistics as of a file of them."""
    refuse_text_options(options)
    if isinstance(words, _native.Counts):
        return _check_counts(words, recipe, options)
    if not isinstance(words, Mapping):
        raise BadOption(
            f"invalid value {brief(words)} for the counts",
            "give a dict, for example {'low': 5}",
            "bad-value",
        )
    counter = _native.Counter("none", [], 1)
    digest = hashlib.sha256()
    size = 0
    for word, count in words.items():
        check_count(word, count)
        try:
            encoded = word.encode() if isinstance(word, str) else word
            if not recipe.is_byte_level:
                encoded.decode()
        except UnicodeError:
            raise _not_utf8(word) from None
        digest.update(b"%s\t%d\n" % (encoded, count))
        size += len(encoded)
        if count >= first_pass_min_count(recipe, options):
            counter.add(encoded, count)
    stats = TextStats(documents=1, bytes=size, digest=digest.hexdigest())
    return finish_counts(counter, 1), stats


def _check_counts(
    counts: _native.Counts, recipe: Recipe, options: TrainOptions
) -> tuple[_native.Counts, TextStats]:
    """Return counts and statistics as `count_lines` would give for a file of these counts."""
    if not recipe.is_byte_level and (word := counts.first_not_utf8()) is not None:
        raise _not_utf8(word)
    digest = hashlib.sha256()
    size = 0
    for start in range(0, len(counts), LINES_AT_ONCE):
        lines = counts.to_lines(start, start + LINES_AT_ONCE)
        digest.update(lines)
        size += len(lines)
    min_count = first_pass_min_count(recipe, options)
    stats = TextStats(documents=1, bytes=size, digest=digest.hexdigest())
    return counts if min_count == 1 else counts.at_least(min_count), stats


def count_lines(
    document: Document, recipe: Recipe, options: TrainOptions, progress: Progress | None = None
) -> tuple[_native.Counts, TextStats]:
    r"""Read counted pre-tokens, one `word<TAB>count` per line, in the order of the lines.

    The last tab of a line is the separator; `\n`, `\r`, `\t`, `\\` and `\xff` in a word are
    escapes. If a word is listed more than once, its counts add up.

    Raises:
        TokctlError: A line has another form; the message names the file and the line.
    """
    refuse_text_options(options)
    is_utf8 = not recipe.is_byte_level
    counter, stats = read_count_lines(
        document, characters=is_utf8, progress=progress, limit=memory_limit(options)
    )
    return finish_counts(counter, first_pass_min_count(recipe, options), progress), stats


def read_count_lines(
    document: Document,
    *,
    characters: bool,
    progress: Progress | None = None,
    limit: Mapping[str, Any] | None = None,
) -> tuple[_native.Counter, TextStats]:
    """Read the counts in a file's lines into a counter.

    Args:
        document: The file of `word<TAB>count` lines.
        characters: Whether the words must be UTF-8.
        progress: Called with bytes read and the size of the file.
        limit: Arguments that limit the counter's memory; see `memory_limit`.
    """
    counter = _native.Counter("none", [], 1, **(limit or {}))
    lines = _native.CountLines(characters)
    digest = hashlib.sha256()
    bytes_read = 0
    try:
        for block in document.blocks():
            lines.feed(block, counter)
            digest.update(block)
            bytes_read += len(block)
            if progress:
                progress("count", document.tell() if document.tell else bytes_read, document.size)
        lines.end(counter)
    except CoreError as error:
        raise BadInput(
            f"{document.name}: {error.message}",
            r"each line is a word, a tab and its count; \n, \r, \t, \\ and \xff in a word are "
            "escapes",
            "too-large" if error.kind == "too-large" else "bad-record",
        ) from None
    return counter, TextStats(documents=1, bytes=bytes_read, digest=digest.hexdigest())


def counts_to_lines(
    counts: _native.Counts | Mapping[str, int] | Mapping[bytes, int],
) -> bytes:
    """Return the lines that `count_lines` reads, in the order of the counts."""
    if not isinstance(counts, Mapping):
        return counts.to_lines()
    counter = _native.Counter("none", [], 1)
    for word, count in counts.items():
        counter.add(word.encode() if isinstance(word, str) else word, count)
    return finish_counts(counter, 0).to_lines()


def check_count(word: str | bytes, count: int) -> None:
    """Raise TokctlError unless `word` is not empty and `count` is from 0 to 2^63 - 1."""
    is_word = isinstance(word, (str, bytes)) and word
    if type(count) is not int or not 0 <= count < MOST or not is_word:
        raise BadInput(
            f"the word {word!r} can't have the count {count!r}",
            "a count is a whole number from 0 to 2^63 - 1, of a word that is not empty",
            "bad-record",
        )


def _not_utf8(word: str | bytes) -> TokctlError:
    return BadInput(
        f"the word {word!r} is not UTF-8, which this recipe needs",
        "read the text with --errors replace, or count it with a model of bytes",
        "not-utf8",
    )


def refuse_text_options(options: TrainOptions) -> None:
    """Raise TokctlError for weights and a sample, which apply only to texts."""
    if options.weights or options.sample is not None:
        raise BadOption(
            "weights and a sample are for texts, and these words are counted already",
            "leave them out, or change the counts",
            "conflict",
        )


def memory_limit(options: TrainOptions) -> dict[str, Any]:
    """Return the counter's arguments that limit its memory: the limit, and a store for the rest."""
    if options.memory is None:
        return {}

    return {"memory": options.memory, "store": Spill(options.temporary)}


class Spill:
    """Factory of unnamed temporary files, to which the core moves counts that don't fit in memory.

    On Linux the files never have a name; elsewhere the name is deleted at once. So no file remains,
    however the process ends.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        """Set the folder of the files; None: the system's, as `tempfile` finds it."""
        self.folder = folder

    def scratch(self) -> Scratch:
        """Create an empty temporary file; raise TokctlError if that fails."""
        return Scratch(self.folder)


class Scratch:
    """An unnamed temporary file: appended to, read anywhere, deleted with its last reference."""

    def __init__(
        self,
        folder: str | Path | None,
        *,
        what: str = "counts",
        hint: str = "they go there because of --memory: name a folder with more room in $TMPDIR, "
        "or allow more memory",
    ) -> None:
        """Create the file; `what` (its content) and `hint` are for error messages."""
        self._end = 0
        self._folder = folder
        self._what, self._hint = what, hint
        try:
            self._folder = folder or gettempdir()
            # Unbuffered: blocks are large, and each is read once.
            self._file = TemporaryFile(  # noqa: SIM115
                buffering=0, prefix=".tokctl-", dir=self._folder
            )
        except (OSError, ValueError) as error:
            self._fail(error)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def append(self, data: bytes) -> None:
        """Write all of `data` at the end, or raise TokctlError."""
        rest = memoryview(data)
        try:
            self._file.seek(self._end)
            while rest:
                written = self._file.write(rest)
                self._end += written
                rest = rest[written:]
        except OSError as error:
            self._fail(error)

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on, fewer at the end of the file, or raise an error.

        Raises:
            TokctlError: The file can't be read.
        """
        parts = []
        try:
            self._file.seek(offset)
            while size and (part := self._file.read(size)):
                parts.append(part)
                size -= len(part)
        except OSError as error:
            self._fail(error)
        return b"".join(parts)

    def _fail(self, error: Exception) -> NoReturn:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(
            f"can't keep {self._what} in a temporary file in {self._folder or 'any folder'}: "
            f"{reason}",
            self._hint,
            "unreadable",
        ) from None
