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

from tests.twins import options as twins
from tests.twins import train as twin
from tokctl import TokctlError, _native, training
from tokctl.byte_level import spell
from tokctl.pipeline import PRE_TOKENIZERS
from tokctl.presets import BPE, BPE_CHARACTERS, CHAR, UNIGRAM, WORD, WORDPIECE
from tokctl.recipe import TIE_BREAKS, FilledRecipe, Marker, Recipe, TrainingRecord
from tokctl.sources import Document
from tokctl.training import Options, Timing, train_on_counts

MARKERS = {
    "none": Marker(),
    "end": Marker("end", "_"),
    "end-fused": Marker("end-fused", "</w>"),
    "start": Marker("start", "Ġ"),
    "continuation": Marker("continuation", "##"),
}
WORDS = replace(BPE_CHARACTERS, pre_tokenizers=PRE_TOKENIZERS.steps("whitespace"))

#: Few letters and small counts: ties everywhere.
tied_words = st.dictionaries(
    st.text(alphabet="abcdé", min_size=1, max_size=8), st.integers(1, 3), min_size=1, max_size=12
)
#: With the markers' own characters.
odd_words = st.dictionaries(
    st.text(alphabet="ab#_</w>", min_size=1, max_size=8), st.integers(1, 3), min_size=1, max_size=12
)


def recipe(marker: str, ties: str = "first-seen", score: str = "count", **more: Any) -> Recipe:
    wordpiece = marker == "continuation"
    base = Recipe(
        name="test",
        algorithm="wordpiece" if wordpiece else "bpe",
        marker=MARKERS[marker],
        tie_break=ties,
        score=score,
        segmentation="replay",
    )
    return replace(base, **more)


def assert_same(model: FilledRecipe, expected: twin.Training) -> None:
    tokens = [token.decode() for token in model.tokens]
    assert tokens == expected.vocabulary
    merges = [twin.Merge(*(tokens[id_] for id_ in m[:3]), *m[3:]) for m in model.merges]
    assert merges == expected.merges


def document(name: str, text: bytes, block: int = 5) -> Document:
    blocks = [text[at : at + block] for at in range(0, len(text), block)]
    return Document(name, len(text), lambda: iter(blocks))


def counted(model_of: Recipe, texts: list[Document], **options: Any) -> dict[str, int]:
    counts, _ = training.count(texts, model_of, Options(vocab_size=300, **options))
    return {word.decode(): times for word, times in counts.items()}


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


@pytest.mark.parametrize(("marker", "score"), list(product(MARKERS, ("count", "likelihood"))))
@given(words=tied_words, limits=limited, vocab_size=st.integers(30, 50))
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
    for ties in TIE_BREAKS:
        model = train_on_counts(
            words,
            recipe(marker, ties, score),
            Options(
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
        words, recipe("none"), Options(vocab_size=3, alphabet_limit=3, initial_alphabet="z")
    )
    assert [token.decode() for token in ours.tokens] == theirs == ["a", "b", "z"]


def test_limits_are_refused_where_they_mean_nothing() -> None:
    graphemes = replace(CHAR, segmentation="lookup")
    for wrong, what in ((BPE, "all 256 bytes"), (WORD, "whole pre-t"), (graphemes, "whole pre-t")):
        for option in ({"coverage": 0.9}, {"alphabet_limit": 3}, {"initial_alphabet": "a"}):
            with pytest.raises(TokctlError, match=what) as caught:
                train_on_counts({"ab": 1}, wrong, Options(vocab_size=300, **option))  # type: ignore[arg-type]
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
    with pytest.raises(TokctlError, match="can't") as caught:
        Options(vocab_size=300, **{option: value})  # type: ignore[arg-type]
    assert caught.value.hint


def test_the_longest_piece_of_a_unigram_model() -> None:
    words = {"▁" + "ab" * 200: 3, "▁a": 2}
    model = train_on_counts(words, UNIGRAM, Options(vocab_size=20, max_token_length=255))
    assert max(len(token.decode()) for token in model.tokens) <= 255
    for longest in (256, 2**32, 2**63 - 1):
        options = Options(vocab_size=20, max_token_length=longest)
        with pytest.raises(TokctlError, match=f"can't be {longest} for unigram") as caught:
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
        options = Options(vocab_size=300, weights=named, min_count=least)
        counts, read = training.count(documents, model_of, options)
        found = {w.decode(): Fraction(times, read.scale) for w, times in counts.items()}
        found.pop(" ", None)
        spaces = model_of.uses_regex
        assert list(found.items()) == [
            (w, n) for w, n in expected.items() if n >= least or least == 1
        ], spaces
        assert list(read.weights) == (exact if named else [])


def test_thresholds_are_those_of_the_weighted_counts() -> None:
    texts = [document("half", b"ab ab ab"), document("one", b"cd")]
    options = Options(vocab_size=20, weights={"half": 0.5}, min_frequency=2)
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
        ({"a": 0}, "weight of a can't be 0"),
        ({"a": -1}, "can't be -1"),
        ({"a": "two"}, "can't be 'two'"),
        ({"a": float("nan")}, "can't be"),
        ({"c": 1}, "'c', which is not read"),
        ({"a": 1e-30}, "too large, too small"),
        ({"a": 1e30}, "too large, too small"),
        ({"a": Fraction(1, 2**40), "b": Fraction(1, 3**30)}, "no common measure"),
        ({"a": 2**62, "b": 2**62}, "2\\^63 or more"),
    ):
        with pytest.raises(TokctlError, match=what) as caught:
            training.train(text, WORDS, Options(vocab_size=20, weights=weights))  # type: ignore[arg-type]
        assert caught.value.hint, what


