"""Reads sources once, and gives what is read to a counter for each model."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from operator import mul

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.sources import (
    Archive,
    Batch,
    Document,
    Records,
    Source,
    checked_batch,
    invalid_utf8,
    total_size,
)
from tokctl.tokenizer.token_counts.counters import Counter
from tokctl.tokenizer.token_counts.results import Failure, FileCount

#: Called with a phase, how much of it is done, and of how much (None: not known).
Progress = Callable[[str, int, int | None], None]

_PHASE = "count-tokens"
_HINTS = {"too-large": "count it line by line, or cut it into smaller files"}


class Reader:
    """Counts source after source."""

    def __init__(self, counters: Sequence[Counter], errors: str, progress: Progress) -> None:
        self._bytewise = [each for each in counters if not each.reads_characters]
        self._characterwise = [each for each in counters if each.reads_characters]
        self._counters = counters
        self._errors = errors
        self._progress = progress
        self._done = 0  # bytes of earlier sources, as they lie there
        self._total: int | None = None

    def rows(self, sources: Sequence[Source]) -> Iterator[FileCount | Failure]:
        """A row for each file and each member of an archive. What goes wrong in one is a row
        of its own, and the others are counted."""
        self._total = total_size(sources)
        for source in sources:
            if isinstance(source, Archive):
                yield from self._members(source)
                self._done += source.tell()
            else:
                yield self._row(source)
                self._done += self._read
            self._progress(_PHASE, self._done, self._total)

    def _members(self, archive: Archive) -> Iterator[FileCount | Failure]:
        said = ""  # where the archive itself breaks off, its member says it first
        try:
            for member in archive.members():
                row = self._row(member, archive)
                said = row.error.message if isinstance(row, Failure) else said
                yield row
        except TokctlError as error:
            if error.message != said:
                yield Failure(archive.name, error)

    def _row(
        self, source: Document | Records, archive: Archive | None = None
    ) -> FileCount | Failure:
        """One row. What cannot be counted is read to its end all the same: the next member of
        an archive is behind it."""
        self._read = 0  # bytes of this source, as they lie there
        tell = archive.tell if archive else source.tell
        parts: Iterator[bytes | Batch] = iter(())
        try:
            if isinstance(source, Document):
                parts = blocks = source.blocks()
                return self._document(source.name, blocks, tell)
            parts = batches = source.batches()
            return self._records(source, batches, tell)
        except TokctlError as error:
            failure = Failure(source.name, error)
        except _native.CoreError as error:
            hint = _HINTS.get(error.args[1], "count the other files without it")
            failure = Failure(source.name, TokctlError(f"{source.name}: {error.args[0]}", hint))
        for counter in self._counters:
            counter.reset()
        if archive:
            _drain(parts)
        return failure

    def _document(
        self, name: str, blocks: Iterator[bytes], tell: Callable[[], int] | None
    ) -> FileCount:
        tokens = dict.fromkeys(self._counters, 0)
        size = 0
        check = _Utf8(name, self._errors)
        for block in blocks:
            size += len(block)
            for counter in self._bytewise:
                tokens[counter] += counter.feed(block, name)
            if self._characterwise:
                checked = check.feed(block)
                for counter in self._characterwise:
                    tokens[counter] += counter.feed(checked, name)
            self._read = tell() if tell else size
            self._progress(_PHASE, self._done + self._read, self._total)
        if self._characterwise and (rest := check.end()):
            for counter in self._characterwise:
                tokens[counter] += counter.feed(rest, name)
        for counter in self._counters:
            tokens[counter] += counter.end(name)
        return FileCount(name, tuple(tokens.values()), size, 1)

    def _records(
        self, source: Records, batches: Iterator[Batch], tell: Callable[[], int] | None
    ) -> FileCount:
        tokens = dict.fromkeys(self._counters, 0)
        size = documents = 0
        for batch in batches:
            sizes = map(len, batch.texts)
            if batch.counts is None:
                size, documents = size + sum(sizes), documents + len(batch.texts)
            else:
                size += sum(map(mul, sizes, batch.counts))
                documents += sum(batch.counts)
            for counter in self._bytewise:
                tokens[counter] += counter.records(batch, source.name, source.unit)
            if self._characterwise:
                batch = checked_batch(batch, source.name, self._errors, source.unit)
                for counter in self._characterwise:
                    tokens[counter] += counter.records(batch, source.name, source.unit)
            self._read = (tell or source.tell)()
            self._progress(_PHASE, self._done + self._read, self._total)
        return FileCount(source.name, tuple(tokens.values()), size, documents)


def _drain(parts: Iterator[bytes | Batch]) -> None:
    try:
        for _ in parts:
            pass
    except TokctlError:
        pass  # it has been told already, or the archive tells it


class _Utf8:
    """Checks text that comes in blocks to be UTF-8, for the models that read characters."""

    def __init__(self, name: str, errors: str) -> None:
        self._name = name
        self._check = _native.Utf8Check() if errors == "strict" else None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, block: bytes) -> bytes:
        """The block, or with `replace` what it has become.

        Raises:
            TokctlError: with `strict`, where it is not UTF-8.
        """
        if self._check is None:
            return self._decoder.decode(block).encode()
        if place := self._check.feed(block):
            raise invalid_utf8(self._name, *place)
        return block

    def end(self) -> bytes:
        """What the end of the text adds."""
        if self._check is None:
            return self._decoder.decode(b"", True).encode()
        if place := self._check.end():
            raise invalid_utf8(self._name, *place)
        return b""
