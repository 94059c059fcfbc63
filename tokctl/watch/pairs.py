"""The pairs that competed for a step, and why the winner won."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from textual.content import Content

from tokctl.analysis.replay import Frame, LeadingPair
from tokctl.watch.drawing import boxes_alone, formula, row
from tokctl.watch.panel import Panel
from tokctl.watch.reasons import why
from tokctl.wording import plural


class Pairs(Panel):
    """Title, reason, pairs. The step's own is in sight however little room there is."""

    def rows(self, width: int, height: int) -> Iterator[Content]:
        frame = self.watch_app.frame
        assert isinstance(frame, Frame)
        title = f"Pairs before step {frame.decides:,}"
        yield row((title, "bold"), (f"  best of {plural(frame.distinct_pairs, 'pair')}", "dim"))
        reason = wrap(why(frame), max(20, width - 2))
        for line in reason:
            yield row(line)
        room = max(1, height - 1 - len(reason))
        pairs = frame.pairs
        if len(pairs) > room:
            own = next((place for place, pair in enumerate(pairs) if pair.chosen), 0)
            pairs = pairs[:room] if own < room else (*pairs[: room - 1], pairs[own])
        digits = max((len(f"{pair.place:,}") for pair in pairs), default=1)
        for pair in pairs:
            yield _pair(pair, digits)


def _pair(pair: LeadingPair, digits: int) -> Content:
    mark = "▸" if pair.chosen else "!" if pair.refused else " "
    style = "bold" if pair.chosen else ""
    value = f"{pair.count:,}"
    if pair.score is not None:
        value = formula(pair.count, pair.left_count, pair.right_count)
    reasons = {"long": "  too long a token", "special": "  spells a special token"}
    return row(
        (f"{mark}{pair.place:>{digits},} ", style),
        *boxes_alone(pair.left, 0),
        " + ",
        *boxes_alone(pair.right, 1),
        (f"  {value}", style),
        (reasons.get(pair.refused or "", ""), "dim"),
    )
