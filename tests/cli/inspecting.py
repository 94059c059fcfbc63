"""`tokctl inspect` run in the process."""

from __future__ import annotations

import io
from dataclasses import dataclass

from tokctl.cli.app import run
from tokctl.cli.world import World


@dataclass
class Ran:
    code: int
    out: str
    err: str


def inspect(
    *arguments: str,
    terminal: bool = False,
    stdin: bytes = b"",
    environ: dict[str, str] | None = None,
) -> Ran:
    stdout, stderr = io.BytesIO(), io.StringIO()
    world = World(
        stdin=io.BytesIO(stdin),
        stdout=stdout,
        stderr=stderr,
        stdin_is_terminal=terminal,
        stdout_is_terminal=terminal,
        environ={"NO_COLOR": "1", **(environ or {})},
    )
    code = run(["inspect", *arguments], world)
    return Ran(code, stdout.getvalue().decode(), stderr.getvalue())


def printed(*arguments: str, **options: object) -> str:
    """What a run without complaints prints, spaces at the ends of lines left out."""
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.err) == (0, "")
    return "".join(line.rstrip() + "\n" for line in ran.out.splitlines())


def refused(*arguments: str, **options: object) -> str:
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.out) == (2, "")
    return ran.err
