"""`tokctl decode`: ids to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Annotated

import typer

from tokctl.cli import options, streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

EXAMPLES = """Examples:

  echo 262 640 | tokctl decode -m book.json
  tokctl decode -m book.json --from bin -o a.txt ids.bin
  tokctl encode -m M < a | tokctl decode -m M | cmp - a

The last prints nothing, whatever the file a holds, where
M is a byte-level model: what comes back is identical.
Other models lose what their normalizer or pre-tokenizer
drops. What several files hold is written one behind the
other, with nothing in between."""

SHORT = "Turn ids back into text."

FORMS = ("ids", "jsonl", "bin")


def register(app: typer.Typer) -> None:
    app.command("decode", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(decode))


def decode(
    world: World,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="What encode has written; - is stdin, as is no file.",
            show_default=False,
        ),
    ] = None,
    model: streams.Model = None,
    form: Annotated[
        str,
        typer.Option("--from", metavar="ids|jsonl|bin", help="The form that encode has written."),
    ] = "ids",
    skip_special: Annotated[
        bool, typer.Option("--skip-special", help="Leave special tokens out.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --from jsonl.")] = False,
    output: streams.Output = None,
) -> None:
    """Turn ids back into text: one line of ids in, one line of text out. The
    last line ends with a line feed only if the input's does.
    """
    options.choose("--from", form, FORMS)
    if json:
        if form == "bin":
            raise TokctlError("--json is --from jsonl, and --from is bin", "leave one of them out")
        form = "jsonl"
    if output is not None and output != "-":
        model = streams.model_path(world, model)
        streams.check_output(world, output, files, model)
    tokenizer = streams.load_model(world, model)
    texts = streams.documents(world, files)
    decoders = {"ids": _from_ids, "jsonl": _from_jsonl, "bin": _from_bin}
    from tokctl.cli.progress import Bars, watched

    with streams.output(world, output) as out, Bars(world) as bars:
        write = streams.Writer(out)
        for text in watched(bars, "decode", texts):
            for block in decoders[form](tokenizer, text.name, text.blocks(), skip_special):
                write(block)


def _from_ids(
    tokenizer: Tokenizer, name: str, blocks: Iterable[bytes], skip_special: bool
) -> Iterator[bytes]:
    from tokctl._native import CoreError

    line = 1
    for block in streams.whole_lines(blocks):
        try:
            yield tokenizer.decoder.lines(block, line, skip_special)
        except CoreError as error:
            message, kind, _ = error.args
            if kind not in ("id-outside", "not-an-id"):
                raise
            hint = _known_ids(tokenizer)
            if kind == "not-an-id":
                hint += "; from text to ids: tokctl encode"
            raise TokctlError(f"{name}: {message}", hint) from None
        line += block.count(b"\n")


def _from_jsonl(
    tokenizer: Tokenizer, name: str, blocks: Iterable[bytes], skip_special: bool
) -> Iterator[bytes]:
    number = 0
    for block in streams.whole_lines(blocks):
        decoded = []
        for line in BytesIO(block):  # a line ends at a line feed, and nowhere else
            number += 1
            decoded.append(_of_object(tokenizer, f"{name}: line {number}", line, skip_special))
            decoded.append(b"\n" if line.endswith(b"\n") else b"")
        yield b"".join(decoded)


def _of_object(tokenizer: Tokenizer, place: str, line: bytes, skip_special: bool) -> bytes:
    import orjson

    hint = 'each line is an object with ids: {"ids": [1, 2]}'
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TokctlError(f"{place} is no JSON: {error}", hint) from None
    ids = found.get("ids") if isinstance(found, dict) else None
    if not isinstance(ids, list):
        raise TokctlError(f'{place} has no list of "ids"', hint)
    for position, id_ in enumerate(ids, 1):
        if type(id_) is not int or not 0 <= id_ < tokenizer.vocab_size:
            what = f"{id_!r} is no id of this model" if type(id_) is int else f"{id_!r} is no id"
            raise TokctlError(f"{place}, number {position}: {what}", _known_ids(tokenizer))
    return tokenizer.decode_bytes(ids, skip_special=skip_special)


def _from_bin(
    tokenizer: Tokenizer, name: str, blocks: Iterable[bytes], skip_special: bool
) -> Iterator[bytes]:
    from tokctl._native import CoreError, DecodeStream
    from tokctl.cli.written import bin_width, unpacked

    width = bin_width(tokenizer)
    # A token's neighbours can decide about its text; the stream holds back what they can.
    stream = DecodeStream(tokenizer.decoder, skip_special)
    rest = b""
    done = 0
    for block in blocks:
        data = rest + block if rest else block
        whole = len(data) - len(data) % width
        rest = data[whole:]
        ids = unpacked(data[:whole], width)
        try:
            yield stream.push(ids)
        except CoreError as error:
            if error.args[1] != "unknown-id":
                raise
            place = error.args[2][0] - done // width
            raise TokctlError(
                f"{name}: byte {done + place * width}: id {ids[place]} is outside the vocabulary",
                _known_ids(tokenizer),
            ) from None
        done += whole
    if rest:
        raise TokctlError(
            f"{name}: {done + len(rest)} bytes are no whole number of ids of {width} bytes each",
            "is it cut off, or not what tokctl encode --as bin writes with this model?",
        )
    yield stream.finish()


def _known_ids(tokenizer: Tokenizer) -> str:
    return f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
