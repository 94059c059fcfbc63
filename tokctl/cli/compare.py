"""`tokctl compare`: models side by side on the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tokctl.cli import options
from tokctl.cli.world import World, visible
from tokctl.errors import ExitCode, TokctlError

if TYPE_CHECKING:
    from tokctl.comparison import Comparison
    from tokctl.comparison.texts import Text
    from tokctl.tokenizer import Tokenizer

DEFAULT_ALGORITHMS = "bpe,wordpiece,unigram"
DEFAULT_VOCAB = 10_000

#: Why a vocabulary did not fill up.
_EXHAUSTED = {
    "bpe": "no pair was left to merge",
    "wordpiece": "no pair was left to merge",
    "unigram": "the text gave no more pieces",
    "word": "the text has no more words",
    "char": "the text has no more characters",
}

_MODELS = "Models"
_OUTPUT = "Output"
_READING = "Reading"

EXAMPLES = """Examples:

  tokctl compare
  tokctl compare --vocab 2000 book.txt
  tokctl compare --algo bpe --sentence "There is still a lot" book.txt
  tokctl compare -m book.bpe.json -m book.wordpiece.json book.txt
  tokctl compare -m hf:ORG/NAME -m spiece.model book.txt
  tokctl compare -m new.json --baseline old.json --fail-if 'nsl > 1.02' a.txt
  cat book.txt | tokctl compare -m book.bpe.json --json -

