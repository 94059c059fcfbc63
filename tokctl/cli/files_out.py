"""`encode` into files of ids: what its options ask for, and the run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl.cli import streams, texts_out
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError
from tokctl.idfiles import FORMS, SHARDED

if TYPE_CHECKING:
    from tokctl.cli.around import Around
    from tokctl.cli.forms import Forms
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.encoding import NativeEncoder
    from tokctl.idfiles.writer import Target
    from tokctl.sources import Reading, Source
    from tokctl.tokenizer import Tokenizer

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(eq=False, repr=False)
class IdFiles:
    """The options about files of ids."""

    eos: str | None = None
    lines: bool = False
    dtype: str | None = None
    index: str | None = None
    shard_size: str | None = None
    resume: bool = False


class Wanted(NamedTuple):
    """What the options ask for; `size` is the number of ids in a shard, `lines` whether each line
    is a text."""

    form: str
    given: IdFiles
    output: str | None
    lines: bool
    size: int | None = None

    @classmethod
    def of(
        cls, form: str, given: IdFiles, output: str | None, *, whole: bool, count: bool
    ) -> Wanted:
        """Of the options, or TokctlError where they do not go together."""
        to_stdout = output is None or output == "-"
        if count and (asked := _first_of(given)):
            raise TokctlError(f"--count shows counts, not {asked}", "leave one of them out")
        if given.lines and whole:
            raise TokctlError("--lines is the opposite of --whole", "leave one of them out")
        if given.dtype is not None and form not in FORMS:
            raise TokctlError(
                "--dtype is for files of ids", f"add --as, and one of: {', '.join(FORMS)}"
            )
        if given.index is not None:
            _check_index(form, given, output)
        if given.resume and given.shard_size is None:
            raise TokctlError("--resume goes on with shards", "add --shard-size N")
        if form == "megatron" and to_stdout:
            raise TokctlError("--as megatron writes two files", "name them without end: -o PREFIX")
        size = None
        if given.shard_size is not None:
            size = _number(given.shard_size)
            if form not in SHARDED:
                raise TokctlError(
                    f"--shard-size does not go with --as {form}",
                    f"take one of: {', '.join(SHARDED)}",
                )
            if to_stdout:
                raise TokctlError("--shard-size writes a folder", "add -o FOLDER")
        lines = given.lines if form in FORMS else not whole
        return cls(form, given, output, lines, size)

    @property
    def is_binary(self) -> bool:
        """Is it nothing to look at?"""
        return self.form in FORMS

    @property
    def files(self) -> list[str]:
        """What is written, but for shards; `-` is stdout."""
        if self.size is not None:
            return []
        names = [self.output or "-"]
        if self.form == "megatron" and self.output:
            from tokctl.idfiles.writer import files_of

            names = files_of(self.form, self.output)
        return [*names, *([self.given.index] if self.given.index else [])]

    def check_outputs(
        self, world: World, texts: Sequence[str], model: str, reading: Reading
    ) -> None:
        """TokctlError where what is written surely can't be."""
        if self.size is not None:
            from tokctl.cli.overlaps import check_beside
            from tokctl.idfiles.shards import check_folder

            check_folder(self.output or "", resume=self.given.resume)
            check_beside(self.output or "", f"shard-00000.{self.form}", texts, reading)
            return
        from tokctl.cli.overlaps import named_files

        files = named_files(texts or ["-"]) or [os.devnull]
        for name in self.files if self.output != "" else [""]:
            if name != "-":
                streams.check_output(world, name, files, model)

    def check_apart(self, world: World, texts: Sequence[Source]) -> None:
        """TokctlError where one of the texts is what is written."""
        from tokctl.cli.overlaps import check_apart, names_of

        folder = None if self.size is None else self.output
        check_apart(world, names_of(texts), self.files, folder)

    def fitting(self, tokenizer: Tokenizer, around: Around) -> tuple[Dtype | None, int | None]:
        """How wide ids are in files of this model (None: no file of ids), and what stands behind
        each text."""
        last_id = dtype = None
        if (token := self.given.eos) is not None:
            from tokctl.idfiles.encoding import eos_id

            if around.padding or around.truncation:
                option = "--pad" if around.padding else "--max-length"
                raise TokctlError(
                    f"--eos does not go with {option}: the end is not that of the text",
                    "leave one of them out",
                )
            last_id = eos_id(tokenizer, token)
        if self.is_binary or self.size is not None:
            from tokctl.idfiles.dtypes import dtype_for

            dtype = dtype_for(self.form, tokenizer.vocab_size, self.given.dtype)
        if self.size is not None and around.padding and around.padding.length is None:
            raise TokctlError(
                "--pad longest reads all texts into memory, and --shard-size is for more than that",
                "say how long: --pad N",
            )
        return dtype, last_id


