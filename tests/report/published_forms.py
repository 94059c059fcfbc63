"""Pipelines of published tokenizers, as their `tokenizer.json` has them, around small models that
are trained here: what stands before the model is theirs, and so are the flags of added tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokctl import Tokenizer, _native, formats
from tokctl.model.byte_level import BYTES
from tokctl.model.presets import preset

Json = dict[str, Any]

_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
)
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"


def _split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> Json:
    given = {"Regex": pattern}
    return {"type": "Split", "pattern": given, "behavior": behavior, "invert": invert}


def _bytes(*, space: bool = False, splits: bool = False) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": space,
        "trim_offsets": True,
        "use_regex": splits,
    }


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _metaspace(scheme: str, *, split: bool = True) -> Json:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


@cache
def _precompiled() -> Json:
    rules = base64.b64encode(_native.chars_map_named("nmt_nfkc")).decode()
    return {"type": "Precompiled", "precompiled_charsmap": rules}


_NFC: Json = {"type": "NFC"}
_SPACES: Json = {"type": "WhitespaceSplit"}
_EXTRA = {"Regex": " {2,}"}

#: Of byte-level BPE: normalizers, pre-tokenizers.
BYTE_LEVEL: dict[str, tuple[Sequence[Json], Sequence[Json]]] = {
    "RoBERTa": ([], [_bytes(space=True, splits=True)]),
    "ModernBERT": ([_NFC], [_bytes(splits=True)]),
    "StarCoder": ([], [{"type": "Digits", "individual_digits": True}, _bytes(splits=True)]),
    "Command R": ([_NFC], [{"type": "Digits", "individual_digits": True}, _bytes(splits=True)]),
    "Falcon": (
        [],
        [
            {"type": "Punctuation", "behavior": "Contiguous"},
            _bytes(splits=True),
            {"type": "Digits", "individual_digits": False},
            _split("[0-9][0-9][0-9]"),
        ],
    ),
    "Llama 3": (
        [],
        [
            _split(
                _SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
                r"\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            _bytes(),
        ],
    ),
    "Llama 4": (
        [],
        [
            _split(_CASED.replace("+|", f"+{_SHORT}?|", 1) + r"\p{N}{1,3}|" + _REST),
            _bytes(),
        ],
    ),
    "Mistral Tekken": ([], [_split(_CASED + r"\p{N}|" + _REST), _bytes()]),
    "Qwen 3.5": (
        [_NFC],
        [
            _split(
                _SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|"
                r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
                r"\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            _bytes(),
        ],
    ),
    "DeepSeek Coder": (
        [],
        [
            _split("[\r\n]"),
            _split(r"\s?\p{L}+"),
            _split(r"\s?\p{P}+"),
            _split("[一-龥ࠀ-一가-퟿]+"),
            {"type": "Digits", "individual_digits": True},
            _bytes(),
        ],
    ),
    "DeepSeek V3": (
        [],
        [
            _split(r"\p{N}{1,3}"),
            _split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
            _split(
                r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
                r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
                r"\s*[\r\n]+|\s+(?!\S)|\s+"
            ),
            _bytes(),
        ],
    ),
    "SuperBPE": (
        [],
        [
            _split(r"(?=(\d{3})+(?!\d))"),
            _split(r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"),
            _bytes(),
        ],
    ),
}

#: Of models with ▁ for spaces: the recipe that is trained, normalizers, pre-tokenizers.
SPACED: dict[str, tuple[str, Sequence[Json], Sequence[Json]]] = {
    "Llama 2": (
        "llama2",
        [{"type": "Prepend", "prepend": "▁"}, _replace({"String": " "}, "▁")],
        [],
    ),
    "Mistral 0.3": ("llama2", [], [_metaspace("first", split=False)]),
    "Gemma": (
        "llama2",
        [_replace({"String": " "}, "▁")],
        [
            {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "MergedWithPrevious",
                "invert": False,
            }
        ],
    ),
    "T5": ("t5", [_precompiled()], [_SPACES, _metaspace("always")]),
    "XLM-R": ("t5", [_precompiled(), _replace(_EXTRA, " ")], [_metaspace("always")]),
    "ALBERT": (
        "albert",
        [
            _replace({"String": "``"}, '"'),
            _replace({"String": "''"}, '"'),
            {"type": "NFKD"},
            {"type": "StripAccents"},
            {"type": "Lowercase"},
            _precompiled(),
        ],
        [_SPACES, _metaspace("always")],
    ),
    "DeBERTa v3": (
        "t5",
        [
            {"type": "Strip", "strip_left": True, "strip_right": True},
            _precompiled(),
            _replace(_EXTRA, " "),
        ],
        [_metaspace("always")],
    ),
}

#: Added tokens with the flags that they have there, special or not.
FLAGS: dict[str, Json] = {
    "<mask>": {"lstrip": True, "special": True},
    "<|user|>": {"rstrip": True, "special": True},
    "\n\n": {"special": False},
    "  ": {"normalized": True, "special": False},
    "<extra_id_0>": {"lstrip": True, "rstrip": True, "special": True},
    "New": {"single_word": True, "normalized": True, "special": False},
    "\u00c5": {"normalized": True, "special": False},
}


def _document(found: Tokenizer) -> Json:
    (written,) = formats.write(found.model, "huggingface").values()
    document: Json = json.loads(written)
    return document


def _with(document: Json, normalizers: Sequence[Json], splitting: Sequence[Json]) -> Tokenizer:
    def sequence(key: str, steps: Sequence[Json]) -> Json | None:
        return {"type": "Sequence", key: list(steps)} if steps else None

    vocab = document["model"]["vocab"]
    texts = [*vocab] if isinstance(vocab, dict) else [token for token, _ in vocab]
    known = {token["content"] for token in document["added_tokens"]}
    added = list(document["added_tokens"])
    size = len({*texts, *known})
    for text, flags in FLAGS.items():
        id_ = texts.index(text) if text in texts else size
        size += text not in texts
        usual = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        added.append({"id": id_, "content": text, **usual, **flags})
    made = document | {
        "normalizer": sequence("normalizers", normalizers),
        "pre_tokenizer": sequence("pretokenizers", splitting),
        "added_tokens": sorted(added, key=lambda token: token["id"]),
    }
    return Tokenizer(formats.parse(json.dumps(made).encode(), "tokenizer.json"))


def _clip() -> Tokenizer:
    """Bytes in GPT-2's spelling, and `</w>` at the end of a word."""
    letters = [*BYTES]
    merges = [
        ("t", "h"),
        ("th", "e</w>"),
        ("o", "w</w>"),
        ("l", "ow</w>"),
        ("e", "r</w>"),
        ("'", "s</w>"),
    ]
    tokens = [*letters, *(letter + "</w>" for letter in letters), *(a + b for a, b in merges)]
    vocab = {token: id_ for id_, token in enumerate([*tokens, "<|endoftext|>"])}
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    document: Json = {
        "version": "1.0",
        "added_tokens": [],
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<|endoftext|>",
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "</w>",
            "fuse_unk": False,
            "vocab": vocab,
            "merges": list(merges),
        },
    }
    normalizers = [_NFC, _replace({"Regex": r"\s+"}, " "), {"type": "Lowercase"}]
    return _with(document, normalizers, [_split(pattern, "Removed", invert=True), _bytes()])


def every(texts: Sequence[Path], vocab_size: int) -> Iterator[tuple[str, Tokenizer]]:
    """Each form with a model that is trained on the texts."""
    trained: dict[str, Json] = {}

    def base(name: str) -> Json:
        if name not in trained:
            made = Tokenizer.train(list(texts), vocab_size=vocab_size, recipe=preset(name))
            trained[name] = _document(made)
        return trained[name]

    for name, (normalizers, splitting) in BYTE_LEVEL.items():
        yield name, _with(base("gpt2"), normalizers, splitting)
    for name, (recipe, normalizers, splitting) in SPACED.items():
        yield name, _with(base(recipe), normalizers, splitting)
    yield "CLIP", _clip()
