"""Progress: a bar, lines, events; the rates and times in them, and what they cost."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import process, tokctl
from tokctl.cli import progress
from tokctl.cli.progress import Meter, PhaseState, ProgressDisplay
from tokctl.cli.world import Console

Models = dict[str, Path]
Work = Callable[[ProgressDisplay], None]


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    return made


def world(form: str, **more: Any) -> Console:
    made = Console(io.BytesIO(), io.BytesIO(), io.StringIO(), progress=form, **more)
    if form == "json":
        made.speak_events()
    return made


def shown(made: Console) -> str:
    """What stands on stderr."""
    stream = getattr(made.stderr, "_stream", made.stderr)
    return str(stream.getvalue())


def steadily(
    clock: Clock, bars: ProgressDisplay, phase: str, total: int | None, seconds: int
) -> None:
    """240 MB in each second, told of ten times a second."""
    for tenth in range(seconds * 10 + 1):
        bars(phase, tenth * 24_000_000, total)
        clock.now = round(clock.now + 0.1, 1)


def told(clock: Clock, form: str, seconds: int = 34, total: int | None = 8_160_000_000) -> str:
    made = world(form, stderr_is_terminal=True)
    with ProgressDisplay(made) as bars:
        steadily(clock, bars, "encode", total, seconds)
    return shown(made)


def test_a_log_has_a_line_every_few_seconds(clock: Clock) -> None:
    assert told(clock, "log").splitlines() == [
        "encode: 1.2 GB of 8.2 GB (14%), 240 MB/s, 29 s left",
        "encode: 2.4 GB of 8.2 GB (29%), 240 MB/s, 24 s left",
        "encode: 3.6 GB of 8.2 GB (44%), 240 MB/s, 19 s left",
        "encode: 4.8 GB of 8.2 GB (58%), 240 MB/s, 14 s left",
        "encode: 6.0 GB of 8.2 GB (73%), 240 MB/s, 9 s left",
        "encode: 7.2 GB of 8.2 GB (88%), 240 MB/s, 4 s left",
        "encode: 8.2 GB in 34 s, 239 MB/s",
    ]


def test_short_work_says_nothing_in_a_log(clock: Clock) -> None:
    assert told(clock, "log", seconds=4) == ""


def test_a_log_gets_rarer(clock: Clock) -> None:
    lines = told(clock, "log", seconds=300, total=None).splitlines()
    assert lines[:2] == ["encode: 1.2 GB, 240 MB/s", "encode: 2.4 GB, 240 MB/s"]
    assert len(lines) == 12 + 8 + 1  # a minute, four minutes, the end


def test_the_lines_of_a_log_keep_their_distance_over_phases(clock: Clock) -> None:
    made = world("log")
    with ProgressDisplay(made) as bars:
        for phase in ("count", "merge") * 5:
            steadily(clock, bars, phase, None, 3)
    said = [line for line in shown(made).splitlines() if " in " not in line]
    assert len(said) == 6


def test_events(clock: Clock) -> None:
    events = [json.loads(line) for line in told(clock, "json", seconds=3).splitlines()]
    first, *between, last = events
    facts = {"phase": "encode", "total": 8_160_000_000, "unit": "bytes"}
    assert first == {
        "event": "progress", **facts, "done": 0, "seconds": 0.0, "rate": None, "left": None
    }  # fmt: skip
    assert last["event"] == "done" and last["rate"] == pytest.approx(240e6, rel=0.05)
    assert (last["done"], round(last["seconds"], 1)) == (720_000_000, 3.1)
    assert {event["event"] for event in between} == {"progress"}
    assert all(event["left"] > 30 for event in between)
    times = [event["seconds"] for event in (first, *between)]
    assert all(later - sooner >= 0.49 for sooner, later in itertools.pairwise(times))
    assert len(times) >= 6


def test_an_error_is_no_end_of_a_phase(clock: Clock) -> None:
    for form in ("json", "log"):
        made = world(form)
        with pytest.raises(ValueError), ProgressDisplay(made) as bars:
            steadily(clock, bars, "encode", None, 6)
            raise ValueError
        assert shown(made)
        assert '"done", ' not in shown(made) and " in 6 s" not in shown(made)


def test_the_bar(clock: Clock) -> None:
    drawn = told(clock, "bar", seconds=10).split("\r")
    assert "encode:  14%|#" in drawn[49] or any("encode:  14%|#" in line for line in drawn)
    assert any(line.endswith("| 1.2 GB of 8.2 GB, 240 MB/s, 29 s left") for line in drawn)
    assert all(len(line) <= 77 for line in drawn)
    assert drawn[-1] == "\x1b[K"  # nothing is left
    assert told(clock, "bar", seconds=0) == ""  # too fast to be worth one


@pytest.mark.parametrize("columns", [10, 20, 30, 40, 60, 80, 160])
def test_the_bar_fits_its_terminal(clock: Clock, columns: int) -> None:
    for total in (8_160_000_000, None):
        made = world("bar", stderr_is_terminal=True, environ={"COLUMNS": str(columns)})
        with ProgressDisplay(made) as bars:
            steadily(clock, bars, "encode", total, 5)
        drawn = [line for line in shown(made).split("\r") if "encode" in line]
        assert drawn and max(map(len, drawn)) <= columns - 3
        if columns >= 40 and total:
            assert "s left" in drawn[-1] and "#" in drawn[-1]


def test_a_message_takes_the_bar_away(clock: Clock) -> None:
    made = world("bar", stderr_is_terminal=True)
    with ProgressDisplay(made) as bars:
        steadily(clock, bars, "encode", 10**9, 2)
        made.say("note: hello")
        steadily(clock, bars, "encode", 10**9, 2)
    assert "\r\x1b[Knote: hello\n\r" in shown(made)


def test_no_bar_among_data(clock: Clock) -> None:
    for stdout_is_terminal in (True, False):
        made = world("bar", stderr_is_terminal=True, stdout_is_terminal=stdout_is_terminal)
        made.data_on_stdout = True
        with ProgressDisplay(made) as bars:
            steadily(clock, bars, "encode", 10**9, 2)
        assert (shown(made) == "") == stdout_is_terminal


@pytest.mark.parametrize(
    ("form", "settings", "expected"),
    [
        ("", {"stderr_is_terminal": True}, "bar"),
        ("auto", {"stderr_is_terminal": True}, "bar"),
        ("", {"stderr_is_terminal": True, "environ": {"TERM": "dumb"}}, "log"),
        ("", {}, "log"),
        ("bar", {}, "bar"),
        ("log", {"stderr_is_terminal": True}, "log"),
        ("none", {"stderr_is_terminal": True}, "none"),
        ("bar", {"quiet": True}, "none"),
        ("json", {"quiet": True}, "none"),
    ],
)
def test_which_form(form: str, settings: dict[str, Any], expected: str) -> None:
    assert progress._form(world(form, **settings)) == expected


def test_a_call_costs_a_look_at_the_clock(clock: Clock) -> None:
    made = world("log")
    with ProgressDisplay(made) as bars:
        before = clock.looks
        for done in range(1000):
            bars("encode", done, None)
        assert clock.looks - before == 1000
    made = world("none")
    with ProgressDisplay(made) as bars:
        before = clock.looks
        bars("encode", 1, None)
        assert clock.looks == before


def test_nothing_is_shown_of_short_work(clock: Clock) -> None:
    made = world("log")
    with ProgressDisplay(made) as bars:
        steadily(clock, bars, "encode", None, 1)
        assert bars._shown is None


def rates(second_by_second: Iterator[int], total: int) -> list[tuple[float, float]]:
    """The rate and the time left after each second."""
    meter = Meter(0.0, 0)
    done, found = 0, []
    for second, step in enumerate(second_by_second, 1):
        done += step
        meter.add(float(second), done)
        found.append((meter.rate or 0, meter.left(total) or 0))
    return found


def test_the_rate_is_that_of_late() -> None:
    found = rates(iter([100] * 60 + [10] * 60), 10**6)
    assert found[59][0] == pytest.approx(100)
    assert found[79][0] == pytest.approx(10, rel=0.2)  # twenty seconds later
    assert found[119][0] == pytest.approx(10, rel=0.01)


def test_the_time_left_does_not_jump() -> None:
    """Work that stops every other second, and one slow second in a long work."""
    found = rates(iter([200, 0] * 100), 40_000)
    lefts = [left for _, left in found[30:]]
    for sooner, later in itertools.pairwise(lefts):
        assert abs(later - sooner) < 0.1 * sooner + 3
    found = rates(iter([100] * 200 + [0] + [100] * 10), 40_000)
    assert abs(found[200][1] - found[199][1]) < 0.05 * found[199][1]


def test_what_was_there_before_makes_nothing_fast() -> None:
    meter = Meter(0.0, 5_000_000)
    assert meter.rate is meter.average is meter.left(10_000_000) is None
    meter.add(10.0, 5_001_000)
    assert (meter.rate, meter.average) == (pytest.approx(100), 100)
    meter.add(11.0, 50)  # begun anew
    assert meter.rate is None
    meter.add(12.0, 150)
    assert meter.rate == pytest.approx(100)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (1_234_567_890, "1.2 GB"), (8e12, "8.0 TB"),
        (5e18, "5,000 PB"),
    ],
)  # fmt: skip
def test_sizes(count: float, text: str) -> None:
    assert progress.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"),
        (7_499, "2 h 4 min"), (273_600, "3 d 4 h"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text


def test_sentences() -> None:
    state = PhaseState("merge", 5_000, 10_000, rate=1_234.5, left=4.2)
    assert progress.sentence(state) == "merge: 5,000 of 10,000 ids (50%), 1,234 ids/s, 4 s left"
    assert progress.sentence(PhaseState("new", 3, None, rate=2.0)) == "new: 3"
    # 100% is when all is done, and a total that was too small is no 110%.
    assert progress.percent(PhaseState("encode", 9_999, 10_000)) == "99%"
    assert progress.percent(PhaseState("encode", 11_000, 10_000)) == "100%"


def test_decode_tells_what_it_reads(models: Models) -> None:
    Path("a").write_bytes(b"1 2\n" * 3)
    Path("b").write_bytes(b"3\n")
    done = process("decode", "--progress", "json", "-m", models["bytes"], "a", "b")
    events = [json.loads(line) for line in done.err.splitlines()]
    kinds = [event["event"] for event in events]  # one more for each half second
    assert kinds == ["progress"] * (len(events) - 1) + ["done"] and len(events) > 1
    assert {(event["phase"], event["total"], event["unit"]) for event in events} == {
        ("decode", 14, "bytes")
    }
    assert (events[0]["done"], events[-1]["done"]) == (0, 14)
    piped = process("decode", "--progress=json", "-m", models["bytes"], stdin=b"1\n")
    assert json.loads(piped.err.splitlines()[-1])["total"] is None


def test_events_of_a_whole_training(text: Path) -> None:
    done = process("train", "--vocab", "300", text, env={"TOKCTL_PROGRESS": "json"})
    events = [json.loads(line) for line in done.err.splitlines()]
    assert done.out == b"text.bpe.json\n"
    phases = [event["phase"] for event in events if event["event"] == "done"]
    assert phases[0] == "count"
    messages = [event["message"] for event in events if event["event"] == "message"]
    assert any("merges" in message for message in messages)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--progress", "json", "encode", "-m", "missing"),
        ("encode", "--progress=json", "-m", "missing"),
        ("encode", "--no-such-option", "--progress", "json"),
        ("--progress", "json", "no-such-command"),
        ("-q", "--progress", "json", "encode", "-m", "missing"),
        ("train", "--progress", "json", "--vocab", "many"),
    ],
)
def test_errors_are_events(arguments: tuple[str, ...]) -> None:
    done = tokctl(*arguments, stdin=b"")
    (event,) = [json.loads(line) for line in done.err.splitlines()]
    assert done.code == 2
    assert event["event"] == "error" and event["message"] and event["hint"]


def test_notes_and_tracebacks_are_events(models: Models) -> None:
    given = {"stdin": b"low\n", "stderr_is_terminal": True}
    done = tokctl("--progress", "json", "encode", "-m", models["bytes"], "--add-special", **given)
    (note,) = (
        event for event in map(json.loads, done.err.splitlines()) if event["event"] == "note"
    )
    assert note["message"] == "this model's template has no special tokens to add"
    failed = tokctl("--progress", "json", "--debug", "encode", "-m", "missing", **given)
    events = [json.loads(line) for line in failed.err.splitlines()]
    assert events[0] == {"event": "message", "message": "Traceback (most recent call last):"}
    assert events[-1]["event"] == "error"


def test_other_forms_are_errors(models: Models) -> None:
    choose = "hint: choose one of: auto, bar, log, json, none\n"
    done = tokctl("--progress", "loud", "encode", stdin=b"")
    assert done == (2, b"", f"error: invalid value 'loud' for --progress\n{choose}")
    done = tokctl("encode", stdin=b"", environ={"TOKCTL_PROGRESS": "loud"})
    assert done == (2, b"", f"error: invalid value 'loud' for $TOKCTL_PROGRESS\n{choose}")
    given = {"environ": {"TOKCTL_PROGRESS": ""}, "stdin": b"low\n"}
    assert tokctl("encode", "-m", models["bytes"], **given).code == 0


def test_documents_and_ids_where_there_is_room() -> None:
    state = PhaseState("encode", 1_200_000_000, 8_000_000_000, rate=240e6, left=28)
    state.documents, state.ids = 1, 310_000_000
    known = "1 document, 310M ids"
    assert progress.sentence(state) == (
        f"encode: 1.2 GB of 8.0 GB (15%), {known}, 240 MB/s, 28 s left"
    )
    assert progress.ended(state) == f"encode: 1.2 GB in 0 s, {known}, 240 MB/s"
    for width in range(20, 200):
        front, behind = progress.beside(state, width)
        line = progress.without_bar(PhaseState("encode", 7), width)
        assert len(front) + len(behind) <= max(width, 30) and len(line) <= max(width, 14)
        assert (known in behind) == (width >= 82)
    state.documents = state.ids = None
    assert progress.contents(state) == ""
    assert [progress.short(n) for n in (0, 99_999, 100_000, 3_400_000, 10**12)] == [
        "0", "99,999", "100K", "3.4M", "1.0T"
    ]  # fmt: skip


def test_events_have_documents_and_ids(clock: Clock) -> None:
    from tokctl.core.values import ProgressCount

    made = world("json")
    with ProgressDisplay(made) as bars:
        bars("encode", ProgressCount(5, 2, 9), 10)
        clock.now += 1
        bars("count", ProgressCount(5, 2), 10)
    events = [json.loads(line) for line in shown(made).splitlines()]
    assert [(event["event"], event.get("documents"), event.get("ids")) for event in events] == [
        ("progress", 2, 9), ("done", 2, 9), ("progress", 2, None), ("done", 2, None)
    ]  # fmt: skip
