"""Forks while other threads encode: `python -m tests.api.forks MODEL FORKS`.

Each child encodes, on its own and with threads; one that waits for a lock is killed by its alarm.
Prints how many children failed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from tokctl import Tokenizer

#: Seconds that a child may take, on a machine that has much else to do.
PATIENCE = 300

TEXTS = [f"There is still a lot of treasure {number}" for number in range(100)]


def answers(tokenizer: Tokenizer) -> Any:
    """What every way to encode gives."""
    native = tokenizer.encoder
    return (
        tokenizer.encode_ids(TEXTS, threads=2),
        tokenizer.encode_array(" ".join(TEXTS), threads=2).tolist(),
        native.array("x y " * 500, 2, None, None, False, 64).tolist(),
        list(tokenizer.encode_iter(TEXTS, threads=2)),
        tokenizer.encode(TEXTS[0]).ids,
        tokenizer.decode(tokenizer.encode_ids(TEXTS[0])),
    )


def main() -> None:
    model, forks = sys.argv[1], int(sys.argv[2])
    wanted = answers(Tokenizer.load(model))
    tokenizer = Tokenizer.load(model)
    text, words = "a lot of treasure\n" * 100_000, ["a lot", "of treasure"] * 20_000
    stop = threading.Event()

    def chunks() -> None:
        while not stop.is_set():
            # Small chunks: memory is taken and given back all the time.
            tokenizer.encoder.array(text, 3, None, None, False, 32)

    def batches() -> None:
        while not stop.is_set():
            tokenizer.encode_array(words)

    threads = [threading.Thread(target=work) for work in (chunks, batches)]
    for thread in threads:
        thread.start()
    failed = 0
    for _ in range(forks):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(PATIENCE)
                code = int(answers(tokenizer) != wanted)
            finally:
                os._exit(code)
        failed += os.waitpid(child, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    print(f"{failed} of {forks} failed")


if __name__ == "__main__":
    main()
