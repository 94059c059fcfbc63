"""The kinds of normalizers: what happens to a text before it is split."""

from __future__ import annotations

from tokctl.model.parts.part import Family, Kind, Option

_TRUE = Option(bool, True)
_FALSE = Option(bool, False)
#: Texts that rules leave alone: the user-defined pieces of a SentencePiece model.
_KEEP = {"keep": Option(tuple, ())}

NORMALIZERS = Family(
    "normalizer",
    {
        "nfc": Kind("Unicode's canonical composition"),
        "nfd": Kind("Unicode's canonical decomposition"),
        "nfkc": Kind("Unicode's compatibility composition"),
        "nfkd": Kind("Unicode's compatibility decomposition"),
        "lowercase": Kind("lower case, character by character"),
        "strip-accents": Kind("removes combining marks; put nfd before it"),
        "bert": Kind(
            "BERT's: controls removed, CJK characters set apart, accents removed, lower case",
            {
                "clean_text": _TRUE,
                "cjk_spacing": _TRUE,
                "strip_accents": _TRUE,
                "lowercase": _TRUE,
            },
        ),
        "nmt_nfkc": Kind("SentencePiece's default rules", _KEEP),
        "nmt_nfkc_cf": Kind("SentencePiece's default rules, with case folding", _KEEP),
        "nfkc_cf": Kind("SentencePiece's NFKC rules, with case folding", _KEEP),
        "sp_nfkc": Kind("SentencePiece's NFKC rules", _KEEP),
        "precompiled": Kind(
            "rules out of a SentencePiece model, in base64",
            {"rules": Option(str), "graphemes": _FALSE, **_KEEP},
        ),
        "nmt": Kind("Hugging Face's Nmt: controls removed, odd spaces made plain"),
        "collapse-spaces": Kind("one space for each run of spaces"),
        "delete-newlines": Kind("removes line feeds and carriage returns, as the notebooks do"),
        "strip-spaces": Kind(
            "removes plain spaces at the ends",
            {"left": _TRUE, "right": _TRUE},
        ),
        "strip": Kind(
            "removes white space at the ends",
            {"left": _TRUE, "right": _TRUE},
        ),
        "replace": Kind(
            "puts a text in the place of another, or of what a pattern matches",
            {
                "pattern": Option(str, may_be_empty=False),
                "content": Option(str, ""),
                "regex": _FALSE,
            },
            main=("pattern", "content"),
        ),
        "prepend": Kind(
            "puts a text before each text that is not empty",
            {"text": Option(str, may_be_empty=False)},
            main=("text",),
        ),
        "dummy-space": Kind(
            "SentencePiece's: a space before each text, or behind it, that is not only spaces",
            {"behind": _FALSE},
        ),
    },
)
