"""The examples of `docs/api.md` run as they stand, one after the other, and give what stands beside
them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.tools.docs import examples

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]*)\n(?:(?!^## ).)*?```python\n(.*?)```", TEXT, flags=re.M | re.S)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") >= 8


def run(example: str) -> int:
    """How many statements gave what they should."""
    return examples.run(example, {"__name__": "example"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_the_example(
    title: str, example: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del title
    for name in re.findall(r"^(?:from|import) (\w+)", example, flags=re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(folder)
    if not (folder / "book.json").exists():  # when an example is run by itself
        run(EXAMPLES[0][1])
    assert run(example) >= 1


def test_every_method_is_named() -> None:
    from tokctl import Tokenizer

    methods = [name for name in dir(Tokenizer) if name.startswith(("encode_", "decode"))]
    methods.remove("decoder")
    methods += ["token_to_id", "id_to_token", "get_vocab"]
    assert len(methods) == len(set(methods)) >= 15
    assert all(hasattr(Tokenizer, name) for name in methods)
    assert [name for name in methods if f"`{name}" not in TEXT] == []
