"""Pipelines as people write them: real shell lines, held against the plain path."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.pipelines.forms_in import PACKERS
from tokctl import Tokenizer

pytestmark = systems.shell


class Shell:
    """bash in a folder, where `tokctl` is this one, and `M` a model of bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        scripts = folder / "scripts"
        scripts.mkdir()
        script = scripts / "tokctl"
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tokctl "$@"\n')
        script.chmod(0o755)
        path = os.pathsep.join([str(scripts), os.environ["PATH"]])
        self.environ = {**os.environ, "PATH": path, "TOKCTL_PROGRESS": "none", "LC_ALL": "C"}

    def run(self, line: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            timeout=600,
            check=False,
        )

    def __call__(self, line: str) -> bytes:
        """What a line that succeeds, without a word on stderr, writes to stdout."""
        done = self.run(line)
        assert (done.returncode, done.stderr) == (0, b""), line
        return done.stdout


@pytest.fixture(scope="module")
def shell(sample: str, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("shell")
    text = sample + "\r\n\nno line feed behind the last line, caf\u00e9 \U0001f980"
    (folder / "corpus.txt").write_bytes(text.encode())
    (folder / "corpus.zst").write_bytes(PACKERS["zstd"](text.encode()))
    Tokenizer.train([folder / "corpus.txt"], vocab_size=700).save(folder / "M")
    return Shell(folder)


def plain_ids(shell: Shell) -> list[int]:
    return Tokenizer.load(shell.folder / "M").encode_ids((shell.folder / "corpus.txt").read_bytes())


def test_zstdcat_encode_split(shell: Shell) -> None:
    if shutil.which("zstdcat") is None:
        pytest.skip("there is no zstdcat here")
    np = pytest.importorskip("numpy")
    # The parts are smaller than 100M, so that there are several.
    shell("zstdcat corpus.zst | tokctl encode -m M --as bin | split -b 10K - part.")
    parts = sorted(shell.folder.glob("part.*"))
    assert len(parts) > 2
    data = b"".join(part.read_bytes() for part in parts)
    assert np.frombuffer(data, dtype="<u2").tolist() == plain_ids(shell)
    shell("cat part.* | tokctl decode -m M --from bin | cmp - corpus.txt")


def test_encode_split_of_what_tokctl_unpacks(shell: Shell) -> None:
    """The same without zstdcat, and as a pipe that tokctl unpacks itself."""
    np = pytest.importorskip("numpy")
    for number, line in enumerate(("tokctl encode -m M --as bin corpus.zst",
                                   "cat corpus.zst | tokctl encode -m M --as bin")):  # fmt: skip
        shell(f"{line} | split -b 10K - own{number}.")
        parts = sorted(shell.folder.glob(f"own{number}.*"))
        data = b"".join(part.read_bytes() for part in parts)
        assert np.frombuffer(data, dtype="<u2").tolist() == plain_ids(shell)


def test_find_print0_count(shell: Shell) -> None:
    pages = shell.folder / "pages"
    (pages / "deep er").mkdir(parents=True)
    text = (shell.folder / "corpus.txt").read_bytes()
    names = [b"a.md", b"deep er/new\nline.md", b"deep er/-m.md", b"\xff.md", b"*.md"]
    for number, name in enumerate(names):
        (pages / os.fsdecode(name)).write_bytes(text[number * 900 : number * 1000 + 800])
    (pages / "left.txt").write_bytes(b"out")
    line = "cd pages && find . -name '*.md' -print0 | tokctl encode --count --files0-from - -m ../M"
    model = Tokenizer.load(shell.folder / "M")
    expected = {}
    for number, name in enumerate(names):
        part = text[number * 900 : number * 1000 + 800]
        expected[b"./" + name] = (len(model.encode_ids(part)), len(part))
    # As wc has it: figures, a name, and the sums last.
    shown = shell(line)
    *_, last = shown.splitlines()
    sums = [sum(figures) for figures in zip(*expected.values(), strict=True)]
    assert last == f"{sums[0]} {sums[1]} total".encode()
    # To the names exactly: as JSON has them, and as CSV.
    for file in json.loads(shell(f"{line} --json"))["files"]:
        name = file["name"]
        raw = name.encode() if isinstance(name, str) else b"./\xff.md"
        assert (file["tokens"], file["bytes"]) == expected.pop(raw)
    assert expected == {}


def test_there_and_back(shell: Shell) -> None:
    for form, taken in (("ids", ""), ("jsonl", ""), ("bin", "--from bin"), ("npy", "")):
        line = f"tokctl encode -m M --as {form} corpus.txt | tokctl decode -m M {taken}"
        assert shell(f"{line} | cmp - corpus.txt") == b""
    assert shell.run("tokctl encode -m M none.txt | tokctl decode -m M").returncode == 2


def test_ids_of_lines_are_those_of_each_line(shell: Shell) -> None:
    """`xargs`, `tee` and a loop see the same as one run."""
    head = "head -20 corpus.txt | sed '/^$/d'"
    once = shell(f"{head} | tokctl encode -m M")
    each = shell(f'{head} | while IFS= read -r row; do tokctl encode -m M <<<"$row"; done')
    assert once == each
    assert once.count(b"\n") > 3


def test_what_jq_would_read(shell: Shell) -> None:
    """`--progress json`: each line of stderr is an object, and stdout is data."""
    line = "tokctl --progress json encode -m M --as bin corpus.txt"
    done = shell.run(line)
    assert done.returncode == 0
    assert done.stdout == shell("tokctl encode -m M --as bin corpus.txt")
    events = [json.loads(row) for row in done.stderr.splitlines()]
    assert events[-1]["event"] == "done"
    failed = shell.run("tokctl --progress json encode -m M none.txt")
    assert json.loads(failed.stderr)["event"] == "error"
