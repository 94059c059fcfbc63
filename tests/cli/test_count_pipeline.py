"""Counting what `find` names, as people write it in a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import tokctl

Models = dict[str, Path]


def lists_are_read(model: Path) -> bool:
    """Are names read from `--files0-from`? A list of no file counts nothing then."""
    Path("list").write_bytes(b"listed\0")
    Path("listed").write_bytes(b"low")
    done = tokctl("encode", "-m", model, "--count", "--files0-from", "list")
    Path("list").unlink()
    Path("listed").unlink()
    return done.out.endswith(b"listed\n")


@systems.shell
def test_what_find_names(models: Models, folder: Path) -> None:
    if not lists_are_read(models["bytes"]):
        pytest.skip("lists of names are not read yet")
    names = [b"a b.md", b"new\nline.md", b"sub/odd-\xff.md", b"sub/c.md"]
    Path("sub").mkdir()
    try:
        for name in names:
            Path(os.fsdecode(name)).write_bytes(b"low lower\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    Path("other.txt").write_bytes(b"low")
    line = (
        f'find . -name "*.md" -print0 | "{sys.executable}" -m tokctl encode --count --sort name '
        f'--files0-from - -m "{models["bytes"]}"'
    )
    ran = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, check=True, timeout=600
    )
    rows = ran.stdout.splitlines()
    assert len(rows) == 5
    assert rows[-1].split() == [b"16", b"40", b"total"]
    assert all(row.split()[:2] == [b"4", b"10"] for row in rows[:-1])
    assert ran.stderr == b""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_thousands_of_small_files(models: Models, threads: str) -> None:
    names = [f"{n:05}" for n in range(3_000)]
    for name in names:
        Path(name).write_bytes(b"low lower\n" * (int(name) % 3))
    done = tokctl("encode", "-m", models["bytes"], "--count", "--threads", threads, *names)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 3_001
    assert lines[-1].split() == [b"12000", b"30000", b"total"]


def test_a_file_that_vanishes_while_others_are_counted(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokctl.sources import Document

    for name in ("a", "b", "c"):
        Path(name).write_bytes(b"low lower\n")
    opened = Document.__new__

    def gone(cls: type[Document], name: str, *rest: object, **more: object) -> Document:
        document = opened(cls, name, *rest, **more)  # type: ignore[arg-type]
        if name == "b":
            Path("b").unlink()
        return document

    monkeypatch.setattr(Document, "__new__", gone)
    done = tokctl("encode", "-m", models["bytes"], "--count", "a", "b", "c")
    assert done.code == 2
    assert [line.split()[-1] for line in done.out.splitlines()] == [b"a", b"c", b"total"]
    assert done.err.startswith("error: can't read b: No such file or directory\nhint: ")
