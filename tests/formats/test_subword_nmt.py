"""subword-nmt's codes and vocabulary: the tokens and ids of `apply-bpe --vocabulary`."""

from __future__ import annotations

import io
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.errors import raises_code
from tests.twins import subword_nmt as twin
from tokctl import TokctlError, Tokenizer, formats

CODES = "#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\nlow er</w>\n"
VOCABULARY = "lo@@ 9\nw 8\ner 7\nlow@@ 6\nn@@ 5\ne@@ 4\nlow 2\n"


def folder(path: Path, codes: str = CODES, vocabulary: str = VOCABULARY) -> Path:
    (path / "codes").write_text(codes, newline="")
    (path / "vocab").write_text(vocabulary, newline="")
    return path / "codes"


def as_written(tokenizer: Tokenizer, text: str) -> list[str]:
    """The tokens as subword-nmt writes them."""
    return [twin.shown(token) for token in tokenizer.encode(text).tokens]


def test_one_file(tmp_path: Path) -> None:
    read = formats.read(folder(tmp_path))
    assert read.format.name == "subword-nmt"
    ours = Tokenizer(read.model)
    text = "lower low new"
    # `lower` is not in the vocabulary, so it falls into `low` and `er`.
    assert as_written(ours, text) == ["low@@", "er", "low", "n@@", "e@@", "w"]
    assert ours.encode_ids(text) == [3, 2, 6, 4, 5, 1]
    assert ours.decode(ours.encode_ids(text)) == text
    assert ours.encode("x").tokens == ["<unk>"]
    assert ours.model.origin == ("subword-nmt", "")


def corpus(draw: random.Random, lines: int) -> str:
    words = [
        "".join(draw.choice("abcdé山") for _ in range(draw.randrange(1, 7)))
        for _ in range(draw.randrange(3, 25))
    ]
    rows = ([draw.choice(words) for _ in range(draw.randrange(1, 9))] for _ in range(lines))
    return "\n".join(map(" ".join, rows))


def learned(text: str, count: int) -> list[twin.Pair]:
    """Merges of the most frequent pairs."""
    rows = [([*word[:-1], word[-1] + twin.SUFFIX]) for word in text.split()]
    codes: list[twin.Pair] = []
    while len(codes) < count:
        pairs = Counter(pair for row in rows for pair in itertools.pairwise(row))
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        codes.append(best)
        rows = [twin.merged(word, codes) for word in text.split()]
    return codes


@pytest.mark.parametrize("seed", range(12))
def test_generated_models(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    text = corpus(draw, 20)
    codes = learned(text, draw.randrange(3, 30))
    everything = {token for line in text.split("\n") for token in twin.tokens(line, codes, set())}
    whole = {token for pair in codes for side in pair for token in [twin.shown(side)]}
    listed = [token for token in sorted(everything | whole) if draw.random() < 0.7]
    path = folder(
        tmp_path,
        "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in codes),
        "".join(f"{token} {draw.randrange(1, 99)}\n" for token in listed),
    )
    ours = Tokenizer.load(path)
    ids = {token: id_ for id_, token in enumerate(listed)}
    for line in [*text.split("\n"), *(corpus(draw, 1) for _ in range(150)), "  ab  c \r", ""]:
        wanted = twin.tokens(line, codes, set(listed))
        found = ours.encode(line)
        assert len(found.ids) == len(wanted)
        for token, id_ in zip(wanted, found.ids, strict=True):
            assert id_ == ids[token] if token in ids else id_ >= len(listed), (line, token)
            # What neither file has is unknown.
            assert ours.tokens[id_] == "<unk>" or twin.shown(ours.tokens[id_]) == token


def test_the_twin_is_subword_nmt() -> None:
    theirs = pytest.importorskip("subword_nmt.apply_bpe")
    for seed in range(25):
        draw = random.Random(seed)
        text = corpus(draw, 20)
        codes = learned(text, draw.randrange(3, 30))
        listing = "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in codes)
        shown = sorted({twin.shown(side) for pair in codes for side in pair})
        vocabulary = {token for token in shown if draw.random() < 0.6}
        model = theirs.BPE(io.StringIO(listing), vocab=vocabulary)
        for line in [*text.split("\n"), *(corpus(draw, 1) for _ in range(40))]:
            # Their library leaves a word of one character as it is, too, and an empty
            # vocabulary means none.
            if vocabulary:
                assert model.process_line(line).split() == twin.tokens(line, codes, vocabulary)


def test_spaces_around_lines(tmp_path: Path) -> None:
    ours = Tokenizer.load(folder(tmp_path))
    assert as_written(ours, "  low \r\n low\n\nlow  ") == ["low"] * 3


@pytest.mark.parametrize("name", ["codes.vocab", "vocab", "vocab.txt"])
def test_names_of_the_vocabulary(name: str, tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "vocab").rename(tmp_path / name)
    assert Tokenizer.load(path).encode_ids("low") == [6]


def test_without_its_vocabulary(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "vocab").unlink()
    with raises_code("bad-model") as caught:
        Tokenizer.load(path)
    assert "codes.vocab" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("codes", "vocabulary", "message"),
    [
        (CODES.replace("0.2", "0.1"), VOCABULARY, "of version 0.1"),
        (CODES.removeprefix("#version: 0.2\n"), VOCABULARY, "of version 0.1"),
        (CODES.replace("0.2", "9.9"), VOCABULARY, "of version 9.9"),
        (CODES + "a\n" * 2000, VOCABULARY, "line 7 is not a pair"),
        (CODES, VOCABULARY + "x\n", "line 8 is not a token and its count"),
        (CODES, VOCABULARY + "low 3\n", "'low</w>' occurs twice"),
    ],
)
def test_damaged(codes: str, vocabulary: str, message: str, tmp_path: Path) -> None:
    if "line 7" in message:
        codes = CODES + "ab c</w>\n" * 900 + "a\n"
        message = "line 907 is not a pair"
    with pytest.raises(TokctlError, match=message):
        Tokenizer.load(folder(tmp_path, codes, vocabulary))


def test_parts_that_are_not_the_fewest(tmp_path: Path) -> None:
    """`abc` is first learned as `a` and `bc`, and could be `ab` and `c`."""
    codes = "#version: 0.2\nb c\na bc\na b\nab c\nx y</w>\n"
    with raises_code("unsupported"):
        Tokenizer.load(folder(tmp_path, codes, "ab@@ 5\na@@ 1\nb@@ 2\nc@@ 3\n"))