def test_a_weight_names_a_file_as_its_path_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab ab")
    weights = {f"{tmp_path}/./a.txt": 3}
    model = training.train([tmp_path / "a.txt"], WORDS, Options(vocab_size=9, weights=weights))
    assert model.merges[0].count == 6


# -- counts from a file ---------------------------------------------------------------


@given(
    words=st.dictionaries(
        st.text(alphabet="ab\t\n\r\\né", min_size=1, max_size=6), st.integers(1, 2**58)
    )
)
def test_counts_are_written_and_read(words: dict[str, int]) -> None:
    lines = training.counts_to_lines(words)
    assert lines.count(b"\n") == len(words) == lines.count(b"\t")
    options = Options(vocab_size=300)
    counts, read = training.count_lines(document("counts", lines), WORDS, options)
    assert [(w.decode(), n) for w, n in counts.items()] == list(words.items())
    assert counts.to_lines() == lines and read.bytes == len(lines)


def test_a_file_of_counts_trains_as_its_words_do(tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_bytes(b"low\t2\nlower\t2\r\nlow\t3\nnever\t0\nrare\t1")
    options = Options(vocab_size=12, min_count=2)
    model = training.train_on_counts_file(path, WORDS, options)
    expected = train_on_counts({"low": 5, "lower": 2}, WORDS, options)
    assert (model.tokens, model.merges) == (expected.tokens, expected.merges)
    raw = training.train_on_counts_file(
        document("raw", b"\xff\xfe\t3\n\\n\t1\n"), BPE, Options(vocab_size=257)
    )
    assert raw.tokens[-1] == b"\xff\xfe"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"ab", "no tab"),
        (b"", "no tab"),
        (b"ab 3", "no tab"),
        (b"ab\t-1", "'-1'|\"-1\" is no whole number"),
        (b"ab\t1.5", "no whole number"),
        (b"ab\t", "no whole number"),
        (b"ab\t9223372036854775808", "no whole number"),
        (b"\t4", "word is empty"),
        (b"a\\qb\t1", "backslash"),
        (b"\xff\t1", "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(line: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_bytes(b"ok\t1\n" + line + b"\nok\t2\n")
    with pytest.raises(TokctlError, match=what) as caught:
        training.train_on_counts_file(path, WORDS, Options(vocab_size=12))
    assert caught.value.message.startswith(f"{path}: line 2: ") and caught.value.hint


def test_counts_that_are_too_large_or_have_texts_options() -> None:
    twice = document("counts", b"a\t9223372036854775807\na\t1\n")
    with pytest.raises(TokctlError, match="2\\^63 or more"):
        training.train_on_counts_file(twice, WORDS, Options(vocab_size=12))
    many = dict.fromkeys(("a", "b", "c"), 2**63 - 1)
    with pytest.raises(TokctlError, match="and counts have 64 bits"):
        train_on_counts(many, WORD, Options(vocab_size=12))
    for option in ({"sample": 0.5}, {"weights": {"counts": 2}}):
        with pytest.raises(TokctlError, match="are for texts"):
            train_on_counts({"a": 1}, WORDS, Options(vocab_size=12, **option))  # type: ignore[arg-type]
    for times in (-1, 1.5, 2**63, True):
        with pytest.raises(TokctlError, match="can't have the count") as caught:
            train_on_counts({"a": times}, WORDS, Options(vocab_size=12))  # type: ignore[dict-item]
        assert caught.value.hint


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
            Options(vocab_size=300, sample=0.4, seed=3, threads=threads),
        )
        for block, threads in ((1000, 1), (77, 2), (len(text), 3))
    ]
    assert models[0] == models[1] == models[2]
    record = models[0].training
    assert record and (record.sample, record.seed) == (0.4, 3) and record.bytes == len(text)
    other = training.train([document("a", text)], BPE, Options(vocab_size=300, sample=0.4, seed=4))
    assert other.merges != models[0].merges


