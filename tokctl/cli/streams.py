"""What encode and decode share: the model, the texts that come in, the bytes that go out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from tokctl.cli.world import World
from tokctl.errors import TokctlError
from tokctl.tokenizer.texts import whole_lines as whole_lines

if TYPE_CHECKING:
    from tokctl.formats import Hints
    from tokctl.sources import Document
    from tokctl.tokenizer import Tokenizer

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="The model: a file or a folder of any format that tokctl reads (tokctl convert "
        "--list-formats shows them), or hf:ORG/NAME on the Hugging Face Hub. Without it, the "
        "one that $TOKCTL_MODEL names.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="Write to this file, whole or not at all; stdout without it.",
        show_default=False,
    ),
]


def model_path(world: World, path: str | None) -> str:
    """The path of `--model`, else of `$TOKCTL_MODEL`."""
    path = path or world.environ.get("TOKCTL_MODEL")
    if not path:
        raise TokctlError(
            "no model is given",
            "name one with -m FILE or in $TOKCTL_MODEL; to make one: tokctl train book.txt",
        )
    return path


def load_model(world: World, path: str | None, hints: Hints | None = None) -> Tokenizer:
    """The model of `--model`, else of `$TOKCTL_MODEL`."""
    from tokctl.tokenizer import Tokenizer

    path = model_path(world, path)
    if hints is None:
        return Tokenizer.load(path)
    return Tokenizer.load(path, pattern=hints.pattern, special_tokens=hints.special)


def names(world: World, files: Sequence[str] | None) -> list[str]:
    """The arguments; stdin where there are none. TokctlError where that is a terminal, or named
    twice."""
    from tokctl import sources

    if not files and world.stdin_is_terminal:
        raise TokctlError(
            "there is no text: stdin is a terminal",
            "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type",
        )
    found = list(files or [sources.STDIN])
    if found.count(sources.STDIN) > 1:
        raise TokctlError("stdin (-) is named twice", "it can be read only once")
    return found


def documents(world: World, files: Sequence[str] | None, *, raw: bool = False) -> list[Document]:
    """The texts that the arguments name, checked, decompressed unless they are `raw`; stdin
    where they name none."""
    from tokctl import sources

    return sources.documents(names(world, files), stdin=world.stdin, raw=raw)


def check_output(
    world: World, path: str, files: Sequence[str] | None, model: str | None = None
) -> None:
    """TokctlError where `path` surely can't be written, or is one of the files to read: the
    texts, what stdin is redirected from, the model.

    Nothing is left behind. Found out before the work, so that nobody waits for nothing.
    """
    hint = "choose another place with -o PATH"
    if not path:
        raise TokctlError("-o is empty", hint)
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise TokctlError(f"can't write {path}: it is a folder", "name a file in it")
        if Path(path).exists() and not Path(path).is_file():
            return  # a device or a pipe
        if not target.parent.is_dir():
            # Where a link points nowhere, the folder is that of its target.
            folder = Path(path).parent
            folder = target.parent if folder.is_dir() else folder
            raise TokctlError(
                f"can't write {path}: there is no folder {folder}",
                f"make it first: mkdir -p {folder}",
            )
        if target.exists():
            named = [*(files or ["-"]), *([model] if model else [])]
            paths = [Path(name) for name in named if name != "-" and Path(name).exists()]
            # A folder is a model of the files in it.
            paths += [file for path in paths if path.is_dir() for file in path.iterdir()]
            sources = [path.stat() for path in paths if path.exists()]
            if "-" in named:
                sources += status_of(world.stdin)
            if any(os.path.samestat(target.stat(), source) for source in sources):
                raise TokctlError(f"can't write {path}: it is one of the files to read", hint)
        # What the rights of the folder say is not all: trying it is.
        import tempfile

        with tempfile.TemporaryFile(dir=target.parent, prefix=f".{target.name}."[:80]):
            pass
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
        reason = getattr(error, "strerror", None) or str(error)
        raise TokctlError(f"can't write {path}: {reason}", hint) from None


def is_same_file(stream: BinaryIO, path: str) -> bool:
    """Is `path` another name of what the stream writes to, such as `/dev/stdout`?"""
    return any(os.path.samestat(status, Path(path).stat()) for status in status_of(stream))


def status_of(stream: BinaryIO) -> list[os.stat_result]:
    """Of the file behind a stream; nothing where there is none."""
    try:
        return [os.fstat(stream.fileno())]
    except (OSError, ValueError):  # no file is behind it
        return []


@contextlib.contextmanager
def output(world: World, path: str | None) -> Iterator[BinaryIO]:
    """Where the data goes: the file at `path`, or stdout (`-` or None)."""
    if path is None or path == "-":
        world.data_on_stdout = True
        yield world.stdout
        return
    from tokctl.files import whole_file

    with whole_file(path) as file:
        yield file


def shares(block: bytes, count: int) -> list[bytes]:
    """The block in up to `count` parts of like size, each but the last of whole lines."""
    parts = []
    start = 0
    for share in range(1, count + 1):
        end = block.find(b"\n", max(start, len(block) * share // count - 1)) + 1
        end = len(block) if end == 0 or share == count else end
        if end > start:
            parts.append(block[start:end])
            start = end
    return parts


class Writer:
    """Writes at once: output comes as input comes.

    Attributes:
        line_is_open: what was written last stands on a line that has no end yet. The
            caller keeps it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.line_is_open = False

    def __call__(self, data: bytes) -> None:
        if data:
            self.stream.write(data)
            self.stream.flush()
