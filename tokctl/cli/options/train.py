"""Options of `train`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import (
    FILE,
    FOLDER,
    NAMED,
    TEXTS,
    WEIGHTED,
    CliOption,
    OptionGroup,
)
from tokctl.cli.options.shared import TrainErrors, TrainThreads

_vocabulary = partial(CliOption, panel="What gets an id")
_text = partial(CliOption, panel="What is read")
_output = partial(CliOption, panel="What is shown")
_languages = partial(CliOption, panel="Languages (parity-aware bpe)")
_splitting = partial(CliOption, panel="How text is split")
_unknown = partial(CliOption, panel="What is unknown")
_wordpiece = partial(CliOption, panel="How wordpiece encodes")
_decoding = partial(CliOption, panel="What is added around texts, and how tokens become text")


@dataclass(eq=False, repr=False)
class RecipeOptions(OptionGroup):
    """Options of the recipe: algorithm, steps before and after it, special tokens."""

    algo: Annotated[
        str | None,
        CliOption(
            "--algo -a",
            "The algorithm; by default bpe.",
            values=values.algorithms,
            short="bpe (default), wordpiece, unigram, superbpe, …",
        ),
    ] = None
    preset: Annotated[
        str | None,
        CliOption(
            "--preset NAME",
            "Start from a named recipe: gpt2, bert, llama3, t5, …",
            values=values.presets,
            short="A named recipe: gpt2, bert, llama3, t5, …",
        ),
    ] = None
    special: Annotated[
        list[str] | None,
        CliOption(
            "--special-token TOKEN",
            "Add a special token; it gets one of the lowest ids. Can be repeated.",
            short="A special token; can be repeated",
            former="--special",
        ),
    ] = None
    normalize: Annotated[
        list[str] | None,
        _splitting(
            "--normalize A,B",
            "How the text is normalized first, step by step: nfc, nfd, nfkc, nfkd, lowercase, "
            "strip-accents, bert, nmt_nfkc (default for unigram), nmt_nfkc_cf, collapse-spaces, "
            "strip-spaces, strip, delete-newlines, replace:OLD=>NEW, prepend:TEXT, …; or none. "
            "Can be repeated; steps after a free text (prepend:TEXT) need a new --normalize.",
            values=values.normalizers,
            short="Steps before splitting: nfc, lowercase, …",
        ),
    ] = None
    pretokenize: Annotated[
        list[str] | None,
        _splitting(
            "--pretokenize A,B",
            "How text is split into pre-tokens, step by step: gpt2 (default for bpe), bert (for "
            "wordpiece and word), metaspace (for unigram), gpt2-words, cl100k, o200k, llama3, "
            "qwen2, deepseek-v3, whitespace, whitespace-punctuation, punctuation, digits, "
            "digits-individual, digit-groups (threes from the right), digit-cuts, scripts, "
            "characters, graphemes, penn-treebank, lines, delimiter:TEXT, split:TEXT, "
            "regex:PATTERN (of Python's regex package), …; or none. Byte-level models accept only "
            "those that keep the text unchanged. Can be repeated.",
            values=values.pre_tokenizers,
            short="How text is split: gpt2, cl100k, bert, …",
        ),
    ] = None
    characters: Annotated[
        bool | None,
        _splitting("--chars/--bytes", "Start from characters, or from bytes (default for bpe)."),
    ] = None
    graphemes: Annotated[
        bool,
        _splitting(
            "--graphemes",
            "For char: keep graphemes whole, such as accented letters and emoji sequences.",
        ),
    ] = False
    marker: Annotated[
        str | None,
        _splitting(
            "--marker KIND:TEXT",
            "With --chars, how a word's start or end is marked: none, end:_, "
            "end-fused:</w>, start:Ġ; for wordpiece continuation:## (default).",
        ),
    ] = None
    transition: Annotated[
        str | None,
        _vocabulary(
            "--transition SIZE",
            "The size of the vocabulary from which superbpe joins words: ids, or a share of "
            "--vocab; by default 90%.",
        ),
    ] = None
    max_words: Annotated[
        int | None,
        _vocabulary(
            "--max-words N",
            "The most words of a merged token; by default no limit, and 4 for superbpe.",
            min=1,
        ),
    ] = None
    forbid: Annotated[
        list[str] | None,
        _vocabulary(
            "--forbid TEXT",
            "Merge no token that contains this text; by default ': ' for superbpe. Can be "
            "repeated; none: no text.",
        ),
    ] = None
    score: Annotated[
        str | None,
        _vocabulary(
            "--score count|likelihood",
            "For wordpiece, how pairs are scored: likelihood (default) is "
            "count(ab) / (count(a) x count(b)); count is what Hugging Face uses, with "
            "its alphabet and its tie rule.",
        ),
    ] = None
    tie_break: Annotated[
        str | None,
        _vocabulary(
            "--tie-break RULE",
            "Which of several equally good pairs is merged: first-seen, rewritten-last, "
            "lowest-id (default for bytes) or highest-text.",
            values=values.tie_breaks,
        ),
    ] = None
    unk_token: Annotated[
        str | None,
        _unknown(
            "--unk-token TEXT",
            "The token for whatever has no token: by default [UNK], <unk> for unigram, and none "
            "for byte-level models, which need none; '' means none.",
        ),
    ] = None
    byte_fallback: Annotated[
        bool | None,
        _unknown(
            "--byte-fallback/--no-byte-fallback",
            "Encode a character without a token as its bytes, such as <0xE2> (unigram, and bpe "
            "with --chars). The byte tokens take 256 ids.",
        ),
    ] = None
    fuse_unknown: Annotated[
        bool | None,
        _unknown(
            "--fuse-unknown/--no-fuse-unknown",
            "Encode adjacent unknown characters as one unknown token (default for unigram; also "
            "for bpe with --chars).",
        ),
    ] = None
    segment: Annotated[
        str | None,
        _wordpiece(
            "--segment longest-match|merges",
            "How the wordpiece model segments words: longest match first (default), or by "
            "replaying the merges.",
        ),
    ] = None
    unknown: Annotated[
        str | None,
        _unknown(
            "--unknown word|char|drop",
            "What becomes unknown in wordpiece: the whole word (default), or only the character. "
            "drop: leave out what has no token, as Hugging Face's BPE does without an unknown "
            "token (bpe with --chars, wordpiece by merges, char).",
            closed=False,
        ),
    ] = None
    max_input_chars: Annotated[
        int | None,
        _wordpiece(
            "--max-input-chars N",
            "Words of more than N characters are unknown; by default 100.",
            min=1,
        ),
    ] = None
    template: Annotated[
        str | None,
        _decoding(
            "--template 'ONE=>TWO'",
            "What encode --add-special adds around one text ($A) and a pair ($A, $B): "
            "'[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'; :1 is a type id. Its tokens must be "
            "special tokens (--special-token). none: add nothing.",
        ),
    ] = None
    decoder: Annotated[
        list[str] | None,
        _decoding(
            "--decoder A,B",
            "How tokens become text, step by step: byte-level, wordpiece, metaspace, "
            "byte-fallback, bpe-suffix, join, fuse, replace:OLD=>NEW, …. By default, the steps "
            "that match the rest of the recipe; none: only the marker is undone. Can be repeated.",
            values=values.decoders,
        ),
    ] = None


@dataclass(eq=False, repr=False)
class CountingOptions(OptionGroup):
    """Options of reading and counting the texts; those of the vocabulary are `TrainOptions`."""

    initial_tokens_from: Annotated[
        str | None,
        _vocabulary(
            "--initial-tokens-from FILE",
            "Give each line of this file one token, as --initial-token does; taken literally.",
            reads=TEXTS,
        ),
    ] = None
    threads: TrainThreads = None
    memory: Annotated[
        str | None,
        CliOption(
            "--memory SIZE",
            "Limit the memory used for counting: 500M, 2G (powers of 1024). What does not fit goes "
            "to temporary files in $TMPDIR, or next to the model; the result is the same.",
            short="Limit the memory used for counting: 2G",
        ),
    ] = None
    engine: Annotated[
        str | None,
        CliOption(
            "--engine NAME",
            "Let a cluster of Ray count the texts: ray is the one in RAY_ADDRESS, or workers on "
            "this machine; ray://HOST:PORT is another one. The result is the same.",
            conflicts={
                "--lang": "languages are counted on one machine",
                "--word-counts": "it reads words that are counted already",
            },
        ),
    ] = None
    plan: Annotated[
        bool,
        CliOption(
            "--plan",
            "Don't train: estimate, from a sample of the texts, the time and memory that --engine "
            "will need.",
            needs=["--engine ray"],
        ),
    ] = False
    counts: Annotated[
        bool,
        _text(
            "--word-counts",
            r"The file holds word counts instead of text: on each line a word, a tab and its "
            r"count. \n, \r, \t, \\ and \xff in a word are escapes.",
            former="--counts",
            conflicts={"--lang": "each language has its own counts"},
        ),
    ] = False
    save_counts: Annotated[
        str | None,
        _output(
            "--save-counts PATH",
            "Before training starts, also write the pre-tokens with their counts, as a file for "
            "--word-counts. If the name ends in .gz, the file is compressed.",
            writes=FILE,
            conflicts={"--lang": "each language has its own counts"},
        ),
    ] = None
    weight: Annotated[
        list[str] | None,
        _text(
            "--weight FILE=2.0",
            "How much each occurrence in this text (or archive, or file of a folder) counts; "
            "by default 1. Can be repeated.",
            reads=WEIGHTED,
            conflicts={
                "--lang": "a language is served when it costs most, however long its text",
                "--word-counts": "it reads words that are counted already",
            },
        ),
    ] = None
    sample: Annotated[
        str | None,
        _text(
            "--sample SHARE",
            "Read only a random share of the lines (or of the documents in JSON Lines and tables), "
            "such as 0.1.",
            conflicts={"--word-counts": "it reads words that are counted already"},
        ),
    ] = None
    seed: Annotated[
        int | None,
        _text(
            "--seed N",
            "The random seed for --sample; by default 0.",
            min=0,
            needs=["--sample SHARE"],
        ),
    ] = None
    extend: Annotated[
        str | None,
        _text(
            "--extend MODEL",
            "Continue training this model, with its recipe: it keeps its ids, and --vocab is the "
            "new total.",
            short="Continue training this model",
            reads=FOLDER,
            conflicts={"--lang": "languages take turns from the first merge on"},
        ),
    ] = None
    errors: TrainErrors = "strict"


@dataclass(eq=False, repr=False)
class LanguageOptions(OptionGroup):
    """Options of parity-aware training: the languages and their turns."""

    lang: Annotated[
        list[str] | None,
        _languages(
            "--lang NAME=FILE",
            "A text in the language NAME, instead of FILE alone; can be repeated. At each step, "
            "the language that is compressed worst chooses the pair to merge.",
            reads=NAMED,
        ),
    ] = None
    lang_dev: Annotated[
        list[str] | None,
        _languages(
            "--lang-dev NAME=FILE",
            "A development text in the language NAME, which shows how it is compressed; best the "
            "same sentences in each language. By default the training texts show it.",
            reads=NAMED,
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    parity: Annotated[
        str | None,
        _languages(
            "--parity base|window",
            "base (default): the worst compressed language always chooses. window: skip a language "
            "that chose more than its share of the last merges.",
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    global_merges: Annotated[
        str | None,
        _languages(
            "--global-merges N|N%",
            "Let all texts together choose the first N merges, as in ordinary BPE; or N% of the "
            "merges. By default 0.",
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    parity_measure: Annotated[
        str | None,
        _languages(
            "--parity-measure tokens|bytes|characters",
            "What makes a language badly compressed: the tokens of its text (default with "
            "--lang-dev), tokens per byte (default without), or tokens per character.",
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    parity_target: Annotated[
        list[str] | None,
        _languages(
            "--parity-target NAME=2.5",
            "The compression that this language should have in proportion to the others; by "
            "default 1. Can be repeated.",
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    parity_window: Annotated[
        int | None,
        _languages(
            "--parity-window N",
            "With --parity window, the number of choices that it holds; by default 100.",
            min=1,
            needs=["--lang NAME=FILE"],
        ),
    ] = None
    parity_limit: Annotated[
        str | None,
        _languages(
            "--parity-limit X",
            "With --parity window, how many times its equal share of the window a language may "
            "have; by default 2.",
            needs=["--lang NAME=FILE"],
        ),
    ] = None


@dataclass(eq=False, repr=False)
class TrainOutputOptions(OptionGroup):
    """Options of the model file and of what is shown."""

    output: Annotated[
        str | None,
        CliOption(
            "--output -o PATH",
            "The model file; by default the first text's name with .ALGO.json, in this folder, "
            "which replaces only a model that was trained with the same options.",
            short="The model file",
            writes=FILE,
        ),
    ] = None
    force: Annotated[
        bool,
        CliOption(
            "--force",
            "Without -o, replace a file of that name even if it is another model, or no model.",
        ),
    ] = False
    list_presets: Annotated[
        bool,
        CliOption(
            "--list-presets",
            "List the presets and exit.",
            short="List the presets",
        ),
    ] = False
    show_steps: Annotated[
        int,
        _output(
            "--show-steps N",
            "Show the corpus state and the merge at each of the first N steps of training; for "
            "unigram, the first N rounds.",
            min=0,
            short="Show the first N steps of the training",
        ),
    ] = 0
    json: Annotated[bool, _output("--json", "Print facts as JSON instead of the path.")] = False
