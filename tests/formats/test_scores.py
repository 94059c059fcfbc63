"""Scores in a `tokenizer.json`: what Hugging Face's library reads there is what we read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import orjson
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.theirs import read
from tokctl import Tokenizer, formats
from tokctl._native import texts_for_serde_json

#: Numbers of JSON, most of them with more digits than a number of 64 bits holds.
NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?\Z").filter(
    lambda text: text.strip("-0.") != ""
)
SCORES = st.floats(-1e6, 0) | st.floats(-30, 0) | st.floats(-1e-3, 0)


def document(scores: list[str], unk_id: str = "null") -> str:
    vocab = ",".join(f'["t{number}",{score}]' for number, score in enumerate(scores))
    model = f'{{"type":"Unigram","unk_id":{unk_id},"vocab":[{vocab}],"byte_fallback":false}}'
    return f'{{"version":"1.0","added_tokens":[],"model":{model}}}'


def theirs(text: str) -> list[float]:
    made = json.loads(hf.Tokenizer.from_str(text).to_str())
    return [score for _, score in made["model"]["vocab"]]


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.booleans())
def test_what_their_parser_reads(scores: list[str], by_python: bool) -> None:
    text = document(scores)
    if by_python:  # a name that comes twice is left to Python's parser
        text = text.replace('"unk_id":null', '"unk_id":null,"vocab":[]', 1)
        model = formats.parse(text.encode(), "theirs.json")
        text = document(scores)
    else:
        model = formats.parse(text.encode(), "theirs.json")
    assert model.scores == theirs(text)


def test_the_parsers_do_differ() -> None:
    text = "-12.345678901234567"
    misread = [text[:-1] + digit for digit in "0123456789"]
    assert theirs(document(misread)) != list(map(float, misread))


@given(st.lists(SCORES, min_size=1, max_size=20))
def test_what_we_write_is_read_alike(numbers: list[float]) -> None:
    given = document(["0", *map(repr, numbers)], "0")
    model = formats.parse(given.encode(), "theirs.json")
    scores = model.scores
    assert scores == theirs(given)
    unreadable = sum(texts_for_serde_json([score])[1] for score in scores)
    said = [loss.what for loss in formats.losses(model, "huggingface") if "bit" in loss.what]
    assert len(said) == (unreadable > 0)
    for form in ("tokctl", "huggingface"):
        text = formats.write(model, form)[""].decode()
        assert [score for _, score in orjson.loads(text)["model"]["vocab"]] == scores
        ours, there = formats.parse(text.encode(), "x.json").scores, theirs(text)
        assert ours == (scores if form == "tokctl" else there)
        for found, score in zip(there, scores, strict=True):
            # Two of a thousand numbers have no text that both read.
            assert found == score or texts_for_serde_json([score])[1]
            assert abs(found - score) <= math.ulp(score)


def test_a_trained_model_has_the_same_scores_there(tmp_path: Path) -> None:
    words = [f"{left}{right}" for left in "abcdefgh" for right in ("low", "er", "est", "ing")]
    text = " ".join(word for place, word in enumerate(words) for _ in range(1 + place % 7))
    book, path = tmp_path / "book.txt", tmp_path / "m.json"
    book.write_text(text)
    trained = Tokenizer.train([str(book)], vocab_size=60, algorithm="unigram")
    trained.save(path)
    scores = theirs(path.read_text())
    assert scores == trained.model.scores == Tokenizer.load(path).model.scores
    assert all(map(math.isfinite, scores))
    assert read(hf.Tokenizer.from_file(str(path))).scores == scores


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(-30, 5), min_size=1),
    st.lists(st.floats(-150, 5), min_size=1, max_size=3),
    st.booleans(),
    st.text("abcd", max_size=12),
)
def test_every_token_says_what_an_unknown_character_costs(
    pieces: dict[str, float], special: list[float], behind: bool, text: str
) -> None:
    """Also special ones, as Pegasus's `<unk_2>` of -100; but none that is behind the vocabulary."""
    named = {f"<{number}>": score for number, score in enumerate(special)}
    made = hf.Tokenizer(hf.models.Unigram([*named.items(), *pieces.items()], 0))
    made.add_special_tokens([*named, *(["<behind>"] if behind else [])])
    ours = Tokenizer(formats.parse(made.to_str().encode(), "theirs.json"))
    assert ours.encode_ids(text) == made.encode(text).ids
    copy = Tokenizer(formats.parse(formats.serialize(ours.model), "ours.json"))
    assert copy.encode_ids(text) == made.encode(text).ids
    again = hf.Tokenizer.from_str(formats.write(ours.model, "huggingface")[""].decode())
    if not any("bit" in loss.what for loss in formats.losses(ours.model, "huggingface")):
        assert again.encode(text).ids == made.encode(text).ids


def test_the_lowest_score_decides() -> None:
    """`ab` and `cd`, or `abc` and an unknown `d`, which costs 210 or 510."""
    pieces = {"abc": -1.0, "ab": -200.0, "cd": -200.0}
    for special, expected in ((0.0, ["abc", "<unk>"]), (-500.0, ["ab", "cd"])):
        vocabulary = [("<unk>", special), *pieces.items()]
        made = hf.Tokenizer(hf.models.Unigram(vocabulary, 0))
        made.add_special_tokens(["<unk>"])
        ours = Tokenizer(formats.parse(made.to_str().encode(), "theirs.json"))
        assert ours.encode("abcd").tokens == expected
        assert ours.encode_ids("abcd") == made.encode("abcd").ids


def test_a_special_token_keeps_its_score_below_others() -> None:
    """What stands after the vocabulary gets the highest score there is: so it stands in it."""
    for highest in ("-1", "0", "2.5"):
        text = document(["0", "-3", highest, "0"], "0")
        token = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        listed = json.dumps([{"id": 3, "content": "t3", **token, "special": True}])
        text = text.replace('"added_tokens":[]', f'"added_tokens":{listed}')
        model = formats.parse(text.encode(), "theirs.json")
        assert model.scores == [0, -3, float(highest), 0]
        assert formats.parse(formats.serialize(model), "again") == model
