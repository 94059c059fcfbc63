"""What a signal handler raises while a pattern of the `regex` package is being matched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tokctl import Tokenizer, preset
from tokctl.model import patterns

TEXT = ["low lower lowest " * 20]


class Interrupted:
    """A compiled pattern during whose search a signal comes."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def finditer(self, *_: object, **__: object) -> Any:
        raise self.error


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pattern")
    book = folder / "book.txt"
    book.write_text(TEXT[0])
    recipe = replace(preset("gpt2"), pre_tokenizers=r"regex:\w+(?=\s)|(?<=x)y")
    made = Tokenizer.train([str(book)], vocab_size=270, recipe=recipe)
    made.save(folder / "m.json")
    return folder / "m.json"


CALLS: list[Callable[[Tokenizer], object]] = [
    lambda tokenizer: tokenizer.encode(TEXT[0]),
    lambda tokenizer: tokenizer.encode_ids(TEXT[0]),
    lambda tokenizer: tokenizer.encode_batch(TEXT * 50, threads=2),
    lambda tokenizer: tokenizer.encode_array(TEXT[0]),
]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), GeneratorExit()], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_it_ends_the_work_as_what_it_is(
    error: BaseException,
    call: Callable[[Tokenizer], object],
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(patterns, "compile_pattern", lambda *_: Interrupted(error))
        tokenizer = Tokenizer.load(path)
        with pytest.raises(type(error)) as raised:
            call(tokenizer)
        assert raised.value.args == error.args


def test_another_error_is_the_patterns_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "compile_pattern", lambda *_: Interrupted(ValueError("no")))
    with raises_code("bad-input", r"the pattern .* failed: ValueError: no"):
        Tokenizer.load(path).encode("low")
