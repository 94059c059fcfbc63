"""`tokctl decode`: ids to text."""

from __future__ import annotations

import os
import re
from typing import Annotated

import typer

from tokctl.cli import options, streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError

EXAMPLES = """Examples:

  echo 262 640 | tokctl decode -m book.json
  tokctl decode -m book.json -o a.txt ids.bin
  tokctl decode -m book.json shards/ rows.parquet
  tokctl decode -m M --from bin --dtype uint32 < ids
  tokctl encode -m M < a | tokctl decode -m M | cmp - a

The last prints nothing, whatever the file a holds, where
M is a byte-level model: what comes back is identical.
Other models lose what their normalizer or pre-tokenizer
drops. What several files hold is written one behind the
other, with nothing in between.

What --from auto tells by: .bin and .arrow at the end of
a name; the first bytes of npy, parquet, arrow and
safetensors; a { for jsonl; manifest.json in a folder;
an .idx beside a .bin for megatron. All else is ids.

bin and npy are one text each, unless --eos names the
token that documents end with. Elsewhere documents have
ends, and --separator stands behind each: with '' the
text of one document comes back identical."""

SHORT = "Turn ids back into text."

#: What a backslash and a letter stand for in `--separator`.
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0", "\\\\": "\\"}


def register(app: typer.Typer) -> None:
    app.command("decode", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(decode))


def decode(
    world: World,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="What encode has written: files, folders of shards; - is stdin, as is no file.",
            show_default=False,
        ),
    ] = None,
    model: streams.Model = None,
    form: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORM",
            help="ids, jsonl, bin, npy, parquet, arrow, megatron or safetensors; auto goes by "
            "names and first bytes, and what they do not tell is ids.",
        ),
    ] = "auto",
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="Of bin: uint8, int8, uint16, … int64. Without it uint16, or uint32 for a model "
            "of more than 65,536 tokens.",
            show_default=False,
        ),
    ] = None,
    ids_field: Annotated[
        str | None,
        typer.Option(
            "--ids-field",
            metavar="NAME",
            help="The column, the tensor or the field of jsonl that holds the ids; input_ids "
            "without it, and ids for jsonl.",
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="TEXT",
            help=r"What stands behind each document of parquet, arrow, megatron and safetensors; "
            r"\n, \t, \r, \0 and \\ are understood. Without it a line feed, where the document "
            "does not end with one.",
            show_default=False,
        ),
    ] = None,
    eos: Annotated[
        str | None,
        typer.Option(
            "--eos",
            metavar="TOKEN",
            help="A document ends with this token, which is left out; of bin and npy, too.",
            show_default=False,
        ),
    ] = None,
    skip_special: Annotated[
        bool, typer.Option("--skip-special", help="Leave special tokens out.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --from jsonl.")] = False,
    output: streams.Output = None,
) -> None:
    """Turn ids back into text. Of ids in lines, one line in is one line of text out, and the
    last line ends with a line feed only if the input's does.
    """
    from tokctl.cli.overlaps import check_apart
    from tokctl.idfiles.readers.reading import FORMS, How, Source

    options.choose("--from", form, FORMS)
    if dtype is not None:
        _check_dtype(form, dtype)
    if json:
        if form not in ("auto", "jsonl"):
            raise TokctlError(
                f"--json is --from jsonl, and --from is {form}", "leave one of them out"
            )
        form = "jsonl"
    behind = None if separator is None else _unescaped(separator)
    how = How(form, dtype, ids_field, skip_special, behind, eos)
    if output is not None and output != "-":
        model = streams.model_path(world, model)
        streams.check_output(world, output, files, model)
    tokenizer = streams.load_model(world, model)
    if eos is not None:
        from tokctl.idfiles.encoding import eos_id

        eos_id(tokenizer, eos)  # an unknown token is an error before all else
    names = streams.names(world, files)
    texts = [Source(name, how, world.stdin) for name in names]
    check_apart(world, names, [output or "-"])
    from tokctl.cli.progress import Bars

    sizes = [text.size for text in texts]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    with streams.output(world, output) as out, Bars(world) as bars:
        write, before = streams.Writer(out), 0
        bars("decode", 0, total)
        for text in texts:
            for block in text.text(tokenizer):
                write(block)
                bars("decode", before + text.meter.done, total)
            before += text.meter.done


def _check_dtype(form: str, dtype: str) -> None:
    from tokctl.idfiles.readers.kinds import KINDS

    options.choose("--dtype", dtype, tuple(KINDS))
    if form not in ("auto", "bin"):
        raise TokctlError(f"--dtype is for bin, and --from is {form}", "leave one of them out")


def _unescaped(text: str) -> bytes:
    """The bytes that `--separator` means; a name of a file's bytes can stand in an argument."""
    plain = re.sub(r"\\[ntr0\\]", lambda found: _ESCAPES[found.group()], text)
    return os.fsencode(plain)
