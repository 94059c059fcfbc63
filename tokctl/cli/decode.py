"""`tokctl decode`: ids to text."""

import os
import re

import typer

from tokctl.cli import streams
from tokctl.cli.command import add_command
from tokctl.cli.options.decode import (
    DecodeDtype,
    DecodeEos,
    DecodeFiles,
    DecodeForm,
    DecodeJson,
    IdsField,
    Separator,
    SkipSpecial,
)
from tokctl.cli.options.shared import Model, Output
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption

EXAMPLES = """Examples:

  echo 262 640 | tokctl decode -m book.json
  tokctl decode -m book.json -o a.txt ids.bin
  tokctl decode -m book.json shards/ rows.parquet
  tokctl decode -m M --from bin --dtype uint32 < ids
  tokctl encode -m M < a | tokctl decode -m M | cmp - a

If M is a byte-level model, the last command prints
nothing, whatever the file a holds: the text comes back
identical. Other models lose what their normalizer or
pre-tokenizer drops. The texts of several files are
written one after the other, with nothing in between.

--from auto recognizes bin and arrow by the extensions
.bin and .arrow; npy, parquet, arrow and safetensors by
their first bytes; jsonl by a { at the start; a folder of
shards by its manifest.json; and megatron by an .idx file
next to a .bin file. Anything else is read as ids. The
checksum of each shard is compared before its text is
written.

A bin or npy file is one text, unless --eos names the
token that ends its documents. The other formats store
where documents end, and --separator is written after
each document: with '', the text of a single document
comes back identical."""

SHORT = "Turn ids back into text."

#: Escape sequences of `--separator`, and the characters that they stand for.
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\0": "\0", "\\\\": "\\"}


def register(app: typer.Typer) -> None:
    """Add `tokctl decode` to `app`."""
    add_command(app, decode, epilog=EXAMPLES, short_help=SHORT)


def decode(
    context: typer.Context,
    files: DecodeFiles = None,
    model: Model = None,
    form: DecodeForm = "auto",
    dtype: DecodeDtype = None,
    ids_field: IdsField = None,
    separator: Separator = None,
    eos: DecodeEos = None,
    skip_special: SkipSpecial = False,
    json: DecodeJson = False,
    output: Output = None,
) -> None:
    """Turn ids back into text. Each line of ids becomes one line of text; the last line ends
    with a line feed only if that of the input does.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    from tokctl.idfiles.reader import IdReadOptions, IdSource

    if dtype is not None and form not in ("auto", "bin"):
        raise BadOption(
            f"--dtype is for bin, and --from is {form}", "leave one of them out", "conflict"
        )
    if json:
        if form not in ("auto", "jsonl"):
            raise BadOption(
                f"--json means --from jsonl, but --from is {form}",
                "leave one of them out",
                "conflict",
            )
        form = "jsonl"
    leading, files = streams.leading_models(world, "decode", files, model is not None, "auto")
    if len(leading) > 1:
        from tokctl.core.humanize import listed

        raise BadOption(
            f"{listed(leading)} are models, but ids belong to one model",
            "name one model, then the ids",
            "conflict",
        )
    model = leading[0] if leading else model
    behind = None if separator is None else _unescaped(separator)
    read_options = IdReadOptions(form, dtype, ids_field, skip_special, behind, eos)
    if (file := streams.output_file(output)) is not None:
        streams.check_output(world, file)
    tokenizer = streams.load_model(world, model)
    if eos is not None:
        streams.end_id(tokenizer, eos)  # report an unknown token before anything is read
    names = streams.names(world, files, ids=True)
    texts = [IdSource(name, read_options, world.stdin) for name in names]
    from tokctl.cli.progress import ProgressDisplay

    sizes = [text.size for text in texts]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    with streams.output(world, output) as out, ProgressDisplay(world) as bars:
        write, before = streams.FlushingWriter(out), 0
        bars("decode", 0, total)
        for text in texts:
            for block in text.text(tokenizer):
                write(block)
                bars("decode", before + text.meter.bytes_read, total)
            before += text.meter.bytes_read


def _unescaped(text: str) -> bytes:
    """Return the bytes of a `--separator`, with its escape sequences replaced.

    Bytes of the argument that are not UTF-8 are kept.
    """
    plain = re.sub(r"\\[ntr0\\]", lambda found: _ESCAPES[found.group()], text)
    return os.fsencode(plain)
