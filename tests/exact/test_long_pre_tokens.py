"""Pre-tokens of many words, as those of SuperBPE and of models that split at lines or not at all.

Their ids are those of Hugging Face, and of the way that keeps places, which does not stitch words
together."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokctl import Texts, Tokenizer, default_recipe
from tokctl.model.byte_level import BYTES, spell_all
from tokctl.model.parts import PRE_TOKENIZERS

hf = pytest.importorskip("tokenizers")

STORY = (Path(__file__).parents[2] / "corpora" / "the-lamplighters-atlas.txt").read_text("utf-8")
LINES = {
    "type": "Split",
    "pattern": {"String": "\n"},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
SPLITTERS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "lines": [LINES],
    "digits": [{"type": "Digits", "individual_digits": False}],
}
#: Enough for an encoder to look the merges through, and the end of a pre-token everywhere.
WARM = "ab ba. 12\n" * 40

Merges = list[tuple[str, str]]


def document(merges: Merges, splitters: list[dict[str, Any]], absent: str = "") -> str:
    """A byte-level BPE model as Hugging Face's `tokenizer.json`."""
    tokens = [spelled for spelled in BYTES if spelled not in absent]
    tokens += dict.fromkeys(left + right for left, right in merges)
    vocabulary = {token: id_ for id_, token in enumerate(dict.fromkeys(tokens))}
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    model = {"type": "BPE", "vocab": vocabulary, "merges": [list(pair) for pair in merges]}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splitters, byte_level]},
            "decoder": byte_level,
            "model": model,
        }
    )


def loaded(text: str) -> tuple[Tokenizer, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(text, encoding="utf-8")
        tokenizer = Tokenizer.load(path)
    tokenizer.encode_ids(WARM)
    return tokenizer, hf.Tokenizer.from_str(text)


def check(tokenizer: Tokenizer, there: Any, text: str) -> None:
    expected = there.encode(text).ids
    # The second time, what was found is remembered.
    for _ in range(2):
        assert tokenizer.encode_ids(text) == expected
    assert list(tokenizer.encode(text).ids) == expected


picks = st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999)), max_size=40)
texts = st.text(alphabet="ab Ġ.\n1é", max_size=120)


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(picks=picks, late=st.booleans(), some=st.lists(texts, min_size=1, max_size=4))
def test_any_merges(
    splitter: str, picks: list[tuple[int, int]], late: bool, some: list[str]
) -> None:
    """Some merges make a token that exists, some no text comes to, and some, where `late`, come
    before their parts are made."""
    parts, merges = ["a", "b", "Ġ", ".", "Ċ", "1"], []
    for left, right in picks:
        pair = parts[left % len(parts)], parts[right % len(parts)]
        if pair not in merges and len("".join(pair)) < 30:
            merges.append(pair)
            parts.append("".join(pair))
    if late:
        merges.reverse()
    tokenizer, there = loaded(document(merges, SPLITTERS[splitter]))
    for text in some:
        check(tokenizer, there, text)


def over_words(inside: int, across: int) -> Merges:
    """SuperBPE in small: so many merges inside words, and then so many of neighbours anywhere."""
    trained = Tokenizer.train(Texts([STORY]), algorithm="bpe", vocab_size=256 + inside)
    names = spell_all(trained.model.tokens)
    merges = [(names[merge.left], names[merge.right]) for merge in trained.model.merges]
    rows = [[names[id_] for id_ in trained.encode_ids(line)] for line in STORY.splitlines(True)]
    for _ in range(across):
        counts = Counter(pair for row in rows for pair in pairwise(row))
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        for row in rows:
            for at in range(len(row) - 2, -1, -1):
                if tuple(row[at : at + 2]) == best:
                    row[at : at + 2] = ["".join(best)]
    return merges


@pytest.fixture(scope="module")
def superwords() -> Merges:
    return over_words(1200, 150)


@pytest.fixture(scope="module")
def from_lines() -> Merges:
    """Merges that were learned on whole lines: their tokens end with spaces."""
    lines = PRE_TOKENIZERS.steps([{"kind": "split", "pattern": "\n", "behaviour": "isolated"}])
    recipe = replace(default_recipe("bpe"), pre_tokenizers=lines)
    trained = Tokenizer.train(Texts([STORY]), recipe=recipe, vocab_size=1500)
    names = spell_all(trained.model.tokens)
    return [(names[merge.left], names[merge.right]) for merge in trained.model.merges]


def odd_texts() -> dict[str, str]:
    numbers = random.Random(5)
    return {
        "empty": "",
        "space": " ",
        "story": STORY,
        "without line feeds": STORY.replace("\n", " "),
        "without spaces": "".join(STORY.split()),
        "one letter": "a" * 40_000,
        "two letters": "ab" * 20_000,
        "spaces": " " * 40_000,
        "the": "the " * 10_000,
        "random": "".join(numbers.choices(" eé字😀", k=20_000)),
        "controls": "".join(map(chr, range(0x250))) * 10,
    }


@pytest.mark.few(2)
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("merges", ["superwords", "from_lines"])
def test_trained_models(merges: str, splitter: str, request: pytest.FixtureRequest) -> None:
    learned: Merges = request.getfixturevalue(merges)
    # UTF-8 has no byte 0xFF, so that a model may lack it; and one without `z` drops that.
    for absent in ("", "ÿ", "z"):
        kept = [pair for pair in learned if not absent or absent not in "".join(pair)]
        tokenizer, there = loaded(document(kept, SPLITTERS[splitter], absent))
        for name, text in odd_texts().items():
            expected = there.encode(text).ids
            assert tokenizer.encode_ids(text) == expected, (absent, name)
            assert list(tokenizer.encode_array(text, threads=2)) == expected, (absent, name)
    tokenizer, _ = loaded(document(learned, SPLITTERS[splitter]))
    for name, text in odd_texts().items():
        assert list(tokenizer.encode(text).ids) == tokenizer.encode_ids(text), name


def test_bytes_that_are_no_utf8(superwords: Merges) -> None:
    tokenizer, _ = loaded(document(superwords, []))
    data = random.Random(6).randbytes(50_000) + b" the lamp and the tower" * 100
    ids = tokenizer.encode_ids(data)
    assert tokenizer.decode_bytes(ids) == data
    assert list(tokenizer.encode(data).ids) == ids
