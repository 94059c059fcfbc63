"""The same input and options give the same bytes of model file: for any number of threads,
from a file or stdin, in any process, under any hash seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import slow_but
from tokctl import Tokenizer, default_recipe, formats, preset
from tokctl.model import ALGORITHMS
from tokctl.model.presets import PRESETS
from tokctl.sources.corpora import corpus_path

RECIPES = {
    **{name: preset(name) for name in PRESETS},
    **{f"default {name}": default_recipe(name) for name in ALGORITHMS},
    "default characters": default_recipe("bpe", characters=True),
    "boundless with removals": default_recipe("boundless").with_threshold(),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Larger than a block of the reader, so that cuts and threads come into play."""
    path = tmp_path_factory.mktemp("determinism") / "text.txt"
    sample = corpus_path("sample").read_bytes()
    path.write_bytes(b"\n".join(sample.replace(b"the", b"th%d" % n) for n in range(120)))
    return path


def digest(name: str, text: Path, threads: int) -> str:
    """Of a model file, and of the ids that the model gives; `threads` for both."""
    options = {"recipe": RECIPES[name], "vocab_size": 900, "threads": threads}
    tokenizer = Tokenizer.train([text], **options)
    lines = text.read_text(encoding="utf-8")[:40_000].split("\n")
    found = [tokenizer.encode_ids(lines, threads=threads)]
    found.append([encoding.ids for encoding in tokenizer.encode_batch(lines[:50], threads=threads)])
    return hashlib.sha256(formats.serialize(tokenizer.model) + repr(found).encode()).hexdigest()


@pytest.mark.parametrize("name", RECIPES)
def test_threads_do_not_show(name: str, text: Path) -> None:
    assert len({digest(name, text, threads) for threads in (1, 2, 5)}) == 1


def test_processes_and_hash_seeds_do_not_show(text: Path, tmp_path: Path) -> None:
    """Every recipe, in three processes, with one thread and with two."""
    short = tmp_path / "short.txt"
    short.write_bytes(text.read_bytes()[:300_000])
    program = (
        "import sys; from pathlib import Path; from tests.test_determinism import RECIPES, digest\n"
        "for name in RECIPES: print(name, digest(name, Path(sys.argv[1]), int(sys.argv[2])))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(short), str(threads)],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed, threads in ((0, 1), (1, 2), (4_294_967_295, 2))
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == len(RECIPES)


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


@pytest.mark.parametrize("algorithm", slow_but(ALGORITHMS, "bpe", "unigram"))
def test_processes_files_and_stdin_do_not_show(algorithm: str, text: Path, tmp_path: Path) -> None:
    options = ["--algo", algorithm, "--vocab", "1000"]
    digests = {run([*options, str(text)], tmp_path, None, seed) for seed in range(4)}
    digests.add(run([*options, "--threads", "1", str(text)], tmp_path, None, 1))
    digests.add(run([*options, "--threads", "2", "-"], tmp_path, text.read_bytes(), 2))
    assert len(digests) == 1


def test_nothing_of_the_machine_is_in_a_model_file(text: Path) -> None:
    data = formats.serialize(Tokenizer.train([text], vocab_size=300).model)
    assert str(text).encode() not in data and b"text.txt" not in data
    assert str(Path.home()).encode() not in data
