"""What is printed of a run, in a terminal and as `docs/benchmarks.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from tests.tools.bench.curves import growth_tables, odd_table
from tests.tools.bench.judge import WRONG, Line
from tests.tools.bench.page import INTRODUCTION, READING
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import TOKCTL, threads_named
from tests.tools.bench.targets import ABSENT, MISSED, Outcome, Worst, figure, outcomes, worst_cells

COLUMNS = (
    "work",
    "text",
    "contender",
    "time, ours = 1",
    "min..max",
    "processors",
    "clock",
    "peak",
    "digest",
    "result",
)
HEADINGS = {
    "scale": "Encoding as the text grows",
    "encoding": "Encoding, ids in memory",
    "decoding": "Decoding, from ids in memory",
    "training": "Training, from a file to a model in memory",
    "processes": "Whole processes, from start to exit",
    "growth": "Growth, row by row",
    "odd": "Odd shapes, row by row",
    "memory": "Memory, row by row",
}


def speed(seconds: float | None, line: Line, part: Measured) -> str:
    """In the unit that suits the work."""
    if line.wrong:
        return WRONG
    if not seconds:
        return "-"
    if line.row.section == "decoding":
        return f"{part.ids / 1e6 / seconds:.3g} M ids/s"
    if line.row.model and line.row.text != "line":
        return f"{part.size / 1e6 / seconds:.3g} MB/s"
    return duration(seconds)


def duration(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"


def cells(line: Line, part: Measured) -> tuple[str, ...]:
    """One row of the table, as plain text. What is wrong has neither ratio nor speed."""
    both = len(line.row.passes) > 1
    work = line.row.title + (f", {line.pass_}" if both else "")
    ratio, spread = "-", "-"
    if line.wrong:
        ratio = WRONG
    elif line.contender == TOKCTL and line.ratio:
        ratio = "1"
    elif line.ratio:
        middle, low, high = map(figure, line.ratio)
        ratio, spread = middle, f"{low}..{high}"
    memory = "-" if line.memory is None else f"{line.memory / 1e6:.0f} MB"
    bits = "" if line.bits is None else f"; {line.bits:.5f} bits a character"
    return (
        work,
        line.row.text,
        line.contender,
        ratio,
        spread,
        speed(line.cpu, line, part),
        speed(line.seconds, line, part),
        memory,
        line.digest or "-",
        line.verdict + bits,
    )


def show(measured: Sequence[Measured], console: Console) -> None:
    """Prints one table per section, work and text named once; then the targets."""
    for section, parts in groupby(measured, key=lambda part: part.row.section):
        table = Table(title=HEADINGS[section], title_justify="left", header_style="bold")
        for column in COLUMNS:
            right = column in ("time, ours = 1", "processors", "clock", "peak")
            table.add_column(column, justify="right" if right else "left", overflow="fold")
        for part in parts:
            for _, group in groupby(part.lines, key=lambda line: line.pass_):
                for number, line in enumerate(group):
                    row = cells(line, part)
                    style = "bold red" if line.wrong else None
                    table.add_row(*(("", "", *row[2:]) if number else row), style=style)
                table.add_section()
        console.print(table)
    for worst in worst_cells(measured):
        console.print(f"{worst_heading(worst)}: {worst_cell(worst)}", highlight=False)
    if reached := [outcome for outcome in outcomes(measured) if outcome.verdict != ABSENT]:
        table = Table(title="Targets", title_justify="left", header_style="bold")
        for column in ("work", "wanted", "in this run", ""):
            table.add_column(column, overflow="fold")
        for outcome in reached:
            style = "bold red" if outcome.verdict == MISSED else None
            table.add_row(*_target_cells(outcome), style=style)
        console.print(table)
    for note in footnotes(measured):
        console.print(f"- {note}", highlight=False)


def worst_heading(worst: Worst) -> str:
    return f"{HEADINGS[worst.section]}, {threads_named(worst.threads)}"


def worst_cell(worst: Worst) -> str:
    """What stands in the worst cell of a section."""
    of = f"{worst.peer} takes {figure(worst.ratio)}x our time"
    return f"{of} ({worst.place}; the worst of {worst.cells} cells)"


def headline(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: the worst cell of all, and those of each section."""
    found = worst_cells(measured)
    if not found:
        return []
    first = found[0]
    lines = [
        f"**In its worst cell tokctl is {figure(first.ratio)} times as fast as the fastest peer "
        f"with the right result** ({first.peer}; {first.place}). Below 1 it is the slower one.\n",
        "| section | cells | slower in | worst cell | peer | time, ours = 1 | by the clock |",
        "|---|--:|--:|---|---|--:|--:|",
    ]
    for each in found:
        times = f"{figure(each.ratio)} | {figure(each.clock)}"
        counted = f"{worst_heading(each)} | {each.cells} | {each.slower}"
        lines.append(f"| {counted} | {each.place} | {each.peer} | {times} |")
    return [*lines, ""]


