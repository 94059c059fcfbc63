"""No shape of input is encoded at more than eight times the cost of prose; all work is linear or
nearly so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.growth.shapes import SHAPES, STORY, prose
from tokctl import Tokenizer, _native, formats, preset
from tokctl.model import Recipe
from tokctl.model.presets import default_recipe

pytestmark = pytest.mark.skipif(
    "TOKCTL_COUNTING" not in os.environ,
    reason="steps are counted in a build made for it: tests/growth/run",
)

SIZE = 1_000_000
#: Per byte, beside English prose, which takes 2.9 steps; combining marks, the dearest shape, 20.
MOST = 8.0
#: For four times as much input: n log n is 4.4 from one to four million.
GROWTH = 4.8
#: Training works on what is distinct: all of a text without spaces, little of prose. And Unigram
#: prunes the more often the more pieces it starts from.
MOST_TRAINING = 15.0
GROWTH_TRAINING = 6.0

BYTES = ("gpt2", "cl100k", "o200k", "llama3")
CHARACTERS = ("bert", "llama2", "sentencepiece-unigram", "sentencepiece-bpe")
PRESETS = (*BYTES, *CHARACTERS)


def steps(work: Callable[[], object]) -> int:
    before = _native.steps()
    work()
    return int(_native.steps() - before)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    text = folder / "story.txt"
    text.write_bytes(STORY)
    paths = {}
    for name in PRESETS:
        path = folder / f"{name}.json"
        Tokenizer.train([text], vocab_size=2000, recipe=preset(name)).save(path)
        paths[name] = str(path)
    return paths


def encoding(path: str, text: bytes) -> int:
    """Steps of a first pass: nothing is remembered from texts before."""
    tokenizer = Tokenizer.load(path)
    tokenizer.encode_ids(b"a")
    return steps(lambda: tokenizer.encode_ids(text))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PRESETS)
def test_encoding(name: str, shape: str, tokenizers: dict[str, str]) -> None:
    if shape == "random bytes" and name in CHARACTERS:
        pytest.skip("a model of characters refuses bytes that are no text")
    of_prose = encoding(tokenizers[name], prose(SIZE)) / len(prose(SIZE))
    text = SHAPES[shape](SIZE)
    once = encoding(tokenizers[name], text)
    ratio = once / len(text) / of_prose
    again = encoding(tokenizers[name], SHAPES[shape](4 * SIZE))
    print(f"{name}, {shape}: {ratio:.2f} times prose's {of_prose:.2f}, growth {again / once:.2f}")
    assert ratio <= MOST
    assert again / once <= GROWTH


@pytest.mark.parametrize("name", ["gpt2", "bert", "sentencepiece-unigram", "llama2"])
def test_decoding(name: str, tokenizers: dict[str, str]) -> None:
    tokenizer = Tokenizer.load(tokenizers[name])
    of_prose = tokenizer.encode_ids(prose(SIZE))
    shapes = {
        "one token": [of_prose[0]] * len(of_prose),
        "every token in turn": [n % tokenizer.vocab_size for n in range(len(of_prose))],
        "the longest token": [max(of_prose, key=lambda number: len(tokenizer.tokens[number]))]
        * len(of_prose),
    }
    usual = steps(lambda: tokenizer.decode_bytes(of_prose)) / len(of_prose)
    for shape, ids in shapes.items():
        once = steps(lambda ids=ids: tokenizer.decode_bytes(ids))
        again = steps(lambda ids=ids: tokenizer.decode_bytes(ids * 4))
        ratio = once / len(ids) / usual
        print(f"{name}, {shape}: {ratio:.2f} times prose's {usual:.2f}, growth {again / once:.2f}")
        assert ratio <= MOST
        assert again / once <= GROWTH


def with_added_tokens(path: str, count: int) -> Tokenizer:
    """The model with so many more tokens that are looked for in every text."""
    document: dict[str, Any] = json.loads(formats.serialize(Tokenizer.load(path).model))
    del document["model"]["tokctl"]
    first = len(document["model"]["vocab"])
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    document["added_tokens"] = [
        {"id": first + number, "content": f"<|{number}", **flags} for number in range(count)
    ]
    return Tokenizer(formats.parse(json.dumps(document).encode(), "many.json"))


def test_many_added_tokens(tokenizers: dict[str, str]) -> None:
    """400,000 of them, in a text with none and in one of nothing else."""
    few, many = (with_added_tokens(tokenizers["gpt2"], count) for count in (1, 400_000))
    plain = prose(SIZE)
    tokens = b"".join(f"<|{number * 7919 % 400_000}".encode() for number in range(SIZE // 7))
    for tokenizer in (few, many):
        tokenizer.encode_ids(b"a")
    usual = steps(lambda: few.encode_ids(plain)) / len(plain)
    for text in (plain, tokens):
        ratio = steps(lambda text=text: many.encode_ids(text)) / len(text) / usual
        print(f"400,000 added tokens: {ratio:.2f} times prose's {usual:.2f}")
        assert ratio <= MOST


#: No word is left of these, or the alphabet is larger than the vocabulary.
NOTHING_TO_TRAIN = ("spaces", "line breaks", "random bytes", "random Chinese", "combining marks")
TRAINERS: dict[str, Recipe] = {
    "byte-level BPE": preset("gpt2"),
    "BPE of whole texts": replace(preset("gpt2"), pre_tokenizers=()),
    "WordPiece by likelihood": default_recipe("wordpiece"),
    "WordPiece by count": preset("bert"),
    "Unigram": preset("sentencepiece-unigram"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_training(trainer: str, shape: str, tmp_path: Path) -> None:
    """From a file to a model, on one thread."""
    if shape in NOTHING_TO_TRAIN and trainer not in ("byte-level BPE", "BPE of whole texts"):
        pytest.skip("a text without words")

    def training(text: bytes) -> int:
        source = tmp_path / "text"
        source.write_bytes(text)
        recipe = TRAINERS[trainer]
        return steps(
            lambda: Tokenizer.train(
                [source], vocab_size=1000, recipe=recipe, threads=1, errors="replace"
            )
        )

    size = SIZE // 4
    usual = training(prose(size)) / len(prose(size))
    once = training(SHAPES[shape](size))
    again = training(SHAPES[shape](4 * size))
    ratio = once / size / usual
    print(f"{trainer}, {shape}: {ratio:.2f} times prose's {usual:.2f}, growth {again / once:.2f}")
    assert ratio <= MOST_TRAINING
    assert again / once <= GROWTH_TRAINING
