"""BoundlessBPE against its slow twin, which has one phase, and against its authors' code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.spilled import archive, document, records
from tests.twins import superwords as twin
from tokctl import Tokenizer, _native, training
from tokctl.model import Model
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS
from tokctl.model.presets import DEFAULTS
from tokctl.sources import Document, Source
from tokctl.training import TrainOptions
from tokctl.training.resizing import prune

BOOK = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "treasure-island.txt"
BOOK_IS_HERE = pytest.mark.skipif(not BOOK.exists(), reason="the shared texts are not here")
RECIPE = DEFAULTS["boundless"]

#: Few words, so that they often stand side by side; and what parts them, or may seem to.
PIECES = st.sampled_from(
    [" the", " of", "the", " a", "a", " a a a", " o", "\n", "\n\n", " \n", ".", ", ", " 1", "12",
     "é", " É", "\u2019s", "'s", " dont'", "\t", "  ", "\r\n", "東", "A", " bA", "\0", "_x", " -a",
     "\u0301", "a1", "1a", "!?", "\u0663", " -", "-a'", "a' b", "\xa0", "\u2028"]
)  # fmt: skip
TEXTS = st.lists(st.lists(PIECES, max_size=40).map("".join), min_size=1, max_size=4)


def train(texts: Sequence[str | bytes], vocab: int, **options: Any) -> Model:
    plain = [text.encode() if isinstance(text, str) else text for text in texts]
    chosen = TrainOptions(vocab_size=vocab, **{"threads": 1, **options})
    return training.train([records("texts", plain)], RECIPE, chosen)


def split(text: str | bytes) -> list[bytes]:
    data = text.encode() if isinstance(text, str) else text
    return [data[start:end] for start, end in _native.pre_tokens("o200k", data)]


def steps(model: Model) -> tuple[list[tuple[bytes, bytes, int]], ...]:
    """The merges, and the supermerges, each with its count."""
    tokens = model.tokens
    return tuple(
        [(tokens[merge.left], tokens[merge.right], merge.count) for merge in merges]
        for merges in (model.merges, model.supermerges)
    )


def expected(found: Sequence[twin.Step]) -> tuple[list[tuple[bytes, bytes, int]], ...]:
    return tuple([step[:3] for step in found if step.joins == joins] for joins in (False, True))


@given(TEXTS, st.integers(1, 60), st.integers(1, 3), st.sampled_from([None, 2, 7, 12]))
def test_two_phases_are_one(
    texts: list[str], size: int, min_frequency: int, longest: int | None
) -> None:
    limits: dict[str, Any] = {"min_frequency": min_frequency, "max_token_length": longest}
    if not any(texts):
        return
    found = train(texts, 256 + size, **limits)
    slow = twin.train(list(map(split, texts)), size, **limits)
    assert steps(found) == expected(slow)
    assert found.size == 256 + len(slow)
    assert [found.tokens[merge.token] for merge in (*found.merges, *found.supermerges)] == (
        found.tokens[256:]
    )


@given(TEXTS, st.integers(1, 60), st.integers(0, 60), st.sampled_from(["lowest-id", "first-seen"]))
def test_pruning_gives_what_training_would(
    texts: list[str], size: int, less: int, tie_break: str
) -> None:
    if not any(texts):
        return
    recipe = replace(RECIPE, tie_break=tie_break)
    sources = [records("texts", list(map(str.encode, texts)))]
    large, small = (
        training.train(sources, recipe, TrainOptions(vocab_size=256 + n))
        for n in (size + less, size)
    )
    pruned = prune(large, min(256 + size, large.size))
    assert (pruned.tokens, pruned.merges, pruned.supermerges) == (
        small.tokens, small.merges, small.supermerges
    )  # fmt: skip


@given(TEXTS, st.integers(1, 60), TEXTS)
def test_ids_are_those_of_the_twin(texts: list[str], size: int, others: list[str]) -> None:
    if not any(texts):
        return
    tokenizer = Tokenizer(train(texts, 256 + size))
    slow = twin.train(list(map(split, texts)), size)
    for text in (*texts, *others, "".join(others) * 20):
        data = text.encode()
        expected = twin.encode(split(data), slow)
        ids = tokenizer.encode_ids(text)
        assert [tokenizer.model.tokens[id_] for id_ in ids] == expected
        found, starts, ends, _ = tokenizer.encoder.tokens(data)
        assert found == ids and [data[a:b] for a, b in zip(starts, ends, strict=True)] == expected
        assert tokenizer.decode_bytes(ids) == data
        for chunk in (1, 40):
            assert list(tokenizer.encoder.array(text, 2, chunk=chunk)) == ids
    assert [one.ids for one in tokenizer.encode_batch(others)] == [
        tokenizer.encode_ids(text) for text in others
    ]


@given(
    TEXTS,
    st.sampled_from(
        [
            ["gpt2"],
            ["cl100k"],
            ["deepseek-v3"],
            ["llama3"],
            ["qwen2"],
            ["digits", "o200k"],
            ["prefix-space", "gpt2"],
            [r"regex:\S+|\s"],
        ]
    ),
    st.sampled_from([[], ["nfkc", "lowercase"], ["nfd"]]),
)
def test_other_pre_tokenizers(texts: list[str], name: list[str], normalizers: list[str]) -> None:
    """Cutting a text into chunks or blocks changes nothing."""
    if not any(texts):
        return
    recipe = replace(
        RECIPE,
        pre_tokenizers=PRE_TOKENIZERS.steps(name),
        normalizers=NORMALIZERS.steps(normalizers),
    )
    whole = "".join(texts) * 3
    blocks: list[Source] = [document("text", whole.encode(), block) for block in (1,)]
    model = training.train(blocks, recipe, TrainOptions(vocab_size=300, threads=2))
    as_one = training.train(
        [records("text", [whole.encode()])], recipe, TrainOptions(vocab_size=300)
    )
    assert steps(model) == steps(as_one)
    tokenizer = Tokenizer(model)
    ids = tokenizer.encode_ids(whole)
    for chunk in (1, 30):
        assert list(tokenizer.encoder.array(whole, 2, chunk=chunk)) == ids
    assert tokenizer.encoder.tokens(whole.encode())[0] == ids


def test_the_authors_code_agrees() -> None:
    """What https://github.com/kensho-technologies/fastboundlessbpe (commit c2dce31) learns of these
    documents with `BpeTrainer` (tau 1.1) and `BoundlessBpeTrainer`, without ties to decide."""
    documents = ["the the the cat. the cat sat on the mat the cat sat on the the mat"] * 3
    documents += ["a a a a a a b a a a", "A bc d A bc d. x A bc d"]
    found = twin.train(list(map(split, documents)), 18, rules=AUTHORS)
    merges = "h|e|24 t|he|24 _|the|21 a|t|21 _|c|9 _c|at|9 _|a|8 _|m|6 _|o|6 _|s|6 _m|at|6 _o|n|6 "
    merges += "_s|at|6 _|b|4"
    supermerges = "_the|_cat|9 _on|_the|6 _sat|_on_the|6 _the_cat|_sat_on_the|6"
    assert expected(found) == (rows(merges), rows(supermerges))
    text = "the cat sat on the the the mat a a a a"
    tokens = ["the", " cat", " sat on the", " the", " the", " mat", *[" a"] * 4]
    assert twin.encode(split(text), found) == [token.encode() for token in tokens]


#: How the authors' code decides.
AUTHORS = twin.Rules(by_bytes=True, overlapping=False)


def rows(text: str) -> list[tuple[bytes, bytes, int]]:
    """`a|b|3` is the pair of a and b with the count 3; `_` is a space."""
    found = [row.replace("_", " ").encode().split(b"|") for row in text.split(" ")]
    return [(left, right, int(count)) for left, right, count in found]


@BOOK_IS_HERE
@pytest.mark.slow
def test_the_authors_code_agrees_on_a_book() -> None:
    """Two documents of *Treasure Island*: the supermerges among 357 steps."""
    text = BOOK.read_text(encoding="utf-8")
    documents = [text[20000:60000], text[60000:80000]]
    found = twin.train(list(map(split, documents)), 357, rules=AUTHORS)
    supermerges = (
        "_of|_the|68 _in|_the|38 _and|_I|30 _and|_the|30 _I|_was|28 "
        "_on|_the|28 _to|_the|27 _at|_the|22 _my|_mother|22 _said|_the|22 "
        "_I|_had|21 _in|_a|19 _from|_the|18 _it|_was|18"
    )
    assert expected(found)[1] == rows(supermerges)


@BOOK_IS_HERE
def test_a_book() -> None:
    text = BOOK.read_text(encoding="utf-8")[20000:45000].replace("\r\n", "\n")
    found = train([text], 256 + 150)
    slow = twin.train([split(text)], 150)
    assert steps(found) == expected(slow)
    assert steps(found)[1][0][:2] == (b" of", b" the")


@given(TEXTS, st.integers(1, 60), st.integers(2, 4))
def test_neither_threads_nor_memory_nor_sources_matter(
    texts: list[str], size: int, threads: int
) -> None:
    if not any(texts):
        return
    plain = [text.encode() for text in texts]
    model = train(plain, 256 + size)
    assert model == train(plain, 256 + size, threads=threads, memory=1 << 20)
    again: list[Source] = [
        document(str(n), text)._replace(prompt=True) for n, text in enumerate(plain)
    ]
    chosen = TrainOptions(vocab_size=256 + size, threads=threads)
    for sources in (again, once(plain), [archive("all", once(plain))]):
        found = training.train(sources, RECIPE, chosen)
        assert steps(found) == steps(model) and found.tokens == model.tokens


def once(texts: Sequence[bytes]) -> list[Document]:
    """Documents that come once, as from stdin."""
    blocks = [iter([text]) for text in texts]
    return [Document(str(n), None, lambda one=one: one) for n, one in enumerate(blocks)]  # type: ignore[misc]


def test_weights_and_samples_hold_for_superwords() -> None:
    texts = [b"x y z.", b"a b"] * 3
    sources: list[Source] = [records("one", texts), records("two", [b"a b", b"p q"])]
    found = training.train(sources, RECIPE, TrainOptions(vocab_size=280, weights={"two": "2.5"}))
    counts = {found.tokens[merge.token]: merge.count for merge in found.supermerges}
    assert counts[b"a b"] == 2 * 3 + 5 and counts[b"p q"] == 5
    sampled = training.train(
        [records("one", [b"%d a b" % n for n in range(200)])], RECIPE,
        TrainOptions(vocab_size=300, sample="0.5", seed=3),
    )  # fmt: skip
    (count,) = [m.count for m in sampled.supermerges if sampled.tokens[m.token] == b" a b"]
    assert count == sum(m.count for m in sampled.merges if sampled.tokens[m.token] == b" a") < 200


def test_texts_that_change_are_an_error() -> None:
    given_blocks = iter([[b"a b a b"], [b"a b a c"]])
    source = Document("log", 7, lambda: iter(next(given_blocks)), prompt=True)
    with raises_code("bad-input"):
        training.train([source], RECIPE, TrainOptions(vocab_size=260))


def test_counts_of_words_are_not_enough() -> None:
    with raises_code("conflict"):
        training.train_on_counts({"a": 3}, RECIPE, TrainOptions(vocab_size=260))
