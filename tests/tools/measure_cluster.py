"""A cluster on this machine beside one process, on 1 GB of mixed texts.

    python -m tests.tools.measure_cluster STEP… FOLDER [FILE…]

The folder is filled first, with 200 files cut from FILE… (half of them plain; gzip, JSON Lines,
Parquet). Each step prints a table:

    same      seconds of one process and of two workers; their files must be equal
    nodes     the same on three nodes with objects of their own (`RAY_ADDRESS`: on that cluster)
    order     ten runs: parts and partitions at random, workers that stop for a while
    kill      50 runs: a worker is killed at a random moment
    node      five runs: one of three nodes is killed
    workers   processor time with 1, 2, 4 and 8 workers, and with one process; the picture of it is
              docs/cluster.svg

A model or shards that differ end the run with exit code 1.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.cluster_utils import Cluster as Nodes

from tests.cluster.conftest import processes, workers
from tests.tools.docs.tutorial import ROOT
from tokctl import Tokenizer, idfiles
from tokctl.extras.ray import Cluster
from tokctl.model.presets import default_recipe
from tokctl.sources import open_sources
from tokctl.training import TrainOptions, counting

FILES = 200
FILE_SIZE = 5_000_000
VOCABULARY = 32_000
SHARD = 25_000_000
PICTURE = ROOT / "docs" / "cluster.svg"
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}

Row = Sequence[str]


# -- The texts -----------------------------------------------------------------------------------


def fill(folder: Path, paths: Sequence[str]) -> None:
    """200 files of about 5 MB each of text, at random places of the given ones."""
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(Path(path).read_bytes() for path in paths)
    source = random.Random(5)
    for number in range(FILES):
        start = data.find(b"\n", source.randrange(len(data) - FILE_SIZE)) + 1
        text = data[start : data.rfind(b"\n", start, start + FILE_SIZE) + 1]
        path = folder / f"{number:03}"
        kind = number % 10
        if kind < 5:
            path.with_suffix(".txt").write_bytes(text)
        elif kind < 7:
            path.with_suffix(".txt.gz").write_bytes(gzip.compress(text, 1, mtime=0))
        else:
            documents = text.decode("utf-8", "replace").split("\n\n")
            if kind == 7:
                lines = (json.dumps({"text": each}) + "\n" for each in documents)
                path.with_suffix(".jsonl").write_text("".join(lines))
            else:
                table = pa.table({"text": documents})
                pq.write_table(table, path.with_suffix(".parquet"), row_group_size=2000)


# -- The work ------------------------------------------------------------------------------------


def train(algorithm: str, texts: Path, engine: Cluster | None = None) -> str:
    """Trains on the texts; the digest of the model's file."""
    how: dict[str, Any] = {"engine": engine} if engine else {"threads": 2}
    made = Tokenizer.train([texts], algorithm=algorithm, vocab_size=VOCABULARY, **how)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        made.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def encode(tokenizer: Tokenizer, texts: Path, engine: Cluster | None = None) -> str:
    """Writes the texts as shards; the digest of the folder."""
    how: dict[str, Any] = {"engine": engine} if engine else {"threads": 2}
    with tempfile.TemporaryDirectory(dir=texts.parent) as parent:
        folder = Path(parent) / "shards"
        idfiles.write(tokenizer, [texts], folder, form="bin", shard_size=SHARD, **how)
        digest = hashlib.sha256()
        for path in sorted(folder.iterdir()):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:16]


def jobs(texts: Path) -> dict[str, Callable[[Cluster | None], str]]:
    """What is done, on one machine (None) or on a cluster; each gives a digest."""
    few = sorted(texts.glob("*.txt"))[:4]
    tokenizer = Tokenizer.train(few, vocab_size=VOCABULARY)
    found: dict[str, Callable[[Cluster | None], str]] = {
        f"train {name}": lambda engine, name=name: train(name, texts, engine)  # type: ignore[misc]
        for name in ("bpe", "wordpiece", "unigram")
    }
    return {**found, "encode": lambda engine: encode(tokenizer, texts, engine)}


def same(what: str, found: str, expected: str) -> None:
    if found != expected:
        sys.exit(f"{what}: {found}, and one machine gives {expected}")


