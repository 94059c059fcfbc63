"""Comparing a model with what is read from a file of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.analysis.verification.blocks import Block, blocks
from tokctl.analysis.verification.peers import Reader
from tokctl.analysis.verification.readers import readers_of, reason
from tokctl.analysis.verification.result import Difference, Tokens, Verification
from tokctl.errors import TokctlError
from tokctl.sources import Document, Source, open_sources

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Ids that are shown before the first one that differs, and from there on.
BEFORE, AFTER = 2, 4
#: Characters that are shown around the place where decoded texts differ.
AROUND = 20


def verify(
    tokenizer: Tokenizer,
    other: Tokenizer | str | Path,
    texts: Iterable[str | Path | Source],
    *,
    format: str | None = None,  # noqa: A002
    around: bool = True,
) -> Verification:
    """Compares a model with a file of it: ids and decoded text, line by line and many lines
    at once.

    Args:
        tokenizer: the model before.
        other: a file or folder, which is loaded with tokctl and with the libraries that
            define its format; or another tokenizer.
        texts: a str is a text; a path is a file of any form, or a folder; or sources of
            `tokctl.sources`. Texts are compared line by line, those of records one by one.
        format: of the file; by default the one that it is told to be.
        around: compares special tokens that the model puts around texts, too.

    Raises:
        TokctlError: a text can't be read, or is not UTF-8.
    """
    readers, not_compared, differences = readers_of(tokenizer, other, format)
    compared = tuple(reader.name for reader in readers)
    compared += tuple(found.reader for found in differences)
    lines = ids = left_out = 0
    for block in chain.from_iterable(map(_blocks, texts, count(1))):
        own = _Own(tokenizer, block)
        lines += len(own.lines)
        ids += sum(len(row) for row in own.rows("none") if row is not None)
        left_out += sum(row is None for row in own.rows("none"))
        for reader in list(readers):
            if found := _first_difference(own, reader, around):
                differences.append(found)
                readers.remove(reader)
    return Verification(lines, ids, left_out, compared, not_compared, tuple(differences))


def _blocks(text: str | Path | Source, number: int) -> Iterator[Block]:
    if isinstance(text, str):
        data = text.encode("utf-8", "surrogatepass")
        text = Document(f"text {number}", len(data), lambda: iter([data]))
    for source in open_sources([text]) if isinstance(text, Path) else [text]:
        yield from blocks(source)


# -- what they give -----------------------------------------------------------------------


class _Own:
    """A block as the model before encodes it; None for a text that it has no ids for."""

    def __init__(self, tokenizer: Tokenizer, block: Block) -> None:
        self.tokenizer = tokenizer
        self.block = block
        self.lines = block.lines
        self._rows: dict[tuple[str, bool], list[list[int] | None]] = {}

    def rows(self, special: str) -> list[list[int] | None]:
        """The ids of each line."""
        return self._kept(self.lines, special, False)

    def rows_around(self, special: str) -> list[list[int] | None]:
        """The ids of each line with the special tokens around it; of the first line alone where
        there are none, which shows whether others put some there."""
        puts = self.tokenizer.post_processor.added_tokens_count()
        return self._kept(self.lines if puts else self.lines[:1], special, True)

    def whole(self, special: str) -> list[int] | None:
        """The ids of all lines as one text."""
        return self._encode([self.block.text], special, False)[0]

    def _kept(self, texts: Sequence[str], special: str, around: bool) -> list[list[int] | None]:
        key = special, around
        if key not in self._rows:
            self._rows[key] = self._encode(texts, special, around)
        return self._rows[key]

    def _encode(self, texts: Sequence[str], special: str, around: bool) -> list[list[int] | None]:
        encode = self.tokenizer.encode_batch
        try:
            return list(encode(texts, special=special, add_special=around))
        except TokctlError:
            if len(texts) == 1:
                return [None]
            return [self._encode([text], special, around)[0] for text in texts]


def _first_difference(own: _Own, reader: Reader, around: bool) -> Difference | None:
    block = own.block
    rows = own.rows(reader.special)
    for number, ids in enumerate(_theirs(reader, own.lines, rows), block.line):
        row, line = rows[number - block.line], own.lines[number - block.line]
        if row is None:
            continue
        if found := _compared(own, reader, line, number, row, ids):
            return found
    if (
        block.text
        and own.lines != [block.text]
        and (whole := own.whole(reader.special)) is not None
    ):
        (ids,) = _theirs(reader, [block.text], [whole])
        if found := _compared(own, reader, block.text, block.line, whole, ids):
            return found
    if around and reader.puts_around:
        rows = own.rows_around(reader.special)
        lines = own.lines[: len(rows)]
        for number, ids in enumerate(_theirs(reader, lines, rows, around=True), block.line):
            row, line = rows[number - block.line], lines[number - block.line]
            if row is not None and ids != row:
                return _compared(own, reader, line, number, row, ids)
    return None


def _theirs(
    reader: Reader, texts: Sequence[str], rows: Sequence[list[int] | None], *, around: bool = False
) -> Iterator[list[int] | BaseException]:
    """The reader's ids of each text that the model has ids for, or what it raises."""
    wanted = [text for text, row in zip(texts, rows, strict=True) if row is not None]
    try:
        found = iter(reader.encode(wanted, around) if wanted else [])
    except BaseException as error:
        reason(error)
        if len(texts) == 1:
            yield error
            return
        for text, row in zip(texts, rows, strict=True):
            yield from _theirs(reader, [text], [row], around=around)
        return
    for row in rows:
        yield [] if row is None else next(found)


