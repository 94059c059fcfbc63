"""CLIP's list of merges: the ids that follow from it, as CLIP's own tokenizer counts them."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from pathlib import Path

import pytest

from tests.exact.strings import strings
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import clip_merges

WORDS = [
    "low",
    "lower",
    "lowest",
    "the",
    "then",
    "this",
    "that",
    "12",
    "it's",
    "é",
    "né",
    "naïve",
    "日本",
    "newest",
    "😀",
    "a",
    "ab",
    "abc",
]


def spelled() -> dict[int, str]:
    """The character of each byte, in the order of CLIP's vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {
        **{byte: chr(byte) for byte in plain},
        **{byte: chr(256 + number) for number, byte in enumerate(others)},
    }


def learned(count: int) -> list[tuple[str, str]]:
    """Merges of the most frequent pairs of some words."""
    characters = spelled()
    rows = []
    for word in WORDS:
        symbols = [characters[byte] for byte in word.encode()]
        rows.append([*symbols[:-1], symbols[-1] + "</w>"])
    merges: list[tuple[str, str]] = []
    made = {symbol for row in rows for symbol in row}
    while len(merges) < count:
        pairs: dict[tuple[str, str], int] = {}
        for row in rows:
            for pair in itertools.pairwise(row):
                pairs[pair] = pairs.get(pair, 0) + 1
        pairs = {pair: number for pair, number in pairs.items() if "".join(pair) not in made}
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        made.add("".join(best))
        for row in rows:
            at = 0
            while at < len(row) - 1:
                if (row[at], row[at + 1]) == best:
                    row[at : at + 2] = ["".join(best)]
                at += 1
    return merges


def listing(merges: list[tuple[str, str]]) -> bytes:
    title = '"bpe_simple_vocab_16e6.txt#version: 0.2\n'
    return (title + "".join(f"{left} {right}\n" for left, right in merges)).encode()


def vocabulary(merges: list[tuple[str, str]]) -> list[str]:
    """As `SimpleTokenizer` puts the ids together."""
    characters = list(spelled().values())
    ends = [one + "</w>" for one in characters]
    made = ["".join(pair) for pair in merges]
    return [*characters, *ends, *made, "<|startoftext|>", "<|endoftext|>"]


def twin(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """The tokens of a word, by the merge that was learned first, again and again."""
    symbols = [spelled()[byte] for byte in word.encode()]
    symbols[-1] += "</w>"
    while pairs := [
        (merges.index(pair), at)
        for at, pair in enumerate(itertools.pairwise(symbols))
        if pair in merges
    ]:
        at = min(pairs)[1]
        symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
    return symbols


@pytest.mark.slow
def test_the_ids_are_those_of_the_construction() -> None:
    merges = learned(40)
    data = gzip.compress(listing(merges))
    ours = Tokenizer(formats.parse(data, "bpe_simple_vocab_16e6.txt.gz"))
    assert ours.tokens == vocabulary(merges)
    assert ours.model.origin == ("clip-merges", "")
    assert formats.parse(listing(merges), "x").tokens == ours.model.tokens
    ids = {token: id_ for id_, token in enumerate(vocabulary(merges))}
    draw = random.Random(1)
    for _ in range(2000):
        word = "".join(draw.choice("abehlostwé日") for _ in range(draw.randrange(1, 12)))
        assert ours.encode_ids(word) == [ids[one] for one in twin(word, merges)], word


def test_transformers_has_the_same_ids(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    merges = learned(40)
    ids = {token: id_ for id_, token in enumerate(vocabulary(merges))}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    plain = listing(merges).replace(b'"bpe_simple_vocab_16e6.txt#', b"#")
    (tmp_path / "merges.txt").write_bytes(plain)
    theirs = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    ours = Tokenizer(formats.parse(gzip.compress(listing(merges)), "x.gz"))
    for text in [*strings(1500, seed=5), *WORDS, "<|startoftext|> a <|endoftext|>"]:
        wanted = theirs(text)["input_ids"]
        assert list(ours.encode(text, add_special=True, special="all").ids) == wanted, text


def test_no_more_merges_than_clip_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert clip_merges._MERGES_USED == 48_894
    monkeypatch.setattr(clip_merges, "_MERGES_USED", 9)
    merges = learned(40)
    read = formats.parse(listing(merges), "x")
    assert read.size == 512 + 9 + 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(listing(learned(9)))[:-9], "it can't be unpacked"),
        (listing(learned(9)) + b"a\n", "merge 10 is not a pair"),
        (listing(learned(9)) + b"a b c\n", "merge 10 is not a pair"),
        (listing([("l", "o"), ("l", "o")]), "make the same token"),
        (listing([("l", "q"), ("zz", "o")]), "merge 2 names 'zz'"),
    ],
)
def test_damaged(data: bytes, message: str) -> None:
    with pytest.raises(TokctlError, match=message):
        formats.parse(data, "bpe_simple_vocab_16e6.txt.gz")
