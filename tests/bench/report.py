"""The table of a run, in a terminal and as `docs/benchmarks.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from tests.bench.judge import WRONG, Line
from tests.bench.rows import TOKCTL, Row
from tests.bench.texts import Materials

COLUMNS = (
    "work",
    "text",
    "contender",
    "time, ours = 1",
    "min..max",
    "median",
    "peak",
    "digest",
    "result",
)
HEADINGS = {
    "training": "Training, from a file to merges in memory",
    "encoding": "Encoding, ids in memory",
    "decoding": "Decoding, from ids in memory",
    "processes": "Whole processes, from start to exit",
}


def speed(line: Line, materials: Materials) -> str:
    """The median, in the unit that suits the work."""
    if line.seconds is None:
        return "-"
    row = line.row
    if row.section == "encoding":
        return f"{materials.text(row.text).size / 1e6 / line.seconds:.3g} MB/s"
    if row.section == "decoding":
        count = materials.ids(row.model, row.vocab, row.text)[1]
        return f"{count / 1e6 / line.seconds:.3g} M ids/s"
    return f"{line.seconds * 1000:.0f} ms" if line.seconds < 1 else f"{line.seconds:.3g} s"


def figures(ratio: float) -> str:
    """Three significant digits, or all of a whole number from a thousand up."""
    return f"{ratio:,.0f}" if ratio >= 999.5 else f"{ratio:.3g}"


def cells(line: Line, materials: Materials) -> tuple[str, ...]:
    """One row of the table, as plain text. What is wrong has neither ratio nor speed."""
    both = len(line.row.passes) > 1
    work = line.row.title + (f", {line.pass_}" if both else "")
    wrong = line.verdict == WRONG
    ratio, spread = "-", "-"
    if wrong:
        ratio = WRONG
    elif line.contender == TOKCTL and line.ratio:
        ratio = "1"
    elif line.ratio:
        middle, low, high = map(figures, line.ratio)
        ratio, spread = middle, f"{low}..{high}"
    memory = "-" if line.memory is None else f"{line.memory / 1e6:.0f} MB"
    shown = WRONG if wrong else speed(line, materials)
    return (
        work,
        line.row.text,
        line.contender,
        ratio,
        spread,
        shown,
        memory,
        line.digest or "-",
        line.verdict,
    )


def show(lines: Sequence[Line], materials: Materials, console: Console) -> None:
    """Prints one table per section; work and text are named once."""
    for section, part in groupby(lines, key=lambda line: line.row.section):
        table = Table(title=HEADINGS[section], title_justify="left", header_style="bold")
        for column in COLUMNS:
            right = column in ("time, ours = 1", "median", "peak")
            table.add_column(column, justify="right" if right else "left", overflow="fold")
        for _, group in groupby(part, key=lambda line: (line.row, line.pass_)):
            for number, line in enumerate(group):
                row = cells(line, materials)
                style = "bold red" if line.verdict == WRONG else None
                table.add_row(*(("", "", *row[2:]) if number else row), style=style)
            table.add_section()
        console.print(table)
    for note in footnotes(lines):
        console.print(f"- {note}", highlight=False)


def footnotes(lines: Sequence[Line]) -> list[str]:
    """The reasons for own rules, once each."""
    reasons: dict[str, list[str]] = {}
    for line in lines:
        for contender in line.row.contenders:
            if contender.own_rules and contender.name == line.contender:
                names = reasons.setdefault(contender.own_rules, [])
                if contender.name not in names:
                    names.append(contender.name)
    return [f"{' and '.join(names)}: {reason}." for reason, names in reasons.items()]


def markdown(
    lines: Sequence[Line],
    materials: Materials,
    versions: Mapping[str, str | None],
    runs: int,
    measured: str,
) -> str:
    """The whole page; `measured` is the digest of the tokctl that ran."""
    rows: list[Row] = list(dict.fromkeys(line.row for line in lines))
    names = list(dict.fromkeys(row.text for row in rows))
    texts = [materials.text(name) for name in names]
    used = [f"{name} {found}" for name, found in versions.items() if found]
    absent = [name for name, found in versions.items() if not found]
    parts = [
        INTRODUCTION.format(
            runs=f"{runs} round{'s'[: runs - 1]}",
            versions=", ".join(used),
            absent=f" Not installed, so not measured: {', '.join(absent)}." if absent else "",
            measured=measured,
            python=platform.python_version(),
            processors=os.cpu_count(),
            machine=platform.machine(),
            texts="\n".join(f"- `{t.name}`: {t.about}, {t.size:,} bytes" for t in texts),
        )
    ]
    for section, part in groupby(lines, key=lambda line: line.row.section):
        parts.append(f"## {HEADINGS[section]}\n")
        parts.append("| " + " | ".join(COLUMNS) + " |")
        parts.append("|---|---|---|--:|---|--:|--:|---|---|")
        for line in part:
            row = [cell.replace("|", "\\|") for cell in cells(line, materials)]
            row[7] = f"`{row[7]}`" if row[7] != "-" else row[7]
            parts.append("| " + " | ".join(row) + " |")
        parts.append("")
    if notes := footnotes(lines):
        parts += ["## Own rules\n", *(f"- {note}" for note in notes), ""]
    return "\n".join(parts)


INTRODUCTION = """\
# tokctl beside its peers

