"""ListedTexts of many documents in compare, inspect and convert --verify: what is made of them is
what is made of as many files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Result, error, tokctl
from tests.many import archive, files, records
from tests.metrics.models import TEXT, model
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.world import Console
from tokctl.sources import Source

DOCUMENTS = [*(word.encode() for word in TEXT.split()), b"lo", b"w\r", b"\nnew", b"", b"est low"]
COUNTS = [n % 3 for n in range(len(DOCUMENTS))]
REPEATED = [one for one, n in zip(DOCUMENTS, COUNTS, strict=True) for _ in range(n)]
#: What stands there by these names.
MADE: dict[str, list[Source]] = {
    "folder": [*files(DOCUMENTS)],
    "many.jsonl": [records(DOCUMENTS)],
    "many.tar": [archive(DOCUMENTS)],
    "repeated": [*files(REPEATED)],
    "many.tsv": [records(DOCUMENTS, COUNTS, name="many.tsv")],
    "broken": [records([b"low", b"\xc3", b"\xa9"], name="broken.parquet", unit="row")],
    "empty": [],
}


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opens names as the sources of `MADE`; a list names what it is called. Two models."""

    def named(paths: Sequence[str | Path], *_: object, **__: object) -> list[Source]:
        return [source for path in paths for source in MADE[str(path)]]

    def opened(self: ListedTexts, world: Console, given: Sequence[str] | None) -> list[Source]:
        del world
        return named([*(given or []), *([self.files_from] if self.files_from else [])])

    monkeypatch.setattr(ListedTexts, "open", opened)
    monkeypatch.setattr("tokctl.sources.open_sources", named)
    monkeypatch.setenv("COLUMNS", "100")
    model("bpe").save("b.json")
    model("wordpiece").save("w.json")


def _done(*arguments: str) -> bytes:
    code, out, err = tokctl(*arguments, stdin=b"")
    assert (code, err) == (0, "")
    return out


def _compared(*arguments: str) -> dict[str, Any]:
    found = json.loads(
        _done("compare", "-m", "b.json", "-m", "w.json", "--word", "low", "--json", *arguments)
    )
    for one in found["models"]:
        del one["texts"]
    # They are picked text by text.
    del found["sentences"], found["provenance"]
    return found  # type: ignore[no-any-return]


def test_compare() -> None:
    expected = _compared("folder", "--intervals")
    assert [text["documents"] for text in expected.pop("texts")] == [1] * len(DOCUMENTS)
    for name in ("many.jsonl", "many.tar"):
        found = _compared(name, "--intervals", "--threads", "2")
        (text,) = found.pop("texts")
        assert (text["name"], text["documents"]) == (name, len(DOCUMENTS))
        assert text["bytes"] == sum(map(len, DOCUMENTS))
        assert found == expected
        listed = _compared("--files-from", name, "--intervals")
        assert listed.pop("texts") == [text]
        assert listed == found
    expected, found = _compared("repeated"), _compared("many.tsv")
    assert expected.pop("texts") != found.pop("texts")
    assert found == expected


def test_compare_says_how_many_documents() -> None:
    out = _done("compare", "-m", "b.json", "many.jsonl").decode()
    assert out.startswith(f"many.jsonl: {len(DOCUMENTS)} documents, ")
    assert "documents" not in _done("compare", "-m", "b.json", "folder").decode().splitlines()[0]


def test_many_texts_are_not_all_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        MADE, "hundred", [*files([b"low lower"] * 99), *files(["東京".encode()] * 20)]
    )
    out = _done("compare", "-m", "b.json", "hundred").decode()
    section = out.partition("Bytes per token, by text\n")[2].partition("\n\n")[0].splitlines()
    assert section[1].split() == ["0.txt", "3.000"]
    assert section[-2].startswith("39.txt ")
    assert section[-1].split() == ["79", "more:", "see", "--json"]
    assert len(json.loads(_done("compare", "-m", "b.json", "--json", "hundred"))["texts"]) == 119


def test_compare_trains_on_them() -> None:
    how = ("compare", "--algo", "wordpiece", "--vocab", "40", "--json", "--word", "lowest")
    how += ("--held-out", "0")
    found = []
    for name in ("folder", "many.jsonl", "many.tar"):
        code, out, err = tokctl(*how, name, stdin=b"")
        assert code == 0
        assert "training wordpiece with 40 ids on " in err
        found.append(json.loads(out)["words"])
    assert found[0] == found[1] == found[2]


def test_a_language_is_all_that_its_path_names() -> None:
    found = _compared("--lang", "en=folder", "--lang", "fi=many.jsonl", "--lang", "sv=many.tar")
    assert [text["name"] for text in found["texts"]] == ["en", "fi", "sv"]
    assert {text["documents"] for text in found["texts"]} == {len(DOCUMENTS)}
    languages = found["languages"]["languages"]
    assert languages[0]["models"] == languages[1]["models"] == languages[2]["models"]


