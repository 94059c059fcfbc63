"""`tokctl train`: a model file from texts."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tokctl.cli import engines, recipes, streams, train_report
from tokctl.cli.command import add_command
from tokctl.cli.languages import LanguageTexts, languages_of, turns_of
from tokctl.cli.numbers import size_of, spoken
from tokctl.cli.options.shared import TrainFiles
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.options.train import (
    CountingOptions,
    LanguageOptions,
    RecipeOptions,
    TrainOutputOptions,
)
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, TokctlError, printable
from tokctl.training.options import TrainOptions, parse_share

if TYPE_CHECKING:
    from tokctl._native import Counts
    from tokctl.extras.ray import Cluster
    from tokctl.model import Model, Recipe
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.training import Timing
    from tokctl.training.parity import CountedLanguages

EXAMPLES = """Examples:

  tokctl train book.txt
  tokctl train --algo wordpiece --vocab 20000 book.txt
  tokctl train --algo superbpe --transition 80% book.txt
  tokctl train --preset gpt2 --vocab 50257 corpus/
  tokctl train --text-field body corpus.jsonl.zst
  cat book.txt | tokctl train --vocab 5000 -
  tokctl train --vocab 300 --show-steps 5 book.txt
  tokctl train -a unigram --coverage 0.9995 book.txt
  tokctl train --normalize nfc --pretokenize digits,gpt2 a
  tokctl train --special-token '<s>' --template '<s> $A' a.txt
  tokctl train --weight small=3 --sample 0.5 small large
  tokctl train --memory 2G --min-count 2 huge.txt.zst
  tokctl train --save-counts words.tsv.gz large.txt
  tokctl train --word-counts words.tsv.gz --algo unigram
  tokctl train --extend a.bpe.json --vocab 12000 b.txt
  tokctl train --lang fi=fi.txt --lang sw=sw.txt -o m.json
  M=$(tokctl train -q book.txt)

The path of the model file goes to stdout, on a line of
its own; everything else goes to stderr. If you press
Ctrl-C, training stops and no model is written. The same
texts and options give the same file, with any number of
threads and any --memory."""


SHORT = "Train a tokenizer on texts and write its model file."


def register(app: typer.Typer) -> None:
    """Add `tokctl train` to `app`."""
    add_command(app, train, epilog=EXAMPLES, short_help=SHORT)


def train(
    context: typer.Context,
    files: TrainFiles = None,
    *,
    recipe: RecipeOptions,
    vocabulary: TrainOptions,
    output: TrainOutputOptions,
    counting: CountingOptions,
    languages: LanguageOptions,
    sources: ListedTexts,
) -> None:
    """Train a tokenizer on texts and write its model file: a tokenizer.json, which Hugging Face
    libraries load if that format can hold the recipe.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    if output.list_presets:
        train_report.list_presets(world, json=output.json)
        return
    from tokctl import training

    old = None if counting.extend is None else streams.load_model(world, counting.extend).model
    notes: list[str] = []
    filled = recipes.recipe_of(recipe, old.recipe if old else None, notes.append)
    recipes.check_algorithm(filled, vocabulary, output)
    chosen = with_counting(vocabulary, counting, old)
    by_language = languages_of(languages, has_texts=bool(files or sources.lists))
    if by_language:
        by_language.check_against(filled, chosen)
        files = by_language.paths
    check_before(filled, chosen, counting.counts, files, sources)
    cluster = (
        None if counting.engine is None else cluster_of(world, counting.engine, filled, chosen)
    )
    _refuse_algorithms(files or ())
    # Not opened as texts: a file of words and counts would be read as a table of texts.
    lines = streams.documents(world, files) if counting.counts else []
    opened = by_language.open(world, sources) if by_language else None
    texts = lines or (opened.all if opened else sources.open(world, files))
    if not lines:
        streams.refuse_models(files or (), texts, sources.format)
    if counting.plan and cluster:
        from tokctl.extras.ray import plan as plans

        train_report.plan(world, *plans.plan(cluster, texts, filled, chosen), json=output.json)
        return
    path = model_path(output.output, files or [], texts, filled)
    world.inputs.write(path)
    streams.check_output(world, path)
    replaced = Path(path).is_file() and not streams.is_same_file(world.stdout, path)
    if replaced and output.output is None and not output.force:
        check_replaced(path, filled, chosen, texts, by_language)
    if counting.save_counts is not None:
        check_save_counts(world, counting.save_counts, texts, chosen)
    if chosen.memory is not None:
        chosen = replace(chosen, temporary=temporary_folder(world, path))
    for note in notes:
        world.say(f"note: {printable(note)}")

    from tokctl.cli.progress import ProgressDisplay
    from tokctl.tokenizer import Tokenizer

    timing = training.Timing()
    with ProgressDisplay(world, rounds=filled.maximizes_probability) as bars:
        # Counting is separate: --show-steps needs the counts, and stdin can't be read again.
        counted: Counts | CountedLanguages
        if by_language and opened:
            counted = spoken = opened.count(filled, chosen, bars)
            timing.lap("count")
            model = by_language.fill(spoken, filled, chosen, bars, timing)
        else:
            if lines:
                counted, text = training.count_lines(lines[0], filled, chosen, bars)
            else:
                count = cluster.count if cluster else training.count
                counted, text = count(texts, filled, chosen, bars)
            if counting.save_counts is not None:
                from tokctl.training.counts import save

                # Saved before the training, so that the counts survive its failure.
                save(counting.save_counts, counted)
            timing.lap("count")
            model = training.fill(counted, text, filled, chosen, bars, timing)
    # On a cluster, --memory limits each worker.
    if not cluster and (why := more_than_memory(counted, chosen)):
        world.say(f"note: {why}")
    tokenizer = Tokenizer(model)
    tokenizer.save(path)
    timing.lap("write")
    _report(world, tokenizer, path, timing, counted, output, replaced=replaced)