This page is written by `python -m tests.bench --write`; don't edit it. To measure again,
from a checkout with the extra `bench` installed:

    python -m tests.bench              # the table, in the terminal
    python -m tests.bench --quick      # short texts, small vocabularies, one round
    python -m tests.bench --only encoding

## How to read it

- **Only the ratio means something.** "time, ours = 1" is a contender's time divided by
  tokctl's in the same round: above 1 it is slower than tokctl, below 1 faster. It is the
  median over {runs}, with the lowest and the highest beside it. The column "median" is what
  this machine did while others used it, too: don't compare it with figures from elsewhere.
- Every contender runs in a process of its own, one after the other in each round (A B C,
  A B C, …), so that no caches, threads or memory of one disturb another. All use as many
  threads as the row says, else one.
- **A result that is wrong has no speed**: beside each time stands the digest of the result
  (the first 16 digits of SHA-256: of the merges in order, of the ids as 32-bit
  little-endian numbers, of the decoded bytes, of the output). `same` is equal to that of the
  contender marked `reference` (tokctl itself can be wrong), or, for decoded byte-level ids, to
  the text's own. `not compared`: nobody else did this work, so the digest only shows that the
  rounds agree. `own rules`: the contender defines the result differently, see the end.
- Training is timed from the file on disk to the merges in memory. The text is one string or
  file to all of them, so HF tokenizers and rustbpe, which share texts out among threads, count
  it with one.
- Encoding and decoding start with the model loaded and one letter done, so that what a
  library imports when it is first called is not counted. `first` is the first pass in a fresh
  process, the one that a shell pipeline sees; `again` the median of up to three more over
  the same text. A list is Python's, of one `int` per id; an array has 32 bits per id: that of
  `Tokenizer.encoder.packed` here, NumPy's elsewhere.
- The peers get tokctl's own model: HF tokenizers and gigatoken load the file as it is (for
  WordPiece, HF tokenizers gets its own BERT scanner in place of the file's pattern, which is
  faster and gives the same ids on this text), tiktoken its tokens with their ids as ranks.
  In the rows "SentencePiece's" and "cl100k" it is the other way round: tokctl loads a model
  that SentencePiece trained, and the ranks file of tiktoken.
- A "list per line" is a list of ids for each line of the text, from one call: SentencePiece
  takes a line for a sentence, and so does everybody who uses it.
- Hugging Face's Unigram trainer is left out: it takes minutes for what takes seconds here.
- "peak" is the peak resident memory of the whole process behind the first pass, with the
  interpreter, the library, the text and the result in it; for whole processes, of these.
- A time "in the document" is printed in the notebook that the project grew from; it was
  measured elsewhere, so its ratio is a rough one.

Measured with Python {python} on {machine}, {processors} processors: {versions}.{absent}
The tokctl measured, its Python files and native module together, has the digest `{measured}`.

Texts:

{texts}
"""
