"""Search random texts for random patterns: `python -m tests.tools.random_patterns --pairs N`."""

from __future__ import annotations

import argparse
import sys
from time import process_time

from tests.tools.random_patterns.compare import campaign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs of pattern and text")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = process_time()
    outcome = campaign(options.seed, options.pairs)
    refused = outcome.refused.total()
    print(f"{outcome.pairs:,} pairs, {outcome.patterns:,} patterns, {outcome.matches:,} matches")
    print(f"{outcome.invalid:,} invalid there; {outcome.timeouts} searches given up")
    print(f"{process_time() - start:,.0f} s of processor time")
    share = refused / (refused + outcome.patterns)
    print(f"{refused:,} refused ({share:.2%}):")
    for why, count in outcome.refused.most_common(30):
        print(f"  {count:7,}  {why}")
    print(f"{len(outcome.faults)} differ")
    for fault in sorted(outcome.faults, key=len)[:20]:
        print(f"  {fault}")
    return bool(outcome.faults)


if __name__ == "__main__":
    sys.exit(main())