def write(
    world: World,
    wanted: Wanted,
    forms: Forms,
    texts: Sequence[Source],
    dtype: Dtype,
    *,
    model: str,
    reading: Reading,
) -> None:
    """Encodes the texts into files, and says what is worth it."""
    from tokctl.cli.progress import Bars
    from tokctl.cli.rows_out import RowEncoder
    from tokctl.idfiles.encoding import NativeEncoder
    from tokctl.idfiles.writer import ChunkStream, Target, check_target, write_stream

    start = perf_counter()
    around, output = forms.around, wanted.output
    job = {} if wanted.size is None else _job(wanted, forms, dtype, model, reading)
    index, resume = wanted.given.index, wanted.given.resume
    target = Target(output or "-", wanted.form, dtype, index, wanted.size, resume, job)
    check_target(target)
    if around.padding and around.padding.length is None:
        texts = texts_out.measured(forms, texts, whole=not wanted.lines)
    native = NativeEncoder(
        forms.tokenizer,
        dtype.width,
        forms.last_id,
        lines=wanted.lines,
        special=forms.special,
        errors=forms.errors,
        threads=forms.threads,
    )
    rows = RowEncoder(forms, lines=wanted.lines)
    by_rows = bool(around) or wanted.form == "jsonl"
    with Bars(world) as progress:
        stream = ChunkStream(texts, rows if by_rows else native, progress)
        if wanted.size is not None:
            _write_shards(world, stream, target)
        elif output is None or output == "-":
            with streams.output(world, None) as out:
                write_stream(stream, _at(target, out))
        else:
            write_stream(stream, target)
    if world.verbose:
        counted: Forms | NativeEncoder = forms if by_rows else native
        world.say(texts_out.summary(counted, perf_counter() - start))


def _at(target: Target, out: Any) -> Target:
    from dataclasses import replace

    return replace(target, path=out)


def _write_shards(world: World, stream: Any, target: Target) -> None:
    from tokctl.idfiles.shards import StoppedError, has_shards
    from tokctl.idfiles.writer import write_stream

    assert isinstance(target.path, str)
    folder = visible(target.path)
    go_on = f"what is whole stays in {folder}; to go on: the same command with --resume"
    try:
        done = write_stream(stream, target)
    except StoppedError as error:
        if not has_shards(target.path):
            raise TokctlError(error.message, error.hint, error.exit_code) from error
        hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise TokctlError(error.message, hint, error.exit_code) from error
    except (KeyboardInterrupt, SystemExit) as stop:
        if has_shards(target.path):
            stop.add_note(go_on)
        raise
    shards = done.manifest["shards"] if done.manifest else []
    if done.was_there:
        world.say(f"note: {folder} is finished, with {len(shards):,} shards; nothing was done")
    elif done.kept:
        world.say(f"note: {done.kept:,} of {len(shards):,} shards in {folder} were there before")


def _job(
    wanted: Wanted, forms: Forms, dtype: Dtype, model: str, reading: Reading
) -> dict[str, Any]:
    """What the shards depend on, beside the sources."""
    from tokctl.idfiles.writer import job_description, model_facts

    around = forms.around
    cut, padding = around.truncation, around.padding
    options = {
        "special": forms.special,
        "errors": forms.errors,
        "lines": wanted.lines,
        "format": reading.format,
        "text_field": reading.text_field,
        "add_special": around.add_special,
        "max_length": cut.max_length if cut else None,
        "stride": cut.stride if cut and around.windows else None,
        "pad": padding.length if padding else None,
        "pad_token": padding.token if padding else None,
        "sample": around.sample,
        "seed": around.seed if around.sample is not None else None,
        "offsets": forms.offsets or forms.full,
        "byte_offsets": forms.byte_offsets or forms.full,
        "full": forms.full,
    }
    return job_description(
        model_facts(forms.tokenizer, model),
        wanted.form,
        dtype,
        eos=wanted.given.eos,
        shard_size=wanted.size or 0,
        options=options,
    )


def _check_index(form: str, given: IdFiles, output: str | None) -> None:
    path = given.index
    if form not in ("bin", "npy"):
        raise TokctlError("--index is for bin and npy", "leave it out, or take --as npy")
    if given.shard_size is not None:
        raise TokctlError("--index is for one file: shards have theirs", "leave it out")
    if not path:
        raise TokctlError("--index is empty", "name a file")
    if output is not None and os.path.realpath(output) == os.path.realpath(path):
        raise TokctlError("--index and -o name the same file", "give the index another name")


def _number(text: str) -> int:
    """As `--shard-size` has it."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip(), re.ASCII | re.IGNORECASE)
    size = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if not 0 < size < 2**63:
        raise TokctlError(
            f"--shard-size can't be {text!r}", "it is a number of ids from 1 up: 100M, say"
        )
    return size


def _first_of(given: IdFiles) -> str | None:
    """The first of the options that was given."""
    for name, value in vars(given).items():
        if value not in (None, False):
            return f"--{name.replace('_', '-')}"
    return None
