"""A Unigram training: the loss of all rounds as a curve, and what this round dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tokctl.analysis.replay import RoundFrame
from tokctl.watch.drawing import boxes_alone, row
from tokctl.watch.panel import Panel
from tokctl.wording import plural

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Rounds(Panel):
    """The curve, and below it the dropped pieces that the file keeps."""

    def rows(self, width: int, height: int) -> Iterator[Content]:
        frame = self.watch_app.frame
        assert isinstance(frame, RoundFrame)
        yield row(("Loss of all rounds", "bold"), ("  nats per word", "dim"))
        yield from _curve(frame.objectives, frame.step, width, 2 if height < 16 else 4)
        found = frame.round
        if not found.examples:
            if found.dropped:
                dropped = plural(found.dropped, "piece")
                yield row(f"The file does not name the {dropped} dropped here.")
            return
        yield row(("Dropped", "bold"), (f"  {len(found.examples):,} of {found.dropped:,}", "dim"))
        for place, (piece, loss) in enumerate(found.examples):
            value = "" if loss is None else f"  loss {loss:.4g}"
            yield row(" ", *boxes_alone(piece, place % 5), value)


def _curve(values: Sequence[float], step: int, width: int, high: int) -> Iterator[Content]:
    """A bar per round, or one for several where there is less room; ▲ is the present one.

    Args:
        high: lines that the bars take.
    """
    lowest, highest = min(values), max(values)
    room = max(8, width - 2)
    each = -(-len(values) // room)
    groups = [values[at : at + each] for at in range(0, len(values), each)]
    wide = max(1, min(4, room // len(groups)))
    here = (step - 1) // each
    steps = len(_BLOCKS) - 1
    levels = []
    for group in groups:
        part = (sum(group) / len(group) - lowest) / (highest - lowest or 1.0)
        levels.append(1 + round(part * (high * steps - 1)))  # the lowest is seen, too
    for line in reversed(range(high)):
        bars = [_BLOCKS[min(max(level - line * steps, 0), steps)] * wide for level in levels]
        yield row(" ", *((text, "" if at == here else "dim") for at, text in enumerate(bars)))
    yield row(" " * (1 + here * wide) + "▲" * wide)
    yield row((f" {lowest:.4f} lowest, {highest:.4f} highest", "dim"))
