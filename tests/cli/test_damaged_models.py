"""A model file that is cut off or has wrong bytes is an error, or still a model: never a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.run import Result, process, tokctl
from tests.errors import raises_code
from tokctl import TokctlError, Tokenizer, formats

Models = dict[str, Path]

HINT = "hint: train the model again, or copy the file again from its source\n"


def tried(data: bytes) -> list[Result]:
    """Both commands with a model file of these bytes."""
    Path("m.json").write_bytes(data)
    return [
        tokctl("encode", "-m", "m.json", stdin=b"low lower <|end|> \xc3\xa9\n"),
        tokctl("encode", "-m", "m.json", "--json", stdin=b"low lower\n"),
        tokctl("decode", "-m", "m.json", stdin=b"1 2 3 50\n"),
    ]


def check(results: list[Result]) -> None:
    for done in results:
        assert done.code in (0, 2)
        assert "should not have happened" not in done.err, done.err
        assert done.code == 0 or done.err.startswith("error: ")


@given(st.data(), st.sampled_from(["bytes", "characters", "wordpiece", "no-unknown", "regex"]))
def test_truncated_anywhere(models: Models, data: st.DataObject, name: str) -> None:
    whole = models[name].read_bytes()
    length = data.draw(st.integers(0, len(whole) - 2))
    for done in tried(whole[:length]):
        assert done.code == 2
        assert done.err.startswith(
            "error: m.json is not a model file in a supported format, or it is damaged: "
        )
        assert done.err.endswith(HINT)


@given(st.data(), st.sampled_from(["bytes", "characters", "wordpiece", "no-unknown", "regex"]))
def test_wrong_bytes(models: Models, data: st.DataObject, name: str) -> None:
    content = bytearray(models[name].read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    check(tried(bytes(content)))


@given(st.data(), st.sampled_from(["bytes", "characters", "wordpiece", "no-unknown"]))
def test_wrong_digits(models: Models, data: st.DataObject, name: str) -> None:
    """Other numbers leave the JSON whole: ids, counts, versions."""
    content = bytearray(models[name].read_bytes())
    digits = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    for place in data.draw(st.lists(st.sampled_from(digits), min_size=1, max_size=4)):
        content[place] = data.draw(st.sampled_from(b"0123456789-.e"))
    check(tried(bytes(content)))


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"{}", b'{"model": []}', b"\xff\xfe", b"{" * 100_000, b"[" * 900_000],
)
def test_other_files(data: bytes) -> None:
    for done in tried(data):
        assert done.code == 2
        assert done.err.startswith(
            "error: m.json is not a model file in a supported format, or it is damaged"
        )


def test_other_libraries_models() -> None:
    what = (
        "m.json is not a model file in a supported format, or it is damaged: "
        "the field 'vocab' is missing"
    )
    for done in tried(b'{"model": {"type": "BPE"}}'):
        assert done.err == f"error: {what}\n{HINT}"


def test_missing_models() -> None:
    missing = tokctl("encode", "-m", "nosuch.json", stdin=b"")
    assert (missing.code, missing.err) == (
        2,
        "error: can't read the model nosuch.json: No such file or directory\n"
        "hint: train one first: tokctl train book.txt\n",
    )
    folder = tokctl("encode", "-m", ".", stdin=b"")
    assert (folder.code, folder.err.splitlines()[0]) == (
        2,
        "error: the folder . holds no model",
    )


def test_the_process_has_no_traceback_either(models: Models) -> None:
    Path("m.json").write_bytes(models["bytes"].read_bytes()[:-100])
    done = process("encode", "-m", "m.json", stdin=b"low\n")
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: m.json is not a model file") and done.err.endswith(HINT)


EDITS = {
    "a count that is text": ("model.tokctl.training.bytes", "zzz"),
    "no digest": ("model.tokctl.training.sha256", None),
    "a negative number": ("model.tokctl.training.documents", -1),
    "a flag that is text": ("model.tokctl.training.exhausted", "maybe"),
    "a marker that is a number": ("model.tokctl.recipe.marker", {"kind": "none", "text": 5}),
    "a list that is null": ("model.tokctl.recipe.special_tokens", None),
    "another version": ("version", "9"),
    "no pre-tokenizer": ("pre_tokenizer", None),
    "an added token": ("added_tokens", [{"id": 300, "content": "foo"}]),
    "another model": ("model.type", "Unigram"),
    "another unknown token": ("model.unk_token", "zzz"),
    "a float for an id": ("model.vocab.!", 1.0),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_by_hand(edit: str, tmp_path: Path) -> None:
    """What other libraries read and what tokctl reads can't disagree in silence."""
    place, value = EDITS[edit]
    tokenizer = Tokenizer.train({"ab": 2}, vocab_size=257)
    document = json.loads(formats.serialize(tokenizer.model))
    *parents, last = place.split(".")
    inner = document
    for name in parents:
        inner = inner[name]
    inner[last] = value
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(document))
    with pytest.raises(
        TokctlError, match="is not a model file in a supported format, or it is damaged"
    ) as caught:
        Tokenizer.load(path)
    assert "Error" not in caught.value.message


def test_a_byte_level_model_without_a_byte(tmp_path: Path) -> None:
    document = json.loads(formats.serialize(Tokenizer.train({"ab": 2}, vocab_size=257).model))
    model = document["model"]
    tokens = [token for token in model["vocab"] if token not in ("t", "ab")]
    model["vocab"] = {token: id_ for id_, token in enumerate(tokens)}
    model["merges"] = []
    for name in ("counts", "left_counts", "right_counts"):
        model["tokctl"][name] = []
    path = tmp_path / "hole.json"
    path.write_text(json.dumps(document))
    with raises_code("damaged-model"):
        Tokenizer.load(path)


def test_a_format_of_the_future(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train({"ab": 2}, vocab_size=257)
    document = json.loads(formats.serialize(tokenizer.model))
    document["model"]["tokctl"]["format"] = 3
    path = tmp_path / "future.json"
    path.write_text(json.dumps(document))
    with raises_code("unsupported", "has format 3, and this tokctl reads 2") as caught:
        Tokenizer.load(path)
    assert caught.value.hint and "another version" in caught.value.hint
