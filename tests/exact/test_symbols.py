"""What segmentation starts from, by every kind of marker: pruning keeps it, extending needs no
merges for it, and the encoder looks it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.errors import raises_code
from tests.exact.lone_segmenters import encoder
from tokctl import TokctlError, Tokenizer, preset
from tokctl.model import Marker, Model, Recipe
from tokctl.model.presets import PRESETS
from tokctl.training import resizing
from tokctl.training.resizing import prune

#: (marker, initial symbols, others): as in the native `train/extend.rs`.
CASES = [
    (("none", ""), ["a", "字"], ["ab", "字字", "##"]),
    # A marker that is a symbol of its own merges with a character like any other.
    (("start", "Ġ"), ["a", "Ġ"], ["Ġa", "aĠ", "ĠĠ"]),
    (("end", "_"), ["a", "_"], ["a_", "_a", "__"]),
    (("start", "<w>"), ["a", "<w>", "<"], ["<w>a", "<w", "a<w>"]),
    (("end", "</w>"), ["a", "</w>"], ["a</w>", "</w>a"]),
    # A fused one is part of a symbol, and none by itself.
    (("end-fused", "</w>"), ["a", "a</w>", "字</w>"], ["</w>", "ab</w>", "</w>a"]),
    (("continuation", "##"), ["a", "##a", "###"], ["##", "##ab", "a##"]),
    (("continuation", "#"), ["a", "#", "#a", "##"], ["###", "#ab", "a#"]),
]
IDS = [" ".join(marker) for marker, *_ in CASES]


def recipe_with(marker: tuple[str, str]) -> Recipe:
    base = preset("notebook-wordpiece" if marker[0] == "continuation" else "notebook-bpe")
    made = replace(base, marker=Marker(*marker), decoders=(), normalizers=(), post_processors=())
    return replace(made, unk_token=None, special_tokens=(), segmentation="replay")


@pytest.mark.parametrize(("marker", "initial", "others"), CASES, ids=IDS)
def test_initial_symbols_of_every_marker(
    marker: tuple[str, str], initial: list[str], others: list[str]
) -> None:
    recipe = recipe_with(marker)
    for token in (*initial, *others):
        assert recipe.is_initial_symbol(token.encode()) == (token in initial), token


@pytest.mark.parametrize(("marker", "initial", "others"), CASES, ids=IDS)
def test_the_encoder_starts_from_the_same(
    marker: tuple[str, str], initial: list[str], others: list[str]
) -> None:
    """A token is an initial symbol if, without merges, some word has it."""
    characters = {char for token in (*initial, *others) for char in token}
    words = [*characters, *(f"{a}{b}" for a in characters for b in characters)]
    for token in (*initial, *others):
        alone = encoder("symbols", [(token.encode(), 7)], marker=marker)
        starts = any(7 in alone.ids(word.encode()) for word in words)
        assert starts == (token in initial), token


@pytest.mark.parametrize(("marker", "initial", "others"), CASES, ids=IDS)
def test_extending_and_pruning_agree(
    marker: tuple[str, str], initial: list[str], others: list[str]
) -> None:
    recipe = recipe_with(marker)
    symbols = Model(recipe, [token.encode() for token in initial])
    resizing.check_extension(symbols, recipe)
    with pytest.raises(TokctlError, match=f"alphabet of this model are {len(initial)}"):
        prune(symbols, len(initial) - 1)
    for token in others:
        longer = Model(recipe, [*symbols.tokens, token.encode()])
        assert prune(longer, len(initial)).tokens == symbols.tokens
        with raises_code("unsupported"):
            resizing.check_extension(longer, recipe)


def test_bytes_and_what_stands_for_them() -> None:
    byte_level = preset("gpt2")
    assert byte_level.is_initial_symbol(b"\xff")
    assert not byte_level.is_initial_symbol("é".encode())
    fallback = PRESETS["llama2"][1]
    assert fallback.byte_fallback and fallback.is_initial_symbol(b"<0xE9>")
    assert not replace(fallback, byte_fallback=False, decoders=()).is_initial_symbol(b"<0xE9>")


@pytest.mark.parametrize("marker", [marker for marker, *_ in CASES], ids=IDS)
def test_what_a_training_starts_from(marker: tuple[str, str]) -> None:
    """Every token of a trained model is an initial symbol or made by a merge, and never both."""
    words = {"abab": 5, "aba": 4, "bb": 3, "a": 2}
    model = Tokenizer.train(words, recipe=recipe_with(marker), vocab_size=12).model
    made = {merge.token for merge in model.merges}
    assert made
    for id_, token in enumerate(model.tokens):
        if id_ not in model.reserved_ids:
            assert model.recipe.is_initial_symbol(token) == (id_ not in made), token
