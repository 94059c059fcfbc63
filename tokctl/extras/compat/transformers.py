"""Tokenizers of `transformers` that encode and decode with tokctl."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from tokctl.core.errors import BadOption
from tokctl.core.values import brief
from tokctl.extras.compat.tokenizers import Tokenizer

T = TypeVar("T")


def as_hf(tokenizer: T) -> T:
    """Return a copy of a tokenizer of `transformers` that encodes and decodes with tokctl.

    The copy has the same class, settings and added tokens. `save_pretrained` writes the usual
    files, which `transformers` can load; a pickle of the copy still uses tokctl.

    Args:
        tokenizer: a `PreTrainedTokenizerFast`; its model may be BPE, WordPiece, Unigram or words.

    Raises:
        TokctlError: `tokenizer` is no `PreTrainedTokenizerFast`, or tokctl can't run its pipeline.

    Example:
        >>> tok = as_hf(AutoTokenizer.from_pretrained("gpt2"))
        >>> tok("a text")["input_ids"]
        [64, 2420]
    """
    backend = getattr(tokenizer, "_tokenizer", None)
    if isinstance(backend, Tokenizer):
        return deepcopy(tokenizer)
    if backend is None or not hasattr(tokenizer, "backend_tokenizer"):
        raise BadOption(
            f"{brief(tokenizer)} is not a PreTrainedTokenizerFast",
            "AutoTokenizer.from_pretrained(…) gives one, unless the model has only a tokenizer "
            "that is written in Python",
            "bad-value",
        )
    ours = Tokenizer.from_str(backend.to_str())
    ours.encode_special_tokens = backend.encode_special_tokens
    # The memo makes `deepcopy` use tokctl's tokenizer in place of every reference to the original.
    return deepcopy(tokenizer, {id(backend): ours})
