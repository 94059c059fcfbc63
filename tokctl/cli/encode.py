"""`tokctl encode`: text to ids, tokens or pieces."""

from time import perf_counter

import typer

from tokctl.cli import files_out, options, streams, texts_out
from tokctl.cli.world import World
from tokctl.errors import TokctlError

EXAMPLES = """Examples:

  echo "a lot of treasure" | tokctl encode -m book.json
  tokctl encode -m book.json --count *.md
  tokctl encode -m a.json -m b.json --count --sort tokens *
  tokctl encode -m book.json --json --offsets a.txt
  tokctl encode -m book.json --as bin -o ids.bin a.txt
  tokctl encode -m book.json --as npy --eos '</s>' -o a.npy a.jsonl
  tokctl encode -m book.json --as bin --shard-size 100M -o ids/ a/
  tokctl encode -m bert.json --add-special --pad 128 a.txt
  tokctl encode -m bert.json --max-length 64 --stride 8 a
  tokctl encode -m t5.json --sample 0.1 --seed 7 a.txt

What is written:

  ids     numbers with a space between

  tokens  as the vocabulary spells them, a space between;
          white space in one is escaped as in Python

  pieces  a JSON list of the stretches of text that the
          tokens cover; one that is not UTF-8 is
          {"bytes": "…"}, in base64

  jsonl   {"ids": …, "tokens": …} and, where asked for,
          offsets, byte_offsets: pairs of start and end
          word_ids: which pre-token, from 0
          type_ids, special_mask (1: no text spells it)
          attention_mask (0: padding)
          window: from 0 for each text (with --stride)

  bin     little-endian numbers of 16 bits, or of 32 with
          more than 65,536 tokens, and nothing else
  npy     the same as an array of NumPy
  parquet one row for each document: input_ids, a list
  megatron  -o P gives P.bin and P.idx, for Megatron-LM
  safetensors  input_ids, and where documents end: offsets

Each file is one document in the last five, its line feeds
too, and each line one text in the others; --lines and
--whole change that. A record (a line of JSON Lines, a row
of a table) is always one document, and one line.

A line ends at a line feed and nowhere else. Where a
file ends without one and another follows, one is put
between. With --stride, a text of more than --max-length
tokens has a line for each of its windows.

--shard-size N: bin and npy files have exactly N ids, and
where documents begin beside them; the others end with the
document that reaches N. Each is whole or absent. After a
stop, the same command with --resume goes on.

With --verbose, a line on stderr ends the work: tokens,
bytes, MB/s, threads, pre-tokens in the cache."""

SHORT = "Turn text into ids, line by line; or into tokens, pieces, counts."


def register(app: typer.Typer) -> None:
    app.command("encode", cls=options.Command, epilog=EXAMPLES, short_help=SHORT)(encode)


