"""Workers in this process, which do what those of a cluster may do; and files of every kind."""

from __future__ import annotations

import gzip
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from tests.idfiles import made
from tokctl.idfiles.output import Target, Written
from tokctl.idfiles.shared_shards import ClusterRun, Job
from tokctl.idfiles.stream import ChunkStream

#: Which `files` writes.
NAMES = ["a.txt", "empty.txt", "b.jsonl", "c.txt.gz", "d.parquet", "x.txt", "y.txt", "empty.txt"]


class Stopped(BaseException):
    """What ends the process of `Workers`."""


class Workers:
    """Several tasks are on their way at a time, end in any order, and are done twice now and then.

    Attributes:
        stop_after: so many tasks end, then the process does; None: it does not.
        done: tasks that have ended.
    """

    def __init__(self, part_size: int, seed: int = 0, stop_after: int | None = None) -> None:
        self.part_size = part_size
        self.stop_after = stop_after
        self.done = 0
        self._random = random.Random(seed)

    def write_shards(self, stream: ChunkStream, target: Target) -> Written:
        return ClusterRun(stream, target, self).write()

    def run(
        self, work: Callable[[Job, Any], Any], job: Job, tasks: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        data, rest, begun = job.pack(), iter(tasks), list[Any]()
        while True:
            while len(begun) < 5 and (task := next(rest, None)) is not None:
                begun.append(task)
            if not begun:
                return
            task = begun.pop(self._random.randrange(len(begun)))
            for _ in range(self._random.choice([1, 1, 2])):
                found = work(Job.unpack(data), task)
            if self.done == self.stop_after:
                raise Stopped
            self.done += 1
            yield task, pickle.loads(pickle.dumps(found))


def files() -> None:
    """Texts of every kind, here."""
    import pyarrow as pa
    from pyarrow import parquet

    text = made.TRAINED_ON.encode() * 6
    Path("a.txt").write_bytes(text)
    Path("empty.txt").write_bytes(b"")
    Path("x.txt").write_bytes(made.TEXTS[0])
    Path("y.txt").write_bytes(b"\n")
    lines = [orjson.dumps({"text": text.decode()}) for text in made.TEXTS * 4]
    Path("b.jsonl").write_bytes(b"\n".join(lines))
    Path("c.txt.gz").write_bytes(gzip.compress(text[:600]))
    table = pa.table({"text": [text.decode() for text in made.TEXTS * 4]})
    parquet.write_table(table, "d.parquet", row_group_size=13)
