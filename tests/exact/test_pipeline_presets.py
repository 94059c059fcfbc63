"""Every preset, trained here, against Hugging Face with our model file: ids, tokens, offsets,
type ids and decoded text."""

from __future__ import annotations

import unicodedata
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from tests.exact.pipeline_peers import PAIRS, assert_same, compare, loaded_there, texts, train
from tokctl import Tokenizer, default_recipe, preset
from tokctl.formats import why_not_loadable
from tokctl.model.presets import PRESETS

pytest.importorskip("tokenizers")

#: What Hugging Face has no name for: Ġ as a symbol of its own, and merges replayed.
NOT_THERE = ("notebook-bpe", "notebook-wordpiece")
RECIPES = {
    **{name: preset(name) for name in PRESETS if name not in NOT_THERE},
    **{f"default {name}": default_recipe(name) for name in ("bpe", "wordpiece", "unigram")},
    **{f"default {name}": default_recipe(name) for name in ("word", "char")},
    "bpe --chars": default_recipe("bpe", characters=True),
}


@pytest.fixture(scope="module", params=RECIPES, ids=lambda name: name.replace(" ", "-"))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, Any]:
    recipe = RECIPES[request.param]
    ours = train(tmp_path_factory.mktemp("preset"), recipe=recipe, vocab_size=4000)
    return ours, loaded_there(ours)


def test_which_presets_hugging_face_refuses() -> None:
    """All recipes but those of the notebooks can be loaded there."""
    assert {name for name in PRESETS if why_not_loadable(preset(name))} == set(NOT_THERE)
    assert not [name for name, recipe in RECIPES.items() if why_not_loadable(recipe)]


def comparable(ours: Tokenizer, theirs: Any, text: str) -> str:
    """The text with those lines composed in which NFKC is not the same as SentencePiece's
    rules: that difference is `test_pipeline_faults`'."""
    kinds = {part.kind for part in ours.recipe.normalizers}
    if not kinds & {"nmt_nfkc", "sp_nfkc"}:
        return text
    return "".join(
        line if _normalized_alike(ours, theirs, line) else _composed(line)
        for line in text.splitlines(keepends=True)
    )


def _composed(line: str) -> str:
    """By NFKC, and without marks that the normalizers remove from Hangul syllables."""
    kept = ""
    for char in line:
        kind = unicodedata.category(char)
        between = kind == "Mn" and "HANGUL" in unicodedata.name(kept[-1:] or " ", "")
        if not between:
            kept += char
    return unicodedata.normalize("NFKC", kept)


def _normalized_alike(ours: Tokenizer, theirs: Any, line: str) -> bool:
    """Text and places. The place of what NFKC composes of several characters is the first
    one's there (a long s and a caron), and that of all of them here."""
    if line.isascii():
        return True
    nothing_composes = unicodedata.normalize("NFKC", line) == "".join(
        unicodedata.normalize("NFKC", char) for char in line
    )
    here = ours.pre_tokens(line)[0].decode().replace("▁", " ").strip()
    return (
        nothing_composes
        and here == _theirs_normalized(theirs, line)
        and not _hangul_with_marks(line)
    )


def _theirs_normalized(theirs: Any, text: str) -> str:
    normalized: str = theirs.normalizer.normalize_str(text)
    return normalized.replace("▁", " ").strip()


def _hangul_with_marks(text: str) -> bool:
    """A mark that ALBERT's normalizers delete belongs to the syllable here (`가` and a point)."""
    for base, mark in pairwise(text):
        if unicodedata.category(mark) == "Mn" and "HANGUL" in unicodedata.name(base, ""):
            return True
    return False


@pytest.mark.few(2)
def test_what_is_trained_here_is_the_same_there(pair: tuple[Tokenizer, Any]) -> None:
    """Corpora, declarations and generated strings. Unigram models with special tokens found in
    the text, because theirs would make these of ordinary text, too (`test_pipeline_faults`)."""
    ours, theirs = pair
    theirs.encode_special_tokens = ours.recipe.algorithm != "unigram"
    special = "all" if ours.recipe.algorithm == "unigram" else "none"
    same = partial(comparable, ours, theirs)
    compare(ours, theirs, texts(), special=special, same=same)


def test_templates_and_special_tokens_are_the_same_there(pair: tuple[Tokenizer, Any]) -> None:
    """Special tokens around one text and around two, and special tokens in the text."""
    ours, theirs = pair
    theirs.encode_special_tokens = False
    spelled = "".join(f"a {token} {token}b" for token in ours.special_ids)
    for text, second in [*PAIRS, (spelled, "c")]:
        assert_same(ours, theirs, text, None, True, "all")
        assert_same(ours, theirs, text, second, False, "all")
        assert_same(ours, theirs, text, second, True, "all")
