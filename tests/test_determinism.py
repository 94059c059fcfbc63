"""The same input and options give the same bytes of model file: for any number of threads,
from a file or stdin, in any process, under any hash seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokctl import Tokenizer, default_recipe, formats, preset
from tokctl.sources.corpora import corpus_path

RECIPES = {
    "gpt2": preset("gpt2"),
    "notebook-bpe": preset("notebook-bpe"),
    "notebook-wordpiece": preset("notebook-wordpiece"),
    "wordpiece": default_recipe("wordpiece"),
    "characters": default_recipe("bpe", characters=True),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Larger than a block of the reader, so that cuts and threads come into play."""
    path = tmp_path_factory.mktemp("determinism") / "text.txt"
    sample = corpus_path("sample").read_bytes()
    path.write_bytes(b"\n".join(sample.replace(b"the", b"th%d" % n) for n in range(120)))
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_threads_do_not_show(name: str, text: Path) -> None:
    digests = {
        hashlib.sha256(
            formats.serialize(
                Tokenizer.train([text], recipe=RECIPES[name], vocab_size=900, threads=n).model
            )
        ).hexdigest()
        for n in (1, 2, 5)
    }
    assert len(digests) == 1


def run(arguments: list[str], folder: Path, stdin: bytes | None, seed: int) -> str:
    environ = {**os.environ, "PYTHONHASHSEED": str(seed)}
    subprocess.run(
        [sys.executable, "-m", "tokctl", "-q", "train", "-o", "model.json", *arguments],
        cwd=folder,
        input=stdin,
        env=environ,
        check=True,
        capture_output=True,
    )
    return hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece"])
def test_processes_files_and_stdin_do_not_show(algorithm: str, text: Path, tmp_path: Path) -> None:
    options = ["--algo", algorithm, "--vocab", "1000"]
    digests = {run([*options, str(text)], tmp_path, None, seed) for seed in range(8)}
    digests.add(run([*options, "--threads", "1", str(text)], tmp_path, None, 1))
    digests.add(run([*options, "--threads", "2", "-"], tmp_path, text.read_bytes(), 2))
    assert len(digests) == 1


def test_nothing_of_the_machine_is_in_a_model_file(text: Path) -> None:
    data = formats.serialize(Tokenizer.train([text], vocab_size=300).model)
    assert str(text).encode() not in data and b"text.txt" not in data
    assert str(Path.home()).encode() not in data
