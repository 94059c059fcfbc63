"""Signals at bad moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: A signal comes while a module is imported whose import must not be disturbed; it is heard as soon
#: as that is done. The module is called orjson, has every name, and sends itself the signal.
SCRIPT = """
import os, signal, sys, time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from tokctl.core.signals import handle_signals

class Disturbed(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name == "orjson" else None
    def exec_module(self, module):
        signal.raise_signal(int(sys.argv[1]))
        time.sleep(0.1)
        module.__getattr__ = lambda name: None
        print("made", flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)
handle_signals()
for name in ("orjson", "tokctl.core.orjson"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Disturbed())
try:
    import tokctl.core.orjson
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.01)
except BaseException as error:
    print(type(error).__name__, error, flush=True)
"""


@pytest.mark.parametrize(
    ("number", "heard"),
    [(signal.SIGTERM, "SystemExit 143"), (signal.SIGINT, "KeyboardInterrupt")],
)
def test_a_module_is_made_first(number: signal.Signals, heard: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(int(number))],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["made", heard + (" " if number == signal.SIGINT else "")]


#: A signal comes in a function that Python calls by itself, whose exceptions it wraps or drops.
CALLED_BY_PYTHON = """
import os, signal, sys, time
from tokctl.core.signals import handle_signals, unwrapped

def disturbed():
    signal.raise_signal(int(sys.argv[1]))
    print("not reached", flush=True)

class Named:
    def __set_name__(self, owner, name):
        disturbed()

class Dropped:
    def __del__(self):
        disturbed()

signal.signal(signal.SIGINT, signal.default_int_handler)
handle_signals()
try:
    if sys.argv[2] == "named":
        type("Owner", (), {"field": Named()})
    else:
        Dropped()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.01)
except BaseException as error:
    print(type(unwrapped(error)).__name__, flush=True)
"""


@pytest.mark.parametrize("what", ["named", "dropped"])
@pytest.mark.parametrize(
    ("number", "heard"),
    [(signal.SIGTERM, "SystemExit"), (signal.SIGINT, "KeyboardInterrupt")],
)
def test_what_python_wraps_or_drops_is_heard(number: signal.Signals, heard: str, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLED_BY_PYTHON, str(int(number)), what],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.split() == [heard]
    assert done.stderr == ""


def test_who_ignores_ctrl_c_goes_on_doing_so() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "from tokctl.core.signals import handle_signals; handle_signals();"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    )
    assert os.system(f'{sys.executable} -c "{code}"') == 0


#: A signal comes when a hidden file has been made, and nothing yet waits to remove it: in the call
#: that makes it, or when the `with` around that has not come to its block.
AT_A_FILE = """
import contextlib, os, signal, sys
from tokctl.core import files
from tokctl.__main__ import main

number = int(sys.argv.pop(1))
open_file, enter = files.WholeFiles.open, contextlib._GeneratorContextManager.__enter__
is_file = "whole_file" in sys.argv and not sys.argv.remove("whole_file")
def opened(self, path):
    made = open_file(self, path)
    assert any(name.endswith(".tmp") for name in os.listdir())
    if not is_file:
        signal.raise_signal(number)
    return made
def entered(self):
    made = enter(self)
    if is_file and self.gen.__name__ == "whole_file":
        signal.raise_signal(number)
    return made
files.WholeFiles.open = opened
contextlib._GeneratorContextManager.__enter__ = entered
main()
"""


@pytest.mark.few(2)
@pytest.mark.parametrize("where", ["", "whole_file"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_file_that_was_just_made_goes(
    number: signal.Signals, code: int, where: str, tmp_path: Path
) -> None:
    option = "--save-counts" if where else "-o"
    command = ["train", "-q", "--vocab", "300", option, "a.json", "-", *([where] if where else [])]
    done = subprocess.run(
        [sys.executable, "-c", AT_A_FILE, str(int(number)), *command],
        input=b"low lower lowest",
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert (done.returncode, [*tmp_path.glob(".*.tmp")]) == (code, []), done.stderr


#: Two signals come in one block that holds them back; the second must not be heard in a later one.
TWO = """
import signal
from tokctl.core.signals import handle_signals, held

signal.signal(signal.SIGINT, signal.default_int_handler)
handle_signals()
try:
    with held():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
except BaseException as error:
    print(type(error).__name__, error)
with held():
    print("quiet")
"""


def test_of_two_signals_that_wait_the_first_one_is_heard() -> None:
    done = subprocess.run([sys.executable, "-c", TWO], capture_output=True, check=True)
    assert done.stdout.split(b"\n")[:2] == [b"SystemExit 143", b"quiet"]
