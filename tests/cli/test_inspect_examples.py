"""The examples in `tokctl inspect --help` do what they say."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import save_file

from tests.cli.inspecting import inspect
from tests.cli.run import process
from tokctl import Tokenizer
from tokctl.cli.inspect import EXAMPLES
from tokctl.sources.corpora import corpus_path

PREFIX = "  tokctl inspect "
LINES = [line.removeprefix(PREFIX) for line in EXAMPLES.splitlines() if line.startswith(PREFIX)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    made = tmp_path_factory.mktemp("examples")
    text = corpus_path("sample").read_bytes() + b" lowest nearest " * 20
    (made / "book.txt").write_bytes(text)
    for algorithm in ("bpe", "unigram"):
        tokenizer = Tokenizer.train([made / "book.txt"], vocab_size=900, algorithm=algorithm)
        tokenizer.save(made / f"book.{algorithm}.json")
    rows = numpy.random.default_rng(0).normal(size=(900, 4)).astype("f4")
    save_file({"model.embed_tokens.weight": rows}, made / "model.safetensors")
    return made


def helped() -> str:
    found = process("inspect", "--help", env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert (found.code, found.err) == (0, "")
    return found.out.decode()


def test_there_are_some() -> None:
    assert len(LINES) > 10
    shown = helped()
    assert all(" ".join(line.split()[:2]) in shown for line in LINES)


#: What needs the network, and what needs a terminal for its keys (tests/cli/test_watch.py).
ELSEWHERE = ("hf:", "--watch")


@pytest.mark.few(2)
@pytest.mark.parametrize("line", [line for line in LINES if not any(e in line for e in ELSEWHERE)])
@pytest.mark.parametrize("terminal", [False, True])
def test_every_example_works(
    line: str, terminal: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ran = inspect(*shlex.split(line), terminal=terminal)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip()


def test_a_panel_for_the_questions_and_one_for_the_answers() -> None:
    shown = helped()
    for panel in ("Questions (one at a time)", "How it answers", "Everywhere"):
        assert f" {panel} " in shown
