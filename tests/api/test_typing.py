"""Code of people who use types: mypy in strict mode, where it is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USER = Path(__file__).with_name("typing_user.py")


def mypy(*paths: Path, cwd: Path) -> str:
    pytest.importorskip("mypy")
    empty = cwd / "mypy.ini"
    empty.write_text("[mypy]\n")
    options = ["--strict", "--config-file", str(empty), "--cache-dir", str(cwd / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_people_write_has_the_types_that_it_should(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert "Success: no issues found in 1 source file" in mypy(USER, cwd=tmp_path)


WRONG = """
from tokctl import Texts, Tokenizer
tok = Tokenizer.load("book.json")
tok.encode_ids(5)
tok.encode_iter([1, 2])
tok.encode_file("a.txt", lines="yes")
tok.decode_batch([1, 2, 3])
tok.no_such_method()
Tokenizer.train(["a.txt"], vocab_size=300, min_freqency=2)
Tokenizer.train(Texts([1]), vocab_size=300)
tok.encode_ids("a", padding="longest")
tok.decode([1], skip_special_tokens=True)
tok.encode_ordinary("a")
Tokenizer.from_file("book.json")
tok.encode_ids("a", allowed_special="all")
tok.with_special_tokens(5)
"""


@pytest.mark.slow
def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    said = mypy(path, cwd=tmp_path)
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+): error", said)}
    assert found == set(range(4, 17)), said


def test_the_package_says_that_it_has_types() -> None:
    import tokctl

    assert (Path(tokctl.__file__).parent / "py.typed").is_file()
