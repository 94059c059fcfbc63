"""Counting the tokens of files, folders and archives, for one model or for several at once.

    from tokctl import count_tokens

    counts = count_tokens(["a.txt", "b.txt"], "gpt2.tokenizer.json")
    for row in counts.files:
        print(row.tokens[0], row.name)

`tokctl encode --count` shows these counts; see `docs/counting.md`. Every source is read once, and
its text goes to one counter per model.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import mul, sub
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.core.errors import BadOption, CoreError, TokctlError
from tokctl.core.values import ShortRepr
from tokctl.sources import Archive, Batch, Document, Records, Source, checked_batch, total_size
from tokctl.sources.document import Utf8Checker, check_errors
from tokctl.tokenizer.documents import DocumentEncoder, DocumentFeed, Progress

if TYPE_CHECKING:
    from tokctl.tokenizer import Special, Tokenizer
    from tokctl.tokenizer.model_names import ModelArgument
    from tokctl.tokenizer.postprocess import Truncation

__all__ = ["CountOptions", "FailedSource", "FileCount", "TokenCounts", "count_tokens", "rows"]


@dataclass(frozen=True, slots=True)
class FileCount:
    """The counts of one file, member of an archive, or standard input.

    Attributes:
        name: name of the source.
        tokens: number of tokens for each model, in the order of the models.
        bytes: bytes of text after decompression; for records, of the texts alone.
        documents: number of texts. A text file is one text; in JSON Lines and tables each record
            is one.
    """

    name: str
    tokens: tuple[int, ...]
    bytes: int
    documents: int


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source that could not be counted.

    Attributes:
        name: name of the source.
        error: the reason; its message names the file and, if known, the position.
    """

    name: str
    error: TokctlError


@dataclass(frozen=True, repr=False)
class TokenCounts(ShortRepr):
    """The counts of all sources.

    Attributes:
        models: names of the models, in the order of every row's `tokens`.
        files: a row for each source that could be counted, in the order of the sources.
        failures: the sources that could not be counted.
    """

    models: tuple[str, ...]
    files: list[FileCount]
    failures: list[FailedSource]

    @property
    def total(self) -> FileCount:
        """Return the sums of all rows, as a row with the name `total`."""
        return FileCount(
            "total",
            tuple(
                sum(row.tokens[index] for row in self.files) for index in range(len(self.models))
            ),
            sum(row.bytes for row in self.files),
            sum(row.documents for row in self.files),
        )

    @property
    def tokens(self) -> dict[str, int]:
        """Return the total number of tokens by model name."""
        return dict(zip(self.models, self.total.tokens, strict=True))


@dataclass(frozen=True)
class CountOptions:
    """Options for counting, with the names of `encode`'s options.

    Attributes:
        lines: whether each line of a file is a text, without its line feed; otherwise the whole
            file is one text. A record is always one text.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        add_special: whether to count the special tokens of the model's template around each text.
        max_length: most tokens per text, special tokens included; None: no limit.
        stride: number of tokens that adjacent windows share. With a stride, tokens beyond
            `max_length` are counted in windows; None: they are not counted.
        alpha: parameter of random segmentations (Unigram); None: the best segmentation.
        seed: random seed; text number n, from 0, uses `seed + n`.
        threads: number of threads for each block. The counts do not depend on it.

    Raises:
        TokctlError: an option is invalid, or two options conflict.
    """

    lines: bool = False
    special: Special = "none"
    errors: str = "strict"
    add_special: bool = False
    max_length: int | None = None
    stride: int | None = None
    alpha: float | None = None
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        check_errors(self.errors)
        if self.stride is not None and self.max_length is None:
            raise BadOption(
                "a stride is for windows of max_length", "also give max_length", "missing-option"
            )
        if self.stride is not None and self.alpha is not None:
            raise BadOption(
                "sampled segmentations have no windows", "leave alpha or the stride out", "conflict"
            )
        if self.threads < 1:
            raise BadOption(
                f"invalid value {self.threads} for threads",
                "give a whole number of at least 1",
                "bad-value",
            )

    @cached_property
    def truncation(self) -> Truncation | None:
        """Return the truncation to `max_length`; None without a limit."""
        if self.max_length is None:
            return None
        from tokctl.tokenizer.postprocess import Truncation

        return Truncation(self.max_length, self.stride or 0)


