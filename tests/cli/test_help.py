"""What the help of every command says is what the command takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.text import Text

from tests.cli.run import process, tokctl
from tokctl.cli.app import build
from tokctl.cli.numbers import whole_number


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


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["", "train", "encode", "decode", "inspect", "compare", "recommend", "convert", "adapt"]
)
def test_the_short_help_is_one_screen(name: str) -> None:
    line = [name] if name else []
    shown = process(*line, "-h", env={"COLUMNS": "80", "NO_COLOR": "1"}).out.decode()
    assert len(shown.splitlines()) <= 24
    assert max(map(len, shown.splitlines())) <= 80
    assert len(re.findall(r"^  (echo .* \| )?tokctl ", shown, re.MULTILINE)) == 3
    whole = process(*line, "--help", env={"COLUMNS": "200", "NO_COLOR": "1"}).out.decode()
    listed = re.findall(r"^  (?:-\w,|   ) (--[\w-]+)", shown, re.MULTILINE)
    assert all(f"{option} " in whole for option in listed)
    if name:
        number = re.search(r"--help has all (\d+) options", shown)
        # A flag that can be turned off is one option with two names, and --help is none of them.
        options = re.findall(r"^│ \*? *--[\w-]+ ", whole, re.MULTILINE)
        assert number and int(number[1]) == len(options) - 1
        assert 3 < len(listed) < len(options)


def test_without_a_command_the_help_is_one_screen() -> None:
    bare = process(env={"COLUMNS": "80"})
    assert bare.code == 2
    assert bare.out.split() == process("-h", env={"COLUMNS": "80"}).out.split()


@pytest.mark.parametrize("written", ["2K", "2k", "2000", " 2000 ", "+2000", "2_000", "2,000"])
def test_a_number_can_be_in_thousands(written: str) -> None:
    assert whole_number(written) == 2000


@pytest.mark.parametrize("written", ["", "K", "2KB", "2.5K", "2__000", "2,00", "٢", "1e3"])
def test_what_is_no_whole_number(written: str) -> None:
    with pytest.raises(ValueError):
        whole_number(written)


def test_the_size_of_a_vocabulary_in_thousands() -> None:
    text = b"the lamp is lit, and the lamplighter lit it\n" * 40
    said = [
        json.loads(tokctl("train", *size, "--json", "-o", "a.json", stdin=text).out)
        for size in (("-v", "1K"), ("--vocab", "1000"), ("-v", "260"))
    ]
    assert [each.pop("seconds")["merge"] > 0 for each in said] == [True] * 3
    assert [each.pop("replaced") for each in said] == [False, True, True]
    assert said[0] == said[1]
    assert said[0]["vocab_size"] > said[2]["vocab_size"] == 260
