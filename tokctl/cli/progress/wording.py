"""Progress in words: `1.2 GB of 8.0 GB (15%), 240 MB/s, 28 s left`."""

from __future__ import annotations

from tokctl.cli.progress.phases import State

_PREFIXES = ("", "k", "M", "G", "T", "P")


def size(count: float) -> str:
    """Bytes, in powers of 1000, with two or three digits: `1.2 GB`."""
    place = 0
    # What would be rounded up to four digits has the next prefix.
    while count >= 999.5 and place < len(_PREFIXES) - 1:
        count /= 1000
        place += 1
    digits = 1 if place and count < 9.95 else 0
    return f"{count:,.{digits}f} {_PREFIXES[place]}B"


def duration(seconds: float) -> str:
    """`28 s`, `3 min 20 s`, `2 h 5 min`, `3 days 4 h`."""
    whole = round(seconds)
    for length, name, smaller, part in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= length:
            rest = whole % length // smaller
            return f"{whole // length} {name} {rest} {part}"
    return f"{whole} s"


def amount(state: State) -> str:
    """What is done, and of how much: `1.2 GB of 8.0 GB`, `5,000 of 10,000 ids`, `1.2 GB`."""
    if state.phase.unit == "bytes":
        done = size(state.done)
        return done if state.total is None else f"{done} of {size(state.total)}"
    done = f"{state.done:,}" + ("" if state.total is None else f" of {state.total:,}")
    return f"{done} {state.phase.unit}".rstrip()


def percent(state: State) -> str:
    """The part that is done, rounded down: 100% is when all is done. Empty where no total is."""
    if not state.total:
        return ""
    return f"{min(100, 100 * state.done // state.total)}%"


def rate(state: State) -> str:
    """`240 MB/s`, `1,200 ids/s`; empty where it is not known, or would say nothing."""
    if not state.rate or not state.phase.unit:
        return ""
    if state.phase.unit == "bytes":
        return f"{size(state.rate)}/s"
    return f"{state.rate:,.0f} {state.phase.unit}/s" if state.rate >= 10 else ""


def left(state: State) -> str:
    """`28 s left`; empty where it is not known."""
    return "" if state.left is None else f"{duration(state.left)} left"


def sentence(state: State) -> str:
    """A phase on its way, in a line of a log."""
    part = percent(state)
    told = [f"{amount(state)} ({part})" if part else amount(state), rate(state), left(state)]
    return f"{state.phase.label}: {', '.join(filter(None, told))}"


def ended(state: State) -> str:
    """A phase that is done, in a line of a log."""
    done = State(state.phase, state.done)
    told = [f"{amount(done)} in {duration(state.seconds)}", rate(state)]
    return f"{state.phase.label}: {', '.join(filter(None, told))}"


def beside(state: State, width: int) -> tuple[str, str]:
    """What stands in front of a bar and behind it, where all must fit into `width` columns: as
    much as leaves the bar room. The bar's own ends are in it."""
    front = f"{state.phase.label}: {percent(state):>4}|"
    done, speed, to_go = amount(state), rate(state), left(state)
    for told in ((done, speed, to_go), (speed, to_go), (to_go,)):
        behind = "| " + ", ".join(filter(None, told))
        if width - len(front) - len(behind) >= _LEAST_BAR:
            return front, behind
    return front, "|"


def without_bar(state: State, width: int) -> str:
    """The line where no total is known, and no bar can be."""
    done, speed = amount(state), rate(state)
    line = f"{state.phase.label}: {', '.join(filter(None, (done, speed)))}"
    return line if len(line) <= width else f"{state.phase.label}: {done}"


#: Columns of a bar that still shows something.
_LEAST_BAR = 8