@pytest.mark.parametrize(
    "question",
    [
        ["--use"],
        ["--gap"],
        ["--state", "3"],
        ["--pairs", "3"],
        ["--token", "low"],
        ["--use", "--json"],
    ],
    ids=" ".join,
)
def test_inspect(question: list[str]) -> None:
    expected = _done("inspect", "w.json", *question, "folder")
    assert expected
    for name in ("many.jsonl", "many.tar"):
        assert _done("inspect", "w.json", *question, name) == expected
        assert _done("inspect", "w.json", *question, "--files-from", name) == expected
        assert _done("inspect", "-m", "w.json", *question, "--files-from", name) == expected
    expected = _done("inspect", "w.json", *question, "repeated")
    assert _done("inspect", "w.json", *question, "many.tsv") == expected


def test_inspect_with_a_model_of_the_environment() -> None:
    expected = _done("inspect", "w.json", "--use", "folder")
    how: dict[str, Any] = {"stdin": b"", "environ": {"TOKCTL_MODEL": "w.json"}}
    assert tokctl("inspect", "--use", "--files-from", "folder", **how).out == expected
    # With a list the one argument is the model, and no guess.
    assert tokctl("inspect", "w.json", "--use", "--files-from", "folder", **how).out == expected
    found = tokctl("inspect", "w.json", "--use", **how)
    assert found.err.startswith("error: can't tell whether 'w.json' is the model or the text")


def test_inspect_check() -> None:
    def checked(*texts: str) -> dict[str, Any]:
        return json.loads(_done("inspect", "b.json", "--check", "--json", *texts))  # type: ignore[no-any-return]

    expected = checked("folder")
    expected["texts"].pop("names")
    for name in ("many.jsonl", "many.tar"):
        for found in (checked(name), checked("--files-from", name)):
            assert found["texts"].pop("names") == [name]
            assert found == expected
    expected, found = checked("repeated"), checked("many.tsv")
    assert expected["texts"].pop("names") != found["texts"].pop("names")
    assert found == expected


def test_a_chart_of_a_model_on_them() -> None:
    pytest.importorskip("altair", reason="the extra report is not installed")
    charts = []
    for name in ("folder", "many.jsonl", "many.tar"):
        _done("inspect", "w.json", "--plot", f"{name}.json", "--chart", "frequencies", name)
        charts.append(Path(f"{name}.json").read_bytes())
    assert charts[0] == charts[1] == charts[2]


def test_convert_verify() -> None:
    pytest.importorskip("tokenizers", reason="there is no library to compare with")
    how = ("convert", "b.json", "--to", "huggingface", "--json", "-o")
    for number, texts in enumerate((["--verify", "many.jsonl"], ["--files-from", "many.tar"])):
        code, out, _ = tokctl(*how, f"{number}.json", *texts, stdin=b"")
        assert code == 0
        verified = json.loads(out)["verified"]
        assert verified["same"] is True
        # Documents are compared one by one, lines of files line by line.
        assert verified["lines"] >= len(DOCUMENTS) - 2
    code, _, err = tokctl(*how, "b2.json", "--verify", "broken", stdin=b"")
    assert code == 2
    assert err.endswith(error("broken.parquet: row 2 is not UTF-8", "verify with a text in UTF-8"))
    assert not Path("b2.json").exists()


def test_text_that_is_not_utf8() -> None:
    message = "broken.parquet: row 2: line 1, byte 0 is not UTF-8, and this model reads characters"
    commands = [
        ("compare", "-m", "w.json"),
        ("inspect", "w.json", "--use"),
        ("inspect", "w.json", "--check"),
        ("inspect", "w.json", "--state", "1"),
    ]
    for command in commands:
        found = tokctl(*command, "broken", stdin=b"")
        assert (found.code, found.out) == (2, b"")
        assert found.err.startswith(f"error: {message}\nhint: use --errors replace")
        assert tokctl(*command, "broken", "--errors", "replace", stdin=b"").code == 0


def _refused(*arguments: str) -> str:
    found: Result = tokctl(*arguments, stdin=b"")
    assert (found.code, found.out) == (2, b"")
    return found.err


def test_options_without_a_text() -> None:
    err = _refused("inspect", "w.json", "--merges", "1", "--format", "jsonl")
    assert err.startswith(
        "error: --format says how texts are read, and there is none\nhint: texts go"
    )
    err = _refused("inspect", "w.json", "--token", "low", "--text-field", "x")
    assert err.startswith("error: --text-field says how texts are read, and there is none")
    err = _refused("inspect", "w.json", "--use", "folder", "--word-counts", "--include", "*.md")
    assert err.startswith("error: --word-counts needs --state, --pairs or --watch")
    err = _refused(
        "inspect", "w.json", "--state", "1", "folder", "--word-counts", "--include", "*.md"
    )
    assert err.startswith("error: --include says how texts are read")
    err = _refused("convert", "w.json", "--format", "tiktoken")
    assert err.endswith("hint: name one with --verify TEXT; the format of the new model is --to\n")
    err = _refused("compare", "-m", "w.json", "--format", "jsonl")
    assert err.startswith("error: --format says how texts are read, and there is none")
    err = _refused("compare", "-m", "w.json", "empty")
    assert err.startswith("error: no text was found in what you named")
    err = _refused("compare", "-m", "w.json", "-", "--lang", "en=-")
    assert err == error("stdin (-) is named twice", "it can be read only once")
