"""Documents one behind the other in a file, by the places of their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokctl.errors import TokctlError
from tokctl.idfiles.readers.contract import Part
from tokctl.idfiles.readers.given import BLOCK, Opened
from tokctl.idfiles.readers.kinds import KINDS, Kind, numbers


def numbers_at(file: Opened, start: int, count: int, kind: str) -> Iterator[int]:
    """Whole numbers that lie in a file, some at a time."""
    what = KINDS[kind]
    for block in file.blocks(start, count * what.width, what.width):
        yield from numbers(block, what)


class Window:
    """Numbers of a file, asked for from the front to the back: what is read at a time serves
    many documents."""

    def __init__(self, file: Opened, start: int, count: int, kind: Kind) -> None:
        """The first of `count` numbers lies at byte `start`."""
        self._file = file
        self._start = start
        self.count = count
        self._kind = kind
        self.width = kind.width
        self._begin = 0  # of what was read, as a number
        self._data = memoryview(b"")

    def parts(
        self, begin: int, end: int, unit: str, number: int, *, ends: bool = True
    ) -> Iterator[Part]:
        """The numbers from `begin` up to `end`. They are called by `unit` and `number` in
        errors; `ends`: a document ends behind them."""
        name = self._file.name
        place = begin
        while True:
            stop = self._fill(place, end)
            width = self._kind.width
            data = self._data[(place - self._begin) * width : (stop - self._begin) * width]
            before = place - begin
            yield Part(
                numbers(data, self._kind),
                lambda at, before=before: f"{name}: {unit} {number}, number {1 + before + at}",  # type: ignore[misc]
                ends=ends and stop == end,
            )
            if stop == end:
                return
            place = stop

    def _fill(self, place: int, end: int) -> int:
        """Reads on where `place` was not read; up to where the numbers up to `end` are there."""
        width = self._kind.width
        known = self._begin + len(self._data) // width
        if place == end or (self._begin <= place and end <= known):
            return end
        if not self._begin <= place < known:
            size = min(BLOCK // width, self.count - place)
            self._begin = place
            self._data = memoryview(self._file.read(self._start + place * width, size * width))
            known = place + size
            self._file.meter.done += size * width
        return min(end, known)


def by_offsets(window: Window, offsets: Iterable[int], name: str) -> Iterator[Part]:
    """Documents that each begin where the one before ends, as in the lists of Arrow."""
    begin = None
    for number, end in enumerate(offsets):
        if not (begin or 0) <= end <= window.count:
            raise TokctlError(
                f"{name}: offset {number} is {end}, which is no place in {window.count:,} ids "
                "behind the one before",
                "it was damaged, or is of other ids",
            )
        if begin is not None:
            yield from window.parts(begin, end, "document", number)
        begin = end
