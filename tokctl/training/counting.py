"""From texts to counted pre-tokens: reading, normalizing, splitting, weighing, counting.

Counts that are there already (a mapping, a file of `word<TAB>count` lines) come in here, too.
What does not fit `--memory` goes to temporary files.
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
from tokctl.errors import CoreError, TokctlError
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
from tokctl.training.options import MOST, Options, exact, share
from tokctl.values import Done, available_threads, brief

if TYPE_CHECKING:
    from fractions import Fraction

    from tokctl.sources.parts import SourcePart, TextPart

#: Pre-tokens whose lines are made at a time.
LINES_AT_ONCE = 1 << 16

#: Called with (phase, done, total): `count` in bytes of the sources, `merge-runs` in bytes of
#: counts that did not fit the memory and are merged, `merge` in ids of the vocabulary. The total is
#: None where it is not known. What it raises ends the training.
Progress = Callable[[str, int, int | None], None]


@dataclass(eq=False, repr=False)
class TextStats:
    """What went through the counter.

    documents, bytes: how many texts, and how long they are together, uncompressed.
    digest: SHA-256 in hexadecimal: of a single document that of its bytes; of a source of
        records that of its texts in their order, each after its length and how often it
        counts, as numbers of eight bytes, the least byte first; of several of either that of
        their list (`digest_of`). So it depends on the texts alone: not on how they are batched,
        compressed, or written (JSON Lines, a table).
    weights: of the sources, in their order; empty: all alike.
    scale: every count is that many times the weighted one, so that it is a whole number.
    again: reads the texts a second time and counts runs of these words; None if there are
        no texts to be read.
    """

    documents: int
    bytes: int
    digest: str
    weights: tuple[Fraction, ...] = ()
    scale: int = 1
    again: Callable[[_native.RunWords], _native.Counts] | None = None


class Engine(Protocol):
    """Counts texts somewhere else, such as `tokctl.ray.Cluster`."""

    def count(
        self,
        sources: Sequence[Source],
        recipe: Recipe,
        options: Options,
        progress: Progress | None = None,
    ) -> tuple[_native.Counts, TextStats]:
        """What `count` finds here, to the byte."""


def count(
    sources: Sequence[Source],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
) -> tuple[_native.Counts, TextStats]:
    """Counts the pre-tokens of all documents of all sources, in first-seen order.

    No pre-token crosses the end of a document. Of records, `options.sample` keeps or drops a
    document as a whole, as it does a line of a text; a batch's counts multiply the weight of
    their source; and a document that counts 0 times is not read.
    """
    weights, scale = weigh([source.name for source in sources], options.weights)
    least = scaled(least_count(recipe, options), scale)
    twice = recipe.traits.learns_superwords
    # stdin, pipes and downloads come once.
    kept = {
        number: _Recording(options.temporary)
        for number, source in enumerate(sources)
        if twice and not source.prompt
    }

    def read_all(words: _native.RunWords | None = None) -> _TextCounter:
        texts = _TextCounter(recipe, options, progress, total_size(sources), words)
        for number, source in enumerate(sources):
            weight = int(weights[number] * scale) if weights else 1
            if words is not None and number in kept:
                texts.replay(kept[number], weight)
            else:
                for _ in texts.read(source, weight, kept.get(number)):
                    pass
        return texts

    def count_runs(words: _native.RunWords) -> _native.Counts:
        again = read_all(words)
        if again.digests != texts.digests:
            raise TokctlError(
                "the texts have changed while they were read, and this algorithm reads them twice",
                "train again when nothing writes to them",
            )
        return finish(again.counter, 1, progress)

    texts = read_all()
    counts = finish(texts.counter, least, progress)
    read = TextStats(texts.documents, texts.bytes, digest_of(texts.digests), tuple(weights), scale)
    if twice:
        read.again = count_runs
    return counts, read


class PartCounts(NamedTuple):
    """What is in some parts of sources.

    Attributes:
        counts: weighted; none is dropped, however small.
        documents, bytes: as in `TextStats`; the part in which a document begins has it.
        digests: for each part those of its source; none where that is cut, and `digests_of` has to
            read it once more.
    """

    counts: _native.Counts
    documents: int
    bytes: int
    digests: list[list[str]]


def count_parts(
    parts: Sequence[tuple[SourcePart, int]],
    recipe: Recipe,
    options: Options,
    *,
    threads: int = 1,
    most: float = math.inf,
) -> Iterator[PartCounts]:
    """Counts what one process has: some parts, in the order of the sources, and how often each
    occurrence counts there. All parts together have what `count` finds.

    Args:
        most: bytes of the tables; when they have more, what was counted is given, and the rest
            without it. What is given later comes later in the texts. `documents`, `bytes` and
            `digests` are those of everything until then.

    Raises:
        TokctlError: as `count` raises it, with the same line or row.
    """
    check_parts(recipe, options)
    texts = _TextCounter(recipe, replace(options, threads=threads), None, None, None)
    digests: list[list[str]] = []
    for part, weight in parts:
        texts.digests = []
        reading = texts.read_part(part, weight) if part.places else texts.read(part.source, weight)
        try:
            for _ in reading:
                if texts.counter.memory() > most:
                    counts = _checked(texts.counter.take)
                    yield PartCounts(counts, texts.documents, texts.bytes, digests)
        except TokctlError:
            if part.places:
                # Line numbers are those of the whole source.
                digests_of(part.source, recipe, options)
            raise
        digests.append([] if part.places else texts.digests)
    yield PartCounts(finish(texts.counter, 1), texts.documents, texts.bytes, digests)


def digests_of(source: Source, recipe: Recipe, options: Options) -> list[str]:
    """What a source adds to the list that `TextStats.digest` is of; nothing is counted.

    Raises:
        TokctlError: the source can't be read, or is not UTF-8 where it must be.
    """
    texts = _TextCounter(recipe, options, None, None, None)
    for one in flat([source]):
        digest = hashlib.sha256()
        for _ in texts.ready(one, digest, lambda: 0):
            pass
        texts.digests.append(digest.hexdigest())
    return texts.digests


def check_parts(recipe: Recipe, options: Options) -> None:
    """TokctlError for what can't be counted in parts."""
    if recipe.traits.learns_superwords:
        raise TokctlError(
            f"{recipe.algorithm} is trained on one machine: it reads the texts twice",
            "leave --engine out, or take --algo bpe or superbpe",
        )
    if options.sample is not None:
        raise TokctlError(
            "a sample is drawn from line to line, and a cluster reads many lines at a time",
            "leave --sample out, or name fewer files",
        )


