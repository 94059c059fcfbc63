"""On a terminal: lines come at once, the bar leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import command
from tests.cli.terminals import terminal
from tests.cli.test_stops import slow_text
from tokctl import Tokenizer

Models = dict[str, Path]


def ids_of(models: Models, line: str) -> bytes:
    """The ids of a line, as encode writes them."""
    return " ".join(map(str, Tokenizer.load(models["bytes"]).encode(line).ids)).encode()


def test_a_line_typed_is_a_line_answered(models: Models) -> None:
    with terminal("encode", "-m", models["bytes"], "-") as shell:
        for line in ("low", "lower newest"):
            shell.type(line.encode() + b"\n")
            shell.until(b"%s\r\n%s\r\n" % (line.encode(), ids_of(models, line)))
        shell.type(b"\x04")
        assert shell.end() == 0
        assert b"\x1b" not in shell.shown


def test_decode_answers_line_by_line(models: Models) -> None:
    with terminal("decode", "-m", models["bytes"], "-", env={"TOKCTL_PROGRESS": "bar"}) as shell:
        for line in ("low", "lower newest"):
            ids = ids_of(models, line)
            shell.type(ids + b"\n")
            shell.until(b"%s\r\n%s\r\n" % (ids, line.encode()))
            # Long enough for a bar, had it been shown among the data.
            time.sleep(0.4)
        shell.type(b"\x04")
        assert shell.end() == 0
        assert b"decode" not in shell.shown and b"\x1b" not in shell.shown


def test_ctrl_c_while_one_types(models: Models) -> None:
    with terminal("encode", "-m", models["bytes"], "-") as shell:
        shell.type(b"low\n")
        shell.until(ids_of(models, "low") + b"\r\n")
        shell.type(b"lo")
        assert shell.interrupt() == 130
        assert shell.shown.endswith(b"interrupted\r\n")
        assert b"Traceback" not in shell.shown


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_ctrl_c_takes_the_bar_away(folder: Path, columns: int) -> None:
    (folder / "slow.txt").write_bytes(slow_text())
    given = ("train", "--algo", "wordpiece", "--vocab", "999999", "slow.txt")
    with terminal(*given, columns=columns, env={"TOKCTL_PROGRESS": "auto"}) as shell:
        shell.until(b"merge:")
        shell.type(b"\x03")
        assert shell.end() == 130
    drawn, _, rest = shell.shown.rpartition(b"\x1b[K")
    assert rest == b"\r\ninterrupted\r\n"
    lines = drawn.decode().replace("^C", "").split("\r")
    assert max(len(line.replace("\x1b[K", "")) for line in lines) <= columns - 3


@systems.named_pipes
@pytest.mark.slow
def test_no_bar_in_a_dumb_terminal(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    given = ("train", "--algo", "wordpiece", "--vocab", "999999", "pipe")
    with terminal(*given, env={"TERM": "dumb", "TOKCTL_PROGRESS": ""}) as shell:
        (folder / "pipe").write_bytes(slow_text())  # until it was read
        time.sleep(2)  # long enough for a bar
        shell.type(b"\x03")
        assert shell.end() == 130
    # Lines tell of what takes long; none is drawn over.
    shown = shell.shown.replace(b"\r\n", b"")
    assert b"\x1b" not in shown and b"\r" not in shown


@pytest.mark.parametrize("form", ["ids", "tokens", "jsonl"])
def test_a_slow_pipe_gives_each_line_as_it_comes(models: Models, form: str) -> None:
    given = command("encode", "-m", models["bytes"], "--as", form)
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        for line in (b"low\n", b"\n", b"lower newest\n"):
            running.stdin.write(line)
            running.stdin.flush()
            answer = running.stdout.readline()
            assert answer.endswith(b"\n") and (len(answer) > 1 or line == b"\n")
        running.stdin.write(b"low")  # no line yet: it waits for the rest
        running.stdin.close()
        running.stdin = None
        assert not running.stdout.read().endswith(b"\n")
        assert running.wait(timeout=600) == 0
