"""The forms in which `encode` writes a text: ids, tokens, pieces, jsonl, bin."""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tokctl._native import Matchers
    from tokctl.sources import Document
    from tokctl.tokenizer import Special, Tokenizer

#: One text, or one line, per line.
LINE_FORMS = ("ids", "tokens", "pieces", "jsonl")
FORMS = (*LINE_FORMS, "bin")


@dataclass
class Forms:
    """How one run encodes.

    Attributes:
        form: one of `FORMS`.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        offsets: adds them to jsonl.
        executor, threads: share out the lines of a block; None and 1 for no threads.
        bytes_read: of all documents so far, as they were before any replacement.
    """

    tokenizer: Tokenizer
    form: str = "ids"
    special: Special = "none"
    errors: str = "strict"
    offsets: bool = False
    executor: Executor | None = None
    threads: int = 1
    bytes_read: int = 0

    def blocks(self, document: Document) -> Iterator[bytes]:
        """The document's blocks, which this model can read; TokctlError where it can't."""
        from tokctl.sources import Document, check_utf8

        def counted() -> Iterator[bytes]:
            for block in document.blocks():
                self.bytes_read += len(block)
                yield block

        watched = Document(document.name, document.size, counted)
        if self.tokenizer.recipe.units == "bytes":
            return counted()
        return check_utf8(watched, self.errors)

    def texts(self, document: Document) -> Iterator[bytes]:
        """The document in pieces that can be encoded one by one: cut where no pre-token is
        cut. All of it at once where that can't be told (a pattern, a normalizer, special
        tokens)."""
        recipe = self.tokenizer.recipe
        blocks = self.blocks(document)
        if recipe.normalizers or self._matcher or self.form not in ("ids", "bin"):
            yield b"".join(blocks)
            return
        from tokctl._native import last_cut
        from tokctl.pipeline import native_parts

        splitting = native_parts(recipe.pre_tokenizers)
        waiting = bytearray()
        for block in blocks:
            searched = len(waiting)
            waiting += block
            cut = last_cut(splitting, bytes(waiting[max(0, searched - 4) :]), 4)
            if cut is not None:
                cut += max(0, searched - 4)
                yield bytes(waiting[:cut])
                del waiting[:cut]
        yield bytes(waiting)

    def lines(self, block: bytes, name: str, first_line: int) -> tuple[bytes, int]:
        """What is written for the lines of `block`, and the number of tokens.

        Line feeds are not encoded but copied. TokctlError, naming the line, for a
        character that has no id.
        """
        if self.form == "ids":
            return self._native_lines(block, name, first_line)
        written = []
        tokens = 0
        ended = block.endswith(b"\n")
        for number, line in enumerate(block[: -1 if ended else None].split(b"\n"), first_line):
            text, count = self.text(line, name, number)
            tokens += count
            written.append(text)
        return b"\n".join(written) + b"\n" * ended, tokens

    def _native_lines(self, block: bytes, name: str, first_line: int) -> tuple[bytes, int]:
        encode = self.tokenizer.encoder.lines
        if self.executor is None:
            parts = [block]
            results = [encode(block, self._matcher)]
        else:
            parts = _shares(block, self.threads)
            results = list(self.executor.map(encode, parts, [self._matcher] * len(parts)))
        for part, (_, _, without_id) in zip(parts, results, strict=True):
            if without_id is not None:
                line = part.split(b"\n", without_id + 1)[without_id]
                raise self._no_id(line, name, first_line + without_id)
            first_line += part.count(b"\n")
        return b"".join(text for text, _, _ in results), sum(tokens for _, tokens, _ in results)

    def text(self, text: bytes, name: str, line: int) -> tuple[bytes, int]:
        """What is written for one text, without a line feed, and the number of tokens.

        `line` is that of the text's start, for errors.
        """
        if self.form == "bin":
            return self._native_bin(text, name, line)
        if self.form == "ids":
            ids = self._ids(text, name, line)
            return _decimal(ids), len(ids)
        # Offsets count characters where the text is given as str.
        given = text.decode("utf-8", "surrogateescape") if self.offsets else text
        encoding = self.tokenizer.encode(given, special=self.special)
        if self.form == "tokens":
            written = " ".join(map(_unbroken, encoding.tokens)).encode()
        elif self.form == "pieces":
            written = _json([text_or_bytes(text[start:end]) for start, end in encoding.offsets])
        else:
            if self._lacks_ids(encoding.raw_ids):
                raise self._no_id(text, name, line)
            answer: dict[str, Any] = {"ids": encoding.ids, "tokens": encoding.tokens}
            if self.offsets:
                answer["offsets"] = encoding.offsets
            written = _json(answer)
        return written, len(encoding)

    def _native_bin(self, text: bytes, name: str, line: int) -> tuple[bytes, int]:
        from tokctl._native import CoreError

        try:
            return self.tokenizer.encoder.packed(text, bin_width(self.tokenizer), self._matcher)
        except CoreError:
            if self._lacks_ids(self.tokenizer.encoder.ids(text, self._matcher)):
                raise self._no_id(text, name, line) from None
            raise

    @cached_property
    def _matcher(self) -> Matchers | None:
        return self.tokenizer.special_matcher(self.special)

    def _ids(self, text: bytes, name: str, line: int) -> Sequence[int]:
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


def bin_width(tokenizer: Tokenizer) -> int:
    """Bytes of an id in the form `bin`: 2 where every id fits, else 4."""
    return 2 if tokenizer.vocab_size <= 1 << 16 else 4


def text_or_bytes(data: bytes) -> str | dict[str, str]:
    """Bytes for JSON: text where they are UTF-8, else `{"bytes": base64}`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"bytes": b64encode(data).decode()}


def _shares(block: bytes, count: int) -> list[bytes]:
    """The block in up to `count` parts of like size, each but the last of whole lines."""
    parts = []
    start = 0
    for share in range(1, count + 1):
        end = block.find(b"\n", max(start, len(block) * share // count - 1)) + 1
        end = len(block) if end == 0 or share == count else end
        if end > start:
            parts.append(block[start:end])
            start = end
    return parts


def _decimal(ids: Sequence[int]) -> bytes:
    return " ".join(map(str, ids)).encode()


def packed(ids: Iterable[int], width: int) -> bytes:
    """Ids as little-endian numbers of `width` bytes."""
    numbers = array("H" if width == 2 else "I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpacked(data: bytes, width: int) -> Sequence[int]:
    """The ids that `packed` made `data` from."""
    numbers = array("H" if width == 2 else "I", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _unbroken(token: str) -> str:
    """The token with white space escaped: a space stands between tokens only."""
    if token.isprintable() and " " not in token:
        return token
    return "".join(
        "\\x20"
        if char == " "
        else char.encode("unicode_escape").decode()
        if char.isspace()
        else char
        for char in token
    )


def _json(value: object) -> bytes:
    import orjson

    return orjson.dumps(value)
