"""Files that are far too large, or say that they are: an error before the memory is taken."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import systems
from tests.tools.fuzz.seeds import CUT, READERS, parted, seeds

pytestmark = systems.limits

#: What a command may take, in MB, whatever the file says.
MOST_MEMORY = 200
#: Runs a command, and prints its exit code, its standard error and its peak memory. The peak
#: of a child counts from the memory of the process that started it: so this one is small.
RUN = """
import json, resource, subprocess, sys
unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
done = subprocess.run(sys.argv[1:], input=b"low\\n", capture_output=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
print(json.dumps([done.returncode, done.stderr.decode(), peak // unit, seconds]))
"""


def run(path: Path) -> tuple[int, str, int, float]:
    """`tokctl encode` with that model: exit code, message, peak memory in MB, CPU seconds."""
    command = [sys.executable, "-m", "tokctl", "encode", "-m", str(path)]
    shown = subprocess.run(
        [sys.executable, "-c", RUN, *command], capture_output=True, timeout=600, check=True
    )
    code, message, peak, seconds = json.loads(shown.stdout)
    return code, message, peak, seconds


def start(name: str) -> bytes:
    """A file of the format that is whole; of several files, the main one."""
    for seed in seeds(name):
        if CUT not in seed:
            return seed
        if "" in (files := parted(seed)):
            return files[""]
    pytest.skip("the library that makes such files is not installed, or they are a folder")


def enlarged(path: Path, data: bytes, size: int) -> None:
    """The data with zeros behind it, which take no room on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.truncate(size)


def check(path: Path, code: int = 2) -> None:
    found, message, peak, seconds = run(path)
    print(f"{peak} MB, {seconds:.2f} s: {message.strip()}")
    assert found == code, message
    assert message.startswith("error: ") and str(path) in message
    assert "Traceback" not in message
    assert peak < MOST_MEMORY, f"{peak} MB"


@pytest.mark.few(2)
@pytest.mark.parametrize("name", READERS)
def test_three_gigabytes(name: str, tmp_path: Path) -> None:
    """A whole model at the start of a file that is far too large."""
    path = tmp_path / "large"
    enlarged(path, start(name), 3 << 30)
    if name == "gguf":
        # Gigabytes behind the vocabulary are what such a file has: they are not read.
        code, message, peak, _ = run(path)
        assert peak < MOST_MEMORY, message
        assert code in (0, 2)
        return
    check(path)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", READERS)
def test_the_same_again_and_again(name: str, tmp_path: Path) -> None:
    """40 MB of copies of a model: what occurs twice is wrong, and said soon."""
    data = start(name)
    path = tmp_path / "copies"
    path.write_bytes(data * ((40 << 20) // len(data)))
    if name == "gguf":
        return  # behind the vocabulary nothing is read
    check(path)


def gguf(*, values: int = 1, key: bytes = b"a", kind: int = 9, rest: bytes = b"") -> bytes:
    """The start of a GGUF file: version 3, no tensors, so many values, the first of a kind."""
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, values)
    return start + struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + rest


def splitting(pattern: str) -> bytes:
    """A tokenizer.json that splits a text by a pattern."""
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    return json.dumps({"version": "1.0", "pre_tokenizer": split, "model": model}).encode()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing but zeros": lambda: b"\0" * 100,
    "gguf: 2^60 values": lambda: gguf(values=1 << 60, kind=4, rest=b"\0" * 4),
    "gguf: a text of 2^62 bytes": lambda: gguf(kind=8, rest=struct.pack("<Q", 1 << 62)),
    "gguf: 2^60 numbers": lambda: gguf(rest=struct.pack("<IQ", 4, 1 << 60)),
    "gguf: 2^40 empty texts": lambda: gguf(rest=struct.pack("<IQ", 8, 1 << 40)),
    "gguf: 2^28 empty texts": lambda: gguf(rest=struct.pack("<IQ", 8, 1 << 28)),
    "gguf: lists in lists": lambda: gguf(rest=struct.pack("<IQ", 9, 1) * 100_000),
    "json: brackets": lambda: b'{"model": ' + b"[" * 10_000_000,
    "json: braces": lambda: b'{"model": ' * 1_000_000,
    "json: digits": lambda: b'{"model": {"vocab": ' + b"9" * 10_000_000 + b"}}",
    "pattern: 10^9 letters": lambda: splitting("(?:(?:a{1000}){1000}){1000}"),
    "pattern: 2^20 groups": lambda: splitting("(?:a)" * (1 << 20)),
    "pattern: open classes": lambda: splitting("[" * 90_000),
    "protobuf: 2^31 bytes": lambda: b"\n\xff\xff\xff\xff\x07\n",
    "protobuf: empty pieces": lambda: b"\n\x02\n\x00" * 1_000_000,
    "ranks: a rank of a million digits": lambda: b"IQ== " + b"9" * 1_000_000 + b"\n",
    "ranks: a token of 20 MB": lambda: b"QUFB" * 5_000_000 + b" 0\n",
    "ranks: the highest id": lambda: b"IQ== 0\nIg== 16777215\n",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_file_says_of_itself(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[name]())
    check(path)
