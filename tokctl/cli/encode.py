"""`tokctl encode`: text to ids, tokens or pieces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from tokctl.cli import streams
from tokctl.cli.command import add_command
from tokctl.cli.numbers import count_of, size_of
from tokctl.cli.options.encode import (
    COLUMNS,
    ChatOptions,
    EncodeFiles,
    EncodeModels,
    FormOptions,
    IdFileOptions,
    TextOptions,
    WorkOptions,
)
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, printable
from tokctl.core.values import available_threads
from tokctl.idfiles import BINARY_FORMS, SHARDED

if TYPE_CHECKING:
    from tokctl.cli.chat import Chats
    from tokctl.cli.encode_output import RowOptions, RowWriter
    from tokctl.extras.ray import Cluster
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.output import Target
    from tokctl.idfiles.stream import Encoder
    from tokctl.sources import ReadOptions, Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.documents import DocumentEncoder

EXAMPLES = """Examples:

  echo "a lot of treasure" | tokctl encode -m book.json
  tokctl encode -m book.json --count *.md
  tokctl encode -m book.json --as bin -o ids.bin a.txt
  tokctl encode -m a.json -m b.json --count --sort tokens *
  tokctl encode -m book.json --json --offsets a.txt
  tokctl encode -m book.json --as npy --eos '</s>' -o a.npy a.jsonl
  tokctl encode -m book.json --as bin --shard-size 100M -o ids/ a/
  tokctl encode -m bert.json --add-special --pad 128 a.txt
  tokctl encode -m bert.json --max-length 64 --stride 8 a
  tokctl encode -m t5.json --alpha 0.1 --seed 7 a.txt
  tokctl encode -m model/ --chat --json chats.jsonl

Output formats:

  ids     numbers, separated by spaces

  tokens  as the vocabulary spells them, separated by
          spaces; white space and control characters in a
          token are escaped as in Python

  pieces  a JSON list of the parts of the text that the
          tokens cover; a part that is not UTF-8 is
          {"bytes": "…"}, in base64

  jsonl   {"ids": …, "tokens": …} and, if you ask for them:
          offsets, byte_offsets: pairs of start and end
          word_ids: the number of the pre-token, from 0
          type_ids
          special_mask (1: added, not part of the text)
          attention_mask (0: padding)
          window: its number, from 0 (with --stride)

  bin     nothing but little-endian 16-bit numbers, or
          32-bit ones with more than 65,536 tokens
  npy     the same numbers as a NumPy array
  parquet one row per document: input_ids, a list
  megatron  -o P writes P.bin and P.idx, for Megatron-LM
  safetensors  input_ids, and offsets: where documents end

In the last five formats and for --count, each file is one
document, including its line feeds. In the other formats,
each line is one text. --lines and --whole change that. A
record (a line of JSON Lines, a row of a table) is always
one document, and one line of output.

Only a line feed ends a line. If a file doesn't end with
one and another file follows, tokctl adds one. With
--stride, a text of more than --max-length tokens gets one
line for each window.

With --shard-size N, bin and npy files hold exactly N ids,
and a file next to each says where documents begin; files
of other formats end with the document that reaches N. A
shard is written completely or not at all. If a run stops,
repeat the command with --resume to continue: it verifies
the shards that it keeps, and encodes damaged ones again.

--chat renders each conversation with the chat template
of the model, and encodes the text; docs/chat.md describes
it. --pack makes rows of input_ids, position_ids and
seq_lengths.

