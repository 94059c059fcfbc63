"""Named recipes, and the default recipe of each algorithm.

The named ones are made when the first of them is asked for: most commands need none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.model import ALGORITHMS, Recipe
from tokctl.model.presets.defaults import (
    BPE,
    BPE_CHARACTERS,
    CHAR,
    DEFAULTS,
    UNIGRAM,
    WORD,
    WORDPIECE,
)

if TYPE_CHECKING:
    from tokctl.model.presets.named import PRESETS

__all__ = [
    "BPE",
    "BPE_CHARACTERS",
    "CHAR",
    "DEFAULTS",
    "PRESETS",
    "UNIGRAM",
    "WORD",
    "WORDPIECE",
    "default_recipe",
    "preset",
]


def preset(name: str) -> Recipe:
    """The recipe called `name`; TokctlError with the known names where there is none."""
    from tokctl.model.presets.named import PRESETS

    if name in PRESETS:
        return PRESETS[name][1]
    import difflib

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


def __getattr__(name: str) -> Any:
    if name != "PRESETS":
        raise AttributeError(f"module 'tokctl.model.presets' has no attribute {name!r}")
    from tokctl.model.presets.named import PRESETS

    return PRESETS
