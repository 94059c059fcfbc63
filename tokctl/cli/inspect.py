"""`tokctl inspect`: the contents of a model, its training, and why a word is split as it is."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from tokctl.cli import paging, reports, streams
from tokctl.cli.command import add_command
from tokctl.cli.options.inspect import (
    ABOUT_TEXTS,
    NEED_TEXTS,
    DetailOptions,
    InspectAnswerOptions,
    InspectModel,
    InspectTexts,
    QuestionOptions,
)
from tokctl.cli.options.shared import Model
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, ExitCode, TokctlError
from tokctl.core.humanize import listed as joined

if TYPE_CHECKING:
    from tokctl.analysis.health import Health
    from tokctl.report.document import Report
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer

EXAMPLES = """Examples:

  tokctl inspect book.bpe.json
  tokctl inspect book.bpe.json --merges 1:50
  tokctl inspect book.bpe.json --word lowest
  tokctl inspect book.bpe.json --merges-of 'est*' --merges 1:500
  tokctl inspect book.bpe.json --state 120 book.txt
  tokctl inspect book.bpe.json --pairs 120 book.txt
  tokctl inspect book.bpe.json --watch book.txt
  tokctl inspect book.bpe.json --token est
  tokctl inspect book.bpe.json --token est book.txt
  tokctl inspect book.bpe.json --token '#300' --json
  tokctl inspect book.bpe.json --use book.txt
  tokctl inspect book.bpe.json --gap book.txt
  tokctl inspect book.unigram.json --word lowest --nbest 10
  tokctl inspect book.unigram.json --rounds
  tokctl inspect book.bpe.json --check book.txt --fail-on warning
  tokctl inspect book.bpe.json --check --embeddings model.safetensors
  tokctl inspect hf:ORG/NAME --recipe
  tokctl inspect book.bpe.json --html book.html book.txt
  tokctl inspect book.bpe.json --plot kinds.svg --chart kinds

