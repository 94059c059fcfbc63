"""The pipelines of further classes of `transformers` 5.23, with models Unigram; see
`class_pipelines`."""

from __future__ import annotations

from tokctl.errors import TokctlError
from tokctl.formats.huggingface import languages
from tokctl.formats.huggingface.class_pipelines import (
    Given,
    accents,
    metaspace,
    quotes,
    template,
    unigram,
)
from tokctl.formats.huggingface.components import Fields, Json
from tokctl.formats.huggingface.more_pipelines import collapse, in_order, pair, refuse, replacement


def _place(given: Given, otherwise: int, *, scored: bool = False, start: int = 0) -> int:
    """Where the unknown token stands in the vocabulary; `scored`: with the score 0."""
    unknown = given.roles["unk_token"]
    for place, (text, score) in enumerate(given.vocab):
        if place >= start and text == unknown and (score == 0.0 or not scored):
            return place
    return otherwise


def _metaspaced(unk_id: int, scheme: str, *normalizers: Json) -> Json:
    made = unigram(unk_id, scheme, list(normalizers))
    return made | {"pre_tokenizer": metaspace(scheme)}


def _scheme(given: Given, otherwise: str = "never") -> str:
    return "always" if given.config.flag("add_prefix_space", True) else otherwise


def _trimmed() -> list[Json]:
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    return [replacement(r"\s{2,}|[\n\r\t]", " "), {"type": "NFC"}, strip]


def barthez(given: Given) -> Json:
    return _metaspaced(3, _scheme(given), *_trimmed())


def big_bird(given: Given) -> Json:
    unk_id = _place(given, 100, scored=True)
    made = _metaspaced(unk_id, _scheme(given), replacement(" {2,}", "▁"))
    return made | {"post_processor": pair(given, double=False)}


def camembert(given: Given) -> Json:
    bos, eos = given.roles["bos_token"], given.roles["eos_token"]
    made = unigram(_place(given, 0), _scheme(given), given.rules)
    return made | {
        "post_processor": template(
            f"{bos}:0 $A:0 {eos}:0", f"{bos}:0 $A:0 {eos}:0 {eos}:0 $B:0 {eos}:0"
        )
    }


def deberta_v2(given: Given) -> Json:
    unk_id = _place(given, given.config.number("unk_id", 1), scored=True)
    lower = [{"type": "Lowercase"}] * given.config.flag("do_lower_case", False)
    made = _metaspaced(unk_id, _scheme(given, "first"), *lower, *_trimmed())
    if given.config.flag("split_by_punct", False):
        marks = {"type": "Punctuation", "behavior": "Isolated"}
        made["pre_tokenizer"] = in_order("pretokenizers", marks, made["pre_tokenizer"])
    return made | {"post_processor": pair(given, double=False)}


def mbart(given: Given) -> Json:
    eos, language = given.roles["eos_token"], given.config.text("src_lang", "en_XX")
    processor = template(f"$A:0 {eos}:0 {language}:0", f"$A:0 $B:0 {eos}:0 {language}:0")
    return unigram(3, "always", []) | {"post_processor": processor}


def mbart50(given: Given) -> Json:
    if not {text for text, _ in given.vocab} & set(languages.MBART50):
        raise TokctlError("its vocabulary has no language codes, and its class would add them")
    eos, language = given.roles["eos_token"], given.config.text("src_lang", "en_XX")
    processor = template(f"{language}:0 $A:0 {eos}:0", f"{language}:0 $A:0 $B:0 {eos}:0")
    made = _metaspaced(3, "always", *given.rules, collapse())
    return made | {"post_processor": processor}


def pegasus(given: Given) -> Json:
    first = given.rules or [replacement(r"\n", " ")]
    # There the place of a first token is passed over, which then fails.
    unk_id = _place(given, -1, scored=True, start=1)
    eos = given.roles["eos_token"]
    made = _metaspaced(unk_id, "always", *first, collapse())
    return made | {"post_processor": template(f"$A:0 {eos}:0", f"$A:0 $B:0 {eos}:0")}


def pegasus_masks(config: Fields) -> list[str]:
    sentence = config.text("mask_token_sent", "<mask_1>")
    count = min(max(config.number("offset", 103), 0), 10_000)
    return [sentence, *(f"<unk_{place}>" for place in range(2, count))]


def rembert(given: Given) -> Json:
    config = given.config
    plain = accents(config, kept=config.flag("keep_accents", True), lower=False)
    steps = [*quotes(), collapse(), *plain, *given.rules]
    made = _metaspaced(2, _scheme(given), *steps)
    return made | {"post_processor": pair(given, double=False)}


def udop(given: Given) -> Json:
    refuse(given, "eos_token", "</s>")
    processor = template("$A:0 </s>:0", "$A:0 </s>:0 $B:0 </s>:0")
    return unigram(_place(given, 2), "always", []) | {"post_processor": processor}


def xglm(given: Given) -> Json:
    eos = given.roles["eos_token"]
    made = _metaspaced(3, _scheme(given), *given.rules, collapse())
    return made | {
        "post_processor": template(f"{eos}:0 $A:0", f"{eos}:0 $A:0 {eos}:0 {eos}:0 $B:0")
    }