def _report(
    world: Console,
    tokenizer: "Tokenizer",
    path: str,
    timing: "Timing",
    counted: "Counts | CountedLanguages",
    output: TrainOutputOptions,
    *,
    replaced: bool,
) -> None:
    """Report a training on stderr, and the path of the model, or facts as JSON, on stdout."""
    from tokctl import formats

    train_report.report(
        world,
        tokenizer,
        timing,
        counted if output.show_steps else None,
        output.show_steps,
        replaced=path if replaced else None,
    )
    if why := formats.why_not_loadable(tokenizer.model):
        world.say(f"note: Hugging Face refuses this file: {printable(why)}")
    if output.json:
        from tokctl.core import orjson

        facts = train_report.facts(tokenizer, path, timing, replaced=replaced)
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, path):  # else stdout is the model file
        world.stdout.write(os.fsencode(path) + b"\n")


def with_counting(
    options: TrainOptions, counting: CountingOptions, extended: "Model | None"
) -> TrainOptions:
    """Return the options of the training with those that the command line has in another form.

    Args:
        options: the options of the vocabulary.
        counting: the options of reading and counting.
        extended: the model to continue from, if there is one.
    """
    sample = None if counting.sample is None else parse_share("--sample", counting.sample)
    return replace(
        options,
        initial_tokens=initial_tokens_of(options.initial_tokens, counting.initial_tokens_from),
        threads=counting.threads,
        errors=counting.errors,
        memory=memory_limit(counting.memory),
        weights=weights_of(counting.weight or []),
        sample=sample,
        seed=counting.seed or 0,
        extend=extended,
    )


def initial_tokens_of(given: Sequence[str] | None, path: str | None) -> list[str]:
    """Return the values of `--initial-token`, then the lines of `--initial-tokens-from`.

    Empty lines are skipped.
    """
    found = list(given or ())
    if path == "-":
        raise BadOption(
            "--initial-tokens-from reads no stdin", "name a file with a token a line", "bad-value"
        )
    if path is not None:
        from tokctl.sources import documents

        (text,) = documents([path])
        for number, line in enumerate(b"".join(text.blocks()).split(b"\n"), 1):
            try:
                if word := line.removesuffix(b"\r").decode("utf-8-sig"):
                    found.append(word)
            except UnicodeDecodeError:
                raise BadInput(
                    f"{path}: line {number} is not UTF-8",
                    "initial tokens are texts, one a line",
                    "not-utf8",
                ) from None
    return found


def weights_of(given: Sequence[str]) -> dict[str, str]:
    """Parse the `TEXT=WEIGHT` values of `--weight` into a weight for each text.

    Raises:
        TokctlError: a value has another form, or a text has two weights.
    """
    found: dict[str, str] = {}
    for entry in given:
        name, equals, number = entry.rpartition("=")
        if not equals or not name or not number:
            raise BadOption(
                f"invalid value {entry!r} for --weight",
                "name the text, then its weight: book.txt=2.0",
                "bad-value",
            )
        if name in found:
            raise BadOption(f"{name} has two weights", "leave one of them out", "conflict")
        found[name] = number
    return found