# -- Clusters ------------------------------------------------------------------------------------


@contextlib.contextmanager
def local(processors: int = 2) -> Iterator[Cluster]:
    """Workers on this machine."""
    ray.init("local", num_cpus=processors, include_dashboard=False, **_QUIET)
    try:
        yield Cluster()
    finally:
        ray.shutdown()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def nodes(others: int) -> Iterator[Nodes]:
    """A head and others, of a worker each: processes and objects of their own."""
    found: Any = Nodes(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        for _ in range(others):
            found.add_node(num_cpus=1)
        ray.init(found.address, **_QUIET)
        yield found
    finally:
        ray.shutdown()  # type: ignore[no-untyped-call]
        found.shutdown()


@contextlib.contextmanager
def disturbed(source: random.Random, within: float, disturb: Callable[[], bool]) -> Iterator[None]:
    """Disturbs the work once, at a random moment in so many seconds, or after."""
    over = threading.Event()

    def wait() -> None:
        over.wait(source.uniform(0.1, within))
        while not over.is_set() and not disturb():
            over.wait(0.01)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def stopping(source: random.Random) -> Iterator[Callable[[], int]]:
    """Stops a worker at random moments for a while; gives how often that was."""
    over = threading.Event()
    times = 0

    def stop() -> None:
        nonlocal times
        while not over.wait(source.uniform(0.05, 0.3)):
            if found := workers():
                victim = source.choice(found)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGSTOP)
                    over.wait(source.uniform(0.05, 0.5))
                    os.kill(victim, signal.SIGCONT)
                    times += 1

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield lambda: times
    finally:
        over.set()
        thread.join()


# -- The steps -----------------------------------------------------------------------------------


def step_same(texts: Path) -> Iterator[Row]:
    yield "work", "digest", "one process, two threads", "two workers", "ratio"
    with local() as cluster:
        for name, job in jobs(texts).items():
            job(cluster)  # Workers import tokctl; the texts are in memory.
            alone, shared = [], []
            for _ in range(3):
                seconds, digest = timed(lambda job=job: job(None))  # type: ignore[misc]
                alone.append(seconds)
                seconds, other = timed(lambda job=job: job(cluster))  # type: ignore[misc]
                shared.append(seconds)
                same(name, other, digest)
            ratio = sorted(shared)[1] / sorted(alone)[1]
            yield name, digest, spread(alone), spread(shared), f"{ratio:.2f}"


def step_nodes(texts: Path) -> Iterator[Row]:
    yield "work", "digest of three nodes and of one process"
    with contextlib.nullcontext() if "RAY_ADDRESS" in os.environ else nodes(2):
        for name, job in jobs(texts).items():
            digest = job(None)
            same(name, job(Cluster()), digest)
            yield name, digest


def step_order(texts: Path) -> Iterator[Row]:
    yield "run", "work", "bytes of a part", "partitions", "pauses of a worker", "digest"
    source = random.Random(1)
    todo = jobs(texts)
    alone = {name: job(None) for name, job in todo.items()}
    for run in range(10):
        cluster = Cluster(
            part_size=source.randrange(4 << 20, 96 << 20), partitions=source.randrange(1, 9)
        )
        name = list(todo)[run % len(todo)]
        with local(source.randrange(2, 6)), stopping(source) as stopped:
            digest = todo[name](cluster)
        same(name, digest, alone[name])
        facts = f"{cluster.part_size:,}", str(cluster.partitions), str(stopped())
        yield str(run), name, *facts, digest


