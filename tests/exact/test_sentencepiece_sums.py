"""Whole texts and near-ties by SentencePiece's models: the same ids as SentencePiece itself.

A sentence is one sum of 32 bits there, from its first word to its last, and it decides between
segmentations that are nearly equal; here words are looked up apart.
"""

from __future__ import annotations

import math
import random
import struct
from functools import cache
from typing import Any

import pytest

from tests.exact.pipeline_peers import CORPORA, corpus
from tests.exact.strings import WHOLE
from tests.exact.test_pipeline_sentencepiece import trained
from tokctl import Tokenizer, formats
from tokctl.formats import sentencepiece

spm = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

KINDS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "unigram, bytes": {"byte_fallback": True},
    "unigram, spaces kept": {"remove_extra_whitespaces": False},
    "unigram, no prefix": {"add_dummy_prefix": False},
    "bpe, bytes": {"model_type": "bpe", "byte_fallback": True},
}


@cache
def model(kind: str) -> bytes:
    return trained(vocab_size=6000, **{"model_type": "unigram", **KINDS[kind]})


def both(data: bytes) -> tuple[Tokenizer, Any]:
    return Tokenizer(formats.parse(data, "m.model")), spm.SentencePieceProcessor(model_proto=data)


def check(ours: Tokenizer, theirs: Any, texts: list[str]) -> int:
    """Alone, as a batch, by two threads, with places; once new, once known."""
    expected = theirs.encode(texts)
    for _ in range(2):
        for text, ids in zip(texts, expected, strict=True):
            assert ours.encode_ids(text) == ids, text[:300]
    assert ours.encode_ids(texts, threads=2) == expected
    for text, ids in zip(texts[:20], expected, strict=False):
        assert list(ours.encode(text).ids) == ids
        assert list(ours.encode_array(text, threads=2)) == ids
    return sum(map(len, expected))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [100_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_lines_and_whole_texts(kind: str, name: str, size: int) -> None:
    """By lines, and all in one sentence: its sum comes to where it is taken down many times."""
    text = corpus(name, -1 if WHOLE else size, 0 if WHOLE else 300_000)
    ours, theirs = both(model(kind))
    count = check(ours, theirs, text.split("\n"))
    count += check(ours, theirs, [text, text.replace("\n", " ")])
    print(f"{kind}, {name}: {count:,} ids")


def step(score: float, steps: int) -> float:
    """The number of 32 bits so many places farther from 0."""
    (bits,) = struct.unpack("<I", struct.pack("<f", score))
    return float(struct.unpack("<f", struct.pack("<I", bits + steps))[0])


def tied(seed: int, scale: float, spread: int) -> bytes:
    """A model whose segmentations have equal scores, or nearly: every piece of n letters costs n
    times as much as a letter, give or take a few places of the last digit."""
    generator = random.Random(seed)
    base = spm.SentencePieceProcessor(model_proto=model("unigram"))
    proto = sentencepiece.parse(model("unigram"))
    assert base.vocab_size() == len(proto.pieces)
    kept = [piece for piece in proto.pieces if piece.type != 1]
    texts = ["▁", *"abc", "é", "ab", "ba", "aa", "abc", "bab", "cab", "aaaa", "▁a", "▁ab", "▁ba"]
    texts += ["▁aa", "▁abab", "abab", "baba", "▁éa", "éa", "cc", "▁cc"]
    example = next(piece for piece in proto.pieces if piece.type == 1)
    del proto.pieces[:]
    proto.pieces.extend(kept)
    for text in texts:
        piece = proto.pieces.add()
        piece.CopyFrom(example)
        piece.piece = text.encode()
        piece.score = step(-scale * len(text), generator.randint(-spread, spread))
    proto.trainer_spec.vocab_size = len(proto.pieces)
    written: bytes = proto.SerializeToString()
    # Through this project's own writer.
    return formats.write(formats.parse(written, "m.model"), "sentencepiece")[""]


@pytest.mark.few(2)
@pytest.mark.parametrize("spread", [0, 1, 3, 2000])
@pytest.mark.parametrize("scale", [0.1, 1 / 3, 7.0, 130.1, 2500.0, 45_000.0])
def test_nearly_equal_scores(scale: float, spread: int) -> None:
    generator = random.Random(spread)
    for seed in range(20 if WHOLE else 3):
        ours, theirs = both(tied(seed, scale, spread))
        texts = []
        for length in (1, 5, 30, 300, 5000):
            for _ in range(3 if length < 5000 else 1):
                words = ("".join(generator.choices("abcaé", k=generator.randint(1, 9))), "x", "")
                pool = [*words, "ab", "aaaa", "abab", "日", "a" * 40, "cabab" * 20]
                pool += ["".join(generator.choices("abc", k=generator.randint(1, 20)))] * 3
                chosen = []
                for _ in range(length):
                    if generator.random() < 0.2:
                        word = "".join(generator.choices("abcaé", k=generator.randint(1, 12)))
                        pool[generator.randrange(len(pool))] = word
                    chosen.append(generator.choice(pool))
                texts.append(" ".join(chosen))
        count = check(ours, theirs, texts)
        assert count > 10_000


def test_steps_are_the_next_numbers() -> None:
    assert step(-1.0, 1) == -math.nextafter(1.0, 2.0) or step(-1.0, 1) == -(1 + 2**-23)
    assert step(step(-0.3, 5), -5) == struct.unpack("<f", struct.pack("<f", -0.3))[0]
