"""The catalogue of options: how values are read, and what every command has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tests.cli.run import tokctl
from tokctl.cli.app import build
from tokctl.cli.command import SHARED, CommandGroup, metavar_of, values_of


def commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        if isinstance(command, CommandGroup):
            yield from commands(command)
        else:
            yield command


ROOT = typer.main.get_command(build())


def test_every_parameter_is_of_the_catalogue() -> None:
    for command in commands(ROOT):
        for parameter in command.params:
            assert parameter.declared.help == parameter.help
            assert not parameter.declared.closed or values_of(parameter)


def test_every_command_has_the_shared_options() -> None:
    context = typer.Context(ROOT)
    for command in commands(ROOT):
        names = [parameter.name for parameter in command.get_params(context)]
        assert names[-len(SHARED) - 1 :] == [*SHARED, "help"]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["encode", "--threads", "0"], "'--threads': 0 is less than 1"),
        (["encode", "--threads", "x"], "'--threads': 'x' is not a whole number"),
        (["encode", "--alpha", "x"], "'--alpha': 'x' is not a number"),
        (["inspect", "m", "--state", "x"], "'--state': 'x' is not a whole number"),
    ],
)
def test_numbers_that_are_none(arguments: list[str], says: str) -> None:
    done = tokctl(*arguments)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(f"error: invalid value for {says}\n"), done.err


def test_what_is_missing() -> None:
    assert tokctl("corpora", "path").err.startswith("error: missing argument 'NAME'\n")
    assert tokctl("train", "--vocab").err.startswith("error: option '--vocab' requires an")


#: Options that take more in one command than in another, and mean the same.
_TAKE_MORE = {"--algo", "--vocab", "--dtype", "--embeddings", "--special-token"}


def test_one_word_has_one_meaning() -> None:
    """An option of several commands takes the same value in each, and none is told from another by
    an s alone: but for `--words`, the rule of what a word is, and `--word`."""
    takes: dict[str, set[str]] = {}
    for command in commands(ROOT):
        for option in command.params:
            for name in (*option.opts, *option.secondary_opts):
                if name.startswith("--"):
                    takes.setdefault(name, set()).add(metavar_of(option))
    assert {name for name, values in takes.items() if len(values) > 1} == _TAKE_MORE
    assert {name for name in takes if f"{name}s" in takes} == {"--word"}
