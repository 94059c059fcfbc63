"""Writers: chunks of ids in, files out, each whole or absent."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from tokctl.errors import TokctlError
from tokctl.files import whole_file
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer
from tokctl.idfiles.writers.index import Index

__all__ = ["Writer", "files_of", "open_writer"]

#: Forms whose beginning is written at the end.
_FINISHED_IN_FRONT = ("npy", "safetensors")


@contextlib.contextmanager
def open_writer(
    form: str,
    target: str | Path | BinaryIO,
    dtype: Dtype,
    *,
    index: str | Path | None = None,
    starts: bool = False,
    begun: bool = False,
) -> Iterator[Writer]:
    """A writer of one of `tokctl.idfiles.FORMS`, or of `jsonl`, whose chunks are lines already.

    What it is given is there, whole, when the block ends without an error; else nothing is.

        with open_writer("npy", "ids.npy", dtype_for("npy", 50_257)) as writer:
            writer.add(Chunk.of([[1, 2], [3]], writer.dtype))

    Args:
        target: the file; `megatron` adds `.bin` and `.idx` to it, and gives the second its name
            last. Or a stream, which is written to as chunks come (bin, parquet), or when they
            have come: the others stay in a temporary file until then.
        dtype: of the ids; the chunks must have its width.
        index: a second file (bin and npy): an `.npy` of 64-bit numbers, where documents end.
            It begins with 0 and has one number more than there are documents.
        starts: the index is that of a shard: where documents begin.
        begun: the first ids go on with a document that has begun in another shard.

    Raises:
        TokctlError: a file can't be written; `parquet` without pyarrow.
    """
    with ExitStack() as stack:
        # What is opened first is given its name last.
        found = None
        if index is not None:
            found = Index(stack.enter_context(whole_file(index)), starts=starts, begun=begun)
        writer = _opened(stack, form, target, dtype)
        writer.index = found
        try:
            yield writer
            writer.finish()
            if found is not None:
                found.finish()
        except BaseException:
            writer.abandon()
            raise


def files_of(form: str, target: str | Path) -> list[str]:
    """The files that a writer makes at `target`, the largest first."""
    return [f"{target}.bin", f"{target}.idx"] if form == "megatron" else [str(target)]


def _opened(stack: ExitStack, form: str, target: str | Path | BinaryIO, dtype: Dtype) -> Writer:
    if form == "megatron":
        from tokctl.idfiles.writers.megatron import MegatronWriter

        if not isinstance(target, (str, Path)):
            raise TokctlError("Megatron's files are two", "name them: -o PREFIX")
        data, idx = files_of(form, target)
        second = stack.enter_context(whole_file(idx))
        first = stack.enter_context(whole_file(data))
        return MegatronWriter(first, second, stack.enter_context(_beside(target)), dtype)
    if isinstance(target, (str, Path)):
        out = stack.enter_context(whole_file(target))
        is_file = out.seekable()
    else:
        out, is_file = target, False
    if form in _FINISHED_IN_FRONT:
        out = out if is_file else stack.enter_context(spooled(out))
    if form == "npy":
        from tokctl.idfiles.writers.npy import NpyWriter

        return NpyWriter(out, dtype)
    if form == "safetensors":
        from tokctl.idfiles.writers.safetensors import SafetensorsWriter

        return SafetensorsWriter(out, stack.enter_context(_beside(target)), dtype)
    if form == "parquet":
        from tokctl.idfiles.writers.parquet import ParquetWriter

        return ParquetWriter(out, dtype)
    from tokctl.idfiles.writers.raw import RawWriter

    return RawWriter(out, dtype, at_once=not is_file)


def _beside(target: str | Path | BinaryIO) -> BinaryIO:
    """A temporary file without a name, where there is room for the ids, too."""
    folder = None
    if isinstance(target, (str, Path)) and (not Path(target).exists() or Path(target).is_file()):
        folder = Path(target).parent
    return tempfile.TemporaryFile(dir=folder)


@contextlib.contextmanager
def spooled(out: BinaryIO) -> Iterator[BinaryIO]:
    """A temporary file that is copied to `out` when the block ends without an error."""
    try:
        spool = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        raise _no_room(error) from None
    with spool:
        try:
            yield spool
            spool.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _no_room(error) from None
        spool.seek(0)
        shutil.copyfileobj(spool, out, 1 << 20)
        out.flush()


def _no_room(error: OSError) -> TokctlError:
    return TokctlError(
        f"can't keep ids in {tempfile.gettempdir()}: {os.strerror(error.errno or 0)}",
        "name a folder with room in $TMPDIR, or write to a file: -o PATH",
    )
