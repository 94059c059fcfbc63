"""The application: a replay, the step it stands at, and the keys that move it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from tokctl.analysis.replay import ARRANGEMENTS, Frame, Replay, RoundFrame, RoundReplay, Stage
from tokctl.errors import TokctlError
from tokctl.watch.drawing import boxes, lines, plain, row
from tokctl.watch.keys import KEYS
from tokctl.watch.panels import Follow, Pairs, Panel, Rounds, Top, Words

#: Steps per second of going on by itself.
SPEEDS = (0.5, 1, 2, 4, 8, 16)
#: With more words than this, those that a step changes are shown first from the start.
_MANY = 30


class WatchApp(App[None]):
    """Shows a replay.

    Attributes:
        replay: what is shown.
        frame: at the step where it stands.
        first_word: the place of the first word shown.
        arrange: how the words are arranged, one of `ARRANGEMENTS`.
        followed: the number of the followed word, and `stages` how it evolves; None: none.
    """

    CSS_PATH = "watch.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # the prompt gets the keys when something is asked, not before
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-tall")]  # noqa: RUF012
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
        """Stands at the first step.

        Args:
            model_name, text_name: shown as they are, nothing in them is markup.
            light: start with the light theme.
            color: False: the terminal's own two colours alone.
        """
        super().__init__(ansi_color=None if color else True)
        self.theme = "textual-light" if light else "textual-dark"
        self.replay = replay
        self.model_name = model_name
        self.text_name = text_name
        self.arrange = "changed" if len(replay.counts) > _MANY else "scan"
        if isinstance(replay, RoundReplay):
            self.arrange = "scan"
        self.first_word = 0
        self.followed: int | None = None
        self.stages: Sequence[Stage] = ()
        self.message = ""
        self.frame: Frame | RoundFrame = replay.goto(replay.first, limit=0)
        self._speed = 1
        self._playing: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Top()
        with Container(id="body"):
            yield Words()
            with Container(id="side"):
                yield Rounds() if isinstance(self.replay, RoundReplay) else Pairs()
                yield Follow()
        yield Static(id="status", markup=False)
        yield Prompt()
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self.say("? shows the keys")

    # What is shown

    def show(self, step: int) -> None:
        """Goes to a step, the nearest there is."""
        step = min(max(step, self.replay.first), self.replay.total)
        if step != self.frame.step and self.arrange == "changed":
            self.first_word = 0
        self.say("")
        self.refresh_frame(step)

    def refresh_frame(self, step: int | None = None) -> None:
        """Asks for the frame anew: of another step, or of as many words as now fit."""
        words = self.query_one(Words)
        last = max(0, len(self.replay.counts) - max(1, words.room))
        self.first_word = min(max(0, self.first_word), last)
        self.frame = self.replay.goto(
            self.frame.step if step is None else step,
            first=self.first_word,
            limit=words.room,
            arrange=self.arrange,
        )
        for panel in self.query(Panel):
            panel.refresh()

    def say(self, message: str) -> None:
        """A message on the line above the footer; empty: what goes on, if anything does."""
        if not message and self._playing:
            message = f"playing, {self._pace}; a stops, + and - change the pace"
        self.message = message
        self.query_one("#status", Static).update(plain(message))

    def follow(self, number: int | None) -> None:
        """Follows the word of that number, or none any more. TokctlError: it is too long."""
        self.stages = () if number is None else self.replay.stages(number)
        self.followed = number
        self.screen.set_class(number is not None, "-following")
        changes = len(self.stages) > 1
        self.say("N goes to the next step that changes it, P back" if changes else "")
        self.refresh_frame()

    # Moving

    def action_go_by(self, steps: int) -> None:
        if self.frame.step == (self.replay.total if steps > 0 else self.replay.first):
            self.say(f"this is the {'last' if steps > 0 else 'first'} {self.replay.unit}")
        else:
            self.show(self.frame.step + steps)

    def action_first_step(self) -> None:
        self.show(self.replay.first)

    def action_last_step(self) -> None:
        self.show(self.replay.total)

    def action_next_change(self) -> None:
        self._change([s.step for s in self.stages if s.step > self.frame.step], 0, "later")

    def action_previous_change(self) -> None:
        self._change([s.step for s in self.stages if s.step < self.frame.step], -1, "earlier")

    def _change(self, steps: Sequence[int], which: int, when: str) -> None:
        if self.followed is None:
            self.say("follow a word first: f")
        elif steps:
            self.show(steps[which])
        else:
            self.say(f"no {when} {self.replay.unit} changes this word")

    def attempt(self, act: Callable[[], None]) -> None:
        """Does it, or says why that can't be."""
        try:
            act()
        except TokctlError as error:
            self.say(f"{error.message}; {error.hint}" if error.hint else error.message)

    # Asking

    def action_ask_step(self) -> None:
        first, last = self.replay.first, self.replay.total
        self._ask(f"go to {self.replay.unit} ({first} to {last})", self._go)

    def action_ask_token(self) -> None:
        self._ask("find the step that makes this token", self._find)

    def action_ask_word(self) -> None:
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
            raise TokctlError(f"{text!r} is no number", "type one, 120 for instance")
        self.replay.check(int(digits))
        self.show(int(digits))

    def _find(self, text: str) -> None:
        token = text.replace("␣", " ")
        if token:
            step = self.replay.find_token(token, self.frame.step)
            self.show(step)
            made = "dropped or kept" if isinstance(self.replay, RoundReplay) else "made"
            self.say(f"{text} is {made} by {self.replay.unit} {step:,}")

    def _follow_word(self, text: str) -> None:
        self.follow(self.replay.find_word(text) if text else None)

    # By itself

    def action_play(self) -> None:
        if self._playing:
            self._stop()
        else:
            self._start()
        self.say("")

    def action_faster(self, by: int) -> None:
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
        self._arrange("scan" if self.arrange == "changed" else "changed")

    def action_next_order(self) -> None:
        at = ARRANGEMENTS.index(self.arrange)
        self._arrange(ARRANGEMENTS[(at + 1) % len(ARRANGEMENTS)])

    def _arrange(self, arrange: str) -> None:
        self.arrange = arrange
        self.first_word = 0
        self.refresh_frame()

    def action_scroll_words(self, lines: int) -> None:
        self.first_word += lines
        self.refresh_frame()

    def action_page_words(self, pages: int) -> None:
        self.action_scroll_words(pages * max(1, self.query_one(Words).room - 1))

    # The rest

    def action_toggle_light(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_show_help(self) -> None:
        self._stop()
        self.say("")
        self.push_screen(Help())


class Prompt(Input):
    """Hidden until something is asked; Enter answers, Esc gives up."""

    BINDINGS = [Binding("escape", "close", show=False)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(id="prompt", compact=True, select_on_focus=False)
        self.display = False
        self._answer: Callable[[str], None] = lambda _: None

    def ask(self, question: str, answer: Callable[[str], None]) -> None:
        """Shows the line; `answer` gets what is typed."""
        self._answer = answer
        self.value = ""
        self.placeholder = question
        self.border_title = None
        self.display = True
        self.focus()

    def action_close(self) -> None:
        self.display = False
        self.screen.set_focus(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_close()
        self._answer(event.value)


#: Keys that scroll the help instead of closing it.
_SCROLLING = {"up", "down", "pageup", "pagedown", "home", "end"}


class Help(ModalScreen[None]):
    """Any key closes it, but those that scroll."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(_help_text(), markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key not in _SCROLLING:
            event.stop()
            self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


def _help_text() -> Content:
    width = max(len(key.shown) for key in KEYS)
    rows = [row(("Keys", "bold"))]
    rows += [row((f"{key.shown:<{width}}  ", "bold"), key.what) for key in KEYS]
    rows += [
        row(""),
        row(("How to read it", "bold")),
        row("* marks words that the step changes; heavy bars stand"),
        row("around the token it made: ", boxes(["n", "ew", "est"], [1])),
        row("▸ marks the pair it took, ! pairs that training may"),
        row("not merge. Spaces show as ␣, what a terminal would"),
        row("obey as \\x1b. Click a word to follow it, and the bar"),
        row("to go there."),
    ]
    return lines(rows)
