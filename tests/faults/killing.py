"""Processes that end before they are done, and what they leave."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests import systems
from tests.cli.run import command


class Ended(NamedTuple):
    """code: 0 where the process was done before it could hear the signal."""

    code: int
    err: str

    @property
    def killed(self) -> bool:
        return self.code != 0


def stopped(
    arguments: list[str], folder: Path, seconds: float, number: int = systems.KILL
) -> Ended:
    """Runs a command line in a folder and sends the signal so many seconds after the start."""
    with subprocess.Popen(
        command(*arguments),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(number)
        _, err = process.communicate(timeout=600)
    return Ended(process.returncode, err.decode())


class Moments:
    """Moments at which to send a signal, in seconds after the start: at first within the time
    that the work was measured to take. They come sooner after each that came too late, and later
    after each other, so that both are seen however the speed of the machine changes."""

    def __init__(self, source: random.Random, seconds: float) -> None:
        self._source = source
        self._most = seconds

    def next(self) -> float:
        return self._source.uniform(0.0, self._most)

    def heard(self, in_time: bool) -> None:
        """How the last one went."""
        self._most *= 1.1 if in_time else 0.9


def timed(arguments: list[str], folder: Path) -> float:
    """Runs a command line to its end; the seconds that it took."""
    start = time.monotonic()
    subprocess.run(
        command(*arguments), cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL
    )
    return time.monotonic() - start


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, but the hidden ones, by its path there."""
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(root, name)
            if not name.startswith("."):
                key = path.relative_to(folder).as_posix()
                found[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def hidden(folder: Path) -> list[str]:
    """Files below a folder whose name begins with a dot."""
    return sorted(path.name for path in folder.rglob(".*") if path.is_file())
