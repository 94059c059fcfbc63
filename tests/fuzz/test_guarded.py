"""The cases that fuzzing kept, and what reading them never does: run code of the file, start a
process, open a connection, unpickle, write outside of where it is told to. Python's audit hooks see
all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import slow_but
from tests.tools.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]

#: Tries the cases of a target twice: first everything is imported, then nothing may be.
GUARDED = """
import itertools, os, sys, tempfile
from pathlib import Path
from tests.tools.fuzz.corpus import cases
from tests.tools.fuzz.seeds import seeds
from tests.tools.fuzz.targets import TARGETS

FORBIDDEN = (
    "import", "exec", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "os.system", "pty.spawn", "subprocess.Popen", "socket.", "urllib.", "http.", "ftplib.",
    "ctypes.", "pickle.find_class", "marshal.load", "os.symlink", "os.link", "os.kill", "shutil.",
    "code.", "webbrowser.",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
JINJA = ("jinja2.environment", "jinja2.debug")
name, folder, step = sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3])
tried = [*seeds(name), *cases(name)][::step]
found, watching = set(), False

CHANGING = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod")

def outside(path):
    if isinstance(path, int):
        return False
    return not Path(os.fsdecode(path)).resolve().is_relative_to(folder)

def watch(event, arguments):
    if not watching:
        return
    if event == "exec" and sys._getframe(1).f_globals["__name__"] in ("inspect", "typing"):
        return  # the annotations of our own commands
    if event in ("exec", "code.__new__") and sys._getframe(1).f_globals["__name__"] in JINJA:
        return  # a chat template as Jinja2 compiled it, which its sandbox runs; its error's line
    if event.startswith(FORBIDDEN):
        found.add((event, repr(arguments)[:200]))
    elif event == "open" and arguments[2] & WRITING and outside(arguments[0]):
        found.add((event, repr(arguments)[:200]))
    elif event in CHANGING and outside(arguments[0]):
        found.add((event, repr(arguments)[:200]))

sys.addaudithook(watch)
tempfile.tempdir = str(folder)
for watching in (False, True):
    for case in tried:
        TARGETS[name](case, folder)
watching = False
print(len(tried), sorted(found))
"""


@pytest.mark.parametrize("step", [20, pytest.param(3, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("name", slow_but([n for n in TARGETS if n != "twins"], "tokctl", "gguf"))
def test_reading_is_all_that_is_done(name: str, step: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GUARDED, name, str(tmp_path), str(step)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, _, found = done.stdout.strip().partition(" ")
    assert int(count) > 0 and found == "[]"


#: Draws a page, and prints the processes that are started and what else is forbidden.
DRAWN = """
import sys
from pathlib import Path
from tests.cli.run import tokctl
from tests.tools.fuzz.targets import decoder
from tokctl import formats
from tokctl.report.charts.converter import _CODE

model = Path(sys.argv[1], "m.json")
model.write_bytes(formats.serialize(decoder().model))
started, others = [], []

def watch(event, arguments):
    if event == "subprocess.Popen":
        started.append(list(arguments[1]))
    elif event.startswith(("os.system", "os.exec", "os.fork", "socket.", "pickle.find_class")):
        others.append(event)

sys.addaudithook(watch)
done = tokctl("inspect", model, "--html", Path(sys.argv[1], "p.html"))
begins = [sys.executable, "-I", "-S", "-c", _CODE]
print(done.code, [line[:5] == begins and len(line) == 6 for line in started], others)
"""


@pytest.mark.slow
def test_drawing_starts_one_process_of_our_own(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="pages need the extra `report`")
    pytest.importorskip("vl_convert", reason="pages need the extra `report`")
    done = subprocess.run(
        [sys.executable, "-c", DRAWN, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "0 [True] []", done.stderr[-2000:]