def count_tokens(
    sources: Sequence[str | Path | Source],
    models: Tokenizer | str | Path | Sequence[ModelArgument] | Mapping[str, Tokenizer],
    *,
    keep_going: bool = False,
    progress: Progress | None = None,
    lines: bool = False,
    special: Special = "none",
    errors: str = "strict",
    add_special: bool = False,
    max_length: int | None = None,
    stride: int | None = None,
    alpha: float | None = None,
    seed: int = 0,
    threads: int = 1,
) -> TokenCounts:
    """Count the tokens of each source with each model, reading every source only once.

    Args:
        sources: paths, as on the command line (text files, JSON Lines, tables, archives, folders;
            `-` is stdin), or sources of `tokctl.sources`.
        models: a tokenizer or the path of a model; a list of these, or of pairs (name,
            tokenizer); or tokenizers by name.
        keep_going: whether to add a source that can't be counted to `failures` and count the
            others, instead of raising the error.
        progress: called with the phase `count-tokens`, the bytes read so far as stored (compressed
            or not), and their total (None if it is not known).
        lines: see `CountOptions`.
        special: see `CountOptions`.
        errors: see `CountOptions`.
        add_special: see `CountOptions`.
        max_length: see `CountOptions`.
        stride: see `CountOptions`.
        alpha: see `CountOptions`.
        seed: see `CountOptions`.
        threads: see `CountOptions`.

    Raises:
        TokctlError: a source is missing or can't be counted; there is no model; options can't be
            combined.

    Example:
        >>> count_tokens(["book.txt"], "book.json").tokens
        {'book': 1200}
    """
    from tokctl.sources import opened

    options = CountOptions(
        lines, special, errors, add_special, max_length, stride, alpha, seed, threads
    )
    tokenizers = _named_models(models)
    counts = TokenCounts(tuple(tokenizers), [], [])
    for row in rows(opened(sources), list(tokenizers.values()), options, progress):
        if isinstance(row, FileCount):
            counts.files.append(row)
        elif keep_going:
            counts.failures.append(row)
        else:
            raise row.error
    return counts


def rows(
    sources: Sequence[Source],
    tokenizers: Sequence[Tokenizer],
    options: CountOptions | None = None,
    progress: Progress | None = None,
) -> Iterator[FileCount | FailedSource]:
    """Yield a row for each file and each member of an archive, as they are counted.

    Memory does not grow with their number.

    Args:
        sources: the sources to count.
        tokenizers: the models.
        options: how texts are counted; None: the defaults.
        progress: see `count_tokens`.

    Raises:
        TokctlError: the options do not fit a model; raised before anything is read.
    """
    options = options or CountOptions()
    counters = [TokenCounter(tokenizer, options) for tokenizer in tokenizers]
    return CountReader(counters, options.errors, progress).rows(sources)


def _named_models(
    models: Tokenizer | str | Path | Sequence[ModelArgument] | Mapping[str, Tokenizer],
) -> dict[str, Tokenizer]:
    if isinstance(models, Mapping):
        return dict(models)
    from tokctl.tokenizer.model_names import named_models

    if isinstance(models, (str, Path)) or not isinstance(models, Sequence):
        models = [models]
    return named_models(models)


_HINTS = {"too-large": "count it line by line, or cut it into smaller files"}


