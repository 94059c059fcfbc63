"""How numbers, code and characters are cut: by hand, and as the slow twin counts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.models import document, model
from tests.twins import suite_splits as twin
from tokctl._native import NO_ID
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.suite_metrics import SPLITS as DEFINITIONS
from tokctl.extras.suite.splits import (
    INDENTATIONS,
    NAMES,
    OPERATORS,
    STYLES,
    WAYS,
    CharacterCuts,
    WordSplit,
    character_cuts,
    code_splits,
    cut_at_borders,
    indentation_tokens,
    number_splits,
    number_way,
    spelled,
    split_word,
    sum_of_cuts,
)
from tokctl.tokenizer import Tokenizer

SHARED = Path(__file__).parents[2].parent / "shared"
#: Byte level; with an unknown token; markers at the end; digits apart; bytes to fall back to.
NAMED = ("bpe", "wordpiece", "end", "qwen", "llama2", "byte-fallback")


def trained(text: str, size: int) -> Tokenizer:
    return Tokenizer.train([document(text)], vocab_size=size, algorithm="bpe")


@pytest.mark.parametrize("name", ["wordpiece", "qwen", "byte-fallback"])
def test_numbers_are_those_of_the_twin(name: str) -> None:
    found = number_splits(model(name))
    tokens, ways, places = twin.numbers(model(name))
    assert {(d, k): share for d, own in found.tokens.items() for k, share in own.items()} == {
        key: float(share) for key, share in tokens.items()
    }
    assert {
        (d, way): share for d, own in found.ways.items() for way, share in own.items() if share
    } == {key: float(share) for key, share in ways.items()}
    assert found.places == {place: float(share) for (place, _), share in places.items()}


def test_numbers_of_a_model_that_learned_some() -> None:
    """Of `10` to `99` it has 12 and 34; of the longer ones those that begin or end with these."""
    tokenizer = trained("12 12 12 12 x34 x34 x34 x34", 300)
    assert split_word(tokenizer, "12") == WordSplit(1, frozenset(), True, True)
    assert split_word(tokenizer, "1234") == WordSplit(2, frozenset({2}), True, True)
    found = number_splits(tokenizer)
    assert found.tokens[1] == {1: 1.0}
    assert found.tokens[2] == {1: 2 / 90, 2: 88 / 90}
    assert found.ways[2]["whole"] == 2 / 90
    assert found.ways[4]["right"] == found.ways[4]["left"] == 0
    exact = twin.numbers(tokenizer)
    assert found.ways[4]["other"] == float(exact[1][4, "other"])  # type: ignore[index]
    assert found.places[1] == float(exact[2][1, 0])


@pytest.mark.parametrize(
    ("cuts", "digits", "way"),
    [
        (set(), 1, "whole"),
        (set(), 4, "whole"),
        ({1}, 2, "single"),
        ({1}, 3, "other"),
        ({1, 2}, 3, "single"),
        ({1}, 4, "right"),
        ({3}, 4, "left"),
        ({2}, 4, "other"),
        ({1, 2, 3}, 4, "single"),
        ({1, 3}, 4, "other"),
    ],
)
def test_ways(cuts: set[int], digits: int, way: str) -> None:
    split = WordSplit(len(cuts) + 1, frozenset(cuts), True, True)
    assert number_way(split, digits) == way
    assert number_way(split._replace(known=False), digits) == "unknown"
    assert way in WAYS


def test_published_vocabularies_cut_numbers_as_is_known() -> None:
    """cl100k's pattern takes three digits from the left; GPT-2 has no rule."""
    if not SHARED.exists():
        pytest.skip("the folder `shared` is not beside this checkout")
    cl100k = Tokenizer.load(SHARED / "vocab" / "cl100k_base.tiktoken")
    found = number_splits(cl100k)
    assert found.ways[4] == {way: float(way == "left") for way in WAYS}
    assert found.tokens[3] == {1: 1.0}
    assert found.places[2] == found.places[3] == 0
    assert indentation_tokens(cl100k, "space", 16) == 1
    gpt2 = Tokenizer.load(SHARED / "vocab" / "gpt2.tokenizer.json")
    assert indentation_tokens(gpt2, "space", 16) == 15
    assert max(number_splits(gpt2).ways[4].values()) < 0.6


