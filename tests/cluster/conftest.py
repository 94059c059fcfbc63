"""A cluster on this machine, and texts of every form."""

from __future__ import annotations

import gzip
import json
import logging
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@pytest.fixture
def cluster(_ended: None) -> None:
    """Two workers; they stay for the next test."""
    ray = pytest.importorskip("ray")
    if not ray.is_initialized():
        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        ray.init("local", num_cpus=2, include_dashboard=False, **quiet)


@pytest.fixture(scope="session")
def _ended() -> Iterator[None]:
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Some 200 kB, of which words come back: plain, gzip, JSON Lines, Parquet, a folder."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("texts")
    seeded = random.Random(7)
    words = ["".join(seeded.choices("abcdeé語", k=seeded.randrange(1, 7))) for _ in range(900)]

    def lines(count: int) -> list[str]:
        return [" ".join(seeded.choices(words, k=seeded.randrange(12))) for _ in range(count)]

    plain, packed, records, table = (
        folder / name for name in ("a.txt", "b.txt.gz", "c.jsonl", "d.parquet")
    )
    plain.write_text("\n".join(lines(2000)), encoding="utf-8")
    packed.write_bytes(gzip.compress("\n".join(lines(500)).encode(), mtime=0))
    records.write_text(
        "".join(json.dumps({"text": line}) + "\n" for line in lines(800)), encoding="utf-8"
    )
    parquet.write_table(pa.table({"text": lines(900)}), table, row_group_size=70)
    (folder / "more").mkdir()
    for number in range(5):
        text = "" if number == 2 else "\n".join(lines(90))
        (folder / "more" / f"{number}.txt").write_text(text, encoding="utf-8")
    return [plain, packed, records, table, folder / "more"]


#: What the processes of tasks are called. Others of Ray's end this process when they are killed.
TASKS = tuple(
    f"ray::{name}".encode() for name in ("_count", "_digests", "_merge", "encode_piece", "write_gr")
)


def processes() -> dict[int, list[str]]:
    """This process and all that it has started, with the fields of `/proc/…/stat` from its state
    on."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()

    def is_own(process: int) -> bool:
        while process != os.getpid() and process in found:
            process = int(found[process][1])
        return process == os.getpid()

    return {process: fields for process, fields in found.items() if is_own(process)}


def workers() -> list[int]:
    """The processes of this process's cluster in which a task runs now."""
    found = []
    for process in processes():
        with suppress(OSError):
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            if command.startswith(TASKS):
                found.append(process)
    return found


@contextmanager
def dying(seed: int, times: int) -> Iterator[Callable[[], int]]:
    """Kills a worker at random moments, so many times; gives how many have died."""
    seeded = random.Random(seed)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < times and not over.wait(seeded.uniform(0.005, 0.2)):
            if running := workers():
                victim = seeded.choice(running)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield lambda: len(killed)
    finally:
        over.set()
        thread.join()
