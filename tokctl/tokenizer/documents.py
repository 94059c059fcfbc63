"""From sources to ids: the one driver that reads documents, checks them and feeds the encoder.

A source is a `Document`, one text in blocks, or `Records`, small texts in batches. A
`DocumentEncoder` knows the model and how text is read for it:

- `encode` gives the ids as they are written, as digits or as packed numbers, while a source is
  read: for the command line and files of ids.
- `collect` puts them into one array: for `Tokenizer.encode_file`.
- `DocumentFeed` is one document that someone else reads, block by block: for counting, where
  several models share what is read.
- `texts` gives the texts themselves, some at a time, where each is encoded on its own.

All of them cut texts in the same places, check UTF-8 in the same way and name the line or the
row of a character without an id. Memory does not grow with the sources.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from tokctl._native import NO_ID, IdCollector, IdWriter
from tokctl.errors import CoreError, TokctlError
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
from tokctl.values import Done, cached_property

if TYPE_CHECKING:
    from tokctl._native import IdArray, Matchers, TokenNames
    from tokctl.tokenizer import Special, Tokenizer

T = TypeVar("T")

#: progress(phase, done, total): bytes of the sources as they lie there; None: not known.
Progress: TypeAlias = Callable[[str, int, int | None], None]

#: Bytes of text that one thread encodes at a time: what is written for them fits into the
#: processor's cache, and the system has no new memory to clear.
PART = 1 << 18

#: Bytes of texts that `DocumentEncoder.texts` gives at a time: what Python makes of a text takes
#: far more room than the text, and nobody waits long for the output.
PORTION = 1 << 16


class Encoded(NamedTuple):
    """Some ids of a source, which follow those before.

    Attributes:
        data: the ids as they are written.
        tokens: how many there are.
        ends: for each document that ends here, how many of these ids stand before its end.
            Empty for lines that are written as digits: they end in `data`.
        position: where in the source encoding can begin again to give these ids: bytes of a
            document's text, as the encoder was given it, or records.
    """

    data: bytes
    tokens: int
    ends: Sequence[int]
    position: int


class TextBatch(NamedTuple):
    """Some texts of a source, each to be encoded on its own.

    Attributes:
        first: number of the first one in its source: of a record, or of the line it begins in.
        unit: what `first` counts in a source of records: `line` or `row`; None: lines of a text.
        position: as in `Encoded`.
        ended: the last one is a line with a line feed.
    """

    texts: Sequence[bytes]
    first: int
    unit: str | None
    position: int
    ended: bool = False


@dataclass(eq=False)
class DocumentEncoder:
    """How documents become ids.

    Attributes:
        lines: each line of a `Document` is a text, without its line feed; else all of it is one.
            A record is one text in any case.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: share out each block, or the texts of a batch. The ids don't depend on it.
        bytes_read: of all texts so far, as they were before any replacement.
        tokens: of all texts so far; whoever takes `texts` adds to it.
        line_is_open: the last byte that was read of a document is not a line feed.
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
        """What finds the added tokens."""
        return self.tokenizer.special_matcher(self.special)

    @property
    def cuts(self) -> str:
        """Where a document may be cut: between `lines`; between `pieces`, where no pre-token is;
        `nowhere`, where a normalizer or an added token could reach over the cut."""
        if self.lines:
            return "lines"
        return "nowhere" if self.tokenizer.recipe.normalizers or self.matcher else "pieces"

    @property
    def utf8_errors(self) -> str | None:
        """What is done about text that is not UTF-8: `strict`, `replace`, or nothing."""
        return None if self.tokenizer.recipe.is_byte_level else self.errors

    # -- reading -------------------------------------------------------------------------

    def blocks(self, document: Document) -> Iterator[bytes]:
        """The document's blocks, which this model can read; TokctlError if it can't."""

        def counted() -> Iterator[bytes]:
            for block in document.blocks():
                self.bytes_read += len(block)
                self.line_is_open = not block.endswith(b"\n")
                yield block

        return check_utf8(Document(document.name, document.size, counted), self.utf8_errors)

    def batches(
        self, source: Records, skipped: int = 0, size: int | None = None
    ) -> Iterator[tuple[int, Batch]]:
        """The records in batches, which this model can read, and how many stand before each.

        Args:
            skipped: records that are passed over.
            size: bytes of a batch; None: as the source gives them.

        Raises:
            TokctlError: text that is not UTF-8, naming line or row.
        """
        done = 0
        for whole in source.batches():
            for batch in (whole,) if size is None else _smaller(whole, size):
                first = max(0, skipped - done)
                before, done = done + first, done + len(batch.texts)
                if first >= len(batch.texts):
                    continue
                if first:
                    batch = Batch(batch.texts[first:], None, batch.first + first)
                self.bytes_read += batch.size
                yield before, checked_batch(batch, source, self.utf8_errors)

    def texts(self, source: Document | Records, skipped: int = 0) -> Iterator[TextBatch]:
        """The texts of a source, some at a time.

        Args:
            skipped: the position (of `TextBatch`) to begin from.
        """
        if isinstance(source, Records):
            for before, batch in self.batches(source, skipped, PORTION):
                yield TextBatch(batch.texts, batch.first, source.unit, before)
            return
        if not self.lines:
            yield TextBatch([b"".join(self.blocks(source))], 1, None, 0)
            return
        position, line = 0, 1
        for block in line_blocks(self.blocks(source), PORTION):
            if left := min(max(0, skipped - position), len(block)):
                position, line = position + left, line + block.count(b"\n", 0, left)
                block = block[left:]
            if block:
                ended = block.endswith(b"\n")
                found = block[: -1 if ended else None].split(b"\n")
                yield TextBatch(found, line, None, position, ended)
            position, line = position + len(block), line + block.count(b"\n")

    # -- to ids as they are written ------------------------------------------------------

    def encode(
        self,
        source: Document | Records,
        form: str | TokenNames,
        *,
        end_id: int | None = None,
        skipped: int = 0,
    ) -> Iterator[Encoded]:
        """The ids of a source as it is read.

        Args:
            form: `decimal`: digits, a space between, each line or record on a line of its own;
                `16` or `32`: little-endian numbers of so many bits; or names of tokens, on lines,
                too.
            end_id: stands after the ids of each text; None: nothing does.
            skipped: the position (of `Encoded`) to begin from.

        Raises:
            TokctlError: naming the source and the line or row: text that is not UTF-8, a
                character that has no id, a source that can't be read.
        """
        if isinstance(source, Records):
            found = self._encode_records(source, form, end_id, skipped)
        else:
            found = self._encode_document(source, form, end_id, skipped)
        for some in found:
            self.tokens += some.tokens
            yield some

    def _encode_document(
        self, document: Document, form: str | TokenNames, end_id: int | None, skipped: int
    ) -> Iterator[Encoded]:
        feed = DocumentFeed(self, document.name, form, end_id)
        position = given = skipped
        for block in feed.rest(self.blocks(document), skipped):
            if feed.waits:
                feed.feed(block)
                continue
            part = PART if self.threads == 1 else len(block)
            for start in range(0, len(block), part):
                end = min(start + part, len(block))
                data, count = feed.feed(block, start, end)
                yield Encoded(data, count, feed.ends(), position)
                given += end - start
                position = given - feed.held_back
        data, count = feed.finish()
        yield Encoded(data, count, feed.ends() if self.lines else (count,), position)

    def _encode_records(
        self, source: Records, form: str | TokenNames, end_id: int | None, skipped: int
    ) -> Iterator[Encoded]:
        rows = self.tokenizer.encoder.rows
        for before, batch in self.batches(source, skipped):
            data, packed, lacking = rows(batch.texts, self.threads, self.matcher, form, end_id)
            if lacking is not None:
                raise self.no_id(
                    batch.texts[lacking], source.name, batch.first + lacking, source.unit
                )
            ends = array("q", packed)
            yield Encoded(data, ends[-1] if ends else 0, ends, before)

    # -- to arrays -----------------------------------------------------------------------

    def collector(self, end_id: int | None, bits: int = 32) -> IdCollector:
        """Something empty to collect ids in, as numbers of 16 or 32 bits."""
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
        """Reads the sources, and puts the ids of what was read into the collector; each time
        it has done some it says so.

        `ahead`: with threads, another one reads ahead as long as the generator lives.
        """
        for source in flat(sources):
            reads_ahead = ahead and self.threads > 1 and source.prompt
            reads_ahead = reads_ahead and (source.size or 0) > BLOCK_SIZE
            if isinstance(source, Records):
                with closing(_ready(self.batches(source), reads_ahead)) as batches:
                    for _, batch in batches:
                        self._add(collector, batch, source)
                        yield
                continue
            with closing(_ready(self.blocks(source), reads_ahead)) as blocks:
                if self.cuts == "nowhere":
                    self._add(collector, Batch([b"".join(blocks)]), source)
                    yield
                    continue
                for block in blocks:
                    if found := collector.feed(block):
                        raise self.no_id(found[1], source.name, 1 + found[0])
                    yield
                if found := collector.feed(b"", True):
                    raise self.no_id(found[1], source.name, 1 + found[0])
                yield

    def _add(self, collector: IdCollector, batch: Batch, source: Document | Records) -> None:
        try:
            collector.add(batch.texts)
        except CoreError as error:
            if error.kind != "no-id":
                raise
            place = error.details[0]
            unit = source.unit if isinstance(source, Records) else None
            raise self.no_id(batch.texts[place], source.name, batch.first + place, unit) from None

    # -- errors --------------------------------------------------------------------------

    def no_id(
        self, text: bytes, name: str, number: int | None, unit: str | None = None
    ) -> TokctlError:
        """The error for the first character of a text that has no id.

        Args:
            name: of the source.
            number: with a `unit`, that of the text among the source's lines or rows; else the
                line that the text starts in, to which its own line feeds are added. None: the
                name says all.
        """
        encoding = self.tokenizer.encode(text, special=self.special)
        lacking = encoding.raw_ids.index(NO_ID)
        if unit is not None:
            name += f": {unit} {number}"
        elif number is not None:
            number += text.count(b"\n", 0, encoding.offsets[lacking][0])
            name += f": line {number}"
        return no_id_error(f"{name}: {encoding.surfaces[lacking]!r}")


