"""Fuzzing by coverage, with atheris: `python -m tests.tools.fuzz [TARGET …] --seconds 600`.

What was found stays in the working folder: `corpus/TARGET` goes on growing with the next run, and
`faults` has a case of each kind of fault, with what it raised. A case runs alone with `--case`.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, NoReturn

from tests.tools.fuzz import native

#: A case that takes more CPU time, or so much more memory than any before, is a fault.
SECONDS, MEGABYTES = 5, 300
#: Where it would end the process: libFuzzer's own limits.
HANGS, RESIDENT = 60, 3000
#: Bytes of a case.
LONGEST = 100_000
#: Bytes of all cases of a target that are committed, packed; and of one of them.
KEPT, KEPT_CASE = 6_000, 10_000


class Found(NamedTuple):
    """What a run of one target came to."""

    executions: int = 0
    covered: int = 0
    counters: int = 0
    cases: int = 0
    seconds: float = 0.0
    faults: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all without it")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--work", type=Path, default=Path("fuzz-work"), help="what is found")
    parser.add_argument("--case", type=Path, help="run this one case of one target")
    parser.add_argument("--keep", action="store_true", help="write tests/tools/fuzz/corpus anew")
    parser.add_argument("--module", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.module:
        native.use(asked.module)
        fuzz(asked.targets[0], asked.seconds, asked.work, asked.measure)
    if asked.case:
        from tests.tools.fuzz.targets import TARGETS

        with tempfile.TemporaryDirectory() as folder:
            TARGETS[asked.targets[0]](asked.case.read_bytes(), Path(folder))
        return 0
    module = native.build()
    names = asked.targets or targets()
    if asked.keep:
        for name in names:
            keep(name, module, asked.work)
        return 0
    print(f"{'target':<20} {'executions':>11} {'a second':>9} {'cases':>6} {'coverage':>16} faults")
    total = Found()
    for name in names:
        found = run(name, module, asked.seconds, asked.work)
        print(row(name, found), flush=True)
        total = Found(
            total.executions + found.executions,
            max(total.covered, found.covered),
            max(total.counters, found.counters),
            total.cases + found.cases,
            total.seconds + found.seconds,
            total.faults + found.faults,
        )
    print(row("all", total), f" in {total.seconds / 3600:.2f} hours")
    return 1 if total.faults else 0


def targets() -> list[str]:
    """All names, in their order; asked of a process of its own, which may import tokctl."""
    code = "from tests.tools.fuzz.targets import TARGETS; print(*TARGETS)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def row(name: str, found: Found) -> str:
    pace = found.executions / max(found.seconds, 1)
    share = f"{found.covered:,} {found.covered / max(found.counters, 1):6.1%}"
    return (
        f"{name:<20} {found.executions:>11,} {pace:>9,.0f} {found.cases:>6,} {share:>16} "
        f"{found.faults:>6}"
    )


def run(name: str, module: Path, seconds: int, work: Path) -> Found:
    """Fuzzes one target for some time, in processes that are replaced where one ends early."""
    begun = time.monotonic()
    found = Found()
    while (left := seconds - (time.monotonic() - begun)) > 1:
        done, said = started(name, module, work, "--seconds", str(int(left)))
        found = read_statistics(said, found)
        if done == 0:
            break
        if "INITED" not in said:  # it would end at once again
            raise SystemExit(said[-5000:])
    return found._replace(
        seconds=time.monotonic() - begun,
        cases=len(list((work / "corpus" / name).iterdir())),
        faults=len([path for path in (work / "faults" / name).iterdir() if path.suffix != ".txt"]),
    )


def started(name: str, module: Path, work: Path, *more: str) -> tuple[int, str]:
    """Runs this program as the process that fuzzes; its exit code, and what libFuzzer said."""
    command = [sys.executable, "-m", "tests.tools.fuzz", name, "--module", str(module)]
    done = subprocess.run(
        [*command, "--work", str(work), *more],
        env={**os.environ, "LD_PRELOAD": str(native.runtime()), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stderr + done.stdout


def read_statistics(said: str, before: Found) -> Found:
    """What libFuzzer says of itself, added to what it said before."""
    lines = re.findall(r"^#(\d+)\s+.*?cov: (\d+)", said, re.MULTILINE)
    counters = sum(map(int, re.findall(r"\((\d+) inline 8-bit counters\)", said)))
    total = re.findall(r"number_of_executed_units: (\d+)", said)
    executed = int(total[-1] if total else lines[-1][0] if lines else 0)
    covered = max((int(covered) for _, covered in lines), default=0)
    return before._replace(
        executions=before.executions + executed,
        covered=max(before.covered, covered),
        counters=max(before.counters, counters),
    )


def fuzz(name: str, seconds: int, work: Path, measure: Path | None) -> NoReturn:
    """Fuzzes one target, or finds what each case reaches; the process ends with it."""
    import resource

    import atheris

    with atheris.instrument_imports(include=["tokctl"]):
        import_everything()
        from tests.tools.fuzz.mutations import mutated
        from tests.tools.fuzz.targets import TARGETS
    from tests.tools.fuzz.corpus import cases
    from tests.tools.fuzz.seeds import seeds

    corpus, faults = work / "corpus" / name, work / "faults" / name
    for made in (corpus, faults):
        made.mkdir(parents=True, exist_ok=True)
    for case in (*seeds(name), *cases(name)):
        (corpus / sha256(case).hexdigest()[:16]).write_bytes(case)
    folder = Path(tempfile.mkdtemp(prefix="tokctl-case-", dir=_memory()))
    structured = name != "twins"

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if draw.random() < 0.7:
            return mutated(data, draw)[:most]
        return bytes(atheris.Mutate(data, most))

    def once(data: bytes) -> None:
        begun, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            TARGETS[name](data, folder)
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            if type(error).__name__ not in ("StopTest", "UnsatisfiedAssumption", "Skipped"):
                note(faults / kind(error), data, traceback.format_exc())
        took = time.process_time() - begun
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) >> 10
        if took > SECONDS:
            note(faults / "slow", data, f"{took:.1f} s of CPU time")
        if grown > MEGABYTES:
            note(faults / "memory", data, f"{grown} MB")

    options = [
        f"-max_total_time={seconds}",
        f"-timeout={HANGS}",
        f"-rss_limit_mb={RESIDENT}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={faults}/",
        "-print_final_stats=1",
        "-len_control=0",
        f"-report_slow_units={HANGS}",
    ]
    if measure is not None:
        options = ["-merge_inner=1", f"-merge_control_file={measure}"]
    custom = {"custom_mutator": mutate} if structured else {}
    atheris.Setup([sys.argv[0], *options, str(corpus)], once, **custom)
    atheris.Fuzz()
    sys.exit(0)


def import_everything() -> None:
    """All of tokctl, so that the coverage of what is imported late is seen, too."""
    import importlib
    import pkgutil

    import tokctl

    for module in pkgutil.walk_packages(tokctl.__path__, "tokctl."):
        if not module.name.endswith(("__main__", "_native")) and ".watch" not in module.name:
            importlib.import_module(module.name)


def kind(error: BaseException) -> str:
    """What is one fault, however often it is met: the error, and the place in tokctl."""
    frames = traceback.extract_tb(error.__traceback__)
    root = str(native.NATIVE.parent)
    own = [frame for frame in frames if frame.filename.startswith(root)] or list(frames)
    place = f"{Path(own[-1].filename).stem}.{own[-1].name}.{own[-1].lineno}" if own else ""
    said = re.sub(r"\W+", "-", str(error))[:40] if "Panic" in type(error).__name__ else ""
    return f"{type(error).__name__}-{place}{said}"


def note(path: Path, data: bytes, said: str) -> None:
    """Keeps the smallest case of a kind of fault, and what it raised."""
    if not path.exists() or path.stat().st_size > len(data):
        path.write_bytes(data)
        path.with_name(f"{path.name}.txt").write_text(said, encoding="utf-8", errors="replace")


def keep(name: str, module: Path, work: Path) -> None:
    """Writes the cases that are committed: small ones that reach most of what all reach."""
    from tests.tools.fuzz.corpus import packed_size, write

    paths = sorted((work / "corpus" / name).iterdir())
    cases = [path for path in paths if path.stat().st_size <= KEPT_CASE]
    reached = features(name, module, work, cases)
    kept: list[bytes] = []
    seen: set[str] = set()

    def worth(path: Path) -> float:
        """What is new of a case, by what it takes."""
        return len(reached[path] - seen) / (60 + path.stat().st_size)

    # What is new only gets less: a case whose old worth is less than another's is worth less.
    queue = [(-worth(path), path) for path in reached]
    heapq.heapify(queue)
    while queue:
        _, path = heapq.heappop(queue)
        now = worth(path)
        if queue and now < -queue[0][0]:
            heapq.heappush(queue, (-now, path))
            continue
        if not now or packed_size([*kept, path.read_bytes()]) > KEPT:
            break
        if not is_fault(name, path.read_bytes()):
            kept.append(path.read_bytes())
            seen |= reached[path]
    write(name, kept)
    every = seen.union(*reached.values())
    print(
        f"{name:<20} {len(kept):>4} cases reach {len(seen) / max(1, len(every)):.0%} of what all do"
    )


def is_fault(name: str, case: bytes) -> bool:
    """Would the tests that replay cases fail with it?"""
    from tests.tools.fuzz.targets import TARGETS

    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        try:
            TARGETS[name](case, Path(folder))
        except Exception:
            return True
    return False


def features(name: str, module: Path, work: Path, cases: list[Path]) -> dict[Path, set[str]]:
    """What each case reaches, in libFuzzer's numbers: what it writes in order to merge folders."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        control.write_text("\n".join([str(len(cases)), "0", *map(str, cases), ""]), "utf-8")
        started(name, module, work, "--measure", str(control))
        said = control.read_text("utf-8").splitlines()
    rows = (line.split() for line in said if line.startswith("FT "))
    return {cases[int(row[1])]: set(row[2:]) for row in rows}


def _memory() -> str | None:
    """A folder in memory, if the system has one: cases of several files are written often."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
