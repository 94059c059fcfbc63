"""What a process that was killed left beside its target: the next run for the target takes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import names
from tests.errors import raises_code
from tokctl.core.errors import TokctlError
from tokctl.core.files import whole_file, whole_files, whole_folder

#: Writes a part of a file or a folder, and says so.
KILLED = """
import sys, time
from pathlib import Path
from tokctl.core.files import whole_file, whole_folder

is_folder = sys.argv[1] == "folder"
with (whole_folder if is_folder else whole_file)(Path("target")) as made:
    (made / "a").write_text("half") if is_folder else made.write(b"half")
    print("there", flush=True)
    time.sleep(600)
"""


def started(folder: Path, what: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, what], cwd=folder, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    return process


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_it_goes_when_its_process_is_gone(tmp_path: Path, what: str) -> None:
    processes = [started(tmp_path, what) for _ in range(3)]
    left = [f".target.tokctl-{number}.tmp" for number in range(3)]
    try:
        assert hidden(tmp_path) == left
        # Those of processes that live stay as they are, whichever other one ends.
        processes[1].kill()
        processes[1].wait()
        with whole_file(tmp_path / "target") as file:
            file.write(b"whole")
            assert hidden(tmp_path) == left
        assert hidden(tmp_path) == [left[0], left[2]]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    with whole_file(tmp_path / "another"):
        pass
    assert hidden(tmp_path) == [left[0], left[2]]
    with whole_file(tmp_path / "target") as file:
        file.write(b"whole again")
    # Names that are free between two others end the search: the one behind waits for its turn.
    assert hidden(tmp_path) in ([], [left[2]])
    assert (tmp_path / "target").read_bytes() == b"whole again"


@systems.symlinks
def test_what_others_made_stays(tmp_path: Path) -> None:
    kept = [".target.tmp", ".target.x1y2.tmp", ".target.tokctl-0.tmp.bak", "target.tokctl-0.tmp"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".target.tokctl-0.tmp").symlink_to("target.tokctl-0.tmp")
    with whole_file(tmp_path / "target") as file:
        file.write(b"whole")
    assert sorted(names(tmp_path)) == sorted([*kept, ".target.tokctl-0.tmp", "target"])
    assert (tmp_path / "target.tokctl-0.tmp").read_text() == "mine"


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is locked there, and nothing swept."""

    def unsupported(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    fcntl = systems.unix_module("fcntl")
    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / ".target.tokctl-0.tmp").write_text("of another process")
    with whole_file(tmp_path / "target") as file:
        file.write(b"whole")
    assert sorted(names(tmp_path)) == [".target.tokctl-0.tmp", "target"]


def test_files_of_one_target_at_once(tmp_path: Path) -> None:
    with whole_file(tmp_path / "target") as one, whole_file(tmp_path / "target") as other:
        one.write(b"one")
        other.write(b"other")
    assert (names(tmp_path), (tmp_path / "target").read_bytes()) == (["target"], b"one")


def test_a_file_that_somebody_has_open(tmp_path: Path) -> None:
    """Where it can't be replaced then, it stays as it is, and nothing is left."""
    path = tmp_path / "target"
    path.write_bytes(b"old")
    wanted = b"new"
    with path.open("rb") as held:
        try:
            with whole_file(path) as file:
                file.write(b"new")
        except TokctlError as error:
            assert not systems.UNIX and str(error.hint).startswith("close the program that has it")
            wanted = b"old"
        assert held.read() == b"old"
    assert (names(tmp_path), path.read_bytes()) == (["target"], wanted)
    with whole_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_an_error_leaves_all_as_it_was(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}")
    (tmp_path / "a").chmod(0o640)

    def stopped() -> None:
        with whole_files() as together:
            for name in ("a", "b", "c"):
                together.open(tmp_path / name).write(b"new")
            (tmp_path / "c").mkdir()  # in whose place no file can be renamed

    with raises_code("unreadable", r"can't write .*c: "):
        stopped()
    (tmp_path / "c").rmdir()
    assert names(tmp_path) == ["a", "b"]
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["old a", "old b"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_somebody_made_meanwhile(tmp_path: Path) -> None:
    def made() -> None:
        with whole_folder(tmp_path / "made") as folder:
            (folder / "a").write_text("mine")
            (tmp_path / "made").mkdir()
            (tmp_path / "made" / "a").write_text("theirs")

    with pytest.raises(OSError, match="not empty"):
        made()
    assert names(tmp_path) == ["made"]
    assert (tmp_path / "made" / "a").read_text() == "theirs"
