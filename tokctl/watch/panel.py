"""What all parts of the screen have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget

from tokctl.watch.drawing import fitted, lines

if TYPE_CHECKING:
    from tokctl.watch.app import WatchApp


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
