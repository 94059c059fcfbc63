"""Writing of ids to a file or to a folder of shards; each file appears complete or not at all.

`write` encodes sources into files. `ChunkStream` is the ids of sources as chunks; `open_writer`
opens the writer of a form. The writers are modules of their own, imported when they are used.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.files import WholeFiles, note_read, watched, whole_files
from tokctl.idfiles import FORMS
from tokctl.idfiles.chunks import (
    SOURCE_START,
    STREAM_START,
    Chunk,
    IdFileWriter,
    ResumePoint,
    SourceIndex,
    StreamPosition,
    skip_leading,
)
from tokctl.idfiles.dtypes import Dtype, dtype_for
from tokctl.sources import Document, Records, Source
from tokctl.tokenizer.documents import DocumentEncoder, Progress, TrackedSources, end_id

if TYPE_CHECKING:
    from tokctl._native import TokenNames
    from tokctl.sources import ReadOptions
    from tokctl.tokenizer import Special, Tokenizer


#: Formats that consist of several files, of which one is named.
_SEVERAL_FILES = ("vocab-merges", "bert-vocab", "tiktoken")


@dataclass(frozen=True)
class Target:
    """The files to write, and their form.

    Attributes:
        path: a file, a stream, or a folder (with `shard_size`).
        form: one of `tokctl.idfiles.FORMS`; with `shard_size` one of `SHARDED`.
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


def write(
    tokenizer: Tokenizer,
    sources: Sequence[str | Path | Source],
    target: str | Path,
    *,
    form: str = "bin",
    dtype: str | None = None,
    eos: str | None = None,
    lines: bool = False,
    special: Special = "none",
    errors: str = "strict",
    threads: int = 1,
    index: str | Path | None = None,
    shard_size: int | None = None,
    resume: bool = False,
    reading: ReadOptions | None = None,
    progress: Progress | None = None,
    engine: ShardEngine | None = None,
) -> Written:
    """Encode texts into a file or a folder of shards; each file appears complete or not at all.

    A text file is one document, or with `lines` each of its lines is one; so is a line of JSON
    Lines or a row of a table. Memory does not grow with the sources. The output does not depend on
    `threads`.

    Args:
        tokenizer: model that encodes the texts.
        sources: paths, as on the command line, or open sources.
        target: the file (for `megatron` without extension), or with `shard_size` the folder.
        form: one of `tokctl.idfiles.FORMS`.
        dtype: `uint16`, `uint32` or `int32`; by default what the vocabulary needs (see
            `dtype_for`).
        eos: a token of the vocabulary to add after each document.
        lines: whether each line of a text file is a document.
        special: special tokens to recognize in the texts, as in `Tokenizer.encode_file`.
        errors: `strict` or `replace`: how to treat text that is not UTF-8, as in
            `Tokenizer.encode_file`.
        threads: number of threads that encode.
        index: a file for the ends of documents (bin, npy): 64-bit numbers as `.npy`.
        shard_size: the number of ids in a shard.
        resume: continue where an earlier run into the same folder stopped; needs `shard_size`.
        reading: how to read the paths.
        progress: called with `encode`, the bytes read and their total, or None.
        engine: what writes the shards, such as `tokctl.extras.ray.Cluster`, with the same bytes.
            `threads` then has no effect.

    Returns:
        The number of documents and ids, and for shards the manifest.

    Raises:
        TokctlError: a source can't be read, a file can't be written, a character has no id, or
            options can't be combined.

    Example:
        write(Tokenizer.load("book.json"), ["a.txt"], "ids.npy", form="npy", lines=True)
    """
    from tokctl.sources import AUTO

    if form not in FORMS:
        raise BadOption(
            f"there is no form {form!r}", f"choose one of: {', '.join(FORMS)}", "unknown-name"
        )
    id_dtype = dtype_for(form, tokenizer.vocab_size, dtype)
    last_id = None if eos is None else end_id(tokenizer, eos)
    tokenizer.special_matcher(special)  # reports an unknown token before any other error
    documents = DocumentEncoder(
        tokenizer, lines=lines, special=special, errors=errors, threads=threads
    )
    encoder = NativeEncoder(documents, id_dtype.width, last_id)
    job: dict[str, Any] = {}
    if shard_size is not None:
        read_options = reading or AUTO
        options = {
            "special": _special_list(special),
            "errors": errors,
            "lines": lines,
            "format": read_options.format,
            "text_field": read_options.text_field,
        }
        job = job_description(
            model_facts(tokenizer), form, id_dtype, eos=eos, shard_size=shard_size, options=options
        )
    output = Target(target, form, id_dtype, index, shard_size, resume, job)
    with watched():
        noted_sources = _open_noted(sources, reading or AUTO)
        return write_stream(ChunkStream(noted_sources, encoder, progress), output, engine)


