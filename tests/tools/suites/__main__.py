"""`python -m tests.tools.suites --checkouts DIR`: runs the suites and prints what was counted."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.tools.suites import table

#: Seconds that a suite may take.
WALL = 7200

PROJECT = Path(__file__).parents[3]


class Suite(NamedTuple):
    """A library's own tests.

    Attributes:
        name: of the library, and of the folder in front of its version.
        folder: in the distribution; the suite runs there.
        tests: files and folders there, and what pytest is told of them.
    """

    name: str
    folder: str
    tests: tuple[str, ...]


SUITES = (
    # What is left out measures time, or calls for as long as a time lasts.
    Suite(
        "tokenizers",
        "bindings/python",
        (
            "tests",
            "--ignore=tests/test_benchmarks.py",
            "--ignore=tests/test_freethreaded.py",
            "--deselect=tests/bindings/test_tokenizer.py::TestAsyncTokenizer::test_performance_comparison",
        ),
    ),
    Suite("tiktoken", ".", ("tests", "--hypothesis-seed=0")),
    Suite("sentencepiece", ".", ("test/sentencepiece_test.py", "test/numpy_test.py")),
    Suite("transformers", ".", ("tests", "--ignore-glob=*modeling*")),
)


def run(suite: Suite, distribution: Path, record: Path) -> int:
    """The suite beside tokctl; pytest's exit code."""
    command = [sys.executable, "-m", "tests.tools.suites.launch", str(record)]
    command += [str(distribution / suite.folder), "-q", "--tb=line", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors", *suite.tests]
    return subprocess.run(command, cwd=PROJECT, timeout=WALL, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.suites", description=__doc__)
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", default="", help="only the suites with this in their name")
    parser.add_argument("--records", type=Path, metavar="DIR", help="keep what each suite gave")
    parser.add_argument("--write", action="store_true", help="write the table into docs")
    given = parser.parse_args(arguments)
    made: list[table.Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        records: Path = (given.records or Path(scratch)).resolve()
        records.mkdir(parents=True, exist_ok=True)
        for suite in SUITES:
            if given.only not in suite.name:
                continue
            found = sorted(given.checkouts.resolve().glob(f"{suite.name}-*"))
            if not found:
                print(f"not here: {suite.name}", file=sys.stderr)
                continue
            record = records / f"{suite.name}.jsonl"
            record.unlink(missing_ok=True)
            code = run(suite, found[-1], record)
            if not record.exists():
                print(f"{suite.name}: pytest ended with {code}", file=sys.stderr)
                return 1
            version = found[-1].name.removeprefix(f"{suite.name}-")
            made += table.rows(suite.name, version, record)
            for reason, some in table.examples(record).items():
                print(f"{reason}\n  " + "\n  ".join(some))
    made += [row for row in table.rows_of_facts() if given.only in row.suite]
    print(table.markdown(made))
    if given.write:
        table.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
