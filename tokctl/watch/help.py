"""What the keys do, and how to read the screen."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tokctl.watch.drawing import boxes, lines, row
from tokctl.watch.keys import KEYS

_SCROLLING = {"up", "down", "pageup", "pagedown", "home", "end"}


class Help(ModalScreen[None]):
    """Any key closes it, but those that scroll."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(_text(), markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key not in _SCROLLING:
            event.stop()
            self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


def _text() -> Content:
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
