"""The parts of the screen: each draws the application's frame as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, cast

from textual import events
from textual.content import Content
from textual.widget import Widget

from tokctl.analysis.replay import Frame, LeadingPair, RoundFrame
from tokctl.watch.drawing import (
    bar,
    boxes,
    boxes_alone,
    equation,
    fitted,
    formula,
    lines,
    named,
    plain,
    row,
)
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.watch.app import WatchApp


#: The orders of the words, by name.
_ARRANGED = {"scan": "scan order", "count": "most frequent first", "changed": "changed first"}

#: Of the bars of a curve, from empty to full.
_BLOCKS = " ▁▂▃▄▅▆▇█"

#: What a tie rule does, in words.
_TIES = {
    "first-seen": "the tie rule takes the first one met, words in the order first seen",
    "rewritten-last": "the tie rule takes the first one met; words that a merge rewrote are "
    "scanned last",
    "lowest-id": "the tie rule takes the lowest ids, left then right",
}


class Panel(Widget):
    """Lines of content, made anew for every frame: as many as there is room for."""

    can_focus = False

    @property
    def watch_app(self) -> WatchApp:
        """The application, with the frame to show."""
        return cast("WatchApp", self.app)

    def render(self) -> Content:
        width, height = self.content_size
        rows = []
        for content in self.rows(width, height):
            rows.append(fitted(content, width))
            if len(rows) == height:
                break
        return lines(rows)

    def rows(self, width: int, height: int) -> Iterator[Content]:
        """The lines, from the top."""
        raise NotImplementedError


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


class Words(Panel):
    """A title, and as many words as fit. A click on a word follows it."""

    @property
    def room(self) -> int:
        """Words that fit."""
        return max(0, self.content_size.height - 1)

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        app = self.watch_app
        frame = app.frame
        first = app.first_word
        shown = f"{first + 1:,}-{first + len(frame.words):,} of " if frame.words else ""
        title = f"Words after {app.replay.unit} {frame.step:,}"
        if not isinstance(frame, Frame):
            title = "Words by the final model"
        place = f"{shown}{frame.distinct:,}"
        arranged = _ARRANGED[app.arrange]
        yield row((title, "bold"), (f"  {arranged}, {place}", "dim"))
        digits = max((len(f"{word.count:,}") for word in frame.words), default=1)
        for word in frame.words:
            mark = ("*", "bold") if word.changed else " "
            followed = word.number == app.followed
            pointer = ("▸", "bold") if followed else " "
            count = f"{word.count:>{digits},}"
            segmented = boxes(word.tokens, word.made, word.more)
            yield row(mark, pointer, (count, "bold" if word.changed else ""), " ", segmented)

    def on_resize(self) -> None:
        self.watch_app.refresh_frame()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        words = self.watch_app.frame.words
        if at is not None and 1 <= at.y <= len(words):
            number = words[at.y - 1].number
            self.watch_app.attempt(lambda: self.watch_app.follow(number))

    def on_mouse_scroll_down(self) -> None:
        self.watch_app.action_scroll_words(3)

    def on_mouse_scroll_up(self) -> None:
        self.watch_app.action_scroll_words(-3)


class Pairs(Panel):
    """Title, reason, pairs. The step's own is in sight however little room there is."""

    def rows(self, width: int, height: int) -> Iterator[Content]:
        frame = self.watch_app.frame
        assert isinstance(frame, Frame)
        title = f"Pairs before step {frame.decides:,}"
        yield row((title, "bold"), (f"  best of {plural(frame.distinct_pairs, 'pair')}", "dim"))
        reason = wrap(_why(frame), max(20, width - 2))
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


def _why(frame: Frame) -> str:
    """Why the step that the pairs led to took its own, as far as the file and the text tell."""
    choice = frame.choice
    if choice is None:
        return "This model has no merges."
    own = next((pair for pair in frame.pairs if pair.chosen), None)
    scored = own is not None and own.score is not None
    measure = "score" if scored else "count"
    if choice.kind == "absent":
        return f"Step {frame.decides:,} merges a pair that is not in this text."
    if choice.kind == "unknown":
        return "The file does not say by what its training chose: pairs are shown by count."
    if choice.kind == "other" or own is None:
        leader = next((pair for pair in frame.pairs if pair.refused is None), None)
        first = f"{named(leader.left)} + {named(leader.right)}" if leader else "another pair"
        return (
            f"In this text {first} comes first: the model was trained on another text, or not "
            "by these merges alone."
        )
    if choice.kind == "best":
        sentence = f"The highest {measure}: no other pair has it."
    else:
        rule = _TIES[choice.tie_break]
        if choice.tie_break == "lowest-id":
            rule += f": {own.ids[0]}, {own.ids[1]}"
        sentence = f"{plural(choice.tied, 'pair')} share the highest {measure}: {rule}."
    if any(pair.refused and pair.place < own.place for pair in frame.pairs):
        sentence += " Those marked ! may not be merged."
    if choice.same_figures is False:
        sentence += " (Counted in this text; the training counted another.)"
    return sentence


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


class Follow(Panel):
    """The stages of the followed word, the present one marked and in sight."""

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        app = self.watch_app
        if app.followed is None:
            return
        step, stages = app.frame.step, app.stages
        pre_token, count = app.replay.counts[app.followed]
        name = named(pre_token.decode("utf-8", "backslashreplace"))
        title = row(("Following ", "bold"), f"{name} ({count:,})")
        if len(stages) == 1 and app.replay.first:
            yield row(title, ("  by the final model", "dim"))
        else:
            later = next((stage.step for stage in stages if stage.step > step), None)
            if step and any(stage.step == step for stage in stages):
                now = "this step changes it"
            else:
                now = f"next change at {later:,}" if later else "no change to come"
            yield row(title, (f"  {now}", "dim"))
        present = max((n for n, stage in enumerate(stages) if stage.step <= step), default=0)
        room = max(1, height - 1)
        first = max(0, min(present - room // 2, len(stages) - room))
        digits = len(f"{stages[-1].step:,}")
        for number, stage in enumerate(stages[first : first + room], first):
            here = number == present
            made = stage.made if here and stage.step == step else ()
            yield row(
                (f"{'▸' if here else ' '}{stage.step:>{digits},} ", "bold" if here else "dim"),
                boxes(stage.tokens, made, stage.more),
            )
