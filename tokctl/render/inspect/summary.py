"""A model at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tokctl.explain import Checks, MergeRecord, Summary
from tokctl.render.console import visible
from tokctl.render.inspect.merges import merges_lines, merges_table
from tokctl.render.inspect.plain import as_lines, brief, named
from tokctl.render.inspect.recipe import recipe_facts, training_facts

#: Columns of the longest bar.
BAR = 30
#: Names that one line of a check shows.
NAMES = 8


def summary_lines(name: str, summary: Summary) -> str:
    """Parts with a title and an empty line between them; fields with a tab."""
    parts = [as_lines([("model", visible(name)), *_facts(summary)])]
    for title, counts in _counted(summary):
        parts.append(f"{title}\n" + as_lines((key, str(count)) for key, count in counts))
    rows = ((brief(token), str(length)) for token, length in summary.longest)
    parts.append(f"longest tokens ({summary.unit})\n" + as_lines(rows))
    for title, merges in _merges(summary):
        parts.append(f"{title}\n" + merges_lines(merges, brief))
    parts.append("checks\n" + as_lines(_checks(summary.checks, summary)))
    return "\n".join(parts)


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    recipe = summary.recipe
    algorithm = {"bpe": "BPE", "wordpiece": "WordPiece"}[recipe.algorithm]
    yield "algorithm", f"{algorithm}, recipe {visible(recipe.name)}"
    yield "vocabulary", f"{named(summary.vocab_size, 'id')}, {named(summary.merges, 'merge')}"
    special = ", ".join(f"{brief(token)} ({id_})" for token, id_ in summary.special.items())
    yield "special", special or "none"
    yield from recipe_facts(recipe)
    refused = f"Hugging Face refuses it: {visible(summary.obstacle or '')}".replace("␣", " ")
    yield "elsewhere", refused if summary.obstacle else "Hugging Face loads it, with the same ids"
    if summary.training:
        yield from training_facts(summary.training)


def _counted(summary: Summary) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    yield "tokens by origin", list(summary.kinds.items())
    yield "tokens by place in the word", list(summary.places.items())
    yield "tokens by content", list(summary.contents.items())
    lengths = [(str(length), count) for length, count in summary.lengths.items()]
    yield f"tokens by length in {summary.unit}", lengths


def _merges(summary: Summary) -> Iterator[tuple[str, Sequence[MergeRecord]]]:
    if summary.first_merges:
        yield "first merges", summary.first_merges
    if summary.last_merges:
        yield "last merges", summary.last_merges


def _checks(checks: Checks, summary: Summary) -> Iterator[tuple[str, str]]:
    reach = checks.reach
    if reach.undecided:
        yield "unreachable tokens", f"{reach.undecided:,} undecided after {reach.trials:,} trials"
    else:
        yield "unreachable tokens", _listed(reach.unreachable)
    yield "duplicates", _listed([" = ".join(names) for names in checks.duplicates])
    yield "holes in ids", f"none: 0 to {summary.vocab_size - 1}, checked when the file was read"
    if summary.recipe.marker.text:
        yield "texts with two tokens", f"{checks.two_places:,}, one with a marker and one without"
    yield "tokens made twice", f"{checks.remade:,}" if checks.remade else "none"


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    some = ", ".join(brief(name) for name in names[:NAMES])
    return f"{len(names):,}: {some}" + (", …" if len(names) > NAMES else "")


def show_summary(console: Console, name: str, summary: Summary) -> None:
    console.print(Panel(_grid(_facts(summary)), title=Text(visible(name)), title_align="left"))
    for title, counts in _counted(summary):
        _title(console, title)
        console.print(_bars(counts))
    _title(console, f"longest tokens, in {summary.unit}")
    console.print(_grid((f"{length:,}", brief(token)) for token, length in summary.longest))
    for title, merges in _merges(summary):
        _title(console, title)
        console.print(merges_table(merges))
    _title(console, "checks")
    console.print(_grid(_checks(summary.checks, summary)))


def _title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in rows:
        table.add_row(key, Text(value))
    return table


def _bars(counts: Sequence[tuple[str, int]]) -> Table:
    """Bars as long as the counts, at least a sliver where there is any."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    most = max((count for _, count in counts), default=1) or 1
    for key, count in counts:
        bar = "█" * round(BAR * count / most) or ("▏" if count else "")
        table.add_row(key, f"{count:,}", bar)
    return table
