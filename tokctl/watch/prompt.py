"""A line to type in: a step, a token, a word."""

from __future__ import annotations

from collections.abc import Callable

from textual.binding import Binding
from textual.widgets import Input


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