class DocumentFeed:
    """One document on its way through the native encoder: blocks go in, which must be UTF-8 for
    a model that reads characters, and what is written for their ids comes out.

    Attributes:
        waits: all of the document must be there before anything comes out.
    """

    def __init__(
        self,
        encoder: DocumentEncoder,
        name: str,
        form: str | TokenNames,
        end_id: int | None = None,
    ) -> None:
        """`end_id` stands after each line, or behind a document that is one text. With the form
        `counted`, nothing is written."""
        cuts = encoder.cuts
        self.waits = cuts == "nowhere"
        self._encoder = encoder
        self._name = name
        self._waiting: list[bytes] = []
        self._lines = 0  # that were passed over
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
        """What is written for the ids that are certain now, and their number.

        Raises:
            TokctlError: a character has no id; the message names its line.
        """
        if self.waits:
            self._waiting.append(block)
            return b"", 0
        return self._fed(block, False, start, end)

    def finish(self) -> tuple[bytes, int]:
        """What is left, at the end of the document."""
        block = b"".join(self._waiting)
        self._waiting.clear()
        return self._fed(block, True)

    def ends(self) -> Sequence[int]:
        """Where lines have ended among the ids that came out last."""
        return array("q", self._writer.ends()) if self._has_ends else ()

    @property
    def held_back(self) -> int:
        """Bytes of the text whose ids are not certain yet."""
        return self._writer.waiting

    def rest(self, blocks: Iterable[bytes], skipped: int) -> Iterator[bytes]:
        """The blocks after the first `skipped` bytes, whose lines count for errors."""
        for block in blocks:
            if skipped:
                passed = min(skipped, len(block))
                skipped -= passed
                self._lines += block.count(b"\n", 0, passed)
                block = block[passed:]
            if block:
                yield block

    def _fed(
        self, block: bytes, last: bool, start: int = 0, end: int | None = None
    ) -> tuple[bytes, int]:
        data, count, lacking = self._writer.feed(block, last, start, end)
        if lacking is not None:
            line, text = lacking
            raise self._encoder.no_id(text, self._name, self._lines + 1 + line)
        return data, count


