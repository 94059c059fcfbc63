"""Long answers of `tokctl inspect` on a real terminal: the pager, and how it is left."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.cli.inspecting import printed
from tests.cli.run import command
from tests.explain import models
from tokctl import Tokenizer


@pytest.fixture
def many(tmp_path: Path) -> str:
    """A model of more merges than a screen has lines."""
    path = tmp_path / "many.json"
    word = "".join(map(chr, range(0x4E00, 0x4E00 + 80)))
    Tokenizer.train_on_counts({word: 1}, vocab_size=500, recipe=models.CHARACTERS).save(path)
    return str(path)


class Shown(subprocess.Popen[bytes]):
    """A command on a terminal of 80 columns and 24 lines, whose stderr is a pipe."""

    def __init__(self, *arguments: str, environ: dict[str, str]) -> None:
        self.terminal, inner = pty.openpty()
        ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        clean = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS", "LESS")}
        super().__init__(
            command("inspect", *arguments),
            stdin=inner,
            stdout=inner,
            stderr=subprocess.PIPE,
            env={**clean, "TERM": "xterm", "NO_COLOR": "1", **environ},
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)

    def read(self, until: str | None = None, seconds: float = 30) -> str:
        """What is shown, until it holds that text, or until the end."""
        found = b""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (until is None or until.encode() not in found):
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    found += os.read(self.terminal, 1 << 16)
                except OSError:  # the other side is closed
                    break
        return found.decode(errors="replace")

    def press(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def finish(self) -> tuple[int, str]:
        """The exit code and what stderr got."""
        try:
            _, err = self.communicate(timeout=30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            os.close(self.terminal)
        return self.returncode, (err or b"").decode()


def shown(*arguments: str, **environ: str) -> str:
    """All that is shown where nobody has to press a key."""
    run = Shown(*arguments, environ=environ)
    out = run.read()
    assert run.finish() == (0, "")
    return out.replace("\r\n", "\n")


def test_what_fits_on_the_screen_needs_no_pager(many: str) -> None:
    assert "PAGED" not in shown(many, "--merges", ":5", PAGER="echo PAGED")


def test_what_is_longer_goes_through_the_pager(many: str) -> None:
    assert shown(many, "--merges", ":", PAGER="echo PAGED") == "PAGED\n"
    out = shown(many, "--merges", ":", PAGER="sed s/^/PAGED:/")
    assert out.count("PAGED:") == len(out.splitlines()) > 79
    first = shown(many, "--merges", ":", PAGER="head -n 4")
    assert len(first.splitlines()) == 4


@pytest.mark.parametrize(
    "environ", [{"PAGER": ""}, {"PAGER": "cat"}, {"TERM": "dumb", "PAGER": "echo PAGED"}]
)
def test_when_there_is_none(many: str, environ: dict[str, str]) -> None:
    out = shown(many, "--merges", ":", **environ)
    assert "PAGED" not in out
    assert len(out.splitlines()) > 79


def test_no_pager_and_json(many: str) -> None:
    assert len(shown(many, "--merges", ":", "--no-pager", PAGER="echo PAGED").splitlines()) > 79
    assert shown(many, "--merges", ":", "--json", PAGER="echo PAGED").startswith("{")
    assert printed(many, "--merges", ":", "--no-pager") == printed(many, "--merges", ":")


def test_a_pager_that_is_not_there(many: str) -> None:
    run = Shown(many, "--merges", ":", environ={"PAGER": "no-such-pager-at-all"})
    assert len(run.read().splitlines()) > 79
    code, err = run.finish()
    assert code == 0
    assert "Traceback" not in err
    assert "no-such-pager-at-all" in err  # the shell says that


def test_less_is_left_by_a_key_and_takes_an_interrupt(many: str) -> None:
    if not any(os.access(f"{folder}/less", os.X_OK) for folder in os.get_exec_path()):
        pytest.skip("there is no less here")
    run = Shown(many, "--merges", ":", environ={"LC_ALL": "C.UTF-8"})
    first = run.read(until="\r\n:")
    assert 20 < first.count("\n") < 30
    run.press(b"\x03")
    run.read(seconds=0.5)
    assert run.poll() is None
    for _ in range(40):  # less throws keys away that come with an interrupt
        run.press(b"q")
        run.read(seconds=0.5)
        if run.poll() is not None:
            break
    assert run.finish() == (0, "")


def test_a_reader_who_leaves_gets_no_complaint(many: str) -> None:
    run = Shown(many, "--merges", ":", environ={"PAGER": "true"})
    assert run.read() == ""
    assert run.finish() == (0, "")


assert sys.platform != "win32"
