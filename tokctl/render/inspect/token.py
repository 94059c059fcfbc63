"""Where a token comes from, as a tree, and where it goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tokctl.analysis.explain import MergeTree, PieceScore, TokenHistory, TokenUse
from tokctl.render.console import visible
from tokctl.render.inspect.merges import decimal
from tokctl.render.inspect.plain import as_lines, brief, brief_segmentation, number, scored, shown
from tokctl.render.inspect.recipe import how_found
from tokctl.render.inspect.scored import path_names
from tokctl.render.inspect.uses import show_token_use, token_use_rows
from tokctl.wording import plural

#: Nodes of a merge tree that a terminal is shown: an upper part of it, whole levels.
NODES = 200
#: Tokens of the segmentation that would take a piece's place.
PIECES = 60


def token_lines(token: TokenHistory, limit: int | None, use: TokenUse | None = None) -> str:
    """Each line says first what it is: `token`, `id`, `bytes` (hexadecimal), `kind`; `found`
    (an added token); `score`, `probability`, `place` among all by these, `without` (what is
    lost, the tokens instead) of a piece; `counted`; `merge` (the merges it is made of, in
    order; `rank` where only ranks are known), `again`, `use` (step, partner, side, result).
    With a text, `uses` and `word`, as `token_use_rows` has them."""
    return as_lines([*_rows(token, limit), *token_use_rows(use, limit)])


def _rows(token: TokenHistory, limit: int | None) -> Iterator[Iterable[str]]:
    yield "token", visible(token.token)
    yield "id", str(token.id)
    yield "bytes", token.data.hex()
    yield "kind", token.kind
    if token.added:
        yield "found", how_found(token.added)
    if token.piece_score:
        yield from _worth_rows(token.piece_score)
    if token.training_count:
        counted = token.training_count
        yield "counted", str(counted.count), str(counted.place), str(counted.tokens)
    for name, merges in (
        ("rank" if token.ranked else "merge", token.merges),
        ("again", token.again),
    ):
        for merge in merges:
            names = map(visible, (merge.left, merge.right, merge.token))
            count = [] if token.ranked else [number(merge.count)]
            score = [] if merge.score is None else [str(merge.score)]
            yield name, str(merge.step), *names, *count, *score
    for use in token.uses[:limit]:
        yield "use", str(use.step), visible(use.partner), use.side, visible(use.result)


def _worth_rows(worth: PieceScore) -> Iterator[Iterable[str]]:
    yield "score", scored(worth.score)
    yield "probability", f"{exp(worth.score):.4g}"
    yield "place", str(worth.place), str(worth.pieces)
    if worth.instead is not None and worth.gain is not None:
        yield "without", scored(worth.gain), shown(path_names(worth.instead))


def show_token(
    console: Console, token: TokenHistory, limit: int, use: TokenUse | None = None
) -> None:
    """The facts, what a text makes of it, the tree, and the first `limit` uses."""
    title = Text(brief(token.token), style="bold")
    title.append(f"  id {token.id:,}, {token.kind}", style="not bold")
    console.print(title)
    facts = f"{plural(len(token.data), 'byte')}: {_hex(token.data)}"
    console.print(Text(facts, style="dim").append(_text(token)))
    if token.kind == "byte":
        console.print("Stands for that byte of characters that have no token.")
    if token.added:
        console.print(f"Found {how_found(token.added)}.")
    if token.piece_score:
        _show_worth(console, token.piece_score)
    if token.training_count:
        counted = token.training_count
        place = f"place {counted.place:,} of {counted.tokens:,}"
        console.print(f"Counted {plural(counted.count, 'time')} in training, {place}.")
    if use:
        console.print()
        show_token_use(console, use, limit)
    if token.merge:
        console.print()
        console.print(_tree(token, console.width))
    for merge in token.again:
        pair = f"{brief(merge.left)} + {brief(merge.right)}"
        console.print(f"made again at step {merge.step:,}: {pair}")
    if not token.uses:
        if token.kind in ("alphabet", "merged", "other"):
            console.print()
            console.print(Text("No other token is made with it.", style="dim"))
        return
    console.print()
    console.print(f"{plural(len(token.uses), 'token')} made with it:")
    console.print(_uses(token, limit))
    if len(token.uses) > limit:
        more = f"{len(token.uses) - limit:,} more: --limit {len(token.uses)} shows all"
        console.print(Text(more, style="dim"))


def _show_worth(console: Console, worth: PieceScore) -> None:
    facts = f"score {scored(worth.score)}, probability {exp(worth.score):.4g}"
    console.print(f"{facts}, place {worth.place:,} of {plural(worth.pieces, 'piece')}")
    if worth.instead is None or worth.gain is None:
        console.print(Text("There is no other way to write its text.", style="dim"))
        return
    line = Text("without it: ").append_text(brief_segmentation(path_names(worth.instead), PIECES))
    console.print(line.append(f"  score {scored(worth.instead.score)}", style="dim"))
    if worth.gain < 0:
        console.print(f"It scores {scored(-worth.gain)} less than that: it is never taken.")
    else:
        console.print(f"Dropping it would cost {scored(worth.gain)} nats each time it is taken.")


def _text(token: TokenHistory) -> str:
    """What the bytes spell, where the token does not show it: `âĢľ` is a quotation mark."""
    try:
        text = token.data.decode()
    except UnicodeDecodeError:
        return ", no whole characters"
    return "" if text == token.token else f", the text “{brief(text)}”"


def _hex(data: bytes) -> str:
    return data[:24].hex(" ") + (" …" if len(data) > 24 else "")


def label_of(token: TokenHistory) -> str:
    """What the number of a merge is called."""
    return "rank" if token.ranked else "step"


def _tree(token: TokenHistory, width: int) -> Tree:
    """The levels that are as wide as the terminal and have up to `NODES` nodes."""
    # Each level takes four columns.
    deepest = max(2, min((width - 24) // 4, _levels(token.tree)))
    scores = {merge.step: merge for merge in token.merges}

    def label(node: MergeTree) -> Text:
        text = Text(brief(node.token), style="bold" if node.parts else "")
        merge = scores.get(node.step or 0)
        if merge:
            text.append(f"  {label_of(token)} {merge.step:,}", style="not bold dim")
            if merge.count is not None:
                text.append(f", count {merge.count:,}", style="not bold dim")
            if merge.score is not None:
                text.append(f", score ≈ {decimal(merge)}", style="not bold dim")
        return text

    root = Tree(label(token.tree), guide_style="dim")
    branches = [root]
    for depth, node in _down_to(token.tree, deepest):
        if depth == 0:
            continue
        branch = branches[depth - 1].add(label(node))
        branches[depth:] = [branch]
        if depth == deepest and node.parts:
            branch.add(Text("…", style="dim"))
    return root


def _down_to(tree: MergeTree, deepest: int) -> Iterator[tuple[int, MergeTree]]:
    """The nodes of the first levels, each before its parts."""
    waiting = [(0, tree)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        if depth < deepest:
            waiting += [(depth + 1, part) for part in reversed(node.parts)]


def _levels(tree: MergeTree) -> int:
    """How many levels below the root can be shown whole with `NODES` nodes."""
    level: list[MergeTree] = [tree]
    nodes = 0
    depth = 0
    while level and nodes + len(level) <= NODES:
        nodes += len(level)
        level = [part for node in level for part in node.parts]
        depth += 1
    return depth - 1


def _uses(token: TokenHistory, limit: int) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column(label_of(token), justify="right", no_wrap=True)
    table.add_column("left", justify="right", overflow="fold")
    table.add_column("right", overflow="fold")
    table.add_column("token", overflow="fold", style="bold")
    own = brief(token.token)
    for use in token.uses[:limit]:
        partner = brief(use.partner)
        left, right = (partner, own) if use.side == "right" else (own, partner)
        table.add_row(f"{use.step:,}", left, right, brief(use.result))
    return table
