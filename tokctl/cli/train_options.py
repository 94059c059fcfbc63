"""The options of `train`, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

_TEXT = "How text is split"
_MERGE = "What is merged"
_WORDPIECE = "How wordpiece encodes"
_OUT = "What is shown"

Algo = Annotated[
    str | None,
    typer.Option(
        "--algo",
        "-a",
        metavar="bpe|wordpiece",
        help="The algorithm: bpe by default.",
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Start from a named recipe.",
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
Pretokenize = Annotated[
    str | None,
    typer.Option(
        "--pretokenize",
        metavar="NAME|regex:PATTERN",
        help="gpt2 (default for bpe), bert (for wordpiece), gpt2-words, whitespace, none, "
        "or a pattern of Python's regex package. Byte-level models take those that drop "
        "nothing: gpt2, none, regex:…",
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
        help="Stands for what has no token: [UNK] by default, but for bytes, which need "
        "none; '' for none.",
        rich_help_panel=_TEXT,
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
        rich_help_panel=_MERGE,
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
        rich_help_panel=_MERGE,
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
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Texts, each one document; - is stdin, as is no file.",
        show_default=False,
    ),
]
Vocab = Annotated[
    int,
    typer.Option(
        "--vocab",
        min=1,
        metavar="N",
        help="Ids in all: special tokens, alphabet, merged tokens.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="The model file; by default the first text's name and .ALGO.json, here.",
        show_default=False,
    ),
]
ListPresets = Annotated[
    bool,
    typer.Option("--list-presets", help="List them, and stop."),
]
ShowSteps = Annotated[
    int,
    typer.Option(
        "--show-steps",
        min=0,
        metavar="N",
        help="Show the corpus state and the merge at each of the first N steps.",
        rich_help_panel=_OUT,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="For counting; by default, as many as there are processors.",
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="On stdout, facts as JSON instead of the path.", rich_help_panel=_OUT
    ),
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="What to do, for characters, where the text is not UTF-8: stop, or put U+FFFD there.",
        rich_help_panel=_TEXT,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        min=1,
        metavar="N",
        help="Drop pre-tokens that occur less often.",
        rich_help_panel=_MERGE,
    ),
]
MinFrequency = Annotated[
    int,
    typer.Option(
        "--min-frequency",
        min=1,
        metavar="N",
        help="Never merge pairs that occur less often.",
        rich_help_panel=_MERGE,
    ),
]
MaxTokenLength = Annotated[
    int | None,
    typer.Option(
        "--max-token-length",
        min=1,
        metavar="N",
        help="No longer tokens, in bytes or characters; no limit by default.",
        rich_help_panel=_MERGE,
        show_default=False,
    ),
]
