"""Runs the contenders of a row: one fresh process each, taking turns, so that no caches,
threads or memory of one disturb another, and a noisy minute hits all of them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bench.job import Job, Sample
from tests.bench.peers import PACKAGES
from tests.bench.rows import Contender, Row
from tests.bench.texts import CHECKOUT, Materials

#: A job that takes longer is given up, in seconds.
TIMEOUT = 600.0

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


def measure(row: Row, materials: Materials, runs: int, progress: Progress) -> Samples:
    """Samples by contender, one per round; a contender that fails has no more rounds."""
    installed = versions()
    samples: Samples = {contender.name: [] for contender in row.contenders}
    for number in range(1, runs + 1):
        for contender in row.contenders:
            done = samples[contender.name]
            if done and done[-1].error:
                continue
            progress(f"{row.section}: {row.title}, {row.text}: {contender.name}, run {number}")
            package = PACKAGES[contender.peer]
            if installed[package] is None:
                done.append(Sample(error=f"{package} is not installed"))
            else:
                done.append(_run(row, contender, materials))
    return samples


def _run(row: Row, contender: Contender, materials: Materials) -> Sample:
    text = materials.text(row.text).path
    model = str(materials.model(row.model, row.vocab)) if row.model else ""
    ids = ""
    if row.section == "decoding":
        ids = str(materials.ids(row.model, row.vocab, row.text)[0])
    with tempfile.TemporaryDirectory(dir=materials.folder) as folder:
        job = Job(
            peer=contender.peer,
            task=contender.task,
            text=str(text),
            folder=folder,
            threads=row.threads,
            again=row.again,
            vocab=row.vocab,
            model=model,
            ids=ids,
        )
        return run_job(job)


def run_job(job: Job) -> Sample:
    """Runs a job in a process of its own."""
    asked, answer = Path(job.folder) / "job.json", Path(job.folder) / "result.json"
    asked.write_text(json.dumps(asdict(job)), encoding="utf-8")
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(job.threads),
        "TOKENIZERS_PARALLELISM": "true" if job.threads > 1 else "false",
    }
    command = [sys.executable, "-m", "tests.bench.worker", str(asked), str(answer)]
    try:
        # Some trainers write to stdout; the result goes through a file.
        finished = subprocess.run(
            command,
            cwd=CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Sample(error=f"not done after {TIMEOUT:.0f} s")
    if finished.returncode:
        said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
        return Sample(error=said[-1] if said else f"exit code {finished.returncode}")
    result = json.loads(answer.read_bytes())
    if "error" in result:
        return Sample(error=result["error"])
    tokens = result["tokens"]
    return Sample(
        first=result["first"],
        again=tuple(result["again"]),
        memory=result["memory"],
        digests=tuple(result["digests"]),
        tokens=None if tokens is None else frozenset(tokens),
    )
