"""One job in one process: `python -m tests.tools.bench.worker JOB.json RESULT.json`.

It imports next to nothing itself, so that its memory is that of the peer.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.tools.bench.job import Job, Task

#: Passes behind the first end when they have taken this long, in seconds.
ENOUGH = 3.0


def peak_memory() -> int:
    """Peak resident memory of this process, in bytes.

    `ru_maxrss` would start from the size of the process that started this one, on Linux;
    `VmHWM` is this program's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_time() -> float:
    """Seconds of this process with all its threads, and of the processes that it waited for."""
    import resource

    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def timed(task: Task) -> tuple[Any, float, float]:
    """What a pass came to, its seconds, and those of the processors."""
    used, start = cpu_time(), perf_counter()
    result = task.run()
    return result, perf_counter() - start, cpu_time() - used


def work(job: Job) -> dict[str, Any]:
    """Times the job and looks at its result."""
    task: Task = getattr(import_module(f"tests.tools.bench.peers.{job.peer}"), job.task)(job)
    result, first, used = timed(task)
    memory = peak_memory()
    outcome = task.outcome(result)
    digests = [outcome.digest]
    again: list[float] = []
    cpu = [used]
    while len(again) < job.again and sum(again) < ENOUGH:
        del result  # or two results would be in memory at a time
        result, seconds, used = timed(task)
        again.append(seconds)
        cpu.append(used)
    if again:
        last = task.outcome(result)
        digests.append(last.digest)
        outcome = outcome._replace(memory=last.memory)
    tokens = outcome.tokens
    return {
        "bits": outcome.bits,
        "first": first,
        "again": again,
        "cpu": cpu,
        "memory": memory if outcome.memory is None else outcome.memory,
        "digests": digests,
        "tokens": None if tokens is None else [token.hex() for token in tokens],
    }


def main() -> None:
    asked, answer = (Path(argument) for argument in sys.argv[1:])
    job = Job(**json.loads(asked.read_text(encoding="utf-8")))
    try:
        result = work(job)
    except Exception as error:  # the report says why there is no figure
        result = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    answer.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
