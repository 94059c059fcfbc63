"""The list of published tokenizers, what was measured of them, and what docs/formats.md says.

The comparison itself is no part of the tests: `python -m tests.zoo --files DIR`.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.zoo import __main__ as zoo
from tests.zoo import listed, table
from tests.zoo.cases import Case, cases
from tests.zoo.listed import Listed
from tests.zoo.worker import compare
from tokctl import Tokenizer


def test_form_of_the_list() -> None:
    entries = listed.read()
    assert len(entries) >= 150
    assert len({entry.family for entry in entries}) >= 40
    assert len({entry.sha256 for entry in entries}) == len(entries)
    assert entries == sorted(entries)
    for entry in entries:
        assert entry.kind in listed.PEERS, entry
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256), entry
        package = re.fullmatch(r"(pypi|crates):[\w.-]+==[\w.]+", entry.repository)
        assert package or re.fullmatch("[0-9a-f]{40}", entry.commit), entry
        assert bool(entry.pattern) == (entry.kind == "ranks"), entry


def test_measured_and_documented() -> None:
    """The table is the one that the zoo wrote, of files that are listed."""
    measured = table.read()
    known = {entry.sha256: entry for entry in listed.read()}
    assert len(measured) >= 150
    for row in measured:
        entry = known[row.sha256]
        assert (row.family, row.kind, row.name) == (entry.family, entry.kind, entry.name)
    page = table.PAGE.read_text(encoding="utf-8")
    assert page.split(table.BEGIN)[1].split(table.END)[0] == table.markdown(measured)


@pytest.fixture
def zoo_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listed:
    """A file of ours, listed and laid out as the others are."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[UNK]"])
    path = tmp_path / "some+one" / "tokenizer.json"
    path.parent.mkdir()
    made.save(str(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    entry = Listed("ours", "tokenizer.json", "some/one", "0" * 40, "tokenizer.json", digest)
    monkeypatch.setattr(listed, "read", lambda: [entry])
    return entry


@pytest.mark.usefixtures("zoo_of_one")
def test_a_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A process for the file; the result is kept, and not made again."""
    run = ["--files", str(tmp_path), "--strings", "40"]
    assert zoo.main(run) == 0
    assert "1 files of 1 families: 1 are read" in capfd.readouterr().out
    kept = (tmp_path / "results.jsonl").read_text()
    assert json.loads(kept)["strings"] == 40
    assert zoo.main(run) == 0
    assert (tmp_path / "results.jsonl").read_text() == kept


def test_a_difference_is_found(
    zoo_of_one: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id that is another one here: counted, and shown with the least text."""
    path = tmp_path / zoo_of_one.place
    made = json.loads(path.read_text())
    made["model"]["vocab"] = {"b": 0, "a": 1, "[UNK]": 2}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(made))
    load = Tokenizer.load
    monkeypatch.setattr(Tokenizer, "load", lambda _: load(other))
    found = compare(zoo_of_one, path, 400)
    assert found["differences"]["ids"] > 0
    assert found["examples"]["ids"][0].startswith(("('a'", "('b'"))


def test_other_files_are_told(zoo_of_one: Listed, tmp_path: Path) -> None:
    path = tmp_path / zoo_of_one.place
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(ValueError, match="is not the file that is listed"):
        listed.obtain(zoo_of_one, tmp_path)


def test_cases_have_every_option() -> None:
    made = list(cases(500, ["<x>"]))
    assert made == list(cases(500, ["<x>"]))
    for field in Case._fields:
        assert len({getattr(case, field) for case in made}) > 1, field
    assert any("<x>" in case.text for case in made)
