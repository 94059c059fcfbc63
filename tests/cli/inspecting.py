"""`tokctl inspect` run in the process."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any, NamedTuple

from tests.cli.run import tokctl


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def inspect(
    *arguments: str,
    terminal: bool = False,
    stdin: bytes = b"",
    environ: dict[str, str] | None = None,
) -> Ran:
    code, out, err = tokctl(
        "inspect",
        *arguments,
        stdin=stdin,
        stdin_is_terminal=terminal,
        stdout_is_terminal=terminal,
        environ={"NO_COLOR": "1", **(environ or {})},
    )
    return Ran(code, out.decode(), err)


def printed(*arguments: str, **options: object) -> str:
    """What a run without complaints prints, spaces at the ends of lines left out."""
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.err) == (0, "")
    return "".join(line.rstrip() + "\n" for line in ran.out.splitlines())


def rows(*arguments: str, **options: object) -> list[list[str]]:
    """The lines of an answer that is one table, as `--csv` gives them, without the names."""
    return list(csv.reader(StringIO(printed(*arguments, "--csv", **options))))[1:]


def told(*arguments: str, **options: object) -> Any:
    """What `--json` gives."""
    return json.loads(printed(*arguments, "--json", **options))


def refused(*arguments: str, **options: object) -> str:
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.out) == (2, "")
    return ran.err
