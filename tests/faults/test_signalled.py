"""Signals where Rust calls Python, and where Python calls by itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import names
from tests.faults import signalled
from tests.faults.signalled import SIGNALS, check, places

pytestmark = systems.signals

#: What Rust calls while words are counted in files, and while a pattern splits.
SPILLING = {"Spill.scratch", "Scratch.append", "Scratch.read", "Scratch.__del__"}
SPLITTING = {"compile_pattern", "can_backtrack", "seconds", "matches"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signalled")
    signalled.prepare(folder)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="functions have no qualified names")
@pytest.mark.parametrize("wanted", [SPILLING, SPLITTING], ids=["spilling", "splitting"])
def test_rust_calls_python(wanted: set[str], folder: Path) -> None:
    line = "--memory" if wanted == SPILLING else "encode"
    arguments = next(each for each in signalled.commands() if line in each)
    whole, found = places(arguments, folder)
    found = [place for place in found if place.of_rust]
    assert wanted <= {place.name for place in found}
    for place in found:
        if place.name in wanted:
            for number in (signal.SIGINT, signal.SIGTERM):
                heard = check(arguments, folder, place, 0, number, whole)
                # A finalizer comes last: what is left can be done before the signal is heard.
                assert heard or place.name == "Scratch.__del__", (place, number)


@pytest.mark.campaign
@pytest.mark.parametrize("arguments", list(signalled.commands()), ids=" ".join)
def test_every_place_that_rust_calls(arguments: tuple[str, ...], folder: Path) -> None:
    whole, found = places(arguments, folder)
    for place in found:
        if place.of_rust:
            for number in SIGNALS:
                for time in sorted({0, place.times - 1}):
                    check(arguments, folder, place, time, number, whole)


#: In another thread a pattern is searched when the signal comes: the first thread hears it.
IN_A_THREAD = """
import os, sys, threading
from tokctl.model import patterns
from tokctl.__main__ import main

number, matches = int(sys.argv.pop(1)), patterns.matches
def matching(*given):
    if threading.current_thread() is not threading.main_thread():
        os.kill(os.getpid(), number)
    return matches(*given)
patterns.matches = matching
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_another_thread_is_at_work(number: signal.Signals, folder: Path) -> None:
    before = names(folder)
    arguments = ("encode", "-q", "-m", "regex.json", "--threads", "3", "-o", "out", "many")
    done = subprocess.run(
        [sys.executable, "-c", IN_A_THREAD, str(int(number)), *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (SIGNALS[number], b"")
    assert names(folder) == before


#: A signal comes as the process ends, when all is written.
AT_THE_END = """
import os, sys, threading
from tokctl.__main__ import main

number = int(sys.argv.pop(1))
threading.active_count = lambda: os.kill(os.getpid(), number) or 1
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_at_the_end(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(int(number)), "corpora", "list"],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (SIGNALS[number], b"")
