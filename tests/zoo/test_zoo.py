"""The list of published tokenizers, what was measured of them, and what docs/formats.md says.

The comparison itself is no part of the tests: `python -m tests.tools.zoo --files DIR`.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.tools.zoo import __main__ as zoo
from tests.tools.zoo import listed, table
from tests.tools.zoo.cases import Case, cases, damaged_lists
from tests.tools.zoo.listed import Listed
from tests.tools.zoo.peers import opened
from tests.tools.zoo.worker import compare
from tokctl import Tokenizer


def test_form_of_the_list() -> None:
    entries = listed.read()
    assert len(entries) >= 300
    assert len({entry.family for entry in entries}) >= 100
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
    assert len(measured) >= 300
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


def test_damaged_lists_have_every_kind() -> None:
    """Random, shuffled, truncated and doubled ids, fragments, and special ids in the middle."""
    text, fragments, special = [10, 11, 12, 13], [200, 201], [0, 1]
    made = list(damaged_lists(800, [[], text], 256, fragments, special))
    assert made == list(damaged_lists(800, [[], text], 256, fragments, special))
    assert all(0 <= id_ < 256 for ids in made for id_ in ids)
    kinds: dict[str, Callable[[list[int]], object]] = {
        "random": lambda ids: set(ids) - {*text, *fragments, *special},
        "shuffled": lambda ids: sorted(ids) == text != ids,
        "truncated": lambda ids: ids == [11, 12],
        "doubled": lambda ids: ids in ([*text, *text], [10, 10, 11, 11, 12, 12, 13, 13]),
        "fragments": lambda ids: ids[:1] == [10] and {200, 201} & set(ids[1:-1]),
        "special": lambda ids: {0, 1} & set(ids[1:-1]) and set(ids) <= {*text, *special},
    }
    for kind, shows in kinds.items():
        assert any(map(shows, made)), kind
    # A vocabulary may have neither fragments nor special tokens.
    assert all(list(damaged_lists(80, [text], 20, [], [])))


def test_a_difference_of_damaged_lists_is_found(
    zoo_of_one: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id list that no text gives, decoded otherwise here: counted, with the fewest ids."""
    path = tmp_path / zoo_of_one.place
    assert compare(zoo_of_one, path, 0, 200)["differences"] == {}
    decode = Tokenizer.decode

    def other(self: Tokenizer, ids: list[int], **options: Any) -> str:
        return decode(self, ids, **options) + "!" * ([1, 1] in map(list, pairwise(ids)))

    monkeypatch.setattr(Tokenizer, "decode", other)
    found = compare(zoo_of_one, path, 0, 200)
    assert found["lists"] == 200
    assert found["differences"] == {"damaged ids": found["differences"]["damaged ids"]}
    assert found["examples"]["damaged ids"] == ["[1, 1]", "'b b!'", "'b b'"]


def test_control_ids_have_no_text_in_sentencepiece(tmp_path: Path) -> None:
    """Decoding names control pieces, which that library leaves out: the rest is compared."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b ab ba aab"]), model_writer=model, vocab_size=7,
        hard_vocab_limit=False, model_type="char", minloglevel=2,
    )  # fmt: skip
    path = tmp_path / "m.model"
    path.write_bytes(model.getvalue())
    entry = Listed("ours", "sentencepiece", "some/one", "0" * 40, "m.model", "0" * 64)
    peer = opened(entry, path)
    assert list(peer.decodings([1, 4, 2, 5])) == []
    assert compare(entry, path, 0, 200)["differences"] == {}


@pytest.mark.slow
def test_rows_that_are_not_measured_stay(
    zoo_of_one: Listed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with --only writes its own rows, and drops those of files that are listed no more."""
    other = zoo_of_one._replace(path="other.json", sha256="1" * 64)
    gone = zoo_of_one._replace(path="gone.json", sha256="2" * 64)
    monkeypatch.setattr(table, "listed", lambda: [zoo_of_one, other])
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results.tsv")
    monkeypatch.setattr(table, "PAGE", tmp_path / "page.md")
    table.PAGE.write_text(f"before\n{table.BEGIN}{table.END}after\n")
    table.RESULTS.write_text("\t".join(table.Row._fields) + "\n")
    found = {"loads": True, "strings": 20, "lists": 10}
    old, gone_row, new = (table.row(entry, found) for entry in (other, gone, zoo_of_one))
    lines = ["\t".join(row) for row in (table.Row._fields, old, gone_row)]
    table.RESULTS.write_text("\n".join(lines) + "\n")
    table.write([new])
    assert table.read() == sorted([old, new])
    assert "| ours | tokenizer.json | 2 | 2 | 40 | 20 | 0 |  |" in table.PAGE.read_text()