METRIC is tokens, bytes_per_token, characters_per_token, nsl, fertility,
continued_words, strr, unk_rate, round_trip or vocabulary_use.
Exit codes: 0 done, 1 a condition of --fail-if holds, 2 bad usage or input."""


def register(app: typer.Typer) -> None:
    app.command("compare", epilog=EXAMPLES)(options.with_globals(compare))


def compare(
    world: World,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]…",
            help="Texts, each one document; - is stdin. Without any: the bundled sample.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model: a file or folder of any format, or hf:ORG/NAME; may be repeated. "
            "Without any, models are trained on the texts.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|MODEL",
            help="The model that NSL is relative to; by default the first. A MODEL that is no "
            "-m is shown, too.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    algo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ALGO,…",
            help=f"What to train: {', '.join(_EXHAUSTED)}. By default {DEFAULT_ALGORITHMS}.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    vocab: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Vocabulary size of the trained models. By default {DEFAULT_VOCAB}.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    sentence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A sentence to show; may be repeated. By default three of the texts.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="'METRIC OP NUMBER'",
            help="Exit with 1 if this holds for a model over all texts; OP is one of "
            "< <= > >=. May be repeated. A model that only --baseline names is not checked.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write Markdown.", rich_help_panel=_OUTPUT)
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write one JSON document.", rich_help_panel=_OUTPUT)
    ] = False,
    errors: Annotated[
        str,
        typer.Option(
            metavar="strict|replace",
            help="What to do where text is not UTF-8 and a model reads characters.",
            rich_help_panel=_READING,
        ),
    ] = "strict",
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="By default as many as there are processors. Changes no result.",
            rich_help_panel=_READING,
        ),
    ] = None,
) -> int:
    """Compare models on the same texts: metrics, sentences, words, vocabularies.

    With no model, it trains some on the texts first, and keeps nothing.
    Every metric is explained in docs/metrics.md.
    """
    from tokctl import comparison

    options.choose("--errors", errors, ("strict", "replace"))
    conditions = [comparison.Condition.parse(text) for text in fail_if or []]
    if json and markdown:
        raise TokctlError("--json and --markdown are two outputs", "choose one of them")
    if model and (algo or vocab is not None):
        raise TokctlError(
            "--algo and --vocab are for training, and -m names models that are trained",
            "leave -m out, or leave --algo and --vocab out",
        )
    algorithms = [] if model else comparison.split_algorithms(algo or [DEFAULT_ALGORITHMS])
    named, reference, added = _load(model or [], algorithms, baseline)
    read = _read(world, texts or [], errors)
    if algorithms:
        size = DEFAULT_VOCAB if vocab is None else vocab
        named |= _train(world, read, algorithms, size, threads=threads, errors=errors)
    result = comparison.compare(
        list(named.items()),
        [text.document() for text in read],
        baseline=reference,
        sentences=sentence,
        threads=threads,
        errors=errors,
    )
    _write(world, result, json=json, markdown=markdown)
    holding, unchecked = comparison.check(conditions, result, exempt=added)
    for line in unchecked:
        world.say(f"note: not checked: {line}")
    if holding:
        raise TokctlError("; ".join(holding), exit_code=ExitCode.CONDITION_FAILED)
    return ExitCode.DONE


def _load(
    files: Sequence[str], algorithms: Sequence[str], baseline: str | None
) -> tuple[dict[str, Tokenizer], str | None, str | None]:
    """The models that have a file, by name; the baseline's name; and the same again where
    the baseline is none of those that were asked for: it then stands before them."""
    from tokctl import comparison
    from tokctl.tokenizer import Tokenizer

    names = comparison.name_files(files, algorithms)
    reference, added = None, None
    if baseline is not None:
        reference = comparison.find_baseline(baseline, names | dict.fromkeys(algorithms, ""))
        if reference is None:
            names = comparison.name_files([baseline, *files], algorithms)
            reference = added = next(iter(names))
    loaded = {visible(name): Tokenizer.load(path) for name, path in names.items()}
    return loaded, reference and visible(reference), added and visible(added)


def _read(world: World, paths: Sequence[str], errors: str) -> list[Text]:
    """The texts, read once: stdin and pipes are needed for training and for comparing."""
    from tokctl.comparison import read_texts
    from tokctl.sources import documents

    if not paths:
        from tokctl.sources.corpora import corpus_path

        sample = corpus_path("sample")
        world.say(f"no text is named: taking the bundled sample, {sample.name}")
        # Where it is installed is nobody's business.
        opened = [replace(text, name=sample.name) for text in documents([sample])]
    else:
        opened = documents(paths, stdin=world.stdin)
        opened = [replace(text, name=visible(text.name)) for text in opened]
    return read_texts(opened, characters=False, errors=errors)


def _train(
    world: World,
    texts: Sequence[Text],
    algorithms: Sequence[str],
    vocab: int,
    *,
    threads: int | None,
    errors: str,
) -> dict[str, Tokenizer]:
    from tokctl.tokenizer import Tokenizer

    *first, last = algorithms
    what = f"{', '.join(first)} and {last}" if first else last
    where = texts[0].name if len(texts) == 1 else f"{len(texts)} texts"
    world.say(f"training {what} with {vocab:,} ids on {where}; nothing is kept")
    trained = {}
    for name in algorithms:
        sources = [text.document() for text in texts]
        tokenizer = Tokenizer.train(
            sources, vocab_size=vocab, algorithm=name, threads=threads, errors=errors
        )
        trained[name] = tokenizer
        if tokenizer.vocab_size < vocab:
            world.say(
                f"note: {name} has {tokenizer.vocab_size:,} ids: {_EXHAUSTED[name]}; "
                "with a smaller --vocab more words are split"
            )
    return trained


def _write(world: World, result: Comparison, *, json: bool, markdown: bool) -> None:
    from io import StringIO

    if json:
        import orjson

        world.stdout.write(orjson.dumps(result.to_dict(), option=orjson.OPT_APPEND_NEWLINE))
    elif markdown:
        from tokctl.render.compare_markdown import markdown as as_markdown

        world.stdout.write(as_markdown(result).encode())
    else:
        from tokctl.render.compare import show
        from tokctl.render.console import console

        page = StringIO()
        color = world.wants_color(world.stdout_is_terminal)
        show(result, console(page, color=color, is_terminal=world.stdout_is_terminal))
        # Rich fills table rows with spaces up to the width of the last column.
        lines = (line.rstrip() for line in page.getvalue().splitlines())
        world.stdout.write("".join(f"{line}\n" for line in lines).encode())
    world.stdout.flush()
