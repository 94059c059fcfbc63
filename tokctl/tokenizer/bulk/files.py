"""The documents of files, folders, archives and tables, encoded as they are read."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, TypeVar

from tokctl import _native
from tokctl._native import IdArray
from tokctl.errors import TokctlError
from tokctl.sources import (
    BLOCK_SIZE,
    Batch,
    Document,
    Named,
    Records,
    Source,
    check_utf8,
    checked_batch,
    flat,
)
from tokctl.sources.blocks import read_ahead
from tokctl.tokenizer.encodes import Encodes, Special
from tokctl.tokenizer.encoding import no_id_in

T = TypeVar("T")

#: What one may ask the ids of: a path, `-` for stdin, an open source, or several of these.
Sources: TypeAlias = Named | Sequence[Named]


@dataclass(frozen=True)
class Files:
    """How files are encoded; see `Tokenizer.encode_file`."""

    tokenizer: Encodes
    threads: int
    special: Special
    lines: bool
    eos: str | int | None
    errors: str

    def collector(self) -> _native.IdCollector:
        """Something empty to collect ids in."""
        return _native.IdCollector(
            self.tokenizer.encoder,
            self.tokenizer.special_matcher(self.special),
            cuts="lines" if self.lines else "pieces",
            threads=self.threads,
            separator=self._separator(),
        )

    def _separator(self) -> int | None:
        tokenizer, eos = self.tokenizer, self.eos
        if eos is None:
            return None
        if isinstance(eos, str):
            if eos in tokenizer.special_ids:
                return tokenizer.special_ids[eos]
            names = ", ".join(list(tokenizer.special_ids)[:50]) or "none"
            raise TokctlError(f"{eos!r} is no special token of this model", f"it has: {names}")
        if not 0 <= eos < tokenizer.vocab_size:
            hint = f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
            raise TokctlError(f"eos can't be the id {eos}", hint)
        return eos

    def collect(
        self, collector: _native.IdCollector, sources: Iterable[Source], *, ahead: bool = False
    ) -> Generator[None, None, None]:
        """Reads the sources, and puts the ids of what was read into the collector; each time
        it has done some it says so.

        `ahead`: with threads, another one reads ahead as long as the generator lives.
        """
        ahead = ahead and self.threads > 1
        for source in flat(sources):
            if isinstance(source, Records):
                yield from self._records(collector, source, ahead)
            else:
                yield from self._document(collector, source, ahead)

    def _records(
        self, collector: _native.IdCollector, source: Records, ahead: bool
    ) -> Generator[None, None, None]:
        with closing(_ready(source, source.batches(), ahead)) as batches:
            for batch in batches:
                if self._reads_characters:
                    batch = checked_batch(batch, source.name, self.errors, source.unit)
                self._add(collector, batch, source)
                yield

    def _document(
        self, collector: _native.IdCollector, source: Document, ahead: bool
    ) -> Generator[None, None, None]:
        blocks = check_utf8(source, self.errors) if self._reads_characters else source.blocks()
        with closing(_ready(source, blocks, ahead)) as ready:
            # Where normalizers or added tokens could reach over a cut, a text comes as one.
            model = self.tokenizer
            whole = model.recipe.normalizers or model.special_matcher(self.special)
            if whole and not self.lines:
                self._add(collector, Batch([b"".join(ready)]), source)
                yield
                return
            for block in ready:
                if found := collector.feed(block):
                    raise self._no_id(found[1], source.name, 1 + found[0])
                yield
            if found := collector.feed(b"", True):
                raise self._no_id(found[1], source.name, 1 + found[0])
            yield

    def _add(
        self, collector: _native.IdCollector, batch: Batch, source: Document | Records
    ) -> None:
        try:
            collector.add(batch.texts)
        except _native.CoreError as error:
            if error.args[1] != "no-id":
                raise
            place = error.args[2][0]
            text = batch.texts[place]
            if isinstance(source, Document):
                raise self._no_id(text, source.name, 1) from None
            raise self._no_id(text, f"{source.name}: {source.unit} {batch.first + place}") from None

    @property
    def _reads_characters(self) -> bool:
        return not self.tokenizer.recipe.is_byte_level

    def _no_id(self, text: bytes, name: str, line: int | None = None) -> TokctlError:
        """The error for the first token of `text` that has no id; `line` is that of its start."""
        return no_id_in(self.tokenizer, text, self.special, name, line)


def _ready(source: Document | Records, parts: Iterator[T], ahead: bool) -> Generator[T, None, None]:
    """The parts, by a thread of their own where that is asked for and of use."""
    if ahead and source.prompt and (source.size or 0) > BLOCK_SIZE:
        return read_ahead(parts)
    return (part for part in parts)


def arrays(files: Files, sources: Sequence[Source]) -> tuple[IdArray, array[int]]:
    """The ids of all documents end to end, and where those of each begin."""
    collector = files.collector()
    with closing(files.collect(collector, sources, ahead=True)) as steps:
        for _ in steps:
            pass
    ids, offsets = collector.take()
    return ids, array("q", offsets)


def each(
    files: Files, collector: _native.IdCollector, sources: Sequence[Source]
) -> Generator[IdArray, None, None]:
    """The ids of one document after the other."""
    with closing(files.collect(collector, sources)) as steps:
        for _ in steps:
            if not collector.documents():
                continue
            ids, offsets = collector.take()
            if len(offsets) == 2 * 8:
                yield ids
                continue
            for start, end in pairwise(array("q", offsets)):
                yield ids[start:end]
