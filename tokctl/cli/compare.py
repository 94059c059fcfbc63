"""`tokctl compare`: models side by side on the same texts."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import typer

from tokctl.cli import paging, reports
from tokctl.cli.command import add_command
from tokctl.cli.numbers import held_out_share, vocab_sizes
from tokctl.cli.options.compare import (
    DEFAULT_ALGORITHMS,
    DEFAULT_SIZES,
    CompareTexts,
    LookOptions,
    ModelOptions,
    PageOptions,
    ReadingOptions,
    SuiteOptions,
)
from tokctl.cli.options.shared import AnswerOptions
from tokctl.cli.options.sources import ListedTexts, SourceOptions
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, ExitCode, TokctlError, printable
from tokctl.core.humanize import listed
from tokctl.core.values import did_you_mean

if TYPE_CHECKING:
    from tokctl.analysis.comparison import Comparison, Trained, Training
    from tokctl.analysis.texts import Text
    from tokctl.extras.suite import Suite
    from tokctl.extras.suite.morphology import GoldWord
    from tokctl.model import Recipe
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer


EXAMPLES = """Examples:

  tokctl compare
  tokctl compare --vocab 2000 book.txt
  tokctl compare -m book.bpe.json -m book.wordpiece.json book.txt
  tokctl compare --vocab 1000,2000,5000,10000,20000 book.txt
  tokctl compare --held-out test.txt book.txt
  tokctl compare --algo bpe --sentence "There is still a lot" book.txt
  tokctl compare -m hf:ORG/NAME -m spiece.model book.txt
  tokctl compare -m book.bpe.json --lang en=en.txt --lang fi=fi.txt
  tokctl compare --suite --published book.txt
  tokctl compare --suite --gold morphemes.tsv -m a.json -m hf:ORG/NAME
  tokctl compare --suite --embeddings a=model.safetensors -m a.json book.txt
  tokctl compare -m new.json --baseline old.json --fail-if 'nsl > 1.02' a.txt
  tokctl compare --html book.html book.txt
  tokctl compare --plot book.svg --chart lengths book.txt
  cat book.txt | tokctl compare -m book.bpe.json --json -

