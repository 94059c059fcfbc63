"""Tokenizers in other processes: forked while threads encode, spawned, in pools, in queues."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import systems
from tests.exact.ids_in_and_out import byte_level
from tests.formats.models import RECIPES, filled
from tokctl import Tokenizer, formats
from tokctl.core.values import cached_property

ROOT = Path(__file__).resolve().parents[2]
METHODS = multiprocessing.get_all_start_methods()
TEXTS = [f"hello there {number}" for number in range(200)]


@pytest.mark.few(2)
@systems.fork
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "unigram", "wordpiece", "word"])
@pytest.mark.parametrize("forks", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_a_child_that_was_forked_while_threads_encode_can_encode(
    tmp_path: Path, name: str, forks: int
) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(formats.serialize(filled(RECIPES[name])))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.api.forks", str(path), str(forks)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    warned = [line for line in done.stderr.splitlines() if "multi-threaded" not in line]
    assert (done.stdout, warned) == (f"0 of {forks} failed\n", [])


@systems.fork
def test_a_child_can_ask_for_what_was_being_computed_when_it_was_forked() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def answer(self) -> int:
            begun.set()
            go_on.wait(600)
            return 7

    slow = Slow()
    thread = threading.Thread(target=lambda: slow.answer)
    thread.start()
    begun.wait(600)
    child = os.fork()
    if child == 0:
        go_on.set()
        os._exit(0 if (Slow().answer, slow.answer) == (7, 7) else 1)
    go_on.set()
    thread.join()
    deadline = time.monotonic() + 600
    ended = (0, 0)
    while ended[0] == 0 and time.monotonic() < deadline:
        ended = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    assert ended == (child, 0)


def test_of_two_values_computed_at_once_the_first_stays() -> None:
    class Twice:
        @cached_property
        def answer(self) -> object:
            """What it is."""
            if "answer" not in self.__dict__ and not inside:
                inside.append(True)
                first.append(self.answer)
            return object()

    inside: list[bool] = []
    first: list[object] = []
    made = Twice()
    assert made.answer is made.answer is first[0]
    assert Twice.answer.__doc__ == "What it is."


def ids_of(tokenizer: Tokenizer, threads: int, texts: list[str]) -> list[list[int]]:
    return tokenizer.encode_ids(texts, threads=threads)


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_of_processes(method: str) -> None:
    tokenizer = byte_level()
    wanted = tokenizer.encode_ids(TEXTS, threads=2)
    context = multiprocessing.get_context(method)
    parts = [TEXTS[:100], TEXTS[100:]]
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(partial(ids_of, tokenizer, 2), parts))
        arrays = list(pool.map(tokenizer.encode_array, TEXTS[:5]))
    assert [*found[0], *found[1]] == wanted
    assert [array.tolist() for array in arrays] == wanted[:5]


class Loader:
    """What a DataLoader of PyTorch does: workers with a copy of the data set, one queue of numbers,
    one of batches."""

    def __init__(self, data: Any, method: str, workers: int) -> None:
        context = multiprocessing.get_context(method)
        self.numbers, self.made = context.Queue(), context.Queue()
        self.size = len(data)
        self.workers = [
            context.Process(target=serve, args=(data, self.numbers, self.made))
            for _ in range(workers)
        ]

    def __iter__(self) -> Iterator[Any]:
        for worker in self.workers:
            worker.start()
        for number in range(self.size):
            self.numbers.put(number)
        for _ in self.workers:
            self.numbers.put(None)
        found = dict(self.made.get(timeout=600) for _ in range(self.size))
        for worker in self.workers:
            worker.join(600)
        assert [worker.exitcode for worker in self.workers] == [0] * len(self.workers)
        yield from (found[number] for number in range(self.size))


def serve(data: Any, numbers: Any, made: Any) -> None:
    while (number := numbers.get()) is not None:
        made.put((number, data[number]))


class Data:
    """A data set that encodes when it is asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return 40

    def __getitem__(self, number: int) -> Any:
        return self.tokenizer.encode_array(TEXTS[number])


@pytest.mark.parametrize("method", METHODS)
def test_workers_that_encode_for_a_queue(method: str) -> None:
    tokenizer = byte_level()
    tokenizer.encode_ids(TEXTS, threads=2)
    found = [ids.tolist() for ids in Loader(Data(tokenizer), method, 2)]
    assert found == tokenizer.encode_ids(TEXTS[:40])
    gc.collect()
