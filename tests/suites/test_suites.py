"""The harness of the peers' suites on a suite of its own, and what docs/formats.md says.

The suites themselves are no part of the tests: `python -m tests.tools.suites --checkouts DIR`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.suites import __main__ as suites
from tests.tools.suites import table
from tests.tools.suites.record import DIFFERS, SAME, UNTRANSLATABLE, Recorder, mirror
from tests.tools.suites.table import Row

THEIR_TESTS = """
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers
import pytest


def made():
    found = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, "[UNK]"))
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    found.add_special_tokens(["[UNK]"])
    return found


def test_whole():
    here = made()
    encoding = here.encode("a b c")
    assert encoding.ids == [0, 1, 2] and encoding.word_to_tokens(2) == (2, 3)
    assert len(here.encode_batch(["a", ("a", "b")])) == 2
    assert here.decode([0, 1]) == "a b"
    assert here.token_to_id("b") == 1 and here.get_vocab_size() == 3


def test_parts():
    assert normalizers.NFC().normalize_str("e\\u0301") == "é"
    assert pre_tokenizers.Digits().pre_tokenize_str("a1")[1] == ("1", (1, 2))
    assert decoders.Fuse().decode(["a", "b"]) == "ab"
    assert pre_tokenizers.ByteLevel().pre_tokenize_str("é")


def test_words():
    assert made().encode(["a", "b"], is_pretokenized=True).ids == [0, 1]


def test_refusal():
    with pytest.raises(TypeError):
        made().encode(1)


def test_changes():
    here = made()
    here.encode("a")
    here.add_tokens(["ab"])
    assert here.encode("ab").ids == [3]
    here.enable_truncation(1)
    assert here.encode("a b").ids == [0]
    here.model = models.WordLevel({"b": 0, "a": 1, "[UNK]": 2}, "[UNK]")
    assert here.encode("a b").ids == [1]


def test_nothing():
    pass


def test_needs_something():
    pytest.skip("a download")
"""


def test_a_suite(tmp_path: Path) -> None:
    """In a process of its own, from its folder, with a package `tests` of its own."""
    pytest.importorskip("tokenizers")
    folder = tmp_path / "tokenizers-1.0" / "bindings" / "python"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "test_theirs.py").write_text(THEIR_TESTS)
    command = [sys.executable, "-m", "tests.tools.suites", "--checkouts", str(tmp_path)]
    command += ["--only", "tokenizers", "--records", str(tmp_path / "records")]
    ran = subprocess.run(command, cwd=suites.PROJECT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = table.rows("tokenizers", "1.0", tmp_path / "records" / "tokenizers.jsonl")
    counts = {(row.verdict, row.reason): row.number for row in rows}
    assert counts == {
        (table.TEST, table.ALL_SAME): 4,
        (table.TEST, table.NOTHING): 1,
        (table.TEST, table.NO_CALL): 1,
        (table.TEST, table.THEIR_OWN): 1,
        (SAME, ""): 15,
        (UNTRANSLATABLE, "a text that comes in words (`is_pretokenized`)"): 1,
    }
    assert table.markdown(rows) in ran.stdout


class Peer:
    """A library with two names for a call, one of which makes another call."""

    def double(self, number: int) -> int:
        if number < 0:
            raise ValueError("below 0")
        return self.plain(number) * 2

    twice = double

    def plain(self, number: int) -> int:
        return number


def test_verdicts(tmp_path: Path) -> None:
    class Here(Peer):
        pass

    Here.double = Peer.double  # type: ignore[method-assign]
    Here.twice = Here.double  # type: ignore[method-assign]
    Here.plain = Peer.plain  # type: ignore[method-assign]

    def ours(_: Here, number: int) -> int:
        if number == 4:
            raise KeyError("4")
        return 7 if number == 3 else max(number, -2) * 2

    recorder = Recorder()
    mirror(recorder, Here, "double", ours)
    mirror(recorder, Here, "plain", lambda _, number: number)
    recorder.test = "a test"
    here = Here()
    for number in (1, 3, 4):
        assert here.twice(number) == number * 2
    with pytest.raises(ValueError, match="below 0"):
        here.double(-1)
    recorder.write(tmp_path / "record")
    lines = list(map(json.loads, (tmp_path / "record").read_text().splitlines()))
    assert [(line["verdict"], line["reason"]) for line in lines if "calls" in line] == [
        (SAME, ""),
        (DIFFERS, "result"),
        (DIFFERS, "KeyError: …"),
        (DIFFERS, "refused there: ValueError: below …"),
    ]
    assert sum("example" in line for line in lines) == 3


def test_documented() -> None:
    """The table is the one that the harness wrote."""
    rows = table.read()
    told = {table.CPP, table.RUST}
    assert {row.suite for row in rows} == {*(suite.name for suite in suites.SUITES), *told}
    facts = [row for row in rows if row.suite in told]
    assert facts == sorted(table.rows_of_facts())
    assert rows == sorted(rows)
    page = table.PAGE.read_text(encoding="utf-8")
    assert page.split(table.BEGIN)[1].split(table.END)[0] == table.markdown(rows)


def test_rows_of_other_suites_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results.tsv")
    monkeypatch.setattr(table, "PAGE", tmp_path / "page.md")
    table.PAGE.write_text(f"before\n{table.BEGIN}{table.END}after\n")
    table.write([Row("one", "1", SAME, "", 3), Row("two", "1", SAME, "", 4)])
    table.write([Row("one", "2", SAME, "", 5)])
    assert table.read() == [Row("one", "2", SAME, "", 5), Row("two", "1", SAME, "", 4)]
    page = table.PAGE.read_text()
    assert page.startswith("before\n") and page.endswith("after\n") and "| one | 2 |" in page