METRIC is tokens, bytes_per_token, characters_per_token, nsl, fertility,
continued_words, strr, unk_rate, round_trip, vocabulary_use, renyi_efficiency
or shannon_efficiency; with --lang also gini, and parity (the highest).
Exit codes: 0 success, 1 a condition of --fail-if is true, 2 bad usage or
input."""


SHORT = "Compare models on the same texts: metrics, sentences, words."


def register(app: typer.Typer) -> None:
    """Add `tokctl compare` to `app`."""
    add_command(app, compare, epilog=EXAMPLES, short_help=SHORT)


def compare(
    context: typer.Context,
    texts: CompareTexts = None,
    *,
    models: ModelOptions,
    look: LookOptions,
    suite: SuiteOptions,
    page: PageOptions,
    shown: AnswerOptions,
    reading: ReadingOptions,
    sources: ListedTexts,
) -> int:
    """Compare models on the same texts: metrics, sentences, words, vocabularies.

    If you name no model, it trains some on nine tenths of the texts and
    measures them on the rest; they are not saved.
    --explain METRIC and docs/metrics.md explain each metric.
    --suite also measures texts by domain and language, and what happens to
    numbers, code and characters: docs/suite.md.
    """
    world: Console = context.obj
    from tokctl.analysis import comparison

    if look.explain is not None:
        return _explain(world, look.explain, paging.form(shown.given) or "text")
    if look.words not in ("spaces", "unicode"):
        raise BadOption(
            f"invalid value {look.words!r} for --words",
            did_you_mean(look.words, ("spaces", "unicode"))
            + "choose spaces or unicode; to explain a word, use --word",
            "bad-value",
        )
    conditions = [comparison.Condition.parse(text) for text in page.fail_if or []]
    form = paging.form(shown.given)
    files, texts = _told_apart(models.model or [], texts or [], sources.format)
    share = _held_out(files, models, look)
    if suite.suite and page.plot is not None and page.html is None:
        raise BadOption(
            "--plot draws the comparison, not the suite", "leave --suite out", "conflict"
        )
    gold_lists = _gold(suite.gold or [])
    others = [f"--{form}"] if form else []
    report = reports.requested_report(
        world, "compare", html=page.html, plot=page.plot, chart=page.chart, others=others
    )
    if report is None:
        return ExitCode.DONE
    request = _Request(files, texts, share, gold_lists, models, look, suite, page, reading, sources)
    named, added, result, of_suite = _measure(world, request)
    if report:
        reports.write_comparison(world, report, result, named, of_suite)
    else:
        from tokctl.report.compare import comparison_answer

        answer = comparison_answer(result)
        if of_suite:
            from tokctl.extras.suite.report import suite_answer

            answer = suite_answer(of_suite, result)
        paging.write(world, answer, form or "text", pages=not shown.no_pager)
    holding, unchecked = comparison.check(conditions, result, exempt=added)
    for line in unchecked:
        world.say(f"note: not checked: {line}")
    if holding:
        raise TokctlError(
            "; ".join(holding),
            "the conditions of --fail-if say when to fail; --json has every figure",
            "condition-failed",
            exit_code=ExitCode.CONDITION_FAILED,
        )
    return ExitCode.DONE


def _held_out(files: Sequence[str], models: ModelOptions, look: LookOptions) -> float | None:
    """Return the share of the texts to hold out; None if `--held-out` names a text.

    Args:
        files: the models that exist already.
        models: the options of models.
        look: the options of what the comparison looks at.

    Raises:
        TokctlError: options of training are given, and models that exist already, or languages.
    """
    if files and (models.algo or models.vocab):
        raise BadOption(
            "--algo and --vocab are for training, and -m names models that are trained",
            "leave -m out, or leave --algo and --vocab out",
            "conflict",
        )
    share = held_out_share(models.held_out)
    if share is None and (files or look.lang):
        raise BadOption(
            f"--held-out {models.held_out} can't be used with {'-m' if files else '--lang'}",
            "models that exist already are measured on all of the texts"
            if files
            else "give a share, of which each language loses the same lines",
            "conflict",
        )
    return share


class _Request(NamedTuple):
    """Checked arguments and options of a comparison.

    Attributes:
        files: the models that exist already; empty: models are trained.
        paths: the texts that the arguments name.
        share: the share of the texts to hold out; None: `--held-out` names a text.
        gold_lists: gold segmentations for the suite, by file.
        models: the options of models.
        look: the options of what the comparison looks at.
        suite: the options of the suite.
        page: the options of pages, with the date.
        reading: the options of reading.
        sources: how texts are read.
    """

    files: Sequence[str]
    paths: Sequence[str]
    share: float | None
    gold_lists: "dict[str, Sequence[GoldWord]]"
    models: ModelOptions
    look: LookOptions
    suite: SuiteOptions
    page: PageOptions
    reading: ReadingOptions
    sources: ListedTexts


class _Measured(NamedTuple):
    """Findings of a comparison.

    Attributes:
        models: the compared models by name.
        added: the name of a baseline that is not among the models to compare; None: none is.
        result: the results.
        suite: the results of the suite; None: no suite.
    """

    models: "dict[str, Tokenizer]"
    added: str | None
    result: "Comparison"
    suite: "Suite | None"


def _measure(world: Console, request: _Request) -> _Measured:
    """Load or train the models, and compare them."""
    from tokctl.analysis import comparison

    files, models, look = request.files, request.models, request.look
    suite, reading = request.suite, request.reading
    recipes = {} if files else _recipes(models.algo or [DEFAULT_ALGORITHMS])
    # The last size is the one that the report shows in detail.
    sizes = vocab_sizes(models.vocab or []) or list(DEFAULT_SIZES)
    at_hand = _at_hand(world, [*files, *recipes]) if suite.published else {}
    named, known_as, added = _load(files, [*recipes, *at_hand], models.baseline)
    vectors = _embeddings(suite.embeddings or [], [*named, *recipes, *at_hand])
    characters = any(not one.recipe.is_byte_level for one in [*named.values(), *at_hand.values()])
    characters |= any(not recipe.is_byte_level for recipe in recipes.values())
    opened = open_texts(world, request.sources, request.paths, look.lang or [])
    other = None
    if request.share is None:
        if models.held_out == "-" and "-" in request.paths:
            raise BadOption("stdin (-) is named twice", "it can be read only once", "conflict")
        other = open_texts(world, request.sources.without_lists(), [models.held_out], [])
    read, languages = opened.read(characters=characters, errors=reading.errors)
    here: _TrainedHere | None = None
    if recipes:
        here = _train(world, request, recipes, sizes, read, languages)
        read, languages = here.read, here.languages
        if other:
            read, _ = other.read(characters=characters, errors=reading.errors)
        detail = min(sizes[-1], here.training.size or sizes[-1])
        named |= {name: here.trained[name, detail] for name in recipes}
        if not models.vocab:
            here = here._replace(trained=_without_idle_sizes(here.trained, detail))
    named |= at_hand
    several = here is not None and len({size for _, size in here.trained}) > 1
    result = comparison.compare(
        list(named.items()),
        read,
        training=here and here.training,
        trained_on=here and here.texts,
        command=_command_line(world.arguments),
        date=date_today() if request.page.date else "",
        baseline=known_as,
        sentences=look.sentence,
        words=look.word,
        languages=languages,
        reference=look.reference,
        sweep=here.trained if here and several else None,
        word_rule=look.words,
        intervals=look.intervals,
        speed=look.speed,
        threads=reading.threads,
        errors=reading.errors,
    )
    of_suite = None
    if suite.suite:
        from tokctl.extras.suite import run_suite

        of_suite = run_suite(
            list(named.items()),
            read,
            baseline=result.baseline,
            trained_on=here.texts if here else [],
            gold=request.gold_lists,
            embeddings=vectors,
            tensor=suite.tensor,
            published=list(at_hand),
            threads=reading.threads,
            errors=reading.errors,
        )
    return _Measured(named, added, result, of_suite)


def date_today() -> str:
    """Return today's local date as 2026-01-31."""
    from datetime import date

    return date.today().isoformat()