def _open_noted(sources: Sequence[Source | str | Path], reading: ReadOptions) -> list[Source]:
    """Open the paths among the sources, and note every file that is read."""
    from tokctl.sources import open_sources

    opened: list[Source] = []
    for source in sources:
        if isinstance(source, (str, Path)):
            opened += open_sources([source], reading)
        else:
            note_read(source.name)
            opened.append(source)
    return opened


class ShardEngine(Protocol):
    """Writer of shards on other machines, such as `tokctl.extras.ray.Cluster`."""

    def write_shards(self, stream: ChunkStream, target: Target) -> Written:
        """Write a folder of shards with the same bytes as `tokctl.idfiles.shards.ShardRun`."""


def write_stream(stream: ChunkStream, target: Target, engine: ShardEngine | None = None) -> Written:
    """Write the chunks of a stream to a file or to shards.

    Args:
        stream: the sources and their encoder.
        target: the files to write.
        engine: writer of shards on other machines; None: this process.

    Raises:
        TokctlError: as `write`.
    """
    check_target(target)
    if engine is not None:
        if target.shard_size is None:
            raise BadOption(
                "a cluster writes shards", "also give the size of a shard", "missing-option"
            )
        return engine.write_shards(stream, target)
    if target.shard_size is None:
        with open_writer(target.form, target.path, target.dtype, index=target.index) as writer:
            for chunk in stream.chunks():
                writer.add(chunk)
        return Written(writer.documents, writer.ids)
    from tokctl.idfiles.shards import ShardRun

    return ShardRun(stream, target).write()


def check_target(target: Target) -> None:
    """Check the options of a target.

    Args:
        target: the files to write.

    Raises:
        TokctlError: options can't be combined, or pyarrow is missing for Parquet.
    """
    if target.index is not None:
        if target.form not in ("bin", "npy"):
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
    if target.form == "parquet":
        from tokctl.idfiles.parquet import WRITING_NEEDS_PYARROW, pyarrow

        pyarrow(WRITING_NEEDS_PYARROW)


