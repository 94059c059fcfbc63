"""Shards that the workers of a cluster write: `tokctl encode --engine ray --shard-size N`.

    import tokctl.ray
    from tokctl import Tokenizer, idfiles

    tokenizer = Tokenizer.load("m.json")
    cluster = tokctl.ray.Cluster("auto")
    idfiles.write(tokenizer, ["corpus/"], "shards", form="bin", shard_size=10**8, engine=cluster)

`tokctl.idfiles.shared_shards` says how; here its tasks are Ray's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

import ray

from tokctl.idfiles import shared_shards
from tokctl.idfiles.shared_shards import Job
from tokctl.idfiles.writer import ChunkStream, Target, Written
from tokctl.ray.tasks import RETRIES, at_home, check_portable, connected, run

Task = TypeVar("Task")
Result = TypeVar("Result")


def write_shards(
    stream: ChunkStream, target: Target, address: str | None, part_size: int
) -> Written:
    """Writes the ids of a stream as shards: byte for byte the folder of
    `tokctl.idfiles.shards.write_shards`, which all workers must find at the same path.

    Raises:
        TokctlError: as that; stdin is a source; a cluster that can't be reached; a task whose
            worker died again and again. What is whole stays, and can be resumed.
    """
    for source in stream.sources:
        check_portable(source)
    with ExitStack() as stack:
        return shared_shards.write_shards(stream, target, _Workers(address, part_size, stack))


class _Workers:
    """Those of a cluster, which is connected when there is something to do; see
    `shared_shards.Workers`."""

    def __init__(self, address: str | None, part_size: int, stack: ExitStack) -> None:
        self.part_size = part_size
        self._address = address
        self._stack = stack
        self._processors: int | None = None

    def run(
        self, work: Callable[[Job, Task], Result], job: Job, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result]]:
        if self._processors is None:
            self._processors = self._stack.enter_context(connected(self._address))
        # Once, not with each task.
        packed, home = ray.put(job.packed()), str(Path.cwd())

        def start(task: Any) -> list[Any]:
            named: Any = _work.options(name=f"{work.__name__} {task.name}")
            return [named.remote(packed, home, work, task)]

        def name(task: Any) -> str:
            return str(task.name)

        with closing(run(tasks, start, name, self._processors)) as running:
            for task, result, _ in running:
                yield task, result


@ray.remote(max_retries=RETRIES)
def _work(packed: bytes, home: str, work: Callable[[Job, Task], Result], task: Task) -> Result:
    with at_home(home):
        return work(Job.unpacked(packed), task)
