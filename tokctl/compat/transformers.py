"""tokctl under a tokenizer of `transformers`."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from tokctl.compat.tokenizers import Tokenizer
from tokctl.errors import TokctlError
from tokctl.values import brief

T = TypeVar("T")


def as_hf(tokenizer: T) -> T:
    """A copy of a tokenizer of `transformers` that lets tokctl encode and decode.

    It is one of the same class, with the same settings and added tokens. `save_pretrained` writes
    the same files, which `transformers` reads as ever; its pickle keeps tokctl.

    Args:
        tokenizer: a `PreTrainedTokenizerFast`; its model may be BPE, WordPiece, Unigram or words.

    Raises:
        TokctlError: it is no such tokenizer; tokctl can't run its pipeline.
    """
    backend = getattr(tokenizer, "_tokenizer", None)
    if isinstance(backend, Tokenizer):
        return deepcopy(tokenizer)
    if backend is None or not hasattr(tokenizer, "backend_tokenizer"):
        raise TokctlError(
            f"{brief(tokenizer)} is no PreTrainedTokenizerFast",
            "AutoTokenizer.from_pretrained(…) gives one, unless the model has only a tokenizer "
            "that is written in Python",
        )
    ours = Tokenizer.from_str(backend.to_str())
    ours.encode_special_tokens = backend.encode_special_tokens
    # Where the copy comes upon the one, it takes the other.
    return deepcopy(tokenizer, {id(backend): ours})
