"""Counting within a limit of memory comes to the same as without: counts, order, lines."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.exact.spilled import BYTES, RECIPES, archive, counted, document, records, texts
from tokctl import training
from tokctl.sources import Source
from tokctl.training import TrainOptions, counting, counts


@given(
    given_texts=st.lists(texts, min_size=1, max_size=3),
    kinds=st.lists(st.sampled_from(["documents", "records", "archive"]), min_size=3, max_size=3),
    recipe=st.sampled_from(sorted(RECIPES)),
    memory=st.sampled_from([1, 1000, 20_000, 200_000]),
    threads=st.integers(1, 3),
    batch=st.integers(1, 20),
    least=st.integers(1, 3),
    weights=st.lists(st.integers(0, 5), min_size=12, max_size=12),
)
def test_no_limit_changes_the_counts(
    given_texts: list[list[bytes]],
    kinds: list[str],
    recipe: str,
    memory: int,
    threads: int,
    batch: int,
    least: int,
    weights: list[int],
) -> None:
    sources: list[Source] = []
    expected: list[Source] = []
    for number, (some, kind) in enumerate(zip(given_texts, kinds, strict=False)):
        lone = [document(f"{number}.{at}", text) for at, text in enumerate(some)]
        weighed = [t for t, n in zip(some, weights, strict=False) for _ in range(n)]
        if kind == "documents":
            sources += lone
            expected += lone
        elif kind == "archive":
            sources.append(archive(str(number), lone))
            expected += lone
        else:
            sources.append(records(str(number), some, weights[: len(some)], batch))
            expected += [document(f"{number}.{at}", text) for at, text in enumerate(weighed)]
    limited, _ = counted(sources, RECIPES[recipe], memory=memory, threads=threads, min_count=least)
    assert limited == counted(expected, RECIPES[recipe], threads=1, min_count=least)[0]


class Watched(counting.Scratch):
    """Remembers how often it is written, and by how many."""

    runs = 0
    files = 0

    def __init__(self, folder: str | Path | None) -> None:
        super().__init__(folder)
        Watched.files += 1

    def append(self, data: bytes) -> None:
        super().append(data)
        Watched.runs += 1


@pytest.mark.parametrize("threads", [1, 2])
def test_hundreds_of_runs_over_several_passes(
    monkeypatch: pytest.MonkeyPatch, sample: str, threads: int
) -> None:
    monkeypatch.setattr(counting, "Scratch", Watched)
    monkeypatch.setattr(Watched, "runs", 0)
    lines = sample.encode().splitlines(keepends=True) * 20
    seen = []

    def progress(phase: str, done: int, total: int | None) -> None:
        seen.append((phase, done, total))

    options = TrainOptions(vocab_size=300, memory=1000, threads=threads)
    limited, _ = training.count([records("r", lines, batch=50)], BYTES, options, progress)
    assert Watched.runs > 300
    plain, _ = training.count([records("r", lines)], BYTES, TrainOptions(vocab_size=300))
    assert limited.to_lines() == plain.to_lines()
    assert all(total is None or done <= total for _, done, total in seen)


def test_lines_of_counts_within_a_limit() -> None:
    lines = b"".join(b"word%d\t%d\n" % (n * 7919 % 5000, n) for n in range(20_000))
    found = [
        training.count_lines(document("w", lines, 999), BYTES, options)[0].to_lines()
        for options in (
            TrainOptions(vocab_size=1, min_count=3),
            TrainOptions(vocab_size=1, min_count=3, memory=10_000),
        )
    ]
    assert found[0] == found[1] and found[0].startswith(b"word0\t")
    assert counts.read(document("w", found[0])) == counts.read(document("w", found[1]))


def test_counts_that_64_bits_can_not_hold_are_refused_alike() -> None:
    lines = b"a\t9000000000000000000\nb\t1\na\t9000000000000000000\nc\t2\n"
    messages = []
    for memory in (None, 1):
        with raises_code("too-large", "2\\^63 or more") as caught:
            training.count_lines(
                document("w", lines), BYTES, TrainOptions(vocab_size=1, memory=memory)
            )
        messages.append((caught.value.message, caught.value.hint))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("where", ["append", "read", "scratch"])
def test_a_disk_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full:
        seek = write = read = full

        def close(self) -> None:
            pass

    class Half(counting.Scratch):
        def append(self, data: bytes) -> None:
            super().append(data)
            self._file = Full()  # type: ignore[assignment]

    if where == "scratch":
        monkeypatch.setattr(counting, "TemporaryFile", full)
    elif where == "append":
        monkeypatch.setattr(counting, "TemporaryFile", lambda **_: Full())
    else:
        monkeypatch.setattr(counting, "Scratch", Half)
    with raises_code("unreadable") as caught:
        counted([records("r", [b"a b", b"c"])], memory=1, threads=1)
    assert "No space left on device" in caught.value.message
    assert caught.value.hint and "$TMPDIR" in caught.value.hint


def test_what_progress_raises_ends_the_merging() -> None:
    def progress(phase: str, _done: int, _total: int | None) -> None:
        if phase == "merge-runs":
            raise KeyboardInterrupt

    words = [b"%d" % n for n in range(60_000)]
    options = TrainOptions(vocab_size=300, memory=100_000, threads=1)
    with pytest.raises(KeyboardInterrupt):
        training.count([records("r", words, batch=5000)] * 40, BYTES, options, progress)


PEAK = """
import random, sys
from tests.memory import peak
from tests.exact.spilled import BYTES, counted
from tokctl.sources import Document

numbers = random.Random(1)
again = numbers.randbytes(60_000)
letters = bytes.maketrans(b"0123456789", b"ghijklmnop")

def blocks():
    for block in range(int(sys.argv[2])):
        # Words of twelve letters: nearly all of them once, ten thousand in every block.
        for some in (numbers.randbytes(900_000), again):
            yield some.hex(" ", 6).encode().translate(letters) + b" "

memory = int(sys.argv[1]) or None
counted([Document("a", 1, lambda: iter([b"a b"]))], memory=memory)
before = peak()
found, _ = counted([Document("a", None, blocks)], memory=memory, min_count=2, threads=2)
after = peak()
print(len(found), sum(times for _, times in found), (after - before) >> 10)
"""


def peak(memory: int, blocks: int) -> tuple[list[str], int]:
    """What was counted, and by how many MB of memory it went up."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(memory), str(blocks)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    *found, megabytes = done.stdout.split()
    return found, int(megabytes)


@pytest.mark.slow
@systems.linux
def test_the_peak_of_memory_is_what_was_allowed() -> None:
    limited, small = peak(32 << 20, 15)  # 31 MB of text, 2.3 million words
    plain, large = peak(0, 15)
    assert limited == plain
    assert small < 32 + 24 and large > 150, (small, large)
