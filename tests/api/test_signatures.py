"""Functions of the package are the methods; their options are those of what they are made of."""

from __future__ import annotations

import inspect
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest

import tokctl
from tokctl import Tokenizer, count_tokens
from tokctl.tokenizer.token_counts import CountOptions
from tokctl.training import TrainOptions


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
    taken = keywords(Tokenizer.train)
    others = {"algorithm", "recipe", "special_tokens", "reading", "progress", "timing", "engine"}
    assert set(taken) - others == {field.name for field in fields(TrainOptions)}
    defaults = {
        field.name: getattr(TrainOptions(vocab_size=1), field.name)
        for field in fields(TrainOptions)
    }
    for name in set(taken) - others - {"vocab_size"}:
        assert (taken[name].default or None) == (defaults[name] or None), name
    of_counts = keywords(Tokenizer.train_on_counts)
    of_texts = {"weights", "sample", "seed", "memory", "temporary", "reading", "progress", "timing"}
    assert set(taken) - set(of_counts) == of_texts | {"engine"}
    del of_counts["read"]  # what was read elsewhere
    assert all(of_counts[name] == taken[name] for name in of_counts)
    of_iterable = keywords(Tokenizer.train_from_iterator)
    assert set(taken) - set(of_iterable) == {"weights", "reading", "engine"}
    assert all(of_iterable[name] == taken[name] for name in of_iterable)


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
    tokenizer = Tokenizer.train_on_counts({"low": 5}, vocab_size=258)
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
    tokenizer = Tokenizer.train_on_counts({"low": 5}, vocab_size=258)
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
