"""What every preset and every algorithm's default promises: the text comes back, as far as its
normalizers let it; input that is none is an error with a name."""

from __future__ import annotations

import unicodedata
from itertools import product

import pytest

from tests.errors import raises_code
from tests.exact.pipeline_peers import texts, train
from tokctl import Recipe, Texts, TokctlError, Tokenizer, default_recipe, formats, preset
from tokctl._native import NO_ID
from tokctl.model import (
    ALGORITHMS,
    ALPHABETS,
    MARKER_KINDS,
    UNITS,
    UNKNOWNS,
    Marker,
)
from tokctl.model.presets import PRESETS

RECIPES = {
    **{name: preset(name) for name in PRESETS},
    **{f"default {name}": default_recipe(name) for name in ALGORITHMS},
    "bpe --chars": default_recipe("bpe", characters=True),
    "boundless with removals": default_recipe("boundless").with_threshold(),
}


@pytest.fixture(scope="module", params=RECIPES, ids=lambda name: name.replace(" ", "-"))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    recipe = RECIPES[request.param]
    return train(tmp_path_factory.mktemp("promise"), recipe=recipe, vocab_size=3000)


@pytest.mark.few(4)
def test_the_text_comes_back(trained: Tokenizer) -> None:
    """From bytes as it was, or as NFC has it where the recipe asks for that. From characters
    as it was normalized, where spaces are kept, and otherwise as a text with the same ids;
    what no token stands for does not come back."""
    compared = 0
    kinds = [part.kind for part in trained.recipe.normalizers]
    for text in texts(seed=4):
        found = trained.encode(text)
        if trained.unk_id in found.raw_ids or NO_ID in found.raw_ids:
            continue
        compared += 1
        back = trained.decode(found.ids)
        if trained.recipe.units == "bytes":
            assert kinds in ([], ["nfc"])
            assert back == (unicodedata.normalize("NFC", text) if kinds else text)
        elif "metaspace" in trained.recipe.splitting:
            normalized = trained.pre_tokens(text)[0].decode()
            assert back == normalized.removeprefix("▁").replace("▁", " ")
        else:
            assert trained.encode_ids(back) == found.ids
    assert compared > 10
    print(f"{compared:,} texts")


def test_bytes_that_are_no_text(trained: Tokenizer) -> None:
    for data in (b"ab\n\xff", b"ab\n\xed\xa0\x80", b"ab\n\xe2\x96", b"\0a\n\xf4\x90\x80\x80"):
        if trained.recipe.units == "bytes":
            assert trained.decode_bytes(trained.encode_ids(data)) == data
            with raises_code("not-utf8", "not UTF-8 at byte"):
                trained.decode(trained.encode_ids(data))
            continue
        for encode in (trained.encode, trained.encode_ids):
            with raises_code("not-utf8", "line 2, byte 3"):
                encode(data)


def test_what_is_no_input(trained: Tokenizer) -> None:
    for nothing in (None, 3, ["a"]):
        with pytest.raises(TypeError):
            trained.encode(nothing)  # type: ignore[arg-type]
    with raises_code("unknown-name") as caught:
        trained.encode("a", special="<none>")
    assert caught.value.hint
    for ids in ([-1], [trained.vocab_size], [2**32], [2**70]):
        with pytest.raises(TokctlError) as caught:
            trained.decode(ids)
        assert caught.value.hint == f"this model's ids are 0 to {trained.vocab_size - 1}"
    assert trained.encode("").ids == trained.encode_ids("") == []
    assert trained.decode([]) == ""


@pytest.mark.few(2)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_recipes_are_refused_when_they_are_made_or_work(algorithm: str) -> None:
    """Every combination of what has a choice: a hint, or a tokenizer that trains, encodes,
    decodes and is saved."""
    made = refused = 0
    segmentations = sorted({name for one in ALGORITHMS.values() for name in one.segmentations})
    special: tuple[tuple[str, ...], str | None]
    for (
        units, alphabet, segmentation, kind, unknown, fallback, splitting, special,
    ) in product(
        UNITS, ALPHABETS, segmentations, MARKER_KINDS, UNKNOWNS, (False, True),
        ("none", "gpt2", "metaspace"), (((), None), (("[UNK]",), "[UNK]"), ((), "[UNK]")),
    ):  # fmt: skip
        try:
            recipe = Recipe(
                name="x",
                algorithm=algorithm,
                units=units,
                alphabet=alphabet,
                segmentation=segmentation,
                marker=Marker(kind, "" if kind == "none" else "##"),
                unknown=unknown,
                byte_fallback=fallback,
                pre_tokenizers=splitting,
                special_tokens=special[0],
                unk_token=special[1],
            )
        except TokctlError as error:
            assert error.hint, error.message
            refused += 1
            continue
        if recipe.removal == "residue":
            with raises_code("conflict"):
                Tokenizer.train({"ab": 3}, recipe=recipe, vocab_size=300)
            refused += 1
            continue
        made += 1
        words = {"ab": 3, "▁ab": 2, " b": 2, "ba": 1}
        if recipe.traits.reads_twice:
            texts = ["ab ab ab b ba", "ab ab ba"]
            ours = Tokenizer.train(Texts(texts), recipe=recipe, vocab_size=300)
        else:
            ours = Tokenizer.train(words, recipe=recipe, vocab_size=300)
        found = ours.encode("ab zé ab")
        known = [id_ for id_ in found.raw_ids if id_ != NO_ID]
        assert all(0 <= id_ < ours.vocab_size for id_ in known)
        assert isinstance(ours.decode(known, errors="replace"), str)
        assert formats.parse(formats.serialize(ours.model), "x") == ours.model
    print(f"{algorithm}: {made} made, {refused} refused")
    assert made > 5 and refused > 100
