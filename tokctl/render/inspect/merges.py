"""A stretch of the merge history."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import MATCHES, MergeRecord, TokenPattern
from tokctl.render.console import visible
from tokctl.render.inspect.plain import as_lines, brief, number
from tokctl.wording import plural


def merges_lines(merges: Sequence[MergeRecord], name: Callable[[str], str] = visible) -> str:
    """Step, left, right, token, count; behind it the score where there is one. `name`
    gives what a token is shown as."""
    return as_lines(_fields(merge, name) for merge in merges)


def _fields(merge: MergeRecord, name: Callable[[str], str]) -> Iterator[str]:
    yield str(merge.step)
    yield from map(name, (merge.left, merge.right, merge.token))
    yield number(merge.count)
    if merge.score is not None:
        yield str(merge.score)
        yield decimal(merge)


def decimal(merge: MergeRecord) -> str:
    """The score as a decimal of four digits; empty where there is none."""
    return "" if merge.score is None else f"{float(merge.score):.4g}"


def show_merges(
    console: Console,
    merges: Sequence[MergeRecord],
    total: int,
    wanted: TokenPattern | None,
    limit: int | None,
) -> None:
    """Up to `limit` merges; `wanted` are the tokens that were asked for."""
    shown = merges[:limit]
    if shown:
        names = wanted.names if wanted else frozenset()
        console.print(merges_table(shown, console.width, names))
    facts = [] if len(shown) == total else [f"{plural(len(shown), 'step')} of {total:,}"]
    if len(shown) < len(merges):
        facts.append(f"--limit {len(merges)} shows all {len(merges):,} that were asked for")
    if wanted and wanted.how == "is":
        facts.append(f"in which {brief(wanted.text)} is left, right or made")
    elif wanted:
        known = plural(len(wanted.names), "token")
        facts.append(
            f"of {known} whose {MATCHES[wanted.how].removeprefix('the ')} {brief(wanted.text)}"
        )
    if facts:
        console.print(Text("; ".join(facts), style="dim"))


#: Characters of a score for which there is always room.
_SHORT = 4
#: Columns that a table needs beside what its longest scores take: steps, tokens, counts.
_BESIDE = 60


def merges_table(merges: Sequence[MergeRecord], width: int, wanted: Container[str] = ()) -> Table:
    """The merges; where long scores leave no room, without the decimals beside them. Names
    that are `wanted` are underlined."""
    counted = any(merge.count is not None for merge in merges)
    scored = any(merge.score is not None for merge in merges)
    longest = max((len(str(merge.score)) for merge in merges), default=0)
    rounded = scored and (longest <= _SHORT or width >= _BESIDE + longest)
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("left", overflow="fold", justify="right")
    table.add_column("right", overflow="fold")
    table.add_column("token", overflow="fold", style="bold")
    if counted:
        table.add_column("count", justify="right", no_wrap=True)
    if scored:
        table.add_column("score", justify="right", no_wrap=True)
    if rounded:
        table.add_column("≈", justify="right", no_wrap=True)
    for merge in merges:
        figures = [number(merge.count, ",")] if counted else []
        figures += [str(merge.score or "")] if scored else []
        figures += [decimal(merge)] if rounded else []
        table.add_row(
            f"{merge.step:,}",
            *(
                Text(brief(name), style="underline" if name in wanted else "")
                for name in (merge.left, merge.right, merge.token)
            ),
            *figures,
        )
    return table