#: Least `--memory` in bytes; with less, counting would write more to disk than it counts.
LEAST_MEMORY = 16 << 20


def memory_limit(text: str | None) -> int | None:
    """Parse `--memory` into bytes; None if the option is not given.

    Raises:
        TokctlError: the text is not a size, or is less than `LEAST_MEMORY`.
    """
    return None if text is None else size_of("--memory", text, LEAST_MEMORY)


def more_than_memory(counted: "Counts | CountedLanguages", chosen: TrainOptions) -> str | None:
    """Return a note if the pre-tokens to train on take more memory than `--memory`, else None."""
    if chosen.memory is None or (bytes_ := counted.memory()) <= chosen.memory:
        return None
    return (
        f"the {len(counted):,} pre-tokens that are left take {spoken(bytes_)}, more than "
        f"--memory {spoken(chosen.memory)}, and training takes more than that: --memory "
        "limits the counting; a higher --min-count leaves fewer"
    )


def cluster_of(world: Console, name: str, recipe: "Recipe", chosen: TrainOptions) -> "Cluster":
    """Return the cluster of `--engine` after checking that it can do the counting.

    Raises:
        TokctlError: no engine has this name.
    """
    from tokctl.training.counting import check_parts

    check_parts(recipe, chosen)
    return engines.cluster(world, name)


def _refuse_algorithms(files: Sequence[str]) -> None:
    """Raise TokctlError if an algorithm is named in place of a text."""
    from tokctl.model import ALGORITHMS

    for name in files:
        if name in ALGORITHMS and not Path(name).exists():
            raise BadInput(
                f"there is no text {name}", f"an algorithm is named by --algo {name}", "unreadable"
            )


def check_before(
    recipe: "Recipe",
    chosen: TrainOptions,
    counts: bool,
    files: list[str] | None,
    sources: ListedTexts,
) -> None:
    """Raise TokctlError if options conflict or the vocabulary is too small, before texts are read.

    Args:
        recipe: the recipe to train.
        chosen: the training options.
        counts: the input is words with their counts.
        files: the arguments.
        sources: how texts are read.
    """
    from tokctl.training import initial_tokens, resizing

    chosen.check_against(recipe)
    initial_tokens.pre_tokens(recipe, chosen)
    if chosen.extended:
        resizing.check_extension(chosen.extended, recipe)
        if chosen.vocab_size <= (size := len(chosen.extended.tokens)):
            raise BadOption(
                f"the model to extend has {size:,} ids already, so that {chosen.vocab_size:,} in "
                "all leave nothing to learn",
                f"ask for more in all: --vocab {size + 1000}",
                "bad-value",
            )
    if counts and recipe.traits.reads_twice:
        raise BadOption(
            f"{recipe.algorithm} needs texts: counts of words don't say which words stand side "
            "by side",
            "train on the texts that were counted",
            "conflict",
        )
    if counts and len(files or []) > 1:
        raise BadOption(
            "--word-counts takes one file",
            "counts of the same word add up: cat a b | tokctl train --word-counts -",
            "conflict",
        )
    if counts and sources.given:
        raise BadOption(
            "--word-counts reads lines of words and counts: options of texts mean nothing there",
            "leave --format, --text-field, --include, --exclude and --files-from out",
            "conflict",
        )
    least = 256 + len(recipe.special_tokens)
    if recipe.is_byte_level and chosen.vocab_size < least:
        raise BadOption(
            f"a vocabulary of {chosen.vocab_size} is too small: "
            f"the alphabet and the special tokens need {least}",
            f"ask for {least} or more: --vocab {least}",
            "bad-value",
        )


def check_save_counts(
    world: Console,
    save_counts: str,
    texts: "Sequence[Source]",
    chosen: TrainOptions,
) -> None:
    """Raise TokctlError if the counts can't be written, before texts are read."""
    from tokctl.training.counting import weigh

    if save_counts == "-":
        raise BadOption(
            "the counts can't go to stdout", "name a file: --save-counts PATH", "bad-value"
        )
    with streams.named("--save-counts"):
        streams.check_output(world, save_counts)
    if weigh([text.name for text in texts], chosen.weights)[1] != 1:
        raise BadOption(
            "weights with decimals make counts that are not whole numbers, which a file of "
            "counts can't hold",
            "give whole weights, or leave --save-counts out",
            "conflict",
        )


