"""A model at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import Checks, MergeRecord, Summary
from tokctl.analysis.metrics import space_mark
from tokctl.render.console import visible
from tokctl.render.inspect.merges import merges_lines, merges_table
from tokctl.render.inspect.plain import as_lines, brief, readable, scored
from tokctl.render.inspect.recipe import (
    added_facts,
    facts_table,
    recipe_facts,
    source_facts,
    training_facts,
)
from tokctl.render.inspect.rounds import rounds_lines, rounds_table
from tokctl.wording import plural

#: Columns of the longest bar.
BAR = 30
#: The greatest length that a terminal is shown by itself.
EACH = 16
_BY_LENGTH = "tokens by length"
#: Names that one line of a check shows.
NAMES = 8


def summary_lines(name: str, summary: Summary) -> str:
    """Parts with a title and an empty line between them; fields with a tab."""
    parts = [as_lines([("model", visible(name)), *summary_facts(summary)])]
    for title, counts in _counted(summary):
        parts.append(f"{title}\n" + as_lines((key, str(count)) for key, count in counts))
    rows = ((brief(token), str(length)) for token, length in summary.longest)
    parts.append(f"longest tokens ({summary.unit})\n" + as_lines(rows))
    for title, values in _best(summary):
        parts.append(f"{title}\n" + as_lines((brief(token), value) for token, value in values))
    for title, merges in _merges(summary):
        parts.append(f"{title}\n" + merges_lines(merges, brief))
    if summary.rounds:
        parts.append("rounds of the training\n" + rounds_lines(summary.rounds, examples=False))
    parts.append("checks\n" + as_lines(check_rows(summary.checks, summary)))
    return "\n".join(parts)


def summary_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """What a model is and where it came from: names and values for people."""
    recipe = summary.recipe
    yield from source_facts(summary.source)
    yield "algorithm", f"{recipe.traits.title}, recipe {visible(recipe.name)}"
    yield "vocabulary", f"{plural(summary.vocab_size, 'id')}{_merges_known(summary)}"
    yield from added_facts(summary.special.items(), summary.added)
    yield from recipe_facts(recipe, trained=summary.training is not None)
    refused = f"Hugging Face refuses it: {readable(summary.obstacle or '')}"
    loaded = "Hugging Face loads it, with the same ids"
    if summary.differences:
        what = "; ".join(map(readable, summary.differences))
        loaded = f"Hugging Face loads it, and ids can differ: it can't hold {what}"
    yield "elsewhere", refused if summary.obstacle else loaded
    if summary.training:
        yield from training_facts(recipe, summary.training)
    else:
        yield "trained on", "not known: the file does not say"


def _merges_known(summary: Summary) -> str:
    if summary.merges is not None:
        return f", {plural(summary.merges, 'merge')}"
    return ", ranked; merges follow from that" if summary.recipe.has_ranks else ""


def _counted(summary: Summary) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    yield "tokens by origin", list(summary.kinds.items())
    yield "tokens by place in the word", list(summary.places.items())
    yield "tokens by content", list(summary.contents.items())
    yield "tokens by script", list(summary.scripts.items())
    lengths = [(str(length), count) for length, count in summary.lengths.items()]
    yield f"{_BY_LENGTH} in {summary.unit}", lengths


def _together(lengths: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Great lengths by powers of two, 17 to 32 and so on, so that a terminal can show them."""
    found: dict[str, int] = {}
    for name, count in lengths:
        length = int(name)
        if length > EACH:
            least = 1 << (length - 1).bit_length() - 1
            name = f"{least + 1:,} to {2 * least:,}"
        found[name] = found.get(name, 0) + count
    return list(found.items())


def _best(summary: Summary) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Tokens with what they were chosen by."""
    if summary.frequent:
        counts = [(token, str(count)) for token, count in summary.frequent]
        yield "most frequent tokens in training", counts
    for title, pieces in (
        ("pieces with the highest scores", summary.highest),
        ("pieces with the lowest scores", summary.lowest),
    ):
        if pieces:
            yield title, [(token, scored(score)) for token, score in pieces]


def _merges(summary: Summary) -> Iterator[tuple[str, Sequence[MergeRecord]]]:
    if summary.first_merges:
        yield "first merges", summary.first_merges
    if summary.last_merges:
        yield "last merges", summary.last_merges


def check_rows(checks: Checks, summary: Summary) -> Iterator[tuple[str, str]]:
    """What was checked, and what was found."""
    reach = checks.reach
    if reach.undecided:
        yield "unreachable tokens", f"{reach.undecided:,} undecided after {reach.trials:,} trials"
    else:
        yield "unreachable tokens", _listed(reach.unreachable)
    yield "duplicates", _listed([" = ".join(names) for names in checks.duplicates])
    yield "holes in ids", f"none: 0 to {summary.vocab_size - 1}, checked when the file was read"
    if mark := summary.recipe.marker.text or space_mark(summary.recipe):
        how = f"one with {visible(mark)} and one without"
        yield "texts with two tokens", f"{checks.two_places:,}, {how}"
    if summary.merges is not None:
        yield "tokens made twice", f"{checks.remade:,}" if checks.remade else "none"
    yield "more checks", "--check, with a text or without"


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    some = ", ".join(brief(name) for name in names[:NAMES])
    return f"{len(names):,}: {some}" + (", …" if len(names) > NAMES else "")


def show_summary(console: Console, name: str, summary: Summary) -> None:
    console.print(
        Panel(facts_table(summary_facts(summary)), title=Text(visible(name)), title_align="left")
    )
    for title, counts in _counted(summary):
        _title(console, title)
        console.print(_bars(_together(counts) if title.startswith(_BY_LENGTH) else counts))
    _title(console, f"longest tokens, in {summary.unit}")
    console.print(_grid((f"{length:,}", brief(token)) for token, length in summary.longest))
    for title, values in _best(summary):
        _title(console, title)
        console.print(_grid((value, brief(token)) for token, value in values))
    for title, merges in _merges(summary):
        _title(console, title)
        console.print(merges_table(merges, console.width))
    if summary.rounds:
        _title(console, "rounds of the training")
        console.print(rounds_table(summary.rounds))
    _title(console, "checks")
    console.print(_grid(check_rows(summary.checks, summary)))


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
