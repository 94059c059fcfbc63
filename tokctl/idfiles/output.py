"""Files of ids to write: their form, and the writers of all forms.

Each file appears complete or not at all.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.files import whole_files
from tokctl.idfiles.chunks import FormFiles, IdFileWriter
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.registry import BY_NAME


@dataclass(frozen=True)
class Target:
    """The files to write, and their form.

    Attributes:
        path: a file, a stream, or a folder (with `shard_size`).
        form: one of `tokctl.idfiles.BINARY_FORMS`; with `shard_size` one of `SHARDED`.
        dtype: type of the ids.
        index: file that says where documents end (bin, npy); None: no such file.
        shard_size: number of ids in a shard; None: one file. Shards of `bin` and `npy` have exactly
            this number, except for the last. Shards of other forms end with the document that
            reaches it.
        resume: whether to continue the shards of an earlier run.
        job: for shards, everything except the sources that the ids and the files depend on: plain
            data under user-visible names, stored in the manifest.
    """

    path: str | Path | BinaryIO
    form: str
    dtype: Dtype
    index: str | Path | None = None
    shard_size: int | None = None
    resume: bool = False
    job: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """Counts of written documents and ids, and for shards the manifest.

    Attributes:
        documents: number of documents, in all shards.
        ids: number of ids, in all shards.
        manifest: content of `manifest.json`; None if the output is not a folder of shards.
        kept: number of shards kept from an earlier run.
        was_there: whether an earlier run had finished, so that nothing was done.
        damaged: one sentence for each damaged shard of an earlier run that was encoded again.
    """

    documents: int
    ids: int
    manifest: dict[str, Any] | None = None
    kept: int = 0
    was_there: bool = False
    damaged: tuple[str, ...] = ()


def check_target(target: Target) -> None:
    """Check the options of a target.

    Args:
        target: the files to write.

    Raises:
        TokctlError: options can't be combined, or pyarrow is missing for Parquet.
    """
    if target.index is not None:
        if not BY_NAME[target.form].has_index:
            raise BadOption(
                f"an index is for bin and npy: {target.form} holds its documents itself",
                "leave the index out",
                "conflict",
            )
        if target.shard_size is not None:
            raise BadOption("each shard has its own index", "leave the index out", "conflict")
    if target.resume and target.shard_size is None:
        raise BadOption(
            "only shards can be resumed", "also give the size of a shard", "missing-option"
        )
    if target.shard_size is not None and target.shard_size < 1:
        raise BadOption(
            f"a shard can't have {target.shard_size} ids", "take 1 or more", "bad-value"
        )
    BY_NAME[target.form].writer_class.libraries()


@contextlib.contextmanager
def open_writer(
    form: str,
    target: str | Path | BinaryIO,
    dtype: Dtype,
    *,
    index: str | Path | None = None,
    starts: bool = False,
    begun: bool = False,
) -> Iterator[IdFileWriter]:
    """Open a writer of ids; its files appear, complete, when the block ends without error.

    After an error, no file appears.

    Args:
        form: one of `tokctl.idfiles.BINARY_FORMS`, or `jsonl` for chunks of lines.
        target: a file or a stream. `megatron` adds `.bin` and `.idx` to the name, and renames the
            `.idx` last. `bin` and `parquet` write to a stream as chunks come; the other forms keep
            them in a temporary file until the end.
        dtype: type of the ids; the chunks must have its width.
        index: a second file (bin and npy): an `.npy` of 64-bit numbers that says where documents
            end. It begins with 0 and has one number more than there are documents.
        starts: whether the index is for a shard and says where documents begin instead.
        begun: whether the first ids continue a document of the shard before.

    Raises:
        TokctlError: a file can't be written; `parquet` without pyarrow.

    Example:
        with open_writer("npy", "ids.npy", dtype_for("npy", 50_257)) as writer:
            writer.add(Chunk.of([[1, 2], [3]], writer.dtype))
    """
    row = BY_NAME[form]
    with whole_files() as files, ExitStack() as stack:
        # The file that is opened first is renamed last.
        index_writer = None
        if index is not None:
            from tokctl.idfiles.npy import Index

            index_writer = Index(files.open(index), starts=starts, begun=begun)
        if isinstance(target, (str, Path)):
            outs = [files.open(name) for name in reversed(files_of(form, target))][::-1]
        else:
            outs = [target]
        writer: IdFileWriter = row.writer_class(_TargetFiles(outs, target, stack), dtype)
        writer.index = index_writer
        try:
            yield writer
            writer.finish()
            if index_writer is not None:
                index_writer.finish()
        except BaseException:
            writer.abandon()
            raise


def files_of(form: str, target: str | Path) -> list[str]:
    """Return the names of the files that a writer makes for `target`, the largest first."""
    return [f"{target}{ending}" for ending in BY_NAME[form].endings]


class _TargetFiles(FormFiles):
    """The files of a writer, and temporary ones until `stack` ends."""

    def __init__(
        self, files: Sequence[BinaryIO], target: str | Path | BinaryIO, stack: ExitStack
    ) -> None:
        self.files = files
        self.is_stream = not isinstance(target, (str, Path)) or not files[0].seekable()
        self._target = target
        self._stack = stack

    def seekable(self) -> BinaryIO:
        file = self.files[0]
        return self._stack.enter_context(spooled(file)) if self.is_stream else file

    def temporary(self) -> BinaryIO:
        return self._stack.enter_context(_temporary_file(self._target))


def _temporary_file(target: str | Path | BinaryIO) -> BinaryIO:
    """Return an unnamed temporary file, on the disk of the target if that is a file."""
    folder = None
    if isinstance(target, (str, Path)) and (not Path(target).exists() or Path(target).is_file()):
        folder = Path(target).parent
    # On Windows, TemporaryFile returns a wrapper around the file.
    file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
    temporary: BinaryIO = file
    return temporary


@contextlib.contextmanager
def spooled(out: BinaryIO) -> Iterator[BinaryIO]:
    """Open a temporary file that is copied to `out` when the block ends without error."""
    try:
        spool: Any = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        raise _no_space_error(error) from None
    with spool:
        try:
            yield spool
            spool.flush()
        except OSError as error:
            if systems.is_closed_pipe(error):
                raise
            raise _no_space_error(error) from None
        spool.seek(0)
        shutil.copyfileobj(spool, out, 1 << 20)
        out.flush()


def _no_space_error(error: OSError) -> TokctlError:
    return BadInput(
        f"can't keep ids in {tempfile.gettempdir()}: {os.strerror(error.errno or 0)}",
        "name a folder with room in $TMPDIR, or write to a file: -o PATH",
        "unreadable",
    )
