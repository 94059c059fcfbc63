"""Special tokens by their role, such as `eos_token_id`.

A Hugging Face folder names the roles in `tokenizer_config.json` and `special_tokens_map.json`. In
other models a role's token is recognized by its usual spelling.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.tokenizer.tokenizer import Tokenizer

#: Spellings of each role in published vocabularies; the first one in a model is taken.
SPELLINGS = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|padding|>"),
    "cls": ("[CLS]", "<cls>"),
    "sep": ("[SEP]", "<sep>"),
    "mask": ("[MASK]", "<mask>"),
}

#: Files of other libraries that name the roles, in the order of precedence.
_SAID_IN = ("tokenizer_config.json", "special_tokens_map.json")


def token_of(tokenizer: Tokenizer, role: str) -> str | None:
    """Return the special token with a role; None if there is no such token.

    Args:
        tokenizer: the tokenizer.
        role: a key of `SPELLINGS`.
    """
    special = tokenizer.special_ids
    for name in _SAID_IN:
        said = _said(tokenizer.model.companions.get(name)).get(f"{role}_token")
        text = said.get("content") if isinstance(said, dict) else said
        if isinstance(text, str) and text in special:
            return text
    if role == "unk":
        return tokenizer.recipe.unk_token
    if role == "pad" and tokenizer.padding is not None and tokenizer.padding.token in special:
        return tokenizer.padding.token
    return next((token for token in SPELLINGS[role] if token in special), None)


def _said(text: str | None) -> dict[str, object]:
    """Return the JSON object in a file's text; an empty one if it is missing or damaged."""
    try:
        said = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
