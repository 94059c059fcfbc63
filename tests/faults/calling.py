"""Commands whose calls of the system fail, and what they call: `calls.c` below Python."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

#: What `calls.c` takes for the number of an error.
KILL, SHORT = -1, -2


class Fault(NamedTuple):
    """The call of that kind, counted from 0, that fails; `error` is an errno, `KILL` or `SHORT`."""

    call: str = ""
    number: int = 0
    error: int = 0


class Ended(NamedTuple):
    """code: as `subprocess` has it."""

    code: int
    err: str


class Caller:
    """A process that has imported what commands need, and forks for each of them."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.calling", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": str(library)},
            text=True,
        )

    def run(
        self,
        arguments: list[str],
        target: Path,
        fault: Fault = Fault(),  # noqa: B008 (a tuple can't change)
        record: Path | None = None,
    ) -> Ended:
        """A command line in the folder; calls below `target` fail and are recorded."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        case = [arguments, str(self.folder), str(target), *fault, str(record or "")]
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@contextmanager
def calling(folder: Path) -> Iterator[Caller]:
    """A caller whose commands run in a folder; skips the test where it can't be."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("calls are made to fail below Python, on Linux, with a C compiler")
    library = folder / "calls.so"
    source = Path(__file__).with_name("calls.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    caller = Caller(library, folder)
    try:
        yield caller
    finally:
        caller.close()


def ready() -> None:
    """Imports what commands import, so that those that are forked need not."""
    import tokctl.__main__
    import tokctl.cli.streams
    import tokctl.core.signals
    import tokctl.training.training  # noqa: F401
    from tokctl.cli.app import COMMANDS, build
    from tokctl.formats import FORMATS

    for command in COMMANDS:
        build((command,))
    for one in FORMATS:
        one.load()


def _serve(library: str) -> None:
    watch = ctypes.CDLL(library).calls_watch
    ready()
    for line in sys.stdin:
        arguments, folder, target, call, number, error, record = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _command(watch, writing, folder, arguments, (target, call, number, error, record))
        os.close(writing)
        with os.fdopen(reading, "rb") as messages:
            err = messages.read().decode(errors="replace")
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([status, err]), flush=True)


def _command(watch: Any, messages: int, folder: str, arguments: list[str], how: Any) -> None:
    from tokctl.__main__ import main

    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(messages, 2)
    sys.argv = ["tokctl", *arguments]
    target, call, number, error, record = how
    watch(target.encode(), call.encode(), ctypes.c_long(number), error, record.encode())
    code = 70
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _serve(sys.argv[1])
