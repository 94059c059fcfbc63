"""`encode`, text by text: what comes in, what goes out, what is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokctl.cli import streams
from tokctl.sources import Batch

if TYPE_CHECKING:
    from tokctl.cli.forms import Forms
    from tokctl.idfiles.encoding import NativeEncoder
    from tokctl.idfiles.tracking import Progress
    from tokctl.sources import Document, Records, Source

#: Bytes of text after which output is written, where Python makes it line by line.
_PORTION = 1 << 16


def write_all(
    forms: Forms,
    texts: Sequence[Source],
    write: streams.Writer,
    *,
    whole: bool,
    progress: Progress | None = None,
) -> None:
    """Encodes the texts and writes them: a document as one text or line by line, a record on a
    line of its own."""
    from tokctl.idfiles.tracking import Tracked
    from tokctl.sources import Records

    tracked = Tracked(texts, progress)
    for _, _, text in tracked.each():
        if isinstance(text, Records):
            shown = _records(forms, text, write)
        elif whole:
            shown = _whole(forms, text)
        else:
            shown = _lines(forms, text, write)
        for part in shown:
            write(part)
            tracked.tell()


def measured(forms: Forms, texts: Sequence[Source], *, whole: bool) -> list[Source]:
    """The texts, kept in memory, when the longest row that they give is known as the length
    that all are padded to. The text is kept and encoded twice, being smaller than its rows."""
    import os
    from dataclasses import replace
    from pathlib import Path

    from tokctl.sources import Records, flat

    read: list[Source] = []
    for text in flat(texts):
        if isinstance(text, Records):
            batches = list(text.batches())
            read.append(replace(text, batches=lambda batches=batches: iter(batches)))  # type: ignore[misc]
        else:
            blocks = list(text.blocks())
            read.append(replace(text, blocks=lambda blocks=blocks: iter(blocks)))  # type: ignore[misc]
    with Path(os.devnull).open("wb") as nowhere:
        write_all(forms, read, streams.Writer(nowhere), whole=whole)
    around = forms.around
    around.padding = replace(around.padding, length=around.longest)  # type: ignore[type-var]
    forms.texts_done = forms.bytes_read = forms.tokens = 0
    return read


def _records(forms: Forms, source: Records, write: streams.Writer) -> Iterator[bytes]:
    for shown, tokens in forms.batches(source):
        forms.tokens += tokens
        if shown and write.line_is_open:
            yield b"\n"
            write.line_is_open = False
        yield shown


def _whole(forms: Forms, text: Document) -> Iterator[bytes]:
    if not forms.is_native:
        shown, tokens = forms.text(b"".join(forms.blocks(text)), text.name, 1)
        forms.tokens += tokens
        yield shown + b"\n"
        return
    some = 0
    for shown, tokens in forms.written(text, whole=True):
        some += tokens
        yield shown
    if forms.last_id is not None:
        yield b"%s%d" % (b" " if some else b"", forms.last_id)
        some += 1
    forms.tokens += some
    yield b"\n"


def _lines(forms: Forms, text: Document, write: streams.Writer) -> Iterator[bytes]:
    open_before, some = write.line_is_open, forms.bytes_read
    shown_lines = forms.written(text, whole=False) if forms.is_native else _by_lines(forms, text)
    for shown, tokens in shown_lines:
        if open_before and forms.bytes_read > some:
            yield b"\n"
            open_before = False
        yield shown
        forms.tokens += tokens
    if forms.bytes_read > some:
        write.line_is_open = forms.line_is_open


def _by_lines(forms: Forms, text: Document) -> Iterator[tuple[bytes, int]]:
    """What Python writes for some lines, and their tokens."""
    line = 1
    for block in portions(forms, text):
        yield forms.lines(block, text.name, line)
        line += block.count(b"\n")


def portions(forms: Forms, text: Document) -> Iterator[bytes]:
    """Whole lines, so many that what is written for them does not keep people waiting."""
    for block in streams.whole_lines(forms.blocks(text)):
        yield from streams.shares(block, len(block) // _PORTION + 1)


def batches(source: Records) -> Iterator[Batch]:
    """The records, no more at a time than `portions` gives of a document: what Python makes of a
    text takes far more room than the text."""
    for batch in source.batches():
        begin = size = 0
        for end, text in enumerate(batch.texts, 1):
            size += len(text)
            if size >= _PORTION or end == len(batch.texts):
                yield Batch(batch.texts[begin:end], None, batch.first + begin)
                begin, size = end, 0


def summary(forms: Forms | NativeEncoder, seconds: float) -> str:
    """How much was encoded, how fast, and what the encoder remembers of it."""
    speed = forms.bytes_read / 1e6 / max(seconds, 1e-9)
    entries, size = forms.tokenizer.encoder.cache_stats()
    return (
        f"{forms.tokens:,} tokens of {forms.bytes_read:,} bytes in {seconds:.2f} s: "
        f"{speed:,.1f} MB/s; threads: {forms.threads}; "
        f"cache: {entries:,} pre-tokens, {size / 1e6:,.1f} MB"
    )