class CountReader:
    """A reader that counts one source after the other."""

    def __init__(
        self, counters: Sequence[TokenCounter], errors: str, progress: Progress | None
    ) -> None:
        self._counters = counters
        self._reads_characters = any(counter.reads_characters for counter in counters)
        self._errors = errors
        self._progress = progress
        self._done = 0  # stored bytes of earlier sources
        self._total: int | None = None

    def rows(self, sources: Sequence[Source]) -> Iterator[FileCount | FailedSource]:
        """Yield a row for each file and each member of an archive.

        A source that can't be counted becomes a `FailedSource`, and the others are still counted.
        """
        self._total = total_size(sources)
        for source in sources:
            if isinstance(source, Archive):
                yield from self._count_members(source)
                self._done += source.tell()
            else:
                yield self._count_source(source)
                self._done += self._source_bytes
            self._report_progress(self._done)

    def _report_progress(self, done: int) -> None:
        if self._progress is not None:
            self._progress("count-tokens", done, self._total)

    def _count_members(self, archive: Archive) -> Iterator[FileCount | FailedSource]:
        last_message = ""  # last error of a member, which a damaged archive would repeat
        try:
            for member in archive.members():
                row = self._count_source(member, archive)
                last_message = row.error.message if isinstance(row, FailedSource) else last_message
                yield row
        except TokctlError as error:
            if error.message != last_message:
                yield FailedSource(archive.name, error)

    def _count_source(
        self, source: Document | Records, archive: Archive | None = None
    ) -> FileCount | FailedSource:
        """Return one row.

        After an error, a member of an archive is read to its end, because the next member follows.
        """
        self._source_bytes = 0  # stored bytes of this source
        tell = archive.tell if archive else source.tell
        parts: Iterator[bytes | Batch] = iter(())
        try:
            if isinstance(source, Document):
                parts = blocks = source.blocks()
                return self._count_document(source.name, blocks, tell)
            parts = batches = source.batches()
            return self._count_records(source, batches, tell or source.tell)
        except CoreError as error:
            hint = _HINTS.get(error.kind, "count the other files without it")
            failure = FailedSource(
                source.name, error.reworded(f"{source.name}: {error.message}", hint)
            )
        except TokctlError as error:
            failure = FailedSource(source.name, error)
        if archive:
            _read_to_end(parts)
        return failure

    def _count_document(
        self, name: str, blocks: Iterator[bytes], tell: Callable[[], int] | None
    ) -> FileCount:
        counts = [counter.document(name) for counter in self._counters]
        checker = Utf8Checker(name, self._errors) if self._reads_characters else None
        size = 0
        for block in blocks:
            size += len(block)
            checked_block = checker.feed(block) if checker else block
            for count in counts:
                count.feed(checked_block if count.counter.reads_characters else block)
            self._source_bytes = tell() if tell else size
            self._report_progress(self._done + self._source_bytes)
        if checker and (rest := checker.end()):
            for count in counts:
                if count.counter.reads_characters:
                    count.feed(rest)
        return FileCount(name, tuple([count.finish() for count in counts]), size, 1)

    def _count_records(
        self, source: Records, batches: Iterator[Batch], tell: Callable[[], int]
    ) -> FileCount:
        tokens = [0] * len(self._counters)
        size = documents = 0
        for batch in batches:
            counts = batch.counts or [1] * len(batch.texts)
            size += sum(map(mul, map(len, batch.texts), counts))
            documents += sum(counts)
            checked = batch
            if self._reads_characters:
                checked = checked_batch(batch, source, self._errors)
            for index, counter in enumerate(self._counters):
                readable = checked if counter.reads_characters else batch
                tokens[index] += counter.records(readable, source)
            self._source_bytes = tell()
            self._report_progress(self._done + self._source_bytes)
        return FileCount(source.name, tuple(tokens), size, documents)


def _read_to_end(parts: Iterator[bytes | Batch]) -> None:
    try:
        for _ in parts:
            pass
    except TokctlError:
        pass  # already reported for the member, or about to be reported for the archive


class RowLengths:
    """The number of tokens of a text after truncation, with special tokens.

    Args:
        tokenizer: the model's tokenizer.
        options: the options for counting.

    Raises:
        TokctlError: `max_length` leaves no room for the text.
    """

    def __init__(self, tokenizer: Tokenizer, options: CountOptions) -> None:
        self.truncation = options.truncation
        self.counts_windows = options.stride is not None
        #: Whether any count differs from the number of tokens of the text alone.
        self.changes_counts = options.add_special or self.truncation is not None
        self.added = 0
        if options.add_special:
            self.added = tokenizer.post_processor.added_tokens_count()
        if self.truncation:
            self.truncation.room(self.added)

    def __call__(self, tokens: int) -> int:
        """Return the tokens of a text and its windows, for a text of `tokens` tokens."""
        if self.truncation is None:
            return tokens + self.added
        kept = self.truncation.lengths(tokens, None, self.added)[0]
        if kept == tokens or not self.counts_windows:
            return kept + self.added
        if kept == 0:  # only the special tokens fit: the whole text is the one window
            return tokens + 2 * self.added
        rows = self.truncation.ranges(tokens, kept)
        return sum(end - start + self.added for start, end in rows)


#: Return the position of a text in its source, from its index in the current batch.
_Locate = Callable[[int], str]


