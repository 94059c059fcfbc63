"""Runs the contenders of a row: one fresh process each, taking turns, so that no caches,
threads or memory of one disturb another, and a noisy minute hits all of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from tests.tools.bench.job import Job, Sample
from tests.tools.bench.peers import PACKAGES
from tests.tools.bench.rows import Contender, Row
from tests.tools.bench.texts import CHECKOUT, Materials

#: A contender whose process takes longer has one round, in seconds.
SLOW = 12.0
#: The same where the run is behind its time: one round of what is quick says little.
QUICK = 2.5

#: Characters of an error in the tables.
LONGEST = 140
_PATH = re.compile(r"(?<![\w./:])(?:/[\w.@+~-]+)+/[\w.@+~-]+")

#: What tokctl imports at run time.
NEEDED = ("orjson", "regex", "rich", "tqdm", "typer")

Samples = dict[str, list[Sample]]
#: Told what is about to run.
Progress = Callable[[str], None]


def versions() -> dict[str, str | None]:
    """The version of each package, None where it is not installed."""
    found: dict[str, str | None] = {}
    for package in PACKAGES.values():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def fingerprint() -> str:
    """A digest of the tokctl that is measured: its Python files and its native module, and
    the versions of the packages that it needs (Typer alone can change how fast it starts)."""
    package = CHECKOUT / "tokctl"
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.glob("_native.*")]):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for name in NEEDED:
        digest.update(f"{name} {version(name)}\n".encode())
    return digest.hexdigest()[:16]


def measure(
    row: Row,
    materials: Materials,
    runs: int,
    progress: Progress,
    more: Callable[[], bool] = lambda: True,
) -> Samples:
    """Samples by contender, one per round. A contender that fails or is slow has no more
    rounds, nor has one that isn't quick when `more` says that the time is up."""
    installed = versions()
    samples: Samples = {contender.name: [] for contender in row.contenders}
    took: dict[str, float] = {}
    for _ in range(min(runs, row.rounds) * (row.times if runs > 1 else 1)):
        for contender in row.contenders:
            done = samples[contender.name]
            number, most = len(done) + 1, SLOW if more() else QUICK
            if number > contender.rounds or (
                done and (done[-1].error or took[contender.name] > most)
            ):
                continue
            progress(f"{row.section}: {row.title}, {row.text}: {contender.name}, run {number}")
            package = PACKAGES[contender.peer]
            if installed[package] is None:
                done.append(Sample(error=f"{package} is not installed"))
                continue
            started = perf_counter()
            done.append(_run(row, contender, materials, score=row.score and number == 1))
            took[contender.name] = perf_counter() - started
    return samples


def _run(row: Row, contender: Contender, materials: Materials, *, score: bool) -> Sample:
    try:
        text = materials.text(row.text).path
        model, ids = "", ""
        if row.model:
            model = str(materials.model_for(contender.peer, row.model, row.vocab))
        if row.section == "decoding":
            ids = str(materials.ids(row.model, row.vocab, row.text)[0])
    except Exception as error:  # one model that can't be made must not end the others
        return Sample(error=presentable(f"no material: {type(error).__name__}: {error}"))
    with tempfile.TemporaryDirectory(dir=materials.folder) as folder:
        job = Job(
            peer=contender.peer,
            task=contender.task,
            text=str(text),
            folder=folder,
            threads=contender.threads or row.threads,
            again=row.again,
            vocab=row.vocab,
            model=model,
            ids=ids,
            score=score,
        )
        return run_job(job, row.timeout)


def run_job(job: Job, timeout: float = 150.0) -> Sample:
    """Runs a job in a process of its own."""
    asked, answer = Path(job.folder) / "job.json", Path(job.folder) / "result.json"
    asked.write_text(json.dumps(asdict(job)), encoding="utf-8")
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(job.threads),
        "TOKENIZERS_PARALLELISM": "true" if job.threads > 1 else "false",
        # A library that pip has installed is compiled; so is a checkout from its first run on.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-m", "tests.tools.bench.worker", str(asked), str(answer)]
    try:
        # Some trainers write to stdout; the result goes through a file.
        finished = subprocess.run(
            command,
            cwd=CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Sample(error=f"not done after {timeout:.0f} s")
    if finished.returncode:
        said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
        return Sample(error=presentable(said[-1]) if said else _ended(finished.returncode))
    result = json.loads(answer.read_bytes())
    if "error" in result:
        return Sample(error=presentable(result["error"]))
    tokens = result["tokens"]
    return Sample(
        first=result["first"],
        again=tuple(result["again"]),
        cpu=tuple(result["cpu"]),
        memory=result["memory"],
        digests=tuple(result["digests"]),
        bits=result["bits"],
        tokens=None if tokens is None else frozenset(tokens),
    )


def presentable(error: str) -> str:
    """The first line of an error, not too long, and of each path of this machine the name."""
    first = _PATH.sub(lambda found: found[0].rsplit("/", 1)[1], error.splitlines()[0])
    return first if len(first) <= LONGEST else f"{first[:LONGEST]}…"


def _ended(code: int) -> str:
    """How a process that said nothing ended: a crash of a native library is a signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
