"""The arguments and options of `tokctl inspect`."""

from __future__ import annotations

from typing import Annotated

import typer

_QUESTIONS = "Questions (one at a time)"
_ANSWERS = "How it answers"

ModelArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="The model, unless -m names it: a file, a folder or hf:ORG/NAME; without both, "
        "$TOKCTL_MODEL.",
        show_default=False,
    ),
]
Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="With --state, --pairs and --use: the text files; - is stdin, which is read "
        "without any, too. With --token: a text whose words use it; with --check, "
        "--watch, --html and --plot: texts for them.",
        show_default=False,
    ),
]
Merges = Annotated[
    str | None,
    typer.Option(
        "--merges",
        metavar="A:B",
        help="The merge history from step A to B, both included; also A:, :B, :, N, and -N: "
        "for the last N.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
MergesOf = Annotated[
    str | None,
    typer.Option(
        "--merges-of",
        metavar="TOKEN",
        help="Every merge in which the token is left, right or made; est*, *est and *est* "
        "stand for the tokens whose text begins, ends with or contains it. Also with --merges.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
State = Annotated[
    int | None,
    typer.Option(
        "--state",
        metavar="STEP",
        help="The corpus state after that step on the texts; 0 is before the first merge.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        metavar="STEP",
        help="The pairs of that corpus state with what the training compares, and which of "
        "them would be merged next.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Word = Annotated[
    str | None,
    typer.Option(
        "--word",
        metavar="WORD",
        help="How this word or text is split, step by step, and why not otherwise.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="Where a token comes from and where it goes; '#300' is the token with id 300, "
        "unless a token is spelled so. With a TEXT: the words that use it most.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Use = Annotated[
    bool,
    typer.Option(
        "--use",
        help="Which tokens the texts use, how often, and which never.",
        rich_help_panel=_QUESTIONS,
    ),
]
RecipeOnly = Annotated[
    bool,
    typer.Option(
        "--recipe",
        help="The whole recipe, stage by stage, and where it came from; every field of it "
        "with --json.",
        rich_help_panel=_QUESTIONS,
    ),
]
Rounds = Annotated[
    bool,
    typer.Option(
        "--rounds",
        help="The rounds of a Unigram training: the loss curve, what each left, and what it "
        "dropped.",
        rich_help_panel=_QUESTIONS,
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Replay the training on the texts, step by step, forward and back with the keys; "
        "without a text, on the bundled sample. Needs the extra tokctl\\[watch].",
        rich_help_panel=_QUESTIONS,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="With --merges, --merges-of, --state, --pairs and --token: lines to show; "
        "without it all, but 30 on a terminal (of merges all). With --use: tokens of each list. "
        "With --check: examples of each finding.",
        rich_help_panel=_ANSWERS,
        show_default=False,
    ),
]
NBest = Annotated[
    int | None,
    typer.Option(
        "--nbest",
        metavar="N",
        min=1,
        help="With --word, of a Unigram model: ways to show, with their probability; 5 "
        "without it, 512 at most.",
        rich_help_panel=_ANSWERS,
        show_default=False,
    ),
]
Counts = Annotated[
    bool,
    typer.Option(
        "--counts",
        help="With --state, --pairs and --watch: the file is no text, but lines of a word, a tab "
        "and its count, as train --counts reads them.",
        rich_help_panel=_ANSWERS,
    ),
]
Errors = Annotated[
    str | None,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="With a TEXT: what is not UTF-8, in a character model, is an error (the "
        "default) or becomes U+FFFD.",
        rich_help_panel=_ANSWERS,
        show_default=False,
    ),
]
NoPager = Annotated[
    bool,
    typer.Option(
        "--no-pager",
        help="On a terminal, don't show what is longer than the screen in $PAGER (less).",
        rich_help_panel=_ANSWERS,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="The answer as one JSON document.", rich_help_panel=_ANSWERS),
]
