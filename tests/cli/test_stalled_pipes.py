"""Pipes that stall: who reads the output has stopped. The first signal is heard."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import command, names

Models = dict[str, Path]
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]

#: What is more than a pipe and a buffer hold, each by another way to stdout.
STALLED = (
    *(f"encode -m {{bytes}} --as {form} rows.jsonl" for form in ("ids", "tokens", "pieces")),
    *(f"encode -m {{bytes}} --as {form} rows.jsonl" for form in ("jsonl", "bin", "npy")),
    *(f"encode -m {{bytes}} --as {form} rows.jsonl" for form in ("parquet", "safetensors")),
    *("decode -m {bytes} ids", "encode -m {bytes} rows.jsonl.gz"),
    *("encode -m {bytes} --as parquet rows.jsonl.gz",),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stalled")
    below = random.Random(20)
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = ["".join(below.choices(letters, k=60)) for _ in range(10_000)]
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    (folder / "ids").write_text("97 98 99\n" * 100_000, encoding="utf-8")
    return folder


def stalls(running: subprocess.Popen[bytes]) -> bool:
    """Waits until the process does nothing any more: not that it has ended."""
    status = Path(f"/proc/{running.pid}/stat")
    used, same = "", 0
    while same < 8 and running.poll() is None:
        time.sleep(0.05)
        now = status.read_text().rpartition(")")[2].split()
        same = same + 1 if now[0] == "S" and now[11:13] == used else 0
        used = now[11:13]
    return running.poll() is None


@pytest.mark.few(2)
@systems.linux
@pytest.mark.parametrize("line", STALLED)
def test_nobody_reads_on(line: str, models: Models, folder: Path) -> None:
    before = names(folder)
    given = [word.format(bytes=models["bytes"]) for word in line.split()]
    for number, code in SIGNALS:
        reads, writes = os.pipe()
        running = subprocess.Popen(
            command(*given), cwd=folder, stdout=writes, stderr=subprocess.PIPE
        )
        os.close(writes)
        try:
            assert stalls(running), "the pipe holds it all"
            running.send_signal(number)
            err = running.communicate(timeout=20)[1].decode()
            said = "interrupted\n" if number == signal.SIGINT else ""
            assert (running.returncode, err) == (code, said), line
        finally:
            running.kill()
            running.communicate()
            os.close(reads)
    assert names(folder) == before


#: An error is reported while stdout still holds what came before it.
HOLDS_OUTPUT = """
import sys
from tokctl.cli import app
from tokctl.cli.world import Console

def run(arguments, world):
    world.stdout.write(b"a" * (1 << 16))
    world.stdout.flush()
    world.stdout.write(b"b" * 100)
    return 2

app.run = run
from tokctl.__main__ import main
main()
"""


@systems.linux
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_at_the_last_flush(number: signal.Signals, code: int) -> None:
    reads, writes = os.pipe()
    arguments = [*command()[:1], "-c", HOLDS_OUTPUT]
    running = subprocess.Popen(arguments, stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    try:
        assert stalls(running)
        running.send_signal(number)
        assert running.communicate(timeout=20)[1] == b""
        assert running.returncode == code
    finally:
        running.kill()
        running.communicate()
        os.close(reads)
