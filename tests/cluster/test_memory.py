"""What a worker takes stays within its memory, and what it gives within that of the next."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tokctl.extras import arrow

pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")

from tokctl.extras.ray import counting  # noqa: E402

Rows = list[tuple[bytes, int]]


def table(rows: Rows, source: int, before: int) -> Any:
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    numbers = [columns[1], [source] * len(rows), range(before, before + len(rows))]
    arrays = [pa.array(columns[0], pa.large_binary()), *(pa.array(n, pa.uint64()) for n in numbers)]
    return pa.Table.from_arrays(arrays, ["pre_token", "count", "source", "place"])


def shuffled(
    rounds: list[list[Rows]], partitions: int, memory: int, least: int, seed: int
) -> tuple[Any, list[int]]:
    """Merges what tasks have given, in any order, without Ray; the counts, and how many bytes of
    tables each part of a merge has had."""
    seeded = random.Random(seed)
    shuffle = counting._Shuffle(partitions, memory)
    merges: list[Any] = []
    sizes: list[int] = []

    def give(merge: Any) -> tuple[Any, list[Any]]:
        read = sum(one.num_rows * counting.ROW + counting._length(one) for one in merge.tables)
        sizes.append(read // merge.parts)
        *found, (facts, _) = counting._merge._function(
            merge.least, merge.cuts, merge.partition, merge.partitions, merge.parts, *merge.tables
        )
        assert len(found) == merge.parts + len(merge.cuts)
        return facts, found

    def work() -> None:
        while merges:
            merge = merges.pop(seeded.randrange(len(merges)))
            merges.extend(shuffle.merged(merge, *give(merge)))

    tasks = [(number, some) for number, some in enumerate(rounds) if some]
    for number, some in seeded.sample(tasks, len(tasks)):
        before = 0
        found: list[Any] = []
        for rows in some:
            found += arrow.partition_counts(table(rows, number, before), partitions)
            before += len(rows)
        facts = counting._Facts(
            rows=[len(rows) for rows in some],
            lengths=[sum(len(word) for word, _ in rows) for rows in some],
        )
        task = counting._Count(number, counting._Task((), []), partitions, len(some))
        merges += shuffle.counted(task, facts, found)
        if seeded.random() < 0.5:
            work()
    work()
    while uneven := shuffle.leveled():
        merges += uneven
        work()
    rows = length = 0
    stretches = []
    for merge in shuffle.last(least):
        facts, some_found = give(merge)
        rows += sum(facts.rows)
        length += sum(facts.lengths)
        stretches.append(some_found)
    return arrow.collected(zip(*stretches, strict=True), rows, length), sizes


def counted(rounds: list[list[Rows]], least: int) -> list[tuple[bytes, int]]:
    """By the definition: what occurs so often, in the order in which it is first seen."""
    counts: Counter[bytes] = Counter()
    for word, count in (row for some in rounds for rows in some for row in rows):
        counts[word] += count
    return [(word, count) for word, count in counts.items() if count >= least]


WORDS = st.dictionaries(st.binary(min_size=1, max_size=2), st.integers(1, 9), max_size=6)
ROUNDS = st.lists(st.lists(WORDS.map(lambda words: list(words.items())), max_size=3), max_size=12)


@part_of_examples(2)
@given(
    rounds=ROUNDS,
    partitions=st.integers(1, 3),
    memory=st.sampled_from([counting.MERGED, 5000, 1 << 30]),
    fan_in=st.integers(2, 4),
    stretch=st.integers(1, 30),
    least=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_counts_do_not_depend_on_how_they_are_merged(
    rounds: list[list[Rows]],
    partitions: int,
    memory: int,
    fan_in: int,
    stretch: int,
    least: int,
    seed: int,
) -> None:
    # Parts beyond some thousands have nothing to divide.
    memory = max(memory, 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "FAN_IN", fan_in)
        patch.setattr(counting, "_STRETCH", stretch)
        found, _ = shuffled(rounds, partitions, memory, least, seed)
    assert found.items() == counted(rounds, least)


def test_what_is_merged_at_a_time_is_limited() -> None:
    seeded = random.Random(1)
    rounds = [[[(seeded.randbytes(8), 1) for _ in range(900)] for _ in range(2)] for _ in range(40)]
    most = 72_000
    found, sizes = shuffled(rounds, 2, most * counting.MERGED, 1, 3)
    assert found.items() == counted(rounds, 1)
    # A hash does not divide quite evenly.
    assert most / 2 < max(sizes) < 1.2 * most
    unlimited = max(shuffled(rounds, 2, 1 << 30, 1, 3)[1])
    assert unlimited > 10 * most


#: Counts a million distinct words, then merges the tables; prints how many bytes more than before
#: each takes, and how many rounds there were.
_MEASURED = """
import sys
from pathlib import Path
import pyarrow as pa
from tokctl.model.presets import default_recipe
from tokctl.extras.ray import counting
from tokctl.extras.ray.tasks import TaskResult, home
from tokctl.sources import open_sources
from tokctl.sources.parts import parts_of
from tokctl.training.options import TrainOptions

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10

