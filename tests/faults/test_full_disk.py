"""Disks that fill up, folders that can't be written to: whole files or none, and a way on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from string import ascii_lowercase

import pytest

from tests import systems
from tests.cli.run import command, names, process
from tests.faults.killing import digests, hidden
from tokctl import Tokenizer

#: Runs `$1` in a small disk of its own at `disk`, then what is behind it with the disk made
#: larger; what is left is copied out, since nobody else sees that disk.
SCRIPT = """
mount -t tmpfs -o size=96k tokctl-test disk || exit 77
sh -c "$1"
echo "code $?"
cp -R disk "$2"
mount -o remount,size=64m disk
sh -c "$3"
echo "code $?"
cp -R disk "$4"
"""
READ_ONLY = """
mount -t tmpfs tokctl-test disk || exit 77
mount -o remount,ro disk
sh -c "$1"
echo "code $?"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample: str) -> Path:
    folder = tmp_path_factory.mktemp("disks")
    Tokenizer.train(dict.fromkeys(sample.split(), 1), vocab_size=600).save(folder / "model.json")
    (folder / "text.txt").write_text(sample, encoding="utf-8")
    return folder


def shell(arguments: list[str]) -> str:
    from shlex import join

    return join(command(*arguments))


def with_mounts(folder: Path, script: str, *arguments: str) -> tuple[str, str]:
    """stdout and stderr of a script of the shell that mounts something at `disk`, where nobody
    else sees it."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("a small disk is made with unshare and a tmpfs, on Linux")
    (folder / "disk").mkdir(exist_ok=True)
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    done = subprocess.run(
        ["unshare", *user, "--mount", "sh", "-c", script, "sh", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no small disk can be made here: {done.stderr.strip()}")
    return done.stdout, done.stderr


def on_a_small_disk(folder: Path, first: list[str], then: list[str]) -> tuple[str, str]:
    """stdout and stderr of the two commands; what the disk held is in `full` and `after`."""
    for name in ("full", "after"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return with_mounts(folder, SCRIPT, shell(first), "full", shell(then), "after")


@pytest.mark.parametrize("form", ["bin", "megatron", "safetensors"])
def test_shards_go_on_when_there_is_room_again(folder: Path, form: str) -> None:
    def encoding(target: str, *more: str) -> list[str]:
        how = ["--as", form, "--shard-size", "4K", "-m", "model.json", "-o", target]
        return ["encode", *how, *more, "text.txt", "text.txt"]

    assert process(*encoding(f"whole-{form}"), cwd=folder).code == 0
    expected = digests(folder / f"whole-{form}")
    out, err = on_a_small_disk(folder, encoding("disk/ids"), encoding("disk/ids", "--resume"))
    lines = [line for line in out.splitlines() if line.startswith("code")]
    assert lines == ["code 2", "code 0"], err
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, err
    assert "disk/ids" in errors[0]
    assert "No space left on device" in errors[0]
    full = digests(folder / "full" / "ids")
    shards = {name: digest for name, digest in full.items() if "shard" in name}
    assert 0 < len(shards) < len(expected)
    assert shards.items() <= expected.items()
    assert digests(folder / "after" / "ids") == expected
    assert hidden(folder / "after" / "ids") == []


@pytest.mark.few(2)
@pytest.mark.parametrize("form", ["ids", "bin", "npy", "jsonl", "parquet", "safetensors"])
def test_one_file_is_whole_or_absent(folder: Path, form: str) -> None:
    arguments = ["encode", "--as", form, "-m", "model.json"]
    texts = ["text.txt"] * 8  # more ids than fit
    if form == "parquet":  # which compresses
        letters = random.Random(1)
        words = ("".join(letters.choices(ascii_lowercase, k=5)) for _ in range(100_000))
        (folder / "random.txt").write_text(" ".join(words))
        texts = ["random.txt"]
    first = [*arguments, "-o", "disk/ids", *texts]
    out, err = on_a_small_disk(folder, first, [*arguments, "-o", "disk/ids", *texts])
    lines = [line for line in out.splitlines() if line.startswith("code")]
    assert lines == ["code 2", "code 0"], err
    assert "error: can't write disk/ids: No space left on device" in err
    assert names(folder / "full") == []
    assert names(folder / "after") == ["ids"]


def test_a_training_on_a_full_disk(folder: Path) -> None:
    training = ["train", "-q", "--vocab", "20000", "text.txt", "-o", "disk/model.json"]
    out, err = on_a_small_disk(folder, training, training)
    lines = [line for line in out.splitlines() if line.startswith("code")]
    assert lines == ["code 2", "code 0"], err
    assert "error: can't write disk/model.json: No space left on device" in err
    assert names(folder / "full") == []
    assert names(folder / "after") == ["model.json"]


@systems.kept_out
def test_a_folder_that_may_not_be_written_to(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    shards = ["encode", "-m", "model.json", "--as", "bin", "--shard-size", "4K"]
    for arguments in (
        ["encode", "-m", "model.json", "-o", "closed/ids", "text.txt"],
        [*shards, "-o", "closed/ids", "text.txt"],
        ["train", "-q", "--vocab", "300", "-o", "closed/model.json", "text.txt"],
    ):
        done = process(*arguments, cwd=folder)
        assert done.code == 2
        assert done.err.startswith("error: can't write closed/")
        assert names(closed) == []


def test_a_disk_that_may_not_be_written_to(folder: Path) -> None:
    """The same for root: the file system itself is read-only."""
    arguments = ["encode", "-m", "model.json", "--as", "bin", "text.txt", "-o", "disk/ids"]
    out, err = with_mounts(folder, READ_ONLY, shell(arguments))
    assert out == "code 2\n", err
    assert "error: can't write disk/ids: Read-only file system" in err
