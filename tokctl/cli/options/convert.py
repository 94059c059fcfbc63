"""Options of `convert`."""

from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import FILE, FOLDER, TEXTS, CliArgument, CliOption

_left_open = partial(CliOption, panel="What the model file doesn't say")


ConvertModel = Annotated[
    str | None,
    CliArgument(
        "[MODEL]",
        "The model: a file or folder in any format that tokctl reads, or hf:ORG/NAME; "
        "by default $TOKCTL_MODEL.",
        reads=FOLDER,
    ),
]
To = Annotated[
    str | None,
    CliOption(
        "--to -t FORMAT",
        "The format to write, one of those listed below; by default tokctl.",
        values=values.model_formats,
        short="The format to write",
    ),
]
ConvertOutput = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "The new file, or the folder if the format is one; by default the model's name with "
        "the extension of the format, in this folder.",
        short="The new file, or folder",
        writes=FILE,
    ),
]
Verify = Annotated[
    list[str] | None,
    CliOption(
        "--verify TEXT",
        "Before saving the new file, load it with tokctl and with the library that defines its "
        "format, and compare ids and decoded text on TEXT; - is stdin. Can be repeated.",
        short="Compare ids with the format's own library",
        reads=TEXTS,
    ),
]
Prune = Annotated[
    int | None,
    CliOption(
        "--prune N",
        "Keep only the N most useful ids; see below.",
        min=1,
        short="Keep the N most useful ids",
    ),
]
Pattern = Annotated[
    str | None,
    _left_open(
        "--pattern SPLIT",
        "How text is split, if the file doesn't say: a value of train --pretokenize, such as "
        "cl100k or 'regex:…'.",
        values=values.pre_tokenizers,
    ),
]
ConvertSpecial = Annotated[
    list[str] | None,
    _left_open(
        "--special-token TOKEN=ID",
        "Add a special token with its id. Can be repeated.",
        former="--special",
    ),
]
ListFormats = Annotated[
    bool,
    CliOption(
        "--list-formats",
        "Show every format, and whether tokctl reads or writes it.",
        short="List the formats",
    ),
]