# -- words and characters -------------------------------------------------------------


@given(
    words=st.dictionaries(st.text(alphabet="ab é", min_size=1, max_size=4), st.integers(1, 4)),
    vocab_size=st.integers(1, 9),
    least=st.integers(1, 3),
)
def test_a_word_model_equals_the_definition(
    words: dict[str, int], vocab_size: int, least: int
) -> None:
    words["[UNK]"] = 9  # Text is text: it makes no token.
    model = train_on_counts(words, WORD, Options(vocab_size=vocab_size, min_frequency=least))
    del words["[UNK]"]
    enough = {word: times for word, times in words.items() if times >= least}
    best = twins.most_frequent(enough, vocab_size - 1)
    assert [token.decode() for token in model.tokens] == ["[UNK]", *best]
    assert model.counts == [0, *(words[word] for word in best)]
    assert model.training and model.training.exhausted == (len(best) < vocab_size - 1)


@given(
    words=tied_words,
    vocab_size=st.integers(4, 9),
    initial=st.text(alphabet="azé", max_size=3),
)
def test_a_character_model_equals_the_definition(
    words: dict[str, int], vocab_size: int, initial: str
) -> None:
    options = Options(vocab_size=vocab_size, initial_alphabet=initial)
    model = train_on_counts(words, CHAR, options)
    counts = twins.character_counts(words)
    for character in initial:
        counts.setdefault(character, 0)
    best = twins.most_frequent(counts, len(counts))
    free = vocab_size - 1 - len(set(initial))
    kept = [c for c in best if c not in initial][:free]
    expected = [c for c in best if c in kept or c in initial]
    assert [token.decode() for token in model.tokens] == ["[UNK]", *expected]
    assert model.counts == [0, *(counts[c] for c in expected)]
    assert model.training and model.training.alphabet_size == len(expected)


def test_character_models_are_limited_and_say_the_least() -> None:
    words = {"aab": 2, "c": 1}
    model = train_on_counts(words, CHAR, Options(vocab_size=9, coverage=0.8))
    assert model.tokens == [b"[UNK]", b"a", b"b"]
    with pytest.raises(TokctlError, match="need 3") as caught:
        train_on_counts(words, CHAR, Options(vocab_size=2, initial_alphabet="yz"))
    assert caught.value.hint == "ask for 3 or more: --vocab 3"
    special = replace(CHAR, special_tokens=("[UNK]", "b"))
    with pytest.raises(TokctlError, match='spelled like "b"'):
        train_on_counts(words, special, Options(vocab_size=9))


def test_words_equal_hugging_faces_where_no_tie_decides() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    words = {"to": 9, "be": 8, "or": 7, "not": 5, "question": 1}
    peer = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    for size, least in ((4, 0), (9, 0), (9, 6)):
        trainer = tokenizers.trainers.WordLevelTrainer(
            vocab_size=size,
            min_frequency=least,
            special_tokens=["[UNK]"],
            show_progress=False,
        )
        peer.train_from_iterator([" ".join([w] * n) for w, n in words.items()], trainer)
        ours = train_on_counts(words, WORD, Options(vocab_size=size, min_frequency=max(1, least)))
        theirs = sorted(peer.get_vocab(), key=peer.get_vocab().__getitem__)
        assert [token.decode() for token in ours.tokens] == theirs


