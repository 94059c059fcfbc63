"""tokctl's commands on large texts, as whole processes: what counts is their peak memory.

Each task is `tokctl COMMAND` with the text made into what the command reads, piece by piece, so
that this process stays small: a process that it starts would be charged with its size.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.tools.bench.job import Job, Outcome, Task

COMMAND = [sys.executable, "-m", "tokctl"]
#: Bytes that are read, converted or hashed at a time.
_BLOCK = 1 << 20


def _finish(command: list[str], stdin: Path | None, made: Path) -> Outcome:
    """Runs a command; the digest is that of all in `made`, or of what it writes to stdout."""
    digest = hashlib.sha256()
    with Path(stdin or os.devnull).open("rb") as given, (made.parent / "stderr").open("wb") as said:
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=said)
        assert process.stdout is not None
        for block in iter(lambda: process.stdout.read(_BLOCK), b""):  # type: ignore[union-attr]
            if str(made) not in command:  # else it is the path, which is another in each run
                digest.update(block)
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        lines = (made.parent / "stderr").read_text("utf-8", "replace").splitlines()
        said_last = [line for line in lines if line.startswith("error:")][-1:]
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(said_last)}")
    for path in _files(made):
        digest.update(f"{path.relative_to(made.parent)}\n".encode())
        for block in _blocks(path):
            digest.update(block)
        path.unlink()
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Outcome(digest.hexdigest()[:16], memory=peak)


def _files(made: Path) -> list[Path]:
    """What stands at `made`: a file, the files of a folder, or those that begin like it."""
    found = sorted(made.parent.glob(f"{made.name}*"))
    return [file for path in found for file in ([path] if path.is_file() else _inside(path))]


def _inside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_BLOCK), b"")


def _plain(job: Job) -> Path:
    return Path(job.text)


def _gzip(job: Job) -> Path:
    path = Path(job.folder) / "text.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        for block in _blocks(Path(job.text)):
            out.write(block)
    return path


def _json_lines(job: Job) -> Path:
    """Each line of the text as a document."""
    import json

    path = Path(job.folder) / "text.jsonl"
    with Path(job.text).open("rb") as lines, path.open("w", encoding="utf-8") as out:
        for line in lines:
            text = line.removesuffix(b"\n").decode("utf-8", "replace")
            out.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return path


def _ids(job: Job) -> Path:
    path = Path(job.folder) / "text.bin"
    command = [*COMMAND, "encode", "-m", job.model, "--as", "bin", "-o", str(path), job.text]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return path


def _task(
    *arguments: str,
    source: Callable[[Job], Path] = _plain,
    piped: bool = False,
    output: str = "",
    model: bool = True,
) -> Callable[[Job], Task]:
    """A command on a text.

    Args:
        source: makes what the command reads.
        piped: it comes through stdin.
        output: the name given to `-o`; empty: the command writes to stdout.
        model: the command takes one.
    """

    def task(job: Job) -> Task:
        text = source(job)
        made = Path(job.folder) / (output or "made")
        command = [*COMMAND, *arguments, *(["-m", job.model] if model else [])]
        command += ["-o", str(made)] if output else []
        if arguments[0] == "train":
            command += ["--vocab", str(job.vocab), "--threads", str(job.threads)]
        command += ["-" if piped else str(text)]
        return Task(
            lambda: _finish(command, text if piped else None, made), lambda outcome: outcome
        )

    return task


encode_ids = _task("encode")
encode_stdin = _task("encode", piped=True)
encode_gzip = _task("encode", source=_gzip)
encode_json_lines = _task("encode", source=_json_lines)
encode_tokens = _task("encode", "--as", "tokens")
encode_jsonl = _task("encode", "--as", "jsonl", "--offsets")
encode_bin = _task("encode", "--as", "bin")
encode_npy = _task("encode", "--as", "npy", output="ids.npy")
encode_parquet = _task("encode", "--as", "parquet", source=_json_lines, output="ids.parquet")
encode_megatron = _task("encode", "--as", "megatron", source=_json_lines, output="ids")
encode_safetensors = _task(
    "encode", "--as", "safetensors", source=_json_lines, output="ids.safetensors"
)
encode_shards = _task("encode", "--as", "bin", "--shard-size", "20M", output="shards")
encode_count = _task("encode", "--count")
decode_bin = _task("decode", "--from", "bin", source=_ids)
train = _task("train", model=False, output="model.json")
train_within = _task("train", "--memory", "100M", model=False, output="model.json")
inspect_use = _task("inspect", "--use")
inspect_gap = _task("inspect", "--gap")
compare = _task("compare")
