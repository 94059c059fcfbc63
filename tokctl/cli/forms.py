"""The forms in which `encode` writes a text: ids, tokens, pieces, jsonl, bin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokctl.cli import written
from tokctl.cli.around import Around
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl._native import IdWriter, Matchers
    from tokctl.encoding import Encoding
    from tokctl.sources import Document
    from tokctl.tokenizer import Special, Tokenizer

#: One text, or one line, per line.
LINE_FORMS = ("ids", "tokens", "pieces", "jsonl")
FORMS = (*LINE_FORMS, "bin")

#: Bytes of text that one thread encodes at a time: what is written for them fits into the
#: processor's cache, and the system has no new memory to clear.
_PART = 1 << 18


@dataclass
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
        if self.tokenizer.recipe.units == "bytes":
            return counted()
        return check_utf8(watched, self.errors)

    @property
    def is_native(self) -> bool:
        """Are ids written by the native encoder itself?"""
        return self.form in ("ids", "bin") and not self.around

    def written(
        self, document: Document, *, whole: bool, counted: bool = False
    ) -> Iterator[tuple[bytes, int]]:
        """What the native encoder writes as the document comes, and how many tokens these are.

        The document is one text, or each line is one. A text is cut where no pre-token is, and
        comes as one where that can't be told (a pattern, a normalizer, added tokens).
        TokctlError, naming the line, for a character that has no id.
        """
        cuts = "lines"
        if whole:
            at_once = self.tokenizer.recipe.normalizers or self._matcher
            cuts = "nowhere" if at_once else "pieces"
        form = "counted" if counted else "decimal"
        if self.form == "bin" and not counted:
            form = str(8 * written.bin_width(self.tokenizer))
        from tokctl._native import IdWriter

        writer = IdWriter(
            self.tokenizer.encoder, self._matcher, cuts=cuts, form=form, threads=self.threads
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
        if self.form == "ids" and not self.around.windows and self.around.sample is None:
            results = self._batch(lines, name, first_line)
        else:
            numbers = range(first_line, first_line + len(lines))
            results = [
                self.text(line, name, number) for line, number in zip(lines, numbers, strict=True)
            ]
        written = b"\n".join(text for text, _ in results) + b"\n" * ended
        return written, sum(count for _, count in results)

    def _batch(self, lines: list[bytes], name: str, first_line: int) -> list[tuple[bytes, int]]:
        found = []
        batch = self.tokenizer.encoder.batch(lines, self.threads, self._matcher)
        for number, ids in enumerate(batch):
            if self._lacks_ids(ids):
                raise self._no_id(lines[number], name, first_line + number)
            row = self.around.ids(self.tokenizer, ids)
            found.append((written.decimal(row), len(row)))
        return found

    def text(self, text: bytes, name: str, line: int) -> tuple[bytes, int]:
        """What is written for one text, without a line feed, and the number of tokens.

        `line` is that of the text's start, for errors.
        """
        if self.around.sample is not None:
            return self._sampled(text, name, line)
        if self.form in ("ids", "bin") and not self.around.windows:
            ids = self.around.ids(self.tokenizer, self._ids(text, name, line))
            return self._numbers([ids]), len(ids)
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
        if self.form in ("ids", "bin", "jsonl") and any(
            self._lacks_ids(row.raw_ids) for row in rows
        ):
            raise self._no_id(text, name, line)
        if self.form in ("ids", "bin"):
            shown = self._numbers([row.ids for row in rows])
        elif self.form == "tokens":
            shown = b"\n".join(written.names(row.tokens) for row in rows)
        elif self.form == "pieces":
            shown = b"\n".join(written.pieces(row, text) for row in rows)
        else:
            shown = b"\n".join(self._object(row, window) for window, row in enumerate(rows))
        return shown, sum(map(len, rows))

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

    def _sampled(self, text: bytes, name: str, line: int) -> tuple[bytes, int]:
        """One segmentation of the text, drawn at random."""
        around = self.around
        seed = (around.seed + self.texts_done) % 2**64
        self.texts_done += 1
        ids = self.tokenizer.sample(text, alpha=around.sample or 0.0, seed=seed)
        if self._lacks_ids(ids):
            raise self._no_id(text, name, line)
        ids = around.ids(self.tokenizer, ids)
        if self.form in ("ids", "bin"):
            return self._numbers([ids]), len(ids)
        names = [self.tokenizer.tokens[id_] for id_ in ids]
        if self.form == "tokens":
            return written.names(names), len(ids)
        return written.json({"ids": ids, "tokens": names}), len(ids)

    def _numbers(self, rows: Sequence[Sequence[int]]) -> bytes:
        if self.form == "bin":
            width = written.bin_width(self.tokenizer)
            return b"".join(written.packed(row, width) for row in rows)
        return b"\n".join(map(written.decimal, rows))

    @cached_property
    def _matcher(self) -> Matchers | None:
        return self.tokenizer.special_matcher(self.special)

    def _ids(self, text: bytes, name: str, line: int) -> list[int]:
        ids = self.tokenizer.encoder.ids(text, self._matcher)
        if self._lacks_ids(ids):
            raise self._no_id(text, name, line)
        return ids

    def _lacks_ids(self, ids: list[int]) -> bool:
        from tokctl._native import NO_ID

        recipe = self.tokenizer.recipe
        return self.tokenizer.unk_id is None and recipe.alphabet != "bytes" and NO_ID in ids

    def _no_id(self, text: bytes, name: str, line: int) -> TokctlError:
        """The error for the first token of `text` that has no id."""
        from tokctl._native import NO_ID
        from tokctl.encoding import no_id_error

        encoding = self.tokenizer.encode(text, special=self.special)
        place = encoding.raw_ids.index(NO_ID)
        line += text.count(b"\n", 0, encoding.offsets[place][0])
        return no_id_error(f"{name}: line {line}: {encoding.pieces[place]!r}")