def step_kill(texts: Path) -> Iterator[Row]:
    yield "work", "runs", "workers killed", "digest"
    source = random.Random(2)
    todo = jobs(texts)
    killed = 0

    def kill() -> bool:
        nonlocal killed
        for victim in source.sample(found := workers(), len(found)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                killed += 1
                return True
        return False

    with local() as cluster:
        for name, runs in (("train bpe", 30), ("encode", 20)):
            within, digest = timed(lambda name=name: todo[name](cluster))  # type: ignore[misc]
            same(name, digest, todo[name](None))
            killed = 0
            count = 0
            while killed < runs:
                count += 1
                with disturbed(source, within * 0.8, kill):
                    within, found = timed(lambda name=name: todo[name](cluster))  # type: ignore[misc]
                    same(name, found, digest)
            yield name, str(count), str(killed), digest


def step_node(texts: Path) -> Iterator[Row]:
    yield "run", "work", "nodes killed", "digest"
    source = random.Random(3)
    todo = jobs(texts)
    for run in range(5):
        name = ("train bpe", "encode")[run % 2]
        digest = todo[name](None)
        dead: list[Any] = []
        with nodes(2) as running:

            def kill(running: Nodes = running, dead: list[Any] = dead) -> bool:
                dead.append(source.choice(sorted(running.worker_nodes, key=id)))
                running.remove_node(dead[0], allow_graceful=False)
                return True

            with disturbed(source, 4, kill):
                same(name, todo[name](Cluster(part_size=16 << 20)), digest)
        yield str(run), name, str(len(dead)), digest


def step_workers(texts: Path) -> Iterator[Row]:
    yield "workers", "count", "encode"
    recipe, options = default_recipe("bpe"), TrainOptions(vocab_size=VOCABULARY)
    few = sorted(texts.glob("*.txt"))[:4]
    tokenizer = Tokenizer.train(few, vocab_size=VOCABULARY)

    def count(engine: Cluster | None) -> None:
        (engine or counting).count(open_sources([texts]), recipe, options)

    def both(engine: Cluster | None) -> Iterator[str]:
        for work in (count, lambda engine: encode(tokenizer, texts, engine)):
            work(engine)
            before = processor_time()
            work(engine)
            yield f"{processor_time() - before:.1f} s"

    yield "one process", *both(None)
    for processors in (1, 2, 4, 8):
        with local(processors) as cluster:
            yield str(processors), *both(cluster)


def draw(rows: Sequence[Row], path: Path) -> None:
    """The table of `workers` as a picture; middle tones, legible on light and on dark."""
    import altair as alt

    (_, *works), *measured = rows
    values = [
        {"workers": workers, "work": work, "seconds": float(cell.removesuffix(" s"))}
        for workers, *cells in measured
        for work, cell in zip(works, cells, strict=True)
    ]
    axis = alt.Axis(labelAngle=0, title="workers of Ray, on two processors")
    colors = alt.Scale(range=["#2f81f7", "#d9722b"])
    chart = alt.Chart(alt.Data(values=values), width=420, height=180).mark_bar()
    chart = chart.encode(
        alt.X("workers:N", sort=None, axis=axis),
        alt.Y("seconds:Q", title="seconds of processor time"),
        alt.Color("work:N", title=None, scale=colors, sort=None),
        xOffset=alt.XOffset("work:N", sort=None),
    )
    gray = {"labelColor": "#808890", "titleColor": "#808890"}
    chart = chart.configure(background="#00000000").configure_axis(**gray, gridColor="#80889044")
    chart.configure_view(stroke=None).configure_legend(**gray).save(path)


def processor_time() -> float:
    """Seconds of this process and of all that it started, Ray's own included."""
    ticks = sum(sum(map(int, fields[11:15])) for fields in processes().values())
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], str]) -> tuple[float, str]:
    start = time.perf_counter()
    given = work()
    return time.perf_counter() - start, given


def spread(seconds: Sequence[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} s"


STEPS = {
    name.removeprefix("step_"): step
    for name, step in list(globals().items())
    if name.startswith("step_")
}


def main(arguments: Sequence[str]) -> None:
    steps = [argument for argument in arguments if argument in STEPS]
    folder, *files = [argument for argument in arguments if argument not in STEPS]
    texts = Path(folder).absolute()
    if files:
        shutil.rmtree(texts, ignore_errors=True)
        fill(texts, files)
    for step in steps:
        rows = []
        for row in STEPS[step](texts):
            print("|", " | ".join(row), "|", flush=True)
            if not rows:
                print("|", " | ".join("---" for _ in row), "|", flush=True)
            rows.append(row)
        print()
        if step == "workers":
            draw(rows, PICTURE)


if __name__ == "__main__":
    main(sys.argv[1:])
