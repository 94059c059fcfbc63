"""Functions of the package are the methods; their options are those of what they are made of."""

from __future__ import annotations

import inspect
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tokctl
from tests.errors import raises_code
from tokctl import ParityOptions, Texts, TokctlError, Tokenizer, TrainOptions, count_tokens
from tokctl.sources import ReadOptions
from tokctl.tokenizer.token_counts import CountOptions
from tokctl.training import TextStats


@pytest.mark.parametrize("name", ["load", "train"])
def test_the_function_is_the_method(name: str) -> None:
    function, method = getattr(tokctl, name), getattr(Tokenizer, name)
    assert function == method
    assert inspect.signature(function) == inspect.signature(method)


def keywords(function: Any) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    assert all(one.annotation is not one.empty for one in parameters.values())
    kinds = {one.kind for one in parameters.values()}
    assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    return {k: one for k, one in parameters.items() if one.kind is one.KEYWORD_ONLY}


def test_train_takes_every_option_of_a_training() -> None:
    words = {"low": 5, "lower": 2, "x": 1}
    options = TrainOptions(vocab_size=258, min_count=2)
    expected = Tokenizer.train(words, vocab_size=258, min_count=2)
    assert Tokenizer.train(words, options) == Tokenizer.train(words, options=options) == expected
    # An option that is given by name comes first.
    assert Tokenizer.train(words, options, vocab_size=257).vocab_size == 257
    for field in fields(TrainOptions):
        given = {field.name: getattr(options, field.name)}
        assert Tokenizer.train(words, **given).recipe == expected.recipe
    for wrong in (300, {"vocab_size": 300}, expected.recipe):
        with raises_code("bad-value", r"invalid value .* for the options"):
            Tokenizer.train(words, wrong)  # type: ignore[arg-type]


def test_sources_are_told_apart_by_their_type(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low low lower")
    texts = [path, [path], [str(path)], Texts(["low low lower"]), [Texts([b"low low lower"])]]
    first, *others = (Tokenizer.train(one, vocab_size=260).merges for one in texts)
    assert all(other == first for other in others)
    by_language = {"a": path, "b": [Texts(["low"]), path]}
    parity = Tokenizer.train(by_language, vocab_size=260).model.parity
    assert parity is not None and parity.languages == ("a", "b")
    options: list[tuple[Any, dict[str, Any], str]] = [
        ({"low": 5}, {"reading": ReadOptions()}, "reading is for texts or texts by language"),
        ({"low": 5}, {"engine": object()}, "engine is for texts, and the sources are counts"),
        ({"low": 5}, {"parity": ParityOptions()}, "parity is for texts by language"),
        (path, {"read": TextStats(1, 1, "")}, "read is for counts, and the sources are texts"),
        ({"low": 5, "lower": path}, {}, "can't have the count"),
        ({"a": path, "b": 5}, {}, "invalid value 5 for the sources"),
        ([5], {}, "invalid value 5 for the sources"),
        (b"low low", {}, "invalid value b'low low' for the sources"),
        ({}, {}, "there is nothing to train on"),
        (Texts([]), {}, "there is nothing to train on"),
    ]
    for sources, given, message in options:
        with pytest.raises(TokctlError, match=message) as caught:
            Tokenizer.train(sources, **given)
        assert caught.value.hint


def test_count_tokens_takes_every_option_of_a_count() -> None:
    taken = keywords(count_tokens)
    for field in fields(CountOptions):
        assert taken[field.name].default == field.default
        assert taken[field.name].annotation == field.type
    assert set(taken) - {field.name for field in fields(CountOptions)} == {"keep_going", "progress"}


def test_methods_that_explain_are_functions_of_the_package() -> None:
    """With the tokenizer in front."""
    for name in ("explain", "token_history", "corpus_state", "token_gap"):
        method = inspect.signature(getattr(Tokenizer, name)).parameters
        function = inspect.signature(getattr(tokctl, name)).parameters
        assert list(method)[1:] == list(function)[1:]
        assert [one.default for one in method.values()][1:] == [
            one.default for one in function.values()
        ][1:]


def test_the_names_that_people_look_for() -> None:
    tokenizer = Tokenizer.train({"low": 5}, vocab_size=258)
    assert len(tokenizer) == tokenizer.vocab_size == 258
    vocabulary = tokenizer.get_vocab()
    assert vocabulary == {token: id_ for id_, token in enumerate(tokenizer.tokens)}
    vocabulary.clear()
    assert tokenizer.token_to_id("low") == 257
    assert tokenizer.id_to_token(257) == "low"
    assert tokenizer.token_to_id("no token") is None
    assert tokenizer.id_to_token(258) is None
    assert tokenizer.id_to_token(-1) is None
    assert repr(tokenizer) == f"<Tokenizer {tokenizer.recipe.name}, 258 tokens>"


def test_one_text_or_many() -> None:
    tokenizer = Tokenizer.train({"low": 5}, vocab_size=258)
    one, many = tokenizer.encode_ids("low lo"), tokenizer.encode_ids(["low lo", b"low"])
    assert many == [one, tokenizer.encode_ids("low")]
    assert tokenizer.encode_array("low lo").tolist() == one
    ids, offsets = tokenizer.encode_array(["low lo", b"low"])
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == many
    assert [encoding.ids for encoding in tokenizer.encode_batch(["low lo", "low"])] == many
    assert tokenizer.encode_ids("low lo", truncation=2) == one[:2]
    for wrong in (None, 5, [None], [5]):
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            tokenizer.encode_ids(wrong)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            tokenizer.encode_array(wrong)  # type: ignore[call-overload]
