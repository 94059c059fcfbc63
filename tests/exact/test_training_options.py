"""The training options against their slow twins, and what they refuse."""

from __future__ import annotations

from dataclasses import asdict, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import (
    MARKERS,
    TIES_OF,
    WORDS,
    assert_same,
    counted,
    document,
    recipe,
    tied_words,
)
from tests.twins import options as twins
from tests.twins import train as twin
from tokctl import TokctlError, _native, training
from tokctl.model import TIE_BREAKS, TrainingRecord
from tokctl.model.byte_level import spell
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import BPE, CHAR, UNIGRAM, WORD
from tokctl.training import Timing, TrainOptions, train_on_counts

# -- the alphabet ---------------------------------------------------------------------

coverages = st.one_of(st.none(), st.fractions(Fraction(1, 50), 1, max_denominator=60))
limited = st.fixed_dictionaries(
    {
        "coverage": coverages,
        "limit": st.one_of(st.none(), st.integers(1, 6)),
        "initial": st.text(alphabet="azé字", max_size=3),
    }
)


@given(words=tied_words, limits=limited)
def test_alphabet_equals_twin(words: dict[str, int], limits: dict[str, Any]) -> None:
    counter = _native.Counter("none", [], 1)
    for word, times in words.items():
        counter.add(word.encode(), times)
    share = limits["coverage"]
    row = (share and (share.numerator, share.denominator), limits["limit"], limits["initial"])
    found = _native.alphabet_of(counter.finish(1), limits=row)
    assert found == twins.alphabet_of(words, **limits)


@pytest.mark.few(2)
@pytest.mark.parametrize(("marker", "score"), list(product(MARKERS, ("count", "likelihood"))))
@given(words=tied_words, limits=limited, vocab_size=st.integers(30, 50))
@part_of_examples(4)
def test_a_limited_alphabet_equals_twin(
    marker: str, score: str, words: dict[str, int], limits: dict[str, Any], vocab_size: int
) -> None:
    """A character that is left out has no id, and no merge crosses it."""
    kind, mark = MARKERS[marker]
    alphabet = twins.alphabet_of(words, **limits)
    bare = [*limits["initial"]]
    if kind == "continuation":
        bare += [mark + character for character in limits["initial"]]
    if kind == "end-fused":
        bare += [character + mark for character in limits["initial"]]
    for ties in TIES_OF[score]:
        model = train_on_counts(
            words,
            recipe(marker, ties, score),
            TrainOptions(
                vocab_size=vocab_size,
                coverage=limits["coverage"],
                alphabet_limit=limits["limit"],
                initial_alphabet=limits["initial"],
            ),
        )
        expected = twin.train(
            words,
            vocab_size=vocab_size,
            marker_kind=kind,
            marker=mark,
            criterion=score,
            ties=ties,
            alphabet=bare,
            left_out="".join(set("".join(words)) - set(alphabet)),
        )
        assert_same(model, expected)


def test_limit_alphabet_keeps_hugging_faces_characters() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    words = {"abac": 7, "bad": 3, "eab": 2, "bb": 4}  # a 19, b 20, c 7, d 3, e 2
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=4, limit_alphabet=3, initial_alphabet=["z"], show_progress=False
    )
    peer.train_from_iterator([" ".join([word] * times) for word, times in words.items()], trainer)
    theirs = sorted(token for token in peer.get_vocab() if len(token) == 1)
    ours = train_on_counts(
        words, recipe("none"), TrainOptions(vocab_size=3, alphabet_limit=3, initial_alphabet="z")
    )
    assert [token.decode() for token in ours.tokens] == theirs == ["a", "b", "z"]


def test_limits_are_refused_where_they_mean_nothing() -> None:
    graphemes = replace(CHAR, segmentation="lookup")
    for wrong, what in ((BPE, "all 256 bytes"), (WORD, "whole pre-t"), (graphemes, "whole pre-t")):
        for option in ({"coverage": 0.9}, {"alphabet_limit": 3}, {"initial_alphabet": "a"}):
            with pytest.raises(TokctlError, match=what) as caught:
                train_on_counts({"ab": 1}, wrong, TrainOptions(vocab_size=300, **option))  # type: ignore[arg-type]
            assert caught.value.hint


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *product(("coverage", "sample"), (0, -0.5, 1.5, float("nan"), float("inf"), "x", True)),
        ("coverage", 1e-300),
        ("alphabet_limit", 0),
        ("seed", -1),
        ("seed", 2**64),
        ("seed", 1.5),
        ("initial_alphabet", "\ud800"),
    ],
)
def test_options_that_can_not_be(option: str, value: object) -> None:
    with raises_code("bad-value") as caught:
        TrainOptions(vocab_size=300, **{option: value})  # type: ignore[arg-type]
    assert caught.value.hint


