"""Small models of every kind, for comparing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tokctl.model import Marker, Recipe
from tokctl.model.presets import BPE, BPE_CHARACTERS, default_recipe, preset
from tokctl.sources import Document
from tokctl.tokenizer import Tokenizer

TEXT = """low lower newest widest longer
low low lower new

newer wide (longest)
"""

RECIPES: dict[str, tuple[Recipe, int]] = {
    "bpe": (BPE, 270),
    "characters": (BPE_CHARACTERS, 30),
    "end": (
        replace(
            BPE_CHARACTERS, pre_tokenizers="whitespace", marker=Marker("end", "_"), unk_token=None
        ),
        30,
    ),
    "fused": (
        replace(BPE_CHARACTERS, pre_tokenizers="bert", marker=Marker("end-fused", "</w>")),
        40,
    ),
    "notebook-bpe": (preset("notebook-bpe"), 30),
    "notebook-wordpiece": (preset("notebook-wordpiece"), 40),
    "pattern": (replace(BPE, pre_tokenizers=r"regex:\w+|\W+"), 270),
    "unigram": (default_recipe("unigram"), 40),
    "sentencepiece-unigram": (preset("sentencepiece-unigram"), 40),
    "albert": (preset("albert"), 40),
    "llama2": (preset("llama2"), 300),
    "byte-fallback": (
        replace(
            default_recipe("unigram"), byte_fallback=True, decoders=("byte-fallback", "metaspace")
        ),
        300,
    ),
    "bert": (preset("bert"), 60),
    "char-bpe": (preset("char-bpe"), 40),
    "llama3": (preset("llama3"), 280),
    "qwen": (preset("qwen"), 280),
    "word": (default_recipe("word"), 12),
    "char": (default_recipe("char"), 30),
    "wordpiece": (default_recipe("wordpiece"), 34),
    "wordpiece-char": (replace(default_recipe("wordpiece"), unknown="char"), 34),
}


def document(text: str | bytes, name: str = "text") -> Document:
    """A text in memory as a source."""
    data = text.encode() if isinstance(text, str) else text
    return Document(name, len(data), lambda: iter([data]))


@cache
def model(name: str) -> Tokenizer:
    """The model of that name, trained on `TEXT`."""
    recipe, size = RECIPES[name]
    return Tokenizer.train([document(TEXT)], vocab_size=size, recipe=recipe)
