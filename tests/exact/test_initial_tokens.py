"""Initial tokens and whole characters, against the slow twins and Hugging Face's library."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.errors import raises_code
from tests.exact.training_options import (
    MARKERS,
    TIES_OF,
    assert_same,
    document,
    odd_words,
    recipe,
    tied_words,
)
from tests.twins import train as twin
from tokctl import TokctlError, Tokenizer, _native, formats, training
from tokctl.analysis.explain.states import pair_counts
from tokctl.analysis.replay import MergeReplay
from tokctl.model import TIE_BREAKS, Model, TrainingRecord
from tokctl.model.byte_level import spell, unspell
from tokctl.model.parts import PRE_TOKENIZERS, native_parts
from tokctl.model.presets import BPE, BPE_CHARACTERS, CHAR, UNIGRAM, WORD, WORDPIECE, preset
from tokctl.training import TrainOptions, train_on_counts

BYTES = replace(BPE, pre_tokenizers=())
#: Characters of every length that share bytes, and bytes that are in no UTF-8 text.
pieces = st.sampled_from(["a", "b", "é", "ê", "字", "孖", "来", "😀", "😁"]).map(str.encode)
odd_bytes = st.sampled_from([b"\x80", b"\xff", b"\xe5", b"\xe5\xad", b"\xf0\x9f\x98", b"\xc0\x80"])
byte_words = st.dictionaries(
    st.lists(pieces | odd_bytes, min_size=1, max_size=6).map(b"".join),
    st.integers(1, 3),
    min_size=1,
    max_size=10,
)


def is_whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@cache
def is_beginning(data: bytes) -> bool:
    """Do one to three more bytes make a single character of it?"""
    rests: set[bytes] = {b""}
    for _ in range(3):
        rests |= {rest + bytes([byte]) for rest in rests for byte in (0x80, 0x8F, 0x90, 0xA0, 0xBF)}
    return any(is_whole(data + rest) and len((data + rest).decode()) == 1 for rest in rests - {b""})


@cache
def keeps_whole(left: str, right: str) -> bool:
    """The definition of `docs/algorithms.md`, of symbols as byte-level models spell them."""
    first, second = unspell(left), unspell(right)
    if is_whole(first) and is_whole(second):
        return True
    joined = first + second
    return is_beginning(first) and (
        is_beginning(joined) or (is_whole(joined) and len(joined.decode()) == 1)
    )


def assert_bytes_same(model: Model, expected: twin.Training) -> None:
    tokens = [spell(token) for token in model.tokens]
    assert tokens == expected.vocabulary
    merges = [twin.Merge(*(tokens[id_] for id_ in m[:3]), *m[3:]) for m in model.merges]
    assert merges == expected.merges


# -- whole characters -----------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(words=byte_words, vocab_size=st.integers(257, 300), least=st.integers(1, 2))
@part_of_examples(2)
def test_whole_characters_equal_twin(
    ties: str, words: dict[bytes, int], vocab_size: int, least: int
) -> None:
    model = train_on_counts(
        words,
        replace(BYTES, tie_break=ties),
        TrainOptions(vocab_size=vocab_size, min_frequency=least, whole_characters=True),
    )
    expected = twin.train(
        {spell(word): count for word, count in words.items()},
        vocab_size=vocab_size,
        ties=ties,
        min_frequency=least,
        alphabet=list(twin.byte_to_unicode().values()),
        may_merge=keeps_whole,
    )
    assert_bytes_same(model, expected)
    for token in model.tokens[256:]:
        assert is_whole(token) or is_beginning(token), token


@given(words=byte_words, step=st.floats(0, 1))
def test_the_explanation_refuses_what_training_refuses(
    words: dict[bytes, int], step: float
) -> None:
    options = TrainOptions(vocab_size=300, whole_characters=True)
    tokenizer = Tokenizer(train_on_counts(words, BYTES, options))
    at = round(step * len(tokenizer.merges))
    found = pair_counts(tokenizer, at, list(words.items()))
    for pair in found.pairs:
        allowed = keeps_whole(pair.left, pair.right)
        assert pair.refused == (None if allowed else "cut"), pair
        assert not pair.wins or pair.step == at + 1


@given(
    words=st.dictionaries(st.text(alphabet="abc", min_size=1), st.integers(1, 3), min_size=1),
    score=st.sampled_from(["count", "likelihood"]),
)
def test_without_long_characters_nothing_changes(words: dict[str, int], score: str) -> None:
    made = replace(BYTES, score=score) if score == "count" else BYTES
    plain = train_on_counts(words, made, TrainOptions(vocab_size=290))
    whole = train_on_counts(words, made, TrainOptions(vocab_size=290, whole_characters=True))
    assert (whole.tokens, whole.merges) == (plain.tokens, plain.merges)


@given(old_words=byte_words, words=byte_words, old_whole=st.booleans())
def test_extending_keeps_new_tokens_whole(
    old_words: dict[bytes, int], words: dict[bytes, int], old_whole: bool
) -> None:
    options = TrainOptions(vocab_size=300, whole_characters=True)
    old = train_on_counts(
        old_words, BYTES, TrainOptions(vocab_size=270, whole_characters=old_whole)
    )
    model = train_on_counts(words, BYTES, replace(options, extend=old))
    assert all(is_whole(t) or is_beginning(t) for t in model.tokens[len(old.tokens) :])
    if old_whole:
        once = train_on_counts(old_words, BYTES, options)
        again = train_on_counts(old_words, BYTES, replace(options, extend=old))
        assert (again.tokens, again.merges) == (once.tokens, once.merges)


def many_scripts() -> str:
    folder = shared_file("corpora/udhr")
    names = ("jpn", "cmn_hans", "hin", "rus", "arb", "kor", "tha", "fra")
    return "\n".join((folder / f"{name}.txt").read_text("utf-8") for name in names)


def test_many_scripts_have_whole_tokens_and_the_ids_of_hugging_face(tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")
    text = many_scripts().encode()
    options = TrainOptions(
        vocab_size=3000, whole_characters=True, initial_tokens=["人権", " droits"]
    )
    models = [
        training.train([document("a", text, block)], BPE, replace(options, threads=threads))
        for block, threads in ((1000, 1), (77, 2), (1 << 20, 3))
    ]
    assert models[0] == models[1] == models[2]
    assert all(is_whole(t) or is_beginning(t) for t in models[0].tokens[256:])
    tokenizer = Tokenizer(models[0])
    path = tmp_path / "m.json"
    tokenizer.save(path)
    theirs = hf.Tokenizer.from_file(str(path))
    probe = text.decode()[:20000] + "人権 droits 😄\U0001f9ff"
    assert theirs.encode(probe).ids == tokenizer.encode_ids(probe)
    plain = Tokenizer(
        training.train([document("a", text, 1 << 20)], BPE, TrainOptions(vocab_size=3000))
    )
    cut = [t for t in plain.model.tokens[256:] if not (is_whole(t) or is_beginning(t))]
    assert cut  # there is something to prevent


# -- initial tokens -------------------------------------------------------------------

initial_words = st.lists(st.text(alphabet="abcdxé", min_size=1, max_size=6), max_size=4)


@pytest.mark.few(2)
@pytest.mark.parametrize(("marker", "score"), list(product(MARKERS, ("count", "likelihood"))))
@given(
    words=tied_words,
    initial=initial_words,
    room=st.integers(0, 12),
    least=st.integers(1, 3),
)
@part_of_examples(3)
def test_initial_tokens_equal_twin(
    marker: str, score: str, words: dict[str, int], initial: list[str], room: int, least: int
) -> None:
    kind, mark = MARKERS[marker]
    for ties in TIES_OF[score]:
        expected = twin.train(
            words,
            vocab_size=0,
            marker_kind=kind,
            marker=mark,
            ties=ties,
            initial=initial,
        )
        size = len(expected.vocabulary) + room
        options = TrainOptions(vocab_size=size, min_frequency=least, initial_tokens=initial)
        made = recipe(marker, ties, score)
        model = train_on_counts(words, made, options)
        assert model.training
        assert model.training.initial_merges == len(expected.merges)
        assert_same(
            model,
            twin.train(
                words,
                vocab_size=size,
                marker_kind=kind,
                marker=mark,
                criterion=score,
                ties=ties,
                min_frequency=least,
                initial=initial,
            ),
        )
        tokenizer = Tokenizer(model)
        assert all(len(tokenizer.encode_ids(text)) == 1 for text in initial)
        if expected.merges:
            with raises_code("bad-value") as caught:
                train_on_counts(words, made, replace(options, vocab_size=size - room - 1))
            assert caught.value.hint


@given(
    words=byte_words,
    initial=st.lists(st.lists(pieces, min_size=1, max_size=4).map(b"".join), max_size=3),
    whole=st.booleans(),
)
def test_byte_level_initial_tokens_equal_twin(
    words: dict[bytes, int], initial: list[bytes], whole: bool
) -> None:
    texts = [token.decode() for token in initial]
    options = TrainOptions(vocab_size=310, whole_characters=whole, initial_tokens=texts)
    model = train_on_counts(words, BYTES, options)
    expected = twin.train(
        {spell(word): count for word, count in words.items()},
        vocab_size=310,
        ties="lowest-id",
        alphabet=list(twin.byte_to_unicode().values()),
        initial=list(map(spell, initial)),
        **({"may_merge": keeps_whole} if whole else {}),
    )
    assert_bytes_same(model, expected)
    assert set(initial) <= set(model.tokens)


@given(old_words=tied_words, words=tied_words, initial=initial_words)
def test_initial_tokens_of_an_extension_come_after_the_old_merges(
    old_words: dict[str, int], words: dict[str, int], initial: list[str]
) -> None:
    old = train_on_counts(old_words, recipe("none"), TrainOptions(vocab_size=20))
    options = TrainOptions(vocab_size=60, extend=old, initial_tokens=initial)
    model = train_on_counts(words, recipe("none"), options)
    assert model.merges[: len(old.merges)] == old.merges
    old_twin = twin.train(old_words, vocab_size=20)
    expected = twin.train(words, vocab_size=60, extend=old_twin, initial=initial)
    assert_same(model, expected)
    tokenizer = Tokenizer(model)
    assert all(len(tokenizer.encode_ids(text)) == 1 for text in initial)


@given(words=tied_words, vocab_size=st.integers(10, 40))
def test_no_initial_tokens_change_nothing(words: dict[str, int], vocab_size: int) -> None:
    options = TrainOptions(vocab_size=vocab_size)
    model = train_on_counts(words, recipe("none"), options)
    # A character is no merge, and one that is seen is in the alphabet anyway.
    seen = next(iter(words))[0]
    again = train_on_counts(words, recipe("none"), replace(options, initial_tokens=[seen]))
    assert (again.tokens, again.merges) == (model.tokens, model.merges)


@given(
    text=st.text(alphabet="ab é字😀", min_size=1, max_size=60),
    initial=st.lists(st.text(alphabet="abé字😀", min_size=1, max_size=5), max_size=4),
    whole=st.booleans(),
)
@part_of_examples(2)
def test_hugging_face_gives_the_same_ids(text: str, initial: list[str], whole: bool) -> None:
    hf = pytest.importorskip("tokenizers")
    # Letters and emoji are pre-tokens of their own.
    initial = [token for token in initial if len(pieces_of(token)) == 1]
    options = TrainOptions(vocab_size=330, whole_characters=whole, initial_tokens=initial)
    model = training.train([document("a", text.encode())], BPE, options)
    tokenizer = Tokenizer(model)
    theirs = hf.Tokenizer.from_str(formats.serialize(model).decode())
    probe = f"{text}{''.join(initial)} {' '.join(initial)}字é"
    assert theirs.encode(probe).ids == tokenizer.encode_ids(probe)
    for token in initial:
        assert len(theirs.encode(token).ids) == 1


def pieces_of(text: str) -> list[tuple[int, int]]:
    return _native.pre_tokens(native_parts(BPE.pre_tokenizers), text.encode())


def test_the_documents_example() -> None:
    """The one of `docs/algorithms.md`."""
    words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    options = TrainOptions(vocab_size=15, initial_tokens=["lowest"])
    model = train_on_counts(words, recipe("none"), options)
    made = [model.tokens[merge.token].decode() for merge in model.merges]
    assert made == ["es", "est", "lo", "low", "lowest"]
    assert [merge.count for merge in model.merges] == [9, 9, 7, 7, 0]


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@given(
    words=odd_words,
    initial=st.lists(st.text(alphabet="ab#_</w>", min_size=1, max_size=6), max_size=4),
)
@part_of_examples(2)
def test_initial_tokens_that_hold_the_marker(
    marker: str, words: dict[str, int], initial: list[str]
) -> None:
    """They are made, or refused: such a text can look like a symbol that carries the marker."""
    options = TrainOptions(vocab_size=100, initial_tokens=initial)
    try:
        model = train_on_counts(words, recipe(marker), options)
    except TokctlError as error:
        assert error.hint and "initial token" in error.message
        return
    tokenizer = Tokenizer(model)
    assert all(len(tokenizer.encode_ids(text)) == 1 for text in initial)


def test_word_models_keep_initial_tokens() -> None:
    words = {"low": 5, "lower": 1, "new": 3}
    options = TrainOptions(vocab_size=4, initial_tokens=["rare", "lower", "rare"], min_frequency=2)
    model = train_on_counts(words, WORD, options)
    assert model.tokens == [b"[UNK]", b"low", b"lower", b"rare"]
    assert model.counts == [0, 5, 1, 0]
    with raises_code("bad-value"):
        train_on_counts(words, WORD, replace(options, vocab_size=2))
    graphemes = replace(
        CHAR, segmentation="lookup", pre_tokenizers=PRE_TOKENIZERS.steps("graphemes")
    )
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    model = train_on_counts(words, graphemes, TrainOptions(vocab_size=9, initial_tokens=[family]))
    assert family.encode() in model.tokens


def test_wordpiece_matches_initial_tokens() -> None:
    words = {"low": 5, "lower": 2}
    model = train_on_counts(words, WORDPIECE, TrainOptions(vocab_size=60, initial_tokens=["Covid"]))
    tokenizer = Tokenizer(model)
    assert tokenizer.encode("Covid covids").tokens[0] == "Covid"
    # Hugging Face's alphabet has every character in its bare form, too; the text is in lower case.
    bert = train_on_counts(
        words, preset("bert"), TrainOptions(vocab_size=60, initial_tokens=["ZÉbra"])
    )
    assert Tokenizer(bert).encode("zebra Zebra").tokens == ["zebra", "zebra"]


def test_limits_of_the_alphabet_keep_the_characters_of_initial_tokens() -> None:
    options = TrainOptions(vocab_size=40, alphabet_limit=3, initial_tokens=["xyxz"])
    for made in (recipe("none"), recipe("continuation"), UNIGRAM):
        unknown = replace(made, unk_token="<unk>", special_tokens=("<unk>",))
        model = train_on_counts({"low": 5, "xlow": 2}, unknown, options)
        assert len(Tokenizer(model).encode_ids("xyxz")) == 1
        assert {"l", "o", "w"}.isdisjoint(token.decode() for token in model.tokens)


def test_unigram_models_choose_initial_tokens(tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")
    words = {"▁low": 5, "▁lower": 2, "▁newest": 6}
    initial = ["low", "lowest", "qua", "xylophone"]
    tokenizer = Tokenizer(
        train_on_counts(words, UNIGRAM, TrainOptions(vocab_size=40, initial_tokens=initial))
    )
    text = " ".join(initial)
    assert tokenizer.encode(text).tokens == ["▁" + word for word in initial]
    tokenizer.save(tmp_path / "m.json")
    theirs = hf.Tokenizer.from_file(str(tmp_path / "m.json"))
    assert theirs.encode(text).ids == tokenizer.encode_ids(text)


def test_the_record_and_the_replay_know_of_them() -> None:
    words = {"low": 5, "lower": 2, "newest": 6}
    options = TrainOptions(vocab_size=300, whole_characters=True, initial_tokens=["lowest", "最低"])
    tokenizer = Tokenizer(train_on_counts(words, BYTES, options))
    record = tokenizer.model.training
    assert record and record.initial_tokens == ("lowest", "最低") and record.whole_characters
    assert TrainingRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    counts = [(word.encode(), count) for word, count in words.items()]
    replay = MergeReplay(tokenizer, counts)
    for step in range(1, replay.total + 1):
        choice = replay.goto(step).choice
        assert choice
        assert (choice.kind == "initial") == (step <= record.initial_merges)
        assert choice.kind in ("initial", "best", "tie")
    for step in (0, record.initial_merges):
        wins = any(pair.wins for pair in pair_counts(tokenizer, step, counts).pairs)
        assert wins == (step >= record.initial_merges)


@pytest.mark.parametrize(
    ("made", "options", "says"),
    [
        (BPE, {"initial_tokens": ["New York"]}, "pre-tokenizer gpt2 cuts it into 'New', ' York'"),
        (BPE, {"initial_tokens": [""]}, "can't be empty"),
        (BPE, {"initial_tokens": [3]}, "invalid value 3"),
        (BPE, {"initial_tokens": ["\ud800"]}, "invalid value"),
        (BPE, {"initial_tokens": "low"}, "invalid value 'low'"),
        (BPE, {"initial_tokens": None}, "invalid value None"),
        (BPE, {"initial_tokens": ["lower"], "max_token_length": 4}, "has 5 bytes"),
        (WORDPIECE, {"initial_tokens": ["##ing"]}, "pre-tokenizer bert cuts it"),
        (WORDPIECE, {"initial_tokens": ["[UNK]"]}, "is a special token"),
        (WORDPIECE, {"initial_tokens": ["a" * 101]}, "would split the text of the initial token"),
        (WORDPIECE, {"initial_tokens": [" "]}, "remove all of the initial token"),
        (UNIGRAM, {"initial_tokens": ["a" * 256]}, "has 257 characters, and a token may have 255"),
        (UNIGRAM, {"initial_tokens": ["a b"]}, "pre-tokenizer metaspace cuts it into '▁a', '▁b'"),
        (replace(UNIGRAM, byte_fallback=True, pre_tokenizers=()), {"initial_tokens": ["<0x41>"]},
         "spelled like a special token"),
        (CHAR, {"initial_tokens": ["low"]}, "character model can't have"),
        (BPE, {"whole_characters": 1}, "invalid value 1"),
        *((made, {"whole_characters": True}, "are for models of bytes")
          for made in (BPE_CHARACTERS, WORDPIECE, UNIGRAM, WORD, CHAR)),
    ],
)  # fmt: skip
def test_what_is_refused(made: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(TokctlError, match=says) as caught:
        train_on_counts({"ab": 1}, made, TrainOptions(vocab_size=400, **options))
    assert caught.value.hint


def test_special_tokens_can_stand_in_the_way() -> None:
    """All that could be merged to `wow` spells a special token."""
    made = replace(BYTES, special_tokens=("wo", "ow"))
    with pytest.raises(TokctlError, match='no merges make the initial token "wow"') as caught:
        train_on_counts({"ab": 1}, made, TrainOptions(vocab_size=400, initial_tokens=["wow"]))
    assert caught.value.hint and "special token" in caught.value.hint


def test_counts_have_64_bits() -> None:
    with raises_code("too-large", "64 bits"):
        train_on_counts(
            {"ab": 2**61}, BYTES, TrainOptions(vocab_size=300, initial_tokens=["abcdefgh"])
        )
    model = train_on_counts(
        {"ab": 2**59}, BYTES, TrainOptions(vocab_size=300, initial_tokens=["ab"])
    )
    assert [merge.count for merge in model.merges] == [2**59]


@pytest.mark.parametrize("algorithm", ["boundless", "picky", "scaffold"])
def test_some_trainings_can_not_have_initial_tokens(tmp_path: Path, algorithm: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the cat sat on the mat\n" * 9)
    with pytest.raises(TokctlError, match=f"{algorithm} can't have initial tokens"):
        Tokenizer.train([path], algorithm=algorithm, vocab_size=270, initial_tokens=["thexyzq"])
