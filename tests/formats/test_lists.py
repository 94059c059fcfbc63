"""The long lists of a `tokenizer.json`: scanned by the core they give the same model as made of
Python's, and every file that is wrong in any way is told so in the same words."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.models import RECIPES, filled, with_added
from tests.formats.test_damaged import ODD, places, stripped
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import ModelInput
from tokctl.model import Model

OURS = {name: formats.serialize(filled(recipe)) for name, recipe in RECIPES.items()}
for _name in ("gpt2", "bert", "unigram that they load", "word", "chars"):
    OURS[f"{_name}, added tokens"] = formats.serialize(with_added(RECIPES[_name]))
THEIRS = {
    f"their {name}": stripped(data)
    for name, data in OURS.items()
    if json.loads(data)["version"] == "1.0"
}
FILES = {**OURS, **THEIRS}
LISTS = ("tokens", "merges", "scores", "counts")


def parsed(data: bytes, *, scanned: bool) -> Model | str:
    """The model, or the error."""
    with pytest.MonkeyPatch.context() as patch:
        if not scanned:
            patch.setattr(ModelInput, "_parsed", property(lambda source: (source.document, None)))
        try:
            return formats.parse(data, "x")
        except TokctlError as error:
            return str(error)


def both(data: bytes) -> None:
    """The same model, or the same error, either way."""
    short, long = parsed(data, scanned=True), parsed(data, scanned=False)
    assert short == long
    if isinstance(short, Model):
        assert isinstance(long, Model)
        assert short.reserved_ids == long.reserved_ids
        assert short.size == long.size
        assert short.highest_merged == long.highest_merged
        assert formats.serialize(short) == formats.serialize(long)


@pytest.mark.parametrize("name", FILES)
def test_the_same_model(name: str) -> None:
    both(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_the_same_ids_and_texts_without_the_lists(name: str) -> None:
    short, long = (parsed(FILES[name], scanned=scanned) for scanned in (True, False))
    assert isinstance(short, Model) and isinstance(long, Model)
    one, two = Tokenizer(short), Tokenizer(long)
    text = "abc ab ba <pad> ▁a\u00e9 b\n"
    ids = one.encoder.ids(text.encode(), one.special_matcher("all"))
    assert ids == two.encoder.ids(text.encode(), two.special_matcher("all"))
    every = range(one.vocab_size)
    assert one.decode_bytes(every) == two.decode_bytes(every)
    assert one.decode_bytes(every, skip_special=True) == two.decode_bytes(every, skip_special=True)


def test_these_files_are_scanned() -> None:
    assert {
        name for name, data in FILES.items() if ModelInput("x", data=data).lists is None
    } == set()


def test_lists_are_made_when_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(OURS["gpt2"])
    tokenizer = Tokenizer.load(path)
    ids = tokenizer.encode_ids("abc ab")
    assert tokenizer.decode(ids) == "abc ab"
    assert not {*LISTS} & tokenizer.model.__dict__.keys()
    assert tokenizer.model == filled(RECIPES["gpt2"])
    assert {*LISTS} <= tokenizer.model.__dict__.keys()
    assert tokenizer.model.tokens is tokenizer.model.tokens
    with pytest.raises(AttributeError, match="nothing_of_the_sort"):
        _ = tokenizer.model.nothing_of_the_sort  # type: ignore[attr-defined]


def test_copies_hold_the_lists() -> None:
    model = parsed(OURS["unigram"], scanned=True)
    assert isinstance(model, Model) and model.core is not None
    for made in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert made == model
        assert made.core is None


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_wrong_values(data: st.DataObject, name: str) -> None:
    document = json.loads(FILES[name])
    path = data.draw(st.sampled_from(places(document)))
    inner = at(document, path[:-1])
    if data.draw(st.booleans()) and isinstance(inner, dict):
        del inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(st.sampled_from([*ODD, "\u0120", ["a", "b"], {"a": 0}]))
    both(json.dumps(document, ensure_ascii=data.draw(st.booleans())).encode())


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_wrong_bytes(data: st.DataObject, name: str) -> None:
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255) | st.sampled_from(b'"\\[]{},:019eu '))
    both(bytes(content))


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_pieces_left_out_and_twice(data: st.DataObject, name: str) -> None:
    content = FILES[name]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 40)))
    copies = data.draw(st.sampled_from([0, 2]))
    both(content[:start] + content[start:end] * copies + content[end:])


def edited(name: str, path: str, value: Any) -> bytes:
    document = json.loads(FILES[name])
    *parents, last = path.split(".")
    at(document, tuple(parents))[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("gpt2", "model.tokctl.counts", [2**64 - 1, 0]),
        ("gpt2", "model.tokctl.counts", [2**64, 0]),
        ("gpt2", "model.tokctl.counts", [1.0, 2.0]),
        ("gpt2", "model.tokctl.merges", []),
        ("gpt2", "model.tokctl.scores", []),
        ("gpt2", "model.tokctl.token_counts", [1]),
        ("gpt2", "model.merges", [["a", "b"]] * 2),
        ("gpt2", "model.merges", ["a b"] * 2),
        ("gpt2", "model.merges", ["ab", "ab"]),
        ("their gpt2", "model.merges", ["a b", "a b"]),
        ("their gpt2", "model.merges", ["#version: 1", "a b"]),
        ("their gpt2", "model.merges", ["a b", ["a", "b"]]),
        ("their gpt2", "model.continuing_subword_prefix", "a"),
        ("their gpt2", "model.continuing_subword_prefix", 0),
        ("their gpt2", "model.type", None),
        ("their word", "model.merges", [["a", "b"]]),
        ("their unigram that they load", "model.unk_id", 1000),
        ("their unigram that they load", "model.vocab", [["a", -1], ["a", -2]]),
        ("their unigram that they load", "model.vocab", [["a", 10**400], ["b", -2]]),
        ("unigram that they load", "model.tokctl.scores", [1.0]),
    ],
)
def test_chosen_edits(name: str, path: str, value: Any) -> None:
    both(edited(name, path, value))


def test_names_that_are_there_twice() -> None:
    text = OURS["gpt2"].decode()
    for name in ("model", "vocab", "merges", "tokctl", "counts", "recipe"):
        both(text.replace(f'"{name}":', f'"{name}":1,"{name}":', 1).encode())
        both(text.replace(f'"{name}":', f'"{name}":[],"{name}":', 1).encode())
        both(text.replace(f'"{name}":', f'"\\u00{ord(name[0]):02x}{name[1:]}":', 1).encode())
