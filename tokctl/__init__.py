"""tokctl trains, runs, opens up and compares subword tokenizers.

    from tokctl import Tokenizer

    tok = Tokenizer.train(["book.txt"], algorithm="bpe", vocab_size=10_000)
    tok.save("book.bpe.json")
    tok = Tokenizer.load("book.bpe.json")
    enc = tok.encode("There is still a lot of treasure")
    tok.decode(enc.ids)

The names below are imported when they are first used: a command that needs few of them
starts fast.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokctl.comparison import Comparison, compare
    from tokctl.encoding import Encoding
    from tokctl.errors import TokctlError
    from tokctl.pipeline import AddedToken
    from tokctl.postprocess import Padding, Truncation
    from tokctl.presets import default_recipe, preset
    from tokctl.recipe import Recipe
    from tokctl.token_counts import TokenCounts, count_tokens
    from tokctl.tokenizer import Tokenizer, load, train

_HOMES = {
    "AddedToken": "tokctl.pipeline",
    "Comparison": "tokctl.comparison",
    "Encoding": "tokctl.encoding",
    "Padding": "tokctl.postprocess",
    "Recipe": "tokctl.recipe",
    "TokenCounts": "tokctl.token_counts",
    "Tokenizer": "tokctl.tokenizer",
    "TokctlError": "tokctl.errors",
    "Truncation": "tokctl.postprocess",
    "compare": "tokctl.comparison",
    "count_tokens": "tokctl.token_counts",
    "default_recipe": "tokctl.presets",
    "load": "tokctl.tokenizer",
    "preset": "tokctl.presets",
    "train": "tokctl.tokenizer",
}

__version__ = "0.1.0"

__all__ = [
    "AddedToken",
    "Comparison",
    "Encoding",
    "Padding",
    "Recipe",
    "TokctlError",
    "TokenCounts",
    "Tokenizer",
    "Truncation",
    "__version__",
    "compare",
    "count_tokens",
    "default_recipe",
    "load",
    "preset",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "_native" and PathFinder.find_spec("tokctl._native", __path__) is None:
        raise ImportError(
            "tokctl's Rust module is not built in this folder: run `pip install -e .` in the "
            "checkout, or Python from another folder"
        )
    if name not in _HOMES:
        raise AttributeError(f"module 'tokctl' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
