"""A small model of every recipe, and of the kinds that other tools' files hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tests.metrics.models import document
from tokctl import ParityOptions, Tokenizer
from tokctl.model import Model, Recipe
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE, BPE_CHARACTERS, DEFAULTS, PRESETS, UNIGRAM

TEXT = """low lower newest widest longer (low) the lower, the newer. It's 12 and 1234!
The lowest of the low: newer, never lower... “widest” wide wider; naïve café.

the the the and and low low low low newest newest newest widest widest longer longer
"""

RECIPES: dict[str, Recipe] = {
    **{name: recipe for name, (_, recipe) in PRESETS.items()},
    **{f"default {name}": recipe for name, recipe in DEFAULTS.items()},
    "bpe on characters": BPE_CHARACTERS,
    "unigram with bytes": replace(
        UNIGRAM,
        byte_fallback=True,
        unk_token="<unk>",
        decoders=("byte-fallback", "metaspace"),
    ),
    "boundless with removals": DEFAULTS["boundless"].with_threshold(),
    "graphemes": replace(
        DEFAULTS["char"], pre_tokenizers="graphemes", segmentation="lookup", decoders=("fuse",)
    ),
}
MADE = ("ranks", "ranks by score", "added tokens", "no history", "languages")
NAMES = (*RECIPES, *MADE)


@cache
def model(name: str) -> Tokenizer:
    """The model of that name: of a recipe, trained on `TEXT`, or made of one of these."""
    if name in RECIPES:
        recipe = RECIPES[name]
        size = 300 if recipe.units == "bytes" or recipe.byte_fallback else 90
        size += len(recipe.special_tokens)
        return Tokenizer.train([document(TEXT)], vocab_size=size, recipe=recipe)
    if name == "ranks":
        gpt2 = model("gpt2").model
        recipe = replace(gpt2.recipe, segmentation="ranks", whole_words=True, special_tokens=())
        return Tokenizer(Model(recipe, gpt2.tokens[1:]))
    if name == "ranks by score":
        llama = model("llama2").model
        scores = [-float(id_) for id_ in range(len(llama.tokens))]
        recipe = replace(llama.recipe, segmentation="ranks", precision="single")
        return Tokenizer(replace(llama, recipe=recipe, scores=scores, merges=[], training=None))
    if name == "no history":
        return Tokenizer(replace(model("bert").model, merges=[], training=None))
    if name == "languages":
        texts = {"one": document(TEXT), "two": document("nieder niedriger neu weit lang länger")}
        return Tokenizer.train(texts, vocab_size=300, parity=ParityOptions(global_merges=9))
    byte_level = Tokenizer.train([document(TEXT)], vocab_size=290, recipe=BPE).model
    tokens = [*byte_level.tokens, b"<x>", b"New", b"<end>"]
    added = (
        AddedToken("<x>", 290, special=False, strip_left=True),
        AddedToken("New", 291, special=False, single_word=True, normalized=True),
        AddedToken("<end>", 292),
    )
    recipe = replace(
        byte_level.recipe, normalizers=("lowercase",), special_tokens=("<end>",), unk_token=None
    )
    return Tokenizer(replace(byte_level, recipe=recipe, tokens=tokens, added_tokens=added))
