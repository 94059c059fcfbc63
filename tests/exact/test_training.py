"""The trainers against their slow twins: merges, counts, ids, one for one."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import MARKERS, SCORED, TIES_OF
from tests.twins import train as twin
from tokctl import Recipe, TokctlError, Tokenizer, preset
from tokctl.model.byte_level import spell


def recipe(marker: str, score: str, ties: str, **changes: object) -> Recipe:
    wordpiece = marker == "continuation"
    values = {
        "name": "test",
        "algorithm": "wordpiece" if wordpiece else "bpe",
        "pre_tokenizers": "whitespace",
        "units": "characters",
        "marker": MARKERS[marker],
        "score": score,
        "tie_break": ties,
        "segmentation": "replay",
        **changes,
    }
    return Recipe(**values)  # type: ignore[arg-type]


#: Few letters and small counts: ties everywhere, runs of one letter, markers in the text.
tied_words = st.dictionaries(
    st.text(alphabet="ab", min_size=1, max_size=9), st.integers(1, 3), min_size=1, max_size=12
)
odd_words = st.dictionaries(
    st.text(alphabet="a#_Ġ</w>é字", min_size=1, max_size=7),
    st.integers(1, 5),
    min_size=1,
    max_size=8,
)


def assert_same(tokenizer: Tokenizer, expected: twin.Training) -> None:
    assert tokenizer.tokens == expected.vocabulary
    tokens = tokenizer.tokens
    merges = [
        twin.Merge(tokens[m.left], tokens[m.right], tokens[m.token], *m[3:])
        for m in tokenizer.merges
    ]
    assert merges == expected.merges


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("marker", "score", "ties"),
    [(marker, *both) for marker, both in product(MARKERS, SCORED)],
)
@given(
    words=st.one_of(tied_words, odd_words),
    vocab_size=st.integers(26, 60),
    min_frequency=st.integers(1, 3),
    special=st.sampled_from([(), ("[UNK]", "<x>"), ("ab", "aba", "##ab", "_aa")]),
)
@part_of_examples(2)
def test_trainer_equals_twin(
    marker: str,
    score: str,
    ties: str,
    words: dict[str, int],
    vocab_size: int,
    min_frequency: int,
    special: tuple[str, ...],
) -> None:
    tokenizer = Tokenizer.train(
        words,
        recipe=recipe(marker, score, ties, special_tokens=special),
        vocab_size=vocab_size,
        min_frequency=min_frequency,
    )
    expected = twin.train(
        words,
        vocab_size=vocab_size,
        marker_kind=MARKERS[marker].kind,
        marker=MARKERS[marker].text,
        criterion=score,
        ties=ties,
        special_tokens=list(special),
        min_frequency=min_frequency,
    )
    assert_same(tokenizer, expected)


@pytest.mark.few(2)
@pytest.mark.parametrize(("marker", "score"), list(product(MARKERS, ("count", "likelihood"))))
@given(words=tied_words, longest=st.integers(1, 6))
def test_max_token_length_equals_twin(
    marker: str, score: str, words: dict[str, int], longest: int
) -> None:
    tokenizer = Tokenizer.train(
        words,
        recipe=recipe(marker, score, "first-seen"),
        vocab_size=100,
        max_token_length=longest,
    )
    expected = twin.train(
        words,
        vocab_size=100,
        marker_kind=MARKERS[marker].kind,
        marker=MARKERS[marker].text,
        criterion=score,
        max_token_length=longest,
    )
    assert_same(tokenizer, expected)


@pytest.mark.parametrize(
    ("score", "ties"), [("count", "rewritten-last"), ("likelihood", "first-seen")]
)
def test_a_merge_at_more_places_than_one_batch(score: str, ties: str) -> None:
    letters = random.Random(19)
    words = {
        "a" * 150_000 + "".join(letters.choices("ab", k=200_000)): 3,
        "b" + "ab" * 70_000: 2,
    }
    tokenizer = Tokenizer.train(words, recipe=recipe("none", score, ties), vocab_size=8)
    expected = twin.train(words, vocab_size=8, criterion=score, ties=ties)
    assert len(expected.merges) == 6
    assert max(merge.count for merge in expected.merges) > 1 << 17
    assert_same(tokenizer, expected)


@given(
    words=st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 5), min_size=1),
    vocab_size=st.integers(257, 300),
)
def test_byte_level_trainer_equals_twin(words: dict[bytes, int], vocab_size: int) -> None:
    tokenizer = Tokenizer.train(words, recipe=preset("gpt2"), vocab_size=vocab_size)
    expected = twin.train(
        {spell(word): count for word, count in words.items()},
        vocab_size=vocab_size,
        ties="lowest-id",
        alphabet=list(twin.byte_to_unicode().values()),
        special_tokens=["<|endoftext|>"],
    )
    assert_same(tokenizer, expected)


@pytest.mark.parametrize("score", ["count", "likelihood"])
def test_counts_are_64_bit(score: str) -> None:
    """Counts whose products need far more than 64 bits, one apart where floats see none."""
    big = 2**61
    words = {"ab": big, "cd": big - 1, "ef": big - 2, "ag": 3, "gb": 3}
    tokenizer = Tokenizer.train(words, recipe=recipe("none", score, "first-seen"), vocab_size=12)
    assert_same(tokenizer, twin.train(words, vocab_size=12, criterion=score))


@pytest.mark.slow
@pytest.mark.parametrize("score", ["count", "likelihood"])
def test_a_whole_book_equals_twin(score: str, sample: str) -> None:
    words: dict[str, int] = {}
    for word in sample.split()[:2500]:
        words[word] = words.get(word, 0) + 1
    for ties in TIES_OF[score]:
        tokenizer = Tokenizer.train(
            words, recipe=recipe("continuation", score, ties), vocab_size=320
        )
        expected = twin.train(
            words,
            vocab_size=320,
            marker_kind="continuation",
            marker="##",
            criterion=score,
            ties=ties,
        )
        assert_same(tokenizer, expected)


def test_bare_characters_are_in_the_alphabet_where_asked() -> None:
    tokenizer = Tokenizer.train(
        {"ab": 1, "ba": 1},
        recipe=recipe("continuation", "count", "lowest-id", alphabet="characters"),
        vocab_size=4,
    )
    assert tokenizer.tokens == ["a", "b", "##a", "##b"]


def test_a_special_token_is_never_made_by_a_merge() -> None:
    special = replace(preset("gpt2"), special_tokens=("ab",))
    tokenizer = Tokenizer.train({"ab": 3, "abab": 1}, recipe=special, vocab_size=260)
    assert 0 not in tokenizer.encode("xabab").ids
    assert tokenizer.decode(tokenizer.encode("xab").ids, skip_special=True) == "xab"


def test_a_special_token_in_stand_ins_is_never_made_by_a_merge(tmp_path: Path) -> None:
    """`Ġt` is how a model file spells a space and a t: the two could not be told apart."""
    special = replace(preset("gpt2"), special_tokens=("Ġt",))
    tokenizer = Tokenizer.train({" to": 3, " the": 1}, recipe=special, vocab_size=260)
    tokenizer.save(tmp_path / "model.json")
    loaded = Tokenizer.load(tmp_path / "model.json")
    assert loaded.model == tokenizer.model
    assert loaded.decode(loaded.encode(" to the").ids, skip_special=True) == " to the"
    assert len(set(loaded.tokens)) == loaded.vocab_size


def test_a_special_token_that_is_a_symbol_of_the_alphabet() -> None:
    for special in (
        replace(preset("gpt2"), special_tokens=("a",)),
        recipe("none", "count", "first-seen", special_tokens=("a",)),
    ):
        with pytest.raises(TokctlError, match='spelled like "a"'):
            Tokenizer.train({"ab": 3}, recipe=special, vocab_size=260)


def test_a_vocabulary_that_is_too_small_names_the_least() -> None:
    with raises_code("bad-value", "need 3") as caught:
        Tokenizer.train({"abc": 1}, recipe=recipe("none", "count", "first-seen"), vocab_size=2)
    assert caught.value.hint is not None and "--vocab 3" in caught.value.hint


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", ["continuation", "end-fused", "end"])
@pytest.mark.parametrize("score", ["count", "likelihood"])
@given(
    words=st.dictionaries(
        st.text(alphabet="ab#_</w>", min_size=2, max_size=12),
        st.integers(1, 3),
        min_size=30,
        max_size=60,
    )
)
@part_of_examples(10)
def test_many_words_with_the_markers_own_characters(
    marker: str, score: str, words: dict[str, int]
) -> None:
    """A merge can make a token that exists already, and give an old pair new places."""
    for ties in TIES_OF[score]:
        tokenizer = Tokenizer.train(words, recipe=recipe(marker, score, ties), vocab_size=140)
        expected = twin.train(
            words,
            vocab_size=140,
            marker_kind=MARKERS[marker].kind,
            marker=MARKERS[marker].text,
            criterion=score,
            ties=ties,
        )
        assert_same(tokenizer, expected)


@pytest.mark.parametrize(
    "words", [{"aaaa": 2**63 - 1, "b": 1}, {"aa": 2**63 - 1, "ab": 2**63 - 1, "ba": 2**63 - 1}]
)
def test_counts_that_64_bits_can_not_hold_are_refused(words: dict[str, int]) -> None:
    with raises_code("too-large", "and counts have 64 bits"):
        Tokenizer.train(words, vocab_size=300)


def test_words_that_are_not_utf8_are_refused() -> None:
    for words in ({b"\xff": 1}, {"\ud800": 1}):
        with raises_code("not-utf8", "is not UTF-8"):
            Tokenizer.train(words, recipe=preset("notebook-bpe"), vocab_size=300)
    with raises_code("bad-value", "is not UTF-8"):
        replace(preset("gpt2"), special_tokens=("\ud800",))


def test_a_pattern_with_a_normalizer(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"ab\r\ncd ef\n")
    made = replace(preset("notebook-bpe"), pre_tokenizers=r"regex:\w+")
    tokenizer = Tokenizer.train([path], recipe=made, vocab_size=30)
    encoding = tokenizer.encode("ab\ncd ef")
    assert encoding.tokens[0] == "Ġabcd" and encoding.offsets[0] == (0, 5)
    assert tokenizer.encode_ids("abcd") == [tokenizer.vocabulary["Ġabcd"]]


def test_any_number_of_threads_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"ab cd " * 100)
    tokenizer = Tokenizer.train([path], vocab_size=260, threads=2**62)
    assert tokenizer.encode_ids(["ab"] * 200, threads=2**62) == [tokenizer.encode_ids("ab")] * 200


def test_exhaustion_is_recorded() -> None:
    plain = recipe("none", "count", "first-seen")
    full = Tokenizer.train({"ab": 1}, recipe=plain, vocab_size=3)
    short = Tokenizer.train({"ab": 1}, recipe=plain, vocab_size=9)
    assert full.model.training and not full.model.training.exhausted
    assert short.model.training and short.model.training.exhausted
    assert short.vocab_size == 3


def test_min_count_drops_rare_pre_tokens() -> None:
    for pattern in ("whitespace", r"regex:\S+"):
        tokenizer = Tokenizer.train(
            {"ab": 1, "cd": 2},
            recipe=replace(recipe("none", "count", "first-seen"), pre_tokenizers=pattern),
            vocab_size=10,
            min_count=2,
        )
        assert tokenizer.tokens == ["c", "d", "cd"]
