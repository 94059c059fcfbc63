"""The algorithms since 2024, as `docs/recent.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.tools.bench.peers import PACKAGES
from tests.tools.bench.report import measured_with, section_tables
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import Row


def recent_page(
    measured: Sequence[Measured],
    left: Sequence[Row],
    versions: Mapping[str, str | None],
    tokctl: str,
) -> str:
    """The whole page; `left` are the rows that were not measured, `tokctl` is the digest of the
    one that ran."""
    packages = {PACKAGES[each.peer] for part in measured for each in part.row.contenders}
    used = {name: found for name, found in versions.items() if name in packages}
    days = ", ".join(sorted({part.day for part in measured}))
    missing = "; ".join(f"{row.title}, {row.text}" for row in left)
    return "\n".join(
        [
            PAGE,
            f"{measured_with(measured, used, tokctl)}\nDays of measuring: {days}.\n",
            *([f"**Not measured yet**: {missing}.\n"] if left else []),
            *section_tables(measured),
        ]
    )


PAGE = """\
# Algorithms since 2024: time and memory

This page is written by `python -m tests.tools.bench --recent --write`; don't edit it. To
measure again, from a checkout with the extra `bench` installed:

    python -m tests.tools.bench --recent --write --results recent.jsonl
    python -m tests.tools.bench --recent --only "SuperBPE 1GB" --write --results recent.jsonl

The second command measures some of the rows; those that the file holds of the same tokctl stay on
the page.

- [Benchmarks](benchmarks.md#how-to-read-the-rows) says what the columns are. Training starts with
  the file on disk and ends with the model in memory, by the algorithm's default recipe; its digest
  is that of the model file. "clock" is the time that passes, "processors" that of both threads.
- `books@N` are books of 7.9 MB, repeated with varied words up to N bytes. Of `spans@N`, random
  spans of 8 to 23 words of the same books, hardly a line occurs twice. That is the worst case for
  SuperBPE and BoundlessBPE, which count lines and runs of words.
- No other library of this suite trains SuperBPE, BoundlessBPE, PickyBPE or Scaffold-BPE, so they
  are `not compared`. Where a paper reports the time of its own implementation, a line below ours
  names the paper. That time comes from another text and another machine, so it has no ratio.
  "Faster Superword Tokenization" (arXiv 2604.05192) reports 593 s for SuperBPE and 603 s for
  BoundlessBPE, with 1 GB, and 4.7 days of processor time for BoundlessBPE as it was before.
- Parity-aware BPE is trained on eight languages (`languages@N`: the text of many scripts, line by
  line by its letters, repeated with varied words), with tokens per byte as the cost of a language.
  Hugging Face's `ParityBpeTrainer` gets the same target for each; with its tie rule,
  `highest-text`, the merges must be equal. It is left out for 1 GB, which would take many minutes.
- The models that encode are trained on the three texts together. Hugging Face loads SuperBPE's; it
  has no model for BoundlessBPE.
"""