def _compared(
    own: _Own,
    reader: Reader,
    text: str,
    line: int,
    row: list[int],
    ids: list[int] | BaseException,
) -> Difference | None:
    """The difference of one text; `line` is that of its first character, or its number."""
    tokenizer, block = own.tokenizer, own.block

    def found(what: str, place: int, said: tuple[str, ...] = ()) -> Difference:
        """What was found at a character of the text."""
        if block.documents:
            at = line, place + 1
        else:
            lines = text[:place].split("\n")
            at = line + len(lines) - 1, len(lines[-1]) + 1
        return Difference(reader.name, what, block.name, *at, said=said, unit=block.unit)

    if isinstance(ids, BaseException):
        return replace(found("error", 0, (reason(ids),)), column=0)
    if ids != row:
        at = _apart(row, ids)
        return replace(
            found("ids", _character(tokenizer, text, reader.special, row, at)),
            before=_around(row, at, lambda id_: tokenizer.tokens[id_]),
            found=_around(ids, at, reader.token),
        )
    before = tokenizer.decode(row, errors="replace")
    try:
        after = reader.decode(ids)
    except BaseException as error:
        return replace(found("error", 0, (reason(error),)), column=0)
    if before == after:
        return None
    at = _apart(before, after)
    part = slice(max(0, at - AROUND), at + AROUND)
    # The decoded text has the lines of the text, as far as both are the same.
    text = before
    return found("text", at, (before[part], after[part]))


def _apart(before: Sequence[object], after: Sequence[object]) -> int:
    """Where two sequences differ first."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(before), len(after)))


def _character(tokenizer: Tokenizer, text: str, special: str, row: list[int], at: int) -> int:
    """Where in the text the token stands that differs first."""
    encoding = tokenizer.encode(text, special=special)
    if encoding.ids != row:  # with special tokens around it
        return 0
    return encoding.offsets[at][0] if at < len(encoding.offsets) else len(text)


def _around(ids: list[int], at: int, token: Callable[[int], str]) -> Tokens:
    found = []
    for id_ in ids[max(0, at - BEFORE) : at + AFTER]:
        try:
            found.append((id_, token(id_)))
        except BaseException as error:
            reason(error)
            found.append((id_, "?"))
    return tuple(found)