def least_count(recipe: Recipe, options: Options) -> int:
    """What a pre-token must be counted at least. Where a stage of the training splits further,
    `options.min_count` is for what it splits: hardly a line comes twice."""
    splits = any(stage.pre_tokenizers for stage in recipe.stages)
    return 1 if splits else options.min_count


def split_further(
    counts: _native.Counts, pre_tokenizers: Sequence[Part], options: Options, scale: int
) -> _native.Counts:
    """What the pre-tokens are when they are split further, counted."""
    if not pre_tokenizers:
        return counts
    threads = options.threads or available_threads()
    counter = _native.Counter(native_parts(pre_tokenizers), [], threads, **memory_limit(options))
    counter.feed_counts(counts)
    return finish(counter, scaled(options.min_count, scale))


class _TextCounter:
    """Counts sources one after the other, and keeps what a model's training record needs.

    Attributes:
        documents, bytes: read so far; bytes of text, however it lies there.
        digests: of each document that comes in blocks, and of each source of records.
    """

    def __init__(
        self,
        recipe: Recipe,
        options: Options,
        progress: Progress | None,
        total: int | None,
        words: _native.RunWords | None,
    ) -> None:
        """`words`: runs of them are counted, not pre-tokens."""
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
        self._before = 0  # bytes of the sources that are done, as they lie there
        self._recording: _Recording | None = None

    def replay(self, recording: _Recording, weight: int) -> None:
        """The same of a source that was recorded."""
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
        """Counts all documents of a source, each occurrence `weight` times; comes back after each
        block."""
        self.counter.set_weight(weight)
        self._recording = recording
        start = self.bytes
        tell = source.tell or (lambda: self.bytes - start)
        if isinstance(source, Archive):
            for member in source.members():
                yield from self._read_one(member, tell)
        else:
            yield from self._read_one(source, tell)
        self._before += tell() if source.size is None else source.size

    def read_part(self, part: SourcePart, weight: int) -> Iterator[None]:
        """The same of a part of a source, which has some; its first document may have begun in
        another, and its last may go on."""
        source = part.source
        assert not isinstance(source, Archive) and source.places
        self.counter.set_weight(weight)
        between = source.places().between
        if isinstance(source, Records):
            batches = partial(between, part.places, part.number)
            records = Records(source.name, None, batches, lambda: 0, unit=source.unit)
            yield from self._read_one(records, int)
            return
        text: TextPart = between(part.places, part.number, self.counter.cut)
        if not text.opens:
            self.counter.go_on()
        yield from self._read_one(Document(source.name, None, text.blocks), int, text)

    def ready(
        self, source: Document | Records, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[bytes | Batch, int], None, None]:
        """What is to be counted, checked and sampled, with how much has been read of all
        sources by then."""
        if isinstance(source, Document):
            return self._blocks(source, digest, tell)
        return self._batches(source, digest, tell)

    def _read_one(
        self, source: Document | Records, tell: Callable[[], int], piece: TextPart | None = None
    ) -> Iterator[None]:
        """`piece`: the source is a part of a document."""
        digest = hashlib.sha256()
        ready = self.ready(source, digest, tell)
        if self.threads > 1 and source.prompt and source.size and source.size > BLOCK_SIZE:
            ready = read_ahead(ready)
        with closing(ready):
            for part, done in ready:
                if self._recording:
                    self._recording.add(part)
                if isinstance(part, Batch):
                    self.counter.feed_documents(part.texts, part.counts)
                else:
                    self.counter.feed(part)
                if self._progress:
                    self._progress("count", Done(done, self.documents), self._total)
                yield
        if isinstance(source, Document):
            self.documents += piece is None or piece.opens
            if piece is None or piece.closes:
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
        """The blocks to be counted, and how much has been read of all sources by then."""

        def hashed() -> Generator[bytes, None, None]:
            for block in text.blocks():
                digest.update(block)
                self.bytes += len(block)
                yield block

        watched = Document(text.name, text.size, hashed)
        for block in check_utf8(watched, self._errors):
            kept = self._sampler.keep(block) if self._sampler else block
            yield kept, self._before + tell()

    def _batches(
        self, records: Records, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[Batch, int], None, None]:
        """The documents to be counted, and how much has been read of all sources by then.

        The digest is that of the texts, each after its length and its count: it is the same
        however they are batched, compressed or written.
        """
        for batch in records.batches():
            given = _without_unread(batch)
            digest.update(_native.framed(given.texts, given.counts))
            self.bytes += given.size
            self.documents += len(given.texts) - (given.counts or []).count(0)
            given = checked_batch(given, records, self._errors)
            yield self._sampled(given), self._before + tell()

    def _sampled(self, batch: Batch) -> Batch:
        if self._sampler is None:
            return batch
        texts, counts = batch.texts, batch.counts
        if counts is not None:
            texts = list(compress(texts, counts))
            counts = [count for count in counts if count]
        kept = self._sampler.choose(len(texts))
        return Batch(
            list(compress(texts, kept)), None if counts is None else list(compress(counts, kept))
        )


