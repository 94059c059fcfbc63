"""From texts to a file of ids, or a folder of shards, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tokctl.errors import TokctlError
from tokctl.idfiles import FORMS
from tokctl.idfiles.dtypes import Dtype, dtype_for
from tokctl.idfiles.streams import Stream
from tokctl.idfiles.tracking import Progress

if TYPE_CHECKING:
    from tokctl.sources import Reading, Source
    from tokctl.tokenizer import Special, Tokenizer


@dataclass(frozen=True)
class Target:
    """What is written, and where.

    Attributes:
        path: a file, a folder (with `shard_size`), or a stream.
        form: one of `tokctl.idfiles.FORMS`; with `shard_size` of `SHARDED`.
        dtype: of the ids.
        index: a file for where documents end (bin, npy).
        shard_size: ids of a shard; None: one file.
        resume: goes on with the shards of an earlier run.
        job: see `tokctl.idfiles.shards.write_shards`.
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
    """What was written.

    Attributes:
        documents, ids: so many, in all shards.
        manifest: of a folder of shards, what its `manifest.json` holds.
        kept: shards that an earlier run had written.
        was_there: an earlier run had finished, and nothing was done.
    """

    documents: int
    ids: int
    manifest: dict[str, Any] | None = None
    kept: int = 0
    was_there: bool = False


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
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> Written:
    """Encodes texts into a file, or into a folder of shards; whole or not at all.

    A text file is one document, or with `lines` each line of it; a line of JSON Lines or a row of
    a table is one. Memory does not grow with the sources. The bytes do not depend on `threads`.

    Args:
        sources: paths, as the command line takes them, or sources that are open.
        target: the file; for `megatron` without its ending; with `shard_size` a folder.
        form: one of `tokctl.idfiles.FORMS`.
        dtype: `uint16`, `uint32` or `int32`; by the vocabulary without it (see `dtype_for`).
        eos: a token of the vocabulary, by its text, that is put behind each document.
        special, errors, threads: as in `Tokenizer.encode_batch` and `tokctl.sources`.
        index: a file for where documents end (bin, npy): 64-bit numbers as `.npy`.
        shard_size: ids of a shard.
        resume: goes on where an earlier run into the same folder stopped; needs `shard_size`.
        reading: how paths are read.
        progress: called with `encode`, the bytes read and their total, or None.

    Raises:
        TokctlError: a source can't be read, a file can't be written, a character has no id,
            options do not go together.
    """
    from tokctl.idfiles.encoding import NativeEncoder, eos_id
    from tokctl.sources import AUTO, open_sources

    if form not in FORMS:
        raise TokctlError(f"there is no form {form!r}", f"choose one of: {', '.join(FORMS)}")
    kind = dtype_for(form, tokenizer.vocab_size, dtype)
    last_id = None if eos is None else eos_id(tokenizer, eos)
    tokenizer.special_matcher(special)  # an unknown token is an error before all else
    opened: list[Source] = []
    for source in sources:
        if isinstance(source, (str, Path)):
            opened += open_sources([source], reading or AUTO)
        else:
            opened.append(source)
    encoder = NativeEncoder(
        tokenizer, kind.width, last_id, lines=lines, special=special, errors=errors, threads=threads
    )
    job: dict[str, Any] = {}
    if shard_size is not None:
        how = reading or AUTO
        options = {
            "special": _listed(special),
            "errors": errors,
            "lines": lines,
            "format": how.format,
            "text_field": how.text_field,
        }
        job = described(
            model_facts(tokenizer), form, kind, eos=eos, shard_size=shard_size, options=options
        )
    where = Target(target, form, kind, index, shard_size, resume, job)
    return write_stream(Stream(opened, encoder, progress), where)


def write_stream(stream: Stream, target: Target) -> Written:
    """Writes the chunks of a stream.

    Raises:
        TokctlError: as `write`.
    """
    check(target)
    if target.shard_size is None:
        from tokctl.idfiles.writers import open_writer

        with open_writer(target.form, target.path, target.dtype, index=target.index) as writer:
            for chunk in stream.chunks():
                writer.add(chunk)
        return Written(writer.documents, writer.ids)
    from tokctl.idfiles.shards import write_shards

    assert isinstance(target.path, (str, Path))
    done = write_shards(
        stream,
        target.path,
        form=target.form,
        dtype=target.dtype,
        size=target.shard_size,
        job=target.job,
        resume=target.resume,
    )
    totals = done.manifest["totals"]
    return Written(totals["documents"], totals["ids"], done.manifest, done.kept, done.was_there)


def check(target: Target) -> None:
    """TokctlError where what is asked for does not go together, or is not installed."""
    if target.index is not None:
        if target.form not in ("bin", "npy"):
            raise TokctlError(
                f"an index is for bin and npy: {target.form} holds its documents itself",
                "leave the index out",
            )
        if target.shard_size is not None:
            raise TokctlError("each shard has an index beside it", "leave the index out")
    if target.resume and target.shard_size is None:
        raise TokctlError("only shards can be resumed", "give the size of a shard, too")
    if target.shard_size is not None and target.shard_size < 1:
        raise TokctlError(f"a shard can't have {target.shard_size} ids", "take 1 or more")
    if target.form == "parquet":
        from tokctl.idfiles.writers.parquet import pyarrow

        pyarrow()


#: Formats that read what lies beside the file that is named.
_SEVERAL_FILES = ("vocab-merges", "bert-vocab", "tiktoken")


def described(
    model: dict[str, Any],
    form: str,
    dtype: Dtype,
    *,
    eos: str | None,
    shard_size: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """The job of `write_shards`, as it stands in the manifest."""
    job: dict[str, Any] = {
        "model": model,
        "form": form,
        "dtype": None if form == "jsonl" else dtype.name,
        "shard_size": shard_size,
        "eos": eos,
        "options": options,
    }
    if form == "parquet":
        from tokctl.idfiles.writers.parquet import pyarrow

        job["pyarrow"] = pyarrow().__version__  # its release decides the bytes
    return job


def _listed(special: Special) -> list[str]:
    """As the command line has it: `none` is no token, and `all` is one of its words."""
    if isinstance(special, str):
        return [] if special == "none" else [special]
    return list(special)


def model_facts(tokenizer: Tokenizer, path: str | Path | None = None) -> dict[str, Any]:
    """What tells a model from others: its size, and the SHA-256 of its file; of what
    `Tokenizer.save` writes, where it comes from no file or can come from several."""
    import hashlib

    if path is not None and Path(path).is_file() and tokenizer.format not in _SEVERAL_FILES:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        from tokctl import formats

        digest = hashlib.sha256(formats.serialize(tokenizer.model)).hexdigest()
    return {"sha256": digest, "vocab_size": tokenizer.vocab_size}
