"""`tokctl inspect`: what is in a model, how it came about, why a word is split as it is."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokctl.cli import checking, options, streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.explain import TokenHistory
    from tokctl.render.inspect import Forms
    from tokctl.tokenizer import Tokenizer

EXAMPLES = """Examples:

  tokctl inspect book.bpe.json
  tokctl inspect book.bpe.json --merges 1:50
  tokctl inspect book.bpe.json --state 120 book.txt
  tokctl inspect book.bpe.json --watch book.txt
  tokctl inspect book.bpe.json --word lowest
  tokctl inspect book.bpe.json --token est
  tokctl inspect book.bpe.json --token '#300' --json
  tokctl inspect book.unigram.json --rounds
  tokctl inspect book.bpe.json --check book.txt --fail-on warning
  tokctl inspect hf:ORG/NAME --recipe

In a pipe the answers are lines with a tab between fields. --merges: step,
left, right, token, count; where scores were compared, the score exactly and
as a decimal. --state: count and tokens, of all words. The others say first
on each line what it is. A count that a file does not know is -. Spaces and
control characters in tokens are shown as ␣ and in Python's escapes; --json
has them as they are."""

_QUESTIONS = "Questions (one at a time)"
_WITH_TEXTS = ("--state", "--watch", "--check")

ModelArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="The model, unless -m names it: a file, a folder or hf:ORG/NAME; without both, "
        "$TOKCTL_MODEL.",
        show_default=False,
    ),
]
Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="With --state, --watch and --check: the text files; - is stdin. --state without any "
        "reads stdin, too.",
        show_default=False,
    ),
]
Merges = Annotated[
    str | None,
    typer.Option(
        "--merges",
        metavar="A:B",
        help="The merge history from step A to B, both included; also A:, :B, : and N.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
State = Annotated[
    int | None,
    typer.Option(
        "--state",
        metavar="STEP",
        help="The corpus state after that step on the texts; 0 is before the first merge.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Word = Annotated[
    str | None,
    typer.Option(
        "--word",
        metavar="WORD",
        help="How this word or text is split, step by step, and why not otherwise.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="Where a token comes from and where it goes; '#300' is the token with id 300, "
        "unless a token is spelled so.",
        rich_help_panel=_QUESTIONS,
        show_default=False,
    ),
]
RecipeOnly = Annotated[
    bool,
    typer.Option(
        "--recipe",
        help="The whole recipe, stage by stage, and where it came from; every field of it "
        "with --json.",
        rich_help_panel=_QUESTIONS,
    ),
]
Rounds = Annotated[
    bool,
    typer.Option(
        "--rounds",
        help="The rounds of a Unigram training: what each left, and what it dropped.",
        rich_help_panel=_QUESTIONS,
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Replay the training on the texts, step by step, forward and back with the keys; "
        "without a text, on the bundled sample. Needs the extra: tokctl[watch].",
        rich_help_panel=_QUESTIONS,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="With --state and --token: lines to show; 30 on a terminal, else all. With "
        "--check: examples of each finding; 8.",
        show_default=False,
    ),
]
Errors = Annotated[
    str | None,
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="With --state, --watch, --check: what is not UTF-8, in a character model, is an "
        "error (the default) or becomes U+FFFD.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The answer as one JSON document.")]


def register(app: typer.Typer) -> None:
    app.command("inspect", epilog=EXAMPLES)(options.with_globals(inspect))


def inspect(
    world: World,
    first: ModelArgument = None,
    texts: Texts = None,
    model: streams.Model = None,
    merges: Merges = None,
    state: State = None,
    word: Word = None,
    token: Token = None,
    rounds: Rounds = False,
    recipe: RecipeOnly = False,
    check: checking.Check = False,
    fail_on: checking.FailOn = None,
    watch: Watch = False,
    limit: Limit = None,
    errors: Errors = None,
    as_json: Json = False,
) -> int | None:
    """Open a model up: what is in it, how it came about, why a word is split as it is.

    Without a question: a summary, the vocabulary by kind and length, the
    longest tokens, the first and last merges, and checks."""
    from tokctl.explain import file_facts, summarize
    from tokctl.explain import rounds as rounds_of
    from tokctl.render import inspect as render

    asked = {"--merges": merges, "--state": state, "--word": word, "--token": token}
    given = [name for name, value in asked.items() if value is not None]
    given += ["--rounds"] * rounds + ["--recipe"] * recipe
    given += ["--check"] * check + ["--watch"] * watch
    if len(given) > 1:
        raise TokctlError(
            f"{given[0]} and {given[1]} can't be asked together", "ask one, then the other"
        )
    question = given[0] if given else None
    _check_companions(question, limit, errors)
    checking.check_options(question, fail_on)
    arguments = [*([] if first is None else [first]), *(texts or [])]
    path, texts = _model_and_texts(world, model, arguments, question)
    if watch and as_json:
        raise TokctlError("--watch gives no JSON", "ask for a step: --state STEP --json")
    if watch:
        from tokctl.cli.watching import watch as watch_training

        return watch_training(world, path, texts, errors or "strict")
    tokenizer = streams.load_model(world, path)
    if check:
        health = checking.health_of(world, tokenizer, texts, errors or "strict", limit)
        _give(world, render.health(_name(world, path), health), as_json)
        checking.fail_if_asked(health, fail_on)
        return None
    if recipe:
        forms = render.recipe(tokenizer.model, file_facts(tokenizer))
    elif rounds:
        forms = render.rounds(rounds_of(tokenizer))
    elif merges is not None:
        forms = _merges(tokenizer, merges)
    elif state is not None:
        forms = _state(world, tokenizer, state, texts, errors or "strict", limit)
    elif word is not None:
        forms = render.word(tokenizer.explain(word))
    elif token is not None:
        forms = render.token(_history(tokenizer, token), limit)
    else:
        forms = render.summary(_name(world, path), summarize(tokenizer))
    _give(world, forms, as_json)
    return None


def _check_companions(question: str | None, limit: int | None, errors: str | None) -> None:
    if limit is not None and question not in ("--state", "--token", "--check"):
        raise TokctlError("--limit goes with --state, --token and --check", "leave it out")
    if errors is not None and question not in _WITH_TEXTS:
        raise TokctlError("--errors goes with --state, --watch and --check", "leave it out")
    if errors not in (None, "strict", "replace"):
        raise TokctlError(f"--errors can't be {errors!r}", "choose strict or replace")


def _model_and_texts(
    world: World, model: str | None, arguments: list[str], question: str | None
) -> tuple[str | None, list[str]]:
    """The model's path, None for the environment's, and the texts of those that take some."""
    texts = arguments
    if model is None and arguments:
        model, *texts = arguments
    if texts and question not in _WITH_TEXTS:
        raise TokctlError(
            f"{texts[0]!r} is one argument too many: texts go with --state, --watch and --check",
            "inspect one model at a time; how a text is split: --word TEXT",
        )
    if model == "-":
        raise TokctlError("a model can't be read from stdin", "name its file")
    if question == "--state" and not texts and world.environ.get("TOKCTL_MODEL") and arguments:
        # With both the first argument would be a guess.
        raise TokctlError(
            f"is {arguments[0]!r} the model or the text? $TOKCTL_MODEL is set, too",
            f"name both ({arguments[0]} -), or the model with -m",
        )
    return model, texts


def _name(world: World, path: str | None) -> str:
    return path or world.environ["TOKCTL_MODEL"]


def _merges(tokenizer: Tokenizer, asked: str) -> Forms:
    from tokctl.explain import merge_records
    from tokctl.render import inspect as render

    found = re.fullmatch(r"(\d{0,18})(:?)(\d{0,18})", asked, re.ASCII)
    if not found or not asked:
        raise TokctlError(f"--merges can't be {asked!r}", "give steps as A:B, A:, :B or N")
    first = int(found[1] or 1)
    last = int(found[3]) if found[3] else None
    if not found[2]:
        last = first
    records = merge_records(tokenizer, first, last)
    if last is not None and last < first:
        raise TokctlError(f"--merges {asked} is empty: step {last} comes before step {first}")
    return render.merges(records, len(tokenizer.merges))


def _state(
    world: World,
    tokenizer: Tokenizer,
    step: int,
    texts: list[str],
    errors: str,
    limit: int | None,
) -> Forms:
    from tokctl.explain import count_pre_tokens, merge_records, state_words
    from tokctl.explain.history import check_step
    from tokctl.render import inspect as render

    check_step(tokenizer, step)  # before the texts are read
    documents = streams.documents(world, texts)
    words = state_words(tokenizer, step, count_pre_tokens(tokenizer, documents, errors))
    merge = merge_records(tokenizer, step, step)[0] if step else None
    return render.state(step, merge, words, limit)


def _history(tokenizer: Tokenizer, token: str) -> TokenHistory:
    """The history of a token by its spelling, or else by `#ID`."""
    by_id = re.fullmatch(r"#(\d{1,18})", token, re.ASCII)
    if by_id and token not in tokenizer.vocabulary:
        return tokenizer.token_history(int(by_id[1]))
    return tokenizer.token_history(token)


def _give(world: World, forms: Forms, as_json: bool) -> None:
    """Writes the answer: as JSON, for a terminal, or as lines for a pipe."""
    if as_json:
        _write_json(world, forms.data())
        return
    terminal = world.stdout_is_terminal
    if not terminal and world.color != "always":
        world.stdout.write(forms.lines().encode())
        return
    from tokctl.render.console import console

    stream = io.StringIO()
    forms.show(console(stream, color=world.wants_color(terminal), is_terminal=terminal))
    world.stdout.write(stream.getvalue().encode())


def _write_json(world: World, data: dict[str, Any]) -> None:
    import orjson

    world.stdout.write(orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE))
