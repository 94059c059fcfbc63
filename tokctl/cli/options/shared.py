"""Options and arguments of several commands."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options.declaring import (
    FILE,
    FILE_OR_STDOUT,
    FOLDER,
    TEXTS,
    CliArgument,
    CliOption,
    OptionGroup,
)

_text = partial(CliOption, panel="What is read")
_reading = partial(CliOption, panel="Reading")
NO_PAGER = "On a terminal, don't use $PAGER (less) for output longer than the screen."

MODEL = (
    "The model: a file or folder in any format that tokctl reads (tokctl convert "
    "--list-formats shows them), or hf:ORG/NAME on the Hugging Face Hub. The default is "
    "$TOKCTLMODEL."
)


Model = Annotated[
    str | None,
    CliOption(
        "--model -m MODEL",
        MODEL,
        short="The model; or give it first, without -m",
        reads=FOLDER,
    ),
]
Output = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "Write to this file, completely or not at all; by default to stdout.",
        short="Write to this file",
        writes=FILE_OR_STDOUT,
    ),
]
TrainFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts: files in any supported format, folders, archives or URLs; - or no FILE is "
        "stdin. A model file is refused, unless --format says how to read it.",
        reads=TEXTS,
    ),
]
TrainThreads = Annotated[
    int | None, CliOption("--threads N", "Work on N threads; by default one per processor.", min=1)
]
TrainErrors = Annotated[
    str,
    _text(
        "--errors strict|replace",
        "If text is not UTF-8 and symbols are characters: stop (strict), or read U+FFFD there "
        "(replace).",
        closed=True,
        conflicts={"--word-counts": "it reads words that are counted already"},
    ),
]
ConvertJson = Annotated[bool, CliOption("--json", "Print facts as JSON instead of the path.")]
Lossy = Annotated[
    bool,
    CliOption(
        "--lossy",
        "Write what the format can hold and leave out the rest.",
        short="Leave out what the format can't hold",
    ),
]


#: Options of what an answer looks like.
ANSWER = partial(CliOption, panel="Output")


@dataclass(eq=False, repr=False)
class AnswerOptions(OptionGroup):
    """The form of the answer of `compare`, `recommend` and `bench`."""

    markdown: Annotated[
        bool,
        ANSWER(
            "--markdown",
            "Write Markdown.",
            short="Write Markdown",
        ),
    ] = False
    latex: Annotated[
        bool, ANSWER("--latex", "Write LaTeX tables; they need the package booktabs.")
    ] = False
    json: Annotated[
        bool,
        ANSWER(
            "--json",
            "Write one JSON document.",
            short="Write JSON",
        ),
    ] = False
    csv: Annotated[
        bool,
        ANSWER(
            "--csv",
            "Write the tables as CSV, with every digit of each figure.",
            short="Write the tables as CSV",
        ),
    ] = False
    no_pager: Annotated[bool, ANSWER("--no-pager", NO_PAGER)] = False


PAGE = partial(CliOption, panel="Pages and charts (pip install 'tokctl\\[report]')")

#: Help of `--chart`.
CHART = "Which chart --plot writes; `--chart list` lists them."

Html = Annotated[
    str | None,
    PAGE(
        "--html FILE",
        "Write one HTML page that needs no network, and print its path.",
        short="Write one HTML page",
        writes=FILE,
    ),
]
Plot = Annotated[
    str | None,
    PAGE(
        "--plot FILE",
        "Write a chart as .png, .svg, .pdf or .json (Vega-Lite), and print its path.",
        writes=FILE,
    ),
]

CompareErrors = Annotated[
    str,
    _reading(
        "--errors strict|replace",
        "If text is not UTF-8 and a model is character-level: stop (strict), or read U+FFFD "
        "there (replace).",
        closed=True,
    ),
]
CompareThreads = Annotated[
    int | None,
    _reading(
        "--threads N", "Work on N threads; by default one per processor. Same results.", min=1
    ),
]
