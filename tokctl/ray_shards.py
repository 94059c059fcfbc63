"""Shards that the workers of a cluster of Ray write: `tokctl encode --engine ray --shard-size N`.

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
from tokctl.ray import _AHEAD, _RETRIES, Cluster, _at_home, _check_portable, _connected, _run

Task = TypeVar("Task")
Result = TypeVar("Result")


def write_shards(stream: ChunkStream, target: Target, cluster: Cluster) -> Written:
    """Writes the ids of a stream as shards: byte for byte the folder of
    `tokctl.idfiles.shards.write_shards`, which all workers must find at the same path.

    Raises:
        TokctlError: as that; stdin is a source; a cluster that can't be reached; a task whose
            worker died again and again. What is whole stays, and can be resumed.
    """
    for source in stream.sources:
        _check_portable(source)
    with ExitStack() as stack:
        return shared_shards.write_shards(stream, target, _Workers(cluster, stack))


class _Workers:
    """Those of a cluster, which is connected when there is something to do; see
    `shared_shards.Workers`."""

    def __init__(self, cluster: Cluster, stack: ExitStack) -> None:
        self.part_size = cluster.part_size
        self._address = cluster.address
        self._stack = stack
        self._is_connected = False

    def run(
        self, work: Callable[[Job, Task], Result], job: Job, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result]]:
        if not self._is_connected:
            self._stack.enter_context(_connected(self._address))
            self._is_connected = True
        processors = int(ray.cluster_resources().get("CPU", 1))
        # Once, not with each task.
        packed, home = ray.put(job.packed()), str(Path.cwd())

        def start(numbered: tuple[int, Any]) -> list[Any]:
            task = numbered[1]
            named: Any = _work.options(name=f"{work.__name__} {task.name}")
            return [named.remote(packed, home, work, task)]

        running: Any = _run(enumerate(tasks), start, _AHEAD * processors)  # type: ignore[arg-type]
        with closing(running):
            for task, result, _ in running:
                yield task, result


@ray.remote(max_retries=_RETRIES)
def _work(packed: bytes, home: str, work: Callable[[Job, Task], Result], task: Task) -> Result:
    with _at_home(home):
        return work(Job.unpacked(packed), task)
