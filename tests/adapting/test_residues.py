"""Residues of merging (LiteToken) against their slow twin: which they are, and the ids without."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.errors import raises_code
from tests.explain.health.sick import byte_level_model
from tests.twins import residues as twin
from tokctl import Adaptation, Recipe, TokctlError, Tokenizer, adapt, formats
from tokctl.analysis.explain.removals import RefinedWord
from tokctl.analysis.explain.usage import segmented
from tokctl.analysis.explain.words import explain
from tokctl.formats import merging
from tokctl.model import Merge, Model
from tokctl.model.encoders import pre_token_encoder
from tokctl.model.presets import BPE, default_recipe
from tokctl.sources import Document, Source
from tokctl.training import TrainOptions, train_on_counts

#: Ties everywhere and runs of one letter; then a few words that share their parts.
tied_words = st.dictionaries(
    st.text(alphabet="ab", min_size=1, max_size=12), st.integers(1, 3), min_size=1, max_size=12
)
like_words = st.dictionaries(
    st.lists(
        st.sampled_from(["could", "would", "should", "ould", "s", "ou", "ing", "é字"]), max_size=3
    )
    .map("".join)
    .filter(bool),
    st.integers(1, 60),
    min_size=1,
    max_size=12,
)
ratios = st.sampled_from(["0.01", "0.1", "0.25", "0.3333", "0.5", "1"])
entropies = st.sampled_from([0.0, 0.5, 1.0, 1.5, float("inf")])


def source(text: str | bytes) -> Source:
    data = text.encode() if isinstance(text, str) else text
    return Document("text", len(data), lambda: iter([data]))


def trained(words: dict[str, int], size: int = 300, recipe: Recipe = BPE) -> Tokenizer:
    counts = {word.encode(): count for word, count in words.items()}
    return Tokenizer(train_on_counts(counts, recipe, TrainOptions(vocab_size=size)))


def symbols_of(data: bytes, tokenizer: Tokenizer) -> tuple[bytes, ...]:
    if tokenizer.recipe.is_byte_level:
        return tuple(bytes([byte]) for byte in data)
    return tuple(map(str.encode, data.decode()))


def rank_of(tokenizer: Tokenizer) -> twin.Rank:
    """What merges in a model, of bytes or characters that all have an id."""
    model = tokenizer.model
    if model.recipe.has_ranks:
        ids = {t: id_ for id_, t in enumerate(model.tokens) if id_ not in model.reserved_ids}
        return lambda left, right: ids.get(left + right)
    tokens = model.tokens
    return twin.by_list([(tokens[merge.left], tokens[merge.right]) for merge in model.merges])


def check(
    tokenizer: Tokenizer,
    text: str | bytes,
    ratio: str,
    entropy: float,
    more: Iterable[bytes] = (),
    *,
    keep_ids: bool = False,
) -> Adaptation:
    """What is found, and the ids of the text's pre-tokens and of others, equal the twin's."""
    rank = rank_of(tokenizer)
    counts: Counter[bytes] = Counter()
    for one in segmented(tokenizer, [source(text)]):
        counts[one.data] += one.count
    words = {symbols_of(data, tokenizer): count for data, count in counts.items()}
    judged = twin.judged(words, rank)
    expected = twin.residues(judged, Fraction(ratio), Decimal(str(entropy)))
    found = adapt(
        tokenizer,
        residues=ratio,
        residue_entropy=entropy,
        texts=source(text),
        keep_ids=keep_ids,
    )
    assert found.residues is not None and found.residues.judged == len(judged)
    tokens = tokenizer.model.tokens
    assert {
        tokens[one.id]: (one.final, one.intermediate, Decimal(str(one.entropy)))
        for one in found.residues.found
    } == expected
    assert found.removed == [one.id for one in found.residues.found]
    assert found.uses == (
        sum(one.final for one in expected.values()),
        len(tokenizer.encode_ids(text)),
    )
    new = found.tokenizer
    for old, id_ in enumerate(found.ids):
        assert id_ is None or new.model.tokens[id_] == tokens[old]
        assert not keep_ids or id_ in (None, old)
    encoder = pre_token_encoder(new.model)
    again = twin.stood_for(rank) if tokenizer.recipe.has_ranks else rank
    for data in {*counts, *more}:
        ids = encoder.ids(data)
        assert [new.model.tokens[id_] for id_ in ids] == twin.encode(
            symbols_of(data, tokenizer), rank, again, expected
        ), data
    back = formats.parse(formats.serialize(new.model), "new")
    assert back.events == new.model.events and back.recipe == new.recipe
    assert Tokenizer(back).encode_ids(text) == new.encode_ids(text)
    raw = text.encode() if isinstance(text, str) else text
    assert new.decode_bytes(new.encode_ids(text)) == raw
    return found


@given(
    words=st.one_of(tied_words, like_words),
    size=st.integers(257, 285),
    text=st.lists(st.text(alphabet="abouldshing ", max_size=12), max_size=5).map(" ".join),
    ratio=ratios,
    entropy=entropies,
    keep_ids=st.booleans(),
)
def test_trained_models_equal_the_twin(
    words: dict[str, int], size: int, text: str, ratio: str, entropy: float, *, keep_ids: bool
) -> None:
    texts = " ".join([*words, text])
    more = [b"a" * 70, b"ab" * 40, *(word.encode() * 9 for word in words)]
    check(trained(words, size), texts, ratio, entropy, more, keep_ids=keep_ids)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25),
    text=st.text(alphabet="abc ", max_size=80),
    ratio=ratios,
    entropy=entropies,
)
def test_merges_that_no_training_would_learn_equal_the_twin(
    pairs: list[tuple[int, int]], text: str, ratio: str, entropy: float
) -> None:
    """Among them tokens that no text makes, and pairs that make a token another way."""
    names = [b"a", b"b", b"c"]
    merges: list[tuple[bytes, bytes]] = []
    for first, second in pairs:
        merge = names[first % len(names)], names[second % len(names)]
        if merge not in merges:
            merges.append(merge)
            names += [] if b"".join(merge) in names else [b"".join(merge)]
    model = byte_level_model([]).model
    tokens = [*model.tokens, *names[3:]]
    ids = {token: id_ for id_, token in enumerate(tokens)}
    listed = [Merge(ids[one], ids[two], ids[one + two], 0, 0, 0) for one, two in merges]
    tokenizer = Tokenizer(replace(model, tokens=tokens, merges=listed))
    check(tokenizer, text, ratio, entropy, [b"abc" * 30, b"a" * 40])


@given(data=st.binary(max_size=80), ratio=ratios, entropy=entropies)
@part_of_examples(2)
def test_bytes_of_any_kind(data: bytes, ratio: str, entropy: float) -> None:
    recipe = replace(BPE, pre_tokenizers=())
    counts = {data[at : at + 9]: 1 for at in range(0, len(data), 9)} or {b"xx": 2}
    tokenizer = Tokenizer(train_on_counts(counts, recipe, TrainOptions(vocab_size=290)))
    check(tokenizer, data, ratio, entropy)


@given(words=tied_words, ratio=ratios, entropy=entropies)
@part_of_examples(2)
def test_ranks_are_merges(words: dict[str, int], ratio: str, entropy: float) -> None:
    merged = trained(words, 275)
    ranked = Tokenizer(merging.with_ranks(merged.model, scored=False))
    assert ranked.recipe.has_ranks
    text = " ".join(words)
    one, two = (check(model, text, ratio, entropy) for model in (merged, ranked))
    assert one.residues == two.residues


@given(words=like_words, ratio=ratios)
@part_of_examples(10)
def test_characters_and_superwords(words: dict[str, int], ratio: str) -> None:
    text = " ".join(words)
    characters = default_recipe("bpe", characters=True)
    for recipe, size in ((characters, 40), (default_recipe("superbpe"), 290)):
        tokenizer = Tokenizer.train([source(text * 3)], recipe=recipe, vocab_size=size)
        check(tokenizer, text, ratio, 9.0)


def test_nothing_to_take_away() -> None:
    tokenizer = trained({"abab": 2}, 258)
    for text in ("", "xyz"):
        found = check(tokenizer, text, "1", 9.0)
        assert found.tokenizer.model.events is None and found.residues is not None
        assert (found.residues.judged, found.removed) == (0, [])


#: Nearly every `abc` is in one of two tokens, and so is every `ab`, which nothing else is made of.
STEPS = ["ab", "abc", "abcd", "xabc", "dx"]
STEPS_TEXT = "abcd " * 60 + "xabc " * 30 + "abc ab dx"


def stepped(**more: Any) -> Adaptation:
    settings = {"residues": "0.1", "texts": source(STEPS_TEXT), **more}
    return adapt(byte_level_model(STEPS), **settings)


def test_what_the_figures_mean() -> None:
    found = stepped().residues
    assert found is not None and found.judged == 5
    rows = {one.token: (one.final, one.intermediate, one.entropy) for one in found.found}
    assert rows == {"ab": (1, 91, 0.0), "abc": (1, 90, 0.9182958341)}
    assert [one.token for one in found.examples] == ["ab", "abc"]
    assert found.found[1].ratio == 1 / 91
    only = stepped(residue_entropy=0).residues
    assert only is not None and [one.token for one in only.found] == ["ab"]


def test_what_falls_apart_merges_with_its_neighbours() -> None:
    new = stepped().tokenizer
    assert new.encode("abcd").tokens == ["abcd"]
    # `dab` was `d` + `ab`; the residue falls apart, and nothing takes its parts.
    assert new.encode("dab").tokens == ["d", "a", "b"]
    tokenizer = byte_level_model(["bc", "bcx", "ab", "cd"])
    text = source("bcx " * 30)
    new = adapt(tokenizer, residues=0.1, texts=text).tokenizer
    assert tokenizer.encode("abcd").tokens == ["a", "bc", "d"]
    encoding = new.encode("abcd")
    assert encoding.tokens == ["ab", "cd"] and encoding.offsets == [(0, 2), (2, 4)]


@given(word=st.text(alphabet="abcdx", min_size=1, max_size=14))
def test_inspect_goes_the_way_of_the_encoder(word: str) -> None:
    new = stepped().tokenizer
    (made,) = explain(new, word).words
    assert isinstance(made, RefinedWord)
    assert (made.steps[-1].state if made.steps else made.symbols) == made.tokens
    for step in made.steps:
        assert step.apart == (step.removal is not None)
        assert step.removal is None or (step.removal.residue and step.removal.by is None)


def test_a_token_tells_that_it_was_a_residue() -> None:
    from tokctl.analysis.explain.tokens import token_history

    history = token_history(stepped().tokenizer, "abc")
    (removal,) = history.removals
    assert history.id is None and (removal.count, removal.whole) == (1, 91)


def test_added_tokens_and_holes() -> None:
    before = byte_level_model(STEPS)
    found = stepped(special_tokens=["<s>"], added_tokens=["qq"], keep_ids=True)
    new = found.tokenizer
    # The new tokens take the ids that have become free.
    assert sorted(found.removed) == [before.token_to_id("ab"), before.token_to_id("abc")]
    assert [new.tokens[id_] for id_ in found.removed] == ["<s>", "qq"] and not found.holes
    assert new.encode("abqq").tokens == ["a", "b", "qq"]
    again = adapt(new, special_tokens=["x"]) if new.model.events is None else None
    assert again is None


def test_threads_change_nothing() -> None:
    text = STEPS_TEXT * 40
    made = [stepped(threads=threads) for threads in (1, 2)]
    first, second = (one.tokenizer for one in made)
    assert formats.serialize(first.model) == formats.serialize(second.model)
    assert bytes(first.encoder.array(text, 2, chunk=512)) == bytes(first.encoder.array(text, 1))


def test_formats_that_can_not_say_it() -> None:
    model = stepped().tokenizer.model
    for form in formats.FORMATS:
        if form.writes and form.name != "tokctl":
            with pytest.raises(formats.UnsupportedByFormat, match=r"residues|merges by rank only"):
                formats.write(model, form.name)
    assert json.loads(formats.serialize(model))["version"] == "tokctl-1"
    assert formats.why_not_loadable(model)


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no events": lambda private: private.pop("events"),
    "another segmentation": lambda private: private["recipe"].update(segmentation="merges"),
    "a segmentation of PickyBPE": lambda private: private["recipe"].update(segmentation="events"),
    "no removals": lambda private: private["events"]["removals"].clear(),
    "a removal of a byte": lambda private: private["events"]["removals"][0].__setitem__(1, 3),
    "no merge": lambda private: private["events"]["merges"].clear(),
    "merges the other way round": lambda private: private["events"]["merges"].reverse(),
    "one removed token less": lambda private: private["events"]["removed"].pop(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_errors(damage: str) -> None:
    document = json.loads(formats.serialize(stepped().tokenizer.model))
    DAMAGES[damage](document["model"]["tokctl"])
    with pytest.raises(TokctlError) as caught:
        formats.parse(json.dumps(document).encode(), "damaged")
    assert caught.value.hint


def wordpiece() -> Tokenizer:
    recipe = replace(default_recipe("wordpiece"), segmentation="merges")
    return Tokenizer.train({"abab": 3}, recipe=recipe, vocab_size=10)


def replayed() -> Model:
    model = byte_level_model(STEPS).model
    return replace(model, recipe=replace(model.recipe, segmentation="replay"))


@pytest.mark.parametrize(
    ("before", "options", "message"),
    [
        (None, {"residues": 0}, "invalid value 0 for residues"),
        (None, {"residues": 1.5}, "invalid value 1.5 for residues"),
        (None, {"residues": "x"}, "invalid value 'x' for residues"),
        (None, {"residues": True}, "invalid value True for residues"),
        (None, {"residues": 0.1, "residue_entropy": -1}, "invalid value -1 for residue_entropy"),
        (
            None,
            {"residues": 0.1, "residue_entropy": float("nan")},
            "invalid value nan for residue_entropy",
        ),
        (None, {"residues": 0.1, "residue_entropy": "2"}, "invalid value '2' for residue_entropy"),
        (None, {"residue_entropy": 1.0, "min_uses": 1}, "residue_entropy needs residues"),
        (None, {"residues": 0.1, "prune": 258}, "can't be combined"),
        (None, {"residues": 0.1, "min_uses": 1}, "can't be combined"),
        (None, {"residues": 0.1, "vocab_size": 300}, "can't be combined"),
        (None, {"residues": 0.1, "texts": ()}, "texts are needed"),
        (lambda: stepped().tokenizer, {"residues": 0.1}, "tokens were removed"),
        (lambda: Tokenizer(replayed()), {"residues": 0.1}, "segmented by replay"),
        (wordpiece, {"residues": 0.1}, "this wordpiece model"),
    ],
)
def test_what_can_not_be(
    before: Callable[[], Tokenizer] | None, options: dict[str, Any], message: str
) -> None:
    tokenizer = before() if before else byte_level_model(STEPS)
    with pytest.raises(TokctlError, match=message) as caught:
        adapt(tokenizer, **{"texts": source("ab"), **options})
    assert caught.value.hint


def test_no_training_makes_residues() -> None:
    recipe = replace(BPE, segmentation="remerge")
    with raises_code("conflict"):
        train_on_counts({b"ab": 2}, recipe, TrainOptions(vocab_size=258))


def test_long_pre_tokens() -> None:
    rng = random.Random(7)
    words = {"".join(rng.choices("ab", k=rng.randint(1, 14))): rng.randint(1, 9) for _ in range(40)}
    long = ["".join(rng.choices("ab", k=600)), "a" * 501, "ab" * 300]
    tokenizer = trained(words, 300)
    found = check(tokenizer, " ".join(words), "0.3", 9.0, [word.encode() for word in long])
    assert len(found.removed) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "cl100k_base.tiktoken"])
def test_a_novel(name: str, treasure_island: Path) -> None:
    """The residues that chapters of a novel have, and their ids without them."""
    text = treasure_island.read_text(encoding="utf-8")[:12_000]
    found = check(Tokenizer.load(shared_file(f"vocab/{name}")), text, "0.05", 2.0)
    assert len(found.removed) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "cl100k_base.tiktoken"])
def test_books(name: str) -> None:
    text = shared_file("corpora/books.txt").read_text(encoding="utf-8")
    found = check(Tokenizer.load(shared_file(f"vocab/{name}")), text, "0.05", 2.0)
    assert len(found.removed) > 1500
