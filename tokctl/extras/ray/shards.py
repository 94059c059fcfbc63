"""Shards that the workers of a cluster write: `tokctl encode --engine ray --shard-size N`.

    import tokctl.extras.ray
    from tokctl import Tokenizer, idfiles

    tokenizer = Tokenizer.load("m.json")
    cluster = tokctl.extras.ray.Cluster("auto")
    idfiles.write(tokenizer, ["corpus/"], "shards", form="bin", shard_size=10**8, engine=cluster)

`tokctl.idfiles.shared_shards` describes the method; this module runs its tasks on Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from typing import Any, TypeVar

import ray

from tokctl.extras.ray.tasks import (
    RETRIES,
    DriverHost,
    OnEvent,
    TaskResult,
    at_home,
    at_nodes,
    check_portable,
    connected,
    home,
    run,
    tried,
)
from tokctl.idfiles.output import Target, Written
from tokctl.idfiles.shared_shards import ClusterRun, Failure, Job, sweep
from tokctl.idfiles.stream import ChunkStream

Task = TypeVar("Task")
Result = TypeVar("Result")


def write_shards(
    stream: ChunkStream,
    target: Target,
    address: str | None,
    part_size: int,
    tell: OnEvent | None = None,
) -> Written:
    """Write the ids of a stream as shards.

    The folder has the same bytes as with `tokctl.idfiles.shards.ShardRun`. All workers must
    find it at the same path or address.

    Args:
        stream: the sources and their encoder.
        target: the folder, the form and the size of a shard.
        address: address of the cluster; see `Cluster`.
        part_size: approximate number of bytes of text in a task.
        tell: called with a line for each task that was repeated because its worker was lost.

    Raises:
        TokctlError: as `tokctl.idfiles.shards.ShardRun`; or stdin is a source, the cluster
            can't be reached, or the worker of a task died repeatedly. Complete files stay, and the
            run can be resumed.
    """
    for source in stream.sources:
        check_portable(source)
    with ExitStack() as stack:
        # Runs after the workers have ended, if they end with this call.
        stack.callback(sweep, target)
        return ClusterRun(stream, target, _Workers(address, part_size, stack, tell)).write()


class _Workers:
    """Workers of a cluster, connected when the first task runs; see `shared_shards.Workers`."""

    def __init__(
        self, address: str | None, part_size: int, stack: ExitStack, tell: OnEvent | None
    ) -> None:
        self.part_size = part_size
        self._address = address
        self._stack = stack
        self._tell = tell
        self._processors: int | None = None

    def run(
        self, work: Callable[[Job, Task], Result], job: Job, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result]]:
        if self._processors is None:
            self._processors = self._stack.enter_context(connected(self._address))
        # Sent once, not with each task.
        packed, here = ray.put(job.pack()), home()

        def start(task: Any) -> list[Any]:
            named: Any = _work.options(name=f"{work.__name__} {task.name}")
            return [named.remote(packed, here, work, task)]

        def name(task: Any) -> str:
            return str(task.name)

        with closing(run(tasks, start, name, self._processors, self._tell)) as running:
            for task, result, _ in running:
                if isinstance(result, Failure):
                    result = result._replace(error=at_nodes(result.error))
                yield task, result


@ray.remote(max_retries=RETRIES)
def _work(
    packed: bytes, of: DriverHost, work: Callable[[Job, Task], Result], task: Task
) -> TaskResult:
    with at_home(of):
        return tried(work(Job.unpack(packed), task))
