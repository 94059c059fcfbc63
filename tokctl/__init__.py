"""Train, run, inspect and compare subword tokenizers.

    from tokctl import Tokenizer

    tok = Tokenizer.train(["book.txt"], algorithm="bpe", vocab_size=10_000)
    tok.save("book.bpe.json")
    tok = Tokenizer.load("book.bpe.json")
    enc = tok.encode("There is still a lot of treasure")
    tok.decode(enc.ids)

The names below are imported when they are first used, so that a command that needs few of them
starts fast.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokctl.analysis.comparison import Comparison, compare
    from tokctl.analysis.explain import (
        Explanation,
        TokenHistory,
        corpus_state,
        explain,
        token_history,
    )
    from tokctl.analysis.gap import TokenGap, token_gap
    from tokctl.core.errors import BadInput, BadModel, BadOption, TokctlError, Unsupported
    from tokctl.extras.adapt import Adaptation, adapt
    from tokctl.extras.chat import ChatEncoding, encode_chat
    from tokctl.extras.compat.transformers import as_hf
    from tokctl.extras.recommend import recommend
    from tokctl.extras.recommend.results import Recommendation
    from tokctl.model import Recipe
    from tokctl.model.parts import AddedToken
    from tokctl.model.presets import default_recipe, preset
    from tokctl.report.notebook import to_html
    from tokctl.tokenizer import Tokenizer, load, train
    from tokctl.tokenizer.encoding import Encoding
    from tokctl.tokenizer.postprocess import Padding, Truncation
    from tokctl.tokenizer.token_counts import TokenCounts, count_tokens
    from tokctl.tokenizer.training import Texts
    from tokctl.training.options import TrainOptions
    from tokctl.training.parity import ParityOptions

_MODULES = {
    "Adaptation": "tokctl.extras.adapt",
    "AddedToken": "tokctl.model.parts",
    "ChatEncoding": "tokctl.extras.chat",
    "Comparison": "tokctl.analysis.comparison",
    "Encoding": "tokctl.tokenizer.encoding",
    "Explanation": "tokctl.analysis.explain",
    "Padding": "tokctl.tokenizer.postprocess",
    "ParityOptions": "tokctl.training.parity",
    "Recipe": "tokctl.model",
    "Recommendation": "tokctl.extras.recommend.results",
    "Texts": "tokctl.tokenizer.training",
    "TokenGap": "tokctl.analysis.gap",
    "TokenHistory": "tokctl.analysis.explain",
    "TokenCounts": "tokctl.tokenizer.token_counts",
    "Tokenizer": "tokctl.tokenizer",
    "TokctlError": "tokctl.core.errors",
    **dict.fromkeys(("BadInput", "BadModel", "BadOption", "Unsupported"), "tokctl.core.errors"),
    "TrainOptions": "tokctl.training.options",
    "Truncation": "tokctl.tokenizer.postprocess",
    "adapt": "tokctl.extras.adapt",
    "as_hf": "tokctl.extras.compat.transformers",
    "compare": "tokctl.analysis.comparison",
    "corpus_state": "tokctl.analysis.explain",
    "count_tokens": "tokctl.tokenizer.token_counts",
    "default_recipe": "tokctl.model.presets",
    "encode_chat": "tokctl.extras.chat",
    "explain": "tokctl.analysis.explain",
    "load": "tokctl.tokenizer",
    "preset": "tokctl.model.presets",
    "recommend": "tokctl.extras.recommend",
    "to_html": "tokctl.report.notebook",
    "token_gap": "tokctl.analysis.gap",
    "token_history": "tokctl.analysis.explain",
    "train": "tokctl.tokenizer",
}

#: tokctl's counterparts of other packages' top-level names. `tokctl.core.foreign_names` has the
#: counterparts of the attributes of their classes.
_ELSEWHERE = {
    "get_encoding": 'Tokenizer.load("cl100k_base.tiktoken") reads a file of ranks; '
    "tokctl.extras.compat.tiktoken has it, too",
    "encoding_for_model": 'Tokenizer.load("o200k_base.tiktoken") reads a file of ranks; '
    "tokctl.extras.compat.tiktoken has it, too",
    "AutoTokenizer": 'Tokenizer.from_pretrained("ORG/NAME")',
    "SentencePieceProcessor": 'Tokenizer.load("m.model")',
    "ByteLevelBPETokenizer": 'Tokenizer.train(files, recipe=preset("gpt2"), …)',
    "BertWordPieceTokenizer": 'Tokenizer.train(files, recipe=preset("bert"), …)',
}

__version__ = "0.1.0"

__all__ = [
    "Adaptation",
    "AddedToken",
    "BadInput",
    "BadModel",
    "BadOption",
    "ChatEncoding",
    "Comparison",
    "Encoding",
    "Explanation",
    "Padding",
    "ParityOptions",
    "Recipe",
    "Recommendation",
    "Texts",
    "TokctlError",
    "TokenCounts",
    "TokenGap",
    "TokenHistory",
    "Tokenizer",
    "TrainOptions",
    "Truncation",
    "Unsupported",
    "__version__",
    "adapt",
    "as_hf",
    "compare",
    "corpus_state",
    "count_tokens",
    "default_recipe",
    "encode_chat",
    "explain",
    "load",
    "preset",
    "recommend",
    "to_html",
    "token_gap",
    "token_history",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "_native" and PathFinder.find_spec("tokctl._native", __path__) is None:
        raise ImportError(
            "tokctl's Rust module is not built in this folder: run `pip install -e .` in the "
            "checkout, or Python from another folder"
        )
    if name not in _MODULES:
        message = f"module 'tokctl' has no attribute {name!r}"
        answer = _ELSEWHERE.get(name)
        raise AttributeError(f"{message}; in tokctl: {answer}" if answer else message)
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
