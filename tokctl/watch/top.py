"""The top of the screen: the model, the step, and what it merges."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.content import Content

from tokctl.analysis.replay import Frame, RoundFrame
from tokctl.watch.drawing import bar, equation, formula, plain, row
from tokctl.watch.panel import Panel
from tokctl.wording import plural


class Top(Panel):
    """Four lines; a click on the bar goes there."""

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        app = self.watch_app
        frame = app.frame
        yield row(
            (app.replay.tokenizer.recipe.traits.title, "bold"),
            f" {plain(app.model_name)}",
            f" on {plain(app.text_name)}",
        )
        unit = app.replay.unit
        title = f"{unit} {frame.step:,} of {frame.total:,} "
        size = f" vocabulary {frame.vocabulary:,}"
        self._bar = (len(title), max(4, width - len(title) - len(size)))
        first, steps = app.replay.first, max(1, frame.total - app.replay.first)
        done = (frame.step - first) / steps
        marks = [(stage.step - first) / steps for stage in app.stages[1:]]
        yield row((title, "bold"), bar(done, self._bar[1], marks), size)
        if isinstance(frame, RoundFrame):
            yield from _of_round(frame)
        else:
            yield _merge(frame)
            yield _effect(frame)

    def on_click(self, event: events.Click) -> None:
        """Goes to the step at that place of the bar."""
        start, width = self._bar
        at = event.get_content_offset(self)
        if at is None or at.y != 1 or not start <= at.x < start + width:
            return
        app = self.watch_app
        part = (at.x - start) / max(1, width - 1)
        app.show(round(app.replay.first + part * (app.replay.total - app.replay.first)))


def _merge(frame: Frame) -> Content:
    merge = frame.merge
    if merge is None:
        return row("Before the first merge: words are initial symbols.")
    made = equation(merge.left, merge.right, merge.token)
    if merge.count is None:
        return row(made, ("  (the file keeps no counts)", "dim"))
    other = frame.choice is not None and frame.choice.same_figures is False
    where = (" in training", "dim") if other else ""
    if merge.score is None:
        return row(made, "  count ", (f"{merge.count:,}", "bold"), where)
    figures = formula(merge.count, frame.left_count, frame.right_count)
    return row(made, "  score ", (figures, "bold"), where)


def _effect(frame: Frame) -> Content:
    tokens = plural(frame.tokens, "token")
    if not frame.step:
        return row(f"{plural(frame.distinct, 'word')}, {tokens} in all")
    if not frame.changed:
        return row(f"changes none of {plural(frame.distinct, 'word')}; {tokens} in all")
    times = plural(frame.changed_occurrences, "time")
    words = f"changes {frame.changed:,} of {plural(frame.distinct, 'word')}"
    return row(f"{words}, {times}; {tokens} in all")


def _of_round(frame: RoundFrame) -> Iterator[Content]:
    found = frame.round
    expected = f", {found.tokens:,} tokens expected"
    loss = (f"loss {found.objective:.4f}", "bold")
    yield row(f"{plural(found.pieces, 'piece')}: ", loss, expected)
    last = " by score" if frame.step == frame.total else " by loss"
    dropped = (f"{found.dropped:,} dropped{last}", "bold")
    yield row(dropped, f" ({found.unused:,} unused before), {frame.left:,} left")
