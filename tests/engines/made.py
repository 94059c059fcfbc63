"""What the tests of the engines share: texts, models, and what one machine makes of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.formats.models import RECIPES
from tokctl import Recipe, Texts, Tokenizer
from tokctl.extras import arrow
from tokctl.model.presets import BPE, UNIGRAM, WORDPIECE
from tokctl.training import TextStats

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

#: What is trained, with the ids of its vocabulary.
TRAINED: dict[str, tuple[Recipe, int]] = {
    "bpe": (BPE, 600),
    "wordpiece": (WORDPIECE, 400),
    "unigram": (UNIGRAM, 300),
}


def texts(count: int = 400, seed: int = 5) -> list[str | None]:
    """Lines of words that come back, nulls and empty texts among them."""
    seeded = random.Random(seed)
    words = ["".join(seeded.choices("abcdeé語☃", k=seeded.randrange(1, 7))) for _ in range(150)]
    found: list[str | None] = [
        " ".join(seeded.choices(words, k=seeded.randrange(12))) for _ in range(count)
    ]
    for place in seeded.sample(range(count), count // 10):
        found[place] = seeded.choice([None, ""])
    return found


def saved_model(folder: Path) -> tuple[Path, Tokenizer]:
    """A model, and its file."""
    path = folder / "m.json"
    given = [text for text in texts() if text]
    tokenizer = Tokenizer.train(Texts(given), vocab_size=500, special_tokens=["<end>"])
    tokenizer.save(path)
    return path, tokenizer


def without_letters() -> Tokenizer:
    """A model of characters that has an id for few, and no unknown token."""
    return Tokenizer.train(Texts(["a b ab"]), recipe=RECIPES["notebook-bpe"], vocab_size=8)


def ids_of(tokenizer: Tokenizer, given: list[str | None]) -> list[list[int] | None]:
    return [None if text is None else tokenizer.encode_ids(text) for text in given]


def assert_one_machines_model(
    counted: Any, given: list[str | None], name: str, folder: Path
) -> None:
    """Trained on counts, the file is that of a training on all texts, in this order. A null is
    none."""
    recipe, size = TRAINED[name]
    path = folder / "texts.parquet"
    parquet.write_table(pa.table({"text": [text for text in given if text is not None]}), path)
    expected = Tokenizer.train([path], recipe=recipe, vocab_size=size, min_count=2)
    record = expected.model.training
    assert record is not None
    found = Tokenizer.train(
        arrow.counts_from_table(counted),
        recipe=recipe,
        vocab_size=size,
        min_count=2,
        read=TextStats(record.documents, record.bytes, record.sha256),
    )
    files = []
    for tokenizer in (expected, found):
        tokenizer.save(folder / "saved.json")
        files.append((folder / "saved.json").read_bytes())
    assert files[0] == files[1]
