"""Output of `encode`: rows of texts, on a stream or in files of ids."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tokctl.cli import streams
from tokctl.cli.options.encode import TextOptions
from tokctl.core.errors import BadOption
from tokctl.core.humanize import unspaced
from tokctl.core.values import cached_property
from tokctl.idfiles import BINARY_FORMS
from tokctl.idfiles.packing import IDS, MASK
from tokctl.sources import Document, Records

if TYPE_CHECKING:
    from tokctl._native import TokenNames
    from tokctl.idfiles.chunks import Chunk, ResumePoint
    from tokctl.idfiles.packing import Columns
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.documents import DocumentEncoder, Progress, TextBatch
    from tokctl.tokenizer.encoding import Encoding
    from tokctl.tokenizer.postprocess import Padding, Truncation

#: Text forms: one line of output for each text.

#: Usual padding tokens: the first one that is a special token of the model is the default.
_PADDING_TOKENS = ("[PAD]", "<pad>")


@dataclass(eq=False, repr=False)
class RowOptions:
    """Changes to the tokens of one text before they are written.

    Attributes:
        add_special: add the special tokens of the post-processor's template.
        truncation: cut longer rows; None: don't.
        windows: write the tokens that truncation cuts off as further rows.
        padding: pad shorter rows; None: don't. Its length is None until the longest row is known.
        alpha: draw segmentations at random (Unigram) with this exponent; None: the best one.
        seed: the seed of the draws; text number n, from 0, uses `seed + n`.
    """

    add_special: bool = False
    truncation: Truncation | None = None
    windows: bool = False
    padding: Padding | None = None
    alpha: float | None = None
    seed: int = 0

    def __bool__(self) -> bool:
        """Return whether any option changes the tokens."""
        return bool(self.add_special or self.truncation or self.padding or self.alpha is not None)

    @property
    def pads_to_longest(self) -> bool:
        """Whether rows are padded to the longest row, whose length is not known yet."""
        return self.padding is not None and self.padding.length is None

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: TextOptions) -> RowOptions:
        """Build the options from the command line of `encode`.

        Args:
            tokenizer: the model, whose template and special tokens are needed.
            text: the options of how each text becomes ids.

        Raises:
            TokctlError: an option does not fit the model.
        """
        truncation = padding = None
        if text.max_length is not None:
            from tokctl.tokenizer.postprocess import Truncation

            truncation = Truncation(text.max_length, text.stride or 0)
            template = tokenizer.post_processor.template(False, text.add_special)
            truncation.room(template.added_tokens_count)
        if text.pad is not None:
            padding = _padding(tokenizer, text.pad, text.pad_token)
        if text.alpha is not None:
            tokenizer.sample(
                b"", alpha=text.alpha, seed=text.seed or 0
            )  # refuses models that can't sample
        return cls(
            text.add_special,
            truncation,
            text.stride is not None,
            padding,
            text.alpha,
            text.seed or 0,
        )


def _padding(tokenizer: Tokenizer, pad: str, token: str | None) -> Padding:
    from tokctl.cli.numbers import without_separators
    from tokctl.tokenizer.postprocess import Padding

    pad = without_separators(pad)
    if pad != "longest" and not (pad.isascii() and pad.isdecimal() and 0 < int(pad) < 2**31):
        raise BadOption(
            f"invalid value {pad!r} for --pad",
            "give a number of at least 1, or longest",
            "bad-value",
        )
    special = tokenizer.special_ids
    if token is None:
        token = next((known for known in _PADDING_TOKENS if known in special), None)
        if token is None:
            hint = (
                f"name one of its special tokens with --pad-token: {_listed(special)}"
                if special
                else "this model has no special tokens: train one with --special-token '<pad>'"
            )
            raise BadOption("this model has no padding token ([PAD] or <pad>)", hint, "conflict")
    elif token not in special:
        raise BadOption(
            f"the padding token {token!r} is not a special token of this model",
            f"choose one of: {_listed(special)}",
            "unknown-name",
        )
    length = None if pad == "longest" else int(pad)
    return Padding(length, token=token, id=special[token])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:50]) or "none"


#: Output of one text or window, without a line feed, and its number of tokens.
Row = tuple[bytes, int]


@dataclass(eq=False, repr=False)
class RowWriter:
    """Encoder of texts into rows of one output form.

    Attributes:
        documents: encodes the texts.
        form: a form of `encode --as`.
        offsets: add character offsets to jsonl.
        byte_offsets: add byte offsets to jsonl.
        full: add every column to jsonl.
        mask: add the mask of the assistant's tokens to jsonl; the texts are conversations.
        options: changes to the tokens of each text.
        width: bytes of an id in files of ids.
        end_id: the id after each text; None: none.
        drawn: texts for which a segmentation was drawn.
        longest: tokens of the longest row so far.
    """

    documents: DocumentEncoder
    form: str = "ids"
    offsets: bool = False
    byte_offsets: bool = False
    full: bool = False
    mask: bool = False
    options: RowOptions = field(default_factory=RowOptions)
    width: int = 2
    end_id: int | None = None
    drawn: int = 0
    longest: int = 0

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of `documents`."""
        return self.documents.tokenizer

    @property
    def is_native(self) -> bool:
        """Whether the native encoder can write all of the output without help from Python."""
        if self.options or self.offsets or self.byte_offsets or self.full or self.mask:
            return False
        # The native writer of `tokens` has no name for a piece without an id.
        return self.form == "jsonl" or self._writes_ids or self._has_all_names

    @property
    def _has_all_names(self) -> bool:
        """Whether the form is `tokens` and no piece of a text can lack an id."""
        return self.form == "tokens" and not self.tokenizer.must_have_ids

    @cached_property
    def names(self) -> TokenNames | None:
        """Names of the tokens in this form; None if only ids are written."""
        return None if self._writes_ids else token_names(self.tokenizer, self.form)

    @property
    def _writes_ids(self) -> bool:
        return self.form == "ids" or self.form in BINARY_FORMS

    def written(self, source: Document | Records) -> Iterator[bytes]:
        """Yield the output of a source while it is read.

        Each text is a line. Only the last line of a document can lack a line feed: it does if the
        document's last line does.
        """
        documents = self.documents
        if self.is_native:
            for data, *_ in documents.encode(source, self.names or "decimal", end_id=self.end_id):
                yield data
            if isinstance(source, Document) and not documents.lines:
                yield b"\n"
            return
        for texts in documents.texts(source):
            rows = self.rows(texts, source.name)
            documents.tokens += sum(count for _, count in rows)
            data = b"\n".join([shown for shown, _ in rows])
            is_open = isinstance(source, Document) and documents.lines and not texts.ended
            yield data if is_open else data + b"\n"

    def rows(self, texts: TextBatch, name: str) -> list[Row]:
        """Return the rows of some texts: one for each text, and one for each further window.

        Args:
            texts: the texts, with the number of the first one.
            name: the name of their source, for errors.

        Raises:
            TokctlError: a character has no id; the message names the line or row.
        """
        numbers = range(texts.first, texts.first + len(texts.texts))
        options = self.options
        if self._writes_ids and not options.windows and options.alpha is None:
            documents = self.documents
            encoder = self.tokenizer.encoder
            batch = encoder.batch(texts.texts, documents.threads, documents.matcher)
            return [
                self._ids_row(self._finished(ids, text, name, number, texts.unit))
                for text, ids, number in zip(texts.texts, batch, numbers, strict=True)
            ]
        if self.form == "tokens" and not options and (named := self._named(texts)):
            return named
        make = self._rows if options.alpha is None else self._sampled
        return [
            row
            for text, number in zip(texts.texts, numbers, strict=True)
            for row in make(text, name, number, texts.unit)
        ]

    def _finished(
        self, ids: list[int], text: bytes, name: str, number: int, unit: str | None
    ) -> list[int]:
        """Return the ids of a row after truncation, special tokens, the end id and padding."""
        if self._lacks_ids(ids):
            raise self.documents.missing_id_error(text, name, number, unit)
        options = self.options
        if options.add_special or options.truncation:
            ids = self.tokenizer.post_processor.process_ids(
                ids, add_special=options.add_special, truncation=options.truncation
            )
        if self.end_id is not None:
            ids = [*ids, self.end_id]
        self.longest = max(self.longest, len(ids))
        if options.padding and options.padding.length is not None:
            ids = options.padding.pad_ids(ids, options.padding.length)
        return ids

    def _named(self, texts: TextBatch) -> list[Row] | None:
        """Return rows of token names from the native encoder, or None if a piece has no id."""
        documents, encoder = self.documents, self.tokenizer.encoder
        data, packed, lacking = encoder.rows(
            texts.texts, documents.threads, documents.matcher, self.names or "decimal", self.end_id
        )
        if lacking is not None:
            return None
        ends = array("q", packed)
        counts = [end - start for start, end in zip((0, *ends), ends, strict=False)]
        return list(zip(data.split(b"\n")[:-1], counts, strict=True))

    def _rows(self, text: bytes, name: str, number: int, unit: str | None) -> list[Row]:
        rows = self.encodings(text, name, number, unit)
        if self._writes_ids:
            return [self._ids_row(row.ids) for row in rows]
        if self.form == "tokens":
            shown = [_names(row.tokens) for row in rows]
        elif self.form == "pieces":
            shown = [_surfaces(row, text) for row in rows]
        else:
            shown = [self._object(row, window, text) for window, row in enumerate(rows)]
        return list(zip(shown, map(len, rows), strict=True))

    def encodings(self, text: bytes, name: str, number: int, unit: str | None) -> list[Encoding]:
        """Return the finished encodings of a text: one, or one for each window.

        Args:
            text: the bytes of the text.
            name: the name of the source, for errors.
            number: the number of the text in its source, for errors.
            unit: what `number` counts: `line` or `row`; None: lines of a document.

        Raises:
            TokctlError: a character has no id.
        """
        options = self.options
        # Offsets count characters for a str, and bytes for bytes.
        in_characters = self.offsets or self.full or self.mask
        encoding = self.tokenizer.encode(
            text.decode("utf-8", "surrogateescape") if in_characters else text,
            special=self.documents.special,
            add_special=options.add_special,
            truncation=options.truncation,
            padding=None if options.pads_to_longest else options.padding,
        )
        rows = [encoding, *encoding.overflowing] if options.windows else [encoding]
        self.longest = max(self.longest, *map(len, rows))
        needs_ids = self._writes_ids or self.form == "jsonl"
        if needs_ids and any(self._lacks_ids(row.raw_ids) for row in rows):
            raise self.documents.missing_id_error(text, name, number, unit)
        if self.end_id is not None:
            rows = [_ended(row, self.end_id, self.tokenizer) for row in rows]
        return rows

    def columns(self, texts: TextBatch, name: str) -> Iterator[Columns]:
        """Yield the columns of each row: the ids and, if wanted, the assistant mask.

        Args:
            texts: the texts, with the number of the first one.
            name: the name of their source, for errors.
        """
        numbers = range(texts.first, texts.first + len(texts.texts))
        if not self.mask:
            documents = self.documents
            batch = self.tokenizer.encoder.batch(texts.texts, documents.threads, documents.matcher)
            for text, ids, number in zip(texts.texts, batch, numbers, strict=True):
                yield {IDS: self._finished(ids, text, name, number, texts.unit)}
            return
        for text, number in zip(texts.texts, numbers, strict=True):
            for row in self.encodings(text, name, number, texts.unit):
                yield {IDS: row.ids, MASK: assistant_mask(row, text)}

    def _object(self, row: Encoding, window: int, text: bytes) -> bytes:
        options = self.options
        wanted = {
            "offsets": self.offsets or self.full,
            "byte_offsets": self.byte_offsets or self.full,
            "word_ids": self.full,
            "type_ids": options.add_special or options.padding or self.full,
            "special_mask": options.add_special or options.padding or self.full,
            "attention_mask": options.padding or self.full,
        }
        answer: dict[str, Any] = {"ids": row.ids, "tokens": row.tokens}
        answer |= {name: getattr(row, name) for name, is_wanted in wanted.items() if is_wanted}
        if self.mask:
            answer[MASK] = assistant_mask(row, text)
        if options.windows:
            answer["window"] = window
        return streams.json_line(answer)

    def _sampled(self, text: bytes, name: str, number: int, unit: str | None) -> list[Row]:
        """Return a row with one segmentation of the text, drawn at random."""
        options = self.options
        seed = (options.seed + self.drawn) % 2**64
        self.drawn += 1
        ids = self.tokenizer.sample(text, alpha=options.alpha or 0.0, seed=seed)
        ids = self._finished(ids, text, name, number, unit)
        if self._writes_ids:
            return [self._ids_row(ids)]
        names = [self.tokenizer.tokens[id_] for id_ in ids]
        if self.form == "tokens":
            return [(_names(names), len(ids))]
        return [(streams.json_line({"ids": ids, "tokens": names}), len(ids))]

    def _ids_row(self, ids: Sequence[int]) -> Row:
        return decimal(ids) if self.form == "ids" else packed(ids, self.width), len(ids)

    def _lacks_ids(self, ids: list[int]) -> bool:
        from tokctl._native import NO_ID

        return self.tokenizer.must_have_ids and NO_ID in ids