--verbose adds a last line on stderr: tokens, bytes, MB/s,
threads, and pre-tokens in the cache."""

SHORT = "Turn text into ids, tokens, pieces or counts."


def register(app: typer.Typer) -> None:
    """Add `tokctl encode` to `app`."""
    add_command(app, encode, epilog=EXAMPLES, short_help=SHORT)


def encode(
    context: typer.Context,
    files: EncodeFiles = None,
    models: EncodeModels = None,
    *,
    form: FormOptions,
    text: TextOptions,
    work: WorkOptions,
    id_files: IdFileOptions,
    sources: ListedTexts,
    chat: ChatOptions,
) -> int | None:
    """Turn text into ids: each line of text becomes one line of ids. Text is read as a stream,
    so only one line must fit into memory. With --whole and for files of ids it is the longest
    stretch without a space, or the whole text if the model normalizes it or has a custom pattern.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    if sources.format in ("ids", "tokens", "pieces", *BINARY_FORMS[:2]):
        raise BadOption(
            f"--format says what is read, and nothing is read as {sources.format}",
            f"what is written is --as {sources.format}",
            "bad-value",
        )
    chats = None
    if chat.given:
        from tokctl.cli.chat import Chats

        chats = Chats(chat)
        sources.columns = chats.columns(sources.format)
    leading, files = streams.leading_models(world, "encode", files, bool(models), sources.format)
    models = leading or models or []
    if models[1:] and not form.count:
        raise BadOption(
            "several models are given, which only --count can use",
            "name one model with -m, or add --count",
            "conflict",
        )
    as_ = _form(form)
    if text.special and "none" in text.special and len(text.special) > 1:
        raise BadOption(
            "--special none can't be combined with others",
            "leave out none, or the others",
            "conflict",
        )
    if chats is not None:
        chats.check(as_, {**id_files.given, **text.given})
    allowed = ["all"] if chat.chat else [token for token in text.special or () if token != "none"]
    if text.alpha is not None:
        _check_alpha(as_, special=bool(allowed))
    plan = OutputPlan.of(as_, id_files, form)
    threads = min(work.threads or available_threads(), sys.maxsize)
    cache = None
    if work.cache_memory is not None:
        from tokctl._native import LEAST_CACHE_MEMORY

        cache = size_of("--cache-memory", work.cache_memory, LEAST_CACHE_MEMORY)
    if form.count:
        from tokctl.cli import counting
        from tokctl.tokenizer.token_counts import CountOptions

        limits = (text.add_special, text.max_length, text.stride, text.alpha, text.seed or 0)
        counted = CountOptions(id_files.lines, allowed, work.errors, *limits, threads)
        return counting.count(
            world, files, models, sources, counted, form, cache_memory=cache, chats=chats
        )
    if plan.is_binary and plan.output is None and world.stdout_is_terminal:
        raise BadOption(
            "a terminal can't show numbers in binary", "add -o PATH, or a pipe", "missing-option"
        )
    cluster = None
    if id_files.engine is not None:
        from tokctl.cli import engines

        cluster = engines.cluster(world, id_files.engine)
    if plan.output is not None or id_files.index:
        plan.check_outputs(world, sources.names(world, files), sources.reading)
    model = models[0] if models else None
    tokenizer = streams.load_model(world, model, cache_memory=cache)
    from tokctl.tokenizer.documents import DocumentEncoder

    documents = DocumentEncoder(
        tokenizer, lines=plan.lines, special=allowed, errors=work.errors, threads=threads
    )
    _write(world, documents, plan, form, text, chats, sources, files, model, cluster)
    return None


