"""The pairs of a corpus state with what the training compares."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import MergeRecord, PairCount, PairCounts
from tokctl.render.console import visible
from tokctl.render.inspect.plain import as_lines, brief, number
from tokctl.wording import plural

_REFUSED = {
    "rare": "rarer than the training allows",
    "long": "longer than the training allows",
    "special": "a special token",
}


def pairs_lines(found: PairCounts, limit: int | None) -> str:
    """Left, right, count, and the step at which the model merges the pair; behind it, where
    scores are compared, the count of left and of right, the score exactly and as a decimal."""
    return as_lines(_fields(pair) for pair in found.pairs[:limit])


def _fields(pair: PairCount) -> Iterator[str]:
    yield visible(pair.left)
    yield visible(pair.right)
    yield str(pair.count)
    yield number(pair.step)
    if (score := pair.score) is not None:
        yield str(pair.left_count)
        yield str(pair.right_count)
        yield str(score)
        yield f"{float(score):.4g}"


#: Columns from which there is room for the counts of both symbols by themselves.
_WIDE = 92


def show_pairs(console: Console, found: PairCounts, merged: MergeRecord | None, limit: int) -> None:
    """Up to `limit` pairs; `merged` is the merge that the model makes next, None after the
    last one."""
    state = f"after step {found.step:,}" if found.step else "before the first merge"
    console.print(Text(f"Pairs {state}", style="bold"))
    shown = found.pairs[:limit]
    if shown:
        console.print(_table(shown, console.width))
    facts = [plural(len(found.pairs), "pair")]
    if any(pair.wins for pair in shown):
        facts.append("the one that would be merged next marked *")
    if len(shown) < len(found.pairs):
        facts.append(f"--limit {len(found.pairs)} shows all")
    console.print(Text("; ".join(facts), style="dim"))
    if found.unknown:
        count = plural(found.unknown, "pair")
        line = f"{count} of symbols that the model does not know left out"
        console.print(Text(line, style="dim"))
    for refusal, why in _REFUSED.items():
        refused = sum(pair.refused == refusal for pair in found.pairs)
        if refused:
            line = f"{plural(refused, 'pair')} not merged: {why}, marked -"
            console.print(Text(line, style="dim"))
    if found.pairs and not found.known:
        console.print("The file does not say by what its training chose: pairs are shown by count.")
    winner = next((pair for pair in found.pairs if pair.wins), None)
    if winner and merged and winner.step != merged.step:
        other = f"{brief(merged.left)} + {brief(merged.right)}"
        line = f"The model merged {other} at step {merged.step:,}: its own text was another."
        console.print(line)


def _table(pairs: tuple[PairCount, ...], width: int) -> Table:
    by_score = pairs[0].by_score
    counts = not by_score or width >= _WIDE
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("left", overflow="fold", justify="right")
    table.add_column("right", overflow="fold")
    figures = ["count"] if counts else []
    figures += ["of left", "of right"] if by_score and counts else []
    figures += ["score", "≈"] if by_score else []
    for name in (*figures, "merged at"):
        table.add_column(name, justify="right", no_wrap=name != "score", overflow="fold")
    for pair in pairs:
        mark = Text("*", style="bold green") if pair.wins else Text("-" if pair.refused else "")
        cells = [f"{pair.count:,}"] if counts else []
        if by_score and counts:
            cells += [f"{pair.left_count:,}", f"{pair.right_count:,}"]
        if (score := pair.score) is not None:
            # Where the counts have no columns of their own, they stand in the fraction.
            whole = f"{pair.count}/({pair.left_count}·{pair.right_count})"
            cells += [str(score) if counts else whole, f"{float(score):.4g}"]
        cells.append("never" if pair.step is None else f"{pair.step:,}")
        row = (brief(pair.left), brief(pair.right), *cells)
        table.add_row(mark, *map(Text, row), style="bold" if pair.wins else "")
    return table
