"""What `tokctl inspect` shows: on a terminal, as plain lines, as JSON."""

from __future__ import annotations

from tokctl.render.inspect.forms import (
    Forms,
    health,
    merges,
    pairs,
    recipe,
    rounds,
    state,
    summary,
    token,
    use,
    word,
)

__all__ = [
    "Forms",
    "health",
    "merges",
    "pairs",
    "recipe",
    "rounds",
    "state",
    "summary",
    "token",
    "use",
    "word",
]
