"""A process on a terminal of its own."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import systems
from tests.cli.run import command

#: Seconds after which something is taken to hang.
PATIENCE = 600


class Terminal:
    """What is typed goes in, what is shown comes out."""

    def __init__(self, main: int, process: subprocess.Popen[bytes]) -> None:
        self._main = main
        self.process = process
        self.shown = b""

    def type(self, keys: bytes) -> None:
        os.write(self._main, keys)

    def read(self, seconds: float = 0.1) -> bytes:
        """What comes within this time; empty: nothing, or it has ended."""
        if not select.select([self._main], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._main, 1 << 16)
        except OSError:  # the other end was closed
            return b""
        self.shown += data
        return data

    def until(self, text: bytes) -> None:
        """Waits until the text is shown."""
        end = time.monotonic() + PATIENCE
        while text not in self.shown:
            ended = self.process.poll() is not None
            more = self.read()
            assert (more or not ended) and time.monotonic() < end, (text, self.shown)

    def interrupt(self) -> int:
        """Ctrl-C: the exit code. Python does not hear one that comes just before it begins to wait
        for input; then it is typed again."""
        for _ in range(30):
            self.type(b"\x03")
            end = time.monotonic() + 20
            while self.process.poll() is None and time.monotonic() < end:
                self.read()
            if self.process.poll() is not None:
                break
        return self.end()

    def end(self) -> int:
        """Waits for the end of the process: its exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.shown
            self.read()
        while self.read():
            pass
        return self.process.returncode


@contextlib.contextmanager
def terminal(
    *arguments: str | Path, columns: int = 80, env: dict[str, str] | None = None
) -> Iterator[Terminal]:
    """A command line whose streams are all one terminal, which Ctrl-C comes from, too."""
    with on_a_terminal(command(*arguments), columns=columns, env=env) as shell:
        yield shell


@contextlib.contextmanager
def on_a_terminal(
    words: Sequence[str],
    *,
    columns: int = 80,
    env: dict[str, str] | None = None,
    stderr: int | None = None,
) -> Iterator[Terminal]:
    """The same for any process; `stderr` can go elsewhere."""
    fcntl, termios = systems.unix_module("fcntl"), systems.unix_module("termios")
    main, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        words,
        stdin=other,
        stdout=other,
        stderr=other if stderr is None else stderr,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(env or {})},
    )
    os.close(other)
    try:
        yield Terminal(main, process)
    finally:
        with contextlib.suppress(ProcessLookupError):  # where all has ended, as it should
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
        os.close(main)