# -- extending ------------------------------------------------------------------------


def anew(model: FilledRecipe) -> FilledRecipe:
    """The model as if it had been trained at once."""
    assert model.training
    return replace(model, training=replace(model.training, extended=0))


@pytest.mark.parametrize(
    ("marker", "score", "ties"), list(product(MARKERS, ("count", "likelihood"), TIE_BREAKS))
)
@given(words=tied_words, sizes=st.tuples(st.integers(20, 34), st.integers(20, 34)))
def test_training_in_two_steps_is_training_at_once(
    marker: str, score: str, ties: str, words: dict[str, int], sizes: tuple[int, int]
) -> None:
    made = recipe(marker, ties, score)
    small, large = sorted(sizes)
    options = Options(vocab_size=large, min_frequency=2, max_token_length=6, coverage=0.9)
    first = train_on_counts(words, made, replace(options, vocab_size=small))
    second = train_on_counts(words, made, replace(options, extend=first))
    assert anew(second) == train_on_counts(words, made, options)


@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(
    words=st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 5), min_size=1),
    small=st.integers(257, 300),
)
def test_byte_level_training_in_two_steps(ties: str, words: dict[bytes, int], small: int) -> None:
    made = replace(BPE, tie_break=ties, special_tokens=("<|x|>",))
    options = Options(vocab_size=300)
    first = train_on_counts(words, made, replace(options, vocab_size=small))
    second = train_on_counts(words, made, replace(options, extend=first))
    assert anew(second) == train_on_counts(words, made, options)


@pytest.mark.parametrize(("marker", "ties"), list(product(("none", "continuation"), TIE_BREAKS)))
@given(old_words=tied_words, words=tied_words, small=st.integers(15, 25))
def test_extending_on_another_text_equals_twin(
    marker: str, ties: str, old_words: dict[str, int], words: dict[str, int], small: int
) -> None:
    kind, mark = MARKERS[marker]
    made = recipe(marker, ties)
    old = train_on_counts(old_words, made, Options(vocab_size=small))
    model = train_on_counts(words, made, Options(vocab_size=40, extend=old))
    old_twin = twin.train(old_words, vocab_size=small, marker_kind=kind, marker=mark, ties=ties)
    expected = twin.train(
        words, vocab_size=40, marker_kind=kind, marker=mark, ties=ties, extend=old_twin
    )
    assert_same(model, expected)
    assert model.tokens[: len(old.tokens)] == old.tokens
    assert model.merges[: len(old.merges)] == old.merges
    assert model.training and model.training.extended == len(old.tokens)
    symbols = set(model.tokens) - {model.tokens[merge.token] for merge in model.merges}
    assert model.training.alphabet_size == len(symbols)


@pytest.mark.parametrize("marker", MARKERS)
@given(old_words=odd_words, words=odd_words)
def test_extending_where_words_hold_the_marker(
    marker: str, old_words: dict[str, int], words: dict[str, int]
) -> None:
    """Merges can make tokens that exist already: ids and merges are kept all the same."""
    old = train_on_counts(old_words, recipe(marker), Options(vocab_size=30))
    model = train_on_counts(words, recipe(marker), Options(vocab_size=60, extend=old))
    assert model.tokens[: len(old.tokens)] == old.tokens
    assert model.merges[: len(old.merges)] == old.merges
    assert len(set(model.tokens)) == len(model.tokens)


@pytest.mark.parametrize("made", [WORD, CHAR])
@given(words=tied_words, small=st.integers(2, 6), large=st.integers(6, 9))
def test_words_and_characters_in_two_steps(
    made: Recipe, words: dict[str, int], small: int, large: int
) -> None:
    first = train_on_counts(words, made, Options(vocab_size=small))
    second = train_on_counts(words, made, Options(vocab_size=large, extend=first))
    assert anew(second) == train_on_counts(words, made, Options(vocab_size=large))