def _ready(parts: Iterator[T], ahead: bool) -> Generator[T, None, None]:
    """The parts, by a thread of their own where that is asked for."""
    if ahead:
        from tokctl.sources.blocks import read_ahead

        return read_ahead(parts)
    return (part for part in parts)


def arrays(
    encoder: DocumentEncoder, sources: Sequence[Source], end_id: int | None, bits: int = 32
) -> tuple[IdArray, array[int]]:
    """The ids of all documents end to end, and where those of each begin."""
    collector = encoder.collector(end_id, bits)
    with closing(encoder.collect(collector, sources, ahead=True)) as steps:
        for _ in steps:
            pass
    ids, offsets = collector.take()
    return ids, array("q", offsets)


def each(
    encoder: DocumentEncoder, sources: Sequence[Source], end_id: int | None, bits: int = 32
) -> Generator[IdArray, None, None]:
    """The ids of one document after the other."""
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
    """The id of the token that stands after each document, by its text or its id.

    Raises:
        TokctlError: the model has no such token.
    """
    if isinstance(token, int):
        if not 0 <= token < tokenizer.vocab_size:
            hint = f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
            raise TokctlError(f"eos can't be the id {token}", hint)
        return token
    found = tokenizer.special_ids.get(token)
    if found is None:
        found = tokenizer.vocabulary.get(token)
    if found is None:
        known = ", ".join(list(tokenizer.special_ids)[:50])
        hint = (
            f"its special tokens are: {known}"
            if known
            else "it has no special token at all: train it with --special-token '<|endoftext|>'"
        )
        raise TokctlError(f"{token!r} is no token of this model", hint)
    return found


