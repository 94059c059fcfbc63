"""Special tokens by what they are for: `eos_token_id` and its like.

A folder of Hugging Face's says it in `tokenizer_config.json` and `special_tokens_map.json`. For
other models a token is known by its usual spelling.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.tokenizer.tokenizer import Tokenizer

#: How published vocabularies spell them; of several the first that a model has.
SPELLINGS = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|padding|>"),
    "cls": ("[CLS]", "<cls>"),
    "sep": ("[SEP]", "<sep>"),
    "mask": ("[MASK]", "<mask>"),
}

#: Files that came with a model and that say it.
_SAID_IN = ("tokenizer_config.json", "special_tokens_map.json")


def token_of(tokenizer: Tokenizer, role: str) -> str | None:
    """The special token with this role, a key of `SPELLINGS`; None if there is none."""
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
    """The object that a file holds; an empty one where it is missing or damaged."""
    try:
        said = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