#: The folders of an absolute path, which the recorded command line leaves out.
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^/=]+/)+")


def _command_line(arguments: Sequence[str]) -> str:
    """Return the command line quoted for a shell, without the folders of absolute paths."""
    return shlex.join(["tokctl", *(printable(_FOLDERS.sub("", one)) for one in arguments)])


#: Published vocabularies that a comparison takes from the caches, at most.
_MOST_PUBLISHED = 5


def _at_hand(world: Console, taken: Sequence[str]) -> "dict[str, Tokenizer]":
    """Load published vocabularies from the local caches, at most `_MOST_PUBLISHED`, by name.

    Notes on stderr say which vocabularies are loaded, and which are left out and why.

    Args:
        world: where the notes go.
        taken: the models and recipe names that are compared anyway; not loaded again.
    """
    from tokctl.formats import hub, tiktoken
    from tokctl.tokenizer import Tokenizer

    there = {name: path for name, path in tiktoken.cached().items() if name not in taken}
    there |= {
        name: path for name, path in hub.cached().items() if f"{hub.PREFIX}{name}" not in taken
    }
    found: dict[str, Tokenizer] = {}
    for place, (name, path) in enumerate(there.items()):
        if len(found) == _MOST_PUBLISHED:
            rest = listed(list(there)[place : place + 10])
            world.say(f"note: of the published vocabularies these are left out: {rest}")
            break
        try:
            found[printable(name)] = Tokenizer.load(path)
        except TokctlError as error:
            world.say(f"note: {printable(name)} is left out: {error.message}")
    if found:
        world.say(f"published vocabularies at hand: {listed(list(found))}")
    else:
        world.say(
            "note: no published vocabulary is in the caches of this machine; "
            "-m hf:ORG/NAME fetches one (-m hf:gpt2)"
        )
    return found


def _gold(paths: Sequence[str]) -> "dict[str, Sequence[GoldWord]]":
    """Read the lists of gold segmentations into morphemes, by file name."""
    if not paths:
        return {}
    from tokctl.extras.suite.morphology import read_gold

    return {printable(path): read_gold(path) for path in paths}


