"""The options of `compare`, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_ALGORITHMS = "bpe,wordpiece,unigram"
#: The size that is shown in detail, and the one beside it.
DEFAULT_VOCAB = (20_000, 10_000)

_MODELS = "Models"
_LOOK = "What to look at"
_OUTPUT = "Output"
_READING = "Reading"

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT]…",
        help="Texts, each one document; - is stdin. Without any: the bundled sample.",
        show_default=False,
    ),
]
Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A model: a file or folder of any format, or hf:ORG/NAME; may be repeated. "
        "Without any, models are trained on the texts.",
        rich_help_panel=_MODELS,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME|MODEL",
        help="The model that NSL and the differences are relative to; by default the first. A "
        "MODEL that is no -m is shown, too.",
        rich_help_panel=_MODELS,
    ),
]
Algo = Annotated[
    list[str] | None,
    typer.Option(
        "--algo",
        metavar="ALGO,…",
        help="What to train: bpe, wordpiece, unigram, word, char, or a preset of train. By "
        f"default {DEFAULT_ALGORITHMS}.",
        rich_help_panel=_MODELS,
    ),
]
Vocab = Annotated[
    list[str] | None,
    typer.Option(
        "--vocab",
        metavar="N,…",
        help="Vocabulary size of the trained models. With several all are trained, and the "
        "last is shown in detail. By default 20000,10000.",
        rich_help_panel=_MODELS,
        show_default=False,
    ),
]
Lang = Annotated[
    list[str] | None,
    typer.Option(
        "--lang",
        metavar="NAME=FILE",
        help="A text in the language NAME; may be repeated. They say the same, line by line.",
        rich_help_panel=_LOOK,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="NAME",
        help="The language that parity is relative to; by default the first.",
        rich_help_panel=_LOOK,
    ),
]
Sentence = Annotated[
    list[str] | None,
    typer.Option(
        "--sentence",
        metavar="TEXT",
        help="A sentence to show; may be repeated. By default a few of the texts.",
        rich_help_panel=_LOOK,
    ),
]
Word = Annotated[
    list[str] | None,
    typer.Option(
        "--word",  # by itself Typer spells it as the metavar
        metavar="WORD",
        help="A word to explain; may be repeated. By default some of the sentences that models "
        "cut differently.",
        rich_help_panel=_LOOK,
    ),
]
Words = Annotated[
    str,
    typer.Option(
        "--words",
        metavar="spaces|unicode",
        help="What a word is to fertility, STRR and continued words: what stands between white "
        "space, or a word by UAX #29.",
        rich_help_panel=_LOOK,
    ),
]
Intervals = Annotated[
    bool,
    typer.Option(
        "--intervals",
        help="95% intervals by drawing the lines of the texts anew, so that noise is not read as "
        "a difference.",
        rich_help_panel=_LOOK,
    ),
]
Speed = Annotated[
    bool,
    typer.Option(
        "--speed",
        help="How fast each model encodes and decodes here. Not the same in every run.",
        rich_help_panel=_LOOK,
    ),
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="METRIC",
        help="What a metric is: formula, unit, source, when it misleads; all for all of them. "
        "Compares nothing.",
        rich_help_panel=_LOOK,
        show_default=False,
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="'METRIC OP NUMBER'",
        help="Exit with 1 if this holds for a model over all texts; OP is one of "
        "< <= > >=. May be repeated. A model that only --baseline names is not checked.",
        rich_help_panel=_OUTPUT,
    ),
]
Markdown = Annotated[
    bool, typer.Option("--markdown", help="Write Markdown.", rich_help_panel=_OUTPUT)
]
Latex = Annotated[
    bool,
    typer.Option(
        "--latex",
        help="Write tables for LaTeX with the package booktabs.",
        rich_help_panel=_OUTPUT,
    ),
]
NoPager = Annotated[
    bool,
    typer.Option(
        "--no-pager",
        help="On a terminal, don't show what is longer than the screen in $PAGER (less).",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Write one JSON document.", rich_help_panel=_OUTPUT)
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="What to do where text is not UTF-8 and a model reads characters.",
        rich_help_panel=_READING,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="By default as many as there are processors. Changes no result.",
        rich_help_panel=_READING,
    ),
]
