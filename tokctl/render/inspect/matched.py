"""A pre-token that is segmented by longest match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.console import Console
from rich.table import Table

from tokctl.analysis.explain import Match, MatchedWord
from tokctl.render.console import visible
from tokctl.render.inspect.plain import brief, brief_segmentation
from tokctl.wording import plural


def matched_rows(word: MatchedWord) -> Iterator[Iterable[str]]:
    """Lines that begin with `match` or `unknown`."""
    for match in word.matches:
        found = "-" if match.token is None else visible(match.token)
        yield "match", visible(match.stretch), found, _tried(match, visible)
    if word.failure:
        yield "unknown", _failure(word)


def _tried(match: Match, name: Callable[[str], str]) -> str:
    if not match.longer_count:
        return "nothing longer is left"
    names = [name(longer) for longer in match.longer]
    if match.longer_count > len(names):
        names.insert(1, "…")
    return f"no token: {', '.join(names)}"


def _failure(word: MatchedWord) -> str:
    failure = word.failure
    assert failure is not None
    if failure.reason == "too-long":
        return (
            f"{plural(failure.characters, 'character')}; words of more than {failure.limit:,} "
            "are unknown as a whole"
        )
    where = "nothing fits" if failure.rest == word.data.decode() else "nothing fits the rest"
    return f"{where}, {visible(failure.rest)}: the whole word is unknown"


def show_matched(console: Console, word: MatchedWord) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for match in word.matches:
        if match.token is None:
            table.add_row(brief(match.stretch), "no token fits: unknown")
        else:
            table.add_row(brief_segmentation([match.token], 1), _tried(match, brief))
    if word.matches:
        console.print(table)
    if word.failure:
        console.print(f"{_failure(word)}.")
