"""Shards that a cluster writes are those of one machine."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import error
from tests.cli.run import tokctl as run
from tests.cluster.conftest import workers
from tests.errors import raises_code
from tests.idfiles import made
from tests.idfiles.shared import NAMES, files
from tokctl import Tokenizer, idfiles

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    made.models(folder)
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def tokenizer(models_folder: Path) -> Tokenizer:
    return Tokenizer.load(models_folder / "bytes.json")


def both(tokenizer: Tokenizer, names: list[str], part_size: int, **given: Any) -> None:
    """Writes the folders `one` and `many`, which must be the same."""
    from tokctl.extras.ray import Cluster

    one = idfiles.write(tokenizer, names, "one", **given)
    cluster = Cluster(part_size=part_size)
    assert idfiles.write(tokenizer, names, "many", engine=cluster, **given) == one
    assert made.contents(Path("many")) == made.contents(Path("one"))


@pytest.mark.usefixtures("cluster")
def test_the_command_line(models_folder: Path) -> None:
    files()
    model = models_folder / "bytes.json"
    for form, size in (("bin", "300"), ("jsonl", "1K")):
        given: list[Any] = ["encode", "-m", model, "--as", form, "--shard-size", size]
        assert run(*given, "-o", f"one-{form}", *NAMES) == (0, b"", "")
        assert run(*given, "-o", form, "--engine", "ray", *NAMES) == (0, b"", "")
        assert made.contents(Path(form)) == made.contents(Path(f"one-{form}"))
    note = "note: bin is finished, with "
    given = ["encode", "-m", model, "--as", "bin", "--shard-size", "300"]
    again = run(*given, "-o", "bin", "--resume", "--engine", "ray", *NAMES)
    assert again.err.startswith(note)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_small_parts(tokenizer: Tokenizer, form: str) -> None:
    files()
    both(tokenizer, NAMES, 200, form=form, shard_size=100, eos="<|end|>")


@pytest.mark.usefixtures("cluster")
def test_errors_name_the_line(models_folder: Path) -> None:
    from tokctl.extras.ray import Cluster

    Path("a.txt").write_bytes(b"low\n" * 50 + b"lo%w\n")
    tokenizer = Tokenizer.load(models_folder / "no-unknown.json")
    with raises_code("no-id", r"a\.txt: line 51: "):
        idfiles.write(
            tokenizer, ["a.txt"], "many", form="bin", shard_size=5, engine=Cluster(part_size=20)
        )


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("form", ["bin", "parquet"])
def test_workers_that_are_killed(tokenizer: Tokenizer, form: str) -> None:
    for number in range(12):
        Path(f"{number}.txt").write_bytes(made.TRAINED_ON.encode() * 9000)
    names = [f"{number}.txt" for number in range(12)]
    ended = threading.Event()
    killed: list[int] = []
    source = random.Random(form)

    def kill() -> None:
        while not ended.wait(source.uniform(0.01, 0.15)):
            if (found := workers()) and len(killed) < 9:
                killed.append(source.choice(found))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        both(tokenizer, names, 300_000, form=form, shard_size=200_000, threads=1)
    finally:
        ended.set()
        killer.join()
    assert len(killed) > 2


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            ["--as", "bin"],
            "--engine needs --shard-size",
            "add --shard-size N, or leave --engine out",
        ),
        (
            ["--as", "bin", "--shard-size", "9", "--threads", "2"],
            "--engine can't be used with --threads: each task of a cluster has one thread",
            "leave one of them out",
        ),
        (
            ["--as", "bin", "--shard-size", "9", "--alpha", "0.1"],
            "--engine can't be used with --alpha: random segmentations depend on the texts before, "
            "and a cluster reads many at a time",
            "leave one of them out",
        ),
        (
            ["--as", "bin", "--shard-size", "9"],
            "stdin can't be read by the workers of a cluster",
            "put the text into a file where each of them finds it",
        ),
    ],
)
def test_what_a_cluster_does_not_do(
    models_folder: Path, options: list[str], message: str, hint: str
) -> None:
    model = models_folder / "unigram.json"
    done = run("encode", "-m", model, "--engine", "ray", "-o", "many", *options, "-", stdin=b"low")
    assert done == (2, b"", error(message, hint))
    assert not Path("many").exists()
    done = run("encode", "-m", model, "--engine", "spark", "--as", "bin", "--shard-size", "9", "-o",
               "many", "-", stdin=b"low")  # fmt: skip
    assert done == (
        2,
        b"",
        error("invalid value 'spark' for the engine", "choose ray, or ray://HOST:PORT"),
    )
