"""The pipelines that classes of `transformers` build, by the fields of `tokenizer_config.json`.

Each is the components of a document that a class replaces. Definitions:
`models/*/tokenization_*.py` of transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.components import Fields, Json
from tokctl.model.patterns import PATTERNS


def template(single: str, pair: str) -> Json:
    """A template that names tokens, without their ids (`with_ids` adds them)."""

    def pieces(text: str) -> list[Json]:
        found: list[Json] = []
        for word in text.split(" "):
            name, _, type_id = word.rpartition(":")
            kind = "Sequence" if name in ("$A", "$B") else "SpecialToken"
            found.append({kind: {"id": name.removeprefix("$"), "type_id": int(type_id)}})
        return found

    return {"type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair)}


def with_ids(processor: Any, ids: Mapping[str, int]) -> Any:
    """The template with the ids of its tokens; any other component as it is."""
    if not isinstance(processor, dict) or "special_tokens" in processor:
        return processor
    if processor.get("type") == "Sequence" and isinstance(processor.get("processors"), list):
        return processor | {"processors": [with_ids(one, ids) for one in processor["processors"]]}
    if processor.get("type") != "TemplateProcessing":
        return processor
    pieces = [*processor["single"], *processor["pair"]]
    names = sorted({piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece})
    if missing := [name for name in names if name not in ids]:
        raise TokctlError(f"its template names {missing[0]!r}, which is no token")
    tokens = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names}
    return processor | {"special_tokens": tokens}


def around(bos: str | None, eos: str | None) -> Json:
    """The template of `add_bos_token` and `add_eos_token`."""
    single = f"{bos + ':0 ' if bos else ''}$A:0{' ' + eos + ':0' if eos else ''}"
    pair = f"{single}{' ' + bos + ':1' if bos else ''} $B:1{' ' + eos + ':1' if eos else ''}"
    return template(single, pair)


class Given(NamedTuple):
    """What a class builds its pipeline of.

    Attributes:
        config: `tokenizer_config.json`.
        roles: the special tokens by role.
        vocab: the vocabulary as it stands in a document.
        rules: the precompiled rules of the file's normalizer, in a list; or none.
    """

    config: Fields
    roles: Mapping[str, str]
    vocab: Any
    rules: list[Json]


# -- BPE on bytes -----------------------------------------------------------------------


def bpe(**options: Any) -> Json:
    plain = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    return plain | options


def byte_level(prefix: bool = False, *, regex: bool = True) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": regex,
    }


def gpt2(given: Given) -> Json:
    config = given.config
    return {
        "model": bpe(),
        "normalizer": None,
        "pre_tokenizer": byte_level(config.flag("add_prefix_space", False)),
        "decoder": byte_level(),
    }


def gpt_neox(given: Given) -> Json:
    # It makes the template anew, and a tokenizer.json makes it forget add_bos_token.
    nfc = {"type": "NFC"}
    return gpt2(given) | {"normalizer": nfc, "post_processor": around(None, None)}


def roberta(given: Given) -> Json:
    config, roles = given.config, given.roles
    cls, sep = roles["cls_token"], roles["sep_token"]
    processor = template(f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 {sep}:0 $B:0 {sep}:0")
    if config.flag("trim_offsets", True):
        trim = byte_level(config.flag("add_prefix_space", False))
        processor = {"type": "Sequence", "processors": [trim, processor]}
    return gpt2(given) | {"post_processor": processor}


def qwen2(given: Given) -> Json:
    config = given.config
    split = {
        "type": "Split",
        "pattern": {"Regex": PATTERNS["qwen2"]},
        "behavior": "Isolated",
        "invert": False,
    }
    spelling = byte_level(config.flag("add_prefix_space", False), regex=False)
    return {
        "model": bpe(),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, spelling]},
        "decoder": byte_level(),
    }


# -- BPE on characters --------------------------------------------------------------------


def llama(given: Given) -> Json:
    config = given.config
    prefix = config.flag("add_prefix_space", True)
    scheme = "always" if config.flag("legacy", False) else "first"
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "model": bpe(fuse_unk=True, byte_fallback=True),
        "normalizer": None,
        "pre_tokenizer": metaspace(scheme if prefix else "never", split=False),
        "decoder": {"type": "Sequence", "decoders": steps},
    }


def gemma(given: Given) -> Json:
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    return {
        "model": bpe(fuse_unk=True, byte_fallback=True, unk_token=given.roles["unk_token"]),
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        "decoder": {"type": "Sequence", "decoders": steps},
    }


def metaspace(scheme: str, *, split: bool = True) -> Json:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


# -- WordPiece ----------------------------------------------------------------------------


def bert(given: Given) -> Json:
    config, roles = given.config, given.roles
    cls, sep = roles["cls_token"], roles["sep_token"]
    return {
        "model": {
            "type": "WordPiece",
            "unk_token": roles["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": config.flag("tokenize_chinese_chars", True),
            "strip_accents": config.flag("strip_accents", None),
            "lowercase": config.flag("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "post_processor": template(f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1"),
    }


# -- Unigram ------------------------------------------------------------------------------


def unigram(unk_id: int, scheme: str, normalizers: list[Json]) -> Json:
    steps = [{"type": "WhitespaceSplit"}, metaspace(scheme)]
    return {
        "model": {"type": "Unigram", "unk_id": unk_id, "byte_fallback": False},
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "decoder": metaspace(scheme),
    }


def quotes() -> list[Json]:
    return [
        {"type": "Replace", "pattern": {"String": quote}, "content": '"'} for quote in ("``", "''")
    ]


def accents(config: Fields, *, kept: bool, lower: bool) -> list[Json]:
    steps = [] if kept else [{"type": "NFKD"}, {"type": "StripAccents"}]
    return steps + [{"type": "Lowercase"}] * config.flag("do_lower_case", lower)


def t5(given: Given) -> Json:
    processor = template("$A:0 </s>:0", "$A:0 </s>:0 $B:0 </s>:0")
    return unigram(2, "always", given.rules) | {"post_processor": processor}


def albert(given: Given) -> Json:
    config = given.config
    # The file's own template comes after that of the class.
    steps = quotes() + accents(config, kept=config.flag("keep_accents", False), lower=True)
    scheme = "always" if config.flag("add_prefix_space", True) else "never"
    return unigram(1, scheme, steps + given.rules)


def xlnet(given: Given) -> Json:
    config, roles = given.config, given.roles
    cls, sep = roles["cls_token"], roles["sep_token"]
    steps = quotes() + accents(config, kept=False, lower=False)
    processor = template(f"$A:0 {sep}:0 {cls}:2", f"$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2")
    made = unigram(config.number("unk_id", 0), "always", steps + given.rules)
    return made | {"post_processor": processor}


def xlm_roberta(given: Given) -> Json:
    config, roles = given.config, given.roles
    bos, eos = roles["bos_token"], roles["eos_token"]
    processor = template(f"{bos}:0 $A:0 {eos}:0", f"{bos}:0 $A:0 {eos}:0 {eos}:0 $B:0 {eos}:0")
    scheme = "always" if config.flag("add_prefix_space", True) else "never"
    return unigram(3, scheme, given.rules) | {"post_processor": processor}


def sentinels(config: Fields) -> list[str]:
    count = config.number("extra_ids", 100)
    return [f"<extra_id_{place}>" for place in range(min(max(count, 0), 10_000))]
