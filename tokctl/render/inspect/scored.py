"""A pre-token that is segmented by the scores of pieces, and looked-up ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import FoundWord, LookedUpWord, Path, PathPiece, ScoredWord
from tokctl.render.console import visible
from tokctl.render.inspect.plain import brief, brief_segmentation, number, scored, shown
from tokctl.render.inspect.recipe import how_found
from tokctl.wording import percent, plural

#: Tokens of one path that a terminal is shown.
TOKENS = 200


def scored_rows(word: ScoredWord) -> Iterator[Iterable[str]]:
    """`piece` (text, token, score) of the path that is taken, `total` (score, probability), and
    `other` paths (score, how much less that is, tokens, probability). A probability is that
    among all paths; there is none in models with user-defined pieces."""
    taken, *others = word.paths
    for piece in taken.pieces:
        yield "piece", visible(piece.text), _names(piece), scored(piece.score)
    yield "total", scored(taken.score), *_probability(taken)
    for path in others:
        names = shown(path_names(path))
        yield "other", scored(path.score), scored(path.behind), names, *_probability(path)


def _probability(path: Path) -> list[str]:
    return [] if path.probability is None else [f"{path.probability:.4g}"]


def _names(piece: PathPiece) -> str:
    if piece.token is not None:
        return visible(piece.token)
    return shown(piece.fallback) if piece.fallback else "-"


def path_names(path: Path) -> list[str]:
    """A path's tokens; unknown characters as themselves."""
    names: list[str] = []
    for piece in path.pieces:
        names += [piece.token or piece.text] if not piece.fallback else piece.fallback
    return names


def show_scored(console: Console, word: ScoredWord) -> None:
    taken, *others = word.paths
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for piece in taken.pieces:
        if piece.token is not None:
            table.add_row(scored(piece.score), brief_segmentation([piece.token], 1), "")
        elif piece.fallback:
            note = f"{brief(piece.text)} has no piece: its bytes, and the penalty"
            table.add_row(scored(piece.score), brief_segmentation(piece.fallback, TOKENS), note)
        else:
            table.add_row(scored(piece.score), brief(piece.text), "no piece: the penalty")
    if len(taken.pieces) > 1:
        table.add_row(scored(taken.score), Text("in all", style="dim"), "")
    console.print(table)
    if taken.probability is not None:
        share = f"{percent(taken.probability, 2)} of all ways to write it, by probability"
        console.print(Text(share, style="dim"))
    if not others:
        console.print(Text("There is no other way.", style="dim"))
        return
    asked = "" if taken.probability is None else ", and their probability"
    console.print(Text(f"The next best, and how much less{asked}:", style="dim"))
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for path in others:
        share = "" if path.probability is None else percent(path.probability, 2)
        way = brief_segmentation(path_names(path), TOKENS)
        table.add_row(f"-{scored(path.behind)}", share, way)
    console.print(table)
    if taken.probability is not None:
        rest = 1 - sum(path.probability or 0 for path in word.paths)
        if rest > 1e-6:
            left = f"All other ways together have {percent(rest, 2)}; --nbest N shows more."
            console.print(Text(left, style="dim"))


def looked_up_rows(word: LookedUpWord) -> Iterator[Iterable[str]]:
    """`word` or `character` looked up: its text, token and count, or why there is none."""
    for lookup in word.lookups:
        if lookup.token is None:
            yield "lookup", visible(lookup.text), "-", _missing(word)
        else:
            yield "lookup", visible(lookup.text), visible(lookup.token), number(lookup.count)


def _missing(word: LookedUpWord) -> str:
    return f"none of the {plural(word.size, word.unit)} that have a token"


def show_looked_up(console: Console, word: LookedUpWord) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for lookup in word.lookups[:TOKENS]:
        if lookup.token is None:
            table.add_row(brief(lookup.text), f"unknown: {_missing(word)}")
        else:
            count = "" if lookup.count is None else f"counted {plural(lookup.count, 'time')}"
            table.add_row(brief_segmentation([lookup.token], 1), count)
    console.print(table)
    if len(word.lookups) > TOKENS:
        console.print(Text(f"… {len(word.lookups) - TOKENS:,} more", style="dim"))


def found_rows(word: FoundWord) -> Iterator[Iterable[str]]:
    yield "added", visible(word.added.text), f"found {how_found(word.added)}"


def show_found(console: Console, word: FoundWord) -> None:
    text = f"  an added token, found {how_found(word.added)}, before the model segments"
    console.print(Text(text, style="dim"))
