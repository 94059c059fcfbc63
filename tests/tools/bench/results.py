"""What was measured, row by row, in a file: a run that ends early has lost nothing, and the
same command with the same file goes on where it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.tools.bench.judge import Line
from tests.tools.bench.rows import Row


@dataclass(frozen=True)
class Measured:
    """A row with its judged lines.

    Attributes:
        size: of the text, in bytes.
        about: what the text is.
        ids: how many there are to decode; 0 where nothing is decoded.
        day: when it was measured: YYYY-MM-DD.
    """

    row: Row
    lines: tuple[Line, ...]
    size: int
    about: str
    ids: int = 0
    day: str = ""


def identity(row: Row) -> str:
    """The same for the same row, in any process."""
    return hashlib.sha256(repr(row).encode()).hexdigest()[:16]


def append(path: Path, measured: Measured, fingerprint: str, runs: int) -> None:
    """Adds a row to the file."""
    lines = []
    for line in measured.lines:
        found = asdict(line)
        del found["row"]
        lines.append(found)
    record = {
        "row": identity(measured.row),
        "tokctl": fingerprint,
        "runs": runs,
        "size": measured.size,
        "about": measured.about,
        "ids": measured.ids,
        "day": measured.day,
        "lines": lines,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(record)}\n")


def read(path: Path, rows: Sequence[Row], fingerprint: str, runs: int) -> dict[Row, Measured]:
    """The rows that the file holds of this tokctl, in so many rounds; those of another, and a
    last line that was cut off, count for nothing."""
    known = {identity(row): row for row in rows}
    found: dict[Row, Measured] = {}
    for record in _records(path):
        row = known.get(record["row"])
        if row is None or (record["tokctl"], record["runs"]) != (fingerprint, runs):
            continue
        lines = tuple(_line(row, line) for line in record["lines"])
        about = (record[name] for name in ("size", "about", "ids", "day"))
        found[row] = Measured(row, lines, *about)
    return found


def _records(path: Path) -> Iterable[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _line(row: Row, found: dict[str, Any]) -> Line:
    if found["ratio"] is not None:
        found["ratio"] = tuple(found["ratio"])
    return Line(row, **found)
