"""Options of `compare`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import (
    FOLDER,
    NAMED,
    NAMED_FOLDER,
    TEXTS,
    CliArgument,
    CliOption,
    OptionGroup,
)
from tokctl.cli.options.shared import ANSWER, CHART, PAGE, CompareErrors, CompareThreads, Html, Plot

_models = partial(CliOption, panel="Models")
_look = partial(CliOption, panel="What to look at")
_reading = partial(CliOption, panel="Reading")
_suite = partial(CliOption, panel="The suite (with --suite)")
DEFAULT_ALGORITHMS = "bpe,wordpiece-likelihood,wordpiece-count,unigram"
#: Sizes that `compare` trains without `--vocab`; the last one is shown in detail.
DEFAULT_SIZES = (20_000, 10_000)


CompareTexts = Annotated[
    list[str] | None,
    CliArgument(
        "[TEXT]…",
        "Texts, each one document; - is stdin. The default is the bundled sample. Model files "
        "among them are compared, as if given with -m.",
        reads=TEXTS,
    ),
]


@dataclass(eq=False, repr=False)
class ModelOptions(OptionGroup):
    """Options of the models: existing ones, or algorithms and sizes to train."""

    model: Annotated[
        list[str] | None,
        _models(
            "--model -m MODEL",
            "A model: a file or folder in any format, or hf:ORG/NAME; can be repeated. "
            "Without it, models are trained on the texts.",
            short="A model; can be repeated",
            reads=FOLDER,
        ),
    ] = None
    baseline: Annotated[
        str | None,
        _models(
            "--baseline NAME|MODEL",
            "The model that NSL and the differences are relative to; by default the first. A "
            "MODEL that is not among the others is added to the comparison.",
            reads=FOLDER,
        ),
    ] = None
    algo: Annotated[
        list[str] | None,
        _models(
            "--algo ALGO,…",
            "What to train: an algorithm of train, such as superbpe, or a preset; "
            f"by default {DEFAULT_ALGORITHMS.replace(',', ', ')}.",
            values=values.algorithms_and_presets,
            short="What to train; by default all",
        ),
    ] = None
    vocab: Annotated[
        list[str] | None,
        _models(
            "--vocab -v N,…",
            "The vocabulary size of the trained models; by default 20000,10000. If you give "
            "several, models of every size are trained, and the last size is shown in detail.",
            short="Sizes to train: 5K,10K",
        ),
    ] = None
    held_out: Annotated[
        str,
        _models(
            "--held-out SHARE|FILE",
            "What trained models are measured on: a share of each text, which is left out of "
            "training (documents, or blocks of paragraphs or lines); another text; or, with 0, the "
            "training text itself.",
            short="What to measure on; by default 0.1 of each text",
            reads=TEXTS,
        ),
    ] = "0.1"
    held_out_seed: Annotated[
        int, _models("--held-out-seed N", "The random seed for --held-out.")
    ] = 0


@dataclass(eq=False, repr=False)
class LookOptions(OptionGroup):
    """Options of the sentences, words, languages and intervals to show."""

    lang: Annotated[
        list[str] | None,
        _look(
            "--lang NAME=FILE",
            "A text in the language NAME; can be repeated. All of these texts must say the same, "
            "line by line.",
            short="A text in a language; can be repeated",
            reads=NAMED,
        ),
    ] = None
    reference: Annotated[
        str | None,
        _look("--reference NAME", "The language that parity is relative to; by default the first."),
    ] = None
    sentence: Annotated[
        list[str] | None,
        _look(
            "--sentence TEXT",
            "A sentence to show; can be repeated. By default, a few from the texts.",
            short="A sentence to show",
        ),
    ] = None
    word: Annotated[
        list[str] | None,
        _look(
            "--word WORD",
            "A word to explain; can be repeated. By default, some words of the sentences that the "
            "models split differently.",
            short="A word to explain",
        ),
    ] = None
    words: Annotated[
        str,
        _look(
            "--words spaces|unicode",
            "What counts as a word for fertility, STRR and continued words: text between white "
            "space (spaces), or a word as defined by UAX #29 (unicode).",
            closed=False,
        ),
    ] = "spaces"
    intervals: Annotated[
        bool,
        _look(
            "--intervals",
            "Add 95% intervals, computed by resampling the lines of the texts (bootstrap), to tell "
            "real differences from noise.",
            short="95% intervals: is a difference more than noise?",
        ),
    ] = False
    speed: Annotated[
        bool,
        _look(
            "--speed", "Measure how fast each model encodes and decodes here; varies between runs."
        ),
    ] = False
    explain: Annotated[
        str | None,
        _look(
            "--explain METRIC",
            "Explain a metric, or all of them, instead of comparing: its formula, unit and source, "
            "and when it misleads.",
            values=values.metrics,
            short="What a metric is, and when it misleads",
        ),
    ] = None


@dataclass(eq=False, repr=False)
class SuiteOptions(OptionGroup):
    """Options of the suite of texts by domain and language."""

    suite: Annotated[
        bool,
        _suite(
            "--suite",
            "Measure more: bundled prose, code, numbers, names, mark-up and sentences in 25 "
            "languages; how numbers, code and characters are cut; stability under typos, case and "
            "spaces; tokens that are hardly trained. See docs/suite.md.",
            short="Texts by domain, languages, numbers, code, …",
        ),
    ] = False
    published: Annotated[
        bool,
        _suite(
            "--published",
            "Add published vocabularies that are on this machine, in the caches of the Hugging "
            "Face Hub and of tiktoken. Never uses the network.",
            needs=["--suite"],
        ),
    ] = False
    gold: Annotated[
        list[str] | None,
        _suite(
            "--gold FILE",
            "A list of words with their morphemes, to compare the cuts with; may be repeated. A "
            "line is a word, a tab, and its morphemes separated by spaces. No model is ranked by "
            "it.",
            reads=TEXTS,
            needs=["--suite"],
        ),
    ] = None
    embeddings: Annotated[
        list[str] | None,
        _suite(
            "--embeddings MODEL=FILE",
            "The embeddings of a model, a safetensors file: tokens whose vectors are unusual may "
            "be hardly trained. May be repeated, once for each model.",
            reads=NAMED_FOLDER,
            needs=["--suite"],
        ),
    ] = None
    tensor: Annotated[
        str | None,
        _suite(
            "--tensor NAME",
            "The matrix of embeddings in these files, where a usual name does not say it.",
            needs=["--embeddings MODEL=FILE"],
        ),
    ] = None


@dataclass(eq=False, repr=False)
class PageOptions(OptionGroup):
    """Options of pages, charts and conditions."""

    fail_if: Annotated[
        list[str] | None,
        ANSWER(
            "--fail-if 'METRIC OP NUMBER'",
            "Exit with code 1 if this is true of a model over all texts; OP is one of "
            "< <= > >=. Can be repeated. A model that only --baseline names is not checked.",
        ),
    ] = None
    html: Html = None
    plot: Plot = None
    chart: Annotated[
        str | None,
        PAGE("--chart NAME", CHART, values=values.comparison_charts),
    ] = None
    date: Annotated[
        bool,
        ANSWER(
            "--date",
            "Say on which day the comparison was made. Without it, the output is always the same.",
        ),
    ] = False


@dataclass(eq=False, repr=False)
class ReadingOptions(OptionGroup):
    """Options of reading and of threads."""

    errors: CompareErrors = "strict"
    threads: CompareThreads = None
