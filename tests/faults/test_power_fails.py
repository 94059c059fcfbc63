"""The power fails amid writing: of what a file system may have kept, nothing is half old.

`calls.c` records what a command does to a folder. What was not synced may be lost: of the changes
of names in a folder since its last fsync any may be there, and of a file's bytes those of its last
fsync, all, or any part. Every such state that the enumeration reaches is checked, after each call.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest

from tests.faults.calling import Caller
from tests.faults.test_calls_fail import (
    OPERATIONS,
    SEED,
    Bench,
    Operation,
    State,
    caller,
    state,
)

__all__ = ["caller"]  # the fixture

#: States of a moment that are looked at.
_MOST = 64


@dataclass(eq=False)
class Inode:
    """A file: its bytes, and those that are surely on the disk."""

    data: bytearray = field(default_factory=bytearray)
    kept: bytes = b""

    def contents(self) -> list[bytes]:
        """What may be found in it."""
        now = bytes(self.data)
        if now == self.kept:
            return [now]
        # What was synced stays where more was only added.
        first = self.kept if now.startswith(self.kept) else b""
        half = (len(first) + len(now)) // 2
        return [self.kept, now, now[:half], first + bytes(len(now) - len(first))]


@dataclass
class Change:
    """A change of names in a folder: these have these files now (None: none)."""

    names: dict[str, Inode | None]


class Disk:
    """What a record of calls leaves, in memory and on the disk."""

    def __init__(self, root: Path, old: State) -> None:
        self.root = root
        self.names: dict[str, Inode | None] = {}
        for name, data in old.items():
            self.names[name] = Inode(bytearray(data), data)
        self.kept = dict(self.names)
        self.folders = {""}
        self.kept_folders = {""}
        self.pending: list[Change] = []

    def call(self, line: list[str]) -> None:
        """Does what a line of the record says."""
        call, path, *more = line
        name = self._name(path)
        if name.endswith(".unnamed"):  # nobody finds it again
            return
        if call == "create":
            self._change({name: Inode()})
        elif call == "empty":
            self._file(name).data.clear()
        elif call == "write":
            data, at = self._file(name).data, int(more[0])
            written = bytes.fromhex(more[1])
            data.extend(bytes(max(0, at - len(data))))
            data[at : at + len(written)] = written
        elif call == "unlink":
            self._change({name: None})
        elif call == "mkdir":
            self.folders.add(name)
        elif call == "rename":
            self._rename(name, self._name(more[0]))
        else:
            assert call == "fsync", line
            self._sync(name)

    def _name(self, path: str) -> str:
        name = PurePosixPath(path).relative_to(self.root).as_posix()
        return "" if name == "." else name

    def _file(self, name: str) -> Inode:
        found = self.names[name]
        assert found is not None, name
        return found

    def _change(self, names: dict[str, Inode | None]) -> None:
        self.names |= names
        self.pending.append(Change(names))

    def _rename(self, old: str, new: str) -> None:
        if old not in self.folders:
            self._change({old: None, new: self.names[old]})
            return
        moved: dict[str, Inode | None] = {}
        for name, inode in self.names.items():
            if inode is not None and name.startswith(old + "/"):
                moved |= {name: None, new + name.removeprefix(old): inode}
        # Its own names are on the disk, or may be lost, wherever it stands.
        lost = [one for one in self.pending if any(n.startswith(old + "/") for n in one.names)]
        assert not lost, "a folder is renamed before its names are on the disk"
        self.folders = {new + n.removeprefix(old) if n == old else n for n in self.folders}
        self._change(moved)

    def _sync(self, name: str) -> None:
        if name not in self.folders:
            file = self._file(name)
            file.kept = bytes(file.data)
            return

        def inside(change: Change) -> bool:
            # A folder's name stands in the folder around it, and moves all that is in it.
            parents = {"/".join(n.split("/")[:-1]) for n in change.names}
            return name in parents or (name == "" and len(parents) > 1)

        for change in self.pending:
            if inside(change):
                self.kept |= change.names
        self.pending = [change for change in self.pending if not inside(change)]

    def states(self, chance: random.Random) -> Iterator[State]:
        """What may be found after the power failed now, but for hidden files."""
        count = len(self.pending)
        kept: list[tuple[bool, ...]]
        if count <= 6:
            kept = list(itertools.product([False, True], repeat=count))
        else:
            kept = [tuple(chance.random() < 0.5 for _ in range(count)) for _ in range(_MOST)]
        for chosen in kept:
            names = dict(self.kept)
            for change, is_kept in zip(self.pending, chosen, strict=True):
                names |= change.names if is_kept else {}
            files = {
                name: inode
                for name, inode in names.items()
                if inode is not None and not any(p.startswith(".") for p in name.split("/"))
            }
            found = [inode.contents() for inode in files.values()]
            for contents in itertools.islice(itertools.product(*found), _MOST):
                yield dict(zip(files, contents, strict=True))


SHARDS = Operation("encode -m MODEL --as npy --shard-size 256 --resume TEXT -o out/ids")


def after_every_call(bench: Bench) -> Iterator[tuple[str, State]]:
    """The states after each call of the command, each once."""
    bench.put(bench.old)
    assert bench.run("new").code == 0
    disk, chance = Disk(bench.out, bench.old), random.Random(SEED)
    seen = set()
    for line in bench.recorded():
        disk.call(line)
        for found in disk.states(chance):
            key = frozenset(found.items())
            if key not in seen:
                seen.add(key)
                yield " ".join(line[:2]), found
    ends = [found for found in disk.states(chance) if found != bench.new]
    assert not ends, "what the command has finished is not on the disk"


#: To draw a page takes seconds; it is written as `decode` writes.
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] * (name == "page"), id=name) for name in OPERATIONS
]


@pytest.mark.parametrize("old", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("name", NAMES)
def test_the_old_files_or_the_new_ones(caller: Caller, name: str, old: bool) -> None:
    if old and "made" in OPERATIONS[name].arguments:
        pytest.skip("it is replaced as in `two files`")
    bench = Bench(caller, OPERATIONS[name], old=old)
    count = 0
    for where, found in after_every_call(bench):
        assert bench.is_sound(found, stopped=True), (where, sorted(found))
        count += 1
    print(f"{name}: {count} states")
    assert count >= 2


@pytest.mark.slow
def test_shards_go_on(caller: Caller) -> None:
    """Whatever the disk has kept of shards, the next run makes the same of it."""
    bench = Bench(caller, SHARDS, old=False)
    states = list(after_every_call(bench))
    assert len(states) > 20
    for where, found in random.Random(SEED).sample(states, 20):
        bench.put(found)
        ended = bench.run("new")
        assert (ended.code, state(bench.out)) == (0, bench.new), (where, ended, sorted(found))
