"""Options that a command takes as one argument."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest
import typer

from tokctl.cli.options import Group, with_globals
from tokctl.cli.world import World

Size = Annotated[int, typer.Option("--size")]
Name = Annotated[str, typer.Option("--name")]


class Shape(Group):
    size: Size = 1
    name: Name = "x"


class Other(Group):
    size: Size = 1
    name: Name = "x"


def test_what_is_not_given_has_its_default() -> None:
    assert (Shape().size, Shape().name) == (1, "x")
    assert (Shape(2).size, Shape(name="y").size, Shape(2, name="y").name) == (2, 1, "y")
    assert Shape(1, "x") == Shape() != Shape(2)
    assert Shape() != Other()


@pytest.mark.parametrize(
    ("given", "named"), [((), {"sise": 2}), ((1, "x", 3), {}), ((1,), {"size": 2})]
)
def test_what_is_no_option_is_refused(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Shape has the options size, name"):
        Shape(*given, **named)


def test_a_command_has_the_options_of_its_groups() -> None:
    def command(world: World, first: int, shape: Shape = Shape()) -> None:  # noqa: B008
        del world, first, shape

    found = inspect.signature(with_globals(command)).parameters
    assert [*found][:4] == ["context", "first", "size", "name"]
    assert found["size"].annotation == Size and found["name"].default == "x"
