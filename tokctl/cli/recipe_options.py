"""The options of `train` that describe the recipe, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

from tokctl.cli.train_options import GETS_AN_ID

_TEXT = "How text is split"
_UNKNOWN = "What is unknown"
_WORDPIECE = "How wordpiece encodes"
_BACK = "What is put around, and how tokens become text"

Algo = Annotated[
    str | None,
    typer.Option(
        "--algo",
        "-a",
        metavar="bpe|wordpiece|unigram|word|char",
        help="The algorithm: bpe by default.",
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Start from a named recipe: gpt2, bert, llama3, t5, …",
        show_default=False,
    ),
]
Special = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="TOKEN",
        help="A special token; it gets one of the lowest ids. Can be repeated.",
        show_default=False,
    ),
]
Normalize = Annotated[
    list[str] | None,
    typer.Option(
        "--normalize",
        metavar="A,B",
        help="What happens to the text first, step by step: nfc, nfd, nfkc, nfkd, lowercase, "
        "strip-accents, bert, nmt_nfkc (default for unigram), nmt_nfkc_cf, collapse-spaces, "
        "strip-spaces, strip, delete-newlines, replace:OLD=>NEW, prepend:TEXT, …; or none. "
        "Can be repeated, and must be behind a free text.",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
Pretokenize = Annotated[
    list[str] | None,
    typer.Option(
        "--pretokenize",
        metavar="A,B",
        help="How it is split, step by step: gpt2 (default for bpe), bert (for wordpiece and "
        "word), metaspace (for unigram), gpt2-words, cl100k, o200k, llama3, qwen2, deepseek-v3, "
        "whitespace, whitespace-punctuation, punctuation, digits, digits-individual, scripts, "
        "characters, graphemes, penn-treebank, delimiter:TEXT, split:TEXT, "
        "regex:PATTERN (of Python's regex package), …; or none. Byte-level models take those "
        "that keep the text as it is. Can be repeated.",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
Characters = Annotated[
    bool | None,
    typer.Option(
        "--chars/--bytes",
        help="Symbols start as characters, or as bytes (default for bpe).",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
Marker = Annotated[
    str | None,
    typer.Option(
        "--marker",
        metavar="KIND:TEXT",
        help="How words show where they start or end, with --chars: none, end:_, "
        "end-fused:</w>, start:Ġ; for wordpiece continuation:## (default).",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
UnkToken = Annotated[
    str | None,
    typer.Option(
        "--unk-token",
        metavar="TEXT",
        help="Stands for what has no token: [UNK] by default, <unk> for unigram, none for "
        "bytes, which need none; '' for none.",
        rich_help_panel=_UNKNOWN,
        show_default=False,
    ),
]
ByteFallback = Annotated[
    bool | None,
    typer.Option(
        "--byte-fallback/--no-byte-fallback",
        help="A character without a token becomes the tokens of its bytes, <0xE2> (unigram, "
        "and bpe with --chars). They take 256 ids.",
        rich_help_panel=_UNKNOWN,
        show_default=False,
    ),
]
FuseUnknown = Annotated[
    bool | None,
    typer.Option(
        "--fuse-unknown/--no-fuse-unknown",
        help="Unknown characters side by side are one unknown token (unigram, by default; and "
        "bpe with --chars).",
        rich_help_panel=_UNKNOWN,
        show_default=False,
    ),
]
Graphemes = Annotated[
    bool,
    typer.Option(
        "--graphemes",
        help="For char: user-perceived characters, accents and emoji sequences whole.",
        rich_help_panel=_TEXT,
    ),
]
Template = Annotated[
    str | None,
    typer.Option(
        "--template",
        metavar="'ONE=>TWO'",
        help="What encode --add-special puts around one text ($A) and two ($A, $B): "
        "'[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'; :1 is a type id. Its tokens are special "
        "tokens (--special). none: nothing.",
        rich_help_panel=_BACK,
        show_default=False,
    ),
]
Decoder = Annotated[
    list[str] | None,
    typer.Option(
        "--decoder",
        metavar="A,B",
        help="How tokens become text, step by step: byte-level, wordpiece, metaspace, "
        "byte-fallback, bpe-suffix, join, fuse, replace:OLD=>NEW, …. Without it: what belongs to "
        "the rest; none: what the marker says. Can be repeated.",
        rich_help_panel=_BACK,
        show_default=False,
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="count|likelihood",
        help="What makes a pair the best, for wordpiece: likelihood (default) is "
        "count(ab) / (count(a) x count(b)); count is what Hugging Face trains, with "
        "its alphabet and its ties.",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
TieBreak = Annotated[
    str | None,
    typer.Option(
        "--tie-break",
        metavar="RULE",
        help="Which of several best pairs: first-seen, rewritten-last or lowest-id "
        "(default for bytes).",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
Segment = Annotated[
    str | None,
    typer.Option(
        "--segment",
        metavar="longest-match|merges",
        help="How the wordpiece model encodes: longest match first (default), or by "
        "replaying the merges.",
        rich_help_panel=_WORDPIECE,
        show_default=False,
    ),
]
Unknown = Annotated[
    str | None,
    typer.Option(
        "--unknown",
        metavar="word|char",
        help="What becomes unknown: the whole word (default), or the character alone.",
        rich_help_panel=_WORDPIECE,
        show_default=False,
    ),
]
MaxInputChars = Annotated[
    int | None,
    typer.Option(
        "--max-input-chars",
        min=1,
        metavar="N",
        help="A longer word is unknown: 100 by default.",
        rich_help_panel=_WORDPIECE,
        show_default=False,
    ),
]
