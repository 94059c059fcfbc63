"""The application: a replay of a training, the current step, and the panels that draw the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import cast

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from tokctl.analysis.replay import (
    ARRANGEMENTS,
    FrameWord,
    LeadingPair,
    Replay,
    RoundFrame,
    RoundReplay,
    Stage,
    Step,
)
from tokctl.core.errors import BadOption, TokctlError
from tokctl.core.humanize import plural
from tokctl.extras.watch.drawing import (
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
from tokctl.extras.watch.keys import KEYS

#: Descriptions of the word orders in `ARRANGEMENTS`.
_ARRANGED = {
    "scan": "scan order",
    "count": "most frequent first",
    "changed": "changed first, by count",
}

#: Eighths of a cell, from empty to full, for the bars of a curve.
_BLOCKS = " ▁▂▃▄▅▆▇█"

#: Descriptions of the tie rules.
_TIES = {
    "first-seen": "the tie rule takes the first one met, words in the order first seen",
    "rewritten-last": "the tie rule takes the first one met; words that a merge rewrote are "
    "scanned last",
    "lowest-id": "the tie rule takes the lowest ids, left then right",
    "highest-text": "the tie rule takes the text that comes last, left then right",
}


class Panel(Widget):
    """A panel of text lines, drawn again for every frame, as many as fit."""

    can_focus = False

    @property
    def watch_app(self) -> WatchApp:
        """The application, which has the frame to draw."""
        return cast("WatchApp", self.app)

    def render(self) -> Content:
        """Return the lines that fit into the panel."""
        width, height = self.content_size
        rows = []
        for content in self.rows(width, height):
            rows.append(fitted(content, width))
            if len(rows) == height:
                break
        return lines(rows)

    def rows(self, width: int, height: int) -> Iterator[Content]:
        """Yield the lines from the top; `width` and `height` are the cells of the panel."""
        raise NotImplementedError


class Top(Panel):
    """Four lines on the model and the step; a click on the bar goes to a step."""

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        """Yield the names, the bar, and two lines on the step's merge or round."""
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
        first_step, steps = app.replay.first, max(1, frame.total - app.replay.first)
        share = (frame.step - first_step) / steps
        marks = [(stage.step - first_step) / steps for stage in app.stages[1:]]
        yield row((title, "bold"), bar(share, self._bar[1], marks), size)
        if isinstance(frame, RoundFrame):
            yield from _of_round(frame)
        else:
            yield _merge(frame)
            yield _effect(frame)

    def on_click(self, event: events.Click) -> None:
        """Go to the step at the clicked position of the bar."""
        start, width = self._bar
        at = event.get_content_offset(self)
        if at is None or at.y != 1 or not start <= at.x < start + width:
            return
        app = self.watch_app
        part = (at.x - start) / max(1, width - 1)
        app.show(round(app.replay.first + part * (app.replay.total - app.replay.first)))


def _merge(frame: Step) -> Content:
    merge = frame.merge
    if merge is None:
        return row("Before the first merge: words are initial symbols.")
    merged_boxes = equation(merge.left, merge.right, merge.token)
    if merge.count is None:
        return row(merged_boxes, ("  (the file keeps no counts)", "dim"))
    is_rescored = frame.choice is not None and frame.choice.same_figures is False
    note = (" in training", "dim") if is_rescored else ""
    if merge.score is None:
        return row(merged_boxes, "  count ", (f"{merge.count:,}", "bold"), note)
    figures = formula(merge.count, frame.left_count, frame.right_count)
    return row(merged_boxes, "  score ", (figures, "bold"), note)


def _effect(frame: Step) -> Content:
    tokens = plural(frame.tokens, "token")
    if not frame.step:
        return row(f"{plural(frame.distinct, 'word')}, {tokens}")
    if not frame.changed:
        return row(f"changes none of {plural(frame.distinct, 'word')}; {tokens}")
    times = plural(frame.changed_occurrences, "time")
    words = f"changes {frame.changed:,} of {plural(frame.distinct, 'word')}"
    return row(f"{words}, {times}; {tokens}")


def _of_round(frame: RoundFrame) -> Iterator[Content]:
    round_ = frame.round
    expected = f", {round_.tokens:,} tokens expected"
    loss = (f"loss {round_.objective:.4f}", "bold")
    yield row(f"{plural(round_.pieces, 'piece')}: ", loss, expected)
    score_note = " by score" if frame.step == frame.total else " by loss"
    dropped = (f"{round_.dropped:,} dropped{score_note}", "bold")
    yield row(dropped, f" ({round_.unused:,} unused before), {frame.left:,} left")


