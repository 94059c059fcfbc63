"""Named recipes, and the default recipe of each algorithm."""

from __future__ import annotations

import difflib
from dataclasses import replace

from tokctl.errors import TokctlError
from tokctl.recipe import ALGORITHMS, Marker, Recipe

BPE = Recipe(
    name="bpe",
    algorithm="bpe",
    pre_tokenizer="gpt2",
    units="bytes",
    alphabet="bytes",
    tie_break="lowest-id",
)

#: What `--chars` makes of it. A character that training has not seen needs `[UNK]`.
BPE_CHARACTERS = replace(
    BPE,
    units="characters",
    alphabet="seen",
    tie_break="first-seen",
    unk_token="[UNK]",
    special_tokens=("[UNK]",),
)

WORDPIECE = Recipe(
    name="wordpiece",
    algorithm="wordpiece",
    pre_tokenizer="bert",
    units="characters",
    marker=Marker("continuation", "##"),
    score="likelihood",
    tie_break="first-seen",
    segmentation="longest-match",
    unk_token="[UNK]",
    max_input_chars=100,
    special_tokens=("[UNK]",),
)

DEFAULTS = {"bpe": BPE, "wordpiece": WORDPIECE}

PRESETS = {
    "gpt2": (
        "GPT-2's byte-level BPE; merges equal Hugging Face's one for one",
        replace(BPE, name="gpt2", special_tokens=("<|endoftext|>",)),
    ),
    "notebook-bpe": (
        "the first notebook: characters, Ġ before each word, newlines deleted, no unknown token",
        Recipe(
            name="notebook-bpe",
            algorithm="bpe",
            normalizers=("delete-newlines",),
            pre_tokenizer="gpt2-words",
            units="characters",
            marker=Marker("start", "Ġ"),
            tie_break="rewritten-last",
        ),
    ),
    "notebook-wordpiece": (
        "the second notebook: likelihood score, merges replayed, no unknown token",
        Recipe(
            name="notebook-wordpiece",
            algorithm="wordpiece",
            normalizers=("delete-newlines",),
            pre_tokenizer="gpt2-words",
            units="characters",
            marker=Marker("continuation", "##"),
            score="likelihood",
            tie_break="rewritten-last",
            segmentation="replay",
        ),
    ),
}


def preset(name: str) -> Recipe:
    """The recipe called `name`; TokctlError with the known names where there is none."""
    if name in PRESETS:
        return PRESETS[name][1]
    close = difflib.get_close_matches(name, PRESETS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the presets are: {', '.join(PRESETS)}"
    raise TokctlError(f"no preset is called {name!r}", hint)


def default_recipe(algorithm: str, *, characters: bool = False) -> Recipe:
    """The recipe of an algorithm when nothing else is asked for."""
    if algorithm not in DEFAULTS:
        raise TokctlError(
            f"no algorithm is called {algorithm!r}", f"choose one of: {', '.join(ALGORITHMS)}"
        )
    if algorithm == "bpe" and characters:
        return BPE_CHARACTERS
    return DEFAULTS[algorithm]