def _write(
    world: Console,
    documents: DocumentEncoder,
    plan: OutputPlan,
    form: FormOptions,
    text: TextOptions,
    chats: Chats | None,
    sources: ListedTexts,
    files: Sequence[str] | None,
    model: str | None,
    cluster: Cluster | None,
) -> None:
    """Encode the texts and write the rows.

    Args:
        world: the streams.
        documents: encodes the texts.
        plan: the form, the paths and the units of the output.
        form: the options of what is written.
        text: the options of how each text becomes ids.
        chats: the options of conversations, if one is given.
        sources: how texts are read.
        files: the arguments.
        model: the path of `--model`.
        cluster: the cluster that encodes in place of this machine.
    """
    from tokctl.cli.encode_output import (
        RowOptions,
        RowWriter,
        padded_to_longest,
        summary,
        write_texts,
    )

    tokenizer = documents.tokenizer
    row_options = RowOptions.of(tokenizer, text)
    ids_dtype, end_id = plan.fitting(tokenizer, row_options)
    texts = sources.open(world, files)
    if chats is not None and chats.options.chat:
        texts = chats.rendered(world, texts, tokenizer, streams.model_path(world, model))
    rows = RowWriter(
        documents,
        form=plan.form,
        offsets=form.offsets,
        byte_offsets=form.byte_offsets,
        full=form.full,
        mask=chats is not None and chats.options.assistant_mask,
        options=row_options,
        width=ids_dtype.width if ids_dtype else 2,
        end_id=end_id,
    )
    _ = documents.matcher  # report an unknown special token before anything is read
    if text.add_special:
        _note_template(world, tokenizer, end_id, is_chat=chats is not None)
    if chats is not None and chats.has_columns(plan.form):
        from tokctl.cli.chat import write_columns
        from tokctl.idfiles.dtypes import DTYPES

        written = ids_dtype or DTYPES["uint32"]
        write_columns(world, chats, rows, texts, dtype=written, output=plan.output)
        chats.say_unanswered(world)
        return
    if ids_dtype is not None:
        _write_files(
            world,
            plan,
            rows,
            texts,
            ids_dtype,
            model=streams.model_path(world, model),
            reading=sources.reading,
            cluster=cluster,
            chats=chats,
        )
        return
    with streams.output(world, plan.output) as out:
        start = perf_counter()
        if row_options.pads_to_longest:
            texts = padded_to_longest(rows, texts)
        from tokctl.cli.progress import ProgressDisplay

        with ProgressDisplay(world) as progress:
            write_texts(rows, texts, streams.FlushingWriter(out), progress)
    if chats is not None:
        chats.say_unanswered(world)
    if world.verbose:
        world.say(summary(documents, perf_counter() - start))


def _note_template(
    world: Console, tokenizer: Tokenizer, end_id: int | None, *, is_chat: bool
) -> None:
    """Say whether `--add-special` adds nothing, and which special tokens are written twice.

    A template's last token can be the one of `--eos`, and a chat template writes its own.
    """
    if not tokenizer.post_processor.added_tokens_count():
        world.say("note: this model's template has no special tokens to add")
    around = tokenizer.post_processor.process_ids([])
    names = ", ".join(dict.fromkeys(tokenizer.tokens[id_] for id_ in around))
    if around and is_chat:
        world.say(
            f"note: --add-special puts {names} around each conversation, beside what the chat "
            "template writes: leave --add-special out if the template writes it, too"
        )
    if around and around[-1] == end_id:
        world.say(
            f"note: each text ends with {tokenizer.tokens[end_id]} twice, by --add-special and by "
            "--eos: leave --eos out"
        )


def _check_alpha(form: str, *, special: bool) -> None:
    if form == "pieces":
        raise BadOption(
            "--alpha can't be used with --as pieces",
            "take ids, tokens, jsonl or bin without offsets",
            "conflict",
        )
    if special:
        raise BadOption("--alpha finds no special tokens", "leave --special out", "conflict")


def _form(options: FormOptions) -> str:
    """Return the output form, after checks of `--json` and of the columns that only jsonl has."""
    if options.json and options.form not in (None, "jsonl"):
        raise BadOption(
            f"--json is --as jsonl, and --as is {options.form}",
            "leave one of them out",
            "conflict",
        )
    form = options.form or ("jsonl" if options.json else "ids")
    if form != "jsonl" and (column := next(filter(options.given.get, COLUMNS), None)):
        raise BadOption(f"{column} needs --as jsonl", "add --as jsonl", "conflict")
    return form


# -- files of ids --------------------------------------------------------------------------