class _Recording:
    """What a source gave the counter, in a temporary file, to be counted once more.

    Attributes:
        digests: those of its texts.
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
        """A block, a batch, or None for the end of a document."""
        plain: Any = part
        if isinstance(part, Batch):
            counts = None if part.counts is None else list(part.counts)
            plain = list(map(bytes, part.texts)), counts
        data = marshal.dumps(plain)
        self._file.append(data)
        self._sizes.append(len(data))

    def parts(self) -> Iterator[bytes | tuple[list[bytes], list[int] | None] | None]:
        """What was added, a batch as its texts and counts."""
        at = 0
        for size in self._sizes:
            yield marshal.loads(self._file.read(at, size))
            at += size


def _without_unread(batch: Batch) -> Batch:
    """The batch, where a text that counts 0 times is empty: places keep their numbers."""
    if batch.counts is None or 0 not in batch.counts:
        return batch
    pairs = zip(batch.texts, batch.counts, strict=True)
    texts = [text if count else b"" for text, count in pairs]
    return Batch(texts, batch.counts, batch.first)


def digest_of(digests: Sequence[str]) -> str:
    """What a model's file has for the texts of these SHA-256: of a single text its own, of
    several that of their list, one on each line; in hexadecimal, empty for none."""
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def weigh(names: Sequence[str], given: Mapping[str, object]) -> tuple[list[Fraction], int]:
    """Each source's weight, and what all counts are multiplied with to be whole numbers:
    the least common multiple of the weights' denominators. No weights: ([], 1)."""
    if not given:
        return [], 1
    from fractions import Fraction

    known = {_spelled(name) for name in names}
    weights = {}
    for name, value in given.items():
        found = "stdin" if name == STDIN else _spelled(name)
        if found not in known:
            raise TokctlError(
                f"there is a weight for {name!r}, which is not read",
                f"weights are for the sources of this training: {', '.join(names[:20])}",
            )
        weights[found] = exact(f"the weight of {name}", value)  # type: ignore[arg-type]
    scale = math.lcm(*(weight.denominator for weight in weights.values()))
    if scale >= MOST or any(weight * scale >= MOST for weight in weights.values()):
        raise TokctlError(
            "the weights have no common measure that 64 bits can hold",
            "give weights with fewer decimals",
        )
    return [weights.get(_spelled(name), Fraction(1)) for name in names], scale


