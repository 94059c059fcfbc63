"""Nothing outside `tokctl.extras` needs it: the ordinary commands run with the folder deleted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tokctl
from tokctl.sources.corpora import corpus_path

PACKAGE = Path(tokctl.__file__).parent
LINES = (
    "train --vocab 300 -o model.json text.txt",
    "train --algo wordpiece --vocab 300 -o words.json text.txt",
    "encode -m model.json text.txt",
    "encode -m model.json --json --offsets text.txt",
    "encode -m model.json --as npy --shard-size 2K -o shards text.txt",
    "encode -m model.json --count text.txt",
    "check shards",
    "decode -m model.json shards",
    "inspect model.json",
    "inspect model.json --word lamplighter",
    "inspect model.json --state 5 text.txt",
    "compare -m model.json -m words.json text.txt",
    "convert model.json --to tiktoken -o model.tiktoken",
    "train --help",
    "man encode",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without-extras")
    without = shutil.ignore_patterns("extras", "native", "__pycache__")
    shutil.copytree(PACKAGE, folder / "tokctl", ignore=without)
    shutil.copy(corpus_path("sample"), folder / "text.txt")
    return folder


@pytest.mark.slow
def test_ordinary_commands_run_without_extras(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    for line in LINES:
        done = subprocess.run(
            [sys.executable, "-m", "tokctl", *line.split()],
            cwd=folder,
            env=environment,
            capture_output=True,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
    shown = subprocess.run(
        [sys.executable, "-c", "import tokctl; print(tokctl.__file__)"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith(str(folder))