def footnotes(measured: Sequence[Measured]) -> list[str]:
    """The reasons for own rules, once each."""
    reasons: dict[str, list[str]] = {}
    for part in measured:
        for contender in part.row.contenders:
            if contender.own_rules:
                names = reasons.setdefault(contender.own_rules, [])
                if contender.name not in names:
                    names.append(contender.name)
    return [f"{' and '.join(names)}: {reason}." for reason, names in reasons.items()]


def _target_cells(outcome: Outcome) -> tuple[str, str, str, str]:
    return outcome.target.work, outcome.target.wanted, outcome.found or "-", outcome.verdict


def targets_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: every target, and the names of those that were missed."""
    found = outcomes(measured)
    lines = ["| work | wanted | in this run | |", "|---|---|---|---|"]
    for outcome in found:
        row = _target_cells(outcome)
        verdict = f"**{row[3]}**" if row[3] == MISSED else row[3]
        lines.append(f"| {' | '.join((*row[:3], verdict))} |")
    lines.append("")
    for verdict in (MISSED, ABSENT):
        names = [
            f"{outcome.target.work} ({outcome.target.wanted})"
            for outcome in found
            if outcome.verdict == verdict
        ]
        lines.append(f"{verdict.capitalize()}: {'; '.join(names) or 'none'}.\n")
    return lines


def markdown(
    measured: Sequence[Measured],
    versions: Mapping[str, str | None],
    runs: int,
    tokctl: str,
    chart: str,
) -> str:
    """The whole page; `tokctl` is the digest of the one that ran, `chart` the file's name."""
    parts = [INTRODUCTION, "## The worst cells\n", *headline(measured)]
    parts += ["## Targets\n", *targets_table(measured)]
    if table := growth_tables(measured):
        parts += ["## Growth\n", GROWTH.format(chart=chart), *table, ""]
    if table := odd_table(measured):
        parts += ["## Odd shapes\n", ODD, *table, ""]
    parts.append(READING.format(runs=f"{runs} round{'s'[: runs - 1]}"))
    parts.append(measured_with(measured, versions, tokctl))
    parts += section_tables(measured)
    if notes := footnotes(measured):
        parts += ["## Own rules\n", *(f"- {note}" for note in notes), ""]
    return "\n".join(parts)


def measured_with(
    measured: Sequence[Measured], versions: Mapping[str, str | None], tokctl: str
) -> str:
    """As Markdown: the machine, the libraries, the digest of tokctl, and the texts."""
    texts = {part.row.text: part for part in measured}
    absent = [name for name, found in versions.items() if not found]
    return WITH.format(
        versions=", ".join(f"{name} {found}" for name, found in versions.items() if found),
        absent=f" Not installed, so not measured: {', '.join(absent)}." if absent else "",
        measured=tokctl,
        python=platform.python_version(),
        processors=os.cpu_count(),
        machine=platform.machine(),
        texts="\n".join(
            f"- `{name}`: {part.about}, {part.size:,} bytes" for name, part in texts.items()
        ),
    )


def section_tables(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: a table for each section."""
    parts = []
    for section, group in groupby(measured, key=lambda part: part.row.section):
        parts += [f"## {HEADINGS[section]}\n", "| " + " | ".join(COLUMNS) + " |"]
        parts.append("|---|---|---|--:|---|--:|--:|--:|---|---|")
        for part in group:
            for line in part.lines:
                row = [cell.replace("|", "\\|") for cell in cells(line, part)]
                row[8] = f"`{row[8]}`" if row[8] != "-" else row[8]
                parts.append("| " + " | ".join(row) + " |")
        parts.append("")
    return parts


WITH = """\
Measured with Python {python} on {machine}, {processors} processors: {versions}.{absent}
The tokctl measured, its Python files and native module together, has the digest `{measured}`.

Texts:

{texts}
"""
GROWTH = """\
![Seconds per MB, by size of the text and of the vocabulary]({chart})

tokctl's seconds for a million bytes of text as `bytes`, on one thread: a flat line is time in
proportion to the text. At most 1.2 times those of 10 MB are wanted at 1 GB. The fastest peer is
that of the last column of sizes; the rows below show which others ran.
"""
ODD = """\
Seconds for a million bytes with GPT-2's vocabulary, the first pass, and how many times those of
English. The added tokens are searched for in English, and are not in it.
"""
