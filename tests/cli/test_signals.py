"""Signals at bad moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

#: A signal comes while a module is made whose making must not be disturbed; it is heard as soon
#: as that is done. The module is called orjson, and sends itself the signal.
SCRIPT = """
import os, signal, sys, time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from tokctl.cli.world import handle_signals

class Disturbed(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name == "orjson" else None
    def exec_module(self, module):
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(0.1)
        print("made", flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)
handle_signals()
sys.modules.pop("orjson", None)
sys.meta_path.insert(0, Disturbed())
try:
    import orjson
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


def test_who_ignores_ctrl_c_goes_on_doing_so() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "from tokctl.cli.world import handle_signals; handle_signals();"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    )
    assert os.system(f'{sys.executable} -c "{code}"') == 0
