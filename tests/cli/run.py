"""Running the command line: inside this process on made-up streams, or as a process."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.cli.app import run
from tokctl.cli.world import Console


class Result(NamedTuple):
    """What a shell sees; in `err`, paths are as on Unix."""

    code: int
    out: bytes
    err: str


def slashed(said: str) -> str:
    """Messages with `/` in their paths, which on Windows have backslashes."""
    return said if os.sep == "/" else re.sub(r"(?<=[\w.])\\(?=[\w.*])", "/", said)


def tokctl(
    *arguments: str | Path,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    **world: Any,
) -> Result:
    """One command line, in this process. Without `stdin` it is a terminal. As in `conftest`, long
    work does not tell of itself, unless `environ` says so."""
    out, err = io.BytesIO(), io.StringIO()
    made = Console(
        stdin=io.BytesIO(stdin or b""),
        stdout=out,
        stderr=err,
        environ={"TOKCTL_PROGRESS": "none", **(environ or {})},
        **{"stdin_is_terminal": stdin is None, **world},
    )
    code = run([str(argument) for argument in arguments], made)
    return Result(code, out.getvalue(), slashed(err.getvalue()))


def command(*arguments: str | Path) -> list[str]:
    """The same as a process."""
    return [sys.executable, "-m", "tokctl", *map(str, arguments)]


def process(
    *arguments: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None, **options: Any
) -> Result:
    """One command line, as a process that has ended."""
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        timeout=600,
        check=False,
        **options,
    )
    said = done.stderr.decode("utf-8", "backslashreplace").replace(os.linesep, "\n")
    return Result(done.returncode, done.stdout or b"", slashed(said))


def error(message: str, hint: str | None) -> str:
    """What stderr holds then."""
    return f"error: {message}\n" + (f"hint: {hint}\n" if hint else "")


def names(folder: Path) -> list[str]:
    """Everything in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())
