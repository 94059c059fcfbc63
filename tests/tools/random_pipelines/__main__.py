"""`python -m tests.tools.random_pipelines --seeds 1000 --strings 50`: counts, and what differs."""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter

from tests.tools.random_pipelines.compare import compared


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.random_pipelines", description=__doc__
    )
    parser.add_argument("--seeds", type=int, default=1000, help="documents")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--strings", type=int, default=50, help="texts for each")
    parser.add_argument("--seconds", type=float, help="stop after these")
    asked = parser.parse_args()
    states: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    strings = differing = differences = seeds = 0
    start = time.monotonic()
    for seed in range(asked.first, asked.first + asked.seeds):
        if asked.seconds and time.monotonic() - start > asked.seconds:
            break
        seeds += 1
        found = compared(seed, asked.strings)
        states[re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "…", found.state)[:110]] += 1
        for reason, times in found.stopped.items():
            stopped[re.sub(r"\d+", "…", reason)] += times
        strings += found.strings
        differences += len(found.differences)
        differing += bool(found.differences)
        if found.differences:
            shortest = min(found.differences, key=lambda one: len(one.text + (one.pair or "")))
            print(f"{len(found.differences)} differ: {shortest}", flush=True)
    print(f"{seeds} seeds, {strings} strings, {differences} differences of {differing} seeds")
    for title, counts in (("documents", states), ("strings not taken", stopped)):
        for reason, times in counts.most_common():
            print(f"{title}: {times} {reason}")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
