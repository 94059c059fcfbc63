"""Options of `adapt`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import FILE, FOLDER, TEXTS, CliArgument, CliOption, OptionGroup
from tokctl.cli.options.shared import ConvertJson, Lossy, TrainThreads

_embeddings = partial(CliOption, panel="Embeddings (pip install 'tokctl\\[embeddings]')")


AdaptTexts = Annotated[
    list[str] | None,
    CliArgument(
        "[TEXT]…",
        "Texts that the new model is for: --prune, --min-uses and --residues count on them, and "
        "--vocab learns from them; - or no TEXT is stdin. A model file before them is the model, "
        "as if given with -m.",
        reads=TEXTS,
    ),
]


@dataclass(eq=False, repr=False)
class PruneOptions(OptionGroup):
    """Options of the tokens to remove and to learn."""

    prune: Annotated[
        int | None,
        CliOption(
            "--prune N",
            "Keep only N tokens: remove those that the texts use least.",
            min=1,
            short="Keep the N tokens that the texts use most",
        ),
    ] = None
    min_uses: Annotated[
        int | None,
        CliOption(
            "--min-uses N",
            "Instead of --prune: remove the tokens that the texts use fewer than N times; 1 "
            "removes those that they never use.",
            min=1,
            short="Or those that they use N times or more",
        ),
    ] = None
    residues: Annotated[
        str | None,
        CliOption(
            "--residues RATIO",
            "Instead of both: remove the residues of merging, tokens that occur almost only inside "
            "longer ones. RATIO is the highest share of a residue's occurrences that are not "
            "inside others (its FI ratio): 0.05.",
            short="Or the residues of merging, by their FI ratio",
        ),
    ] = None
    residue_entropy: Annotated[
        float | None,
        CliOption(
            "--residue-entropy BITS",
            "The highest entropy of the tokens that a residue is merged with, in bits; by default "
            "2. Roots and affixes have a higher one, and stay.",
            min=0,
            needs=["--residues RATIO"],
        ),
    ] = None
    vocab: Annotated[
        int | None,
        CliOption(
            "--vocab -v N",
            "Learn new tokens until there are N in all, including those of --special-token and "
            "--add-token.",
            min=1,
            short="Then learn new ones until there are N",
        ),
    ] = None
    new_text: Annotated[
        list[str] | None,
        CliOption(
            "--new-text FILE",
            "Learn new tokens from this text instead of TEXT. Can be repeated.",
            short="Learn them from this text, not from TEXT",
            reads=TEXTS,
            needs=["--vocab N"],
        ),
    ] = None
    special: Annotated[
        list[str] | None,
        CliOption(
            "--special-token TOKEN",
            "Add a special token, with an id after all that is learned. Can be repeated.",
            short="Add a special token; can be repeated",
        ),
    ] = None
    added: Annotated[
        list[str] | None,
        CliOption(
            "--add-token TOKEN",
            "Add a token that is always found in a text, before the model cuts it. Can be "
            "repeated.",
        ),
    ] = None
    keep_ids: Annotated[
        bool,
        CliOption(
            "--keep-ids",
            "Remaining tokens keep their ids; new ones get the freed ids. Without it, ids are "
            "numbered without gaps.",
            short="Number nothing anew",
        ),
    ] = False


@dataclass(eq=False, repr=False)
class AdaptOutputOptions(OptionGroup):
    """Options of the new model and its files."""

    output: Annotated[
        str | None,
        CliOption(
            "--output -o PATH",
            "The new model file, or the folder if the format is one.",
            short="The new model",
            writes=FILE,
        ),
    ] = None
    to: Annotated[
        str | None,
        CliOption(
            "--to -t FORMAT",
            "The format to write, one of convert --list-formats; by default that of the model, "
            "with --residues tokctl.",
            values=values.model_formats,
        ),
    ] = None
    lossy: Lossy = False
    map_file: Annotated[
        str | None,
        CliOption(
            "--map FILE",
            "Also write what became of each id, as JSON Lines: old, new, token.",
            writes=FILE,
        ),
    ] = None
    verify: Annotated[
        list[str] | None,
        CliOption(
            "--verify TEXT",
            "Before saving anything, check on TEXT that every remaining token occurs as before, or "
            "is part of a new one; - is stdin. Can be repeated.",
            short="Check that kept tokens are made as before",
            reads=TEXTS,
        ),
    ] = None
    threads: TrainThreads = None
    json: ConvertJson = False


@dataclass(eq=False, repr=False)
class EmbeddingOptions(OptionGroup):
    """Options of the embeddings that follow the ids."""

    embeddings: Annotated[
        str | None,
        _embeddings(
            "--embeddings FILE",
            "The weights of the language model, .safetensors, its .index.json or their folder: "
            "their embeddings are moved to the new ids.",
            short="Weights whose embeddings get the new ids",
            reads=FOLDER,
            needs=["--new-embeddings PATH"],
        ),
    ] = None
    new_embeddings: Annotated[
        str | None,
        _embeddings(
            "--new-embeddings PATH",
            "With --embeddings: the new weights, a file, or a folder if there are several files.",
            short="The new weights",
            writes=FILE,
            needs=["--embeddings FILE"],
        ),
    ] = None
    tensor: Annotated[
        list[str] | None,
        _embeddings(
            "--tensor NAME",
            "With --embeddings: a tensor with a row for each id; by default the input and output "
            "embeddings by their usual names. Can be repeated.",
            needs=["--embeddings FILE"],
        ),
    ] = None
    new_rows: Annotated[
        str,
        _embeddings(
            "--new-rows pieces|focus|mean|zeros",
            "With --embeddings: the row of a new token: the mean of the rows of the pieces that "
            "the old model cuts it into, FOCUS's combination of rows by --vectors, the mean of all "
            "rows, or zeros.",
            closed=True,
            needs=["--embeddings FILE"],
        ),
    ] = "pieces"
    vectors: Annotated[
        str | None,
        _embeddings(
            "--vectors FILE",
            "For --new-rows focus: a vector for each token of the new model, .vec of fastText or "
            "word2vec.",
            reads=TEXTS,
            needs=["--embeddings FILE"],
        ),
    ] = None
