"""A pre-token that is segmented by merges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import Candidate, Leftover, MergedWord
from tokctl.render.console import visible
from tokctl.render.inspect.merges import decimal
from tokctl.render.inspect.plain import brief, brief_segmentation, number, shown

#: Losing pairs that a terminal is shown at each step.
LOSERS = 5
#: Tokens of one state that a terminal is shown.
TOKENS = 200

_WHOLE = "it is a token, and stays whole: no merge is tried"


def merged_rows(word: MergedWord) -> Iterator[Iterable[str]]:
    """Lines that begin with `whole`, `bytes`, `symbols`, `step` or `rank`, `rest`."""
    if word.whole:
        yield "whole", _WHOLE
        return
    for character, tokens in word.fallbacks:
        yield "bytes", visible(character), shown(tokens)
    yield "symbols", shown(word.symbols)
    for step in word.steps:
        merge = step.merge
        figures = [] if word.ranked else [number(merge.count)]
        figures += [] if merge.score is None else [str(merge.score)]
        pair = shown((merge.left, merge.right))
        label = "rank" if word.ranked else "step"
        yield label, str(merge.step), pair, visible(merge.token), *figures, shown(step.state)
    for rest in word.leftovers:
        yield "rest", shown((rest.left, rest.right)), _why(word, rest, visible)


def _why(word: MergedWord, rest: Leftover, name: Callable[[str], str]) -> str:
    if rest.reason == "unknown":
        names = dict.fromkeys(map(name, rest.lacks))
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} not in the alphabet"
    if rest.reason == "passed":
        return f"came up after step {rest.step:,}, which merges them"
    if word.ranked:
        return "no token is spelled so"
    why = "never merged in training"
    if other := rest.instead:
        pair = f"{name(other.left)} + {name(other.right)}"
        why += f"; {name(other.token)} is made of {pair} at step {other.step:,}"
    return why


def show_merged(console: Console, word: MergedWord) -> None:
    if word.whole:
        console.print(Text(f"  {_WHOLE}", style="dim"))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    for character, tokens in word.fallbacks:
        name = Text(f"{brief(character)} has no token", style="dim")
        table.add_row("", name, brief_segmentation(tokens, TOKENS))
    table.add_row("", Text("symbols", style="dim"), brief_segmentation(word.symbols, TOKENS))
    for step in word.steps:
        merge = step.merge
        pair = Text(f"{brief(merge.left)} + {brief(merge.right)}")
        if len(step.places) > 1:
            pair.append(f", {len(step.places)} times")
        figures = [] if merge.count is None else [f"count {merge.count:,}"]
        if merge.score is not None:
            figures.append(f"score {merge.score} ≈ {decimal(merge)}")
        for figure in figures:
            pair.append(f"\n{figure}", style="dim")
        # Each merge in front of a place has moved it one to the left.
        made = [place - earlier for earlier, place in enumerate(step.places)]
        state = brief_segmentation(step.state, TOKENS, made)
        if step.losers:
            state.append(f"\nlater: {_losers(word, step.losers)}", style="dim")
        table.add_row(f"{merge.step:,}", pair, state)
    console.print(table)
    for rest in word.leftovers:
        text = Text("  not merged: ", style="dim")
        text.append(f"{brief(rest.left)} + {brief(rest.right)}")
        console.print(text.append(f"  {_why(word, rest, brief)}", style="dim"))


def _losers(word: MergedWord, losers: tuple[Candidate, ...]) -> str:
    label = "rank" if word.ranked else "step"
    names = [
        f"{brief(pair.left)} + {brief(pair.right)} ({label} {pair.step:,})"
        for pair in losers[:LOSERS]
    ]
    if len(losers) > LOSERS:
        names.append(f"{len(losers) - LOSERS} more")
    return ", ".join(names)