def _spelled(name: str) -> str:
    """A name in one of its spellings: `a.txt` is `./a.txt`, too."""
    return name if "://" in name else str(Path(name))


def scaled(threshold: int, scale: int) -> int:
    """A least count, in the scale of the counts. No count reaches 2^63; and a least count of
    1 drops nothing, even where weights make less of an occurrence."""
    return min(threshold * scale, MOST) if threshold > 1 else 1


def finish(
    counter: _native.Counter, least: int, progress: Progress | None = None
) -> _native.Counts:
    """The counts of at least `least`; TokctlError if one does not fit."""
    report = (lambda done, total: progress("merge-runs", done, total)) if progress else None
    return _checked(lambda: counter.finish(least, report))


def _checked(counts: Callable[[], _native.Counts]) -> _native.Counts:
    try:
        return counts()
    except CoreError as error:
        raise TokctlError(
            error.message, "train on less text, or give smaller weights or counts"
        ) from None


def count_mapping(
    words: Mapping[str, int] | Mapping[bytes, int] | _native.Counts,
    recipe: Recipe,
    options: Options,
) -> tuple[_native.Counts, TextStats]:
    """Pre-tokens that are counted already, in the order of the mapping."""
    refuse_text_options(options)
    if isinstance(words, _native.Counts):
        return _counted(words, recipe, options)
    if not isinstance(words, Mapping):
        raise TokctlError(f"the counts can't be {brief(words)}", "they are a dict: {'low': 5}")
    counter = _native.Counter("none", [], 1)
    digest = hashlib.sha256()
    size = 0
    for word, times in words.items():
        check_count(word, times)
        try:
            encoded = word.encode() if isinstance(word, str) else word
            if not recipe.is_byte_level:
                encoded.decode()
        except UnicodeError:
            raise _not_utf8(word) from None
        digest.update(b"%s\t%d\n" % (encoded, times))
        size += len(encoded)
        if times >= least_count(recipe, options):
            counter.add(encoded, times)
    read = TextStats(documents=1, bytes=size, digest=digest.hexdigest())
    return finish(counter, 1), read


def _counted(
    counts: _native.Counts, recipe: Recipe, options: Options
) -> tuple[_native.Counts, TextStats]:
    """What `count_lines` makes of the file of these counts."""
    if not recipe.is_byte_level and (word := counts.first_not_utf8()) is not None:
        raise _not_utf8(word)
    digest = hashlib.sha256()
    size = 0
    for start in range(0, len(counts), LINES_AT_ONCE):
        lines = counts.to_lines(start, start + LINES_AT_ONCE)
        digest.update(lines)
        size += len(lines)
    least = least_count(recipe, options)
    read = TextStats(documents=1, bytes=size, digest=digest.hexdigest())
    return counts if least == 1 else counts.at_least(least), read


def count_lines(
    document: Document, recipe: Recipe, options: Options, progress: Progress | None = None
) -> tuple[_native.Counts, TextStats]:
    r"""Pre-tokens with their counts, one `word<TAB>count` per line, in the order of the lines.

    The last tab of a line separates; `\n`, `\r`, `\t`, `\\` and `\xff` in the word are escapes.
    Counts of a word that comes more than once add up.

    Raises:
        TokctlError: names the file and the line that is not of this form.
    """
    refuse_text_options(options)
    characters = not recipe.is_byte_level
    counter, read = counted_lines(
        document, characters=characters, progress=progress, limit=memory_limit(options)
    )
    return finish(counter, least_count(recipe, options), progress), read


