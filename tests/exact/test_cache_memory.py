"""How much memory an encoder may use to remember pre-tokens changes no id, and is kept to."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.conftest import slow_but
from tests.errors import raises_code
from tests.exact.pipeline_peers import train
from tokctl import Tokenizer, load, preset

LEAST = 1 << 20
DEFAULT = 320 << 20
MODELS = ("gpt2", "cl100k", "bert", "llama2", "sentencepiece-bpe", "sentencepiece-unigram")


@pytest.fixture(scope="module", params=slow_but(MODELS, "gpt2"))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    path = folder / f"{request.param}.json"
    train(folder, recipe=preset(request.param), vocab_size=3000).save(path)
    return path


def words(count: int) -> list[str]:
    """Distinct words of 1 to 40 letters, most of which no vocabulary knows: short ones with few
    ids and with many, and long ones."""
    draw = random.Random(11)
    letters = ("abcdefgh", "aeiourstln", "абвгдежзик", "字文書語日本")
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(draw.choices(draw.choice(letters), k=draw.randint(1, 40)))] = None
    return list(made)


@cache
def varied(count: int) -> bytes:
    """Every word twice, far apart, and some all the time."""
    all_words = words(count)
    often = all_words[:50]
    lines = []
    for some in (all_words, all_words[::-1]):
        for at in range(0, count, 10):
            lines.append(" ".join([*some[at : at + 10], often[at % 50], "the"]))
    return "\n".join(lines).encode()


@pytest.mark.slow
def test_ids_and_places_are_the_same_with_little_memory(model: Path) -> None:
    text = varied(30_000)
    plenty, scarce = Tokenizer.load(model), Tokenizer.load(model, cache_memory=LEAST)
    assert (plenty.cache_memory, scarce.cache_memory) == (DEFAULT, LEAST)
    expected = plenty.encode_array(text)
    assert plenty.encoder.cache_stats()[1] > LEAST
    for _ in range(2):
        assert scarce.encode_array(text) == expected
        assert scarce.encode_array(text, threads=2) == expected
    lines = text.decode().splitlines()
    assert [list(ids) for ids in scarce.encode_ids(lines)] == plenty.encode_ids(lines)
    ids, starts, ends = scarce.encoder.tokens(text)[:3]
    there = plenty.encoder.tokens(text)
    assert (ids, starts, ends) == there[:3]


def test_the_caches_of_a_thread_stay_within_it(model: Path) -> None:
    tokenizer = Tokenizer.load(model, cache_memory=LEAST)
    text = varied(30_000)
    kept = tokenizer.encoder.cache_stats()[1]
    tokenizer.encode_array(b"a")
    for size in (LEAST, 4 * LEAST, LEAST):
        tokenizer.cache_memory = size
        assert tokenizer.encoder.cache_stats()[0] == 0, "to set it empties them"
        for _ in range(2):
            for start in range(0, len(text), 50_000):
                piece = text[start : start + 50_000].decode("utf-8", "ignore")
                tokenizer.encode_ids(piece)
                tokenizer.encode(piece[:5000])
        entries, size_used = tokenizer.encoder.cache_stats()
        assert entries > 1000
        # Memory for ids is kept beside the caches; these texts need little.
        assert kept < size_used < size + 400_000, size_used / size


def test_too_little_is_refused() -> None:
    tokenizer = Tokenizer.train({b"a": 2}, recipe=preset("gpt2"), vocab_size=257)
    with raises_code("bad-value", "invalid value 1,048,575 for cache_memory"):
        tokenizer.cache_memory = LEAST - 1
    assert tokenizer.cache_memory == DEFAULT


def test_load_takes_it(model: Path) -> None:
    assert load(model, cache_memory=2 * LEAST).cache_memory == 2 * LEAST
    with raises_code("bad-value", "invalid value 5 for cache_memory"):
        load(model, cache_memory=5)


def test_the_command_line_takes_it(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(varied(3000))
    for more in (["--as", "ids"], ["--count"], ["--as", "tokens"]):
        arguments = ["encode", "-m", str(model), *more, str(text)]
        expected = tokctl(*arguments)
        assert expected.code == 0
        assert tokctl(*arguments, "--cache-memory", "1M") == expected
    for given, says in (
        ("1000K", "invalid value '1000K' for --cache-memory"),
        ("much", "invalid value 'much' for --cache-memory"),
    ):
        done = tokctl("encode", "-m", str(model), "--cache-memory", given, str(text))
        assert done.code == 2
        assert done.err.startswith(f"error: {says}\nhint: ")