class OutputPlan(NamedTuple):
    """The form, the paths and the units of the output.

    Attributes:
        form: the output form of `--as`.
        options: the options of files of ids.
        output: the path; None is stdout.
        lines: each line of a document is a text.
        size: ids in a shard; None: no shards.
    """

    form: str
    options: IdFileOptions
    output: str | None
    lines: bool
    size: int | None = None

    @classmethod
    def of(cls, form: str, options: IdFileOptions, written: FormOptions) -> OutputPlan:
        """Build the plan from the options.

        Args:
            form: the output form of `--as`.
            options: the options of files of ids.
            written: the options of what is written.

        Raises:
            TokctlError: two options conflict, or a value is invalid.
        """
        output = streams.output_file(written.output)
        if options.dtype is not None and form not in BINARY_FORMS:
            raise BadOption(
                "--dtype is for files of ids",
                f"add --as, and one of: {', '.join(BINARY_FORMS)}",
                "conflict",
            )
        if options.index is not None:
            _check_index(form, options)
        if form == "megatron" and output is None:
            raise BadOption(
                "--as megatron writes two files", "give their prefix: -o PREFIX", "missing-option"
            )
        size = None
        if options.shard_size is not None:
            hint = "give a number of ids of at least 1, for example 100M"
            size = count_of("--shard-size", options.shard_size, 2**63, hint)
            if form not in SHARDED:
                raise BadOption(
                    f"--shard-size can't be used with --as {form}",
                    f"take one of: {', '.join(SHARDED)}",
                    "conflict",
                )
            if output is None:
                raise BadOption("--shard-size writes a folder", "add -o FOLDER", "missing-option")
        if size is None and output and "://" in output:
            from tokctl.sources.remote import is_address, without_secrets

            if is_address(output):
                raise BadOption(
                    f"can't write {without_secrets(output)}: only shards go to an address",
                    "add --shard-size N, or name a file here",
                    "conflict",
                )
        lines = options.lines if form in BINARY_FORMS else not written.whole
        return cls(form, options, output, lines, size)

    @property
    def is_binary(self) -> bool:
        """Whether the form is a binary one, which a terminal can't show."""
        return self.form in BINARY_FORMS

    @property
    def files(self) -> list[str]:
        """The paths to write, without shards; `-` is stdout."""
        if self.size is not None:
            return []
        names = [self.output or "-"]
        if self.form == "megatron" and self.output:
            from tokctl.idfiles.output import files_of

            names = files_of(self.form, self.output)
        return [*names, *([self.options.index] if self.options.index else [])]

    def check_outputs(self, world: Console, texts: Sequence[str], reading: ReadOptions) -> None:
        """Raise TokctlError if the output surely can't be written, or would replace an input.

        Args:
            world: the inputs of the command.
            texts: the paths of the texts.
            reading: how folders of texts are read.
        """
        if self.size is not None:
            from tokctl.cli.streams import check_beside
            from tokctl.idfiles.shards import check_folder

            check_folder(self.output or "", resume=self.options.resume)
            check_beside(self.output or "", f"shard-00000.{self.form}", texts, reading)
            world.inputs.fill(self.output or "")
            return
        for name in self.files if self.output != "" else [""]:
            if name != "-":
                if name != self.options.index:
                    world.inputs.write(name)
                streams.check_output(world, name)

    def fitting(self, tokenizer: Tokenizer, rows: RowOptions) -> tuple[Dtype | None, int | None]:
        """Return the type of ids in files of this model, and the id that ends each text.

        The type is None if the form is text; the id is None without `--eos`.

        Raises:
            TokctlError: the type can't hold the model's ids, or the options conflict with `rows`.
        """
        end_id = dtype = None
        if (token := self.options.eos) is not None:
            if rows.padding or rows.truncation:
                option = "--pad" if rows.padding else "--max-length"
                raise BadOption(
                    f"--eos can't be used with {option}: the end is not that of the text",
                    "leave one of them out",
                    "conflict",
                )
            end_id = streams.end_id(tokenizer, token)
        if self.is_binary or self.size is not None:
            from tokctl.idfiles.dtypes import dtype_for

            dtype = dtype_for(self.form, tokenizer.vocab_size, self.options.dtype)
        if self.size is not None and rows.pads_to_longest:
            raise BadOption(
                "--pad longest reads all texts into memory, so it can't write shards",
                "give a length: --pad N",
                "conflict",
            )
        return dtype, end_id


