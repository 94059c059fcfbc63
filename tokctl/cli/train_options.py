"""The options of `train` beside the recipe, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

GETS_AN_ID = "What gets an id"
_READ = "What is read"
_OUT = "What is shown"

Coverage = Annotated[
    str | None,
    typer.Option(
        "--coverage",
        metavar="SHARE",
        help="Of the characters, the most frequent get an id, until these make so much of the "
        "text: 0.9995, say; all by default.",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
AlphabetLimit = Annotated[
    int | None,
    typer.Option(
        "--alphabet-limit",
        min=1,
        metavar="N",
        help="Of the characters, the N most frequent get an id; all by default.",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
InitialAlphabet = Annotated[
    str,
    typer.Option(
        "--initial-alphabet",
        metavar="CHARACTERS",
        help="These get an id, seen or not.",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="FILE=2.0",
        help="What an occurrence in this text counts (or in this archive, or this file of a "
        "folder); 1 without it. Can be repeated.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Counts = Annotated[
    bool,
    typer.Option(
        "--counts",
        help=r"The file is no text, but lines of a word, a tab and its count; \n, \r, \t, "
        r"\\ and \xff in a word are escapes.",
        rich_help_panel=_READ,
    ),
]
SaveCounts = Annotated[
    str | None,
    typer.Option(
        "--save-counts",
        metavar="PATH",
        help="Write the pre-tokens with their counts, too, before the training starts: a file for "
        "--counts. A name that ends in .gz is written compressed.",
        rich_help_panel=_OUT,
        show_default=False,
    ),
]
Sample = Annotated[
    str | None,
    typer.Option(
        "--sample",
        metavar="SHARE",
        help="Read this share of the lines only, or of the documents of JSON Lines and tables, "
        "chosen at random: 0.1, say.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="Chooses the lines of --sample; 0 without it.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Extend = Annotated[
    str | None,
    typer.Option(
        "--extend",
        metavar="MODEL",
        help="Go on from this model, with its recipe: it keeps its ids, and --vocab is the new "
        "total.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Texts: files of any form, folders, archives, addresses; - is stdin, as is no file.",
        show_default=False,
    ),
]
Vocab = Annotated[
    int,
    typer.Option(
        "--vocab",
        min=1,
        metavar="N",
        help="Ids in all: special tokens, alphabet, and what is learned.",
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
        help="Show the corpus state and the merge at each of the first N steps; for unigram, "
        "the first N rounds.",
        rich_help_panel=_OUT,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="By default, as many as there are processors.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Count within so much memory: 500M, 2G (powers of 1024). What does not fit goes to "
        "temporary files in $TMPDIR, or beside the model; the result is the same.",
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
        rich_help_panel=_READ,
    ),
]
MinCount = Annotated[
    int,
    typer.Option(
        "--min-count",
        min=1,
        metavar="N",
        help="Drop pre-tokens that occur less often.",
        rich_help_panel=GETS_AN_ID,
    ),
]
MinFrequency = Annotated[
    int,
    typer.Option(
        "--min-frequency",
        min=1,
        metavar="N",
        help="Never merge pairs, or give an id to words, that occur less often.",
        rich_help_panel=GETS_AN_ID,
    ),
]
MaxTokenLength = Annotated[
    int | None,
    typer.Option(
        "--max-token-length",
        min=1,
        metavar="N",
        help="No longer tokens, in bytes or characters; no limit by default, 16 for unigram.",
        rich_help_panel=GETS_AN_ID,
        show_default=False,
    ),
]
