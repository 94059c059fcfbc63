"""Closed pipes and signals, for every command."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import command, process

Models = dict[str, Path]

WRITERS = (
    *("", "--help", "--version", "corpora", "corpora --help", "corpora list"),
    *("corpora list --json", "corpora path sample", "man", "man encode"),
    *("completion bash", "completion zsh", "completion fish"),
    *("train --help", "train --list-presets", "train -q --vocab 300 -o a.json text.txt"),
    *("train -q --json --vocab 300 -o a.json text.txt",),
    *("encode --help", "encode -m {bytes} text.txt", "encode -m {bytes} --count text.txt"),
    *("encode -m {bytes} --json text.txt", "encode -m {bytes} --as bin text.txt"),
    *("decode -m {bytes}", "inspect {bytes}", "inspect {bytes} --json"),
    *("inspect {bytes} --merges 1:9", "inspect {bytes} --word low",),
    *("inspect {bytes} --check text.txt", "compare -m {bytes} text.txt"),
    *("compare -m {bytes} --json text.txt", "compare --explain all", "compare --chart list"),
    *("convert --list-formats", "convert -q {bytes} --to huggingface -o b.json --lossy"),
)  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("line", WRITERS)
def test_nobody_reads(line: str, models: Models, text: Path) -> None:
    """What has nobody to read it ends at once, well, and without a word."""
    assert text.exists()
    given = [word.format(bytes=models["bytes"]) for word in line.split()]
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = process(*given, stdin=b"258 32\n", stdout=writes)
    finally:
        os.close(writes)
    assert (done.code, done.err) == (0, "")


WAITING = (
    *("train --vocab 300", "encode -m {bytes}", "encode -m {bytes} --count -o ids"),
    *("encode -m {bytes} --as bin", "decode -m {bytes}", "inspect {bytes} --use -"),
    *("inspect {bytes} --check -", "compare -m {bytes} -", "convert {bytes} --verify -"),
    *("--progress json train --vocab 300",),
)  # fmt: skip


def ended_by(number: signal.Signals, running: subprocess.Popen[bytes]) -> bytes:
    """What stderr holds. Python does not hear a signal that comes just before it begins to wait
    for input; then it is sent again."""
    for _ in range(30):
        running.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return running.communicate(timeout=20)[1]
    raise AssertionError("the signal is not heard")


@pytest.mark.few(2)
@systems.signals
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("line", WAITING)
def test_signals(line: str, number: signal.Signals, code: int, models: Models) -> None:
    given = [word.format(bytes=models["bytes"]) for word in line.split()]
    reads, writes = os.pipe()
    running = subprocess.Popen(
        command(*given),
        stdin=reads,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        os.write(writes, b"258 32\n")
        # What has read its input hears signals, and waits for more of it.
        while select.select([reads], [], [], 0)[0] and running.poll() is None:
            time.sleep(0.01)
        err = ended_by(number, running)
    finally:
        running.kill()
        os.close(reads)
        os.close(writes)
    assert running.returncode == code
    if "json" in line:
        events = [json.loads(said) for said in err.splitlines()]
        interrupted = {"event": "error", "message": "interrupted", "hint": None}
        assert (interrupted in events) == (number == signal.SIGINT)
    else:
        assert err.decode() == ("interrupted\n" if number == signal.SIGINT else "")


def test_bytes_go_through_unchanged(models: Models) -> None:
    """Ends of lines and Ctrl-Z, which streams of text on Windows would change or end at."""
    text = b"low\r\nlower\x1anewest\n\r\n\xff\r\r\n"
    ids = process("encode", "-m", models["bytes"], stdin=text)
    assert (ids.code, ids.out.count(b"\r")) == (0, 0)
    assert process("decode", "-m", models["bytes"], stdin=ids.out).out == text


WHILE_IMPORTING = """
import sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "tokctl.cli.world":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from tokctl.__main__ import main
main()
"""


def test_ctrl_c_at_the_start_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTING, "corpora", "list"],
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_an_interrupt_while_a_string_is_executed_ends_as_any_other(tmp_path: Path) -> None:
    """CPython remembers it although it is caught, and `python -m` would end by that signal."""
    program = """
import sys, threading
import tokctl.__main__, tokctl.cli.app

def run():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        sys.exit(130)

tokctl.cli.app.main = run
tokctl.__main__.main()
"""
    (tmp_path / "program.py").write_text(program)
    run = [sys.executable, "-m", "program"]
    done = subprocess.run(run, cwd=tmp_path, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.few(2)
@systems.non_blocking
@pytest.mark.parametrize(
    "line",
    (
        *("encode -m {bytes}", "encode -m {bytes} --count", "encode -m {bytes} --as bin"),
        *("decode -m {bytes}", "inspect {bytes} --use - --json", "compare -m {bytes} --json -"),
        *("train -q --vocab 300 -o a.json",),
    ),
)
def test_a_pipe_that_does_not_block_is_read_to_its_end(
    line: str, models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = command(*(word.format(bytes=models["bytes"]) for word in line.split()))
    halves = [b"258 32 258\n" * 1000, b"32 258\n" * 1000]

    def results(*, blocking: bool) -> tuple[int | None, bytes, list[bytes]]:
        reads, writes = os.pipe()
        os.set_blocking(reads, blocking)
        with subprocess.Popen(given, stdin=reads, stdout=subprocess.PIPE) as running:
            os.close(reads)
            with os.fdopen(writes, "wb", buffering=0) as pipe:
                # It waits for the first byte, for one in the middle, and for the end.
                for part in (*halves, b""):
                    time.sleep(0.4)
                    pipe.write(part)
            out = running.communicate(timeout=60)[0]
        return running.returncode, out, [path.read_bytes() for path in tmp_path.glob("a.json")]

    expected = results(blocking=True)
    assert expected[0] == 0
    assert results(blocking=False) == expected
