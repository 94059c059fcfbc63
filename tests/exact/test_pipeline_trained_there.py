"""Tokenizers that Hugging Face trains, their `tokenizer.json` loaded here: ids, tokens,
offsets, type ids and decoded text are what they are there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.exact.pipeline_peers import PAIRS, assert_same, compare, loaded_here, texts
from tokctl import Tokenizer

pytest.importorskip("tokenizers")
pytest.importorskip("sentencepiece")

from tests.exact.their_tokenizers import MAKERS


@pytest.fixture(scope="module", params=MAKERS, ids=lambda name: name.replace(" ", "-"))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, Any]:
    theirs = MAKERS[request.param]()
    return loaded_here(theirs, tmp_path_factory.mktemp("theirs")), theirs


@pytest.mark.slow
def test_what_is_trained_there_is_the_same_here(pair: tuple[Tokenizer, Any]) -> None:
    """As they are, the texts: no part has to be written in other terms."""
    ours, theirs = pair
    unigram = ours.recipe.algorithm == "unigram"
    theirs.encode_special_tokens = not unigram
    compare(ours, theirs, texts(seed=1), special="all" if unigram else "none")


@pytest.mark.few(2)
def test_templates_and_special_tokens_are_the_same_here(pair: tuple[Tokenizer, Any]) -> None:
    ours, theirs = pair
    theirs.encode_special_tokens = False
    spelled = "".join(f"a {token} {token}b" for token in ours.special_ids)
    for text, second in [*PAIRS, (spelled, "c")]:
        assert_same(ours, theirs, text, None, True, "all")
        assert_same(ours, theirs, text, second, False, "all")
        assert_same(ours, theirs, text, second, True, "all")


@pytest.mark.few(7)
def test_saved_here_it_is_the_same_there(pair: tuple[Tokenizer, Any], tmp_path: Any) -> None:
    """Our file of their tokenizer, loaded by them."""
    ours, theirs = pair
    path = tmp_path / "again.json"
    ours.save(path)
    assert Tokenizer.load(path).model == ours.model
    assert ours.obstacle is None
    again = type(theirs).from_file(str(path))
    again.encode_special_tokens = theirs.encode_special_tokens = False
    for text, second in PAIRS:
        assert again.encode(text, second).ids == theirs.encode(text, second).ids
