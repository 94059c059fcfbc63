"""The application run without a terminal, and what would be on its screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.metrics.models import document
from tokctl import Tokenizer
from tokctl.analysis.explain import count_pre_tokens

pytest.importorskip("textual", reason="the extra watch is not installed")

from tokctl.cli.watching import replay_of
from tokctl.extras.watch.app import WatchApp


def app_of(tokenizer: Tokenizer, text: str, **options: Any) -> WatchApp:
    counts = count_pre_tokens(tokenizer, [document(text)])
    return WatchApp(replay_of(tokenizer, counts), "model.json", "text.txt", **options)


def screen(app: WatchApp) -> str:
    """What is to be seen, without colours and spaces at the ends of lines."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def keys_of(line: str) -> list[str]:
    """`g 12 enter`: the keys that are pressed; words of more than one letter that are no key's
    name are typed letter by letter."""
    named = {"right", "left", "space", "enter", "escape", "home", "end", "pageup", "pagedown"}
    named |= {"up", "down", "slash", "question_mark", "backspace", "plus", "minus"}
    pressed: list[str] = []
    for word in line.split():
        pressed += [word] if word in named else list(word)
    return pressed


def seen(
    app: WatchApp, *lines: str, size: tuple[int, int] = (60, 24)
) -> tuple[str, ...] | Sequence[str]:
    """The screen at the start, and after each line of keys."""

    async def go() -> list[str]:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            screens = [screen(app)]
            for line in lines:
                await pilot.press(*keys_of(line))
                await pilot.pause()
                screens.append(screen(app))
            return screens

    return asyncio.run(go())
