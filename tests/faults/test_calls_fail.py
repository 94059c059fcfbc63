"""Every call of the system that writing makes fails in every way: the old files or the new ones."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import slow_but
from tests.faults.calling import KILL, SHORT, Caller, Ended, Fault, calling
from tests.faults.killing import hidden
from tokctl import Tokenizer

CALLS = ("open", "write", "fsync", "chmod", "rename", "unlink", "mkdir", "flock")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR, SHORT, KILL)
SEED = 19

#: The files of a folder, by their names.
State = dict[str, bytes]


class Operation(NamedTuple):
    """A command that writes into the folder `out`.

    first: of files that belong together, the one without which nobody reads the others.
    """

    arguments: str
    first: str = ""


def _encoding(form: str, target: str = "out/ids", more: str = "") -> str:
    return f"encode -m MODEL --as {form} {more} TEXT -o {target}"


#: MODEL and TEXT are others in the old state.
OPERATIONS = {
    "train": Operation("train -q --vocab 300 TEXT -o out/m.json"),
    "counts": Operation("train -q --vocab 300 TEXT -o model.tmp --save-counts out/counts"),
    "tiktoken": Operation("convert MODEL --to tiktoken -o out/ranks", "ranks"),
    "folder": Operation("convert MODEL --to huggingface-folder -o out", "tokenizer.json"),
    "two files": Operation("convert MODEL --to vocab-merges -o out", "merges.txt"),
    "a new folder": Operation("convert MODEL --to vocab-merges -o out/made"),
    "decode": Operation("decode -m MODEL ids.txt -o out/text"),
    "page": Operation("inspect MODEL --html out/page.html"),
    "bin": Operation(_encoding("bin")),
    "npy": Operation(_encoding("npy")),
    "jsonl": Operation(_encoding("jsonl")),
    "parquet": Operation(_encoding("parquet")),
    "safetensors": Operation(_encoding("safetensors")),
    "index": Operation(_encoding("bin", more="--index out/ends.npy"), "ends.npy"),
    "megatron": Operation(_encoding("megatron"), "ids.idx"),
}


def state(folder: Path) -> State:
    """What is there for all to see."""
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                path = Path(root, name)
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


class Bench:
    """The folder `out`, in the old state, and what a command makes of it."""

    def __init__(self, caller: Caller, operation: Operation, old: bool) -> None:
        self.caller = caller
        self.operation = operation
        self.out = caller.folder / "out"
        self.record = caller.folder / "record"
        self.old: State = {}
        self._empty()
        if old:
            assert self.run("old").code == 0
            self.old = state(self.out)
        done = self.run("new")
        assert done.code == 0, done.err
        self.new = state(self.out)
        assert self.new != self.old

    def run(self, which: str, fault: Fault = Fault()) -> Ended:  # noqa: B008
        """The command, on what makes the old or the new state."""
        words = self.operation.arguments.replace("MODEL", f"{which}.json")
        arguments = words.replace("TEXT", f"{which}.txt").split()
        self.record.unlink(missing_ok=True)
        return self.caller.run(arguments, self.out, fault, self.record)

    def _empty(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def put(self, files: State) -> None:
        """Makes it the state of the folder."""
        self._empty()
        for name, data in files.items():
            (self.out / name).parent.mkdir(exist_ok=True)
            (self.out / name).write_bytes(data)

    def recorded(self) -> list[list[str]]:
        """The calls of the run before."""
        lines = self.record.read_text() if self.record.exists() else ""
        return [line.split("\t") for line in lines.splitlines()]

    def is_sound(self, found: State, *, stopped: bool) -> bool:
        """Is it the old or the new state, or, of files that belong together and of which one
        was `stopped` while they were renamed, one that nobody reads?"""
        if found in (self.old, self.new):
            return True
        first = self.operation.first
        if not first or not stopped or first in found:
            # Nothing stands there yet, and the companions come first.
            return False
        return all(data in (self.old.get(name), self.new.get(name)) for name, data in found.items())

    def check(self, fault: Fault) -> str | None:
        """Runs the command with a fault; how that went, or None where there are not so many
        calls."""
        self.put(self.old)
        ended = self.run("new", fault)
        if ["failed", fault.call, ""] not in self.recorded():
            assert ended.code == 0, (fault, ended)
            return None
        found, where = state(self.out), (fault, ended)
        killed = fault.error == KILL
        assert self.is_sound(found, stopped=killed), (*where, sorted(found))
        if killed:
            assert ended.code == -9, where
        elif ended.code == 0:
            assert found == self.new, where
        else:
            assert ended.code == 2, where
            lines = ended.err.splitlines()
            assert lines[-2].startswith("error: "), where
            assert lines[-1].startswith("hint: "), where
            assert "Traceback" not in ended.err, where
        if fault.call != "unlink" and not killed:
            assert hidden(self.out) == [], where
        # The next run does it, and takes away what was left.
        if "made" in str(self.operation.arguments) and found:
            return "whole"
        ended = self.run("new")
        assert (ended.code, state(self.out)) == (0, self.new), (*where, ended)
        assert list(self.out.glob(".*")) == [], where
        return "killed" if killed else "whole"


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory, sample: str) -> Iterator[Caller]:
    folder = tmp_path_factory.mktemp("calls")
    lines = sample.splitlines(keepends=True)
    for which, text in (("old", "".join(lines[:40])), ("new", "".join(lines[20:80]))):
        (folder / f"{which}.txt").write_text(text, encoding="utf-8")
        made = Tokenizer.train(dict.fromkeys(text.split(), 1), vocab_size=300)
        made.save(folder / f"{which}.json")
    (folder / "ids.txt").write_text("290 291 292 293\n" * 30)
    with calling(folder) as caller:
        yield caller


def campaign(bench: Bench, faults: list[tuple[str, int]], most: int) -> Counter[str]:
    """Runs the faults at up to so many calls of each kind."""
    counts: Counter[str] = Counter()
    for call, error in faults:
        for number in range(most):
            ended = bench.check(Fault(call, number, error))
            if ended is None:
                break
            counts[call] += 1
    return counts


EVERY = [(call, error) for call in CALLS for error in ERRORS if error != SHORT or call == "write"]


@pytest.mark.parametrize(
    "name", slow_but(["train", "tiktoken", "two files", "megatron", "index"], "train", "two files")
)
def test_some_calls_fail(caller: Caller, name: str) -> None:
    bench = Bench(caller, OPERATIONS[name], old=True)
    chosen = random.Random(SEED).sample(EVERY, 6)
    # Every moment at which files that belong together are replaced.
    counts = campaign(bench, [("rename", KILL), ("rename", errno.EIO), *chosen], 6)
    assert counts["rename"] >= 2, counts


@pytest.mark.campaign
@pytest.mark.parametrize("old", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_fails(caller: Caller, name: str, old: bool) -> None:
    if old and "made" in OPERATIONS[name].arguments:
        pytest.skip("it is replaced as in `two files`")
    counts = campaign(Bench(caller, OPERATIONS[name], old=old), EVERY, 40)
    print(f"{name}: {counts.total()} faults, {dict(counts)}")
    assert counts["rename"]
