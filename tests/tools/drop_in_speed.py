"""How fast the stand-ins are beside the libraries, with a digest of the ids of both.

    python -m tests.tools.drop_in_speed TOKENIZER.json… --text FILE

One process; a batch has the first 1,000 documents of 20 lines. Both take turns, and the median of
five runs counts: of the processor's time with one thread, so that other programs do not matter
much, and of the time that passes with two.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

SHORT = "There is still a lot of treasure on the island."


#: All lists of an encoding.
COLUMNS = (
    *("ids", "type_ids", "tokens", "offsets", "word_ids", "sequence_ids"),
    *("special_tokens_mask", "attention_mask"),
)


def columns(row: Any) -> list[Any]:
    return [getattr(row, name) for name in COLUMNS]


def medians(calls: Sequence[Callable[[], Any]], times: int = 1) -> list[float]:
    """Seconds of each call."""
    clock = process_time if os.environ["RAYON_NUM_THREADS"] == "1" else perf_counter
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(5):
        for call, seconds in zip(calls, found, strict=True):
            start = clock()
            for _ in range(times):
                call()
            seconds.append((clock() - start) / times)
    return [median(seconds) for seconds in found]


def digest(rows: Any) -> str:
    return hashlib.sha256(repr([list(row) for row in rows]).encode()).hexdigest()[:8]


def measure(path: str, text: str) -> None:
    """Prints a row for each call, of both."""
    import tokenizers
    import transformers

    from tokctl import as_hf
    from tokctl.extras.compat.tokenizers import Tokenizer

    lines = Path(text).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    documents = ["".join(lines[n : n + 20]) for n in range(0, 20_000, 20)]
    long = "".join(documents)[:100_000]
    theirs, ours = tokenizers.Tokenizer.from_file(path), Tokenizer.from_file(path)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=theirs)
    both: list[tuple[str, Any, Any]] = [("tokenizers", theirs, fast), ("tokctl", ours, as_hf(fast))]
    for title, call in (
        ("encode, a short text", lambda one, _: one.encode(SHORT).ids),
        ("encode, a short text, offsets", lambda one, _: one.encode(SHORT).offsets),
        ("encode, a short text, all lists", lambda one, _: columns(one.encode(SHORT))),
        ("encode, 100 kB, all lists", lambda one, _: columns(one.encode(long))),
        ("encode_batch, ids", lambda one, _: [row.ids for row in one.encode_batch(documents)]),
        (
            "encode_batch, ids and offsets",
            lambda one, _: [(row.ids, row.offsets) for row in one.encode_batch(documents)],
        ),
        ("encode_batch, all lists", lambda one, _: list(map(columns, one.encode_batch(documents)))),
        ("transformers, __call__", lambda _, one: one(documents)),
        (
            "transformers, __call__, offsets",
            lambda _, one: one(documents, return_offsets_mapping=True),
        ),
    ):
        times = 1000 if "short" in title else 1
        seconds = medians([partial(call, one, fast) for _, one, fast in both], times)
        print(
            f"{Path(path).name:24} {os.environ['RAYON_NUM_THREADS']} {title:32} "
            f"{seconds[0] * 1e3:10.3f} ms {seconds[1] * 1e3:10.3f} ms "
            f"{seconds[0] / seconds[1]:6.1f} x",
            flush=True,
        )
    ids = [digest(map(columns, one.encode_batch(documents))) for _, one, _ in both]
    hf = [digest(one(documents)["input_ids"]) for _, _, one in both]
    print(f"{Path(path).name:24} all lists {ids[0]} {ids[1]}, in transformers {hf[0]} {hf[1]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--text", required=True)
    asked = parser.parse_args()
    if "RAYON_NUM_THREADS" in os.environ:
        for path in asked.models:
            measure(path, asked.text)
        return
    for threads in ("1", "2"):
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"}
        command = [sys.executable, "-m", "tests.tools.drop_in_speed", *sys.argv[1:]]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