def test_new_special_tokens_have_the_last_ids() -> None:
    for made in (BPE, WORDPIECE, WORD, CHAR):
        made = replace(made, special_tokens=("<a>", *made.special_tokens))
        words = {"abab": 3, "cd": 2}
        old = train_on_counts(words, made, Options(vocab_size=260))
        size = len(old.tokens) + 4
        more = made.with_special_tokens(["<b>", "<c>"])
        model = train_on_counts({"xy": 5}, more, Options(vocab_size=size + 9, extend=old))
        last = len(model.tokens)
        assert model.special_ids == {**old.special_ids, "<b>": last - 2, "<c>": last - 1}
        assert model.tokens[-2:] == [b"<b>", b"<c>"]
        assert model.tokens[: len(old.tokens)] == old.tokens
        again = train_on_counts({"xyxy": 5, "z": 1}, more, Options(vocab_size=300, extend=model))
        assert again.special_ids == model.special_ids
        assert again.tokens[:last] == model.tokens and len(again.tokens) > last


def test_what_can_not_be_extended() -> None:
    words = {"abab": 3}
    old = train_on_counts(words, WORDPIECE, Options(vocab_size=9))

    def refused(what: str, model_of: Recipe, model: FilledRecipe, size: int = 20) -> None:
        with pytest.raises(TokctlError, match=what) as caught:
            train_on_counts({"xyz": 1}, model_of, Options(vocab_size=size, extend=model))
        assert caught.value.hint

    refused("unigram", UNIGRAM, old)
    refused("another algorithm: wordpiece, not bpe", BPE_CHARACTERS, old)
    refused("another score", replace(WORDPIECE, score="count"), old)
    refused(
        "lacks '\\[UNK\\]'",
        replace(WORDPIECE, unk_token=None, special_tokens=()),
        replace(old, recipe=replace(WORDPIECE, unk_token=None)),
    )
    refused("has no merges", WORDPIECE, replace(old, merges=[]))
    refused("'ab' is spelled like", WORDPIECE.with_special_tokens(["ab"]), old)
    refused(f"need {len(old.tokens) + 4}", WORDPIECE.with_special_tokens(["<b>"]), old, size=8)
    spelled = train_on_counts({" t": 3}, BPE, Options(vocab_size=257))
    refused("'Ġt' is spelled like", BPE.with_special_tokens(["Ġt"]), spelled, size=300)


def test_progress_and_its_error_pass_through_an_extension() -> None:
    words = {"ab" * n: n for n in range(1, 40)}
    old = train_on_counts(words, BPE, Options(vocab_size=270))
    with pytest.raises(TokctlError, match="too small: the model to extend"):
        train_on_counts(words, BPE, Options(vocab_size=260, extend=old))


# -- the record -----------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written() -> None:
    texts = [document("a", b"ab ab cd\nef\n"), document("b", b"ab\n")]
    options = Options(
        vocab_size=20, coverage=0.9, alphabet_limit=5, initial_alphabet="z", sample=0.9, seed=5
    )
    record = training.train(texts, WORDS, replace(options, weights={"b": 0.5})).training
    assert record and TrainingRecord.from_dict(record.to_dict()) == record
    assert TrainingRecord.from_dict(asdict(record) | {"weights": ["1", "1/2"]}) == record
    plain = training.train(texts, WORDS, Options(vocab_size=20)).training
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
    ):
        with pytest.raises(TypeError):
            TrainingRecord.from_dict(plain.to_dict() | {name: wrong})


def test_timing_has_the_phases(tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text("ab\t3\n")
    timing = Timing()
    told: list[tuple[str, int, int | None]] = []
    training.train_on_counts_file(
        path, BPE, Options(vocab_size=257), lambda *now: told.append(now), timing
    )
    assert set(timing.seconds) == {"count", "merge"} and told[0] == ("count", 5, 5)


# -- a text that is not split ---------------------------------------------------------


@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(text=st.text(alphabet="ab c\né", min_size=1, max_size=150), vocab_size=st.integers(257, 330))
def test_an_unsplit_text_equals_twin(ties: str, text: str, vocab_size: int) -> None:
    """Byte-level BPE over the whole text as one pre-token."""
    made = replace(BPE, pre_tokenizers=(), tie_break=ties)
    model = training.train([document("text", text.encode())], made, Options(vocab_size=vocab_size))
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