def line_blocks(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The blocks of a text, cut behind line feeds into such of up to `size` bytes or one line."""
    for block in whole_lines(blocks):
        start = 0
        while start < len(block):
            end = start + size
            if end < len(block):
                end = block.rfind(b"\n", start, end) + 1 or block.find(b"\n", end) + 1 or len(block)
            yield block[start:end]
            start = end


def _smaller(batch: Batch, size: int) -> Iterator[Batch]:
    """The batch in such of `size` bytes, or one text; without counts."""
    begin = length = 0
    for end, text in enumerate(batch.texts, 1):
        length += len(text)
        if length >= size or end == len(batch.texts):
            yield Batch(batch.texts[begin:end], None, batch.first + begin)
            begin, length = end, 0


class TrackedSources:
    """Sources that are read one after the other; `progress` is told of the phase `encode` and
    how far it is.

    Attributes:
        documents, ids: in what was read so far; whoever knows them sets them.
    """

    documents: int | None = None
    ids: int | None = None

    def __init__(self, sources: Sequence[Source], progress: Progress | None = None) -> None:
        self.sources = sources
        self._progress = progress
        self._total = total_size(sources)
        self._done = 0  # bytes of sources that were read to their end
        self._read = 0  # of a source that can't tell
        self._now: Source | None = None

    def each(
        self, first: int = 0, member: int = 0
    ) -> Iterator[tuple[int, int, Document | Records]]:
        """The sources from number `first` on, an archive's from its number `member` on: both
        numbers, from 0, and the source."""
        self._done = sum(source.size or 0 for source in self.sources[:first])
        for number, source in enumerate(self.sources[first:], first):
            self._now, self._read = source, 0
            members = source.members() if isinstance(source, Archive) else iter((source,))
            for place, one in enumerate(members):
                if number > first or place >= member:
                    yield number, place, self._counted(one)
            self._done += self._bytes_of(source) if source.size is None else source.size
            self._now = None
            self.tell()

    def tell(self) -> None:
        """Says how far it is."""
        if self._progress is not None:
            now = 0 if self._now is None else self._bytes_of(self._now)
            self._progress("encode", Done(self._done + now, self.documents, self.ids), self._total)

    def _bytes_of(self, source: Source) -> int:
        return self._read if source.tell is None else source.tell()

    def _counted(self, source: Document | Records) -> Document | Records:
        """The source; of one that can't tell how much was read, the blocks are counted."""
        if self._progress is None or isinstance(source, Records) or source.tell is not None:
            return source

        def counted() -> Iterator[bytes]:
            for block in source.blocks():
                self._read += len(block)
                yield block

        return source._replace(blocks=counted)
