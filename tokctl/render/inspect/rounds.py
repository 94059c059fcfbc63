"""The rounds of a Unigram training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.model import Round
from tokctl.render.console import visible
from tokctl.render.inspect.plain import as_lines, brief, scored

#: Dropped pieces of each round that a terminal is shown.
EXAMPLES = 8


def rounds_lines(rounds: Sequence[Round], *, examples: bool = True) -> str:
    """`round`, its number, pieces, objective, tokens, unused, dropped; below it `dropped`
    lines: number, piece, and its loss (`-` where the round cuts by score)."""
    return as_lines(_rows(rounds, examples))


def _rows(rounds: Sequence[Round], examples: bool) -> Iterator[Iterable[str]]:
    for number, found in enumerate(rounds, 1):
        figures = (f"{found.objective:.4f}", f"{found.tokens:.1f}")
        counts = (str(found.unused), str(found.dropped))
        yield "round", str(number), str(found.pieces), *figures, *counts
        for piece, loss in found.examples if examples else ():
            yield "dropped", str(number), visible(piece), _loss(loss)


def _loss(loss: float | None) -> str:
    return "-" if loss is None else f"{loss:.4g}"


def rounds_table(rounds: Sequence[Round]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("round", "pieces", "objective", "tokens", "unused", "dropped"):
        table.add_column(name, justify="right")
    for number, found in enumerate(rounds, 1):
        table.add_row(
            f"{number:,}",
            f"{found.pieces:,}",
            scored(found.objective),
            f"{found.tokens:,.0f}",
            f"{found.unused:,}",
            f"{found.dropped:,}",
        )
    return table


#: Columns of a chart beside its two bars: three numbers and the space between.
_BESIDE = 38
#: Columns of the longest bar.
_LONGEST_BAR = 40


def loss_curve(rounds: Sequence[Round], width: int) -> Table:
    """The rounds from top to bottom: a bar for the pieces, from none, and a dot for the
    objective, from its lowest to its highest value, which its title names."""
    room = max(6, min(_LONGEST_BAR, (width - _BESIDE) // 2))
    lowest, highest = (fit(found.objective for found in rounds) for fit in (min, max))
    most = max(found.pieces for found in rounds) or 1
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("round", justify="right", no_wrap=True)
    table.add_column("pieces", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="cyan")
    table.add_column("objective", justify="right", no_wrap=True)
    table.add_column(_scale(lowest, highest, room), no_wrap=True, header_style="dim")
    for number, found in enumerate(rounds, 1):
        share = (found.objective - lowest) / (highest - lowest) if highest > lowest else 0.0
        dot = round(share * (room - 1))
        table.add_row(
            f"{number:,}",
            f"{found.pieces:,}",
            bar(found.pieces / most, room),
            scored(found.objective),
            Text("─" * dot, style="dim").append("●", style="bold"),
        )
    return table


def _scale(lowest: float, highest: float, room: int) -> str:
    """The ends of the axis, where there is room for them."""
    ends = f"{lowest:.2f}", f"{highest:.2f}"
    between = room - sum(map(len, ends))
    return ends[0] + " " * between + ends[1] if between > 0 else ""


def bar(share: float, width: int) -> str:
    """A bar of that share of the columns, to an eighth of one; a sliver where there is any."""
    eighths = round(8 * width * share)
    rest = "▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else ""
    return "█" * (eighths // 8) + rest or ("▏" if share else "")


def show_rounds(console: Console, rounds: Sequence[Round]) -> None:
    """The loss curve, the table, what it means, and examples of what was dropped."""
    console.print(loss_curve(rounds, console.width))
    console.print(rounds_table(rounds))
    for line in (
        "objective: mean negative log-likelihood of a pre-token, in nats; tokens: expected, "
        "of the whole text",
        "unused: expected less than half a time; dropped: by the loss without them, in the "
        "last round by their score",
    ):
        console.print(Text(line, style="dim"))
    for number, found in enumerate(rounds, 1):
        if not found.examples:
            continue
        console.print()
        by_loss = any(loss is not None for _, loss in found.examples)
        title = f"Dropped in round {number:,}" + (", with their loss" if by_loss else "")
        console.print(Text(title, style="bold"))
        names = [
            brief(piece) + ("" if loss is None else f" ({_loss(loss)})")
            for piece, loss in found.examples[:EXAMPLES]
        ]
        more = found.dropped - len(names)
        listed = Text(", ".join(names))
        console.print(listed.append(f", … {more:,} more" if more > 0 else "", style="dim"))
