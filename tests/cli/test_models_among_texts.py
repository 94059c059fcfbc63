"""Models that stand where texts do: taken for models, or refused; none is trained on in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import Result, names, tokctl
from tests.metrics.models import TEXT, model
from tokctl import formats


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """Two models, and a text."""
    (folder / "low.txt").write_text(TEXT)
    model("bpe").save("b.json")
    model("wordpiece").save("w.json")


def test_compare_takes_models_where_they_stand() -> None:
    expected = json.loads(
        tokctl("compare", "-m", "b.json", "-m", "w.json", "low.txt", "--json").out
    )
    found = json.loads(tokctl("compare", "b.json", "low.txt", "w.json", "--json").out)
    for one in (expected, found):
        del one["provenance"]
    assert found == expected
    # Without a text, as with -m.
    ran = tokctl("compare", "b.json", "--json")
    assert ran.err.startswith("no text was given: using the bundled sample")
    assert json.loads(ran.out)["training"] is None


def test_compare_does_not_guess() -> None:
    ran = tokctl("compare", "-m", "b.json", "w.json", "low.txt")
    assert ran == Result(
        2,
        b"",
        "error: w.json is a model, but was given as a text\n"
        "hint: tokctl compare -m b.json -m w.json … compares them; --format text reads it "
        "as text\n",
    )
    as_text = json.loads(
        tokctl("compare", "-m", "b.json", "--format", "text", "w.json", "--json").out
    )
    assert [text["name"] for text in as_text["texts"]] == ["w.json"]
    ran = tokctl("compare", "b.json", "low.txt", "--vocab", "300")
    assert ran.code == 2 and "--vocab" in ran.err


@pytest.mark.parametrize("path", ["b.json", "inside", "inside/*.json"])
def test_train_refuses_a_model(path: str) -> None:
    Path("inside").mkdir()
    Path("inside/text.txt").write_text(TEXT)
    model("bpe").save("inside/b.json")
    before = names(Path())
    ran = tokctl("train", "--vocab", "270", path, "low.txt")
    assert ran.code == 2 and names(Path()) == before
    name = path if path == "b.json" else "inside/b.json"
    assert ran.err == (
        f"error: {name} is a model (tokctl model file), and training is on text\n"
        f"hint: to continue training it: tokctl train --extend {name} TEXT; "
        f"to train on the file as text: tokctl train --format text {name}\n"
    )
    assert tokctl("train", "-q", "--vocab", "270", "--format", "text", "b.json").code == 0


def test_encode_and_decode_take_a_model_first() -> None:
    ids = tokctl("encode", "-m", "b.json", "low.txt")
    assert tokctl("encode", "b.json", "low.txt") == ids
    Path("ids").write_bytes(ids.out)
    assert tokctl("decode", "b.json", "ids") == tokctl("decode", "-m", "b.json", "ids")
    assert tokctl("encode", "b.json", stdin=TEXT.encode()) == ids
    counted = tokctl("encode", "--count", "-m", "b.json", "-m", "w.json", "low.txt")
    assert tokctl("encode", "--count", "b.json", "w.json", "low.txt") == counted
    # With -m or --format a model is a text like any other.
    text = tokctl("encode", "-m", "w.json", "b.json")
    assert text.code == 0
    environ = {"TOKCTL_MODEL": "w.json"}
    assert tokctl("encode", "--format", "text", "b.json", environ=environ) == text
    of_text = tokctl("encode", "-m", "w.json", "low.txt")
    assert tokctl("encode", "low.txt", environ=environ) == of_text
    ran = tokctl("encode", "b.json", "low.txt", environ=environ)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err == (
        "error: b.json is a model, and $TOKCTL_MODEL names w.json\n"
        "hint: tokctl encode -m b.json … takes this one; tokctl encode -m w.json b.json reads it "
        "as text\n"
    )


def test_several_models_are_for_counting() -> None:
    assert tokctl("encode", "b.json", "w.json", "low.txt").code == 2
    ran = tokctl("decode", "b.json", "w.json")
    assert ran.err.startswith("error: b.json and w.json are models, but ids belong to one model\n")


TEXTS = {
    "book.txt": "Once upon a time.\n",
    "lines.jsonl": '{"text": "a"}\n{"text": "b"}\n',
    "one.json": '{"text": "a", "model": "none"}\n',
    "list.json": '[{"model": {}}]\n',
    "words.tsv": "low\t5\nlower\t2\n",
    "scores.tsv": "low\t-1.5\nlower\t-2.5\n",
    "braces.txt": "{ is a brace",
    "empty.txt": "",
    "code.py": "x = {'model': 1}\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_texts(name: str) -> None:
    Path(name).write_text(TEXTS[name])
    assert formats.format_of(name) is None
    assert tokctl("train", "-q", "--vocab", "300", name).err.find("is a model") < 0


def test_what_is_recognized() -> None:
    for kind, name in (
        ("tokctl", "again.json"),
        ("huggingface", "hf.json"),
        ("huggingface-folder", "folder"),
        ("tiktoken", "ranks.tiktoken"),
    ):
        ran = tokctl("convert", "-q", "b.json", "--to", kind, "-o", name)
        assert ran.code == 0, ran.err
        found = formats.format_of(name)
        assert found is not None and found.name == kind
    assert formats.format_of("low.txt") is formats.format_of("nothing") is None
    assert formats.format_of(".") is None
