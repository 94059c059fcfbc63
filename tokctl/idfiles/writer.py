"""Writing of ids: `write` encodes sources into a file or into a folder of shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tokctl.core.errors import BadOption
from tokctl.core.files import note_read, watched
from tokctl.idfiles.dtypes import Dtype, dtype_for
from tokctl.idfiles.output import Target, Written, check_target, open_writer
from tokctl.idfiles.registry import BINARY_FORMS, BY_NAME
from tokctl.idfiles.shards import ShardRun
from tokctl.idfiles.stream import ChunkStream, NativeEncoder
from tokctl.sources import Source
from tokctl.tokenizer.documents import DocumentEncoder, Progress, end_id

if TYPE_CHECKING:
    from tokctl.sources import ReadOptions
    from tokctl.tokenizer import Special, Tokenizer

#: Formats that consist of several files, of which one is named.
_SEVERAL_FILES = ("vocab-merges", "bert-vocab", "tiktoken")


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
        form: one of `tokctl.idfiles.BINARY_FORMS`.
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

    if form not in BINARY_FORMS:
        raise BadOption(
            f"there is no form {form!r}",
            f"choose one of: {', '.join(BINARY_FORMS)}",
            "unknown-name",
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
    return ShardRun(stream, target).write()


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
    # The release of a library may decide the bytes.
    return {
        "model": model,
        "form": form,
        "dtype": None if form == "jsonl" else dtype.name,
        "shard_size": shard_size,
        "eos": eos,
        "options": options,
        **BY_NAME[form].writer_class.libraries(),
    }


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