def counted_lines(
    document: Document,
    *,
    characters: bool,
    progress: Progress | None = None,
    limit: Mapping[str, Any] | None = None,
) -> tuple[_native.Counter, TextStats]:
    """The counts of a file's lines; its words must be UTF-8 where they are to be `characters`.
    `limit`: see `memory_limit`."""
    counter = _native.Counter("none", [], 1, **(limit or {}))
    lines = _native.CountLines(characters)
    digest = hashlib.sha256()
    done = 0
    try:
        for block in document.blocks():
            lines.feed(block, counter)
            digest.update(block)
            done += len(block)
            if progress:
                progress("count", document.tell() if document.tell else done, document.size)
        lines.end(counter)
    except CoreError as error:
        raise TokctlError(
            f"{document.name}: {error.message}",
            r"each line is a word, a tab and its count; \n, \r, \t, \\ and \xff in a word are "
            "escapes",
        ) from None
    return counter, TextStats(documents=1, bytes=done, digest=digest.hexdigest())


def counts_to_lines(
    counts: _native.Counts | Mapping[str, int] | Mapping[bytes, int],
) -> bytes:
    """The lines that `count_lines` reads, in the order of the counts."""
    if not isinstance(counts, Mapping):
        return counts.to_lines()
    counter = _native.Counter("none", [], 1)
    for word, times in counts.items():
        counter.add(word.encode() if isinstance(word, str) else word, times)
    return finish(counter, 0).to_lines()


def check_count(word: str | bytes, times: int) -> None:
    """TokctlError unless it is a word, and a count that it can have."""
    is_word = isinstance(word, (str, bytes)) and word
    if type(times) is not int or not 0 <= times < MOST or not is_word:
        raise TokctlError(
            f"the word {word!r} can't have the count {times!r}",
            "a count is a whole number from 0 to 2^63 - 1, of a word that is not empty",
        )


def _not_utf8(word: str | bytes) -> TokctlError:
    return TokctlError(
        f"the word {word!r} is not UTF-8, which this recipe needs",
        "read the text with --errors replace, or count it with a model of bytes",
    )


def refuse_text_options(options: Options) -> None:
    if options.weights or options.sample is not None:
        raise TokctlError(
            "weights and a sample are for texts, and these words are counted already",
            "leave them out, or change the counts",
        )


def memory_limit(options: Options) -> dict[str, Any]:
    """The counter's arguments for a limit of memory: the limit, and where the rest is stored."""
    if options.memory is None:
        return {}

    return {"memory": options.memory, "store": Spill(options.temporary)}


class Spill:
    """Gives the core room outside of memory: files without a name.

    On Linux they never have one; elsewhere they lose it at once. So whatever ends the process,
    nothing stays behind.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        """`folder`: where the files are made; None: the system's, as `tempfile` finds it."""
        self.folder = folder

    def scratch(self) -> Scratch:
        """A new file, empty. TokctlError if none can be made."""
        return Scratch(self.folder)


class Scratch:
    """One such file. Written at its end, read anywhere; it goes when nobody has it any more."""

    def __init__(
        self,
        folder: str | Path | None,
        *,
        what: str = "counts",
        hint: str = "they go there because of --memory: name a folder with more room in $TMPDIR, "
        "or allow more memory",
    ) -> None:
        """`what` goes there, and what to do where that fails: for messages."""
        self._end = 0
        self._folder = folder
        self._what, self._hint = what, hint
        try:
            self._folder = folder or gettempdir()
            # No buffer: blocks come large, and are read once.
            self._file = TemporaryFile(  # noqa: SIM115
                buffering=0, prefix=".tokctl-", dir=self._folder
            )
        except (OSError, ValueError) as error:
            self._fail(error)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def append(self, data: bytes) -> None:
        """Writes all of `data`, or raises TokctlError."""
        left = memoryview(data)
        try:
            self._file.seek(self._end)
            while left:
                written = self._file.write(left)
                self._end += written
                left = left[written:]
        except OSError as error:
            self._fail(error)

    def read(self, at: int, size: int) -> bytes:
        """The bytes from `at` on, fewer only where the file ends; TokctlError."""
        parts = []
        try:
            self._file.seek(at)
            while size and (part := self._file.read(size)):
                parts.append(part)
                size -= len(part)
        except OSError as error:
            self._fail(error)
        return b"".join(parts)

    def _fail(self, error: Exception) -> NoReturn:
        reason = getattr(error, "strerror", None) or str(error)
        raise TokctlError(
            f"can't keep {self._what} in a temporary file in {self._folder or 'any folder'}: "
            f"{reason}",
            self._hint,
        ) from None
