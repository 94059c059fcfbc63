"""The forms in which `encode` writes a text: ids, tokens, pieces, jsonl; and ids for files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokctl.cli import written
from tokctl.cli.around import Around
from tokctl.idfiles import FORMS as FILE_FORMS

if TYPE_CHECKING:
    from tokctl._native import IdWriter, Matchers
    from tokctl.errors import TokctlError
    from tokctl.sources import Document, Records
    from tokctl.tokenizer import Special, Tokenizer
    from tokctl.tokenizer.encoding import Encoding

#: One text, or one line, per line.
LINE_FORMS = ("ids", "tokens", "pieces", "jsonl")
FORMS = (*LINE_FORMS, *FILE_FORMS)

#: Bytes of text that one thread encodes at a time: what is written for them fits into the
#: processor's cache, and the system has no new memory to clear.
_PART = 1 << 18


@dataclass(eq=False, repr=False)
class Forms:
    """How one run encodes.

    Attributes:
        form: one of `FORMS`.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        offsets, byte_offsets: adds them to jsonl.
        full: adds all there is to jsonl.
        around: what is done with the tokens of each text.
        threads: share out each block.
        width: bytes of an id in the forms of files.
        last_id: stands behind the ids of each text; None: nothing does.
        bytes_read: of all documents so far, as they were before any replacement.
        tokens: of all documents so far.
        line_is_open: the last byte read is no line feed.
        texts_done: lines, or whole texts, that a segmentation was drawn for.
    """

    tokenizer: Tokenizer
    form: str = "ids"
    special: Special = "none"
    errors: str = "strict"
    offsets: bool = False
    byte_offsets: bool = False
    full: bool = False
    around: Around = field(default_factory=Around)
    threads: int = 1
    width: int = 2
    last_id: int | None = None
    bytes_read: int = 0
    tokens: int = 0
    line_is_open: bool = False
    texts_done: int = 0

    def blocks(self, document: Document) -> Iterator[bytes]:
        """The document's blocks, which this model can read; TokctlError where it can't."""
        from tokctl.sources import Document, check_utf8

        def counted() -> Iterator[bytes]:
            for block in document.blocks():
                self.bytes_read += len(block)
                self.line_is_open = not block.endswith(b"\n")
                yield block

        watched = Document(document.name, document.size, counted)
        if self.tokenizer.recipe.is_byte_level:
            return counted()
        return check_utf8(watched, self.errors)

    @property
    def is_native(self) -> bool:
        """Are ids written by the native encoder itself?"""
        return self.form in ("ids", *FILE_FORMS) and not self.around

    def written(self, document: Document, *, whole: bool) -> Iterator[tuple[bytes, int]]:
        """What the native encoder writes as the document comes, and how many tokens these are.

        The document is one text, or each line is one. A text is cut where no pre-token is, and
        comes as one where that can't be told (a pattern, a normalizer, added tokens).
        TokctlError, naming the line, for a character that has no id.
        """
        cuts = "lines"
        if whole:
            at_once = self.tokenizer.recipe.normalizers or self._matcher
            cuts = "nowhere" if at_once else "pieces"
        from tokctl._native import IdWriter

        writer = IdWriter(
            self.tokenizer.encoder,
            self._matcher,
            cuts=cuts,
            form="decimal",
            threads=self.threads,
            last_id=None if whole else self.last_id,
        )
        blocks = self.blocks(document)
        if cuts == "nowhere":
            yield self._fed(writer, b"".join(blocks), document.name, last=True)
            return
        for block in blocks:
            part = _PART if self.threads == 1 else len(block)
            for start in range(0, len(block), part or 1):
                yield self._fed(writer, block, document.name, start=start, end=start + part)
        yield self._fed(writer, b"", document.name, last=True)

    def batches(self, source: Records) -> Iterator[tuple[bytes, int]]:
        """What is written for the texts of a source of records, each on a line of its own, and
        how many tokens these are."""
        from tokctl.cli.texts_out import batches
        from tokctl.idfiles.encoding import readable

        for batch in source.batches() if self.is_native else batches(source):
            self.bytes_read += sum(map(len, batch.texts))
            batch = readable(self.tokenizer, batch, source, self.errors)
            if not self.is_native:
                rows = self.rows(batch.texts, source.name, batch.first, source.unit)
                shown = [row for rows_of_text in rows for row in rows_of_text]
                data = b"".join([text + b"\n" for text, _ in shown])
                yield data, sum(count for _, count in shown)
                continue
            data, ends, lacking = self.tokenizer.encoder.rows(
                batch.texts, self.threads, self._matcher, "decimal", self.last_id
            )
            if lacking is not None:
                number = batch.first + lacking
                raise self._no_id(batch.texts[lacking], source.name, number, source.unit)
            yield data, int.from_bytes(ends[-8:], sys.byteorder)

    def _fed(
        self, writer: IdWriter, block: bytes, name: str, *, last: bool = False, **part: int
    ) -> tuple[bytes, int]:
        shown, tokens, lacking = writer.feed(block, last, **part)
        if lacking is not None:
            line, text = lacking
            raise self._no_id(text, name, 1 + line)
        return shown, tokens

    def lines(self, block: bytes, name: str, first_line: int) -> tuple[bytes, int]:
        """What is written for the lines of `block`, and the number of tokens.

        Line feeds are not encoded but copied. TokctlError, naming the line, for a
        character that has no id.
        """
        ended = block.endswith(b"\n")
        lines = block[: -1 if ended else None].split(b"\n")
        rows = [row for rows in self.rows(lines, name, first_line) for row in rows]
        written = b"\n".join(shown for shown, _ in rows) + b"\n" * ended
        return written, sum(count for _, count in rows)

    def rows(
        self, texts: Sequence[bytes], name: str, first: int, unit: str | None = None
    ) -> list[list[tuple[bytes, int]]]:
        """What is written for each of some texts: its row, and one for each of its windows, with
        the number of tokens.

        The texts begin in lines of a document, from `first` on; or are lines or rows (`unit`) of
        a source of records.
        """
        numbers = range(first, first + len(texts))
        around = self.around
        if self._writes_ids and not around.windows and around.sample is None:
            batch = self.tokenizer.encoder.batch(texts, self.threads, self._matcher)
            return [
                [self._numbers(self._finished(ids, text, name, number, unit))]
                for text, ids, number in zip(texts, batch, numbers, strict=True)
            ]
        return [
            self._rows(text, name, number, unit)
            for text, number in zip(texts, numbers, strict=True)
        ]

    def text(self, text: bytes, name: str, line: int) -> tuple[bytes, int]:
        """What is written for one text, without a line feed, and the number of tokens.

        `line` is that of the text's start, for errors.
        """
        rows = self.rows([text], name, line)[0]
        return b"\n".join(shown for shown, _ in rows), sum(count for _, count in rows)

    @property
    def _writes_ids(self) -> bool:
        return self.form == "ids" or self.form in FILE_FORMS

    def _finished(
        self, ids: list[int], text: bytes, name: str, number: int, unit: str | None
    ) -> list[int]:
        """The ids of a row, with what is put around them."""
        if self._lacks_ids(ids):
            raise self._no_id(text, name, number, unit)
        return self.around.ids(self.tokenizer, ids, self.last_id)

    def _rows(
        self, text: bytes, name: str, number: int, unit: str | None
    ) -> list[tuple[bytes, int]]:
        if self.around.sample is not None:
            return [self._sampled(text, name, number, unit)]
        # Offsets count characters where the text is given as str.
        given = text.decode("utf-8", "surrogateescape") if self.offsets or self.full else text
        around = self.around
        encoding = self.tokenizer.encode(
            given,
            special=self.special,
            add_special=around.add_special,
            truncation=around.truncation,
            padding=around.ready_padding,
        )
        rows = around.rows(encoding)
        needs_ids = self._writes_ids or self.form == "jsonl"
        if needs_ids and any(self._lacks_ids(row.raw_ids) for row in rows):
            raise self._no_id(text, name, number, unit)
        if self.last_id is not None:
            rows = [ended(row, self.last_id, self.tokenizer) for row in rows]
        if self._writes_ids:
            return [self._numbers(row.ids) for row in rows]
        if self.form == "tokens":
            shown = [written.names(row.tokens) for row in rows]
        elif self.form == "pieces":
            shown = [written.pieces(row, text) for row in rows]
        else:
            shown = [self._object(row, window) for window, row in enumerate(rows)]
        return list(zip(shown, map(len, rows), strict=True))

    def _object(self, row: Encoding, window: int) -> bytes:
        around = self.around
        wanted = {
            "offsets": self.offsets or self.full,
            "byte_offsets": self.byte_offsets or self.full,
            "word_ids": self.full,
            "type_ids": around.add_special or around.padding or self.full,
            "special_mask": around.add_special or around.padding or self.full,
            "attention_mask": around.padding or self.full,
        }
        answer: dict[str, Any] = {"ids": row.ids, "tokens": row.tokens}
        answer |= {name: getattr(row, name) for name, asked in wanted.items() if asked}
        if self.around.windows:
            answer["window"] = window
        return written.json(answer)

    def _sampled(self, text: bytes, name: str, number: int, unit: str | None) -> tuple[bytes, int]:
        """One segmentation of the text, drawn at random."""
        around = self.around
        seed = (around.seed + self.texts_done) % 2**64
        self.texts_done += 1
        ids = self.tokenizer.sample(text, alpha=around.sample or 0.0, seed=seed)
        ids = self._finished(ids, text, name, number, unit)
        if self._writes_ids:
            return self._numbers(ids)
        names = [self.tokenizer.tokens[id_] for id_ in ids]
        if self.form == "tokens":
            return written.names(names), len(ids)
        return written.json({"ids": ids, "tokens": names}), len(ids)

    def _numbers(self, ids: Sequence[int]) -> tuple[bytes, int]:
        shown = written.decimal(ids) if self.form == "ids" else written.packed(ids, self.width)
        return shown, len(ids)

    @cached_property
    def _matcher(self) -> Matchers | None:
        return self.tokenizer.special_matcher(self.special)

    def _lacks_ids(self, ids: list[int]) -> bool:
        from tokctl._native import NO_ID

        recipe = self.tokenizer.recipe
        return self.tokenizer.unk_id is None and not recipe.is_byte_level and NO_ID in ids

    def _no_id(self, text: bytes, name: str, number: int, unit: str | None = None) -> TokctlError:
        """The error for the first token of `text` that has no id."""
        from tokctl.tokenizer.encoding import no_id_in

        if unit is None:
            return no_id_in(self.tokenizer, text, self.special, name, number)
        return no_id_in(self.tokenizer, text, self.special, f"{name}: {unit} {number}")


def ended(row: Encoding, last_id: int, tokenizer: Tokenizer) -> Encoding:
    """The row with one more token, which covers no text."""
    from tokctl.tokenizer.encoding import Encoding

    return Encoding(
        [*row.raw_ids, last_id],
        [*row.tokens, tokenizer.tokens[last_id]],
        [*row.pieces, ""],
        [*row.offsets, (0, 0)],
        [*row.word_ids, None],
        byte_offsets=[*row.byte_offsets, (0, 0)],
        type_ids=[*row.type_ids, 0],
        special_mask=[*row.special_mask, 1],
        attention_mask=[*row.attention_mask, 1],
        sequence_ids=[*row.sequence_ids, None],
    )
