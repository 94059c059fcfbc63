"""Shards: a folder of files of ids, each whole, a journal while it grows, and a manifest.

FOLDER/shard-00000.bin, FOLDER/shard-00000.index.npy, …
FOLDER/journal.jsonl      while it grows: what is whole, and where to go on
FOLDER/manifest.json      when it is finished
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.idfiles.shards.cutting import Sharder
from tokctl.idfiles.shards.folder import Folder, check_folder, has_shards
from tokctl.idfiles.shards.origin import (
    Origin,
    begun_streams,
    check_finished,
    check_same,
    check_sources,
)
from tokctl.idfiles.shards.totals import manifest

if TYPE_CHECKING:
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.streams import Stream

__all__ = ["Finished", "StoppedError", "check_folder", "resumable", "write_shards"]


@dataclass(frozen=True)
class Finished:
    """A folder of shards that is finished.

    Attributes:
        manifest: what `manifest.json` holds.
        was_there: it had been finished before, and nothing was done.
        kept: shards that had been written before.
    """

    manifest: dict[str, Any]
    was_there: bool
    kept: int


def write_shards(
    stream: Stream,
    path: str | Path,
    *,
    form: str,
    dtype: Dtype,
    size: int,
    job: dict[str, Any],
    resume: bool = False,
) -> Finished:
    """Writes the ids of a stream as shards into a folder, which is made.

    Args:
        form: one of `tokctl.idfiles.SHARDED`.
        size: ids of a shard. `bin` and `npy` have exactly so many, but the last; the others end
            with the document that reaches it.
        job: what the ids and the files depend on, beside the sources: plain data, by the names
            that people know. It stands in the manifest.
        resume: goes on where an earlier run stopped.

    Raises:
        TokctlError: the folder is not empty, or with `resume` holds something else; another
            process writes to it; a file can't be written; a source fails. What is whole stays,
            and can be resumed.
    """
    origin = Origin.of(stream.sources, job)
    with Folder(Path(path)) as folder:
        if resume and (found := folder.read_manifest()) is not None:
            check_same(folder.name, found, origin.header(), what="was made")
            check_finished(folder.name, origin, found)
            folder.clean(keep=None)
            return Finished(found, was_there=True, kept=len(found["shards"]))
        journal = folder.journal(origin, resume=resume)
        if journal.shards:
            check_same(folder.name, journal.header, origin.header(), what="was begun")
            check_sources(folder.name, origin, journal.facts)
            begun_streams(folder.name, origin, journal.position)
        folder.check_shards(journal.shards)
        kept = len(journal.shards)
        sharder = Sharder(folder, journal, origin, form=form, dtype=dtype, size=size)
        try:
            with sharder:
                for chunk in stream.chunks(journal.position):
                    sharder.add(chunk)
                sharder.finish()
        except TokctlError as error:
            raise StoppedError.by(error) from error
        made = manifest(origin, journal)
        folder.finish(made)
        return Finished(made, was_there=False, kept=kept)


class StoppedError(TokctlError):
    """An error amid the work: what is whole stays in the folder, and a later run goes on."""

    @classmethod
    def by(cls, error: TokctlError) -> StoppedError:
        hint = error.hint
        if error.message.startswith("can't write"):
            hint = "make room there, or look at its rights"
        return cls(error.message, hint, error.exit_code)


def resumable(path: str | Path) -> bool:
    """Does an unfinished folder hold shards that are whole, behind which a later run goes on?"""
    return has_shards(Path(path))
