"""`python -m tests.bench`: measures, prints the table, and with `--write` the page."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tests.bench.driver import Progress, fingerprint, measure, versions
from tests.bench.job import short
from tests.bench.judge import WRONG, Line, judge
from tests.bench.report import markdown, show
from tests.bench.rows import QUICK, Row, Sizes, all_rows
from tests.bench.texts import CHECKOUT, CORPORA, Materials

PAGE = CHECKOUT / "docs" / "benchmarks.md"
#: Bytes of each text with --quick.
QUICK_LIMIT = 1_000_000


def measure_row(row: Row, materials: Materials, runs: int, progress: Progress) -> list[Line]:
    """The judged lines of one row."""
    expected = None
    if row.section == "decoding" and row.model == "bpe":
        # Byte-level: the text comes back, whoever decodes.
        expected = short(materials.text(row.text).path.read_bytes())
    return judge(row, measure(row, materials, runs, progress), expected)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="rounds per row (default: 3)")
    parser.add_argument(
        "--quick", action="store_true", help="1 MB of each text, small vocabularies, one round"
    )
    parser.add_argument(
        "--only", metavar="WORDS", help="only rows whose section, title or text has these words"
    )
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    asked = parser.parse_args(arguments)
    if asked.write and (asked.quick or asked.only):
        parser.error("--write is for a whole run: leave --quick and --only out")
    if asked.runs < 1:
        parser.error("--runs is a number from 1 up")
    return asked


def main(arguments: Sequence[str]) -> int:
    """Returns 1 where a result was wrong, or tokctl changed while it was measured; else 0."""
    asked = _arguments(arguments)
    console, errors = Console(), Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console = Console(width=200)
    if not CORPORA.exists():
        errors.print("the corpora are not beside this checkout: the bundled sample, repeated")

    def say(what: str) -> None:
        errors.print(what, soft_wrap=True)

    rows = all_rows(QUICK if asked.quick else Sizes())
    if asked.only:
        wanted = asked.only.lower()
        rows = [row for row in rows if wanted in f"{row.section} {row.title} {row.text}".lower()]
    runs = 1 if asked.quick else asked.runs
    measured = fingerprint()
    with tempfile.TemporaryDirectory(prefix="tokctl-bench-") as folder:
        materials = Materials(Path(folder), limit=QUICK_LIMIT if asked.quick else None)
        lines: list[Line] = []
        for row in rows:
            lines += measure_row(row, materials, runs, say)
        show(lines, materials, console)
        if fingerprint() != measured:
            errors.print("tokctl changed during the run: the figures mix two versions of it")
            return 1
        if asked.write:
            page = markdown(lines, materials, versions(), runs, measured)
            PAGE.write_text(page, encoding="utf-8")
            errors.print(f"written: docs/{PAGE.name}")
    return 1 if any(line.verdict == WRONG for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
