"""Folders of shards that are damaged between two runs: resuming is never silent, and never wrong.

`TOKCTL_DAMAGE=200` makes that many trials; so does `-m slow`.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from tests.idfiles.shared import NAMES, Stopped, Workers, files
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.cli.encode_output import token_names
from tokctl.idfiles import pieces, shard_stores, shared_shards
from tokctl.idfiles.dtypes import dtype_for
from tokctl.idfiles.output import Target
from tokctl.idfiles.shard_check import check_shards
from tokctl.idfiles.stream import ChunkStream, NativeEncoder
from tokctl.idfiles.writer import job_description, write_stream
from tokctl.sources import open_sources
from tokctl.tokenizer.documents import DocumentEncoder

fsspec = pytest.importorskip("fsspec")

Models = dict[str, Tokenizer]
SHARDED = (*idfiles.BINARY_FORMS, "jsonl")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Groups and frames of a size that small texts have many of; no store at the end."""
    monkeypatch.setattr(shared_shards, "_IDS_PER_GROUP", 500)
    monkeypatch.setattr(pieces, "_FRAME", 200)
    yield
    fsspec.filesystem("memory").store.clear()


class Folder:
    """A folder on the disk, or in a store in memory."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._system, self._path = fsspec.core.url_to_fs(address)

    def names(self) -> list[str]:
        """The files in it, those of `.pieces` included."""
        found = self._system.find(self._path) if self._system.exists(self._path) else []
        return sorted(name.removeprefix(self._path).strip("/") for name in found)

    def read(self, name: str) -> bytes:
        data: bytes = self._system.cat_file(f"{self._path}/{name}")
        return data

    def put(self, name: str, data: bytes | None) -> None:
        """Writes the file, or removes it (None)."""
        path = f"{self._path}/{name}"
        if data is None:
            self._system.rm_file(path)
        else:
            self._system.pipe_file(path, data)

    def contents(self) -> dict[str, Any]:
        """What it holds; of the manifest what it says, white space apart."""
        found: dict[str, Any] = {name: self.read(name) for name in self.names()}
        if "manifest.json" in found:
            found["manifest.json"] = orjson.dumps(orjson.loads(found["manifest.json"]))
        return found

    def clear(self) -> None:
        if self._system.exists(self._path):
            self._system.rm(self._path, recursive=True)


class Run(NamedTuple):
    """What encodes the texts of `files`."""

    tokenizer: Tokenizer
    form: str
    is_shared: bool

    def write(self, address: str, resume: bool = False) -> tuple[Any, list[str]]:
        """The result, and what was told."""
        told: list[str] = []
        kind = dtype_for(self.form, self.tokenizer.vocab_size, None)
        documents = DocumentEncoder(self.tokenizer, lines=self.form == "jsonl")
        names = None
        if self.form == "jsonl":
            names = partial(token_names, self.tokenizer, "jsonl")
        encoder = NativeEncoder(documents, kind.width, None, names)
        job = job_description(
            {"sha256": "a model", "vocab_size": self.tokenizer.vocab_size},
            self.form, kind, eos=None, shard_size=300, options={},
        )  # fmt: skip
        target = Target(address, self.form, kind, None, 300, resume, job)
        stream = ChunkStream(open_sources(NAMES), encoder, None, told.append)
        engine = Workers(600) if self.is_shared else None
        return write_stream(stream, target, engine), told


def stopping(patched: pytest.MonkeyPatch, after: int) -> None:
    """The process ends before or after the call number `after` that changes the folder."""
    calls = 0
    for owner in (shard_stores.LocalStore, shard_stores.RemoteStore):
        for name in ("deliver", "add_to_journal", "remove"):
            real = getattr(owner, name)

            def around(*given: Any, real: Callable[..., Any] = real) -> Any:
                nonlocal calls
                calls += 1
                if calls == 2 * after:
                    raise Stopped
                done = real(*given)
                if calls == 2 * after + 1:
                    raise Stopped
                return done

            patched.setattr(owner, name, around)


#: Each takes a file's bytes, and gives others; None: the file is removed.
def changed(data: bytes, draw: random.Random) -> bytes | None:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def shortened(data: bytes, draw: random.Random) -> bytes | None:
    return data[: draw.randrange(len(data))]


def longer(data: bytes, draw: random.Random) -> bytes | None:
    return data + draw.randbytes(draw.randrange(1, 9))


def removed(data: bytes, draw: random.Random) -> bytes | None:  # noqa: ARG001
    return None


def without_a_line(data: bytes, draw: random.Random) -> bytes | None:
    lines = data.splitlines(keepends=True)
    del lines[draw.randrange(len(lines))]
    return b"".join(lines)


DAMAGE = [changed, changed, shortened, longer, removed, without_a_line]


def damage(folder: Folder, draw: random.Random) -> str | None:
    """Damages a file or two, and gives its name and what was done; None: there is nothing."""
    names = [name for name in folder.names() if folder.read(name)]
    if not names:
        return None
    kind = draw.choice(["shard-"] * 4 + [".pieces", "journal", "manifest"])
    name = draw.choice([name for name in names if name.startswith(kind)] or names)
    if draw.random() < 0.15:
        others = [other for other in names if folder.read(other) != folder.read(name)]
        if others:
            other = draw.choice(others)
            here, there = folder.read(name), folder.read(other)
            folder.put(name, there)
            folder.put(other, here)
            return f"{name} swapped with {other}"
    how = draw.choice(DAMAGE)
    folder.put(name, how(folder.read(name), draw))
    return f"{name} {how.__name__}"


def trial(models: Models, number: int, seen: Counter[tuple[str, str]]) -> None:
    draw = random.Random(number)
    form = draw.choice(SHARDED)
    run = Run(models["bytes"], form, draw.random() < 0.5)
    whole = Folder(f"memory://whole-{form}")
    if not whole.names():
        run.write(whole.address)
    expected = whole.contents()
    address = draw.choice([f"memory://trial-{number}", f"{Path.cwd()}/trial-{number}"])
    folder = Folder(address)
    is_finished = draw.random() < 0.3
    with pytest.MonkeyPatch.context() as patched:
        if not is_finished:
            stopping(patched, draw.randrange(3, 30))
        with suppress(Stopped):
            run.write(address)
    before = folder.contents() if "manifest.json" not in folder.names() else expected
    is_finished = "manifest.json" in folder.names()
    state = "finished" if is_finished else "stopped"
    what = damage(folder, draw)
    after = {name: folder.read(name) for name in folder.names()}
    where = f"trial {number}: {address}, {run.form}, shared {run.is_shared}, {what}"
    try:
        done, told = run.write(address, resume=True)
    except TokctlError as error:
        assert error.hint, where
        assert what is not None, where
        seen[state, "refused"] += 1
        if is_finished:  # nothing else reads it without a word either
            return
        # What the hint says: repeat, or begin again.
        if "--resume" in error.hint:
            run.write(address, resume=True)
        else:
            folder.clear()
            run.write(address)
        assert folder.contents() == expected, where
        return
    assert folder.contents() == expected, where
    if "memory" not in address:
        assert not check_shards(address).faults
    if told:
        assert done.damaged, where
        seen[state, "encoded again"] += 1
        return
    # Nothing was said: then what was damaged had not been kept, or says the same.
    same = {name for name in before if after.get(name) == before[name]}
    damaged = {name for name in before if name.startswith("shard-")} - same
    journal = "".join(
        after[name].decode(errors="replace") for name in sorted(after) if "journal" in name
    )
    assert not any(name in journal for name in damaged), where
    seen[state, "not kept, or the same"] += 1
    if is_finished:
        assert not damaged, where


def trials(models: Models, numbers: range) -> Counter[tuple[str, str]]:
    files()
    seen: Counter[tuple[str, str]] = Counter()
    for number in numbers:
        trial(models, number, seen)
    assert set(seen) >= {("stopped", "encoded again"), ("finished", "refused")}
    return seen


@pytest.mark.slow
def test_no_damage_passes_unseen(models: Models) -> None:
    print(trials(models, range(int(os.environ.get("TOKCTL_DAMAGE", "40")))))


@pytest.mark.campaign
def test_no_damage_passes_unseen_200_times(models: Models) -> None:
    print(trials(models, range(1000, 1200)))
