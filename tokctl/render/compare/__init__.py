"""A comparison: on a terminal, as Markdown, as LaTeX."""

from __future__ import annotations

from tokctl.render.compare.terminal import show

__all__ = ["show"]