def fresh():
    Path("/proc/self/clear_refs").write_text("5")
    return peak()

def count(path, store):
    reads = [(part, 1) for source in open_sources([path]) for part in parts_of(source, 1 << 30)]
    options = TrainOptions(vocab_size=300, memory=memory)
    asked = default_recipe("bpe"), options, home()
    rows = []
    # As Ray has them: not in the memory of the worker.
    for number, table in enumerate(counting._count._function(asked, reads, 0, 2, 0, 1000)):
        if isinstance(table, TaskResult):
            return table.given
        if table is not None:
            with pa.ipc.new_file(f"{store}.{number}", table.schema) as file:
                file.write_table(table)

text, store, memory = sys.argv[1], sys.argv[2], int(sys.argv[3])
count(text + ".small", store + ".small")
start = fresh()
facts = count(text, store)
counted = peak() - start
paths = [f"{store}.{number}" for number in range(0, 2 * len(facts.rows), 2)]
tables = [pa.ipc.open_file(pa.memory_map(path)).read_all() for path in paths[:16]]
size = sum(one.num_rows * counting.ROW + counting._length(one) for one in tables)
parts = counting.parts_of_each(size, 1, memory)
for table in tables:
    for column in table.columns:
        column.to_string()
start = fresh()
rows = 0
for table in counting._merge._function(1, [], 0, 2, parts, *tables):
    if not isinstance(table, TaskResult):
        rows += table.num_rows
print(counted, peak() - start, len(facts.rows), sum(facts.rows), parts, rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux measures it")
def test_a_worker_stays_within_its_memory(tmp_path: Path) -> None:
    """The process itself is measured, beside what it takes before the work."""
    seeded = random.Random(2)
    digits = bytes.maketrans(b"0123456789", b"ghijklmnop")
    words = b" ".join(b"%08x" % seeded.getrandbits(32) for _ in range(1_000_000)).translate(digits)
    (tmp_path / "a.txt").write_bytes(words)
    (tmp_path / "a.txt.small").write_bytes(words[:100_000])

    def measured(memory: int) -> list[int]:
        given = [str(tmp_path / "a.txt"), str(tmp_path / "table"), str(memory)]
        code = [sys.executable, "-c", _MEASURED, *given]
        run = subprocess.run(code, capture_output=True, text=True, check=True)
        return list(map(int, run.stdout.split()))

    limit = 80 << 20
    counting_took, merging_took, rounds, rows, parts, merged = measured(limit)
    assert counting_took < limit and merging_took < limit
    assert rounds > 3 and parts > 1 and rows > 990_000 and merged > 400_000
    assert measured(1 << 30)[0] > 1.4 * limit
