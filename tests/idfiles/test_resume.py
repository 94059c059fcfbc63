"""Runs that stopped, at any moment, and are gone on with: the same bytes as without a stop."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.idfiles import made
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.sources import Batch, Document, Records, Source
from tokctl.tokenizer import documents

pytestmark = pytest.mark.slow

Models = dict[str, Tokenizer]
FORMS = idfiles.BINARY_FORMS
SHARDS = Path("shards")

#: A document over many shards, and many documents in one.
TEXTS = [*made.TEXTS, "low lower 東京 newest\n".encode() * 40, *made.TEXTS]


def write(tokenizer: Tokenizer, sources: list[Source], folder: Path, **more: Any) -> Any:
    given = {"shard_size": 60, "eos": "<|end|>", **more}
    return idfiles.write(tokenizer, sources, folder, **given)


def states(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What is in the folder of shards before and after every call that changes what is on the
    disk, while `work` runs: what a process leaves that is killed there."""
    kept: list[Path] = []

    def keep() -> None:
        if SHARDS.exists():
            kept.append(Path(f"state-{len(kept)}"))
            shutil.copytree(SHARDS, kept[-1])

    with monkeypatch.context() as patched:
        for owner, name in (
            (os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "chmod"), (Path, "mkdir"),
        ):  # fmt: skip
            patched.setattr(owner, name, watched(getattr(owner, name), keep))
        work()
    yield from kept


def watched(real: Callable[..., Any], keep: Callable[[], None]) -> Callable[..., Any]:
    """The function, with a look before and after."""

    def around(*args: Any, **more: Any) -> Any:
        keep()
        done = real(*args, **more)
        keep()
        return done

    return around