A pipe gets the same lines as a terminal, without colour, in 160 columns
unless COLUMNS is set. For programs there is --json, for spreadsheets --csv.
Spaces in tokens are shown as ␣ and control characters as Python escapes;
--json gives them unchanged."""


SHORT = "Show what is in a model, and why a word is split as it is."


def register(app: typer.Typer) -> None:
    """Add `tokctl inspect` to `app`."""
    add_command(app, inspect, epilog=EXAMPLES, short_help=SHORT)


def inspect(
    context: typer.Context,
    first: InspectModel = None,
    texts: InspectTexts = None,
    model: Model = None,
    *,
    asked: QuestionOptions,
    detail: DetailOptions,
    shown: InspectAnswerOptions,
    sources: ListedTexts,
) -> int | None:
    """Show what is in a model, how it was trained, and why a word is split the way it is.

    Without a question, it shows a summary, the vocabulary by kind, script and
    length, the longest tokens, the first and last merges, and checks.
    """
    world: Console = context.obj
    questions = list(asked.given)
    if len(questions) > 1 and questions != ["--merges", "--merges-of"]:
        raise BadOption(
            f"{questions[0]} and {questions[1]} can't be asked together",
            "ask one, then the other",
            "conflict",
        )
    pictured = "--html" if shown.html is not None or shown.plot is not None else None
    question = questions[0] if questions else pictured
    errors = detail.errors
    if detail.nbest is not None:
        _check_nbest(detail.nbest)
    arguments = [*([] if first is None else [first]), *(texts or [])]
    asked_form = paging.form(shown.given)
    others = [*questions, *([f"--{asked_form}"] if asked_form else [])]
    report = reports.requested_report(
        world, "inspect", html=shown.html, plot=shown.plot, chart=shown.chart, others=others
    )
    if report is None:
        return None
    listed = bool(sources.lists)
    path, texts = _model_and_texts(world, model, arguments, question, listed=listed)
    _check_counts(question, texts, errors, sources, counts=detail.counts)
    if errors is not None and question == "--token" and not (texts or listed):
        raise BadOption("--errors needs a text", "name a text, or leave --errors out", "conflict")
    # Questions that need a text read stdin if no text is named.
    if question not in ABOUT_TEXTS or not (texts or listed or question in NEED_TEXTS):
        sources.check_needed(f"texts go with {joined(ABOUT_TEXTS, 'or')}: name one")
    errors = errors or "strict"
    if asked.watch and asked_form:
        name = {"json": "JSON", "csv": "CSV", "markdown": "Markdown", "latex": "LaTeX"}[asked_form]
        raise BadOption(
            f"--watch can't be combined with {name}",
            f"show a single step instead: --state STEP --{asked_form}",
            "conflict",
        )
    form = asked_form or "text"
    if form == "csv" and detail.limit is None:
        detail.limit = sys.maxsize
    if asked.watch:
        from tokctl.cli.watching import watch as watch_training

        return watch_training(world, path, sources, texts, errors, counts=detail.counts)
    tokenizer = streams.load_model(world, path)
    if report:
        opened = sources.open(world, texts) if texts or listed else None
        reports.write_model(world, report, _name(world, path), tokenizer, opened, errors)
        return None
    if asked.check:
        opened = sources.open(world, texts) if texts or listed else None
        health = health_of(
            tokenizer, opened, errors, detail.limit, detail.embeddings, detail.tensor
        )
        from tokctl.report.inspect.model import health as answer_of

        answer = answer_of(_name(world, path), health)
        paging.write(world, answer, form, pages=not shown.no_pager)
        fail_if_asked(health, detail.fail_on)
        return None

    answer = _answer(world, path, tokenizer, asked, detail, sources, texts, errors)
    paging.write(world, answer, form, pages=not shown.no_pager)
    return None


def _answer(
    world: Console,
    path: str | None,
    tokenizer: "Tokenizer",
    asked: QuestionOptions,
    detail: DetailOptions,
    sources: ListedTexts,
    texts: Sequence[str],
    errors: str,
) -> "Report":
    """Answer a question about a model; without a question, sum the model up.

    Args:
        world: the streams, for notes.
        path: the path of the model, as it was given.
        tokenizer: the model.
        asked: the question.
        detail: the details of the question.
        sources: how texts are read.
        texts: the texts that the arguments name.
        errors: `strict` or `replace`, for texts that are not UTF-8.
    """

    def read() -> list[tuple[bytes, int]]:
        from tokctl.analysis.explain import count_pre_tokens, read_counts

        if detail.counts:
            found = read_counts(tokenizer, streams.documents(world, texts)[0])
        else:
            found = count_pre_tokens(tokenizer, sources.open(world, texts), errors)
        if not found:
            world.say("note: the text is empty or blank: it has no words to show")
        return found

    if asked.recipe:
        from tokctl.analysis.explain import file_facts
        from tokctl.report.inspect.model import recipe as recipe_answer

        return recipe_answer(tokenizer.model, file_facts(tokenizer))
    if asked.rounds:
        from tokctl.analysis.explain import rounds as rounds_of
        from tokctl.report.inspect.training import rounds as rounds_answer

        return rounds_answer(rounds_of(tokenizer))
    if asked.merges is not None or asked.merges_of is not None:
        return _merges(
            tokenizer, ":" if asked.merges is None else asked.merges, asked.merges_of, detail.limit
        )
    if asked.state is not None:
        return _state(tokenizer, asked.state, read, detail.limit)
    if asked.pairs is not None:
        return _pairs(tokenizer, asked.pairs, read, detail.limit)
    if asked.word is not None:
        from tokctl.report.inspect.words import word as word_answer

        return word_answer(tokenizer.explain(asked.word, detail.nbest))
    if asked.token is not None:
        opened = sources.open(world, texts) if texts or sources.lists else None
        return _token(tokenizer, asked.token, opened, errors, detail.limit)
    if asked.use:
        return _use(tokenizer, sources.open(world, texts), errors, detail.limit)
    if asked.gap:
        return _gap(world, tokenizer, sources.open(world, texts), errors, detail.limit)
    from tokctl.analysis.explain import summarize
    from tokctl.report.inspect.model import summary

    return summary(_name(world, path), summarize(tokenizer))


def _check_nbest(number: int) -> None:
    from tokctl.tokenizer.sampling import MOST

    if number > MOST:
        raise BadOption(
            f"invalid value {number} for --nbest",
            f"give a whole number from 1 to {MOST}",
            "bad-value",
        )


def _check_counts(
    question: str | None,
    texts: Sequence[str],
    errors: str | None,
    sources: ListedTexts,
    *,
    counts: bool,
) -> None:
    if not counts:
        return
    if question not in ("--state", "--pairs", "--watch"):
        raise BadOption(
            "--word-counts needs --state, --pairs or --watch", "leave it out", "conflict"
        )
    if errors is not None:
        raise BadOption(
            "--errors is about text, and --word-counts says that there is none",
            "leave --errors out",
            "conflict",
        )
    sources.check_needed("--word-counts reads one file of words with their counts")
    if len(texts) > 1 or (question == "--watch" and not texts):
        raise BadOption("--word-counts takes one file", "name one", "conflict")


def _model_and_texts(
    world: Console,
    model: str | None,
    arguments: list[str],
    question: str | None,
    *,
    listed: bool,
) -> tuple[str | None, list[str]]:
    """Return the path of the model (None: `$TOKCTL_MODEL`) and the texts.

    Args:
        world: the environment.
        model: the path of `-m`.
        arguments: the model, unless `-m` names it, then the texts.
        question: the option that asks about the model.
        listed: a list names further texts.
    """
    texts = arguments
    if model is None and arguments:
        model, *texts = arguments
    if texts and question not in ABOUT_TEXTS:
        raise BadOption(
            f"{texts[0]!r} is one argument too many: texts go with {joined(ABOUT_TEXTS, 'or')}",
            "inspect one model at a time; to see how a text is split, use --word TEXT",
            "conflict",
        )
    if model == "-":
        raise BadOption("can't read a model from stdin", "name its file", "bad-value")
    needs_text = question in NEED_TEXTS and not listed
    if needs_text and not texts and world.environ.get("TOKCTL_MODEL") and arguments:
        # The argument could be the model, with the text on stdin, or the text.
        raise BadOption(
            f"can't tell whether {arguments[0]!r} is the model or the text: $TOKCTL_MODEL is set, "
            "too",
            f"name the model and the text ({arguments[0]} -), or give the model with -m",
            "conflict",
        )
    return model, texts


def _name(world: Console, path: str | None) -> str:
    return path or world.environ["TOKCTL_MODEL"]


def _merges(tokenizer: "Tokenizer", steps: str, token: str | None, limit: int | None) -> "Report":
    from tokctl.analysis.explain import merge_records, merges_of
    from tokctl.analysis.explain.history import step_count
    from tokctl.report.inspect.training import merges as merges_answer

    total = step_count(tokenizer)
    first, last = _steps(steps, total)
    if token is not None:
        records, wanted = merges_of(tokenizer, token, first, last)
    else:
        records, wanted = merge_records(tokenizer, first, last), None
    if last is not None and last < first:
        raise BadOption(
            f"--merges {steps} is empty: step {last} comes before step {first}",
            f"give the earlier step first: --merges {last}:{first}",
            "bad-value",
        )
    return merges_answer(records, total, wanted, limit)


def _steps(steps: str, total: int) -> tuple[int, int | None]:
    """Parse `--merges` into the first and the last step; None stands for the end."""
    if last := re.fullmatch(r"-(\d{1,18}):", steps, re.ASCII):
        return max(1, total + 1 - int(last[1])), None
    found = re.fullmatch(r"(\d{0,18})(:?)(\d{0,18})", steps, re.ASCII)
    if not found or not steps:
        raise BadOption(
            f"invalid value {steps!r} for --merges",
            "give steps as A:B, A:, :B, N or -N:",
            "bad-value",
        )
    first = int(found[1] or 1)
    if not found[2]:
        return first, first
    return first, int(found[3]) if found[3] else None


#: Function that reads the texts, and returns their pre-tokens with counts.
Read = Callable[[], Iterable[tuple[bytes, int]]]


def _state(tokenizer: "Tokenizer", step: int, read: Read, limit: int | None) -> "Report":
    from tokctl.analysis.explain import merge_records, state_words
    from tokctl.analysis.explain.history import check_step
    from tokctl.report.inspect.training import state as state_answer

    check_step(tokenizer, step)  # before the texts are read
    words = state_words(tokenizer, step, read())
    merge = merge_records(tokenizer, step, step)[0] if step else None
    return state_answer(step, merge, words, limit)


def _pairs(tokenizer: "Tokenizer", step: int, read: Read, limit: int | None) -> "Report":
    from tokctl.analysis.explain import merge_records, pair_counts
    from tokctl.analysis.explain.history import check_step
    from tokctl.report.inspect.training import pairs as pairs_answer

    check_step(tokenizer, step)  # before the texts are read
    found = pair_counts(tokenizer, step, read())
    following = step < len(tokenizer.merges)
    merge = merge_records(tokenizer, step + 1, step + 1)[0] if following else None
    return pairs_answer(found, merge, limit)


def _token(
    tokenizer: "Tokenizer",
    token: str,
    texts: "Sequence[Source] | None",
    errors: str,
    limit: int | None,
) -> "Report":
    from tokctl.analysis.explain import segmented, token_use
    from tokctl.report.inspect.tokens import token as token_answer

    history = tokenizer.token_history(token)
    if texts is None:
        return token_answer(history, limit)
    if history.id is None:
        raise BadOption(
            f"{token!r} was removed, so no text is split into it",
            "leave the texts out to see when and why the token was removed",
            "conflict",
        )
    use = token_use(tokenizer, history.id, segmented(tokenizer, texts, errors))
    return token_answer(history, limit, use)


def _use(
    tokenizer: "Tokenizer", texts: "Sequence[Source]", errors: str, limit: int | None
) -> "Report":
    from tokctl.analysis.explain import segmented, text_use
    from tokctl.report.inspect.tokens import use as use_answer

    found = segmented(tokenizer, texts, errors)
    return use_answer(text_use(tokenizer, found, limit), limit)


def _gap(
    world: Console,
    tokenizer: "Tokenizer",
    texts: "Sequence[Source]",
    errors: str,
    limit: int | None,
) -> "Report":
    from tokctl.analysis.gap import token_gap
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.report.inspect.gap import gap as gap_answer

    with ProgressDisplay(world) as bars:
        found = token_gap(tokenizer, texts, errors=errors, limit=limit, progress=bars)
    return gap_answer(found, limit)


def health_of(
    tokenizer: "Tokenizer",
    texts: "Sequence[Source] | None",
    errors: str,
    limit: int | None,
    embeddings: str | None,
    tensor: str | None,
) -> "Health":
    """Check a model, and its use of the texts and embeddings if they are given.

    Args:
        tokenizer: the model.
        texts: the texts that the model's tokens should occur in; None: none.
        errors: `strict` or `replace`, for texts that are not UTF-8.
        limit: examples of a finding, at most; None: the default.
        embeddings: the file of the language model's embeddings; None: none.
        tensor: the name of the embedding matrix in that file; None: one of the usual names.
    """
    from tokctl.analysis.health import EXAMPLES, check_health

    return check_health(
        tokenizer,
        texts,
        limit=EXAMPLES if limit is None else limit,
        errors=errors,
        embeddings=embeddings,
        tensor=tensor,
    )


def fail_if_asked(health: "Health", fail_on: str | None) -> None:
    """Raise TokctlError with exit code 1 if a finding is at least as severe as `--fail-on` says."""
    if fail_on is None or not (found := health.at_least(fail_on)):
        return
    names = ", ".join(f"{one.severity} {one.name} ({one.count:,})" for one in found)
    raise TokctlError(
        f"--fail-on {fail_on}: {names}",
        "--fail-on says how serious a finding has to be",
        "condition-failed",
        exit_code=ExitCode.CONDITION_FAILED,
    )
