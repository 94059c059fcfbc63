"""The corpus state: words with their counts, drawn token by token."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.content import Content

from tokctl.analysis.replay import Frame
from tokctl.watch.drawing import boxes, row
from tokctl.watch.panel import Panel

_ARRANGED = {"scan": "scan order", "count": "most frequent first", "changed": "changed first"}


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
