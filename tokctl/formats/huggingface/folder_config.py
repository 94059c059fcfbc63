"""What stands beside a `tokenizer.json` that is written: the configuration for transformers.

What came with the model stays, but for what would contradict its `tokenizer.json`.
"""

from __future__ import annotations

import json
from typing import Any

from tokctl.formats.huggingface.classes import CLASSES
from tokctl.formats.huggingface.components import Json
from tokctl.formats.huggingface.folder import CONFIG, SPECIAL_MAP, parsed
from tokctl.formats.huggingface.folder_tokens import ROLES
from tokctl.model import FilledRecipe

#: Loaded by versions 4 and 5 alike, and builds no pipeline of its own.
_CLASS = "PreTrainedTokenizerFast"
#: Fields that another class would build its pipeline by, or that `tokenizer.json` answers.
_BUILDING = (
    "added_tokens_decoder",
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "auto_map",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
    "do_lower_case",
    "extra_ids",
    "extra_special_tokens",
    "additional_special_tokens",
    "fast_tokenizer_files",
    "from_slow",
    "keep_accents",
    "legacy",
    "sp_model_kwargs",
    "strip_accents",
    "tokenize_chinese_chars",
    "tokenizer_file",
    "trim_offsets",
    "vocab_file",
    "merges_file",
)
#: Roles by the names that special tokens commonly have; of several the first there is.
_KNOWN = {
    "bos_token": ("<s>", "<|begin_of_text|>", "<bos>", "[BOS]", "<|startoftext|>"),
    "eos_token": ("</s>", "<|end_of_text|>", "<eos>", "[EOS]", "<|endoftext|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "sep_token": ("[SEP]", "<sep>"),
    "pad_token": ("<pad>", "[PAD]", "<|pad|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "mask_token": ("[MASK]", "<mask>"),
}


def write(model: FilledRecipe, document: Json) -> dict[str, str]:
    """The configuration files of a model whose document is written beside them."""
    config = _read(model, CONFIG)
    special_map = _read(model, SPECIAL_MAP)
    named = {**special_map, **config} if "added_tokens_decoder" in config else config | special_map
    known = {entry.text for entry in model.added}
    roles = _roles(model, named, known)
    extra = _extra(named, known)
    kept = {name: value for name, value in config.items() if name not in _BUILDING}
    kept = {name: value for name, value in kept.items() if not _is_role(name, value)}
    kept |= roles | extra
    kept["tokenizer_class"] = _CLASS
    kept["clean_up_tokenization_spaces"] = False
    splitting = document["pre_tokenizer"]
    if splitting is not None and "add_prefix_space" in splitting:
        # Version 4 changes the pre-tokenizer to what stands here, or to false.
        kept["add_prefix_space"] = splitting["add_prefix_space"]
    kept.setdefault("model_input_names", _input_names(document["post_processor"]))
    return {CONFIG: _dump(kept), SPECIAL_MAP: _dump(roles | extra)}


def _read(model: FilledRecipe, name: str) -> Json:
    return parsed(model.companions[name], name) if name in model.companions else {}


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _is_role(name: str, value: Any) -> bool:
    return name in ROLES or (name.endswith("_token") and isinstance(value, (str, dict)))


def _roles(model: FilledRecipe, named: Json, known: set[str]) -> dict[str, str]:
    """The special tokens by role: as the files said, where they are tokens; by name where
    there were no files."""
    if CONFIG not in model.companions and SPECIAL_MAP not in model.companions:
        return _guessed(model)
    found = _class_roles(model)
    for name, value in named.items():
        if _is_role(name, value):
            found[name] = _text(value)
    return {name: text for name, text in found.items() if text in known}


def _text(value: Any) -> str | None:
    """The text of a token of the files; None where it is none."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _class_roles(model: FilledRecipe) -> dict[str, Any]:
    """Those that the class of the folder gave where its configuration named none."""
    if model.origin is None or model.origin.name not in CLASSES:
        return {}
    return dict(CLASSES[model.origin.name].roles)


def _guessed(model: FilledRecipe) -> dict[str, str]:
    found = {}
    if model.recipe.unk_token is not None:
        found["unk_token"] = model.recipe.unk_token
    for role, names in _KNOWN.items():
        present = [name for name in names if name in model.special_ids]
        if role not in found and present:
            found[role] = present[0]
    return found


def _extra(named: Json, known: set[str]) -> Json:
    """The extra special tokens, under the name that both versions know."""
    given = named.get("extra_special_tokens") or named.get("additional_special_tokens") or []
    if isinstance(given, dict):
        texts = {name: _text(value) for name, value in given.items()}
        texts = {name: text for name, text in texts.items() if text in known}
        return {"extra_special_tokens": texts} if texts else {}
    listed = dict.fromkeys(map(_text, given if isinstance(given, list) else []))
    found = [text for text in listed if text in known]
    return {"additional_special_tokens": found} if found else {}


def _input_names(processor: Any) -> list[str]:
    """Models get token types where the template tells a pair's texts apart."""
    typed = '"type_id": 1' in json.dumps(processor)
    return ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"]
