"""Processes that are killed, disks that are full, two that write to the same folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests import systems
from tests.cli.run import command, error, process
from tests.idfiles import made
from tokctl import Tokenizer
from tokctl.core.systems import lock, open_folder

Arguments = tuple[str | Path, ...]


@pytest.fixture
def arguments(models_folder: Path, models: dict[str, Tokenizer], sample: str) -> Arguments:
    """`tokctl encode` of some megabytes into many shards."""
    del models
    draw = random.Random(1)
    words = sample.split()
    for name in ("a.txt", "b.txt"):
        text = " ".join(draw.choices(words, k=40_000))
        Path(name).write_text(text.replace(".", ".\n"), encoding="utf-8")
    rows = [orjson.dumps({"text": sample[place : place + 90]}) for place in range(0, 9000, 90)]
    Path("c.txt").write_bytes(b"\n".join(rows))
    model = models_folder / "bytes.json"
    return ("encode", "-m", model, "--as", "bin", "--shard-size", "8K", "a.txt", "b.txt", "c.txt")


@pytest.fixture
def undisturbed(arguments: Arguments) -> dict[str, bytes]:
    done = process(*arguments, "-o", "whole")
    assert (done.code, done.err) == (0, "")
    return made.contents(Path("whole"))


@pytest.mark.parametrize("sign", [systems.KILL, *systems.ENDING])
@pytest.mark.parametrize("times", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_stopped_by_a_signal(
    arguments: Arguments, undisturbed: dict[str, bytes], sign: signal.Signals, times: int
) -> None:
    draw = random.Random(int(sign))
    shards = sum(name.endswith(".bin") for name in undisturbed)
    for number in range(times):
        folder = Path(f"f{number}")
        begun = subprocess.Popen(command(*arguments, "-o", folder), stderr=subprocess.PIPE)
        wanted = draw.randrange(1, shards)
        # It is stopped behind some shard, wherever it is then.
        while begun.poll() is None and not (folder / f"shard-{wanted:05}.bin").exists():
            time.sleep(0.001)
        time.sleep(draw.random() * 0.01)
        begun.send_signal(sign)
        said = begun.communicate(timeout=600)[1].decode()
        if sign != systems.KILL and not (folder / "manifest.json").exists():
            hint = (
                f"the complete shards stay in {folder}; to continue, repeat the command "
                "with --resume\n"
            )
            assert said == ("interrupted\n" if sign == signal.SIGINT else "") + f"hint: {hint}"
            assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]
        resumed = process(*arguments, "-o", folder, "--resume")
        assert resumed.code == 0, resumed.err
        assert made.contents(folder) == undisturbed


def test_a_second_process_is_refused(arguments: Arguments) -> None:
    Path("f").mkdir()
    held = open_folder(Path("f"))
    lock(held)
    for more in ((), ("--resume",)):
        done = process(*arguments, "-o", "f", *more)
        hint = "wait for it, or choose another folder with -o"
        assert done == (2, b"", error("another process is writing to f", hint))
    os.close(held)
    assert process(*arguments, "-o", "f").code == 0


def test_two_processes_at_once(arguments: Arguments, undisturbed: dict[str, bytes]) -> None:
    both = [
        subprocess.Popen(command(*arguments, "-o", "f"), stderr=subprocess.PIPE) for _ in range(2)
    ]
    said = [one.communicate(timeout=600)[1].decode() for one in both]
    assert sorted(one.returncode for one in both) == [0, 2]
    assert "error: another process is writing to f\n" in "".join(said) or "f holds" in "".join(said)
    assert made.contents(Path("f")) == undisturbed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode
    except FileNotFoundError:
        done = 1
    if done:
        pytest.skip("a file system can't be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("form", ["bin", "parquet", "safetensors", "megatron"])
def test_a_full_disk(arguments: Arguments, small_disk: Path, form: str) -> None:
    given = [form if word == "bin" else word for word in arguments]
    given.insert(given.index("--shard-size"), "--lines")
    folder = small_disk / "f"
    done = process(*given, "-o", folder)
    assert done.code == 2
    assert done.err.startswith(f"error: can't write {folder}/")
    assert ": No space left on device\n" in done.err
    hint = "make room there, or look at its rights; the complete shards stay in"
    assert f"hint: {hint} {folder}; to continue" in done.err
    journal = (folder / "journal.jsonl").read_bytes().splitlines()
    whole = [orjson.loads(line)["shard"]["file"] for line in journal[1:]]
    assert whole
    assert set(whole) <= {path.name for path in folder.iterdir()}
    grow = ["mount", "-o", "remount,size=30m", str(small_disk)]
    subprocess.run(grow, check=True)
    resumed = process(*given, "-o", folder, "--resume")
    assert (resumed.code, "were already there" in resumed.err) == (0, True)
    assert process(*given, "-o", "whole").code == 0
    assert made.contents(folder) == made.contents(Path("whole"))


@pytest.mark.few(2)
@systems.limits
@pytest.mark.parametrize("form", ["bin", "npy", "parquet", "safetensors", "megatron"])
def test_a_file_that_can_not_grow(arguments: Arguments, form: str) -> None:
    """Without a full disk: the system lets no file of the process grow."""

    given = (*arguments[:4], form, "--lines", "a.txt", "-o", "ids")
    done = process(*given, preexec_fn=systems.no_file_grows(50_000))
    assert done.code == 2
    name = "ids.bin" if form == "megatron" else "ids"
    assert done.err.startswith(f"error: can't write {name}: File too large\n")
    assert not [path for path in Path().iterdir() if "ids" in path.name]


@systems.linux
def test_a_folder_that_can_not_be_made(arguments: Arguments) -> None:
    done = process(*arguments, "-o", "/proc/shards")
    assert done.code == 2
    assert done.err.startswith("error: can't write to /proc/shards: ")


def test_a_pipe_that_is_closed(arguments: Arguments) -> None:
    for form in ("bin", "npy", "parquet", "safetensors"):
        words = [str(word) for word in command(*arguments[:4], form, "a.txt", "b.txt")]
        reading, writing = os.pipe()
        writer = subprocess.Popen(words, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        assert len(os.read(reading, 10)) == 10
        os.close(reading)
        assert (writer.communicate(timeout=600)[1], writer.returncode) == (b"", 0)
