"""Commands whose native module can't allocate: `allocations.c` below them.

`python -m tests.faults.allocating --step 7` takes each command through its allocations, every
seventh of them: that one fails, and in another run all from there on. Every run gives the result or
`error:` and `hint:` with exit code 2, and leaves no other file.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli.run import names
from tests.faults import exhausted
from tests.faults.calling import ready
from tests.faults.exhausted import Ended, check

#: More than there are.
ALL = 1 << 40
#: What grows before it is `out`.
HIDDEN = ".out.tokctl-0.tmp"


class Run(NamedTuple):
    """allocations: of the native module, while the command ran."""

    ended: Ended
    allocations: int


class Failing:
    """A process that has imported what commands need, and forks for each of them."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.allocating", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": str(library), "TOKCTL_PROGRESS": "none"},
            text=True,
        )

    def run(self, arguments: tuple[str, ...], number: int = -1, many: int = 0) -> Run:
        """A command line in the folder, so many of whose allocations fail from that number on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        before = names(self.folder)
        case = [arguments, str(self.folder), number, many]
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        code, err, out, allocations = json.loads(self._process.stdout.readline())
        written = None
        with contextlib.suppress(FileNotFoundError):
            written = (self.folder / "out").read_bytes()
            (self.folder / "out").unlink()
        left = [name for name in names(self.folder) if name not in before]
        if many == ALL and left == [HIDDEN]:
            # There was no memory to say that it is to be deleted. The next run for the same target
            # sweeps it, as this one does what the one before left.
            left = []
        assert not left, f"{arguments}, allocation {number} leaves {left}"
        return Run(Ended(code, out.encode("latin-1"), err, written), allocations)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@contextlib.contextmanager
def failing(folder: Path, size: int) -> Iterator[Failing]:
    """Commands in a folder with texts of so many bytes and models; OSError where that can't be."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        raise OSError("allocations fail on Linux, with a C compiler")
    library = folder / "allocations.so"
    source = Path(__file__).with_name("allocations.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    exhausted.prepare(folder, size)
    commands = Failing(library, folder)
    try:
        yield commands
    finally:
        commands.close()


def campaign(
    commands: Failing, arguments: tuple[str, ...], step: int, *, first: int = 0
) -> tuple[int, int, int]:
    """Takes a command through its allocations in such steps; how many it makes, the runs, and how
    many of them were errors."""
    whole = commands.run(arguments)
    assert whole.ended.code == 0, f"{arguments}: {whole.ended.err}"
    runs = errors = 0
    for number in range(first, whole.allocations, step):
        for many in (1, ALL):
            found = commands.run(arguments, number, many).ended
            what = f"{' '.join(arguments)}: allocation {number} of {whole.allocations}, {many}"
            if found.code and found.written == whole.ended.written:
                # The file was whole; what came behind it could not be done.
                found = found._replace(written=None)
            errors += not check(found, whole.ended, what)
            runs += 1
    return whole.allocations, runs, errors


def _serve() -> None:
    ready()
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    count = ctypes.c_long.from_buffer(shared)
    for line in sys.stdin:
        arguments, folder, number, many = json.loads(line)
        count.value = 0
        outputs = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        child = os.fork()
        if child == 0:
            _command(arguments, folder, (number, many, count), [one.fileno() for one in outputs])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        written = []
        for one in outputs:
            with one:
                one.seek(0)
                written.append(one.read())
        err = written[1].decode(errors="replace")
        print(json.dumps([code, err, written[0].decode("latin-1"), count.value]), flush=True)


def _command(
    arguments: list[str], folder: str, how: tuple[int, int, ctypes.c_long], outputs: list[int]
) -> None:
    from tokctl.__main__ import main

    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(outputs[0], 1)
    os.dup2(outputs[1], 2)
    sys.argv = ["tokctl", *arguments]
    number, many, count = how
    ctypes.CDLL(None).fail_allocations(
        ctypes.c_long(number), ctypes.c_long(many), ctypes.byref(count)
    )
    try:
        main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 70)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)
    os._exit(0)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000, help="bytes of each text")
    parser.add_argument("--step", type=int, default=1, help="allocations between two that fail")
    parser.add_argument("--only", default="", help="commands that have this in them")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return _serve()
    runs = errors = 0
    with tempfile.TemporaryDirectory() as name, failing(Path(name), asked.size) as commands:
        for arguments in exhausted.commands():
            if asked.only in (line := " ".join(arguments)):
                made, more, wrong = campaign(commands, arguments, asked.step)
                runs, errors = runs + more, errors + wrong
                print(f"{made:>9,} allocations, {more:>7,} runs  {line}", flush=True)
    print(f"{runs:,} runs, {errors:,} of them errors")
    return None


if __name__ == "__main__":
    main()