class Words(Panel):
    """A title, and as many words as fit; a click on a word follows the word.

    A followed word that is not among the shown words takes the last line.
    """

    @property
    def room(self) -> int:
        """Number of words that fit."""
        return max(0, self.content_size.height - 1)

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        """Yield the title and the words with their counts and tokens."""
        app = self.watch_app
        frame = app.frame
        first_word = app.first_word
        range_text = (
            f"{first_word + 1:,}-{first_word + len(frame.words):,} of " if frame.words else ""
        )
        title = f"Words after {app.replay.unit} {frame.step:,}"
        if not isinstance(frame, Step):
            title = "Words by the final model"
        position = f"{range_text}{frame.distinct:,}"
        arranged = _ARRANGED[app.arrange]
        yield row((title, "bold"), (f"  {arranged}, {position}", "dim"))
        shown_words = (*frame.words, *app.pinned)
        digits = max((len(f"{word.count:,}") for word in shown_words), default=1)
        for word in shown_words:
            mark = ("*", "bold") if word.changed else " "
            followed = word.number == app.followed
            pointer = ("▸", "bold") if followed else " "
            count = f"{word.count:>{digits},}"
            segmented = boxes(word.tokens, word.made, word.more)
            yield row(mark, pointer, (count, "bold" if word.changed else ""), " ", segmented)

    def on_resize(self) -> None:
        """Get a frame with as many words as now fit."""
        self.watch_app.refresh_frame()

    def on_click(self, event: events.Click) -> None:
        """Follow the clicked word."""
        at = event.get_content_offset(self)
        words = self.watch_app.frame.words
        if at is not None and 1 <= at.y <= len(words):
            number = words[at.y - 1].number
            self.watch_app.attempt(lambda: self.watch_app.follow(number))

    def on_mouse_scroll_down(self) -> None:
        """Scroll the words down by three lines."""
        self.watch_app.action_scroll_words(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll the words up by three lines."""
        self.watch_app.action_scroll_words(-3)


class Pairs(Panel):
    """The leading pairs before a step, and the reason for its choice.

    The chosen pair is always shown: it takes the last line if it ranks too low.
    """

    def rows(self, width: int, height: int) -> Iterator[Content]:
        """Yield the title, the reason, and the pairs that fit."""
        frame = self.watch_app.frame
        assert isinstance(frame, Step)
        title = f"Pairs before step {frame.decides:,}"
        yield row((title, "bold"), (f"  best of {plural(frame.distinct_pairs, 'pair')}", "dim"))
        reason = wrap(_why(frame), max(20, width - 2))
        for line in reason:
            yield row(line)
        room = max(1, height - 1 - len(reason))
        pairs = frame.pairs
        if len(pairs) > room:
            chosen_row = next((index for index, pair in enumerate(pairs) if pair.chosen), 0)
            pairs = pairs[:room] if chosen_row < room else (*pairs[: room - 1], pairs[chosen_row])
        digits = max((len(f"{pair.place:,}") for pair in pairs), default=1)
        for pair in pairs:
            yield _pair(pair, digits)


def _pair(pair: LeadingPair, digits: int) -> Content:
    mark = "▸" if pair.chosen else "!" if pair.refused else " "
    style = "bold" if pair.chosen else ""
    value = f"{pair.count:,}"
    if pair.score is not None:
        value = formula(pair.count, pair.left_count, pair.right_count)
    reasons = {
        "long": "  too long a token",
        "words": "  too many words",
        "forbidden": "  contains a forbidden text",
        "special": "  spells a special token",
        "cut": "  cuts a character",
    }
    return row(
        (f"{mark}{pair.place:>{digits},} ", style),
        *boxes_alone(pair.left, 0),
        " + ",
        *boxes_alone(pair.right, 1),
        (f"  {value}", style),
        (reasons.get(pair.refused or "", ""), "dim"),
    )


def _why(frame: Step) -> str:
    """Return why training chose this pair, as far as the model file and the text tell."""
    choice = frame.choice
    if choice is None:
        return "This model has no merges."
    chosen = next((pair for pair in frame.pairs if pair.chosen), None)
    scored = chosen is not None and chosen.score is not None
    measure = "score" if scored else "count"
    if choice.kind == "initial":
        return f"Step {frame.decides:,} is one of those that make the initial tokens."
    if choice.kind == "absent":
        return f"Step {frame.decides:,} merges a pair that is not in this text."
    if choice.kind == "unknown":
        return "The file does not say by what its training chose: pairs are shown by count."
    if choice.kind == "split":
        return (
            "This stage of the training split the text further: pairs across its cuts come first "
            "here, and could not be merged."
        )
    if choice.kind == "language":
        whose = "its training text" if choice.language else "all training texts"
        return (
            f"Chosen for {choice.language or 'all languages together'}: the most frequent pair of "
            f"{whose}. Pairs are shown by count."
        )
    if choice.kind == "other" or chosen is None:
        leader = next((pair for pair in frame.pairs if pair.refused is None), None)
        leader_name = f"{named(leader.left)} + {named(leader.right)}" if leader else "another pair"
        return (
            f"In this text {leader_name} comes first: the model was trained on another text, or "
            "not by these merges alone."
        )
    if choice.kind == "best":
        sentence = f"The highest {measure}: no other pair has it."
    else:
        rule = _TIES[choice.tie_break]
        if choice.tie_break == "lowest-id":
            rule += f": {chosen.ids[0]}, {chosen.ids[1]}"
        sentence = f"{plural(choice.tied, 'pair')} share the highest {measure}: {rule}."
    if any(pair.refused and pair.place < chosen.place for pair in frame.pairs):
        sentence += " Those marked ! may not be merged."
    if choice.same_figures is False:
        sentence += " (Counted in this text; the training counted another.)"
    return sentence


class Rounds(Panel):
    """The loss curve of a Unigram training, and the dropped pieces that the model file keeps."""

    def rows(self, width: int, height: int) -> Iterator[Content]:
        """Yield the curve, then the dropped pieces with their losses."""
        frame = self.watch_app.frame
        assert isinstance(frame, RoundFrame)
        yield row(("Loss of all rounds", "bold"), ("  nats per word", "dim"))
        yield from _curve(frame.objectives, frame.step, width, 2 if height < 16 else 4)
        round_ = frame.round
        if not round_.examples:
            if round_.dropped:
                dropped = plural(round_.dropped, "piece")
                yield row(f"The file does not name the {dropped} dropped here.")
            return
        yield row(("Dropped", "bold"), (f"  {len(round_.examples):,} of {round_.dropped:,}", "dim"))
        for index, (piece, loss) in enumerate(round_.examples):
            value = "" if loss is None else f"  loss {loss:.4g}"
            yield row(" ", *boxes_alone(piece, index % 5), value)


def _curve(values: Sequence[float], step: int, width: int, high: int) -> Iterator[Content]:
    """Yield a curve with a bar for each round, and ▲ below the current one.

    Without room for all rounds, a bar is the mean of several.

    Args:
        values: the objective of each round.
        step: the current round, from 1.
        width: the cells of the panel.
        high: the lines of the bars.
    """
    lowest, highest = min(values), max(values)
    room = max(8, width - 2)
    steps_per_column = -(-len(values) // room)
    groups = [values[at : at + steps_per_column] for at in range(0, len(values), steps_per_column)]
    wide = max(1, min(4, room // len(groups)))
    column = (step - 1) // steps_per_column
    steps = len(_BLOCKS) - 1
    levels = []
    for group in groups:
        part = (sum(group) / len(group) - lowest) / (highest - lowest or 1.0)
        levels.append(1 + round(part * (high * steps - 1)))  # the lowest bar is one eighth high
    for line in reversed(range(high)):
        bars = [_BLOCKS[min(max(level - line * steps, 0), steps)] * wide for level in levels]
        yield row(" ", *((text, "" if at == column else "dim") for at, text in enumerate(bars)))
    yield row(" " * (1 + column * wide) + "▲" * wide)
    yield row((f" {lowest:.4f} lowest, {highest:.4f} highest", "dim"))


class FollowWord(Panel):
    """The stages of the followed word, with the current stage marked and always visible."""

    def rows(self, width: int, height: int) -> Iterator[Content]:  # noqa: ARG002
        """Yield the word, its next change, and the stages that fit."""
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
                present_note = "this step changes it"
            else:
                present_note = f"next change at {later:,}" if later else "no change to come"
            yield row(title, (f"  {present_note}", "dim"))
        present = max((n for n, stage in enumerate(stages) if stage.step <= step), default=0)
        room = max(1, height - 1)
        first_stage = max(0, min(present - room // 2, len(stages) - room))
        digits = len(f"{stages[-1].step:,}")
        for number, stage in enumerate(stages[first_stage : first_stage + room], first_stage):
            is_present = number == present
            new_tokens = stage.made if is_present and stage.step == step else ()
            yield row(
                (
                    f"{'▸' if is_present else ' '}{stage.step:>{digits},} ",
                    "bold" if is_present else "dim",
                ),
                boxes(stage.tokens, new_tokens, stage.more),
            )


#: Speeds of playing, in steps per second.
SPEEDS = (0.5, 1, 2, 4, 8, 16)


class WatchApp(App[None]):
    """Application that shows a replay.

    Attributes:
        replay: the replay of a training.
        model_name, text_name: the names in the title.
        frame: the state at the current step.
        first_word: the position of the first shown word in the current order.
        arrange: the order of the words, one of `ARRANGEMENTS`.
        followed: the number of the followed word; None: none.
        stages: the segmentations of the followed word during the training; empty: none.
        pinned: the followed word if it is not among the frame's words; else empty.
        message: the text of the line above the footer.
    """

    CSS_PATH = "watch.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # the prompt has the focus only while it asks something
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-short"), (20, "-low"), (32, "-tall")]  # noqa: RUF012
    BINDINGS = [  # noqa: RUF012
        Binding(key.keys, key.action, key.short or key.what, bool(key.short), key.shown.split()[0])
        for key in KEYS
    ]

    def __init__(
        self,
        replay: Replay,
        model_name: str,
        text_name: str,
        *,
        light: bool = False,
        color: bool = True,
    ) -> None:
        """Prepare the application at the first step.

        Args:
            replay: the replay to show.
            model_name: the name of the model, shown without markup.
            text_name: the name of the text, shown without markup.
            light: start with the light theme.
            color: False uses only the terminal's own two colours.
        """
        super().__init__(ansi_color=None if color else True)
        self.theme = "textual-light" if light else "textual-dark"
        self.replay = replay
        self.model_name = model_name
        self.text_name = text_name
        self.arrange = "count" if isinstance(replay, RoundReplay) else "changed"
        self.first_word = 0
        self.followed: int | None = None
        self.stages: Sequence[Stage] = ()
        self.pinned: tuple[FrameWord, ...] = ()
        self.message = ""
        self.frame: Step | RoundFrame = replay.goto(replay.first, limit=0)
        self._speed = 1
        self._playing: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield the panels, the status line, the prompt and the footer."""
        yield Top()
        with Container(id="body"):
            yield Words()
            with Container(id="side"):
                yield Rounds() if isinstance(self.replay, RoundReplay) else Pairs()
                yield FollowWord()
        yield Static(id="status", markup=False)
        yield Prompt()
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Tell the user how to see the keys."""
        self.say("? shows the keys")

    # Showing

    def show(self, step: int) -> None:
        """Go to a step, or to the nearest one that exists."""
        step = min(max(step, self.replay.first), self.replay.total)
        if step != self.frame.step and self.arrange == "changed":
            self.first_word = 0
        self.say("")
        self.refresh_frame(step)

    def refresh_frame(self, step: int | None = None) -> None:
        """Get a new frame, of `step` (None: the current one) and with as many words as fit."""
        room = self.query_one(Words).room
        step = self.frame.step if step is None else step
        followed = self.followed if room else None
        last_row = max(0, len(self.replay.counts) - max(1, room) + (followed is not None))
        self.first_word = min(max(0, self.first_word), last_row)
        frame = self.replay.goto(step, first=self.first_word, limit=room, arrange=self.arrange)
        self.pinned = ()
        if followed is not None and followed not in [word.number for word in frame.words]:
            frame = replace(frame, words=frame.words[: room - 1])
            self.pinned = (self.replay.word(followed, step),)
        self.frame = frame
        for panel in self.query(Panel):
            panel.refresh()

    def say(self, message: str) -> None:
        """Show a message above the footer; an empty one shows the pace while playing."""
        if not message and self._playing:
            message = f"playing, {self._pace}; a stops, + and - change the pace"
        self.message = message
        self.query_one("#status", Static).update(plain(message))

    def follow(self, number: int | None) -> None:
        """Follow the word with this number; None follows no word.

        Raises:
            TokctlError: the word is too long to follow.
        """
        self.stages = () if number is None else self.replay.stages(number)
        self.followed = number
        self.screen.set_class(number is not None, "-following")
        changes = len(self.stages) > 1
        self.say("N goes to the next step that changes it, P back" if changes else "")
        self.refresh_frame()

    # Moving

    def action_go_by(self, steps: int) -> None:
        """Go forward by `steps`, or back if negative."""
        if self.frame.step == (self.replay.total if steps > 0 else self.replay.first):
            self.say(f"this is the {'last' if steps > 0 else 'first'} {self.replay.unit}")
        else:
            self.show(self.frame.step + steps)

    def action_first_step(self) -> None:
        """Go to the start."""
        self.show(self.replay.first)

    def action_last_step(self) -> None:
        """Go to the last step."""
        self.show(self.replay.total)

    def action_next_change(self) -> None:
        """Go to the next step that changes the followed word."""
        self._change([s.step for s in self.stages if s.step > self.frame.step], 0, "later")

    def action_previous_change(self) -> None:
        """Go to the previous step that changes the followed word."""
        self._change([s.step for s in self.stages if s.step < self.frame.step], -1, "earlier")

    def _change(self, steps: Sequence[int], which: int, when: str) -> None:
        if self.followed is None:
            self.say("follow a word first: f")
        elif steps:
            self.show(steps[which])
        else:
            self.say(f"no {when} {self.replay.unit} changes this word")

    def attempt(self, act: Callable[[], None]) -> None:
        """Call `act`, and show the message of a TokctlError."""
        try:
            act()
        except TokctlError as error:
            self.say(f"{error.message}; {error.hint}" if error.hint else error.message)

    # Asking

    def action_ask_step(self) -> None:
        """Ask for the number of a step to go to."""
        first_step, last_step = self.replay.first, self.replay.total
        self._ask(f"go to {self.replay.unit} ({first_step} to {last_step})", self._go)

    def action_ask_token(self) -> None:
        """Ask for a token, and go to the step that makes the token."""
        self._ask("find the step that makes this token", self._find)

    def action_ask_word(self) -> None:
        """Ask for a word to follow."""
        self._ask("follow this word; empty: no more", self._follow_word)

    def _ask(self, question: str, answer: Callable[[str], None]) -> None:
        self._stop()
        self.say("Enter answers, Esc gives up")
        self.query_one(Prompt).ask(question, lambda text: self._answered(answer, text))

    def _answered(self, answer: Callable[[str], None], text: str) -> None:
        self.say("")
        self.attempt(lambda: answer(text))

    def _go(self, text: str) -> None:
        digits = text.strip().replace(",", "").replace("_", "")
        if not text.strip():
            return
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise BadOption(
                f"{text!r} is not a number", "type a number, for example 120", "bad-value"
            )
        self.replay.check(int(digits))
        self.show(int(digits))

    def _find(self, text: str) -> None:
        token = text.replace("␣", " ")
        if token:
            step = self.replay.find_token(token, self.frame.step)
            self.show(step)
            verb = "dropped or kept" if isinstance(self.replay, RoundReplay) else "made"
            self.say(f"{text} is {verb} by {self.replay.unit} {step:,}")

    def _follow_word(self, text: str) -> None:
        self.follow(self.replay.find_word(text) if text else None)

    # Play

    def action_play(self) -> None:
        """Start or stop playing."""
        if self._playing:
            self._stop()
        else:
            self._start()
        self.say("")

    def action_faster(self, by: int) -> None:
        """Raise the speed of playing by `by` places in `SPEEDS`, or lower it if negative."""
        self._speed = min(max(self._speed + by, 0), len(SPEEDS) - 1)
        if self._playing:
            self._start()
            self.say("")
        else:
            self.say(f"{self._pace}, when a starts it")

    @property
    def _pace(self) -> str:
        speed = SPEEDS[self._speed]
        return f"{speed:g} {self.replay.unit}{'' if speed == 1 else 's'} a second"

    def _start(self) -> None:
        self._stop()
        self._playing = self.set_interval(1 / SPEEDS[self._speed], self._tick)

    def _stop(self) -> None:
        if self._playing:
            self._playing.stop()
            self._playing = None

    def _tick(self) -> None:
        if self.frame.step >= self.replay.total:
            self._stop()
            self.say(f"this is the last {self.replay.unit}")
        else:
            self.show(self.frame.step + 1)

    # The words

    def action_changed_first(self) -> None:
        """Switch between changed words first and scan order."""
        self._arrange("scan" if self.arrange == "changed" else "changed")

    def action_next_order(self) -> None:
        """Switch to the next order of the words."""
        at = ARRANGEMENTS.index(self.arrange)
        self._arrange(ARRANGEMENTS[(at + 1) % len(ARRANGEMENTS)])

    def _arrange(self, arrange: str) -> None:
        self.arrange = arrange
        self.first_word = 0
        self.refresh_frame()

    def action_scroll_words(self, lines: int) -> None:
        """Scroll the words by `lines`, up if negative."""
        self.first_word += lines
        self.refresh_frame()

    def action_page_words(self, pages: int) -> None:
        """Scroll the words by pages, up if negative."""
        self.action_scroll_words(pages * max(1, self.query_one(Words).room - 1))

    # The rest

    def action_toggle_light(self) -> None:
        """Switch between the light and the dark theme."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_back_out(self) -> None:
        """Go back by one level: stop playing, else stop following, else ask whether to leave."""
        if self._playing:
            self._stop()
            self.say("stopped")
        elif self.followed is not None:
            self.follow(None)
        else:
            self.push_screen(QuitScreen())

    def action_show_help(self) -> None:
        """Show the keys."""
        self._stop()
        self.say("")
        self.push_screen(Help())


class Prompt(Input):
    """Input line that is hidden until it asks something; Enter answers, Esc closes it."""

    BINDINGS = [Binding("escape", "close", show=False)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(id="prompt", compact=True, select_on_focus=False)
        self.display = False
        self._answer: Callable[[str], None] = lambda _: None

    def ask(self, question: str, answer: Callable[[str], None]) -> None:
        """Show the question, and pass the typed text to `answer`."""
        self._answer = answer
        self.value = ""
        self.placeholder = question
        self.border_title = None
        self.display = True
        self.screen.set_focus(self)  # at once: the next key is a letter of the answer

    def action_close(self) -> None:
        """Hide the line without an answer."""
        self.display = False
        self.screen.set_focus(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Hide the line, and pass on the answer."""
        event.stop()
        self.action_close()
        self._answer(event.value)


#: Keys that scroll the help instead of closing it.
_SCROLLING = {"up", "down", "pageup", "pagedown", "home", "end"}


class Help(ModalScreen[None]):
    """Screen with the keys; any key that does not scroll closes it."""

    def compose(self) -> ComposeResult:
        """Yield the help text, which can be scrolled."""
        with VerticalScroll():
            yield Static(_help_text(), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Close the screen, unless the key scrolls."""
        if event.key not in _SCROLLING:
            event.stop()
            self.dismiss()

    def on_click(self) -> None:
        """Close the screen."""
        self.dismiss()


class QuitScreen(ModalScreen[None]):
    """Screen that asks whether to leave; keys that do not confirm close it."""

    def compose(self) -> ComposeResult:
        """Yield the question."""
        yield Static("Leave? y or Enter leaves, Esc stays.", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Leave the application if the key confirms, else close the screen."""
        event.stop()
        if event.key in ("y", "Y", "enter", "q", "ctrl+c"):
            self.app.exit()
        else:
            self.dismiss()

    def on_click(self) -> None:
        """Close the screen."""
        self.dismiss()


def _help_text() -> Content:
    width = max(len(key.shown) for key in KEYS)
    rows = [row(("Keys", "bold"))]
    rows += [row((f"{key.shown:<{width}}  ", "bold"), key.what) for key in KEYS]
    rows += [
        row(""),
        row(("How to read it", "bold")),
        row("* marks words that the step changes; heavy bars are"),
        row("around the token it made: ", boxes(["n", "ew", "est"], [1])),
        row("▸ marks the pair it took, ! pairs that training may"),
        row("not merge. Spaces show as ␣, what a terminal would"),
        row("obey as \\x1b. Click a word to follow it, and the bar"),
        row("to go there."),
    ]
    return lines(rows)
