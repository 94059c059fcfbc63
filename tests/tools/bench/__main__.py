"""`python -m tests.tools.bench`: measures, prints the table, and with `--write` the page."""

from __future__ import annotations

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from time import monotonic

from rich.console import Console

from tests.tools.bench import chart
from tests.tools.bench.driver import Progress, fingerprint, measure, versions
from tests.tools.bench.job import short
from tests.tools.bench.judge import WRONG, judge
from tests.tools.bench.memory import memory_page
from tests.tools.bench.recent import recent_page
from tests.tools.bench.report import markdown, show
from tests.tools.bench.results import Measured, append, read
from tests.tools.bench.rows import QUICK, Row, Sizes
from tests.tools.bench.texts import CHECKOUT, CORPORA, Materials, default_cache
from tests.tools.bench.work import all_rows, memory_rows, recent_rows

PAGE = CHECKOUT / "docs" / "benchmarks.md"
MEMORY_PAGE = CHECKOUT / "docs" / "memory.md"
RECENT_PAGE = CHECKOUT / "docs" / "recent.md"
#: Bytes of each text with --quick.
QUICK_LIMIT = 300_000


def measure_row(
    row: Row,
    materials: Materials,
    runs: int,
    progress: Progress,
    more: Callable[[], bool] = lambda: True,
) -> Measured:
    """A row with its judged lines."""
    samples = measure(row, materials, runs, progress, more)
    text, expected, ids = materials.text(row.text), None, 0
    if row.section == "decoding":
        ids = materials.ids(row.model, row.vocab, row.text)[1]
        if row.model == "gpt2":
            # Byte-level: the text comes back, whoever decodes.
            expected = short(text.path.read_bytes())
    lines, day = tuple(judge(row, samples, expected)), date.today().isoformat()
    return Measured(row, lines, text.size, text.about, ids, day)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="rounds per row (default: 3)")
    parser.add_argument(
        "--quick", action="store_true", help="short texts, small vocabularies, one round"
    )
    parser.add_argument(
        "--only",
        metavar="WORDS",
        help="only rows whose section, title and text have all of these words: scale, growth, "
        '"scale o200k 1GB"',
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=40,
        help="where the run is behind this, all but what is quick has one round (default: 40)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="where each row is added as soon as it is measured; rows that it holds of this "
        "tokctl are not measured again (default: a new file, named at the start)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=default_cache(),
        metavar="FOLDER",
        help="where long texts stay, 3.5 GB, and the model that is trained on them "
        "(default: %(default)s)",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--memory",
        action="store_true",
        help="instead, the peak memory of each command, with 100 MB of text and with 1 GB",
    )
    instead.add_argument(
        "--recent",
        action="store_true",
        help="instead, the algorithms since 2024, with 8 MB of text, 100 MB and 1 GB",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"write docs/{PAGE.name} and chart; or docs/{MEMORY_PAGE.name}; or "
        f"docs/{RECENT_PAGE.name}, with all of its rows that --results holds",
    )
    asked = parser.parse_args(arguments)
    if asked.write and (asked.quick or (asked.only and not asked.recent)):
        parser.error("--write is for a whole run: leave --quick and --only out")
    if asked.runs < 1:
        parser.error("--runs is a number from 1 up")
    return asked


def _before(end: float) -> bool:
    return monotonic() < end


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

    sizes = QUICK if asked.quick else Sizes()
    every = memory_rows if asked.memory else recent_rows if asked.recent else all_rows
    known = rows = every(sizes)
    if asked.only:
        wanted = asked.only.lower().split()
        rows = [
            row
            for row in known
            if all(word in f"{row.section} {row.title} {row.text}".lower() for word in wanted)
        ]
    runs = 1 if asked.quick else asked.runs
    limit = QUICK_LIMIT if asked.quick else None
    # As where it is installed: no process compiles it.
    compileall.compile_dir(CHECKOUT / "tokctl", quiet=2)
    tokctl = fingerprint()
    results = asked.results
    if results is None:
        handle, name = tempfile.mkstemp(prefix="tokctl-bench-", suffix=".jsonl")
        os.close(handle)
        results = Path(name)
    say(f"results go to {results}")
    found = read(results, known, tokctl, runs)
    started = monotonic()
    with tempfile.TemporaryDirectory(prefix="tokctl-bench-") as folder:
        materials = Materials(Path(folder), cache=asked.cache, limit=limit)
        if skipped := [row for row in rows if materials.missing(row)]:
            where = "large/ is not in the corpora beside this checkout"
            say(f"{where}: {len(skipped)} rows on long texts are left out")
            rows = [row for row in rows if row not in skipped]
        left = [row for row in rows if row not in found]
        for number, row in enumerate(left, start=1):
            # Rows that took less than their share leave the rest to those behind.
            behind = started + 60 * asked.minutes * number / len(left)
            found[row] = measure_row(row, materials, runs, say, partial(_before, behind))
            append(results, found[row], tokctl, runs)
    measured = [found[row] for row in rows]
    show(measured, console)
    say(f"{(monotonic() - started) / 60:.1f} minutes")
    if fingerprint() != tokctl:
        say("tokctl changed during the run: the figures mix two versions of it")
        return 1
    if asked.write and asked.memory:
        MEMORY_PAGE.write_text(memory_page(measured, tokctl), encoding="utf-8")
        say(f"written: docs/{MEMORY_PAGE.name}")
    elif asked.write and asked.recent:
        left = [row for row in known if row not in found]
        measured = [found[row] for row in known if row in found]
        page = recent_page(measured, left, versions(), tokctl)
        RECENT_PAGE.write_text(page, encoding="utf-8")
        say(f"written: docs/{RECENT_PAGE.name}")
    elif asked.write:
        picture = PAGE.with_suffix(".svg")
        chart.draw(measured, picture)
        page = markdown(measured, versions(), runs, tokctl, picture.name)
        PAGE.write_text(page, encoding="utf-8")
        say(f"written: docs/{PAGE.name}, docs/{picture.name}")
    return 1 if any(line.verdict == WRONG for part in measured for line in part.lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
