"""`python -m tests.tools.zoo --files DIR`: compares every listed file and prints the table.

Results are kept as they come, in a file beside the others; a run goes on where one ended. Each
file has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.tools.zoo import listed, table

#: Seconds that one file may take, however busy the machine is.
WALL = 3000


def compared(entry: listed.Listed, path: Path, strings: int, lists: int) -> dict[str, Any]:
    """What the worker says of a file; `broken` where it ended otherwise."""
    command = [sys.executable, "-m", "tests.tools.zoo.worker", json.dumps(entry), str(path)]
    command += [str(strings), str(lists)]
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL, check=False
        )
    except subprocess.TimeoutExpired:
        return {"loads": False, "reason": f"no end within {WALL} s"}
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return {"loads": False, "reason": f"ended with {ran.returncode}: {' '.join(said)}"}
    # The library may have printed something of its own before.
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.zoo", description=__doc__)
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="the files")
    parser.add_argument("--fetch", action="store_true", help="fetch files that are missing there")
    parser.add_argument("--strings", type=int, default=20_000, help="of each (default: 20,000)")
    parser.add_argument(
        "--lists", type=int, default=5_000, help="damaged id lists of each (default: 5,000)"
    )
    parser.add_argument("--only", default="", help="only files with this in their name or family")
    parser.add_argument("--results", type=Path, help="default: DIR/results.jsonl")
    parser.add_argument("--workers", type=int, default=1, help="at once (default: 1)")
    parser.add_argument("--write", action="store_true", help="write the measured table into docs")
    given = parser.parse_args(arguments)
    results: Path = given.results or given.files / "results.jsonl"
    done: dict[str, dict[str, Any]] = {}
    if results.exists():
        lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
        done = {line["sha256"]: line for line in lines}
    wanted = [
        entry
        for entry in listed.read()
        if given.only in f"{entry.name} {entry.family} {entry.kind}"
    ]

    def one(entry: listed.Listed) -> None:
        path = listed.obtain(entry, given.files, fetch=given.fetch)
        if path is None:
            print(f"not here: {entry.name}", file=sys.stderr)
            return
        found = {"sha256": entry.sha256, **compared(entry, path, given.strings, given.lists)}
        if "missing" in found:
            print(f"needs {found['missing']}: {entry.name}", file=sys.stderr)
            return
        done[entry.sha256] = found
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        print(table.line(entry, found), flush=True)

    todo = [entry for entry in wanted if entry.sha256 not in done]
    with ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(one, todo))
    rows = table.rows(wanted, done)
    print(table.summary(rows))
    if given.write:
        table.write(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
