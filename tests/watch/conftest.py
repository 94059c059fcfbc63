"""The clock has no part in what these tests see."""

from __future__ import annotations

import asyncio

import pytest


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind every key Textual waits until the process takes little CPU time, or for a second: a
    machine that is busy has not handled the key then. These rounds of the loop handle it always."""
    pytest.importorskip("textual", reason="the extra watch is not installed")
    import textual.app
    import textual.pilot

    async def rounds(*_: float) -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    for module in (textual.app, textual.pilot):
        monkeypatch.setattr(module, "wait_for_idle", rounds)
