"""Commands that get a signal at one place after the other.

A place is where a Python function of tokctl begins or ends. Those that Rust calls, finalizers among
them, are found by running the command: a native function is at work then, and nothing else.
`python -m tests.faults.signalled` sends each signal at each place of each command, at its first and
its last time; `--called rust` at those alone. Every run ends with the signal's exit code, or had
already written its result; it leaves no other file and says nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests import systems
from tests.cli.run import names

ROOT = Path(__file__).parents[2]

#: How a command ends by each signal. A terminal that is closed ends it as the system does.
SIGNALS = {number: 128 + number for number in systems.ENDING}
if HANG_UP := getattr(signal, "SIGHUP", None):
    SIGNALS[HANG_UP] = -HANG_UP

#: The process: it counts the places, or sends itself a signal at the n-th time that it is at one.
CHILD = """
import json, os, sys
import tokctl._native, tokctl.cli.app, tokctl.cli.train, tokctl.cli.encode
from tokctl import __main__

found, name, event, time, number = json.loads(sys.argv.pop(1))
called, seen = [], {}

def profile(frame, what, function):
    if what == "c_call":
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", None) or type(owner).__module__
        called.append("_native" in str(module))
    elif what in ("c_return", "c_exception"):
        if called:
            called.pop()
    elif "/tokctl/" in frame.f_code.co_filename and frame.f_code.co_name != "_end":
        of_rust = bool(called) and called[-1]
        if what == "call":
            begun[frame] = of_rust
        else:
            of_rust = begun.pop(frame, False)
        code = frame.f_code
        place = (getattr(code, "co_qualname", code.co_name), what)
        times, rust = seen.get(place, (0, False))
        seen[place] = (times + 1, rust or of_rust)
        if place == (name, event) and times == time:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

begun = {}
end = __main__._end
def ended(code):
    sys.setprofile(None)
    if found:
        with open(found, "w") as file:
            json.dump([[*place, *times] for place, times in seen.items()], file)
    end(code)

__main__._end = ended
handle = tokctl.cli.app.run
def run(*given):
    sys.setprofile(profile)
    return handle(*given)
tokctl.cli.app.run = run
__main__.main()
"""


class Place(NamedTuple):
    """A function of tokctl's, and whether it begins (`call`) or ends (`return`)."""

    name: str
    event: str
    #: How often the command is there.
    times: int
    #: Does Rust call it?
    of_rust: bool


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: bytes
    err: str
    #: The file that it was to write.
    written: bytes | None
    #: Other files.
    left: list[str]


def _run(arguments: Sequence[str], folder: Path, how: Sequence[object]) -> Ended:
    before = names(folder)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(how), *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        check=False,
        timeout=120,
    )
    written = None
    with contextlib.suppress(FileNotFoundError):
        written = (folder / "out").read_bytes()
        (folder / "out").unlink()
    left = [name for name in names(folder) if name not in before]
    for name in left:
        (folder / name).unlink()
    return Ended(done.returncode, done.stdout, done.stderr.decode(), written, left)


def places(arguments: Sequence[str], folder: Path) -> tuple[Ended, list[Place]]:
    """A command without a signal, and where it was."""
    with tempfile.TemporaryDirectory() as other:
        found = Path(other) / "places"
        ended = _run(arguments, folder, (str(found), "", "", 0, 0))
        assert (ended.code, ended.left) == (0, []), ended
        return ended, [Place(*each) for each in json.loads(found.read_text())]


def check(
    arguments: Sequence[str],
    folder: Path,
    place: Place,
    time: int,
    number: signal.Signals,
    whole: Ended,
) -> bool:
    """Sends the signal when the command is there for the time-th time; False: all was done."""
    ended = _run(arguments, folder, ("", place.name, place.event, time, int(number)))
    what = f"{' '.join(arguments)}: {number.name} at {place.name} ({place.event} {time}): "
    what += f"{ended.code} {ended.err[-2000:]} {ended.left}"
    assert ended.written in (None, whole.written), what
    if ended.code == 0:
        # At bad moments a signal is put off for some milliseconds: by then all can be done, where
        # a short training is all that is left. And progress is told by the clock: it is not there
        # as often each time.
        assert ended == whole, what
        return False
    assert ended.code == SIGNALS[number], what
    if number == HANG_UP:
        return True  # what it leaves behind is like what a kill leaves
    assert ended.left == [], what
    # -q may not have been read yet.
    assert ended.err in ("", "interrupted\n"), what
    return True


def prepare(folder: Path) -> None:
    """Texts and models."""
    below = random.Random(21)
    letters = "abcdefghijklmnopqrstuvwxyzé"
    words = ["".join(below.choices(letters, k=1 + at % 9)) for at in range(60_000)]
    many = ("".join(below.choices(letters, k=14)) for _ in range(300_000))
    (folder / "many").write_text("\n".join(many), encoding="utf-8")
    (folder / "lines").write_text("\n".join(words[:3000]), encoding="utf-8")
    pattern = ("--pretokenize", r"regex:(?:a|aa)+|\w|\s")
    for name, options in {
        "bpe": (),
        "regex": pattern,
        "unigram": ("--algo", "unigram"),
    }.items():
        done = _run(
            ("train", "-q", "--vocab", "300", *options, "-o", "out", "lines"),
            folder,
            ("", "", "", 0, 0),
        )
        assert done.code == 0 and done.written, done
        (folder / f"{name}.json").write_bytes(done.written)


def commands() -> Iterator[tuple[str, ...]]:
    """The command lines that are tried."""
    train = ("train", "--progress", "bar", "-q", "-o", "out", "--threads", "1")
    pattern = ("--pretokenize", r"regex:(?:a|aa)+|\w|\s")
    yield (*train, "--vocab", "280", "--memory", "16M", "many")
    yield (*train, "--vocab", "300", *pattern, "lines")
    yield (*train, "--vocab", "300", "--algo", "unigram", "lines")
    yield ("encode", "-q", "-m", "regex.json", "--threads", "1", "-o", "out", "lines")
    yield ("encode", "-q", "-m", "bpe.json", "--as", "jsonl", "--offsets", "-o", "out", "lines")
    yield ("encode", "-q", "-m", "bpe.json", "--as", "parquet", "-o", "out", "lines")
    yield ("encode", "-q", "-m", "unigram.json", "--count", "lines")
    yield ("inspect", "-q", "bpe.json", "--use", "lines")
    yield ("convert", "-q", "bpe.json", "--to", "huggingface", "-o", "out")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--called", choices=("rust", "all"), default="all", help="by whom")
    parser.add_argument("--step", type=int, default=1, help="every so manieth place alone")
    parser.add_argument("--only", default="", help="commands that have this in them")
    options = parser.parse_args()
    runs = faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for arguments in commands():
            line = " ".join(arguments)
            if options.only not in line:
                continue
            whole, found = places(arguments, folder)
            found = [place for place in found if place.of_rust or options.called == "all"]
            for place in found[:: options.step]:
                for number in SIGNALS:
                    for time in sorted({0, place.times - 1}):
                        runs += 1
                        try:
                            check(arguments, folder, place, time, number, whole)
                        except AssertionError as fault:
                            faults += 1
                            print(str(fault).partition("\nassert")[0], flush=True)
            rust = sorted({place.name for place in found if place.of_rust})
            print(f"{len(found):>5} places  {line}; Rust calls {', '.join(rust)}", flush=True)
    print(f"{runs} signals, {faults} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
