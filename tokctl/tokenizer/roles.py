"""Special tokens by their role, such as `eos_token_id`.

A Hugging Face folder names the roles in `tokenizer_config.json` and `special_tokens_map.json`. In
other models a role's token is recognized by its usual spelling.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

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
_CONFIG_FILES = ("tokenizer_config.json", "special_tokens_map.json")


def token_of(
    role: str,
    special: Collection[str],
    files: Mapping[str, str],
    *,
    unk_token: str | None,
    pad_token: str | None,
) -> str | None:
    """Return the special token with a role; None if there is no such token.

    Args:
        role: a key of `SPELLINGS`.
        special: the special tokens of the model.
        files: the texts of the files that came with the model, by name.
        unk_token: the unknown token of the recipe.
        pad_token: the token that the model's stored padding uses.
    """
    for name in _CONFIG_FILES:
        entry = _json_object(files.get(name)).get(f"{role}_token")
        text = entry.get("content") if isinstance(entry, dict) else entry
        if isinstance(text, str) and text in special:
            return text
    if role == "unk":
        return unk_token
    if role == "pad" and pad_token in special:
        return pad_token
    return next((token for token in SPELLINGS[role] if token in special), None)


def _json_object(text: str | None) -> dict[str, object]:
    """Return the JSON object in a file's text; an empty one if it is missing or damaged."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