class TokenCounter:
    """A counter of the tokens of texts, for one model."""

    def __init__(self, tokenizer: Tokenizer, options: CountOptions) -> None:
        """Create a counter.

        Raises:
            TokctlError: the options do not fit the model.
        """
        if options.alpha is not None:
            tokenizer.sample(b"", alpha=options.alpha, seed=options.seed)  # raises an error now
        self.tokenizer = tokenizer
        self.options = options
        self.lengths = RowLengths(tokenizer, options)
        #: Encoder of the model's documents.
        self.documents = DocumentEncoder(
            tokenizer,
            lines=options.lines,
            special=options.special,
            errors=options.errors,
            threads=options.threads,
        )
        _ = self.documents.matcher  # raises the error for an unknown special token first
        self._samples_drawn = 0  # number of texts with a random segmentation so far

    @property
    def reads_characters(self) -> bool:
        """Return whether the model's texts must be UTF-8."""
        return self.documents.utf8_errors is not None

    def document(self, name: str) -> BlockCount | TextCount:
        """Return a counter for one document with this name, which arrives in blocks."""
        options = self.options
        changes_lines = self.lengths.changes_counts and options.lines
        kind = TextCount if options.alpha is not None or changes_lines else BlockCount
        return kind(self, name)

    def records(self, batch: Batch, source: Records) -> int:
        """Return the tokens of a batch of records, each multiplied by its count."""
        name, unit = source.name, source.unit
        counts = self.texts(batch.texts, lambda text: f"{name}: {unit} {batch.first + text}")
        return sum(counts if batch.counts is None else map(mul, counts, batch.counts))

    def texts(self, texts: Sequence[bytes], locate: _Locate) -> Iterable[int]:
        """Return the number of tokens of each text.

        Args:
            texts: the texts.
            locate: returns the position of a text for an error, from its index.

        Raises:
            TokctlError: a character has no id.
        """
        if self.options.alpha is not None:
            return (self._count_sampled(text, locate(number)) for number, text in enumerate(texts))
        encoder, matcher = self.tokenizer.encoder, self.documents.matcher
        must_have_ids = self.tokenizer.must_have_ids
        try:
            _, packed_offsets = encoder.batch_array(
                texts, self.options.threads, matcher, None, must_have_ids
            )
        except CoreError as error:
            if error.kind != "no-id":
                raise
            text = error.details[0]
            raise self.documents.missing_id_error(texts[text], locate(text), None) from None
        offsets = array("q", packed_offsets)
        counts = map(sub, islice(offsets, 1, None), offsets)
        return map(self.lengths, counts) if self.lengths.changes_counts else counts

    def _count_sampled(self, text: bytes, location: str) -> int:
        seed = (self.options.seed + self._samples_drawn) % 2**64
        self._samples_drawn += 1
        ids = self.tokenizer.sample(text, alpha=self.options.alpha or 0.0, seed=seed)
        if self.tokenizer.unk_id is None and NO_ID in ids:
            raise self.documents.missing_id_error(text, location, None)
        return self.lengths(len(ids))


class BlockCount:
    """A counter for a document in blocks, which never needs a whole text in memory."""

    def __init__(self, counter: TokenCounter, name: str) -> None:
        self.counter = counter
        self._feed = DocumentFeed(counter.documents, name, "counted")
        self._tokens = 0

    def feed(self, block: bytes) -> None:
        """Count a block.

        Raises:
            TokctlError: a character has no id; the message names its line.
        """
        self._tokens += self._feed.feed(block)[1]

    def finish(self) -> int:
        """Return the number of tokens, at the end of the document.

        Raises:
            TokctlError: a character has no id; the message names its line.
        """
        tokens = self._tokens + self._feed.finish()[1]
        return tokens if self.counter.options.lines else self.counter.lengths(tokens)


class TextCount:
    """A counter for a document that counts text by text, each line or the whole document.

    It is needed if special tokens, truncation or random segmentations apply to each text. `feed`
    and `finish` are like those of `BlockCount`.
    """

    def __init__(self, counter: TokenCounter, name: str) -> None:
        self.counter = counter
        self._name = name
        self._whole = not counter.options.lines
        self._waiting: list[bytes] = []  # parts of the current text, joined once at its end
        self._lines = 0  # number of complete lines
        self._tokens = 0

    def feed(self, block: bytes) -> None:
        """Count the lines that end in a block."""
        end = 0 if self._whole else block.rfind(b"\n") + 1
        if not end:
            self._waiting.append(block)
            return
        self._count(b"".join((*self._waiting, block[: end - 1])).split(b"\n"))
        self._waiting = [block[end:]] if end < len(block) else []

    def finish(self) -> int:
        """Return the number of tokens, at the end of the document."""
        if self._whole or self._waiting:
            self._count([b"".join(self._waiting)])
        return self._tokens

    def _count(self, texts: list[bytes]) -> None:
        name, first = self._name, 1 + self._lines
        self._lines += len(texts)
        self._tokens += sum(
            self.counter.texts(
                texts, lambda text: name if self._whole else f"{name}: line {first + text}"
            )
        )