def _write_files(
    world: Console,
    plan: OutputPlan,
    rows: RowWriter,
    texts: Sequence[Source],
    dtype: Dtype,
    *,
    model: str,
    reading: ReadOptions,
    cluster: Cluster | None,
    chats: Chats | None,
) -> None:
    """Encode the texts into files of ids or shards; `--verbose` adds a summary."""
    from tokctl.cli.encode_output import RowEncoder, padded_to_longest, summary, token_names
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.idfiles.output import Target, check_target
    from tokctl.idfiles.stream import ChunkStream, NativeEncoder
    from tokctl.idfiles.writer import write_stream

    start = perf_counter()
    output = plan.output
    job = {} if plan.size is None else _job(plan, rows, dtype, model, reading, chats)
    index, resume = plan.options.index, plan.options.resume
    target = Target(output or "-", plan.form, dtype, index, plan.size, resume, job)
    check_target(target)
    if rows.options.pads_to_longest:
        texts = padded_to_longest(rows, texts)
    encoder: Encoder = RowEncoder(rows)
    if rows.is_native:
        names = partial(token_names, rows.tokenizer, rows.form) if rows.form == "jsonl" else None
        encoder = NativeEncoder(rows.documents, dtype.width, rows.end_id, names)
    with ProgressDisplay(world) as progress:
        stream = ChunkStream(texts, encoder, progress, world.note)
        if plan.size is not None:
            _write_shards(world, stream, target, cluster)
        elif output is None:
            with streams.output(world, None) as out:
                write_stream(stream, replace(target, path=out))
        else:
            write_stream(stream, target)
    if world.verbose:
        here = cluster is None
        world.say(summary(rows.documents, perf_counter() - start, here=here))


def _write_shards(world: Console, stream: Any, target: Target, cluster: Cluster | None) -> None:
    from tokctl.idfiles.shards import StoppedError, has_shards
    from tokctl.idfiles.writer import write_stream

    assert isinstance(target.path, str)
    folder = printable(target.path)
    whole = "complete shards stay" if cluster is None else "work that is complete stays"
    go_on = f"the {whole} in {folder}; to continue, repeat the command with --resume"
    try:
        done = write_stream(stream, target, cluster)
    except StoppedError as error:
        if not has_shards(target.path):
            raise error.reworded() from error
        hint = f"{error.hint}; {go_on}" if error.hint else go_on
        raise error.reworded(hint=hint) from error
    except (KeyboardInterrupt, SystemExit) as stop:
        if has_shards(target.path):
            stop.add_note(go_on)
        raise
    shards = done.manifest["shards"] if done.manifest else []
    if done.was_there:
        world.say(f"note: {folder} is finished, with {len(shards):,} shards; nothing was done")
    elif done.kept:
        world.say(f"note: {done.kept:,} of {len(shards):,} shards in {folder} were already there")


def _job(
    plan: OutputPlan,
    rows: RowWriter,
    dtype: Dtype,
    model: str,
    reading: ReadOptions,
    chats: Chats | None,
) -> dict[str, Any]:
    """Describe what the shards depend on besides the sources, for `--resume` to compare."""
    from tokctl.idfiles.writer import job_description, model_facts

    documents, of_rows = rows.documents, rows.options
    cut, padding = of_rows.truncation, of_rows.padding
    options = {
        "special": documents.special,
        "errors": documents.errors,
        "lines": documents.lines,
        "format": reading.format,
        "text_field": reading.text_field,
        "add_special": of_rows.add_special,
        "max_length": cut.max_length if cut else None,
        "stride": cut.stride if cut and of_rows.windows else None,
        "pad": padding.length if padding else None,
        "pad_token": padding.token if padding else None,
        "alpha": of_rows.alpha,
        "seed": of_rows.seed if of_rows.alpha is not None else None,
        "offsets": rows.offsets or rows.full,
        "byte_offsets": rows.byte_offsets or rows.full,
        "full": rows.full,
    }
    if chats is not None:
        options["chat"] = chats.facts
    return job_description(
        model_facts(rows.tokenizer, model),
        plan.form,
        dtype,
        eos=plan.options.eos,
        shard_size=plan.size or 0,
        options=options,
    )


def _check_index(form: str, options: IdFileOptions) -> None:
    path = options.index
    if form not in ("bin", "npy"):
        raise BadOption("--index is for bin and npy", "leave it out, or take --as npy", "conflict")
    if not path:
        raise BadOption("--index is empty", "name a file", "bad-value")
