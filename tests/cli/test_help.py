"""What the help of every command says is what the command takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.text import Text

from tokctl.cli.app import build


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


EVERY = dict(commands(typer.main.get_command(build())))


@pytest.mark.parametrize("name", EVERY)
def test_options_are_spelled_in_small_letters(name: str) -> None:
    # Typer takes an option's spelling from its metavar where the two differ in case only.
    for parameter in EVERY[name].params:
        if parameter.param_type_name == "option":
            for spelling in (*parameter.opts, *parameter.secondary_opts):
                assert re.fullmatch(r"-[a-z]|--[a-z][a-z0-9-]*", spelling), spelling


@pytest.mark.parametrize("name", EVERY)
def test_no_help_loses_what_stands_in_brackets(name: str) -> None:
    for parameter in EVERY[name].params:
        for text in (getattr(parameter, "help", None), getattr(parameter, "rich_help_panel", None)):
            if text:
                assert Text.from_markup(text).plain == text.replace("\\[", "["), text
