"""Whole processes, from start to exit, with their peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.tools.bench.job import Job, Outcome, Task, array_outcome, short


class Finished(NamedTuple):
    """A process that ended well: what it wrote to stdout, and its peak memory in bytes."""

    stdout: bytes
    memory: int


def run(command: Sequence[str], stdin: bytes = b"") -> Finished:
    """Runs a command with `stdin` (less than a pipe holds); RuntimeError where it fails."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(stdin)
        process.stdin.close()
        output = process.stdout.read()
        complaint = process.stderr.read()
        # `wait` would throw the process's own memory figure away.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = complaint.decode("utf-8", "replace").strip().splitlines()
        last = [line for line in said if not line.startswith("hint:")][-1:]
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(last)}")
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Finished(output, peak)


def stdout_outcome(finished: Finished) -> Outcome:
    return Outcome(short(finished.stdout), memory=finished.memory)


def script(job: Job, source: str) -> Task:
    """A peer's process: a Python script that gets the path of the model and, on stdin, the
    text."""
    text = job.read_bytes()
    command = [sys.executable, "-c", source, job.model]
    return Task(lambda: run(command, text), stdout_outcome)


def file_script(job: Job, source: str) -> Task:
    """The same with the path of the text, and of a file for the ids, 32 bits each."""
    ids = Path(job.folder) / "ids"
    command = [sys.executable, "-c", source, job.model, job.text, str(ids)]
    return Task(lambda: run(command), lambda finished: written_outcome(ids, finished.memory))


def written_outcome(path: Path, memory: int | None = None, *, width: int = 4) -> Outcome:
    """Of a file of ids as little-endian numbers, as if it had 32 bits for each."""
    import numpy

    ids = numpy.fromfile(path, dtype=f"<u{width}")
    return array_outcome(ids)._replace(memory=memory)
