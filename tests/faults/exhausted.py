"""Commands that run out of memory, at one place after the other.

A process loads what it works with; then it may have so much more address space, and no more:
`python -m tests.faults.exhausted --step 1M` takes each command through all limits, from nothing to
where it ends as without one, in such steps. Every run gives the result or `error:` and `hint:` with
exit code 2, and leaves no other file.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import mmap
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.cli.run import names

ROOT = Path(__file__).parents[2]
ALGORITHMS = ("bpe", "wordpiece", "unigram", "word", "char")

#: The process: what is imported counts for nothing.
CHILD = """
import importlib, resource, sys
import tokctl._native, tokctl.cli.app, tokctl.__main__, tokctl.formats, tokctl.model.encoders
importlib.import_module("tokctl.cli." + sys.argv[2])
room = int(sys.argv.pop(1))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
if room:
    resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
tokctl.__main__.main()
"""


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: bytes
    err: str
    #: The file that it was to write.
    written: bytes | None


def limited(room: int, arguments: Sequence[str], folder: Path) -> Ended:
    """A command line that may take so many bytes more of address space; 0: as many as it wants."""
    before = names(folder)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(room), *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "1", "TOKCTL_PROGRESS": "none"},
        capture_output=True,
        check=False,
        timeout=600,
    )
    written = None
    with contextlib.suppress(FileNotFoundError):
        written = (folder / "out").read_bytes()
        (folder / "out").unlink()
    left = [name for name in names(folder) if name not in before]
    assert not left, f"{arguments} with {room} bytes leaves {left}"
    return Ended(done.returncode, done.stdout, done.stderr.decode(), written)


def check(ended: Ended, whole: Ended, what: str) -> bool:
    """Is it the result? Else it has to be an error, told as one."""
    if ended.code == 0:
        assert (ended.out, ended.written) == (whole.out, whole.written), what
        return True
    assert ended.code == 2 and ended.written is None, f"{what}: {ended.code} {ended.err[-500:]}"
    assert "error: " in ended.err and "\nhint: " in ended.err, f"{what}: {ended.err[-500:]}"
    assert "should not have happened" not in ended.err, f"{what}: {ended.err[-500:]}"
    return False


def prepare(folder: Path, size: int) -> None:
    """Texts of so many bytes, and models."""
    below = random.Random(19)
    letters = [chr(97 + below.randrange(20)) for _ in range(size)]
    (folder / "run").write_text("".join(letters), encoding="utf-8")
    (folder / "letter").write_text("a" * size, encoding="utf-8")
    words = ["".join(letters[at : at + 1 + at % 9]) for at in range(0, size, 9)]
    (folder / "words").write_text(" ".join(words)[:size], encoding="utf-8")
    (folder / "packed.gz").write_bytes(gzip.compress(bytes(size)))
    for algorithm in ALGORITHMS:
        train = ("train", "-q", "--algo", algorithm, "--vocab", "300", "-o", f"{algorithm}.json")
        (folder / "small").write_text(" ".join(words[:20_000]), encoding="utf-8")
        done = limited_to_nothing((*train, "small"), folder)
        assert done.returncode == 0, done.stderr
    encode = ("encode", "-q", "-m", "bpe.json", "-o", "ids", "run")
    assert limited_to_nothing(encode, folder).returncode == 0


def limited_to_nothing(
    arguments: Sequence[str], folder: Path
) -> subprocess.CompletedProcess[bytes]:
    """A command line without a limit."""
    command = [sys.executable, "-c", CHILD, "0", *arguments]
    environment = {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


def commands() -> Iterator[tuple[str, ...]]:
    """The command lines that are tried."""
    for text in ("run", "letter", "words"):
        for algorithm in ALGORITHMS:
            model = ("-m", f"{algorithm}.json")
            replace = ("--errors", "replace")
            yield ("encode", "-q", *model, *replace, "--whole", "-o", "out", text)
            yield ("encode", "-q", *model, *replace, "-o", "out", text)
            yield ("train", "-q", "--algo", algorithm, "--vocab", "400", "-o", "out", text)
        yield ("encode", "-q", "-m", "bpe.json", "--as", "jsonl", "--offsets", "-o", "out", text)
        yield ("encode", "-q", "-m", "bpe.json", "--threads", "2", "-o", "out", text)
        yield ("inspect", "-q", "bpe.json", "--use", text)
    yield ("encode", "-q", "-m", "bpe.json", "-o", "out", "packed.gz")
    yield ("decode", "-q", "-m", "bpe.json", "-o", "out", "ids")
    yield ("convert", "-q", "bpe.json", "--to", "huggingface", "-o", "out")
    yield ("compare", "-q", "-m", "bpe.json", "-m", "unigram.json", "words")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2_000_000, help="bytes of each text")
    parser.add_argument("--step", type=int, default=1_000_000, help="bytes between two limits")
    parser.add_argument("--only", default="", help="commands that have this in them")
    options = parser.parse_args()
    runs = errors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.size)
        for arguments in commands():
            line = " ".join(arguments)
            if options.only not in line:
                continue
            whole = limited(0, arguments, folder)
            assert whole.code == 0, f"{line}: {whole.err}"
            done, room = 0, 0
            # Several in a row: which thread comes first is different each time.
            while done < 3 and room < 1000 * options.step:
                room += options.step
                good = check(limited(room, arguments, folder), whole, f"{line}: {room:,} bytes")
                done = done + 1 if good else 0
                runs, errors = runs + 1, errors + (not good)
            print(f"{room:>14,}  {line}", flush=True)
    print(f"{runs} runs, {errors} of them errors; {mmap.PAGESIZE} bytes a page")


if __name__ == "__main__":
    main()
