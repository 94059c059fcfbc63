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
Params = Annotated[
    str | None,
    CliOption(
        "--params N",
        "Parameters of the model that the tokenizer is for, without embeddings: 125M, 1B, 7B. The "
        "size is then the one with the least training compute for a byte of text.",
        short="Parameters of the model that it is for: 1B",
    ),
]
RecommendAlgos = Annotated[
    list[str] | None,
    CliOption(
        "--algo -a NAME,…",
        "What to try: algorithms (bpe, unigram, wordpiece), or single candidates (bpe/o200k) of "
        "the list below; by default all that suit the text.",
        values=values.candidates,
        short="What to try: bpe, or bpe/o200k; by default all",
    ),
]
RecommendSizes = Annotated[
    list[str] | None,
    CliOption(
        "--vocab -v N,…",
        "The only sizes to try. By default powers of two from 1,024 to 131,072, and then "
        "some around the best.",
        short="Sizes to try: 16K,32K",
    ),
]
RecommendHeldOut = Annotated[
    str,
    CliOption(
        "--held-out SHARE|FILE",
        "What candidates are measured on: a share of the texts that they are not trained on "
        "(documents, or blocks of paragraphs or lines), or another text.",
        short="What is measured: 0.1 of the texts by default",
        reads=TEXTS,
    ),
]
RecommendSeed = Annotated[
    int, CliOption("--seed N", "The random seed for the sample and the held-out part.", min=0)
]
SampleSize = Annotated[
    str,
    CliOption(
        "--sample-size SIZE",
        "If the texts are longer, use a random sample of this size: 20M, 1G (powers of 1024).",
        short="Of longer texts, use a sample: 20M by default",
    ),
]