def test_the_longest_piece_of_a_unigram_model() -> None:
    words = {"▁" + "ab" * 200: 3, "▁a": 2}
    model = train_on_counts(words, UNIGRAM, TrainOptions(vocab_size=20, max_token_length=255))
    assert max(len(token.decode()) for token in model.tokens) <= 255
    for longest in (256, 2**32, 2**63 - 1):
        options = TrainOptions(vocab_size=20, max_token_length=longest)
        with pytest.raises(
            TokctlError, match=f"invalid value {longest} for .* of unigram"
        ) as caught:
            train_on_counts(words, UNIGRAM, options)
        assert caught.value.hint and "--max-token-length 255" in caught.value.hint
        assert train_on_counts(words, CHAR, options).tokens


# -- weights --------------------------------------------------------------------------


@given(
    texts=st.lists(st.lists(st.sampled_from(["a", "bb", "c"]), max_size=6), min_size=1, max_size=3),
    weights=st.lists(st.sampled_from([1, 0.5, "0.25", Decimal("1.2"), Fraction(1, 3), 3])),
    least=st.integers(1, 3),
)
def test_weighted_counts_equal_the_definition(
    texts: list[list[str]], weights: list[Any], least: int
) -> None:
    named = {
        str(number): weight for number, weight in zip(range(len(texts)), weights, strict=False)
    }
    exact = [Fraction(str(named.get(str(number), 1))) for number in range(len(texts))]
    expected: dict[str, Fraction] = {}
    for words, weight in zip(texts, exact, strict=True):
        for word in words:
            expected[word] = expected.get(word, Fraction(0)) + weight
    documents = [document(str(n), " ".join(words).encode()) for n, words in enumerate(texts)]
    for model_of in (WORDS, replace(WORDS, pre_tokenizers=PRE_TOKENIZERS.steps(r"regex:\w+"))):
        options = TrainOptions(vocab_size=300, weights=named, min_count=least)
        counts, read = training.count(documents, model_of, options)
        found = {w.decode(): Fraction(times, read.scale) for w, times in counts.items()}
        found.pop(" ", None)

        assert list(found.items()) == [
            (w, n) for w, n in expected.items() if n >= least or least == 1
        ], model_of.pre_tokenizers
        assert list(read.weights) == (exact if named else [])


def test_thresholds_are_those_of_the_weighted_counts() -> None:
    texts = [document("half", b"ab ab ab"), document("one", b"cd")]
    options = TrainOptions(vocab_size=20, weights={"half": 0.5}, min_frequency=2)
    # ab: 1.5, cd: 1.
    model = training.train(texts, WORDS, options)
    assert model.merges == []
    model = training.train(texts, WORDS, replace(options, min_frequency=1))
    assert [merge.count for merge in model.merges] == [3, 2]
    assert model.training and model.training.count_scale == 2
    assert model.training.weights == ("1/2", "1")


def test_weights_that_can_not_be() -> None:
    text = [document("a", b"x y"), document("b", b"x")]
    for weights, what in (
        ({"a": 0}, "invalid value 0 for the weight of a"),
        ({"a": -1}, "invalid value -1"),
        ({"a": "two"}, "invalid value 'two'"),
        ({"a": float("nan")}, "invalid value nan"),
        ({"c": 1}, "'c', which is not read"),
        ({"a": 1e-30}, "closer to 1"),
        ({"a": 1e30}, "closer to 1"),
        ({"a": Fraction(1, 2**40), "b": Fraction(1, 3**30)}, "whole numbers of 64 bits"),
        ({"a": 2**62, "b": 2**62}, "2\\^63 or more"),
    ):
        with pytest.raises(TokctlError, match=what) as caught:
            training.train(text, WORDS, TrainOptions(vocab_size=20, weights=weights))  # type: ignore[arg-type]
        assert caught.value.hint, what


def test_a_weight_names_a_file_as_its_path_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab ab")
    weights = {f"{tmp_path}/./a.txt": 3}
    model = training.train([tmp_path / "a.txt"], WORDS, TrainOptions(vocab_size=9, weights=weights))
    assert model.merges[0].count == 6


