"""`tokctl compare` of models of every recipe at once, on texts that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.comparing import Call, call
from tests.explain.every import NAMES, TEXT, model
from tokctl.analysis.comparison import name_files
from tokctl.analysis.metrics import METRICS

__all__ = ["call"]  # a fixture

TEXTS = {
    "text": TEXT,
    "empty": "",
    "special tokens": "<s>[UNK] <unk>\n<x>\n",
    "white space": "   \n\n\t\u3000\n",
    "a carriage return": "\r\n\r",
    "normalized": "\ufb01ne \u00bd \ufdfa Ωω e\u0301\n日本語 テキスト 😀 <0x41>\n",
}


def file_name(number: int, name: str) -> str:
    return f"{number}-{name.replace(' ', '-')}"


@pytest.fixture
def models(call: Call) -> list[str]:  # noqa: ARG001 (it changes the folder)
    """Every model in a file, as arguments."""
    for number, name in enumerate(NAMES):
        model(name).save(f"{file_name(number, name)}.json")
    files = sorted(path.name for path in Path().glob("[0-9]*.json"))
    return [word for file in files for word in ("-m", file)]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TEXTS)
def test_every_model_on_any_text(
    call: Call, models: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    Path("t.txt").write_text(TEXTS[name], newline="")
    shown = call(*models, "t.txt")
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 60
    assert call(*models, "t.txt", "--markdown").code == 0
    document = json.loads(call(*models, "t.txt", "--json").out)
    assert len(document["models"]) == len(NAMES)
    for found in document["models"]:
        figures = found["metrics"]
        for metric in METRICS:
            figure = figures[metric.name]
            assert figure is None or figure >= 0
            assert figure is None or metric.kind != "share" or figure <= 1
            assert (figure is None) == (metric.name in found["reasons"])
        if figures["continued_words"] is not None:
            assert figures["continued_words"] + figures["strr"] <= 1
    by_name = {found["name"]: found["metrics"] for found in document["models"]}
    for number, name in enumerate(NAMES):
        recipe = model(name).recipe
        if recipe.units == "bytes" and not recipe.normalizers:
            assert by_name[file_name(number, name)]["round_trip"] in (None, 1)


def test_every_model_shows_its_cuts(call: Call, models: list[str]) -> None:
    Path("t.txt").write_text(TEXT)
    document = json.loads(call(*models, "t.txt", "--json", "--sentence", "The \ufb01rst Ω.").out)
    (sentence,) = document["sentences"]
    by_model = {cut["model"]: cut["tokens"] for cut in sentence["segmentations"]}
    assert len(by_model) == len(NAMES)
    for number, name in enumerate(NAMES):
        assert by_model[file_name(number, name)] == model(name).encode("The \ufb01rst Ω.").tokens


def test_names_of_files() -> None:
    files = ["a/gpt2.tokenizer.json", "t5.model", "cl100k_base.tiktoken", "x.json", ".json", "odd"]
    assert list(name_files(files)) == ["gpt2", "t5", "cl100k_base", "x", ".json", "odd"]
    assert list(name_files(["x.model", "x.json"])) == ["x.model", "x.json"]


def test_unigram_beside_the_others(call: Call) -> None:
    found = call("low.txt", "--vocab", "300", "--algo", "word,char,unigram", "--json")
    assert [m["algorithm"] for m in json.loads(found.out)["models"]] == ["word", "char", "unigram"]
    notes = [line.split(": ", 2)[2] for line in found.err.splitlines()[1:]]
    assert notes == [
        "the text has no more words",
        "the text has no more characters",
        "the text gave no more pieces",
    ]
