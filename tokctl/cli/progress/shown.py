"""The ways to show where a phase stands. Each says how many seconds may pass until the next."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from tokctl.cli.progress import wording
from tokctl.cli.progress.phases import State

if TYPE_CHECKING:
    from tokctl.cli.world import World

#: Columns that a bar leaves free: the terminal writes `^C` behind it, which must not wrap.
_FREE = 3


class Shown(ABC):
    """Where a phase stands is shown on stderr."""

    def __init__(self, world: World) -> None:
        self._world = world

    @abstractmethod
    def show(self, state: State) -> None:
        """Where it stands now."""

    @abstractmethod
    def end(self, state: State, *, finished: bool) -> None:
        """It has ended; not `finished`: by an error."""


class Bar(Shown):
    """One line that is drawn over and over, and taken away in the end."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._bar: Any = None
        self._drawn = False
        self._behind = 0

    def show(self, state: State) -> None:
        if _same_terminal(self._world):
            return
        width = _width(self._world.stderr, self._world.environ.get("COLUMNS", "")) - _FREE
        total = state.total or None
        if total:
            front, behind = wording.beside(state, width)
            # What stands behind grows at times; the bar's end must not tremble with it.
            if len(front) + self._behind + 4 <= width:
                behind = behind.ljust(self._behind)
            self._behind = len(behind)
            line = f"{front}{{bar}}{behind}"
        else:
            line = wording.without_bar(state, width)[: max(width, 1)]
        self._drawn = True  # said first: Ctrl-C can come while it is being drawn
        if self._bar is None:
            self._bar = self._open(state, line, width)
        else:
            self._bar.total, self._bar.n = total, min(state.done, total or state.done)
            self._bar.bar_format, self._bar.ncols = line, width
            self._bar.refresh()

    def end(self, state: State, *, finished: bool) -> None:
        del state, finished
        if self._bar is not None:
            self._bar.close()
        self._bar = self._world.before_message = None
        if self._drawn:
            self._wipe()

    def _open(self, state: State, line: str, width: int) -> Any:
        from threading import RLock

        from tqdm import tqdm

        tqdm.monitor_interval = 0  # its thread is not needed: calls come often
        tqdm.set_lock(RLock())  # its own is for several processes, and slow to import
        total = state.total or None
        bar = tqdm(
            total=total,
            initial=min(state.done, total or state.done),
            file=self._world.stderr,
            bar_format=line,
            ncols=width,
            leave=False,
            disable=False,
        )
        self._world.before_message = self._hide
        return bar

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.clear()
            self._wipe()

    def _wipe(self) -> None:
        """tqdm writes spaces over what it drew; a `^C` behind it needs more."""
        if self._world.stderr_is_terminal and self._world.environ.get("TERM") != "dumb":
            self._world.stderr.write("\r\x1b[K")
            self._world.stderr.flush()


class Log(Shown):
    """A whole line now and then, and one for the end of a phase that had any."""

    def show(self, state: State) -> None:
        self._write(wording.sentence(state))

    def end(self, state: State, *, finished: bool) -> None:
        if finished:
            self._write(wording.ended(state))

    def _write(self, line: str) -> None:
        self._world.stderr.write(f"{line}\n")
        self._world.stderr.flush()


class Events(Shown):
    """JSON, an object on each line: `progress`, and in the end `done`."""

    def show(self, state: State) -> None:
        self._write("progress", state)

    def end(self, state: State, *, finished: bool) -> None:
        if finished:
            self._write("done", state)

    def _write(self, event: str, state: State) -> None:
        from tokctl.cli.events import line

        facts = {
            "phase": state.phase.name,
            "done": state.done,
            "total": state.total,
            "unit": state.phase.unit,
            "seconds": round(state.seconds, 3),
            "rate": _rounded(state.rate),
        }
        if event == "progress":
            facts["left"] = _rounded(state.left)
        self._world.write_event(line(event, **facts))


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)


def _same_terminal(world: World) -> bool:
    """Does data go to the terminal that a bar would be drawn on?"""
    if not (world.stdout_is_terminal and world.data_on_stdout):
        return False
    places = [_device(stream) for stream in (world.stdout, world.stderr)]
    return None in places or places[0] == places[1]


def _device(stream: BinaryIO | TextIO) -> int | None:
    try:
        return os.fstat(stream.fileno()).st_rdev
    except (OSError, ValueError):  # no file is behind it
        return None


def _width(stream: TextIO, columns: str) -> int:
    """Columns of the terminal, as it is now."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 0
    return width or (int(columns) if columns.isdigit() else 0) or 80


FORMS: dict[str, type[Shown]] = {"bar": Bar, "log": Log, "json": Events}
