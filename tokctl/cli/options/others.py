"""Options of commands with few options."""

from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import FOLDER, TEXTS, CliArgument, CliOption

CheckFolders = Annotated[
    list[str] | None,
    CliArgument(
        "FOLDER...",
        "Folders of shards, or addresses of them, or their manifest.json.",
        reads=FOLDER,
    ),
]
BenchModel = Annotated[
    str,
    CliArgument(
        "MODEL", "A model: a file or a folder of any format, or hf:ORG/NAME.", reads=FOLDER
    ),
]
BenchFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts, of which each line, or record, is encoded on its own; - or no FILE is stdin.",
        reads=TEXTS,
    ),
]
BenchValidate = Annotated[
    bool,
    CliOption(
        "--validate",
        "Compare the ids of each text and show the first difference of each library.",
        short="Compare ids text by text",
    ),
]
BenchRepeat = Annotated[
    int,
    CliOption(
        "--repeat N",
        "Encode the texts N times in each library; after 30 s of one library, no more.",
        min=1,
        short="Passes of each library",
    ),
]
BenchThreads = Annotated[
    int,
    CliOption(
        "--threads N",
        "Let each library work on N threads, if it can.",
        min=1,
        short="Threads of each library",
    ),
]
CorpusName = Annotated[
    str, CliArgument("NAME", "A name that corpora list shows.", values=values.corpora)
]
FactsJson = Annotated[bool, CliOption("--json", "Print facts as JSON.")]
ExerciseNumber = Annotated[
    str | None, CliArgument("[N]", "Number of the exercise: 2.1.", values=values.exercises)
]
ExerciseFile = Annotated[
    str | None,
    CliArgument("[FILE]", "Python file with the function. Its code is run.", reads=TEXTS),
]
ListExercises = Annotated[bool, CliOption("--list", "Show every exercise with its page.")]
ExerciseTimeout = Annotated[
    float | None,
    CliOption("--timeout SECONDS", "How long all cases may take together; 10 by default."),
]
ExerciseJson = Annotated[bool, CliOption("--json", "The cases, or the list, as JSON.")]
Shell = Annotated[str, CliArgument("bash|zsh|fish", "The shell.", closed=True)]
CommandWords = Annotated[
    list[str] | None,
    CliArgument("[COMMAND]...", "The command; by default tokctl itself.", values=values.commands),
]
