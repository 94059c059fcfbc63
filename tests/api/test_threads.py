"""One tokenizer in many threads of Python's."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.formats.models import RECIPES, filled
from tokctl import Texts, Tokenizer, preset
from tokctl.model import encoders
from tokctl.tokenizer.tokenizer import MOST_MATCHERS

TEXTS = [f"abc ab {'cab ' * (number % 50)} a{number} b" for number in range(300)]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "unigram", "wordpiece", "word", "llama2"])
def test_eight_threads_get_the_ids_of_one(name: str) -> None:
    model = filled(RECIPES[name])
    wanted = everything(Tokenizer(model))
    shared = Tokenizer(model)  # nothing of it is made yet
    start = threading.Barrier(8)

    def work(_: int) -> Any:
        start.wait()
        return everything(shared)

    with ThreadPoolExecutor(8) as pool:
        assert all(found == wanted for found in pool.map(work, range(8)))


def everything(tokenizer: Tokenizer) -> Any:
    ways: list[Callable[[], Any]] = [
        lambda: tokenizer.encode_ids(TEXTS),
        lambda: tokenizer.encode_ids(TEXTS, threads=2),
        lambda: list(tokenizer.encode_iter(TEXTS, threads=2, batch_size=50)),
        lambda: [tokenizer.encode_array(text, threads=2).tolist() for text in TEXTS[:30]],
        lambda: [tokenizer.encode(text).tokens for text in TEXTS[:20]],
        lambda: tokenizer.encode_array(" ".join(TEXTS) * 30, threads=2).tolist(),
        lambda: tokenizer.decode_batch(tokenizer.encode_ids(TEXTS), errors="replace"),
        lambda: tokenizer.encoder.cache_stats()[0] >= 0,
    ]
    return [way() for way in ways]


def test_threads_train_and_encode_at_once(tmp_path: Path) -> None:
    """Each training gives the model file that it gives alone, and each encoding its ids."""
    shared = Tokenizer(filled(RECIPES["gpt2"]))

    def work(turn: int) -> list[Any]:
        algorithm = ("bpe", "wordpiece", "unigram")[turn % 3]
        trained = Tokenizer.train(
            Texts(TEXTS), algorithm=algorithm, vocab_size=(270, 30, 20)[turn % 3], threads=2
        )
        path = tmp_path / f"{turn}.json"
        trained.save(path)
        ids = trained.encode_ids(TEXTS), shared.encode_ids(TEXTS, threads=2)
        return [path.read_bytes(), *ids]

    wanted = [work(turn) for turn in range(3)]
    with ThreadPoolExecutor(8) as pool:
        for turn, found in enumerate(pool.map(work, range(24))):
            assert found == wanted[turn % 3]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="Python has a GIL")
def test_the_gil_stays_off() -> None:
    code = "import sys, tokctl._native, tokctl.__main__; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_threads_with_special_tokens_of_their_own() -> None:
    """More selections than are kept, so that they are made again and again."""
    tokens = [f"<{number}>" for number in range(MOST_MATCHERS + 4)]
    recipe = replace(preset("gpt2"), special_tokens=tuple(tokens))
    tokenizer = Tokenizer.train({"a": 1}, recipe=recipe, vocab_size=300)

    def work(first: int) -> None:
        for turn in range(60):
            token = tokens[(first + turn) % len(tokens)]
            assert tokenizer.encode_ids(token, special=[token]) == [tokenizer.special_ids[token]]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@pytest.mark.parametrize("special", ["none", "all", ["<1>", "<2>"]])
def test_special_tokens_are_gone_through_once(
    special: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not at every call, also where there is nothing to find."""
    recipe = replace(preset("gpt2"), special_tokens=("<1>", "<2>"))
    tokenizer = Tokenizer.train({"a": 1}, recipe=recipe, vocab_size=300)
    calls = []
    make = encoders.matchers

    def counted(*given: Any) -> Any:
        calls.append(given)
        return make(*given)

    monkeypatch.setattr(encoders, "matchers", counted)
    found = {tuple(tokenizer.encode_ids("<1>a", special=special)) for _ in range(3)}
    assert len(found) == len(calls) == 1


def test_another_thread_runs_while_one_encodes() -> None:
    """The lock of Python's is not held: a long text does not stop the others."""
    tokenizer = Tokenizer(filled(RECIPES["gpt2"]))
    tokenizer.encode_ids("abc")
    assert any(steps_beside(tokenizer, "abc ab cab " * (500_000 << turn)) > 5 for turn in range(8))


def steps_beside(tokenizer: Tokenizer, text: str) -> int:
    """How often another thread looks around while this text is encoded: some times at the start
    and the end, and often in between. A machine that is fast, or busy, needs a longer text."""
    done = threading.Event()

    def work() -> None:
        tokenizer.encode_array(text, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
        done.wait(0.001)
    thread.join()
    return steps
