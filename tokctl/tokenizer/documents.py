"""The shared driver from sources to ids: it reads and checks documents, and feeds the encoder.

A source is a `Document`, one text in blocks, or `Records`, small texts in batches. A
`DocumentEncoder` holds the model and the options for reading texts:

- `encode` yields ids as digits or packed numbers while a source is read, for the command line and
  files of ids.
- `collect` puts ids into one array, for `Tokenizer.encode_file`.
- `DocumentFeed` takes one document from its caller, block by block, for counting, where several
  models share a source.
- `texts` yields batches of texts that are encoded one by one.

All of them split texts at the same points, check UTF-8 in the same way and name the line or row of
a character without an id. Memory does not grow with the sources.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from tokctl._native import NO_ID, IdCollector, IdWriter
from tokctl.core.errors import BadOption, CoreError, TokctlError
from tokctl.core.values import ProgressCount, cached_property
from tokctl.sources import (
    BLOCK_SIZE,
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
from tokctl.sources.blocks import whole_lines
from tokctl.tokenizer.encoding import no_id_error

if TYPE_CHECKING:
    from tokctl._native import IdArray, Matchers, TokenNames
    from tokctl.tokenizer import Special, Tokenizer

T = TypeVar("T")

#: progress(phase, done, total): bytes of the sources as stored; total is None if unknown.
Progress: TypeAlias = Callable[[str, int, int | None], None]

#: Bytes of text that one thread encodes at a time. Their output fits into the processor's cache,
#: and the system need not clear new memory.
FEED_SIZE = 1 << 18

#: Bytes of text in a batch of `DocumentEncoder.texts`. Python objects take far more memory than the
#: text, and small batches keep the output flowing.
TEXT_BATCH_SIZE = 1 << 16


class Encoded(NamedTuple):
    """A block of a source's ids, which follow the ids of the block before.

    Attributes:
        data: the ids in the output form.
        tokens: number of ids.
        ends: for each document that ends in this block, the number of the block's ids before its
            end. Empty for lines written as digits, because `data` contains their ends.
        position: where in the source encoding can resume to give these ids: a byte offset in a
            document's text, as the encoder received it, or a number of records.
    """

    data: bytes
    tokens: int
    ends: Sequence[int]
    position: int


class TextBatch(NamedTuple):
    """A batch of a source's texts, each of which is encoded on its own.

    Attributes:
        texts: the texts.
        first: number of the first text: of its record, or of the line in which it begins.
        unit: the unit that `first` counts for records, `line` or `row`; None for the lines of a
            text.
        position: see `Encoded`.
        ended: whether the last text is a line with a line feed.
    """

    texts: Sequence[bytes]
    first: int
    unit: str | None
    position: int
    ended: bool = False


@dataclass(eq=False)
class DocumentEncoder:
    """The model, the options and the progress of encoding documents.

    Attributes:
        tokenizer: the model's tokenizer.
        lines: whether each line of a `Document` is a text, without its line feed; otherwise the
            whole document is one text. A record is always one text.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: number of threads for each block or batch. The ids do not depend on it.
        bytes_read: bytes of all texts so far, before replacements.
        tokens: tokens of all texts so far; a caller of `texts` adds to it.
        line_is_open: whether the last byte read of a document is not a line feed.
    """

    tokenizer: Tokenizer
    lines: bool = False
    special: Special = "none"
    errors: str = "strict"
    threads: int = 1
    bytes_read: int = 0
    tokens: int = 0
    line_is_open: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @cached_property
    def matcher(self) -> Matchers | None:
        """Return the matcher of added tokens; None if there is nothing to find."""
        return self.tokenizer.special_matcher(self.special)

    @property
    def cuts(self) -> str:
        """Return where a document may be split: `lines`, `pieces` or `nowhere`.

        `lines`: at line feeds. `pieces`: where no pre-token crosses the split. `nowhere`: a
        normalizer or an added token could reach across any split.
        """
        if self.lines:
            return "lines"
        return "nowhere" if self.tokenizer.recipe.normalizers or self.matcher else "pieces"

    @property
    def utf8_errors(self) -> str | None:
        """Return `strict` or `replace` for invalid UTF-8; None if the model accepts any bytes."""
        return None if self.tokenizer.recipe.is_byte_level else self.errors

    # -- reading -------------------------------------------------------------------------

    def blocks(self, document: Document) -> Iterator[bytes]:
        """Yield the document's blocks, checked for this model.

        Raises:
            TokctlError: the model reads characters, and the text is not UTF-8.
        """

        def counted() -> Iterator[bytes]:
            for block in document.blocks():
                self.bytes_read += len(block)
                self.line_is_open = not block.endswith(b"\n")
                yield block

        return check_utf8(Document(document.name, document.size, counted), self.utf8_errors)

    def batches(
        self, source: Records, skipped: int = 0, size: int | None = None
    ) -> Iterator[tuple[int, Batch]]:
        """Yield batches of records, checked for this model, with the number of records before each.

        Args:
            source: the records.
            skipped: number of records to skip.
            size: bytes of a batch; None: batches as the source yields them.

        Raises:
            TokctlError: text is not UTF-8; names the line or row.
        """
        record_count = 0
        for full_batch in source.batches():
            for batch in (full_batch,) if size is None else _split_batch(full_batch, size):
                first = max(0, skipped - record_count)
                records_before, record_count = record_count + first, record_count + len(batch.texts)
                if first >= len(batch.texts):
                    continue
                if first:
                    batch = Batch(batch.texts[first:], None, batch.first + first)
                self.bytes_read += batch.size
                yield records_before, checked_batch(batch, source, self.utf8_errors)

    def texts(self, source: Document | Records, skipped: int = 0) -> Iterator[TextBatch]:
        """Yield the texts of a source in batches.

        Args:
            source: the source.
            skipped: the position (see `TextBatch`) to start from.
        """
        if isinstance(source, Records):
            for records_before, batch in self.batches(source, skipped, TEXT_BATCH_SIZE):
                yield TextBatch(batch.texts, batch.first, source.unit, records_before)
            return
        if not self.lines:
            yield TextBatch([b"".join(self.blocks(source))], 1, None, 0)
            return
        position, line = 0, 1
        for block in line_blocks(self.blocks(source), TEXT_BATCH_SIZE):
            if skip := min(max(0, skipped - position), len(block)):
                position, line = position + skip, line + block.count(b"\n", 0, skip)
                block = block[skip:]
            if block:
                ends_line = block.endswith(b"\n")
                lines = block[: -1 if ends_line else None].split(b"\n")
                yield TextBatch(lines, line, None, position, ends_line)
            position, line = position + len(block), line + block.count(b"\n")

    # -- to ids in the output form -------------------------------------------------------

    def encode(
        self,
        source: Document | Records,
        form: str | TokenNames,
        *,
        end_id: int | None = None,
        skipped: int = 0,
    ) -> Iterator[Encoded]:
        """Yield the ids of a source, block by block, while it is read.

        Args:
            source: the source.
            form: `decimal`: digits, separated by spaces, with one line per line or record;
                `16` or `32`: little-endian numbers of that many bits; or token names, in lines
                too.
            end_id: id to add after each text; None: no id.
            skipped: the position (see `Encoded`) to start from.

        Raises:
            TokctlError: the source can't be read, text is not UTF-8, or a character has no id;
                names the source and the line or row.
        """
        if isinstance(source, Records):
            encoded = self._encode_records(source, form, end_id, skipped)
        else:
            encoded = self._encode_document(source, form, end_id, skipped)
        for block in encoded:
            self.tokens += block.tokens
            yield block

    def _encode_document(
        self, document: Document, form: str | TokenNames, end_id: int | None, skipped: int
    ) -> Iterator[Encoded]:
        feed = DocumentFeed(self, document.name, form, end_id)
        position = fed = skipped
        for block in feed.skip_bytes(self.blocks(document), skipped):
            if feed.needs_whole:
                feed.feed(block)
                continue
            part = FEED_SIZE if self.threads == 1 else len(block)
            for start in range(0, len(block), part):
                end = min(start + part, len(block))
                data, count = feed.feed(block, start, end)
                yield Encoded(data, count, feed.ends(), position)
                fed += end - start
                position = fed - feed.pending_bytes
        data, count = feed.finish()
        yield Encoded(data, count, feed.ends() if self.lines else (count,), position)

    def _encode_records(
        self, source: Records, form: str | TokenNames, end_id: int | None, skipped: int
    ) -> Iterator[Encoded]:
        rows = self.tokenizer.encoder.rows
        for records_before, batch in self.batches(source, skipped):
            data, packed_ends, no_id_index = rows(
                batch.texts, self.threads, self.matcher, form, end_id
            )
            if no_id_index is not None:
                raise self.missing_id_error(
                    batch.texts[no_id_index], source.name, batch.first + no_id_index, source.unit
                )
            ends = array("q", packed_ends)
            yield Encoded(data, ends[-1] if ends else 0, ends, records_before)

    # -- to arrays -----------------------------------------------------------------------

    def collector(self, end_id: int | None, bits: int = 32) -> IdCollector:
        """Return an empty collector for ids, stored as numbers of 16 or 32 bits."""
        return IdCollector(
            self.tokenizer.encoder,
            self.matcher,
            cuts="lines" if self.lines else "pieces",
            threads=self.threads,
            separator=end_id,
            bits=bits,
        )

    def collect(
        self, collector: IdCollector, sources: Iterable[Source], *, ahead: bool = False
    ) -> Generator[None, None, None]:
        """Read the sources and put their ids into the collector; yield after each block.

        Args:
            collector: receives the ids.
            sources: the sources.
            ahead: whether, with several threads, another thread reads ahead while the generator is
                alive.

        Raises:
            TokctlError: see `encode`.
        """
        for source in flat(sources):
            reads_ahead = ahead and self.threads > 1 and source.prompt
            reads_ahead = reads_ahead and (source.size or 0) > BLOCK_SIZE
            if isinstance(source, Records):
                with closing(_maybe_ahead(self.batches(source), reads_ahead)) as batches:
                    for _, batch in batches:
                        self._collect_batch(collector, batch, source)
                        yield
                continue
            with closing(_maybe_ahead(self.blocks(source), reads_ahead)) as blocks:
                if self.cuts == "nowhere":
                    self._collect_batch(collector, Batch([b"".join(blocks)]), source)
                    yield
                    continue
                for block in blocks:
                    if no_id := collector.feed(block):
                        raise self.missing_id_error(no_id[1], source.name, 1 + no_id[0])
                    yield
                if no_id := collector.feed(b"", True):
                    raise self.missing_id_error(no_id[1], source.name, 1 + no_id[0])
                yield

    def _collect_batch(
        self, collector: IdCollector, batch: Batch, source: Document | Records
    ) -> None:
        try:
            collector.add(batch.texts)
        except CoreError as error:
            if error.kind != "no-id":
                raise
            index = error.details[0]
            unit = source.unit if isinstance(source, Records) else None
            raise self.missing_id_error(
                batch.texts[index], source.name, batch.first + index, unit
            ) from None

    # -- errors --------------------------------------------------------------------------

    def missing_id_error(
        self, text: bytes, name: str, number: int | None, unit: str | None = None
    ) -> TokctlError:
        """Return the error for the first character of a text that has no id.

        Args:
            text: the text.
            name: name of the source.
            number: with `unit`, the number of the text's line or row in the source. Without it,
                the line where the text starts, to which line feeds in the text are added. None:
                the name is enough.
            unit: unit of a source of records, `line` or `row`.
        """
        encoding = self.tokenizer.encode(text, special=self.special)
        index = encoding.raw_ids.index(NO_ID)
        if unit is not None:
            name += f": {unit} {number}"
        elif number is not None:
            number += text.count(b"\n", 0, encoding.offsets[index][0])
            name += f": line {number}"
        return no_id_error(f"{name}: {encoding.surfaces[index]!r}")


class DocumentFeed:
    """A document on its way through the native encoder: blocks go in, and ids come out.

    The blocks must be UTF-8 for a model that reads characters. The ids have the output form.

    Attributes:
        needs_whole: whether the whole document must be read before any ids come out.
    """

    def __init__(
        self,
        encoder: DocumentEncoder,
        name: str,
        form: str | TokenNames,
        end_id: int | None = None,
    ) -> None:
        """Create a feed for one document.

        Args:
            encoder: the model and its options.
            name: name of the document, for errors.
            form: see `DocumentEncoder.encode`; `counted`: write nothing.
            end_id: id to add after each line, or after a document that is one text.
        """
        cuts = encoder.cuts
        self.needs_whole = cuts == "nowhere"
        self._encoder = encoder
        self._name = name
        self._pending: list[bytes] = []
        self._lines = 0  # number of skipped lines
        self._has_ends = cuts == "lines" and form != "decimal"
        self._writer = IdWriter(
            encoder.tokenizer.encoder,
            encoder.matcher,
            cuts=cuts,
            form=form,
            threads=encoder.threads,
            last_id=end_id,
        )

    def feed(self, block: bytes, start: int = 0, end: int | None = None) -> tuple[bytes, int]:
        """Return the output for the ids that have become certain, and their number.

        Args:
            block: the next block of the document.
            start: offset in the block to start from.
            end: offset in the block to stop at; None: its end.

        Raises:
            TokctlError: a character has no id; the message names its line.
        """
        if self.needs_whole:
            self._pending.append(block)
            return b"", 0
        return self._encode_block(block, False, start, end)

    def finish(self) -> tuple[bytes, int]:
        """Return the remaining output and its number of ids, at the end of the document."""
        block = b"".join(self._pending)
        self._pending.clear()
        return self._encode_block(block, True)

    def ends(self) -> Sequence[int]:
        """Return where lines ended among the ids of the last output."""
        return array("q", self._writer.ends()) if self._has_ends else ()

    @property
    def pending_bytes(self) -> int:
        """Return the number of bytes whose ids are not certain yet."""
        return self._writer.waiting

    def skip_bytes(self, blocks: Iterable[bytes], skipped: int) -> Iterator[bytes]:
        """Yield the blocks after the first `skipped` bytes, counting skipped lines for errors."""
        for block in blocks:
            if skipped:
                cut = min(skipped, len(block))
                skipped -= cut
                self._lines += block.count(b"\n", 0, cut)
                block = block[cut:]
            if block:
                yield block

    def _encode_block(
        self, block: bytes, is_last: bool, start: int = 0, end: int | None = None
    ) -> tuple[bytes, int]:
        data, count, no_id = self._writer.feed(block, is_last, start, end)
        if no_id is not None:
            line, text = no_id
            raise self._encoder.missing_id_error(text, self._name, self._lines + 1 + line)
        return data, count


def _maybe_ahead(parts: Iterator[T], ahead: bool) -> Generator[T, None, None]:
    """Return an iterator of the parts, read by a thread of its own if `ahead` is true."""
    if ahead:
        from tokctl.sources.blocks import read_ahead

        return read_ahead(parts)
    return (part for part in parts)


def encode_to_array(
    encoder: DocumentEncoder, sources: Sequence[Source], end_id: int | None, bits: int = 32
) -> tuple[IdArray, array[int]]:
    """Return the ids of all documents in one array, and the offsets where each document begins."""
    collector = encoder.collector(end_id, bits)
    with closing(encoder.collect(collector, sources, ahead=True)) as steps:
        for _ in steps:
            pass
    ids, offsets = collector.take()
    return ids, array("q", offsets)


def encode_each(
    encoder: DocumentEncoder, sources: Sequence[Source], end_id: int | None, bits: int = 32
) -> Generator[IdArray, None, None]:
    """Yield the ids of each document."""
    collector = encoder.collector(end_id, bits)
    with closing(encoder.collect(collector, sources)) as steps:
        for _ in steps:
            if not collector.documents():
                continue
            ids, offsets = collector.take()
            if len(offsets) == 2 * 8:
                yield ids
                continue
            for start, end in pairwise(array("q", offsets)):
                yield ids[start:end]


def end_id(tokenizer: Tokenizer, token: str | int) -> int:
    """Return the id of the token that is added after each document.

    Args:
        tokenizer: the model's tokenizer.
        token: text of the token, or its id.

    Raises:
        TokctlError: the model has no such token.
    """
    if isinstance(token, int):
        if not 0 <= token < tokenizer.vocab_size:
            hint = f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
            raise BadOption(f"invalid value {token} for eos", hint, "bad-value")
        return token
    id_ = tokenizer.special_ids.get(token)
    if id_ is None:
        id_ = tokenizer.vocabulary.get(token)
    if id_ is None:
        names = ", ".join(list(tokenizer.special_ids)[:50])
        hint = (
            f"its special tokens are: {names}"
            if names
            else "this model has no special tokens: train one with --special-token '<|endoftext|>'"
        )
        raise BadOption(f"{token!r} is not a token of this model", hint, "unknown-name")
    return id_


def line_blocks(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the blocks of a text split after line feeds, up to `size` bytes or one line each."""
    for block in whole_lines(blocks):
        start = 0
        while start < len(block):
            end = start + size
            if end < len(block):
                end = block.rfind(b"\n", start, end) + 1 or block.find(b"\n", end) + 1 or len(block)
            yield block[start:end]
            start = end


