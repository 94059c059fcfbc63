"""Recipes, words and comparisons for the training options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.twins import train as twin
from tokctl import training
from tokctl.model import TIE_BREAKS, Marker, Model, Recipe
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import BPE_CHARACTERS
from tokctl.sources import Document
from tokctl.training import TrainOptions

MARKERS = {
    "none": Marker(),
    "end": Marker("end", "_"),
    "end-fused": Marker("end-fused", "</w>"),
    "start": Marker("start", "Ġ"),
    "continuation": Marker("continuation", "##"),
}
WORDS = replace(BPE_CHARACTERS, pre_tokenizers=PRE_TOKENIZERS.steps("whitespace"))

#: The tie rules that go with each score, and all pairs of these.
TIES_OF = {
    "count": TIE_BREAKS,
    "likelihood": tuple(rule for rule in TIE_BREAKS if rule != "highest-text"),
}
SCORED = [(score, ties) for score, rules in TIES_OF.items() for ties in rules]

#: Few letters and small counts: ties everywhere.
tied_words = st.dictionaries(
    st.text(alphabet="abcdé", min_size=1, max_size=8), st.integers(1, 3), min_size=1, max_size=12
)
#: With the markers' own characters.
odd_words = st.dictionaries(
    st.text(alphabet="ab#_</w>", min_size=1, max_size=8), st.integers(1, 3), min_size=1, max_size=12
)


def recipe(marker: str, ties: str = "first-seen", score: str = "count", **more: Any) -> Recipe:
    wordpiece = marker == "continuation"
    base = Recipe(
        name="test",
        algorithm="wordpiece" if wordpiece else "bpe",
        marker=MARKERS[marker],
        tie_break=ties,
        score=score,
        segmentation="replay",
    )
    return replace(base, **more)


def assert_same(model: Model, expected: twin.Training) -> None:
    tokens = [token.decode() for token in model.tokens]
    assert tokens == expected.vocabulary
    merges = [twin.Merge(*(tokens[id_] for id_ in m[:3]), *m[3:]) for m in model.merges]
    assert merges == expected.merges


def document(name: str, text: bytes, block: int = 5) -> Document:
    blocks = [text[at : at + block] for at in range(0, len(text), block)]
    return Document(name, len(text), lambda: iter(blocks))


def counted(model_of: Recipe, texts: list[Document], **options: Any) -> dict[str, int]:
    counts, _ = training.count(texts, model_of, TrainOptions(vocab_size=300, **options))
    return {word.decode(): times for word, times in counts.items()}
