"""What training takes, by the size of the text and the number of workers: from a laptop to 10 TB.

    python -m tests.cluster.simulation FILE…

counts a sample of the files on this machine, and prints the table of `docs/cluster.md`: seconds
that the workers share, and those of the one machine that collects the counts and trains.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tokctl.extras.ray import Cluster
from tokctl.extras.ray.counting import PART_SIZE
from tokctl.extras.ray.plan import Costs, measure, planned
from tokctl.model.presets import default_recipe
from tokctl.sources import open_sources
from tokctl.training import TrainOptions

#: Bytes of text in files of at most `_FILE`, and workers.
CASES = (
    (10**9, 2),
    (10**10, 8),
    (10**11, 8),
    (10**11, 64),
    (10**12, 64),
    (10**12, 1000),
    (10**13, 1000),
)
_FILE = 10**9


def rows(costs: Costs) -> Iterator[Sequence[str]]:
    """The rows of the table."""
    yield (
        "text",
        "workers",
        "tasks",
        "distinct",
        "shared: count, digest, merge",
        "one machine: collect, train",
        "counts there",
    )
    for size, workers in CASES:
        plan = planned(
            costs,
            tasks=-(-size // PART_SIZE),
            size=size,
            longest=min(size, _FILE),
            workers=workers,
        )
        seconds = plan.seconds
        shared = sum(seconds[step] for step in ("count", "digest", "merge"))
        alone = sum(seconds[step] for step in ("collect", "train"))
        yield (
            f"{size / 10**9:,.0f} GB",
            f"{workers:,}",
            f"{plan.tasks:,}",
            f"{plan.distinct / 10**6:,.1f} M",
            f"{shared:,.0f} s",
            f"{alone:,.0f} s",
            f"{plan.final_memory / 10**9:,.1f} GB",
        )


def main(paths: Sequence[str]) -> None:
    parts = [part for some in Cluster().parts(open_sources(paths)) for part in some]
    costs = measure(parts, default_recipe("bpe"), TrainOptions(vocab_size=32_000))
    print(costs, file=sys.stderr)
    header, *others = rows(costs)
    for row in (header, ["---:"] * len(header), *others):
        print("|", " | ".join(row), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
