"""Memory that ends: a result or an error, whatever a text or a model asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import error, process
from tests.errors import raises_code
from tests.faults.exhausted import check, limited, prepare
from tokctl import Tokenizer, preset
from tokctl.core import errors
from tokctl.core.errors import OutOfMemoryError, TokctlError

pytestmark = systems.linux

MB = 1 << 20
REPLACE = ("--errors", "replace")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    prepare(folder, 3_000_000)
    return folder


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "-q", "--algo", "bpe", "--vocab", "300", "-o", "out", "run"),
        ("train", "-q", "--algo", "unigram", "--vocab", "300", "-o", "out", "words"),
        ("encode", "-q", "-m", "bpe.json", "-o", "out", "run"),
        ("encode", "-q", "-m", "char.json", *REPLACE, "--whole", "-o", "out", "letter"),
        ("encode", "-q", "-m", "unigram.json", *REPLACE, "--threads", "2", "-o", "out", "run"),
        (
            "encode",
            "-q",
            "-m",
            "wordpiece.json",
            "--as",
            "jsonl",
            "--offsets",
            "-o",
            "out",
            "words",
        ),
        ("decode", "-q", "-m", "bpe.json", "-o", "out", "ids"),
        ("inspect", "-q", "bpe.json", "--use", "words"),
        ("compare", "-q", "-m", "bpe.json", "-m", "unigram.json", "words"),
    ],
    ids=" ".join,
)
def test_a_limit_is_an_error_or_changes_nothing(arguments: tuple[str, ...], folder: Path) -> None:
    whole = limited(0, arguments, folder)
    assert whole.code == 0, whole.err
    few = [check(limited(room, arguments, folder), whole, f"{room}") for room in (2 * MB, 9 * MB)]
    assert not all(few)
    # In between one or the other, as threads have it.
    for room in (30 * MB, 70 * MB, 110 * MB):
        check(limited(room, arguments, folder), whole, f"{room}")
    assert check(limited(3000 * MB, arguments, folder), whole, "all")


def test_out_of_memory_is_both_errors() -> None:
    assert issubclass(OutOfMemoryError, TokctlError) and issubclass(OutOfMemoryError, MemoryError)
    assert str(OutOfMemoryError()) == "out of memory\nhint: give less text at a time"


#: A module that the end of the process imports finds no memory.
ENDS_WITHOUT_MEMORY = """
import sys
import tokctl.__main__

class Full:
    def find_spec(self, name, *_):
        if name == "atexit":
            raise MemoryError

sys.modules.pop("atexit", None)
sys.meta_path.insert(0, Full())
tokctl.__main__.main()
"""


@pytest.mark.parametrize(("arguments", "code"), [(("--version",), 0), (("train", "nosuch"), 2)])
def test_memory_that_ends_as_the_process_does(arguments: tuple[str, ...], code: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_WITHOUT_MEMORY, *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )
    plainly = process(*arguments)
    assert (ended.returncode, ended.stderr) == (code, plainly.err)
    assert ended.stdout.encode() == plainly.out


def bomb(tmp_path: Path, family: str, steps: int) -> Path:
    """A model of some kB whose steps each make ten thousand of one `a`."""
    path = tmp_path / "bomb.json"
    Tokenizer.train({"a": 3, "aaaa": 2}, vocab_size=257, recipe=preset("gpt2")).save(path)
    model = json.loads(path.read_text(encoding="utf-8"))
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10_000}
    model["model"].pop("tokctl", None)  # else it would be damaged
    kept = [model[family]] if model[family] else []
    name = "normalizers" if family == "normalizer" else "decoders"
    model[family] = {"type": "Sequence", name: [*kept, *[step] * steps]}
    path.write_text(json.dumps(model), encoding="utf-8")
    return path


def test_what_normalizers_make_is_bounded(tmp_path: Path) -> None:
    path = bomb(tmp_path, "normalizer", 2)
    done = process("encode", "-m", path, "-o", tmp_path / "out", stdin=b"a" * 1000)
    expected = error(
        "the normalizers make more than 64 MB of a text", errors._CORE_HINTS["too-large"]
    )
    assert (done.code, done.err) == (2, expected)
    assert not (tmp_path / "out").exists()
    tokenizer = Tokenizer.load(path)
    for work in (tokenizer.encode_ids, tokenizer.encode):
        with raises_code("too-large", "make more than 64 MB"):
            work("a" * 1000)
    # One step alone may.
    assert len(Tokenizer.load(bomb(tmp_path, "normalizer", 1)).encode("aa").ids) > 0


def test_what_decoders_make_is_bounded(tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(bomb(tmp_path, "decoder", 3))
    letter = tokenizer.token_to_id("a") or 0
    with raises_code("bad-ids", "the decoders make more than 256 MB"):
        tokenizer.decode([letter] * 3)
    stream = tokenizer.decode_stream()
    with raises_code("bad-ids", "the decoders make more than 256 MB"):
        stream.push([letter])
        stream.finish()