def _split_batch(batch: Batch, size: int) -> Iterator[Batch]:
    """Yield the batch in parts of about `size` bytes or one text, without counts."""
    begin = length = 0
    for end, text in enumerate(batch.texts, 1):
        length += len(text)
        if length >= size or end == len(batch.texts):
            yield Batch(batch.texts[begin:end], None, batch.first + begin)
            begin, length = end, 0


class TrackedSources:
    """Sources that are read one after the other, with reports to `progress` in the phase `encode`.

    Attributes:
        documents, ids: numbers read so far, set by the caller; None if unknown.
    """

    documents: int | None = None
    ids: int | None = None

    def __init__(self, sources: Sequence[Source], progress: Progress | None = None) -> None:
        self.sources = sources
        self._progress = progress
        self._total = total_size(sources)
        self._done = 0  # bytes of sources that were read completely
        self._read = 0  # bytes read of a source that can't tell its position
        self._current: Source | None = None

    def each(
        self, first: int = 0, member: int = 0
    ) -> Iterator[tuple[int, int, Document | Records]]:
        """Yield each source with its number and its number in an archive, both from 0.

        Args:
            first: number of the source to start from.
            member: number of the member to start from, if this source is an archive.
        """
        self._done = sum(source.size or 0 for source in self.sources[:first])
        for number, source in enumerate(self.sources[first:], first):
            self._current, self._read = source, 0
            members = source.members() if isinstance(source, Archive) else iter((source,))
            for member_index, document in enumerate(members):
                if number > first or member_index >= member:
                    yield number, member_index, self._with_counted_blocks(document)
            self._done += self._bytes_of(source) if source.size is None else source.size
            self._current = None
            self.tell()

    def tell(self) -> None:
        """Report the progress."""
        if self._progress is not None:
            current_bytes = 0 if self._current is None else self._bytes_of(self._current)
            self._progress(
                "encode",
                ProgressCount(self._done + current_bytes, self.documents, self.ids),
                self._total,
            )

    def _bytes_of(self, source: Source) -> int:
        return self._read if source.tell is None else source.tell()

    def _with_counted_blocks(self, source: Document | Records) -> Document | Records:
        """Return the source; the blocks of a source that can't tell its position are counted."""
        if self._progress is None or isinstance(source, Records) or source.tell is not None:
            return source

        def counted() -> Iterator[bytes]:
            for block in source.blocks():
                self._read += len(block)
                yield block

        return source._replace(blocks=counted)
