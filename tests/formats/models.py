"""Small models made by hand, one of each algorithm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokctl.model import Merge, Model, Recipe, Round, TrainingRecord, byte_level
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE_CHARACTERS, CHAR, PRESETS, UNIGRAM, WORD, WORDPIECE

RECORD = TrainingRecord(1, 10, "0" * 64, 5, 4, 3, 300, 1, 1, None, True)

#: Every preset and default, and what only some models have.
RECIPES: dict[str, Recipe] = {
    **{name: recipe for name, (_about, recipe) in PRESETS.items()},
    "chars": BPE_CHARACTERS,
    "wordpiece": WORDPIECE,
    "unigram": UNIGRAM,
    "unigram with case folding": replace(UNIGRAM, normalizers=("nmt_nfkc_cf",)),
    "unigram that they load": replace(UNIGRAM, normalizers=("nfkc",)),
    "word": WORD,
    "char": CHAR,
    "graphemes": replace(CHAR, segmentation="lookup", pre_tokenizers=("graphemes",)),
    "end marker": replace(BPE_CHARACTERS, marker=("end", "_")),
    "a pattern": replace(BPE_CHARACTERS, pre_tokenizers=("regex:\\p{L}+",)),
    "a sequence": replace(BPE_CHARACTERS, pre_tokenizers=("digits", "gpt2")),
}


def filled(recipe: Recipe, **more: Any) -> Model:
    """The recipe with a tiny vocabulary: `a`, `b`, `c`, `ab` and `abc` by two merges."""
    special = [token.encode() for token in recipe.special_tokens]
    start = len(special)
    kind, mark = recipe.marker
    letters = [b"a", b"b", b"c"]
    tail = mark.encode() if kind == "continuation" else b""
    if recipe.units == "bytes":
        alphabet = byte_level.IN_ID_ORDER
    elif kind == "continuation":
        alphabet = [b"a", *(tail + letter for letter in letters)]
    else:
        alphabet = letters + [b"<0x%02X>" % byte for byte in range(256) if recipe.byte_fallback]
    tokens = [*special, *alphabet, b"ab", b"abc"]
    if recipe.algorithm == "unigram":
        # Numbers that only a shortest round trip of doubles keeps.
        scores = [0.0] * start + [-1 / (3 + at) for at in range(len(tokens) - start)]
        rounds = [
            Round(9, 1 / 3, 40, 1, 2, (("bc", 0.1), ("ca", 1e-300))),
            Round(7, 2.5, 41, 0, 1, (("ba", None),)),
        ]
        return Model(recipe, tokens, training=RECORD, scores=scores, rounds=rounds, **more)
    if recipe.algorithm in ("word", "char"):
        tokens = tokens[: start + 3] if recipe.algorithm == "char" else tokens
        counts = [0] * start + list(range(2**53, 2**53 + len(tokens) - start))
        return Model(recipe, tokens, training=RECORD, counts=counts, **more)
    ids = {token: id_ for id_, token in enumerate(tokens)}
    merges = [
        Merge(ids[b"a"], ids[tail + b"b"], ids[b"ab"], 9, 2**60, 11),
        Merge(ids[b"ab"], ids[tail + b"c"], ids[b"abc"], 7, 8, 9),
    ]
    return Model(recipe, tokens, merges, RECORD, **more)


def with_added(recipe: Recipe) -> Model:
    """Added tokens of every sort, behind the vocabulary and in it."""
    model = filled(recipe)
    size = len(model.tokens)
    tokens = [
        AddedToken("<x y>", size, special=False, strip_left=True, normalized=True),
        AddedToken("<end>", size + 1, strip_right=True),
        AddedToken("word", size + 2, special=False, single_word=True),
        AddedToken("abc", size - 1, special=False, ordinary=True),
    ]
    scores = [*model.scores, 0.0, 0.0, 0.0] if model.scores else []
    counts = [*model.counts, 0, 0, 0] if model.counts else []
    return replace(
        model,
        recipe=recipe.with_special_tokens(["<end>"]),
        tokens=[*model.tokens, *(token.text.encode() for token in tokens[:3])],
        scores=scores,
        counts=counts,
        added_tokens=(*model.added, *tokens),
    )
