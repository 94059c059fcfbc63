"""Options of `inspect`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import FOLDER, TEXTS, CliArgument, CliOption, OptionGroup
from tokctl.cli.options.shared import CHART, NO_PAGER, PAGE, Html, Plot

_question = partial(CliOption, panel="Questions (one at a time)")
_answer = partial(CliOption, panel="How it answers")


#: Questions that need a text, that can take one, and whose answer `--limit` shortens.
NEED_TEXTS = ("--state", "--pairs", "--use", "--gap")
ABOUT_TEXTS = (*NEED_TEXTS, "--token", "--check", "--watch", "--html", "--plot")
LIMITED = ("--merges", "--merges-of", *NEED_TEXTS, "--token", "--check")

InspectModel = Annotated[
    str | None,
    CliArgument(
        "MODEL",
        "The model, unless -m names it: a file, a folder or hf:ORG/NAME; by default $TOKCTL_MODEL.",
        reads=FOLDER,
    ),
]
InspectTexts = Annotated[
    list[str] | None,
    CliArgument(
        "TEXT",
        "Text files for --state, --pairs, --use and --gap; - or no TEXT is stdin. For --token, a "
        "text whose words use the token. --check, --watch, --html and --plot take texts, too.",
        reads=TEXTS,
    ),
]


@dataclass(eq=False, repr=False)
class QuestionOptions(OptionGroup):
    """Options that ask a question; one at a time."""

    merges: Annotated[
        str | None,
        _question(
            "--merges A:B",
            "The merge history from step A to B, inclusive. Also A:, :B, : and N (one step), and "
            "-N: for the last N steps.",
            short="The merge history from step A to B",
        ),
    ] = None
    merges_of: Annotated[
        str | None,
        _question(
            "--merges-of TOKEN",
            "Every merge that uses or makes the token. est*, *est and *est* mean all tokens whose "
            "text starts with, ends with or contains est. Can be combined with --merges.",
        ),
    ] = None
    state: Annotated[
        int | None,
        _question(
            "--state STEP",
            "The corpus state of the texts after that step; 0 is before the first merge.",
            short="The corpus state of TEXT after that step",
        ),
    ] = None
    pairs: Annotated[
        int | None,
        _question(
            "--pairs STEP",
            "The pairs in that corpus state with the counts or scores that training compares, and "
            "the pair that would be merged next.",
        ),
    ] = None
    word: Annotated[
        str | None,
        _question(
            "--word WORD",
            "How this word or text is split, step by step, and why.",
            short="How a word is split, step by step, and why",
        ),
    ] = None
    token: Annotated[
        str | None,
        _question(
            "--token TOKEN",
            "The merges that make a token and those that use it; '#300' is the token with id 300, "
            "unless a token has that spelling. With a TEXT, also the words that use it most.",
            short="The merges that make and use a token",
        ),
    ] = None
    use: Annotated[
        bool,
        _question(
            "--use",
            "Which tokens the texts use and how often, and which they never use.",
            short="Which tokens TEXT uses, and which never",
        ),
    ] = False
    gap: Annotated[
        bool,
        _question(
            "--gap",
            "How far the tokens of the texts are from the fewest: the exact minimum for this "
            "vocabulary, a lower bound for every vocabulary of its size, and the pre-tokens that "
            "lose the most.",
            short="How far the tokens of TEXT are from the fewest",
        ),
    ] = False
    rounds: Annotated[
        bool,
        _question(
            "--rounds",
            "The rounds of a Unigram training: the loss curve, and the pieces that each round kept "
            "and dropped.",
        ),
    ] = False
    recipe: Annotated[
        bool,
        _question(
            "--recipe",
            "The whole recipe, stage by stage, and where it came from; --json shows every field.",
            short="The whole recipe",
        ),
    ] = False
    check: Annotated[
        bool,
        _question(
            "--check",
            "Check the health of the model: unreachable tokens, missing bytes, special tokens that "
            "text can spell, and more; with TEXT, also tokens that the text never uses. "
            "docs/health.md explains each check.",
            short="The health of the model",
        ),
    ] = False
    watch: Annotated[
        bool,
        _question(
            "--watch",
            "Replay the training on the texts step by step; the keys go forward and back. Without "
            "a TEXT, on the bundled sample. Needs the extra tokctl\\[watch].",
            short="Replay the training on TEXT",
        ),
    ] = False


@dataclass(eq=False, repr=False)
class DetailOptions(OptionGroup):
    """Options of some questions: limits, texts, embeddings."""

    limit: Annotated[
        int | None,
        _answer(
            "--limit N",
            "Lines to show with --merges, --merges-of, --state, --pairs and --token; by default "
            "all merges and 30 others, but with --json and --csv all. With --use: tokens in each "
            "list. With --gap: pre-tokens. With --check: examples of each finding.",
            min=1,
            short="Show at most N lines",
            needs=LIMITED,
        ),
    ] = None
    nbest: Annotated[
        int | None,
        _answer(
            "--nbest N",
            "With --word and a Unigram model: how many segmentations to show, with their "
            "probabilities; by default 5, at most 512.",
            min=1,
            needs=["--word WORD"],
        ),
    ] = None
    fail_on: Annotated[
        str | None,
        _answer(
            "--fail-on info|warning|error",
            "With --check: exit with code 1 if it finds anything of that severity or worse.",
            closed=True,
            needs=["--check"],
        ),
    ] = None
    embeddings: Annotated[
        str | None,
        _answer(
            "--embeddings FILE",
            r"With --check: the embeddings of a language model, .safetensors, its .index.json or "
            r"their folder: which tokens are under-trained (needs NumPy: pip install "
            r"'tokctl\[embeddings]').",
            reads=FOLDER,
            needs=["--check"],
        ),
    ] = None
    tensor: Annotated[
        str | None,
        _answer(
            "--tensor NAME",
            "With --embeddings: the name of the tensor, if it is not a usual one.",
            needs=["--embeddings FILE"],
        ),
    ] = None
    counts: Annotated[
        bool,
        _answer(
            "--word-counts",
            "With --state, --pairs and --watch: the file holds word counts instead of text, as "
            "train --word-counts reads them.",
            former="--counts",
        ),
    ] = False
    errors: Annotated[
        str | None,
        _answer(
            "--errors strict|replace",
            "If TEXT is not UTF-8 and the model is character-level: stop (strict, the default), or "
            "read U+FFFD there (replace).",
            needs=ABOUT_TEXTS,
        ),
    ] = None


@dataclass(eq=False, repr=False)
class InspectAnswerOptions(OptionGroup):
    """Options of the answer: its form, page and chart."""

    html: Html = None
    plot: Plot = None
    chart: Annotated[
        str | None,
        PAGE("--chart NAME", CHART, values=values.model_charts),
    ] = None
    no_pager: Annotated[bool, _answer("--no-pager", NO_PAGER)] = False
    as_json: Annotated[
        bool,
        _answer(
            "--json",
            "The answer as one JSON document.",
            short="The answer as JSON",
        ),
    ] = False
    csv: Annotated[
        bool,
        _answer(
            "--csv",
            "The tables of the answer as CSV, with all rows and every digit of each figure.",
            short="The tables of the answer as CSV",
        ),
    ] = False
    markdown: Annotated[bool, _answer("--markdown", "The answer as Markdown.")] = False
    latex: Annotated[
        bool, _answer("--latex", "The answer as LaTeX; its tables need the package booktabs.")
    ] = False
