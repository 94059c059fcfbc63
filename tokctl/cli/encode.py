"""`tokctl encode`: text to ids, tokens or pieces."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from tokctl.cli import options, streams
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.cli.forms import Forms
    from tokctl.sources import Document

EXAMPLES = """Examples:

  echo "There is still a lot of treasure" | tokctl encode -m book.json
  tokctl encode -m book.json --count *.md
  tokctl encode -m book.json --as jsonl --offsets letter.txt
  tokctl encode -m book.json --as bin -o ids.bin corpus.txt

What is written:

  ids     numbers with a space between
  tokens  as the vocabulary spells them, a space between; white space
          in a token is escaped as in Python (\\x20, \\n)
  pieces  a JSON list of the stretches of text that the tokens cover; one
          that is not UTF-8 is {"bytes": "…"}, in base64
  jsonl   {"ids": …, "tokens": …}, with --offsets also "offsets": pairs of
          start and end, in characters; a byte that is not UTF-8 counts
          as one character
  bin     each file as one text, its line feeds too: little-endian numbers
          of 16 bits, or of 32 with more than 65,536 tokens

A line ends at a line feed and nowhere else. Where a file ends without one
and another follows, one is put between."""

SHORT = "Turn text into ids, line by line; or into tokens, pieces, counts."

_FORM = "Form"
_TEXT = "Text"


def register(app: typer.Typer) -> None:
    app.command("encode", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(encode))


def encode(
    world: World,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="Texts; - is stdin, as is no file.", show_default=False
        ),
    ] = None,
    model: streams.Model = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORM",
            help="ids (default), tokens, pieces, jsonl or bin; see below.",
            rich_help_panel=_FORM,
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help="Instead, count: tokens, bytes and name of each file, and the total. Line feeds "
            "make no tokens, but with --whole.",
            rich_help_panel=_FORM,
        ),
    ] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Each file is one text, line feeds and all; not each line.",
            rich_help_panel=_TEXT,
        ),
    ] = False,
    offsets: Annotated[
        bool,
        typer.Option("--offsets", help="Add offsets to jsonl.", rich_help_panel=_FORM),
    ] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="The same as --as jsonl; with --count one JSON document.",
            rich_help_panel=_FORM,
        ),
    ] = False,
    special: Annotated[
        list[str] | None,
        typer.Option(
            "--special",
            metavar="TOKEN",
            help="A special token that the text may spell; all, or none (default): its "
            "spelling is ordinary text. Can be repeated.",
            rich_help_panel=_TEXT,
            show_default=False,
        ),
    ] = None,
    errors: Annotated[
        str,
        typer.Option(
            "--errors",
            metavar="strict|replace",
            help="What to do, with a character model, where the text is not UTF-8: stop, or "
            "put U+FFFD there. Byte-level models take anything.",
            rich_help_panel=_TEXT,
        ),
    ] = "strict",
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            min=1,
            metavar="N",
            help="For ids and --count, line by line; the output is the same.",
            rich_help_panel=_TEXT,
        ),
    ] = 1,
    output: streams.Output = None,
) -> None:
    """Turn text into ids, line by line: one line in, one line of ids out. It streams: only
    a line must fit into memory (with --whole or --as bin, the longest stretch without a space).
    """
    form = _form(form, count=count, json=json, offsets=offsets)
    options.choose("--errors", errors, ("strict", "replace"))
    if special and "none" in special and len(special) > 1:
        raise TokctlError("--special none goes with no other", "leave it, or the others, out")
    to_stdout = output is None or output == "-"
    if form == "bin" and to_stdout and world.stdout_is_terminal:
        raise TokctlError("a terminal can't show numbers in binary", "add -o PATH, or a pipe")
    if output is not None and not to_stdout:
        model = streams.model_path(world, model)
        streams.check_output(world, output, files, model)
    tokenizer = streams.load_model(world, model)
    texts = streams.documents(world, files)

    from tokctl.cli.forms import Forms

    with ExitStack() as stack:
        forms = Forms(
            tokenizer,
            form="ids" if count else form,
            special=[token for token in special or () if token != "none"],
            errors=errors,
            offsets=offsets,
            threads=min(threads, 64),
        )
        tokenizer.special_matcher(forms.special)  # an unknown token is an error before all else
        if threads > 1:
            from concurrent.futures import ThreadPoolExecutor

            forms.executor = stack.enter_context(ThreadPoolExecutor(forms.threads))
        out = stack.enter_context(streams.output(world, output))
        if count:
            out.write(_counts(forms, texts, whole=whole, json=json, named=bool(files)))
            return
        write = streams.Writer(out)
        for text in texts:
            if form == "bin" or whole:
                _whole(forms, text, write)
            else:
                _lines(forms, text, write)


def _form(form: str | None, *, count: bool, json: bool, offsets: bool) -> str:
    from tokctl.cli.forms import FORMS

    if form is not None:
        options.choose("--as", form, FORMS)
    if json and form not in (None, "jsonl"):
        raise TokctlError(f"--json is --as jsonl, and --as is {form}", "leave one of them out")
    if count and (form is not None or offsets):
        other = "--offsets" if offsets else f"--as {form}"
        raise TokctlError(f"--count shows counts, not {other}", "leave one of them out")
    form = form or ("jsonl" if json else "ids")
    if offsets and form != "jsonl":
        raise TokctlError("--offsets needs --as jsonl", "add --as jsonl")
    return form


def _whole(forms: Forms, text: Document, write: streams.Writer) -> None:
    line = 1
    some = False
    for piece in forms.texts(text):
        written, tokens = forms.text(piece, text.name, line)
        if some and tokens and forms.form == "ids":
            write(b" ")
        write(written)
        some |= tokens > 0
        line += piece.count(b"\n")
    if forms.form != "bin":
        write(b"\n")


def _lines(forms: Forms, text: Document, write: streams.Writer) -> None:
    line = 1
    for block in streams.whole_lines(forms.blocks(text)):
        if line == 1 and write.line_is_open:
            write(b"\n")
        write(forms.lines(block, text.name, line)[0])
        write.line_is_open = not block.endswith(b"\n")
        line += block.count(b"\n")


def _counts(forms: Forms, texts: list[Document], *, whole: bool, json: bool, named: bool) -> bytes:
    """The report of `--count`: like that of `wc`, or JSON."""
    rows = []
    for text in texts:
        before = forms.bytes_read
        tokens = 0
        line = 1
        if whole:
            for piece in forms.texts(text):
                tokens += forms.text(piece, text.name, line)[1]
                line += piece.count(b"\n")
        else:
            for block in streams.whole_lines(forms.blocks(text)):
                tokens += forms.lines(block, text.name, line)[1]
                line += block.count(b"\n")
        rows.append((tokens, forms.bytes_read - before, text.name))
    total = (sum(row[0] for row in rows), forms.bytes_read, "total")
    if json:
        import os

        import orjson

        from tokctl.cli.forms import text_or_bytes

        files = [
            {"name": text_or_bytes(os.fsencode(name)), "tokens": tokens, "bytes": size}
            for tokens, size, name in rows
        ]
        return orjson.dumps({"files": files, "tokens": total[0], "bytes": total[1]}) + b"\n"
    if len(rows) > 1:
        rows.append(total)
    widths = [len(str(figure)) for figure in total[:2]]
    lines = []
    for tokens, size, name in rows:
        shown = f" {visible(name)}" if named else ""
        lines.append(f"{tokens:>{widths[0]}} {size:>{widths[1]}}{shown}\n")
    return "".join(lines).encode()