def encode(
    context: typer.Context,
    files: options.EncodeFiles = None,
    models: options.EncodeModels = None,
    form: options.EncodeForm = None,
    count: options.Count = False,
    csv: options.Csv = False,
    sort: options.Sort = None,
    whole: options.Whole = False,
    offsets: options.Offsets = False,
    byte_offsets: options.ByteOffsets = False,
    full: options.Full = False,
    json: options.EncodeJson = False,
    special: options.EncodeSpecial = None,
    add_special: options.AddSpecial = False,
    max_length: options.MaxLength = None,
    stride: options.Stride = None,
    pad: options.Pad = None,
    pad_token: options.PadToken = None,
    sample: options.EncodeSample = None,
    seed: options.EncodeSeed = None,
    errors: options.EncodeErrors = "strict",
    threads: options.EncodeThreads = 1,
    output: options.Output = None,
    eos: options.EncodeEos = None,
    lines: options.Lines = False,
    dtype: options.EncodeDtype = None,
    index: options.Index = None,
    shard_size: options.ShardSize = None,
    resume: options.Resume = False,
    format: options.Format = "auto",  # noqa: A002
    text_field: options.TextField = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    files_from: options.FilesFrom = None,
    files0_from: options.Files0From = None,
) -> int | None:
    """Turn text into ids, line by line: one line in, one line of ids out. It streams: only
    a line must fit into memory; with --whole or in a file of ids, the longest stretch without a
    space, or the whole text where the model normalizes it or splits it by a pattern of its own.
    """
    world: World = context.obj
    sources = streams.Sources(format, text_field, include, exclude, files_from, files0_from)
    id_files = files_out.IdFiles(eos, lines, dtype, index, shard_size, resume)
    more = {"--offsets": offsets, "--byte-offsets": byte_offsets, "--full": full}
    asked = next((option for option, wanted in more.items() if wanted), None)
    form = _form(form, count=count, json=json, asked=asked)
    if special and "none" in special and len(special) > 1:
        raise TokctlError("--special none goes with no other", "leave it, or the others, out")
    if count or csv or sort is not None or len(models or ()) > 1:
        from tokctl.cli.counting import checks

        checks.check(
            models,
            count=count,
            json=json,
            csv=csv,
            sort=sort,
            pad=pad,
            pad_token=pad_token,
            max_length=max_length,
            stride=stride,
            sample=sample,
            seed=seed,
        )
    allowed = [token for token in special or () if token != "none"]
    if sample is not None:
        _check_sample(form, special=bool(allowed), asked=asked)
    wanted = files_out.Wanted.of(form, id_files, output, whole=whole, count=count)
    if count:
        from tokctl.cli.counting.command import Shown
        from tokctl.cli.counting.command import count as run
        from tokctl.tokenizer.token_counts import Settings

        limits = (add_special, max_length, stride, sample, seed or 0)
        settings = Settings(whole, allowed, errors, *limits, min(threads, 64))
        return run(world, files, models, sources, settings, Shown(json, csv, sort), output)
    model = models[0] if models else None
    to_stdout = output is None or output == "-"
    if wanted.is_binary and to_stdout and world.stdout_is_terminal:
        raise TokctlError("a terminal can't show numbers in binary", "add -o PATH, or a pipe")
    if not to_stdout or wanted.given.index:
        model = streams.model_path(world, model)
        wanted.check_outputs(world, sources.names(world, files), model, sources.reading)
    tokenizer = streams.load_model(world, model)

    from tokctl.cli.around import Around
    from tokctl.cli.forms import Forms

    around = Around.of(
        tokenizer,
        add_special=add_special,
        max_length=max_length,
        stride=stride,
        pad=pad,
        pad_token=pad_token,
        sample=sample,
        seed=seed,
    )
    ids_dtype, last_id = wanted.fitting(tokenizer, around)
    texts = sources.open(world, files)
    wanted.check_apart(world, texts)
    forms = Forms(
        tokenizer,
        form=form,
        special=allowed,
        errors=errors,
        offsets=offsets,
        byte_offsets=byte_offsets,
        full=full,
        around=around,
        threads=min(threads, 64),
        width=ids_dtype.width if ids_dtype else 2,
        last_id=last_id,
    )
    tokenizer.special_matcher(forms.special)  # an unknown token is an error before all else
    if add_special and not tokenizer.post_processor.added_tokens_count():
        world.say("note: this model's template has no special tokens to add")
    if ids_dtype is not None:
        model = streams.model_path(world, model)
        files_out.write(
            world, wanted, forms, texts, ids_dtype, model=model, reading=sources.reading
        )
        return None
    with streams.output(world, output) as out:
        start = perf_counter()
        if around.padding and around.padding.length is None:
            texts = texts_out.measured(forms, texts, whole=whole)
        from tokctl.cli.progress import Bars

        with Bars(world) as progress:
            write = streams.Writer(out)
            texts_out.write_all(forms, texts, write, whole=whole, progress=progress)
    if world.verbose:
        world.say(texts_out.summary(forms, perf_counter() - start))
    return None


def _check_sample(form: str, *, special: bool, asked: str | None) -> None:
    if form == "pieces" or asked:
        raise TokctlError(
            f"--sample does not go with {asked or '--as pieces'}",
            "take ids, tokens, jsonl or bin without offsets",
        )
    if special:
        raise TokctlError("--sample finds no special tokens", "leave --special out")


def _form(form: str | None, *, count: bool, json: bool, asked: str | None) -> str:
    """The form; `asked` is an option for jsonl alone."""
    if json and form not in (None, "jsonl"):
        raise TokctlError(f"--json is --as jsonl, and --as is {form}", "leave one of them out")
    if count and (form is not None or asked):
        other = asked or f"--as {form}"
        raise TokctlError(f"--count shows counts, not {other}", "leave one of them out")
    form = form or ("jsonl" if json else "ids")
    if asked and form != "jsonl":
        raise TokctlError(f"{asked} needs --as jsonl", "add --as jsonl")
    return form