def _embeddings(values: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Parse the `MODEL=FILE` values of `--embeddings` into a file for each model name."""
    files: dict[str, str] = {}
    for entry in values:
        name, sign, path = entry.partition("=")
        if not (name and sign and path):
            raise BadOption(
                f"invalid value {entry!r} for --embeddings",
                "write MODEL=FILE: --embeddings a=a.safetensors",
                "bad-value",
            )
        if name not in models:
            raise BadOption(
                f"--embeddings: no model of this comparison is called {name!r}",
                f"choose one of: {', '.join(models)}",
                "unknown-name",
            )
        if name in files:
            raise BadOption(
                f"--embeddings names {name} twice", "give each model one file", "conflict"
            )
        files[name] = path
    return files


def _explain(world: Console, name: str, form: str) -> int:
    """Write the definition of the metric `name`, or of every metric if `name` is `all`."""
    from tokctl.analysis.metrics import DEFINITIONS, definition_of
    from tokctl.analysis.suite_metrics import DEFINITIONS as OF_SUITE

    every = {**DEFINITIONS, **OF_SUITE}
    found = list(every.values()) if name == "all" else [definition_of(name, every)]
    from tokctl.report.compare import definitions_answer

    paging.write(world, definitions_answer(found), form, pages=False)
    return ExitCode.DONE


def _recipes(values: Sequence[str]) -> "dict[str, Recipe]":
    """Return the recipes of `--algo` by name: algorithms with default recipes, and presets.

    `--algo` may be repeated, and each value may hold several names with commas between them.
    """
    from tokctl.model.presets import DEFAULTS, PRESETS, default_recipe, preset

    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if name not in DEFAULTS and name not in PRESETS:
            raise BadOption(
                f"no algorithm or preset is called {name!r}",
                f"choose one of: {', '.join(DEFAULTS)}; or one of tokctl train --list-presets",
                "unknown-name",
            )
    return {
        name: preset(name) if name in PRESETS and name not in DEFAULTS else default_recipe(name)
        for name in names
    }


def _told_apart(models: list[str], paths: list[str], form: str) -> tuple[list[str], list[str]]:
    """Separate the models from the texts among the arguments.

    With `--format`, every argument is a text.

    Raises:
        TokctlError: models are given both by `-m` and among the texts.
    """
    from tokctl import formats

    found = [path for path in paths if form == "auto" and formats.format_of(path)]
    if found and models:
        both = " ".join(f"-m {path}" for path in [*models, *found])
        raise BadOption(
            f"{found[0]} is a model, but was given as a text",
            f"tokctl compare {both} … compares them; --format text reads it as text",
            "conflict",
        )
    return models or found, [path for path in paths if path not in found]


def _load(
    files: Sequence[str], algorithms: Sequence[str], baseline: str | None
) -> "tuple[dict[str, Tokenizer], str | None, str | None]":
    """Load the model files.

    Returns:
        The models by name; the baseline's name, if there is one; and the baseline's name again if
        the baseline is not among `files`, and so has been added in front of them.
    """
    from tokctl.analysis import comparison
    from tokctl.tokenizer import Tokenizer

    names = comparison.name_files(files, algorithms)
    reference, added = None, None
    if baseline is not None:
        reference = comparison.find_baseline(baseline, names | dict.fromkeys(algorithms, ""))
        if reference is None:
            names = comparison.name_files([baseline, *files], algorithms)
            reference = added = next(iter(names))
    loaded = {printable(name): Tokenizer.load(path) for name, path in names.items()}
    return loaded, reference and printable(reference), added and printable(added)


class _TrainedHere(NamedTuple):
    """Models trained on a part of the texts, and the texts to measure them on.

    Attributes:
        trained: the models by recipe name and size.
        training: how they were trained, for the report.
        texts: the parts to train on.
        read: the held-out parts, to measure on.
        languages: the held-out part of each language.
    """

    trained: "Trained"
    training: "Training"
    texts: "list[Text]"
    read: "list[Text]"
    languages: "dict[str, Text]"


def _train(
    world: Console,
    request: _Request,
    recipes: "Mapping[str, Recipe]",
    sizes: Sequence[int],
    read: "list[Text]",
    languages: "dict[str, Text]",
) -> _TrainedHere:
    """Train the recipes on the texts without their held-out parts.

    Empties `read` and `languages`, so that each whole text is freed once it has been split.
    """
    from tokctl.analysis.comparison import (
        TrainedText,
        Training,
        at_equal_sizes,
        digest_of_text,
        train_sizes,
    )
    from tokctl.analysis.held_out import split

    share, seed = request.share, request.models.held_out_seed
    threads, errors = request.reading.threads, request.reading.errors
    texts: list[Text] = []
    parts: list[TrainedText] = []

    def measured(text: "Text", lines: bool = False) -> "Text":
        one = split(text, share or 0, seed=seed, lines=lines)
        texts.append(one.training)
        size = one.training.size
        parts.append(TrainedText(digest_of_text(text), size, one.unit, one.units, one.held_out))
        return one.measured

    rest = [measured(read.pop(0)) for _ in range(len(read))]
    of_languages = {name: measured(languages.pop(name), lines=True) for name in list(languages)}
    where = texts[0].name if len(texts) == 1 else f"{len(texts)} texts"
    names = listed([f"{size:,}" for size in sorted(set(sizes))])
    world.say(f"training {listed(list(recipes))} with {names} ids on {where}; they are not saved")
    trained = train_sizes(recipes, texts, sizes, threads=threads, errors=errors)
    equal, size = at_equal_sizes(trained, texts, threads=threads, errors=errors)
    for name, recipe in recipes.items():
        reached = trained[name, max(sizes)].vocab_size
        if reached < max(sizes):
            world.say(f"note: {name} reaches {reached:,} ids: {recipe.traits.exhausted}")
    if size and size >= sizes[-1]:
        size = None  # every model reaches the size shown in detail
    training = Training(tuple(parts), share, seed, sizes[-1], size)
    return _TrainedHere(equal, training, texts, rest, of_languages)


def _without_idle_sizes(trained: "Trained", detail: int) -> "Trained":
    """Drop all sizes but `detail` if no model grows beyond `detail`."""
    if any(tokenizer.vocab_size > detail for tokenizer in trained.values()):
        return trained
    return {key: tokenizer for key, tokenizer in trained.items() if key[1] == detail}


@dataclass(frozen=True)
class OpenedTexts:
    """Checked texts that have not been read yet.

    Attributes:
        texts: the sources that are one text each.
        languages: the sources of each language, which together make one text.
    """

    texts: "list[Source]"
    languages: "dict[str, list[Source]]"

    @property
    def names(self) -> list[str]:
        """Return the names of all sources: paths, for files."""
        return [source.name for found in (self.texts, *self.languages.values()) for source in found]

    def read(self, *, characters: bool, errors: str) -> "tuple[list[Text], dict[str, Text]]":
        """Read the texts, and one text per language, into memory.

        Each source is read once: training and comparing both need the text, and a pipe can be read
        only once.

        Args:
            characters: whether some model reads characters, so that the texts must be UTF-8.
            errors: `strict` refuses text that is not UTF-8; `replace` replaces the invalid bytes.
        """
        from tokctl.analysis.comparison import read_texts, read_together

        found = read_texts(self.texts, characters=characters, errors=errors)
        texts = [replace(text, name=printable(text.name)) for text in found]
        languages = {
            name: read_together(name, sources, characters=characters, errors=errors)
            for name, sources in self.languages.items()
        }
        return texts, languages


def open_texts(
    world: Console, given: SourceOptions, paths: Sequence[str], named: Sequence[str]
) -> OpenedTexts:
    """Open the texts that arguments, lists and `--lang` name; without any, the bundled sample.

    Args:
        world: the streams, and where the user is told that the sample is used.
        given: how texts are read, and the lists that name more of them.
        paths: the arguments.
        named: the `NAME=FILE` values of `--lang`.
    """
    from tokctl import sources
    from tokctl.sources.corpora import corpus_path

    files = _languages(named)
    named_files = [*paths, *files.values(), given.files_from, given.files0_from]
    if named_files.count(sources.STDIN) > 1:
        raise BadOption("stdin (-) is named twice", "it can be read only once", "conflict")
    texts = given.open(world, paths) if paths or given.lists else []
    languages = {
        name: sources.open_sources([path], given.reading, stdin=world.stdin)
        for name, path in files.items()
    }
    if texts or languages:
        return OpenedTexts(texts, languages)
    if paths or given.lists:
        raise BadInput("no text was found in what you named", "name a text that exists")
    given.check_needed("name a text; the bundled sample is plain text")
    sample = corpus_path("sample")
    world.say(f"no text was given: using the bundled sample, {sample.name}")
    # Reports show the file's name without the folder of the installation, for privacy.
    return OpenedTexts(
        [text._replace(name=sample.name) for text in sources.documents([sample])], {}
    )


def _languages(named: Sequence[str]) -> dict[str, str]:
    """Parse the `NAME=FILE` values of `--lang` into a path for each language."""
    files: dict[str, str] = {}
    for entry in named:
        name, sign, path = entry.partition("=")
        if not (name and sign and path):
            raise BadOption(
                f"invalid value {entry!r} for --lang",
                "write NAME=FILE: --lang fi=fi.txt",
                "bad-value",
            )
        if printable(name) in files:
            raise BadOption(
                f"the language {name} is named twice", "give each language one file", "conflict"
            )
        files[printable(name)] = path
    return files
