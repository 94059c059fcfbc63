"""Peak memory by size of the text, as a table and as `docs/memory.md`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.tools.bench.results import Measured
from tests.tools.bench.targets import figure
from tests.tools.bench.work.memory import TITLES


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

This page is written by `python -m tests.tools.bench --memory --write`; don't edit it.

This page shows how much memory each command needs for a short and a long text, and which limits
tokctl sets itself. The figures are the peak resident memory of whole processes, including the
Python interpreter, on books, code and multilingual text, repeated with varied words. "times" is the
memory for the longer text divided by that for the shorter one.

- `encode` caches pre-tokens, up to a limit (`--cache-memory`, which a stream of any length does not
  exceed). Parquet adds the memory of pyarrow and one group of rows.
- `train` and `inspect --use` keep the distinct pre-tokens, whose number grows with the text.
  `--memory` limits them while they are counted; training itself then keeps those that it learns
  from.
- `inspect --gap` keeps each document, the distinct pre-tokens, and some 40 bytes for each place of
  a string that occurs more than once in them, 1.6 GB at most.
- `compare` keeps the texts in memory.

`inspect --gap` and formats that Python writes token by token (`jsonl --offsets`) were measured on a
tenth of the text.
The measured version of tokctl (its Python files and native module together) has the digest
`{tokctl}`.
"""

#: Held by tests/faults/test_exhausted.py.
BOUNDS = """\

## Limits

If the system runs out of memory, a command ends with `error: out of memory` and exit code 2, and
leaves no file. In Python it raises `tokctl.core.errors.OutOfMemoryError`, which is a `TokctlError`
and a `MemoryError`. `python -m tests.faults.exhausted` tests commands with less and less memory.
The following limits apply however much memory there is:

| what | limit | beyond it |
|---|--:|---|
| the output of normalizers for a text | 64 times its bytes, or 64 MB if that is more | an error |
| all tokens of a model after its decoders | 256 MB | an error |
| the output of the decoders for ids | 4 kB per id, or 256 MB if that is more | an error |
| a line, or a text without a place to cut it | 4 GB | an error, as soon as that much is read |
| a pre-token | 4 GB | an error |
| symbols of an unbroken run that is merged by rank | those of 64 kB at a time | |
| the cache of an encoder, for each thread | `--cache-memory` | the oldest entries are dropped |
| counts while text is counted | `--memory` | temporary files |

- If a text is encoded at once, its ids take four bytes each and its segments eight.
- With some merges, a long run can't be cut anywhere, and models that replay their merges in the
  order learned have no windows. Such a run is merged at once, with up to 64 bytes for each of its
  bytes. Training keeps a whole run in memory, whatever `--memory` is: 100 MB of four letters need
  1.1 GB for BPE, and 100 MB of one letter 2.2 GB, mostly for the spelling of its tokens, the
  longest of which has 67 million letters. Unigram, which stores the places of each piece, needs 17
  to 63 times the size of the text.
- With 8 GB of address space, 10 GB of zeros in a 44 MB gzip file are an error, for `encode` and for
  `train`, and so is a line of 2 GB.
- The ids, tokens and offsets that Python creates are limited only by the memory available.
"""
