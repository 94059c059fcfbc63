"""The kinds of decoders: how tokens become text again, one step after the other."""

from __future__ import annotations

from tokctl.model.parts.part import Family, Kind, Option

DECODERS = Family(
    "decoder",
    {
        "byte-level": Kind("joins the bytes that the tokens stand for"),
        "wordpiece": Kind(
            "joins continuations and puts spaces between words",
            {"prefix": Option(str, "##"), "cleanup": Option(bool, True)},
        ),
        "metaspace": Kind(
            "a space for each ▁, but none for the first",
            {
                "prepend": Option(str, "always", choices=("always", "first", "never")),
                "replacement": Option(str, "▁", one_character=True),
            },
            main=("prepend",),
        ),
        "byte-fallback": Kind("<0x0A> and its like become bytes"),
        "bpe-suffix": Kind(
            "a space for each suffix that ends a word",
            {"suffix": Option(str, "</w>", may_be_empty=False)},
            main=("suffix",),
        ),
        "join": Kind("puts a space between any two tokens"),
        "fuse": Kind("joins all tokens into one text"),
        "strip": Kind(
            "removes a character at the ends of each token, so many times at most",
            {
                "content": Option(str, " ", one_character=True),
                "start": Option(int, 0),
                "stop": Option(int, 0),
            },
        ),
        "replace": Kind(
            "puts a text in the place of another, or of what a pattern matches",
            {
                "pattern": Option(str, may_be_empty=False),
                "content": Option(str, ""),
                "regex": Option(bool, False),
            },
            main=("pattern", "content"),
        ),
        "ctc": Kind(
            "CTC's: repeated tokens once, padding removed",
            {
                "pad": Option(str, "<pad>"),
                "word_delimiter": Option(str, "|", may_be_empty=False),
                "cleanup": Option(bool, True),
            },
        ),
    },
)
