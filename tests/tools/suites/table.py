"""What was counted, as `results.tsv` and as the table of docs/formats.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.tools.suites import cpp_facts, rust_facts
from tests.tools.suites.record import DIFFERS, SAME, UNTRANSLATABLE
from tokctl import TokctlError

HERE = Path(__file__).parent
RESULTS = HERE / "results.tsv"
PAGE = HERE.parents[2] / "docs" / "formats.md"
BEGIN, END = (
    "<!-- the suites' table: python -m tests.tools.suites --write -->\n",
    "<!-- the suites' end -->\n",
)


#: Suites of which facts are told.
CPP, RUST = "sentencepiece, in C++: models, rules", "tokenizers, in Rust"


class Row(NamedTuple):
    """Calls of one suite that came to the same.

    Attributes:
        verdict: same, differs, not translatable; `test` for the suite's own tests.
        reason: why; of tests, `same in all calls`, `no call`, …
    """

    suite: str
    version: str
    verdict: str
    reason: str
    number: int


TEST = "test"

#: What becomes of a test.
ALL_SAME = "all calls the same"
OF_TRANSLATED = "the same, but for calls that are not translatable"
NO_CALL = "no call"
NOTHING = "only calls that are not translatable"
SOME_DIFFER = "a call differs"
THEIR_OWN = "ends before any call: skipped, or fails there"


def rows(suite: str, version: str, record: Path) -> list[Row]:
    """The rows of a record that the plugin wrote."""
    verdicts: dict[str, set[str]] = {}
    outcomes: dict[str, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for line in map(json.loads, record.read_text(encoding="utf-8").splitlines()):
        if "outcome" in line:
            outcomes[line["test"]] = line["outcome"]
        elif "calls" in line:
            verdicts.setdefault(line["test"], set()).add(line["verdict"])
            counts[line["verdict"], line["reason"]] += line["calls"]
    tests = Counter(_test(outcome, verdicts.get(test, set())) for test, outcome in outcomes.items())
    return [
        *(Row(suite, version, TEST, reason, number) for reason, number in sorted(tests.items())),
        *(Row(suite, version, *key, number) for key, number in sorted(counts.items())),
    ]


def rows_of_facts() -> list[Row]:
    """The rows of what tests say that can't run here."""
    return [
        *_rows_of_facts(CPP, cpp_facts, cpp_facts.expected),
        *_rows_of_facts(RUST, rust_facts, lambda fact: fact.expected),
    ]


def _rows_of_facts(suite: str, facts: Any, expected: Callable[[Any], object]) -> list[Row]:
    verdicts: dict[str, set[str]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for fact in facts.FACTS:
        try:
            same = facts.answer(fact) == expected(fact)
            key = (SAME, "") if same else (DIFFERS, fact.test)
        except TokctlError as error:
            key = (UNTRANSLATABLE, f"not read: {error.message}")
        verdicts.setdefault(fact.test, set()).add(key[0])
        counts[key] += 1
    tests = Counter(_test("passed", found) for found in verdicts.values())
    others: dict[str, int] = facts.OTHER_TESTS
    tests[NO_CALL] = sum(others.values())
    return [
        *(Row(suite, facts.VERSION, TEST, *entry) for entry in sorted(tests.items())),
        *(Row(suite, facts.VERSION, *key, number) for key, number in sorted(counts.items())),
        *(Row(suite, facts.VERSION, UNTRANSLATABLE, *entry) for entry in sorted(others.items())),
    ]


def _test(outcome: str, verdicts: set[str]) -> str:
    if DIFFERS in verdicts:
        return SOME_DIFFER
    if SAME in verdicts:
        return OF_TRANSLATED if UNTRANSLATABLE in verdicts else ALL_SAME
    if UNTRANSLATABLE in verdicts:
        return NOTHING
    return NO_CALL if outcome == "passed" else THEIR_OWN


def examples(record: Path) -> dict[str, list[str]]:
    lines = map(json.loads, record.read_text(encoding="utf-8").splitlines())
    return {line["example"]: line["seen"] for line in lines if "example" in line}


def read() -> list[Row]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    found = (line.split("\t") for line in lines[1:])
    return [Row(*row[:4], int(row[4])) for row in found]


def write(made: Iterable[Row]) -> None:
    """The rows of the suites that ran; those of others stay as they were."""
    made = list(made)
    ran = {row.suite for row in made}
    kept = [row for row in read() if row.suite not in ran] if RESULTS.exists() else []
    made = sorted([*kept, *made])
    lines = ["\t".join(Row._fields), *("\t".join(map(str, row)) for row in made)]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END, 1)[1]
    PAGE.write_text(before + BEGIN + markdown(made) + END + after, encoding="utf-8")


def markdown(made: Iterable[Row]) -> str:
    """A row for each suite."""
    suites: dict[tuple[str, str], list[Row]] = {}
    for row in made:
        suites.setdefault((row.suite, row.version), []).append(row)
    text = (
        "| suite | version | tests | with calls | calls | same | not translatable | differing |\n"
    )
    text += "|---|---|---|---|---|---|---|---|\n"
    for (suite, version), some in sorted(suites.items()):
        tests = [row for row in some if row.verdict == TEST]
        calling = sum(row.number for row in tests if row.reason not in (NO_CALL, THEIR_OWN))
        calls = sum(row.number for row in some if row.verdict != TEST)
        same = sum(row.number for row in some if row.verdict == SAME)
        cells = (
            suite,
            version,
            f"{sum(row.number for row in tests):,}",
            f"{calling:,}",
            f"{calls:,}",
            f"{same:,}",
            _reasons(row for row in some if row.verdict == UNTRANSLATABLE),
            _reasons(row for row in some if row.verdict == DIFFERS),
        )
        text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return text


def _reasons(some: Iterable[Row]) -> str:
    most = sorted(some, key=lambda row: (-row.number, row.reason))
    return "; ".join(f"{row.number:,} {row.reason}" for row in most) or "0"
