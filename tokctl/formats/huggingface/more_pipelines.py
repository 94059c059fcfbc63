"""The pipelines of further classes of `transformers` 5.23, with models BPE and WordPiece; see
`class_pipelines`."""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.class_pipelines import (
    Given,
    around,
    bert,
    bpe,
    byte_level,
    gemma,
    gpt2,
    llama,
    metaspace,
    qwen2,
    template,
)
from tokctl.formats.huggingface.components import Json


def in_order(key: str, *steps: Json) -> Json:
    return {"type": "Sequence", key: list(steps)}


def normalizers(*steps: Json) -> Json:
    return in_order("normalizers", *steps)


def replacement(pattern: str, content: str, *, regex: bool = True) -> Json:
    kind = "Regex" if regex else "String"
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def collapse() -> Json:
    return replacement(" {2,}", " ")


def pair(given: Given, *, double: bool) -> Json:
    """cls A sep B sep, with a second sep between the two where `double`."""
    cls, sep = given.roles["cls_token"], given.roles["sep_token"]
    if double:
        return template(f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 {sep}:0 $B:0 {sep}:0")
    return template(f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1")


def refuse(given: Given, name: str, *allowed: Any) -> None:
    if given.config.data.get(name) not in (None, *allowed):
        raise TokctlError(
            f"its tokenizer_config.json sets {name}, which tokctl does not know for its class",
            "name its tokenizer.json to read that file as it stands",
        )


# -- BPE on bytes -----------------------------------------------------------------------


def whisper(given: Given) -> Json:
    # A language's token is numbered behind the first by a table of its own.
    refuse(given, "language")
    refuse(given, "task")
    before = "<|startoftranscript|>:0"
    if not given.config.flag("predict_timestamps", False):
        before += " <|notimestamps|>:0"
    eos = given.roles["eos_token"]
    # It takes timestamps out of a decoded text.
    decoder = in_order(
        "decoders", byte_level(), {"type": "Fuse"}, replacement(r"<\|(\d+\.\d+)\|>", "")
    )
    processor = template(f"{before} $A:0 {eos}:0", f"{before} $A:0 $B:1 {eos}:1")
    return gpt2(given) | {"decoder": decoder, "post_processor": processor}


def cohere(given: Given) -> Json:
    digits = {"type": "Digits", "individual_digits": True}
    spelling = byte_level(given.config.flag("add_prefix_space", False))
    split = in_order("pretokenizers", digits, spelling)
    return gpt2(given) | {"normalizer": {"type": "NFC"}, "pre_tokenizer": split}


def blenderbot(given: Given) -> Json:
    return gpt2(given) | {"pre_tokenizer": byte_level(given.config.flag("add_prefix_space", True))}


def deberta(given: Given) -> Json:
    return gpt2(given) | {"post_processor": pair(given, double=True)}


_QWEN3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def qwen3_5(given: Given) -> Json:
    made = qwen2(given)
    made["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": _QWEN3_5}
    return made


# -- BPE on characters --------------------------------------------------------------------


def code_llama(given: Given) -> Json:
    made = llama(given)
    prefix = given.config.flag("add_prefix_space", True)
    made["pre_tokenizer"] = metaspace("first" if prefix else "never", split=False)
    steps = made["decoder"]["decoders"][:3]
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    made["decoder"] = in_order("decoders", *steps, strip)
    made["model"]["unk_token"] = given.roles["unk_token"]
    # A tokenizer.json makes it forget add_bos_token and add_eos_token.
    return made | {"post_processor": around(given.roles["bos_token"], None)}


def siglip2(given: Given) -> Json:
    made = gemma(given)
    return made | {"normalizer": normalizers({"type": "Lowercase"}, made["normalizer"])}


def reformer(given: Given) -> Json:
    rules = normalizers(*given.rules, collapse()) if given.rules else None
    return {
        "model": bpe(unk_token=given.roles["unk_token"], fuse_unk=True),
        "normalizer": rules,
        "pre_tokenizer": metaspace("always"),
        "decoder": metaspace("always"),
    }


def nllb(given: Given) -> Json:
    eos, language = given.roles["eos_token"], given.config.text("src_lang", "eng_Latn")
    processor = template(f"{language}:0 $A:0 {eos}:0", f"{language}:0 $A:0 $B:0 {eos}:0")
    if given.config.flag("legacy_behaviour", False):
        processor = template(f"$A:0 {eos}:0 {language}:0", f"$A:0 $B:0 {eos}:0 {language}:0")
    return reformer(given) | {"post_processor": processor}


def _of_words(given: Given, *, lowercase: bool, strip_accents: bool | None) -> Json:
    """BPE that marks the ends of BERT's words."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }
    return {
        "model": bpe(unk_token=given.roles["unk_token"], end_of_word_suffix="</w>"),
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
    }


def herbert(given: Given) -> Json:
    ends = {"sep": [given.roles["sep_token"], 2], "cls": [given.roles["cls_token"], 0]}
    made = _of_words(given, lowercase=False, strip_accents=False)
    return made | {"post_processor": {"type": "BertProcessing", **ends}}


def openai_gpt(given: Given) -> Json:
    return _of_words(given, lowercase=True, strip_accents=None)


# -- WordPiece ----------------------------------------------------------------------------


def kept_but_for_template(given: Given) -> Json:
    return {"post_processor": pair(given, double=False)}


def mpnet(given: Given) -> Json:
    processor = in_order("processors", byte_level(), pair(given, double=True))
    return bert(given) | {"post_processor": processor}


def funnel(given: Given) -> Json:
    made = bert(given)
    made["normalizer"]["clean_text"] = given.config.flag("clean_text", True)
    made["decoder"]["prefix"] = given.config.text("wordpieces_prefix", "##")
    cls, sep = given.roles["cls_token"], given.roles["sep_token"]
    single = f"{cls}:2 $A:0 {sep}:0"
    return made | {"post_processor": template(single, f"{single} $B:1 {sep}:1")}


def dpr(given: Given) -> Json:
    # Some of its names pass the field on, and some do not.
    refuse(given, "do_lower_case", True)
    return bert(given)
