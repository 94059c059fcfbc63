"""Small models that the tests of explanations share."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

from tests.conftest import shared_file
from tests.twins import train as twin
from tokctl import Tokenizer, preset
from tokctl.model import Marker, Recipe
from tokctl.model.presets import BPE_CHARACTERS, WORDPIECE

#: The toy document of both notebooks.
TOY = "low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3 + "longer"

NOTEBOOK_BPE = replace(
    preset("notebook-bpe"), marker=Marker("end", "_"), pre_tokenizers="whitespace", normalizers=()
)
NOTEBOOK_WORDPIECE = replace(
    preset("notebook-wordpiece"),
    marker=Marker("continuation", "_"),
    pre_tokenizers="whitespace",
    normalizers=(),
)
CHARACTERS = replace(BPE_CHARACTERS, pre_tokenizers="whitespace")
WORDPIECE_CHAR = replace(WORDPIECE, unknown="char")
WORDPIECE_BY_COUNT = replace(WORDPIECE, score="count", tie_break="rewritten-last")
BY_TEXT = replace(CHARACTERS, tie_break="highest-text")
BYTES_BY_TEXT = replace(preset("gpt2"), tie_break="highest-text")
FUSED = replace(CHARACTERS, marker=Marker("end-fused", "</w>"))
BYTES = preset("gpt2")

RECIPES: dict[str, tuple[Recipe, int]] = {
    "end": (NOTEBOOK_BPE, 60),
    "start": (preset("notebook-bpe"), 60),
    "fused": (FUSED, 60),
    "plain": (CHARACTERS, 60),
    "bytes": (BYTES, 300),
    "replay": (NOTEBOOK_WORDPIECE, 60),
    "longest-match": (WORDPIECE, 60),
    "unknown-char": (WORDPIECE_CHAR, 60),
    "by-count": (WORDPIECE_BY_COUNT, 60),
}

#: Full of repeats and of ties, with a word in it that only grows from others.
TEXT = f"{TOY} banana bandana ananas aaaa aaaaa abab ababab lowlow newlow wewe ewew tests"


@cache
def model(name: str) -> Tokenizer:
    """A model of `RECIPES`, trained on `TEXT`."""
    recipe, size = RECIPES[name]
    counts: dict[str, int] = {}
    for word in TEXT.split():
        counts[word] = counts.get(word, 0) + 1
    return Tokenizer.train(counts, vocab_size=size, recipe=recipe)


def slow(name: str) -> twin.Training:
    """The same trained by the slow twin."""
    recipe, size = RECIPES[name]
    return twin.train(
        dict(Counter(TEXT.split())),
        vocab_size=size,
        marker_kind=recipe.marker.kind,  # type: ignore[arg-type]
        marker=recipe.marker.text,
        criterion=recipe.score,  # type: ignore[arg-type]
        ties=recipe.tie_break,  # type: ignore[arg-type]
        special_tokens=list(recipe.special_tokens),
    )


def toy(recipe: Recipe, vocab_size: int) -> Tokenizer:
    """A model of the notebooks' toy document."""
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3, "longer": 1}
    return Tokenizer.train(counts, vocab_size=vocab_size, recipe=recipe)


def documents() -> dict[str, Any]:
    """The figures that the documents print; skips the test where they are not here."""
    golden = json.loads(shared_file("golden/documents.json").read_text(encoding="utf-8"))
    assert isinstance(golden, dict)
    return golden
