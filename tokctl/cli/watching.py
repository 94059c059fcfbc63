"""`tokctl inspect MODEL --watch`: a training replayed in the terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.cli import streams
from tokctl.cli.options.sources import SourceOptions
from tokctl.cli.world import Console
from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, Unsupported

if TYPE_CHECKING:
    from tokctl.analysis.replay import Replay
    from tokctl.extras.watch.app import WatchApp
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer

_INSTEAD = (
    "without a terminal, --state STEP shows a step, tokctl train --show-steps N the first steps"
)


def watch(
    world: Console,
    path: str | None,
    given: SourceOptions,
    texts: list[str],
    errors: str,
    *,
    counts: bool = False,
) -> int:
    """Replay the training of a model on texts until the user leaves, and return the exit code.

    Args:
        world: the streams and settings.
        path: the path of the model; None: `$TOKCTL_MODEL`.
        given: how texts are read, and the lists of further texts.
        texts: the paths of texts; `-` is stdin, and then keys are read from the terminal. Without
            texts and lists, the bundled sample.
        errors: `strict` or `replace`, for texts that are not UTF-8.
        counts: the text has lines of words with their counts.

    Raises:
        TokctlError: stdin, stdout or stderr is not a terminal, Textual is not installed, or the
            model's training has no steps.
    """
    from tokctl import sources

    from_stdin = "-" in [*texts, *given.lists]
    check_terminal(world, from_stdin=from_stdin)
    app_class = _app_class()
    plain = counts or not (texts or given.lists)
    documents = sources.documents(texts or [sample_path()], stdin=world.stdin) if plain else []
    opened: Sequence[Source] = documents if plain else given.open(world, texts)
    tokenizer = streams.load_model(world, path)
    check_steps(tokenizer)
    from tokctl.analysis.explain import count_pre_tokens, read_counts

    if counts:
        counted = read_counts(tokenizer, documents[0])
    else:
        counted = count_pre_tokens(tokenizer, opened, errors)
    if not counted:
        raise BadInput("there is nothing to watch: the text is empty", "name another text")
    app = app_class(
        replay_of(tokenizer, counted),
        _base(streams.model_path(world, path)),
        _named([source.name for source in opened] if given.lists else texts),
        light=is_light(world),
        color=world.wants_color(True),
    )
    if from_stdin:
        _take_keys_from_the_terminal()
    app.run()
    return app.return_code or 0


def check_terminal(world: Console, *, from_stdin: bool) -> None:
    """Raise TokctlError if a terminal to draw on, or to read keys from, is missing."""
    needed = {
        "stdin": world.stdin_is_terminal or from_stdin,
        "stdout": world.stdout_is_terminal,
        "stderr": world.stderr_is_terminal,
    }
    missing = [name for name, there in needed.items() if not there]
    if missing == ["stdin"]:
        raise Unsupported(
            "--watch reads keys from stdin, which is not a terminal",
            "to read the text from stdin, name it: -",
        )
    if missing:
        raise Unsupported(f"--watch needs a terminal, and {missing[0]} is not one", _INSTEAD)
    if world.environ.get("TERM", "") in ("dumb", "unknown"):
        raise Unsupported("--watch can't draw on this terminal (TERM=dumb)", _INSTEAD)
    if from_stdin and world.stdin_is_terminal:
        raise BadOption(
            "can't read the text from stdin (-), the terminal that gives the keys",
            "pipe the text in, or name a file",
            "conflict",
        )


def check_steps(tokenizer: Tokenizer) -> None:
    """Raise TokctlError if the model's training has no steps, before a text is read."""
    from tokctl.analysis.explain import rounds
    from tokctl.analysis.explain.history import check_merges, check_states

    if tokenizer.recipe.maximizes_probability:
        rounds(tokenizer)
        return
    check_merges(tokenizer)
    check_states(tokenizer)
    if not tokenizer.merges:
        raise Unsupported(
            "there are no steps to watch: this model's file holds no merges",
            "see what is in it: tokctl inspect MODEL",
        )


def replay_of(tokenizer: Tokenizer, counts: list[tuple[bytes, int]]) -> Replay:
    """Return the replay of a training on counted pre-tokens, by EM rounds or by merges."""
    from tokctl.analysis.replay import MergeReplay, RoundReplay

    if tokenizer.recipe.maximizes_probability:
        return RoundReplay(tokenizer, counts)
    return MergeReplay(tokenizer, counts)


def sample_path() -> str:
    """Return the path of the bundled sample; a model file does not name its training texts."""
    from tokctl.sources.corpora import corpus_path

    return str(corpus_path("sample"))


def is_light(world: Console) -> bool:
    """Return whether COLORFGBG, which some terminals set, names a light background.

    The variable holds colour numbers with semicolons between them. The last one is the background:
    7 and 15 are white.
    """
    return world.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def _app_class() -> type[WatchApp]:
    try:
        from tokctl.extras.watch.app import WatchApp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise Unsupported(
            "watching a training needs textual", "pip install 'tokctl[watch]'", "missing-package"
        ) from None
    return WatchApp


def _take_keys_from_the_terminal() -> None:
    """Replace stdin by the terminal, once the text on stdin has been read."""
    try:
        terminal = os.open(systems.TERMINAL, os.O_RDWR)
    except OSError as error:
        raise Unsupported(
            f"there is no terminal to take keys from: {error.strerror}",
            "name a file instead of -",
        ) from None
    os.dup2(terminal, 0)
    os.close(terminal)


def _named(texts: list[str]) -> str:
    if not texts:
        return "the bundled sample (no text was named)"
    more = len(texts) - 1
    return _base(texts[0]) + (f" and {more:,} more" if more else "")


def _base(path: str) -> str:
    return "stdin" if path == "-" else path if path.startswith("hf:") else Path(path).name
