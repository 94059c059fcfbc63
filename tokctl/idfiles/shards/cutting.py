"""A stream of ids, cut into shards."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tokctl.idfiles.chunks import BEGIN, Before, Chunk, Place
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.shards.folder import Folder
from tokctl.idfiles.shards.journal import Journal
from tokctl.idfiles.shards.origin import Origin
from tokctl.idfiles.streams import Position
from tokctl.idfiles.writers import Writer, files_of, open_writer

if TYPE_CHECKING:
    from typing import Self

#: Forms whose shards hold exactly so many ids, and need an index to say where documents begin.
EXACT = ("bin", "npy")


class Sharder:
    """Writes chunks to one shard after the other, and records each that is whole.

    A shard is full when it has its ids: in an exact form where that is, else at the end of the
    document. It ends when the next id comes, so that empty documents behind its last id belong to
    it, and the last shard is never empty where there are ids.
    """

    def __init__(
        self,
        folder: Folder,
        journal: Journal,
        origin: Origin,
        *,
        form: str,
        dtype: Dtype,
        size: int,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._origin = origin
        self._form = form
        self._dtype = dtype
        self._size = size
        self._exact = form in EXACT
        position = journal.position
        self._place: Place = position.place
        self._documents = position.documents  # that have ended in this source
        self._ids = position.ids  # of the document that has not
        self._facts = dict(journal.facts)
        self._touched: set[int] = set()
        self._stack = ExitStack()
        self._writer: Writer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A shard that is not whole goes; those in the journal stay.
        self._stack.__exit__(kind, error, traceback)

    def add(self, chunk: Chunk) -> None:
        """Writes a chunk, to several shards where it is long."""
        if chunk.place != self._place:
            self._place, self._documents, self._ids = chunk.place, 0, 0
        self._touch(chunk.place.source)
        ids = end = 0
        while (full := self._full_at(chunk, ids, end)) is not None:
            last = bisect_right(chunk.ends, full, lo=end)
            self._write(chunk.part(ids, end, full, last))
            self._close(chunk.before)
            ids, end = full, last
        self._write(chunk.part(ids, end))

    def _full_at(self, chunk: Chunk, ids: int, end: int) -> int | None:
        """Behind which id of the chunk, from `ids` on, the shard is full and another id comes."""
        written = self._writer.ids if self._writer else 0
        lacking = max(self._size - written, 0)
        if self._exact or (lacking == 0 and self._ids == 0):
            place = ids + lacking
        else:
            number = bisect_left(chunk.ends, ids + lacking, lo=end)
            if number == len(chunk.ends):
                return None
            place = chunk.ends[number]
        return place if chunk.count > place else None

    def _write(self, chunk: Chunk) -> None:
        if not chunk.count and not chunk.ends:
            return
        if self._writer is None:
            self._writer = self._open()
        self._writer.add(chunk)
        self._documents += len(chunk.ends)
        self._ids = chunk.count - chunk.ends[-1] if chunk.ends else self._ids + chunk.count
        facts = self._facts[chunk.place.source]
        facts[2] = (facts[2] or 0) + len(chunk.ends)
        facts[3] = (facts[3] or 0) + chunk.count

    def _touch(self, source: int) -> None:
        self._touched.add(source)
        if source not in self._facts:
            self._facts[source] = [*self._origin.facts(source), 0, 0]

    def _open(self) -> Writer:
        target, index = self._paths()
        return self._stack.enter_context(
            open_writer(
                self._form,
                target,
                self._dtype,
                index=index,
                starts=True,
                begun=self._ids > 0,
            )
        )

    def _paths(self) -> tuple[Path, Path | None]:
        """The file of the next shard, or the prefix of its files, and its index."""
        name = f"shard-{len(self._journal.shards):05}"
        path = self._folder.path
        if self._form == "megatron":
            return path / name, None
        return path / f"{name}.{self._form}", path / f"{name}.index.npy" if self._exact else None

    def _close(self, before: Before) -> None:
        """Ends the shard, and records it; the next id belongs to the chunk that began `before`."""
        writer = self._writer
        if writer is None:
            return
        target, index = self._paths()
        self._stack.close()
        self._writer = None
        documents = writer.documents if writer.index is None else writer.index.count
        first, *more = [Path(name) for name in files_of(self._form, target)]
        shard = _described(first)
        shard |= {"ids": writer.ids, "documents": documents}
        for second in [*more, *([index] if index else [])]:
            shard["index"] = _described(second)
        position = Position(self._place, before, self._documents, self._ids)
        # A source that was only opened may still be mended.
        touched = {
            number: facts
            for number in sorted(self._touched)
            if any((facts := self._facts[number])[2:])
        }
        self._journal.add(shard, position, touched)
        self._touched = {self._place.source}

    def finish(self) -> None:
        """Ends the last shard."""
        self._close(BEGIN)


def _described(path: Path) -> dict[str, Any]:
    """A file as the manifest has it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": path.name, "bytes": file.tell(), "sha256": digest}
