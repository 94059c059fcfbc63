"""The options of `encode`, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

from tokctl.cli.options import Group

_FORM = "What is written"
_TEXT = "What is read"
_AROUND = "What is put around, and how long it gets"
_FILES = "Files of ids: bin, npy, parquet, megatron, safetensors"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...", help="Texts; - is stdin, as is no file.", show_default=False
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="FORM",
        help="ids (default), tokens, pieces, jsonl, bin, npy, parquet, megatron or safetensors; "
        "see below.",
        rich_help_panel=_FORM,
        show_default=False,
    ),
]
Count = Annotated[
    bool,
    typer.Option(
        "--count",
        help="Instead, count: tokens, bytes and name of each file, and the total. Line feeds "
        "make no tokens, but with --whole.",
        rich_help_panel=_FORM,
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="With --count: comma-separated, below a header; no total.",
        rich_help_panel=_FORM,
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="tokens|bytes|name",
        help="With --count: the most tokens (of the first model) or bytes first, or by name; "
        "otherwise in the order of reading.",
        rich_help_panel=_FORM,
        show_default=False,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="The model: a file or a folder of any format that tokctl reads (tokctl convert "
        "--list-formats shows them), or hf:ORG/NAME on the Hugging Face Hub. Without it, the "
        "one that $TOKCTL_MODEL names. For --count it can be repeated: a column for each.",
        show_default=False,
    ),
]
Whole = Annotated[
    bool,
    typer.Option(
        "--whole",
        help="Each file is one text, line feeds and all; not each line.",
        rich_help_panel=_TEXT,
    ),
]
Offsets = Annotated[
    bool,
    typer.Option("--offsets", help="Add offsets to jsonl, in characters.", rich_help_panel=_FORM),
]
ByteOffsets = Annotated[
    bool,
    typer.Option("--byte-offsets", help="Add offsets to jsonl, in bytes.", rich_help_panel=_FORM),
]
Full = Annotated[
    bool,
    typer.Option("--full", help="Add everything to jsonl; see below.", rich_help_panel=_FORM),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="The same as --as jsonl; with --count one JSON document.",
        rich_help_panel=_FORM,
    ),
]
Special = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="TOKEN",
        help="A special token that the text may spell; all, or none (default): its "
        "spelling is ordinary text. Can be repeated.",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
AddSpecial = Annotated[
    bool,
    typer.Option(
        "--add-special/--no-add-special",
        help="Put the special tokens of the model's template around each text; off by default.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        min=1,
        metavar="N",
        help="At most N tokens of a text, special ones too; the others are cut off.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
Stride = Annotated[
    int | None,
    typer.Option(
        "--stride",
        min=0,
        metavar="N",
        help="What --max-length cuts off comes in windows of the same length, on lines of "
        "their own; each shares N tokens with the one before.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
Pad = Annotated[
    str | None,
    typer.Option(
        "--pad",
        metavar="N|longest",
        help="Fill shorter texts up to N tokens; or to the longest of all, which are read "
        "into memory for that.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
PadToken = Annotated[
    str | None,
    typer.Option(
        "--pad-token",
        metavar="TOKEN",
        help="What --pad fills up with: [PAD] or <pad> where the model has it.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample",
        metavar="ALPHA",
        help="Unigram: draw a segmentation at random, with a probability in proportion to "
        "exp(ALPHA x score); 0.1, say. For ids, tokens, jsonl and bin.",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="Of --sample: the same seed and text give the same tokens; line n takes N + n. 0 "
        "without it.",
        rich_help_panel=_TEXT,
        show_default=False,
    ),
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="What to do, with a character model, where the text is not UTF-8: stop, or "
        "put U+FFFD there. Byte-level models take anything.",
        rich_help_panel=_TEXT,
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="For ids, files of ids and --count; the output is the same with any number.",
        rich_help_panel=_TEXT,
    ),
]

Eos = Annotated[
    str | None,
    typer.Option(
        "--eos",
        metavar="TOKEN",
        help="Put this token of the vocabulary behind each text.",
        rich_help_panel=_AROUND,
        show_default=False,
    ),
]
Lines = Annotated[
    bool,
    typer.Option(
        "--lines",
        help="Each line is a document, not each file; so it is anyway without --as.",
        rich_help_panel=_FILES,
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="uint16|uint32|int32",
        help="How wide an id is; without it as the vocabulary needs.",
        rich_help_panel=_FILES,
        show_default=False,
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="PATH",
        help="Write here where documents end (bin, npy): an .npy of 64-bit numbers, one more "
        "than there are documents, 0 first.",
        rich_help_panel=_FILES,
        show_default=False,
    ),
]
ShardSize = Annotated[
    str | None,
    typer.Option(
        "--shard-size",
        metavar="N",
        help="Write files of N ids (100M: a hundred million; K, M, G) into a folder, -o "
        "FOLDER, and a manifest; for jsonl, too.",
        rich_help_panel=_FILES,
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the shards of a run that stopped: the same bytes come out.",
        rich_help_panel=_FILES,
    ),
]


class IdFiles(Group):
    """How files of ids are made; `encode` takes these options as one argument."""

    eos: Eos = None
    lines: Lines = False
    dtype: Dtype = None
    index: Index = None
    shard_size: ShardSize = None
    resume: Resume = False


#: Where nothing is given.
NO_FILES = IdFiles()