def job_description(
    model: dict[str, Any],
    form: str,
    dtype: Dtype,
    *,
    eos: str | None,
    shard_size: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the job of a folder of shards, as stored in the manifest.

    Args:
        model: see `model_facts`.
        form: form of the shards.
        dtype: type of the ids; not stored for `jsonl`.
        eos: token after each document; None: no token.
        shard_size: number of ids in a shard.
        options: other options that the ids depend on, by their names on the command line.
    """
    job: dict[str, Any] = {
        "model": model,
        "form": form,
        "dtype": None if form == "jsonl" else dtype.name,
        "shard_size": shard_size,
        "eos": eos,
        "options": options,
    }
    if form == "parquet":
        from tokctl.idfiles.parquet import WRITING_NEEDS_PYARROW, pyarrow

        job["pyarrow"] = pyarrow(WRITING_NEEDS_PYARROW).__version__  # its release decides the bytes
    return job


def _special_list(special: Special) -> list[str]:
    """Return special tokens as the command line passes them: a list, empty for `none`."""
    if isinstance(special, str):
        return [] if special == "none" else [special]
    return list(special)


def model_facts(tokenizer: Tokenizer, path: str | Path | None = None) -> dict[str, Any]:
    """Return what identifies a model: the size of its vocabulary, and a SHA-256.

    The digest is the one of the model's file. For a model without a file, or in a format of several
    files, it is the digest of the bytes that `Tokenizer.save` writes.

    Args:
        tokenizer: the model.
        path: file of the model; None: unknown or none.
    """
    import hashlib

    if path is not None and Path(path).is_file() and tokenizer.format not in _SEVERAL_FILES:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        from tokctl import formats

        digest = hashlib.sha256(formats.serialize(tokenizer.model)).hexdigest()
    return {"sha256": digest, "vocab_size": tokenizer.vocab_size}


class Encoder(Protocol):
    """Encoder of sources into chunks. It can be pickled.

    Attributes:
        documents: how documents become ids.
    """

    documents: DocumentEncoder

    @property
    def cuts(self) -> str:
        """Name of the cuts that divide a document into parts for several encoders.

        See `DocumentEncoder.cuts`.
        """

    def chunks(self, source: Document | Records, start: ResumePoint = ...) -> Iterator[Chunk]:
        """Yield the ids of a source as chunks, from `start` on."""


class NativeEncoder:
    """Encoder of the documents of a source into chunks of packed ids or of JSON lines."""

    def __init__(
        self,
        documents: DocumentEncoder,
        width: int,
        end_id: int | None = None,
        names: Callable[[], TokenNames] | None = None,
    ) -> None:
        """Set the form of the chunks.

        Args:
            documents: how documents become ids.
            width: bytes of an id, 2 or 4; every id must fit.
            end_id: id added after the ids of each document; None: nothing is added.
            names: function that returns the field names for JSON; each document is then a line.
                None: packed ids.
        """
        self.documents = documents
        self.end_id = end_id
        self._arguments = width, names
        self.width = 0 if names else width
        self._form = names() if names else str(8 * width)

    def __reduce__(self) -> tuple[Any, ...]:
        width, names = self._arguments
        return NativeEncoder, (self.documents, width, self.end_id, names)

    @property
    def cuts(self) -> str:
        """`DocumentEncoder.cuts`, but `nowhere` if a whole document becomes one line."""
        is_line = not self.width and not self.documents.lines
        return "nowhere" if is_line else self.documents.cuts

    def chunks(
        self, source: Document | Records, start: ResumePoint = SOURCE_START
    ) -> Iterator[Chunk]:
        """Yield the ids of a source as chunks, from `start` on.

        Args:
            source: a document or a source of records.
            start: point in the source to start from.

        Raises:
            TokctlError: as `DocumentEncoder.encode`.
        """
        return self._chunks(source, start, self.end_id)

    def open_chunks(self, document: Document) -> Iterator[Chunk]:
        """Yield the ids of a part of a document that continues after the part.

        The part must end where the document may be cut. No chunk has the end of a document.
        """
        for chunk in self._chunks(document, SOURCE_START, None):
            yield replace(chunk, ends=())

    def _chunks(
        self, source: Document | Records, start: ResumePoint, end_id: int | None
    ) -> Iterator[Chunk]:
        is_text = isinstance(source, Document)
        encoded = self.documents.encode(
            source,
            self._form,
            end_id=end_id,
            skipped=start.text if is_text else start.records,
        )
        documents, ids = start.documents, start.ids
        for data, count, ends, position in encoded:
            if not is_text:
                resume = ResumePoint(records=position, documents=position)
            elif self.documents.lines:
                resume = ResumePoint(position, documents=documents)
            elif self.width:
                resume = ResumePoint(position, ids=ids)
            else:
                resume = start
            if self.width:
                yield Chunk(data, count, ends, self.width, resume=resume)
            elif data:
                lines = data if data.endswith(b"\n") else data + b"\n"
                byte_ends = array("q", (encoded.end() for encoded in re.finditer(b"\n", lines)))
                yield Chunk(lines, count, ends, 0, byte_ends, resume=resume)
            documents += len(ends)
            ids += count


class ChunkStream:
    """Sources, and the encoder that turns them into chunks.

    Attributes:
        sources: the sources, in the order of their ids.
        encoder: encoder of each source.
        progress: called with the phase `encode`, and with `verify` for the shards of an earlier
            run.
        tell: called with a sentence for each damaged shard of an earlier run that is encoded again.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        encoder: Encoder,
        progress: Progress | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.sources = sources
        self.encoder = encoder
        self.progress = progress
        self.tell = tell
        self._tracked = TrackedSources(sources, progress)

    def chunks(self, start: StreamPosition = STREAM_START) -> Iterator[Chunk]:
        """Yield the chunks from position `start` on, each with its source."""
        documents = ids = 0
        for number, member, source in self._tracked.each(*start.source):
            index = SourceIndex(number, member)
            if index == start.source and start != STREAM_START:
                resume = start.resume
                is_same_document = start.documents == resume.documents
                source_chunks = skip_leading(
                    self.encoder.chunks(source, resume),
                    start.documents - resume.documents,
                    start.ids - resume.ids if is_same_document else start.ids,
                )
            else:
                source_chunks = self.encoder.chunks(source)
            for chunk in source_chunks:
                yield replace(chunk, source=index)
                documents, ids = documents + len(chunk.ends), ids + chunk.count
                self._tracked.documents, self._tracked.ids = documents, ids
                self._tracked.tell()


#: Forms whose header is written last.
_HEADER_WRITTEN_LAST = ("npy", "safetensors")


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
        form: one of `tokctl.idfiles.FORMS`, or `jsonl` for chunks of lines.
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
    with whole_files() as files, ExitStack() as stack:
        # The file that is opened first is renamed last.
        index_writer = None
        if index is not None:
            from tokctl.idfiles.npy import Index

            index_writer = Index(files.open(index), starts=starts, begun=begun)
        writer = _create_writer(files, stack, form, target, dtype)
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
    return [f"{target}.bin", f"{target}.idx"] if form == "megatron" else [str(target)]


def _create_writer(
    files: WholeFiles,
    stack: ExitStack,
    form: str,
    target: str | Path | BinaryIO,
    dtype: Dtype,
) -> IdFileWriter:
    if form == "megatron":
        from tokctl.idfiles.megatron import MegatronWriter

        if not isinstance(target, (str, Path)):
            raise BadOption(
                "Megatron's form has two files", "give their prefix: -o PREFIX", "missing-option"
            )
        data, idx = files_of(form, target)
        idx_file = files.open(idx)
        data_file = files.open(data)
        return MegatronWriter(
            data_file, idx_file, stack.enter_context(_temporary_file(target)), dtype
        )
    if isinstance(target, (str, Path)):
        out = files.open(target)
        is_file = out.seekable()
    else:
        out, is_file = target, False
    if form in _HEADER_WRITTEN_LAST:
        out = out if is_file else stack.enter_context(spooled(out))
    if form == "npy":
        from tokctl.idfiles.npy import NpyWriter

        return NpyWriter(out, dtype)
    if form == "safetensors":
        from tokctl.idfiles.safetensors import SafetensorsWriter

        return SafetensorsWriter(out, stack.enter_context(_temporary_file(target)), dtype)
    if form == "parquet":
        from tokctl.idfiles.parquet import ParquetWriter

        return ParquetWriter(out, dtype)
    from tokctl.idfiles.raw import RawWriter

    return RawWriter(out, dtype, flush=not is_file)


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
