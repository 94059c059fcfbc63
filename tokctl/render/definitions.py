"""What metrics are, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.metrics import Definition

#: What is said of a figure that nothing is better about.
_BETTER = {"higher": "more is better", "lower": "less is better", "neither": "neither is better"}


def show_definitions(console: Console, definitions: Sequence[Definition]) -> None:
    """One after the other: formula, unit, what is better, source, when it misleads."""
    for place, definition in enumerate(definitions):
        if place:
            console.print()
        title = Text(definition.name, style="bold")
        if definition.label != definition.name:
            title.append(f"  {definition.label}", style="not bold dim")
        console.print(title)
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("formula", Text(definition.formula))
        table.add_row("unit", Text(f"{definition.unit}; {_BETTER[definition.better]}"))
        if definition.source:
            table.add_row("source", Text(definition.source))
        table.add_row("misleads", Text(definition.misleads))
        console.print(table)
