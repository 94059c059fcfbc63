"""Fuzzing by coverage, with atheris: `python -m tests.fuzz [FORMAT …] --seconds 600`.

A case that is a fault is left in the working folder by libFuzzer (`crash-…`), and the same
command with `--case FILE` runs it alone. `test_readers.py` should then have it by its shape.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import random
import subprocess
import sys
import tempfile
from pathlib import Path

#: A case that takes longer, or more memory, is a fault.
SECONDS, MEGABYTES = 5, 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="readers; all without it")
    parser.add_argument("--seconds", type=int, default=600, help="for each reader")
    parser.add_argument("--case", type=Path, help="run this one case")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        from tests.fuzz.target import tried

        with tempfile.TemporaryDirectory() as folder:
            tried(asked.case.read_bytes(), Path(folder))
        return 0
    if asked.here:
        fuzz(asked.formats[0], asked.seconds)
    from tests.fuzz.seeds import READERS

    failed = []
    for name in asked.formats or READERS:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", name, "--here"]
        done = subprocess.run([*command, "--seconds", str(asked.seconds)], check=False)
        if done.returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "no fault found")
    return len(failed)


def fuzz(name: str, seconds: int) -> None:
    """Fuzzes one reader; the process ends with it."""
    import atheris

    with atheris.instrument_imports(include=["tokctl"]):
        # The readers are imported when they are needed, which would be too late.
        from tokctl import formats

        for module in pkgutil.walk_packages(formats.__path__, "tokctl.formats."):
            importlib.import_module(module.name)
        from tests.fuzz.mutations import mutated
        from tests.fuzz.seeds import seeds
        from tests.fuzz.target import tried

    corpus = Path(tempfile.mkdtemp(prefix="tokctl-fuzz-"))
    work = Path(tempfile.mkdtemp(prefix="tokctl-case-", dir=_memory()))
    for number, seed in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(seed)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if draw.random() < 0.7:
            return mutated(data, draw)[:most]
        return bytes(atheris.Mutate(data, most))

    def once(data: bytes) -> None:
        tried(data, work)

    options = [
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEGABYTES}",
        "-max_len=200000",
        "-print_final_stats=1",
        "-verbosity=0" if not os.environ.get("FUZZ_VERBOSE") else "-verbosity=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], once, custom_mutator=mutate)
    atheris.Fuzz()


def _memory() -> str | None:
    """A folder in memory, if the system has one: cases of several files are written often."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
