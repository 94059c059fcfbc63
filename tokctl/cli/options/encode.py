"""Options of `encode`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import (
    FILE,
    FOLDER,
    TEXTS,
    CliArgument,
    CliOption,
    OptionGroup,
)
from tokctl.cli.options.shared import MODEL, Output
from tokctl.core.humanize import listed
from tokctl.idfiles import BINARY_FORMS

_text = partial(CliOption, panel="What is read")
_written = partial(CliOption, panel="What is written")
_length = partial(CliOption, panel="What is added around texts, and their length")
_id_file = partial(CliOption, panel=f"Files of ids: {', '.join(BINARY_FORMS)}")
_chat = partial(CliOption, panel="Chats")


#: Options of additional columns, which only jsonl holds.
COLUMNS = ("--offsets", "--byte-offsets", "--full")

EncodeFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts; - or no FILE is stdin. Without -m, the first FILE can be the model.",
        reads=TEXTS,
    ),
]
EncodeModels = Annotated[
    list[str] | None,
    CliOption(
        "--model -m MODEL",
        f"{MODEL} Can be repeated with --count, which then writes a column per model.",
        short="The model; or give it first, without -m",
        reads=FOLDER,
    ),
]


@dataclass(eq=False, repr=False)
class FormOptions(OptionGroup):
    """Options of the output: its form, columns and path."""

    form: Annotated[
        str | None,
        _written(
            "--as FORM",
            f"ids (default), {listed([*values.forms()][1:], 'or')}; see below.",
            values=values.forms,
            closed=True,
            short="ids, tokens, pieces, jsonl, bin, npy, parquet, …",
            conflicts={"--count": "it shows counts"},
        ),
    ] = None
    count: Annotated[
        bool,
        _written(
            "--count",
            "Instead of ids, write the tokens, bytes and name of each file, and the total. With "
            "--lines, each line is encoded on its own, without its line feed.",
            short="Count tokens and bytes of each file",
        ),
    ] = False
    csv: Annotated[
        bool,
        _written(
            "--csv",
            "With --count: write CSV with a header and no total.",
            needs=["--count"],
            conflicts={"--json": "each is a form of its own"},
        ),
    ] = False
    sort: Annotated[
        str | None,
        _written(
            "--sort tokens|bytes|name",
            "With --count: sort by tokens (of the first model) or bytes, largest first, or by "
            "name; by default, files stay in the order they were read.",
            closed=True,
            needs=["--count"],
        ),
    ] = None
    whole: Annotated[
        bool,
        _text(
            "--whole",
            "Treat each file as one text, including its line feeds, instead of each line.",
            short="Each file is one text, not each line",
        ),
    ] = False
    offsets: Annotated[
        bool,
        _written(
            "--offsets",
            "Add offsets in characters to jsonl.",
            conflicts={"--count": "it shows counts"},
        ),
    ] = False
    byte_offsets: Annotated[
        bool,
        _written(
            "--byte-offsets",
            "Add offsets in bytes to jsonl.",
            conflicts={"--count": "it shows counts"},
        ),
    ] = False
    full: Annotated[
        bool,
        _written(
            "--full",
            "Add every field to jsonl; see below.",
            short="Everything: tokens, offsets, masks, as JSON",
            conflicts={"--count": "it shows counts"},
        ),
    ] = False
    json: Annotated[
        bool, _written("--json", "The same as --as jsonl; with --count, one JSON document.")
    ] = False
    output: Output = None


@dataclass(eq=False, repr=False)
class TextOptions(OptionGroup):
    """Options of the ids of each text: special tokens, length, padding, sampling."""

    special: Annotated[
        list[str] | None,
        _text(
            "--special TOKEN",
            "Recognize this special token in the text; or all, or none (the default: special "
            "tokens in the text are ordinary text). Can be repeated.",
            short="Special tokens to recognize in the text",
        ),
    ] = None
    add_special: Annotated[
        bool,
        _length(
            "--add-special/--no-add-special",
            "Add the special tokens of the model's template around each text; off by default.",
            show_default=False,
            short="Add the template's special tokens",
        ),
    ] = False
    max_length: Annotated[
        int | None,
        _length(
            "--max-length N",
            "Truncate each text to N tokens, including special tokens.",
            min=1,
            short="Truncate each text to N tokens",
        ),
    ] = None
    stride: Annotated[
        int | None,
        _length(
            "--stride N",
            "Write what --max-length cuts off as further windows of that length, each on its own "
            "line; each window repeats the last N tokens of the one before.",
            min=0,
            needs=["--max-length N"],
        ),
    ] = None
    pad: Annotated[
        str | None,
        _length(
            "--pad N|longest",
            "Pad shorter texts to N tokens, or to the length of the longest text; for longest, "
            "all texts are read into memory.",
            short="Pad shorter texts to N tokens",
            conflicts={"--count": "padding is not counted"},
        ),
    ] = None
    pad_token: Annotated[
        str | None,
        _length(
            "--pad-token TOKEN",
            "The token for --pad; by default [PAD] or <pad>, if the model has it.",
            needs=["--pad N"],
        ),
    ] = None
    alpha: Annotated[
        float | None,
        _text(
            "--alpha ALPHA",
            "Unigram: sample a segmentation at random, with a probability in proportion to "
            "exp(ALPHA x score); for example 0.1. For ids, tokens, jsonl and bin.",
            conflicts={
                "--stride": "random segmentations have no windows",
                **dict.fromkeys(COLUMNS, "random segmentations have no offsets"),
            },
        ),
    ] = None
    seed: Annotated[
        int | None,
        _text(
            "--seed N",
            "The random seed for --alpha: the same seed and text give the same tokens; line n "
            "uses N + n. By default 0.",
            min=0,
            needs=["--alpha ALPHA"],
        ),
    ] = None


@dataclass(eq=False, repr=False)
class WorkOptions(OptionGroup):
    """Options of reading errors, threads and memory."""

    errors: Annotated[
        str,
        _text(
            "--errors strict|replace",
            "If text is not UTF-8 and the model is character-level: stop (strict), or read U+FFFD "
            "there (replace). Byte-level models accept any bytes.",
            closed=True,
        ),
    ] = "strict"
    threads: Annotated[
        int | None,
        _text(
            "--threads N",
            "Work on N threads; by default one per processor. The output does not depend on it. "
            "For ids, files of ids and --count.",
            min=1,
            short="Work on N threads; same output",
        ),
    ] = None
    cache_memory: Annotated[
        str | None,
        _text(
            "--cache-memory SIZE",
            "Limit each thread's cache of pre-tokens: 64M, 1G (powers of 1024); by default 320M, "
            "which only long texts fill. The output does not depend on it.",
        ),
    ] = None


@dataclass(eq=False, repr=False)
class IdFileOptions(OptionGroup):
    """Options of files of ids and of shards."""

    eos: Annotated[
        str | None,
        _length(
            "--eos TOKEN",
            "Add this token of the vocabulary after each text.",
            short="Add this token after each text",
            conflicts={"--count": "it shows counts"},
        ),
    ] = None
    lines: Annotated[
        bool,
        _id_file(
            "--lines",
            "Treat each line as a document, instead of each file; also for --count. Without --as, "
            "this is the default.",
            conflicts={"--whole": "one is the opposite of the other"},
        ),
    ] = False
    dtype: Annotated[
        str | None,
        _id_file(
            "--dtype uint16|uint32|int32",
            "The type of the ids; by default what the vocabulary needs.",
            conflicts={"--count": "it shows counts"},
        ),
    ] = None
    index: Annotated[
        str | None,
        _id_file(
            "--index PATH",
            "For bin and npy, write to PATH where documents end: an .npy file of 64-bit numbers, "
            "0 first, then one per document.",
            writes=FILE,
            conflicts={
                "--count": "it shows counts",
                "--shard-size": "shards have indexes of their own",
            },
        ),
    ] = None
    shard_size: Annotated[
        str | None,
        _id_file(
            "--shard-size N",
            "Write shards of N ids (100M is a hundred million; also K and G) and a manifest into "
            "the folder or the address (s3://…) that -o names; also for jsonl.",
            conflicts={"--count": "it shows counts"},
        ),
    ] = None
    resume: Annotated[
        bool,
        _id_file(
            "--resume",
            "Continue the shards of a run that was stopped; the result is the same.",
            needs=["--shard-size N"],
        ),
    ] = False
    engine: Annotated[
        str | None,
        _id_file(
            "--engine NAME",
            "Let a cluster of Ray write the shards: ray is the one in RAY_ADDRESS, or workers on "
            "this machine; ray://HOST:PORT is another one. The result is the same.",
            needs=["--shard-size N"],
            conflicts={
                "--alpha": "random segmentations depend on the texts before, and a cluster "
                "reads many at a time",
                "--threads": "each task of a cluster has one thread",
            },
        ),
    ] = None


@dataclass(eq=False, repr=False)
class ChatOptions(OptionGroup):
    """Options of conversations, and of rows with several columns."""

    chat: Annotated[
        bool,
        _chat(
            "--chat",
            "Read conversations from JSON Lines or tables, render each with the model's chat "
            "template, and encode that text with its special tokens. A line is a list of messages, "
            "or an object with messages, and if need be tools, documents and "
            "chat_template_kwargs.",
            short="Encode conversations with the chat template",
            conflicts={
                "--whole": "each line or record is a conversation",
                "--lines": "each line or record is a conversation",
                "--special": "special tokens come from the chat template",
                "--text-field": "a conversation is more than a text",
                "--engine": "conversations are rendered on one machine",
            },
        ),
    ] = False
    chat_template: Annotated[
        str | None,
        _chat(
            "--chat-template FILE|NAME",
            "Take the template in this file, or the one of this name if the model has several; by "
            "default that of the model, or of the files next to it.",
            reads=TEXTS,
            needs=["--chat"],
        ),
    ] = None
    chat_option: Annotated[
        list[str] | None,
        _chat(
            "--chat-option NAME=VALUE",
            "Set a name that the template knows, such as enable_thinking=false; the value is JSON "
            "or text. Can be repeated.",
            needs=["--chat"],
        ),
    ] = None
    generation_prompt: Annotated[
        bool,
        _chat(
            "--generation-prompt",
            "End each text with the prompt for the model's answer.",
            needs=["--chat"],
        ),
    ] = False
    assistant_mask: Annotated[
        bool,
        _chat(
            "--assistant-mask",
            "Add assistant_mask: 1 for each token that the assistant wrote, 0 for all others. For "
            "jsonl, parquet and safetensors.",
            needs=["--chat"],
            conflicts={
                "--count": "it shows counts",
                "--alpha": "random segmentations have no offsets, which the mask needs",
            },
        ),
    ] = False
    pack: Annotated[
        int | None,
        _length(
            "--pack N",
            "Pack whole documents into sequences of up to N ids, with position_ids and "
            "seq_lengths; only longer ones are cut. For jsonl, parquet and safetensors.",
            min=1,
            conflicts={
                "--count": "it shows counts",
                "--shard-size": "rows have several columns",
                "--pad": "packed rows have no padding",
                "--stride": "packed rows have no windows",
                "--alpha": "packed rows have one segmentation",
                **dict.fromkeys(COLUMNS, "a packed row has several texts"),
            },
        ),
    ] = None