def assistant_mask(row: Encoding, text: bytes) -> list[int]:
    """Return 1 for each token of a conversation that the assistant wrote, and 0 for the others."""
    from tokctl.extras.chat.lines import ChatText
    from tokctl.extras.chat.template import token_mask

    assert isinstance(text, ChatText)
    return token_mask(row.offsets, text.spans)


def token_names(tokenizer: Tokenizer, form: str) -> TokenNames:
    """Return the names of all tokens, as `jsonl` or `tokens` writes them."""
    from tokctl._native import TokenNames

    write = streams.json_line if form == "jsonl" else _name
    return TokenNames(list(map(write, tokenizer.tokens)), form == "jsonl")


def decimal(ids: Sequence[int]) -> bytes:
    """Return ids as decimal numbers with spaces between them."""
    return " ".join(map(str, ids)).encode()


def packed(ids: Iterable[int], width: int) -> bytes:
    """Return ids as little-endian unsigned integers of `width` bytes (2 or 4)."""
    numbers = array("H" if width == 2 else "I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _names(tokens: Iterable[str]) -> bytes:
    """Return tokens as the vocabulary spells them, with spaces between them."""
    return b" ".join(map(_name, tokens))


def _name(token: str) -> bytes:
    return unspaced(token).encode()


def _surfaces(row: Encoding, text: bytes) -> bytes:
    """Return the parts of `text` that the tokens cover, as a JSON list; `row` has byte offsets."""
    return streams.json_line([streams.text_or_bytes(text[start:end]) for start, end in row.offsets])


def _ended(row: Encoding, end_id: int, tokenizer: Tokenizer) -> Encoding:
    """Return the row with `end_id` appended, which covers no text."""
    from tokctl.tokenizer.encoding import added_encoding, in_sequence, merge

    text = in_sequence(row, 0) if row._ranges is None else row
    return merge([text, added_encoding([tokenizer.tokens[end_id]], [end_id], [0])])


# -- streams and files -------------------------------------------------------------------------


def write_texts(
    rows: RowWriter,
    sources: Sequence[Source],
    write: streams.FlushingWriter,
    progress: Progress | None = None,
) -> None:
    """Encode the sources and write their rows to a stream.

    If a source ends without a line feed and another one follows, a line feed is put between them.

    Args:
        rows: encodes the texts.
        sources: the texts, in order.
        write: the output; its `line_is_open` tells whether the last line has ended.
        progress: told how many bytes are done; None: no progress is shown.
    """
    from tokctl.tokenizer.documents import TrackedSources

    documents = rows.documents
    tracked = TrackedSources(sources, progress)
    for _, _, source in tracked.each():
        before = documents.bytes_read
        for data in rows.written(source):
            if write.line_is_open and (data or documents.bytes_read > before):
                write(b"\n")
                write.line_is_open = False
            write(data)
            tracked.ids = documents.tokens
            tracked.tell()
        if isinstance(source, Document) and documents.lines and documents.bytes_read > before:
            write.line_is_open = documents.line_is_open


class RowEncoder:
    """Encoder of `tokctl.idfiles.stream` that makes chunks of rows in Python.

    Used where the native encoder can't write the rows: with special tokens, padding, offsets or
    random segmentations. Each row is a document of the files.

    Attributes:
        documents: encodes the texts.
    """

    def __init__(self, rows: RowWriter) -> None:
        self._rows = rows
        self._width = 0 if rows.form == "jsonl" else rows.width
        self.documents = rows.documents

    @property
    def cuts(self) -> str:
        """Points where a document may be cut: between `lines`, or `nowhere`."""
        return "lines" if self.documents.lines else "nowhere"

    def chunks(
        self, source: Document | Records, start: ResumePoint | None = None
    ) -> Iterator[Chunk]:
        """Yield chunks of the rows of a source, from the point `start` on (None: the beginning)."""
        from tokctl.idfiles.chunks import SOURCE_START, ResumePoint

        start = start or SOURCE_START
        rows, is_text = self._rows, isinstance(source, Document)
        rows.drawn = max(rows.drawn, start.drawn)
        ended = start.documents
        for texts in rows.documents.texts(source, start.text if is_text else start.records):
            text, records = (texts.position, 0) if is_text else (0, texts.position)
            resume = ResumePoint(text, records, ended, start.ids, rows.drawn)
            chunk = self._chunk(rows.rows(texts, source.name), resume)
            ended += len(chunk.ends)
            yield chunk

    def _chunk(self, rows: Sequence[Row], resume: ResumePoint) -> Chunk:
        from tokctl.idfiles.chunks import Chunk

        ends = array("q", accumulate(count for _, count in rows))
        count = ends[-1] if ends else 0
        self._rows.documents.tokens += count
        end = b"" if self._width else b"\n"
        shown = [data + end for data, _ in rows]
        lines = () if self._width else array("q", accumulate(map(len, shown)))
        return Chunk(b"".join(shown), count, ends, self._width, lines, resume=resume)


def padded_to_longest(rows: RowWriter, sources: Sequence[Source]) -> list[Source]:
    """Return the sources, kept in memory, after setting the padding to the longest row.

    All texts are encoded twice. The texts are kept rather than the rows, which are larger.
    """
    from tokctl.sources import flat

    read: list[Source] = []
    for source in flat(sources):
        if isinstance(source, Records):
            batches = list(source.batches())
            read.append(source._replace(batches=lambda batches=batches: iter(batches)))  # type: ignore[misc]
        else:
            blocks = list(source.blocks())
            read.append(source._replace(blocks=lambda blocks=blocks: iter(blocks)))  # type: ignore[misc]
    for source in flat(read):
        for _ in rows.written(source):
            pass
    padding = rows.options.padding
    rows.options.padding = replace(padding, length=rows.longest)  # type: ignore[type-var]
    documents = rows.documents
    rows.drawn = documents.bytes_read = documents.tokens = 0
    return read


def summary(documents: DocumentEncoder, seconds: float, *, here: bool = True) -> str:
    """Return how much was encoded and how fast, for `--verbose`.

    If this process has done the work (`here`), threads and the pre-token cache are included.
    """
    speed = documents.bytes_read / 1e6 / max(seconds, 1e-9)
    entries, size = documents.tokenizer.encoder.cache_stats()
    how = f"threads: {documents.threads}; cache: {entries:,} pre-tokens, {size / 1e6:,.1f} MB"
    return (
        f"{documents.tokens:,} tokens of {documents.bytes_read:,} bytes in {seconds:.2f} s: "
        f"{speed:,.1f} MB/s{f'; {how}' if here else ''}"
    )