# -- samples --------------------------------------------------------------------------


@given(
    texts=st.lists(st.text(alphabet="ab \n", max_size=60).map(str.encode), min_size=1, max_size=3),
    share=st.fractions(Fraction(1, 20), 1, max_denominator=40),
    seed=st.integers(0, 2**64 - 1),
    block=st.integers(1, 9),
)
def test_a_sample_is_the_text_of_its_lines(
    texts: list[bytes], share: Fraction, seed: int, block: int
) -> None:
    whole = [document(str(n), text, block) for n, text in enumerate(texts)]
    kept = [document(str(n), text) for n, text in enumerate(twins.sample_lines(texts, share, seed))]
    for splitting in ("whitespace", "none", r"regex:\w+"):
        model_of = replace(WORDS, pre_tokenizers=PRE_TOKENIZERS.steps(splitting))
        sampled = counted(model_of, whole, sample=share, seed=seed)
        assert list(sampled.items()) == list(counted(model_of, kept).items())


def test_a_sample_does_not_depend_on_threads_and_is_recorded(sample: str) -> None:
    text = sample.encode()
    models = [
        training.train(
            [document("a", text, block)],
            BPE,
            TrainOptions(vocab_size=300, sample=0.4, seed=3, threads=threads),
        )
        for block, threads in ((1000, 1), (77, 2), (len(text), 3))
    ]
    assert models[0] == models[1] == models[2]
    record = models[0].training
    assert record and (record.sample, record.seed) == (0.4, 3) and record.bytes == len(text)
    other = training.train(
        [document("a", text)], BPE, TrainOptions(vocab_size=300, sample=0.4, seed=4)
    )
    assert other.merges != models[0].merges


# -- the record -----------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written() -> None:
    texts = [document("a", b"ab ab cd\nef\n"), document("b", b"ab\n")]
    options = TrainOptions(
        vocab_size=20, coverage=0.9, alphabet_limit=5, initial_alphabet="z", sample=0.9, seed=5
    )
    record = training.train(texts, WORDS, replace(options, weights={"b": 0.5})).training
    assert record and TrainingRecord.from_dict(record.to_dict()) == record
    lists = {"weights": ["1", "1/2"], "initial_tokens": []}
    assert TrainingRecord.from_dict(asdict(record) | lists) == record
    plain = training.train(texts, WORDS, TrainOptions(vocab_size=20)).training
    assert plain and "sample" not in plain.to_dict() and plain.to_dict()["max_token_length"] is None
    for name, wrong in (
        ("weights", "x"),
        ("weights", [1]),
        ("sample", "x"),
        ("coverage", 1),
        ("seed", -1),
        ("count_scale", 1.5),
        ("initial_alphabet", None),
        ("pruned_from", "x"),
        ("whole_characters", 1),
        ("initial_tokens", "x"),
        ("initial_tokens", [1]),
        ("initial_merges", -1),
    ):
        with pytest.raises(TypeError):
            TrainingRecord.from_dict(plain.to_dict() | {name: wrong})


def test_timing_has_the_phases(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("ab ab")
    timing = Timing()
    told: list[tuple[str, int, int | None]] = []
    training.train([path], BPE, TrainOptions(vocab_size=257), lambda *now: told.append(now), timing)
    assert set(timing.seconds) == {"count", "merge"} and told[-1] == ("count", 5, 5)


# -- a text that is not split ---------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(text=st.text(alphabet="ab c\né", min_size=1, max_size=150), vocab_size=st.integers(257, 330))
def test_an_unsplit_text_equals_twin(ties: str, text: str, vocab_size: int) -> None:
    """Byte-level BPE over the whole text as one pre-token."""
    made = replace(BPE, pre_tokenizers=(), tie_break=ties)
    model = training.train(
        [document("text", text.encode())], made, TrainOptions(vocab_size=vocab_size)
    )
    expected = twin.train(
        {spell(text.encode()): 1},
        vocab_size=vocab_size,
        ties=ties,
        alphabet=list(twin.byte_to_unicode().values()),
    )
    # Training puts the alphabet in the order of the stand-ins, as the twin does.
    tokens = [spell(token) for token in model.tokens]
    assert tokens == expected.vocabulary
    merges = [twin.Merge(*(tokens[id_] for id_ in m[:3]), *m[3:]) for m in model.merges]
    assert merges == expected.merges