#: Suffixes of compressed files, and of file formats.
_PACKED = (".gz", ".zst", ".zstd", ".xz", ".bz2")
_FORMS = (
    ".txt", ".text", ".md", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather", ".tsv",
    ".csv", ".tar",
)  # fmt: skip
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def model_path(
    output: str | None, files: Sequence[str], sources: "Sequence[Source]", recipe: "Recipe"
) -> str:
    """Return the path of `-o`, or a name made of the first source and the algorithm.

    A made name is in the current folder: `book.bpe.json` for `texts/book.txt`.

    Raises:
        TokctlError: the model would go to stdout.
    """
    if output == "-":
        raise BadOption("the model can't go to stdout", "name a file: -o PATH", "bad-value")
    if output is not None:
        return output
    first = files[0] if files else sources[0].name if sources else "-"
    # If the first argument is a pattern, take the name of the first file that it matches.
    if not (first == "-" or _ADDRESS.match(first) or Path(first).exists()) and sources:
        first = sources[0].name
    return f"{stem(first)}.{recipe.algorithm}.json"


def check_replaced(
    path: str,
    recipe: "Recipe",
    chosen: TrainOptions,
    texts: "Sequence[Source]",
    by_language: LanguageTexts | None,
) -> None:
    """Raise TokctlError if the existing file at `path` is not a model of the same options.

    Called if the path is a made name, which nobody has chosen. A model of the same options may be
    replaced.

    Args:
        path: the existing file.
        recipe: the recipe to train.
        chosen: the training options.
        texts: the texts to train on.
        by_language: the texts and settings of `--lang`; None: not given.
    """
    from tokctl.core.files import unwatched
    from tokctl.tokenizer import Tokenizer
    from tokctl.training.counting import weigh
    from tokctl.training.training import changed_options

    hint = "choose another name with -o PATH, or replace it with --force"
    try:
        with unwatched():
            before = Tokenizer.load(path).model
    except TokctlError:
        raise BadOption(
            f"{path} exists, and is not a model that tokctl trained", hint, "output-taken"
        ) from None
    if before.training is None:
        raise BadOption(
            f"{path} exists, and is not a model that tokctl trained", hint, "output-taken"
        )
    changed = changed_options(before, recipe, chosen)
    weights = tuple(map(str, weigh([text.name for text in texts], chosen.weights)[0]))
    if weights != before.training.weights:
        changed["weights"] = before.training.weights, weights
    turns = by_language and by_language.turns
    if turns != (turns_before := before.parity and turns_of(before.parity)):
        changed["languages"] = turns_before, turns
    if changed:
        name, (old, new) = next(iter(changed.items()))
        # Values of training options fit into the message; recipe fields and languages do not.
        what = f"{name.replace('_', ' ')} {old}, not {new}"
        if not isinstance(new, (int, str)):
            what = f"the {name.replace('_', ' ')} differ"
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise BadOption(
            f"{path} exists, and other options trained it: {what}{more}", hint, "output-taken"
        )


def stem(source: str) -> str:
    """Return the name of a source without its folder and suffixes.

    The stem is `corpus` for `a/corpus.jsonl.zst`, the folder `corpus/` and
    `https://host/corpus.txt?v=2`, and `stdin` for `-`.
    """
    if source == "-":
        return "stdin"
    if address := _ADDRESS.match(source):
        source = re.split(r"[?#]", source[address.end() :])[0]
    elif Path(source).is_dir():
        # Resolved, so that `.` and `..` have names. A dot in a folder's name begins no suffix.
        return Path(source).resolve().name or "model"
    name = Path(source).name
    packed = False
    while Path(name).suffix.lower() in _PACKED:
        name, packed = Path(name).stem, True
    # A compressed file may have no format suffix: my.book.gz is my.book.
    if not packed or Path(name).suffix.lower() in _FORMS:
        name = Path(name).stem
    return name or "model"


def temporary_folder(world: Console, path: str) -> str | None:
    """Return the folder for counts that exceed `--memory`; None: the system's default.

    The folder is `$TMPDIR`, or else the model's: /tmp has less room more often, and can be in
    memory. If the model goes to a device or a pipe, the system's default is used.
    """
    if given := world.environ.get("TMPDIR"):
        return given
    target = Path(os.path.realpath(path))
    return None if target.exists() and not target.is_file() else str(target.parent)
