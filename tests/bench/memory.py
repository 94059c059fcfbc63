"""Peak memory by size of the text, as a table and as `docs/memory.md`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.results import Measured
from tests.bench.targets import figure
from tests.bench.work.memory import TITLES


def memory_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: each command's peak with the shorter and with the longer text."""
    found = ["| command | text | peak | text | peak | times |", "|---|--:|--:|--:|--:|--:|"]
    for task, title in TITLES.items():
        parts = [part for part in measured if part.row.key == f"memory-{task}"]
        parts = sorted(parts, key=lambda part: part.row.at)
        peaks = [part.lines[0].memory if part.lines else None for part in parts]
        if not parts:
            continue
        cells = [title]
        for part, peak in zip(parts, peaks, strict=True):
            cells += [
                f"{round(part.size / 1e6, 2):,g} MB",
                "-" if peak is None else f"{peak / 1e6:,.0f} MB",
            ]
        first, last = peaks[0], peaks[-1]
        cells.append(figure(last / first) if first and last else "-")
        found.append(f"| {' | '.join(cells)} |")
    return found if len(found) > 2 else []


def memory_page(measured: Sequence[Measured], tokctl: str) -> str:
    """The whole page; `tokctl` is the digest of the one that ran."""
    texts = {part.row.text: part for part in measured}
    about = [f"- `{name}`: {part.about}, {part.size:,} bytes" for name, part in texts.items()]
    return "\n".join([PAGE.format(tokctl=tokctl), *memory_table(measured), "", *about, BOUNDS])


PAGE = """\
# How much memory a command needs

This page is written by `python -m tests.bench --memory --write`; don't edit it.

The peak of resident memory of whole processes, the interpreter included, on books, code and
multilingual text repeated with varied words. "times" is what the longer text needs beside the
shorter one.

- `encode` remembers pre-tokens, up to a bound (`--cache-memory`, which a stream of any length does
  not exceed); Parquet adds pyarrow and a group of rows.
- `train` and `inspect --use` keep the distinct pre-tokens, which grow with a text. `--memory`
  bounds them while they are counted: a training itself holds those that it learns from.
- `compare` holds the texts.

What Python makes token by token (`jsonl --offsets`) gets a tenth of the text. The tokctl measured,
its Python files and native module together, has the digest `{tokctl}`.
"""

#: Held by tests/faults/test_exhausted.py.
BOUNDS = """\

## What is bounded

Where the system has no more memory, a command ends with `error: out of memory` and exit code 2,
and leaves no file; in Python it is `tokctl.errors.OutOfMemoryError`, which is a `TokctlError` and a
`MemoryError`. `python -m tests.faults.exhausted` takes commands through all limits. These bounds
hold whatever memory there is:

| what | bound | beyond it |
|---|--:|---|
| what the normalizers make of a text | 64 times its bytes, or 64 MB if that is more | an error |
| all tokens of a model after its decoders | 256 MB | an error |
| what decoders make of ids together | 4 kB an id, or 256 MB if that is more | an error |
| a line, or a text without a place to cut it | 4 GB | an error, as soon as so much has been read |
| a pre-token | 4 GB | an error |
| symbols of an unbroken run that is merged by rank | those of 64 kB at a time | |
| what an encoder remembers, for each thread | `--cache-memory` | the oldest is forgotten |
| counts while text is counted | `--memory` | files without names |

- The ids of a text that is encoded at once take four bytes each, its segments eight.
- Some merges leave no place in a long run where it can be cut, and models that replay their merges
  in the order learned have no windows: such a run is merged at once, with up to 64 bytes for each
  of its bytes. A training holds a run whole, whatever `--memory` says: 100 MB of four
  letters need 1.1 GB for BPE, and 100 MB of one letter 2.2 GB, most of it for the spelling of its
  tokens, the longest of 67 million letters. Unigram, which stores each piece's places, needs 17 to
  63 times the size.
- With 8 GB of address space, 10 GB of zeros in a gzip of 44 MB are an error, for `encode` and for
  `train`, and so is a line of 2 GB.
- What Python makes of ids, tokens and offsets is bounded by memory alone.
"""
