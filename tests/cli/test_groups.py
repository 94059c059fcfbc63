"""Groups of options: what an option needs and conflicts with is declared, and holds."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import typer

from tests.cli.run import tokctl
from tests.cli.test_options import ROOT, commands
from tokctl.cli.command import values_of
from tokctl.cli.options.declaring import CliOption, OptionGroup, is_given, with_groups
from tokctl.cli.options.encode import TextOptions
from tokctl.cli.options.sources import ListedTexts

#: (command, option) pairs of options that need another one, or conflict with one.
DECLARED = [
    (command, option)
    for command in commands(ROOT)
    for option in command.params
    if option.declared.needs or option.declared.conflicts
]


def spelled(command: Any, name: str) -> list[str]:
    """Return an option of a command with a value that its kind allows, as words."""
    option = next(each for each in command.params if name in each.opts)
    if option.is_flag:
        return [name]
    if option.number is not None:
        return [name, "1"]
    values = [value for value in values_of(option) if value != option.default]
    return [name, values[-1] if values else "a=1"]


def test_the_names_are_options() -> None:
    """Every command with a needing option has an option that is needed; so with conflicts."""
    assert len(DECLARED) > 50
    every = {name for command in commands(ROOT) for each in command.params for name in each.opts}
    for command, option in DECLARED:
        names = {name for each in command.params for name in each.opts}
        needs = {usage.split(" ")[0] for usage in option.declared.needs}
        assert not needs or needs & names, (command.name, option.name)
        assert (needs | {*option.declared.conflicts}) <= every, (command.name, option.name)


@pytest.mark.parametrize(
    ("command", "option"), DECLARED, ids=[f"{one.name} {two.opts[0]}" for one, two in DECLARED]
)
def test_what_is_declared_is_refused(command: Any, option: Any) -> None:
    words = spelled(command, option.opts[0])
    if option.declared.needs:
        done = tokctl(command.name, *words, stdin=b"low")
        assert (done.code, done.out) == (2, b"")
        assert done.err.startswith(f"error: {option.opts[0]} needs "), done.err
        assert f", or leave {option.opts[0]} out\n" in done.err
    for other, why in option.declared.conflicts.items():
        if any(other in each.opts for each in command.params):
            needed = [
                word
                for usage in option.declared.needs[:1]
                for word in spelled(command, usage.split(" ")[0])
            ]
            done = tokctl(command.name, *words, *needed, *spelled(command, other), stdin=b"low")
            assert (done.code, done.out) == (2, b"")
            assert done.err.startswith("error: "), done.err
            told = f"error: {option.opts[0]} can't be used with {other}: {why}\n"
            assert told in done.err or " needs " in done.err or "can't be used" in done.err


def test_zero_is_a_value() -> None:
    assert [is_given(value, None) for value in (0, "", 0.0, "x", True)] == [True] * 5
    assert not any(is_given(value, None) for value in (None, False, (), []))
    assert not is_given("strict", "strict")


def test_what_is_given() -> None:
    assert TextOptions().given == {}
    assert TextOptions(stride=0, add_special=True).given == {"--add-special": True, "--stride": 0}
    assert ListedTexts(format="auto", include=["*.md"]).given == {"--include": ["*.md"]}


def test_a_command_gets_its_groups() -> None:
    found: list[Any] = []

    def command(context: typer.Context, texts: ListedTexts, *, rows: TextOptions) -> None:
        found.extend((context, texts, rows))

    flat = with_groups(command)
    assert list(flat.__annotations__)[:3] == ["context", "format", "text_field"]
    defaults = {
        name: each.default
        for name, each in flat.__signature__.parameters.items()  # type: ignore[attr-defined]
    }
    del defaults["context"]
    flat(context=1, **{**defaults, "stride": 3, "format": "raw"})
    assert found[0] == 1 and found[1].format == "raw" and found[2].stride == 3


def test_only_annotated_fields_are_options() -> None:
    assert "columns" not in with_groups(_of_texts).__annotations__
    declared = Annotated[int, CliOption("--number N", "A number.")]
    assert declared.__metadata__[0].needs == () and issubclass(ListedTexts, OptionGroup)


def _of_texts(texts: ListedTexts) -> None: ...
