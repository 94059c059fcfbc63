"""Options of `decode`."""

from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import FOLDER, CliArgument, CliOption
from tokctl.core.humanize import listed
from tokctl.idfiles.registry import READABLE

DecodeFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "What encode wrote: files, or folders of shards; - or no FILE is stdin. Without -m, the "
        "first FILE can be the model.",
        reads=FOLDER,
    ),
]
DecodeForm = Annotated[
    str,
    CliOption(
        "--from FORM",
        f"The input format: {listed(['ids', 'jsonl', *READABLE], 'or')}. auto goes by file names "
        "and first bytes; anything else is read as ids.",
        values=values.id_forms,
        closed=True,
        short="ids, jsonl, bin, npy, parquet, …; default: auto",
    ),
]
DecodeDtype = Annotated[
    str | None,
    CliOption(
        "--dtype TYPE",
        "The type of the ids in bin: uint8, int8, uint16, … int64; by default uint16, or uint32 "
        "if the model has more than 65,536 tokens.",
        values=values.id_dtypes,
        closed=True,
    ),
]
IdsField = Annotated[
    str | None,
    CliOption(
        "--ids-field NAME",
        "The column, tensor or jsonl field that holds the ids; by default input_ids, and ids "
        "for jsonl.",
    ),
]
Separator = Annotated[
    str | None,
    CliOption(
        "--separator TEXT",
        r"Write TEXT after each document of parquet, arrow, megatron and safetensors; "
        r"\n, \t, \r, \0 and \\ are escapes. By default a line feed, if the document does "
        "not end with one.",
    ),
]
DecodeEos = Annotated[
    str | None,
    CliOption(
        "--eos TOKEN", "Documents end with this token, in bin and npy too; it is not written."
    ),
]
SkipSpecial = Annotated[
    bool,
    CliOption(
        "--skip-special",
        "Leave out special tokens.",
        short="Leave out special tokens",
    ),
]
DecodeJson = Annotated[bool, CliOption("--json", "The same as --from jsonl.")]
