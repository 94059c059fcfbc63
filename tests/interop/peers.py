"""What these tests share: models trained on a little text, folders, and the comparison."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import shared_file
from tests.exact.strings import EXAMPLES, strings
from tokctl import Tokenizer, default_recipe, formats, preset
from tokctl.model.presets import PRESETS
from tokctl.sources.corpora import corpus_path

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

#: What the added tokens of some tests are told apart by.
MORE = (
    "a<x y> b", " <x y>  <end> word words", "the</s> <s>a", "  <mask> b", "x[MASK] y",
    "<end>\n the", "do n't stop . it 's a test , is n't it ? yes ! I 'm we 've they 're ' x '",
)  # fmt: skip


def texts(count: int = min(EXAMPLES, 100_000) // 4) -> Iterable[str]:
    yield from MORE
    yield from strings(count)
    path = corpus_path("sample")
    yield path.read_text(encoding="utf-8")[:3000]


@lru_cache(maxsize=1)
def text_file() -> Path:
    return corpus_path("sample")


@lru_cache
def trained(name: str) -> Tokenizer:
    """The preset, or the default recipe, of that name with a small vocabulary."""
    recipe = preset(name) if name in PRESETS else default_recipe(name)
    return Tokenizer.train([text_file()], recipe=recipe, vocab_size=700)


def auto(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(str(folder))


def assert_same(ours: Tokenizer, theirs: Any, some: Iterable[str] | None = None) -> None:
    """Ids, with special tokens around them and without, and the text that they give."""
    last = "x"
    for text in texts() if some is None else some:
        plain = theirs.encode(text, add_special_tokens=False)
        assert ours.encode_ids(text, special="all") == plain, text
        around = theirs.encode(text)
        assert ours.encode(text, special="all", add_special=True).ids == around, text
        pair = theirs.encode(text, last)
        assert ours.encode(text, last, special="all", add_special=True).ids == pair, text
        # An empty second text is none there.
        last = text if 0 < len(text) < 200 else last
        for skip in (False, True):
            decoded = theirs.decode(around, skip_special_tokens=skip)
            assert ours.decode(around, skip_special=skip) == decoded, text


def folder_of(
    made: Tokenizer, folder: Path, settings: dict[str, Any], **files: Any
) -> dict[str, Any]:
    """A folder as transformers writes it; the document of its tokenizer.json."""
    folder.mkdir(exist_ok=True)
    document: dict[str, Any] = json.loads(formats.write(made.model, "huggingface")[""])
    write(folder, "tokenizer.json", document)
    write(folder, "tokenizer_config.json", settings)
    for name, content in files.items():
        write(folder, f"{name}.json", content)
    return document


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


__all__ = ["assert_same", "auto", "folder_of", "shared_file", "texts", "trained", "write"]
