"""A training that is ended at random moments, or has nowhere to write: what it leaves is whole or
absent, and doing it again gives the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import command, error, names, process
from tests.cli.test_train_memory import words
from tests.faults.killing import Moments

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("TOKCTL_SEED", "20261"))
MOMENTS = 50
#: What a shell shows for them; before Python has begun, the system ends the process itself.
ENDED = {systems.KILL: (systems.KILLED,)} | {
    number: (128 + number, -number) for number in systems.ENDING
}
ALIKE = ("train", "-q", "--vocab", "600", "--min-count", "2", "-o", "m.json")
FROM_TEXT = (*ALIKE, "--memory", "16M", "--save-counts", "w.tsv", "text")
FROM_COUNTS = (*ALIKE, "--word-counts", "w.tsv")


class Undisturbed:
    """What a training gives, and how many seconds it takes."""

    def __init__(self, folder: Path) -> None:
        (folder / "text").write_bytes(words(200_000))
        started = time.perf_counter()
        assert process(*FROM_TEXT, cwd=folder) == (0, b"m.json\n", "")
        self.seconds = time.perf_counter() - started
        self.model = (folder / "m.json").read_bytes()
        self.counts = (folder / "w.tsv").read_bytes()
        assert process(*FROM_COUNTS, cwd=folder) == (0, b"m.json\n", "")
        self.from_counts = (folder / "m.json").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a training runs; its temporary files would be found in `spill`."""
    (tmp_path / "run").mkdir()
    (tmp_path / "spill").mkdir()
    (tmp_path / "run" / "text").write_bytes(words(200_000))
    yield tmp_path / "run"
    assert names(tmp_path / "spill") == []


def started(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*FROM_TEXT),
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder.parent / "spill")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_whatever_ends_it_and_whenever(undisturbed: Undisturbed, folder: Path) -> None:
    source = random.Random(SEED)
    moments = Moments(source, undisturbed.seconds)
    seen = {"ended": 0, "counts": 0}
    for number in range(10 * MOMENTS):
        if number >= MOMENTS and seen["ended"] >= 10 and seen["counts"] >= 2:
            break
        ending = source.choice(list(ENDED))
        after = moments.next()
        what = f"seed {SEED}, number {number}: {ending.name} after {after:.3f} s"
        for name in names(folder):
            if name != "text":
                (folder / name).unlink()
        old = b"old" if source.random() < 0.5 else None
        if old:
            (folder / "m.json").write_bytes(old)
        with started(folder) as running:
            time.sleep(after)
            running.send_signal(ending)
            out, err = running.communicate(timeout=600)
        moments.heard(in_time=running.returncode != 0)
        left = set(names(folder)) - {"text"}
        model = (folder / "m.json").read_bytes() if "m.json" in left else None
        if running.returncode == 0:
            assert (out, model) == (b"m.json\n", undisturbed.model), what
        else:
            # While Python itself begins, Ctrl-C is heard in its own way.
            early = ending == signal.SIGINT and err.endswith(b"KeyboardInterrupt\n")
            code = running.returncode
            assert code in ENDED[ending] or (early and code == 1), f"{what}: {code}, {err!r}"
            assert early or b"Traceback" not in err, f"{what}: {err!r}"
            assert model in (old, undisturbed.model), what
            seen["ended"] += 1
        others = left - {"m.json", "w.tsv"}
        if ending == systems.KILL:
            assert all(name.startswith((".m.json.", ".w.tsv.")) for name in others), what
        else:
            assert others == set(), f"{what}: {others}"
        if "w.tsv" in left:
            seen["counts"] += 1
            assert (folder / "w.tsv").read_bytes() == undisturbed.counts, what
            expected = undisturbed.from_counts
        else:
            expected = undisturbed.model
        if number % 4 == 0:
            again: tuple[str, ...] = FROM_COUNTS if "w.tsv" in left else FROM_TEXT
            assert process(*again, cwd=folder) == (0, b"m.json\n", ""), what
            assert (folder / "m.json").read_bytes() == expected, what
    assert seen["ended"] >= 10 and seen["counts"] >= 2, f"seed {SEED}: {seen}"


@systems.limits
@pytest.mark.parametrize("limit", [100, 1000])
def test_a_disk_that_is_full_when_the_model_is_written(
    undisturbed: Undisturbed, folder: Path, limit: int
) -> None:
    limited = systems.no_file_grows(limit)
    (folder / "w.tsv").write_bytes(undisturbed.counts)
    (folder / "m.json").write_bytes(b"old")
    done = process(*FROM_COUNTS, cwd=folder, preexec_fn=limited)
    hint = "choose another place with -o PATH"
    assert done == (2, b"", error("can't write m.json: File too large", hint))
    assert names(folder) == ["m.json", "text", "w.tsv"]
    assert (folder / "m.json").read_bytes() == b"old"
    # The counts are the first that does not fit.
    made = ("train", "-q", "--vocab", "600", "--save-counts", "v.tsv", "-o", "m.json", "text")
    done = process(*made, cwd=folder, preexec_fn=limited)
    assert done == (2, b"", error("can't write v.tsv: File too large", hint))
    assert names(folder) == ["m.json", "text", "w.tsv"]


@systems.linux
def test_a_folder_that_takes_no_files(folder: Path) -> None:
    done = process("train", "-q", "--vocab", "300", "-o", "/proc/m.json", "text", cwd=folder)
    assert done.code == 2 and done.err.startswith("error: can't write /proc/m.json: "), done.err
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    if os.access(locked, os.W_OK):
        return  # who may do everything is not kept out
    done = process("train", "-q", "--vocab", "300", "-o", "locked/m.json", "text", cwd=folder)
    hint = "choose another place with -o PATH"
    assert done == (2, b"", error("can't write locked/m.json: Permission denied", hint))


def test_two_at_once_write_the_same_file(undisturbed: Undisturbed, folder: Path) -> None:
    with started(folder) as one, started(folder) as other:
        outs = [running.communicate(timeout=600) for running in (one, other)]
    assert [one.returncode, other.returncode] == [0, 0], outs
    assert names(folder) == ["m.json", "text", "w.tsv"]
    assert (folder / "m.json").read_bytes() == undisturbed.model
    assert (folder / "w.tsv").read_bytes() == undisturbed.counts