@pytest.mark.parametrize("name", NAMED)
def test_names_are_those_of_the_twin(name: str) -> None:
    tokenizer = model(name)
    found = code_splits(tokenizer)
    for style in STYLES:
        words = [spelled(own, style) for own in NAMES]
        cut = [twin.pieces(tokenizer, word) for word in words]
        assert found.identifier_tokens[style] == sum(count for _, count, _ in cut) / len(NAMES)
        whole = sum(count == 1 and known for _, count, known in cut)
        assert found.identifier_whole[style] == whole / len(NAMES)
        borders = sum(twin.cut_at_words(parts, known) for parts, _, known in cut)
        assert found.identifier_borders[style] == borders / len(NAMES)
    one = [
        operator
        for operator in OPERATORS
        if twin.pieces(tokenizer, operator, " b")[1:] == (1, True)
    ]
    assert set(found.cut_operators) >= set(OPERATORS) - set(one)
    assert found.operators == 1 - len(found.cut_operators) / len(OPERATORS)


@pytest.mark.parametrize(
    ("name", "style", "cuts", "exact"),
    [
        (("line", "number"), "snake_case", {4}, True),  # line|_number
        (("line", "number"), "snake_case", {5}, True),  # line_|number
        (("line", "number"), "snake_case", {4, 5}, True),  # line|_|number
        (("line", "number"), "snake_case", {4, 6}, False),
        (("line", "number"), "snake_case", set(), False),
        (("line", "number"), "camelCase", {4}, True),
        (("line", "number"), "camelCase", {5}, False),
        (("get", "user", "name"), "camelCase", {3, 7}, True),
        (("get", "user", "name"), "camelCase", {3}, False),
        (("get", "user", "name"), "snake_case", {4, 8}, True),
    ],
)
def test_borders(name: tuple[str, ...], style: str, cuts: set[int], exact: bool) -> None:
    split = WordSplit(len(cuts) + 1, frozenset(cuts), True, True)
    assert cut_at_borders(name, style, split) is exact
    assert not cut_at_borders(name, style, split._replace(known=False))


def test_names_are_spelled() -> None:
    assert spelled(("get", "user", "name"), "snake_case") == "get_user_name"
    assert spelled(("get", "user", "name"), "camelCase") == "getUserName"
    assert len(set(NAMES)) == 40 and len(set(OPERATORS)) == 36
    assert all(len(operator) > 1 for operator in OPERATORS)


@pytest.mark.parametrize("name", NAMED)
def test_indentation_costs_what_the_lines_differ_in(name: str) -> None:
    tokenizer = model(name)
    for kind, length in INDENTATIONS:
        run = (" " if kind == "space" else "\t") * length
        found = indentation_tokens(tokenizer, kind, length)
        line = f"if a:\n{run}b = c\n"
        encoding = tokenizer.encode(line)
        if NO_ID in encoding.raw_ids or tokenizer.decode(encoding.ids) != line:
            assert isinstance(found, Undefined)
        else:
            assert found == len(encoding) - len(tokenizer.encode("if a:\nb = c\n"))


def test_operators_by_hand() -> None:
    """What a model learned behind a space is one token, the others are two or more."""
    found = code_splits(trained("a += b a += b a += b a != b", 300))
    assert "+=" not in found.cut_operators and "->" in found.cut_operators
    assert found.operators == 1 - len(found.cut_operators) / 36


@given(
    text=st.text(max_size=40).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
)
@pytest.mark.parametrize("name", NAMED)
def test_characters_are_those_of_the_twin(name: str, text: str) -> None:
    found = character_cuts(model(name), text.encode())
    assert (found.characters, found.non_ascii, found.cut) == twin.characters_cut(model(name), text)


def test_characters_by_hand() -> None:
    """A model of bytes that learned no merge cuts each character of several bytes."""
    found = character_cuts(trained("low", 258), "aé語\n".encode())
    assert found == CharacterCuts(4, 2, 2)
    assert (found.of_all, found.of_non_ascii) == (0.5, 1.0)
    assert character_cuts(trained("é é é é é é", 300), " é ü".encode()) == CharacterCuts(4, 2, 1)
    assert sum_of_cuts([found, CharacterCuts(6, 2, 0)]) == CharacterCuts(10, 4, 2)
    assert isinstance(CharacterCuts(3, 0, 0).of_non_ascii, Undefined)
    # The bytes of a character that is not in the vocabulary have its place.
    assert character_cuts(model("byte-fallback"), "語".encode()).cut == 1
    assert character_cuts(model("wordpiece"), "語".encode()).cut == 0


def test_definitions_have_names_of_their_own() -> None:
    names = [definition.name for definition in DEFINITIONS]
    assert len(set(names)) == len(names) == 9
