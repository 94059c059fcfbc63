"""The kinds of pre-tokenizers: how a text is split into pre-tokens, which no token crosses."""

from __future__ import annotations

from tokctl.model.parts.part import Family, Kind, Option, Part

BEHAVIOURS = (
    "removed",
    "isolated",
    "merged-with-previous",
    "merged-with-next",
    "contiguous",
)
_BEHAVIOUR = Option(str, "isolated", choices=BEHAVIOURS)

PRE_TOKENIZERS = Family(
    "pre-tokenizer",
    {
        "whitespace": Kind("words between white space, which is dropped"),
        "whitespace-punctuation": Kind(r"\w+|[^\w\s]+: words, and runs of anything else"),
        "bert": Kind("words and single punctuation characters; white space is dropped"),
        "gpt2-words": Kind("GPT-2's pattern without its spaces, which are dropped"),
        "gpt2": Kind("GPT-2's pattern; nothing is dropped"),
        "cl100k": Kind("the pattern of GPT-3.5 and GPT-4"),
        "o200k": Kind("the pattern of GPT-4o"),
        "llama3": Kind("the pattern of Llama 3"),
        "qwen2": Kind("the pattern of Qwen 2 and 3"),
        "deepseek-v3": Kind("the patterns of DeepSeek V3"),
        "metaspace": Kind(
            "SentencePiece's: ▁ for each space and before the text; words start with it",
            {
                "prepend": Option(str, "always", choices=("always", "first", "never")),
                "replacement": Option(str, "▁", one_character=True),
                "split": Option(bool, True),
            },
            main=("prepend",),
        ),
        "punctuation": Kind(
            "splits at punctuation", {"behaviour": _BEHAVIOUR}, main=("behaviour",)
        ),
        "digits": Kind(
            "splits off numbers, in groups or each digit by itself",
            {"individual": Option(bool, False)},
        ),
        "scripts": Kind("splits where the script changes"),
        "fixed": Kind(
            "stretches of so many characters",
            {"length": Option(int, 5, least=1)},
            main=("length",),
        ),
        "characters": Kind("every character by itself"),
        "graphemes": Kind("every user-perceived character by itself"),
        "penn-treebank": Kind("the Penn Treebank's words; white space is dropped"),
        "delimiter": Kind(
            "splits at a character, which is dropped",
            {"text": Option(str, may_be_empty=False)},
            main=("text",),
        ),
        "split": Kind(
            "splits at a text, or at what a pattern of the regex package matches",
            {
                "pattern": Option(str, may_be_empty=False),
                "behaviour": _BEHAVIOUR,
                "regex": Option(bool, False),
                "invert": Option(bool, False),
            },
            main=("pattern", "behaviour"),
        ),
        "prefix-space": Kind("puts a space before the text unless one is there"),
    },
    aliases={
        "regex": {"kind": "split", "pattern": None, "regex": True},
        "digits-individual": {"kind": "digits", "individual": True},
    },
)

_LOSSLESS = {
    "gpt2",
    "cl100k",
    "o200k",
    "llama3",
    "qwen2",
    "deepseek-v3",
    "digits",
    "fixed",
    "characters",
    "graphemes",
}


def is_lossless(part: Part) -> bool:
    """Does the pre-tokenizer keep every byte of the text as it is?"""
    if part.kind in ("split", "punctuation"):
        return bool(part["behaviour"] != "removed")
    return part.kind in _LOSSLESS