def torn(state: Path) -> Iterator[Path]:
    """The state, and others in which the files that grow are shorter: the journal's last line,
    and what is not whole yet."""
    yield state
    journal = state / "journal.jsonl"
    data = journal.read_bytes() if journal.exists() else b""
    last = data[:-1].rfind(b"\n") + 1
    for length in {last + 1, (last + len(data)) // 2, len(data) - 1} if last else ():
        copy = Path(f"{state}-journal-{length}")
        shutil.copytree(state, copy)
        (copy / "journal.jsonl").write_bytes(data[:length])
        yield copy
    copy = Path(f"{state}-files")
    shutil.copytree(state, copy)
    if temporary := [path for path in copy.iterdir() if path.name.endswith(".tmp")]:
        for path in temporary:
            os.truncate(path, path.stat().st_size // 2)
        yield copy


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_killed_at_any_moment(
    models: Models, form: str, lines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sources() -> list[Source]:
        return made.mixed(TEXTS)

    def work() -> None:
        write(models["bytes"], sources(), SHARDS, form=form, lines=lines, shard_size=150)

    found = list(states(work, monkeypatch))
    undisturbed = made.contents(SHARDS)
    assert len(undisturbed) > 6
    assert len(found) > 30
    kept = set()
    for state in found[:: 1 if form == "bin" else 3]:
        for folder in torn(state):
            done = write(
                models["bytes"], sources(), folder, form=form, lines=lines, shard_size=150,
                resume=True,
            )  # fmt: skip
            assert made.contents(folder) == undisturbed, folder
            kept.add(done.kept)
    assert len(kept) > 3


def failing(source: Document, after: int) -> Document:
    """The source, whose blocks end with an error."""

    def blocks() -> Iterator[bytes]:
        for number, block in enumerate(source.blocks()):
            if number == after:
                raise TokctlError("can't read it to its end", "copy it again")
            yield block

    return Document(source.name, source.size, blocks)


@pytest.mark.parametrize("name", ["bytes", "unigram"])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("form", ["bin", "parquet"])
def test_stopped_by_an_error_anywhere_and_again(
    models: Models, form: str, lines: bool, name: str
) -> None:
    """A long document comes in blocks; each run gets a little further."""
    text = "low lower 東京 newest\n".encode() * 60
    more = {"form": form, "lines": lines, "eos": None if name == "unigram" else "<|end|>"}
    whole = made.document(text, block=50)
    write(models[name], [made.document(b"low"), whole], SHARDS, **more)
    after = 1
    while True:
        sources = [made.document(b"low"), failing(whole, after)]
        try:
            write(models[name], sources, Path("again"), resume=True, **more)
        except TokctlError as error:
            assert error.message == "can't read it to its end"
            after += 4
            continue
        break
    assert made.contents(Path("again")) == made.contents(SHARDS)


def test_what_was_consumed_is_not_encoded_again(models: Models) -> None:
    asked: list[str] = []

    def seen(source: Document | Records) -> Source:
        def blocks() -> Iterator[bytes]:
            asked.append(source.name)
            yield from source.blocks()  # type: ignore[union-attr]

        return Document(source.name, source.size, blocks)

    texts = [b"low lower newest " * 9 for _ in range(6)]
    names = [f"{number}.txt" for number in range(6)]

    def sources(fail: int | None) -> list[Source]:
        made_ = [made.document(text, name) for text, name in zip(texts, names, strict=True)]
        if fail is not None:
            made_[fail] = failing(made_[fail], 1)
        return [seen(source) for source in made_]

    with pytest.raises(TokctlError):
        write(models["bytes"], sources(4), SHARDS)
    asked.clear()
    done = write(models["bytes"], sources(None), SHARDS, resume=True)
    assert asked == names[3:] or asked == names[4:]
    assert done.kept > 0
    # A long document is read from its start, and encoded from where it was cut.
    text = b"low lower newest " * 300
    given: list[int] = []
    real = documents.IdWriter

    class Watched:
        def __init__(self, *args: Any, **more: Any) -> None:
            self.inner = real(*args, **more)

        def feed(self, block: bytes, *args: Any) -> Any:
            given.append(len(block))
            return self.inner.feed(block, *args)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "IdWriter", Watched)
        whole = made.document(text, block=100)
        write(models["bytes"], [whole], Path("whole"), shard_size=300)
        with pytest.raises(TokctlError):
            write(models["bytes"], [failing(whole, 40)], Path("again"), shard_size=300)
        given.clear()
        write(models["bytes"], [whole], Path("again"), shard_size=300, resume=True)
    assert sum(given) < len(text) // 2
    assert made.contents(Path("again")) == made.contents(Path("whole"))


def test_a_source_of_records_is_gone_on_with_at_a_record(models: Models) -> None:
    texts = [b"low lower %d" % number for number in range(300)]

    def source(fail: int | None) -> Records:
        whole = made.records(texts, batch=20)

        def batches() -> Iterator[Batch]:
            for number, batch in enumerate(whole.batches()):
                if number == fail:
                    raise TokctlError("row 200 is damaged", "copy it again")
                yield batch

        return Records("records", whole.size, batches, whole.tell)

    for form in FORMS:
        shutil.rmtree("shards", ignore_errors=True)
        shutil.rmtree("again", ignore_errors=True)
        write(models["bytes"], [source(None)], SHARDS, form=form)
        with pytest.raises(TokctlError, match="row 200"):
            write(models["bytes"], [source(10)], Path("again"), form=form)
        done = write(models["bytes"], [source(None)], Path("again"), form=form, resume=True)
        assert done.kept > 3
        assert made.contents(Path("again")) == made.contents(SHARDS)


def test_what_is_finished_is_left_alone(models: Models) -> None:
    write(models["bytes"], made.mixed(TEXTS), SHARDS)
    before = {path.name: path.stat().st_mtime_ns for path in SHARDS.iterdir()}
    done = write(models["bytes"], made.mixed(TEXTS), SHARDS, resume=True)
    assert done.was_there
    assert {path.name: path.stat().st_mtime_ns for path in SHARDS.iterdir()} == before
    with pytest.raises(TokctlError, match=re.escape("with eos <|end|>, and now it is none")):
        write(models["bytes"], made.mixed(TEXTS), SHARDS, resume=True, eos=None)


def test_a_leftover_that_can_not_be_removed(models: Models) -> None:
    """A folder has the name of a temporary file."""
    leftover = SHARDS / ".shard-00000.bin.x.tmp"
    leftover.mkdir(parents=True)
    with pytest.raises(TokctlError, match=re.escape(f"can't remove {leftover}: ")):
        write(models["bytes"], made.mixed(TEXTS), SHARDS, form="bin", resume=True)
