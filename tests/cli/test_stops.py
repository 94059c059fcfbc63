"""Stops at any moment: closed pipes, full disks, Ctrl-C, SIGTERM, SIGKILL."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import command, error, names, process
from tokctl import Tokenizer

Models = dict[str, Path]


@cache
def slow_text() -> bytes:
    """Words that WordPiece merges for many seconds."""
    letters = random.Random(1)
    words = ("".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(200_000))
    return " ".join(words).encode()


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    """The process, with pipes."""
    return subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.few(2)
@systems.signals
@pytest.mark.parametrize("phase", ["reading", "merging"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_is_stopped(folder: Path, phase: str, number: signal.Signals, code: int) -> None:
    Path("old.json").write_bytes(b"old")
    arguments = command("train", "--algo", "wordpiece", "--vocab", "9999999", "-o", "old.json")
    with started(arguments) as running:
        assert running.stdin is not None
        # A pipe holds little: when all is written, nearly all has been read.
        running.stdin.write(slow_text())
        running.stdin.flush()
        if phase == "merging":
            running.stdin.close()
            running.stdin = None
        time.sleep(1)
        running.send_signal(number)
        try:
            out, err = running.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    said = b"interrupted\n" if number == signal.SIGINT else b""
    assert (running.returncode, out, err) == (code, b"", said)
    assert names(folder) == ["old.json"]
    assert Path("old.json").read_bytes() == b"old"


@systems.signals
def test_a_stopped_encode_leaves_no_file(models: Models, folder: Path) -> None:
    arguments = command("encode", "-m", models["bytes"], "-o", "ids")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with started(arguments) as running:
            assert running.stdin is not None
            running.stdin.write(b"low\n" * 300_000)
            running.stdin.flush()
            time.sleep(0.5)
            running.send_signal(number)
            running.stdin.close()
            running.stdin = None
            running.communicate(timeout=600)
        assert running.returncode == code
        assert names(folder) == []


KILLED_WHILE_SAVING = """
import os, signal, sys
from tokctl.cli.app import main
os.fsync = lambda _: os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
sys.argv[0] = "tokctl"
main()
"""


@pytest.mark.parametrize("old", [True, False])
def test_kill_while_saving_leaves_the_old_file(models: Models, folder: Path, old: bool) -> None:
    before = models["wordpiece"].read_bytes()
    if old:
        Path("m.json").write_bytes(before)
    arguments = ["train", "-q", "--vocab", "300", "-o", "m.json"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_SAVING, *arguments],
        input=b"low lower lowest",
        check=False,
        timeout=600,
    )
    assert done.returncode in (systems.KILLED, systems.KILL)  # on Windows, its number
    assert Path("m.json").exists() == old
    if old:
        assert Path("m.json").read_bytes() == before
        Tokenizer.load("m.json")
    # What is left over has a hidden name, and is in nobody's way.
    assert all(name == "m.json" or name.startswith(".m.json.") for name in names(folder))


@systems.full_device
def test_full_disk_on_stdout(models: Models) -> None:
    hint = "repeat the command: the output so far is incomplete"
    expected = error("can't write to stdout: No space left on device", hint)
    for arguments in (
        ("encode", "-m", models["bytes"]),
        ("encode", "-m", models["bytes"], "--count"),
        ("decode", "-m", models["bytes"]),
        ("train", "-q", "--vocab", "256"),
        ("corpora", "list"),
    ):
        with Path("/dev/full").open("wb") as full:
            done = process(*arguments, stdin=b"1 2\n" * 5, stdout=full)
        assert (done.code, done.err) == (2, expected), arguments


@systems.limits
def test_full_disk_on_a_file(models: Models, folder: Path) -> None:
    Path("out").write_bytes(b"old")
    for arguments in (
        ("encode", "-m", models["bytes"], "-o", "out"),
        ("decode", "-m", models["bytes"], "-o", "out"),
        ("train", "-q", "--vocab", "300", "-o", "out"),
    ):
        done = process(
            *arguments, stdin=b"1 2 3 4 5 6 7\n" * 500, preexec_fn=systems.no_file_grows(1000)
        )
        message = "can't write out: File too large"
        expected = (2, b"", error(message, "choose another place with -o PATH"))
        assert done == expected, arguments
        assert names(folder) == ["out"]
        assert Path("out").read_bytes() == b"old"


@pytest.mark.parametrize("form", ["ids", "jsonl"])
def test_a_closed_pipe_ends_quietly(models: Models, form: str) -> None:
    Path("long.txt").write_bytes(b"low lower\n" * 200_000)
    arguments = command("encode", "-m", models["bytes"], "--as", form, "long.txt")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=600) == 0


def test_output_comes_as_input_comes(models: Models) -> None:
    """A line is answered while the input stays open, through both commands."""
    encode = subprocess.Popen(
        command("encode", "-m", models["bytes"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    decode = subprocess.Popen(
        command("decode", "-m", models["bytes"]), stdin=encode.stdout, stdout=subprocess.PIPE
    )
    assert encode.stdin is not None and encode.stdout is not None and decode.stdout is not None
    encode.stdout.close()
    for line in (b"low\n", b"\n", b"lower \xff\n"):
        encode.stdin.write(line)
        encode.stdin.flush()
        assert decode.stdout.readline() == line
    encode.stdin.close()
    assert decode.stdout.read() == b""
    decode.stdout.close()
    assert (encode.wait(timeout=600), decode.wait(timeout=600)) == (0, 0)


@systems.terminals
def test_a_terminal_on_stdin_is_no_hang(models: Models, folder: Path) -> None:
    no_text = error(
        "there is no text: stdin is a terminal",
        "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type",
    ).encode()
    no_ids = error(
        "there are no ids: stdin is a terminal",
        "name a file, or pipe ids in: cat ids.txt | tokctl …; - lets you type",
    ).encode()
    for arguments, expected in (
        (("train",), no_text),
        (("encode", "-m", models["bytes"]), no_text),
        (("decode", "-m", models["bytes"]), no_ids),
    ):
        main, terminal = os.openpty()
        try:
            done = subprocess.run(
                command(*arguments), stdin=terminal, capture_output=True, check=False, timeout=600
            )
        finally:
            os.close(main)
            os.close(terminal)
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", expected)
    assert names(folder) == []


@systems.shell
@pytest.mark.parametrize(
    ("closed", "code", "message"),
    [
        (0, 2, error("stdin is closed", "name a file, or pipe text in")),
        (
            1,
            2,
            error(
                "can't write to stdout: stdout is closed",
                "repeat the command: the output so far is incomplete",
            ),
        ),
        (2, 0, ""),
    ],
)
def test_closed_streams(models: Models, closed: int, code: int, message: str) -> None:
    arguments = command("encode", "-m", models["bytes"])
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}{"<" if closed == 0 else ">"}&-', "sh", *arguments],
        input=b"low\n" if closed else None,
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stderr.decode()) == (code, message)


def test_broken_memory_is_an_error(monkeypatch: pytest.MonkeyPatch, models: Models) -> None:
    from tests.cli.run import tokctl

    def hungry(*_: object, **_options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Tokenizer, "load", hungry)
    done = tokctl("encode", "-m", models["bytes"], stdin=b"")
    assert done == (2, b"", error("out of memory", "give less text at a time"))
