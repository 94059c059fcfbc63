"""Ids in and out: nothing leaks, nothing is freed too early, threads share what there is."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc

import numpy as np

from tests.exact.ids_in_and_out import WORDS, byte_level, outcome
from tokctl import Tokenizer, preset


def test_references_are_counted() -> None:
    tokenizer = Tokenizer.train(
        {f" w{number:x}".encode(): 3 for number in range(400)},
        recipe=preset("gpt2"),
        vocab_size=500,
    )
    ids = tokenizer.encode_ids(b"".join(b" w%x" % number for number in range(400)))
    # Above the ints that Python keeps itself.
    number = next(id_ for id_ in ids if id_ > 300)
    ids = [id_ for id_ in ids if id_ == number]
    text = tokenizer.decode_bytes(ids)
    first = tokenizer.encode_ids(text)
    assert all(one is first[0] for one in first), "an int was made where one is kept"

    def count() -> int:
        # Apart from `assert`, which keeps what it looks at.
        return sys.getrefcount(first[0])

    before = count()
    again = [tokenizer.encode_ids(text) for _ in range(50)]
    batch = tokenizer.encode_ids([text] * 50)
    made = count() - before
    assert made == 100 * len(first)
    for _ in range(50):
        tokenizer.decode_bytes(again[0])
        tokenizer.encode_array(text)
    made = count() - before
    assert made == 100 * len(first)
    del again, batch
    made = count() - before
    assert made == 0
    del tokenizer
    gc.collect()
    kept = count() - before
    assert kept == -1, "the table was left behind"


def test_texts_are_let_go() -> None:
    text, data = "für " * 50, b"for " * 50
    before = sys.getrefcount(text), sys.getrefcount(data)
    for _ in range(20):
        byte_level().encode_ids([text, data] * 5, threads=2)
        byte_level().encode_array(text)
        byte_level().encode_ids(data)
    assert (sys.getrefcount(text), sys.getrefcount(data)) == before


def test_memory_stays_the_same() -> None:
    tokenizer = byte_level()
    text = " there hello" * 500
    ids = tokenizer.encode_ids(text)
    read = np.array(ids)

    def work() -> None:
        view = memoryview(tokenizer.encode_array(text))
        tokenizer.decode_bytes(view), tokenizer.decode(read), tokenizer.decode(ids)
        tokenizer.encode_ids([text, "ü"]), outcome(lambda: tokenizer.decode([*ids, 2**40]))
        outcome(lambda: tokenizer.decode([*ids, 4000])), tokenizer.encode_array("\udc80")

    for _ in range(5):
        work()

    def grown() -> int:
        """By how many bytes; the other threads of the process take memory, too."""
        tracemalloc.start()
        try:
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(30):
                work()
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return after - before

    more = [grown() for _ in range(3)]
    assert min(more) < len(text), f"{more} bytes more"


def test_the_collector_goes_on() -> None:
    texts = ["hello"] * 5_000
    assert gc.isenabled()
    byte_level().encode_ids(texts)
    assert gc.isenabled()
    gc.disable()
    try:
        byte_level().encode_ids(texts)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_encoding_while_the_collector_runs_our_code() -> None:
    """A finalizer that encodes with the same tokenizer, started by the lists that are made."""
    tokenizer = byte_level()
    text = " there hello" * 20
    wanted = tokenizer.encode_ids(text)
    seen: list[bool] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            seen.append(tokenizer.encode_ids(text) == wanted)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(50):
            Cycle()
            assert tokenizer.encode_ids(text) == wanted
            assert tokenizer.encode_ids([text, text]) == [wanted, wanted]
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(seen) == 50 and all(seen)


def test_threads_share_a_tokenizer() -> None:
    tokenizer = Tokenizer.train(WORDS, recipe=preset("gpt2"), vocab_size=290)
    text = " there hello für" * 3_000
    ids = byte_level().encode_ids(text) and tokenizer.encode(text).ids
    wrong: list[str] = []

    def work() -> None:
        for _ in range(5):
            if tokenizer.encode_ids(text) != ids or tokenizer.encode_array(text) != ids:
                wrong.append("encoded")
            if tokenizer.decode(tokenizer.encode_array(text)) != text or (
                tokenizer.decode(ids) != text
            ):
                wrong.append("decoded")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
