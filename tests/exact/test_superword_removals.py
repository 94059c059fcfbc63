"""BoundlessBPE with a threshold against its slow twin, and against its authors' code."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.spilled import archive, document
from tests.exact.test_superwords import (
    AUTHORS,
    BOOK,
    BOOK_IS_HERE,
    RECIPE,
    TEXTS,
    once,
    split,
    train,
)
from tests.twins import superwords as twin
from tokctl import TokctlError, Tokenizer, formats, training
from tokctl.analysis.explain import summarize
from tokctl.model import Merge, MergeLog, Model, Removal
from tokctl.sources import Source
from tokctl.training import TrainOptions

GOLDEN = Path(__file__).parents[1] / "golden" / "boundless_bpe.json"
STORY = Path(__file__).parents[2] / "corpora" / "the-lamplighters-atlas.txt"

#: Parts of words that are made, removed and made again.
PARTS = st.sampled_from(
    [
        " could",
        " would",
        " should",
        "ould",
        "ou",
        " c",
        "ing",
        "a",
        "aa",
        " b",
        "é",
        " 字",
        "\n",
        ".",
    ]
)
LIKE_TEXTS = st.lists(st.lists(PARTS, max_size=60).map("".join), min_size=1, max_size=3)
LETTERS = st.lists(st.text(" ab", max_size=60), min_size=1, max_size=3)
BYTES = st.lists(st.binary(max_size=40), min_size=1, max_size=3)
ANY_TEXTS = st.one_of(TEXTS, LIKE_TEXTS, LETTERS, BYTES)
THRESHOLDS = st.sampled_from(["0.05", "0.3", "0.5", "0.667", "0.9", "1"])


def found_of(model: Model) -> twin.Refined:
    """What was learned, by texts."""
    events = model.events
    assert events is not None and not model.merges
    names = [*model.tokens, *events.removed]
    merges, supermerges = (
        [twin.Step(names[m.left], names[m.right], m.count, joins) for m in rows]
        for joins, rows in ((False, events.merges), (True, model.supermerges))
    )
    assert all(names[m.left] + names[m.right] == names[m.token] for m in model.supermerges)
    removals = [twin.Removal(r.step, names[r.token], r.count, r.whole) for r in events.removals]
    return twin.Refined(model.tokens, list(events.removed), merges, removals, supermerges)


@given(
    ANY_TEXTS,
    st.integers(1, 60),
    THRESHOLDS,
    st.integers(1, 3),
    st.sampled_from([None, 2, 7, 12]),
    ANY_TEXTS,
)
def test_training_and_ids_equal_the_twin(
    texts: list[str] | list[bytes],
    size: int,
    threshold: str,
    min_frequency: int,
    longest: int | None,
    others: list[str] | list[bytes],
) -> None:
    limits: dict[str, Any] = {"min_frequency": min_frequency, "max_token_length": longest}
    if not any(texts):
        return
    model = train(texts, 256 + size, threshold=threshold, **limits)
    slow = twin.train_with_removals(
        list(map(split, texts)), 256 + size, Fraction(threshold), **limits
    )
    assert found_of(model) == slow
    tokenizer = Tokenizer(model)
    for text in (*texts, *others, others[0] * 20):
        data = text if isinstance(text, bytes) else text.encode()
        expected = twin.encode_refined(split(data), slow)
        ids = tokenizer.encode_ids(data)
        assert [model.tokens[id_] for id_ in ids] == expected
        found, starts, ends, _ = tokenizer.encoder.tokens(data)
        assert found == ids and [data[a:b] for a, b in zip(starts, ends, strict=True)] == expected
        assert tokenizer.decode_bytes(ids) == data
        for chunk in (1, 40):
            assert list(tokenizer.encoder.array(data, 2, chunk=chunk)) == ids


@given(LIKE_TEXTS, st.integers(1, 60), THRESHOLDS, st.integers(2, 4))
def test_neither_threads_nor_memory_nor_sources_matter(
    texts: list[str], size: int, threshold: str, threads: int
) -> None:
    if not any(texts):
        return
    plain = [text.encode() for text in texts]
    model = train(plain, 256 + size, threshold=threshold)
    assert model == train(plain, 256 + size, threshold=threshold, threads=threads, memory=1 << 20)
    again: list[Source] = [
        document(str(n), text)._replace(prompt=True) for n, text in enumerate(plain)
    ]
    chosen = TrainOptions(vocab_size=256 + size, threads=threads, threshold=threshold)
    for sources in (again, once(plain), [archive("all", once(plain))]):
        found = training.train(sources, RECIPE, chosen)
        assert found_of(found) == found_of(model)


def test_a_supermerge_waits_for_its_words() -> None:
    """A removal leaves a pair that occurs more often than the merge before it: ` c` is one token
    again only after a merge with a lower count."""
    texts = [" cou c c c c"]
    found = found_of(train(texts, 256 + 16, threshold="0.05"))
    assert found == twin.train_with_removals([split(texts[0])], 256 + 16, Fraction("0.05"))
    counts = [step.count for step in found.merges]
    assert counts != sorted(counts, reverse=True)
    assert min(counts) < found.supermerges[0].count


def test_a_threshold_of_a_token_with_itself() -> None:
    """Each merge of `aa` and `aa` takes two of them: their IoS is a half at most."""
    texts = ["aaaa\n" * 5]
    for threshold, gone in (("0.5", [b"aa"]), ("0.51", [])):
        events = train(texts, 256 + 2, threshold=threshold).events
        assert events is not None and list(events.removed) == gone


@BOOK_IS_HERE
@pytest.mark.slow
def test_a_book() -> None:
    text = BOOK.read_text(encoding="utf-8")[20000:50000].replace("\r\n", "\n")
    tokenizer = Tokenizer(train([text], 256 + 220, threshold="0.8"))
    slow = twin.train_with_removals([split(text)], 256 + 220, Fraction("0.8"))
    assert found_of(tokenizer.model) == slow and slow.removals and slow.supermerges
    tokens = [tokenizer.model.tokens[id_] for id_ in tokenizer.encode_ids(text[:5000])]
    assert tokens == twin.encode_refined(split(text[:5000]), slow)


def test_special_tokens_and_words_of_one_byte() -> None:
    """A special token is no word; and a word can be a byte, or too long to be explained."""
    text = "a a the the. " * 9
    recipe = replace(RECIPE, special_tokens=("<s>", " the"))
    chosen = TrainOptions(vocab_size=264, threshold=0.9)
    tokenizer = Tokenizer(training.train([document("a", text.encode())], recipe, chosen))
    assert tokenizer.model.supermerges and tokenizer.tokens[:2] == ["<s>", " the"]
    assert b" the" not in tokenizer.model.tokens[2:]
    assert tokenizer.decode(tokenizer.encode_ids(text)) == text
    assert summarize(tokenizer).merges_before <= len(tokenizer.model.events.merges)  # type: ignore[union-attr]
    long = Tokenizer(train([f"{'b' * 2000} c {'b' * 2000} c"], 256 + 40, threshold=0.9))
    assert long.model.supermerges and summarize(long).supermerges


# -- The authors' code -------------------------------------------------------------------


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_bytes()), ids=lambda one: one["threshold"])
def test_the_authors_code_agrees(case: dict[str, Any]) -> None:
    """What https://github.com/kensho-technologies/fastboundlessbpe (commit c2dce31) learns with
    `BpeTrainer` (`blowup=True`) and `BoundlessBpeTrainer`, and what its `Tokenizer` makes of more
    of the text. Its vocabulary starts with the 243 bytes that UTF-8 has."""
    story = STORY.read_text(encoding="utf-8")
    text = story[:5000].replace(" the", " of the").replace(" a ", " in the ")
    found = twin.train_with_removals(
        [split(text[:3000]), split(text[3000:])],
        256 + case["size"],
        Fraction(case["threshold"]),
        rules=AUTHORS,
    )
    learned: list[list[Any]] = []
    removals = list(found.removals)
    for number, step in enumerate(found.merges, 1):
        learned.append([*map(bytes_as_text, step[:2]), step.count])
        while removals and removals[0].step == number:
            learned.append([bytes_as_text(removals.pop(0).token)])
    assert learned == case["events"] and found.removals
    supermerges = [[*map(bytes_as_text, step[:2]), step.count] for step in found.supermerges]
    assert supermerges == case["supermerges"] != []
    tokenizer = Tokenizer(model_of(found))
    ids = tokenizer.encode_ids(story[5000:5600])
    assert [bytes_as_text(tokenizer.model.tokens[id_]) for id_ in ids] == case["encoded"]


def bytes_as_text(token: bytes) -> str:
    return token.decode("latin-1")


def model_of(found: twin.Refined) -> Model:
    """The model of what the twin has learned."""
    ids = {token: id_ for id_, token in enumerate([*found.tokens, *found.removed])}
    merges, supermerges = (
        [Merge(ids[s.left], ids[s.right], ids[s.left + s.right], s.count, 0, 0) for s in steps]
        for steps in (found.merges, found.supermerges)
    )
    removals = [Removal(r.step, ids[r.token], r.count, r.whole) for r in found.removals]
    events = MergeLog(tuple(found.removed), merges, removals)
    recipe = RECIPE.with_threshold()
    return Model(recipe, found.tokens, events=events, supermerges=supermerges)


# -- Files, and what can't be done --------------------------------------------------------


@pytest.fixture
def trained() -> Tokenizer:
    text = STORY.read_bytes()[:6000].replace(b" the", b" of the")
    return Tokenizer(train([text], 256 + 110, threshold="0.6"))


def test_the_file_holds_all_of_it(trained: Tokenizer) -> None:
    written = formats.serialize(trained.model)
    again = Tokenizer(formats.parse(written, "a.json"))
    assert again == trained and formats.serialize(again.model) == written
    assert found_of(again.model) == found_of(trained.model)
    larger = trained.with_special_tokens(["<s>"])
    text = STORY.read_text(encoding="utf-8")[6000:12000]
    for tokenizer in (
        again,
        larger,
        trained.with_special_tokens(["<a>", "<b>"]),
    ):
        assert tokenizer.encode_ids(text) == trained.encode_ids(text)


def test_models_that_differ_in_their_events_alone_are_not_equal(trained: Tokenizer) -> None:
    events = trained.model.events
    assert events is not None
    last = events.merges[-1]
    more = MergeLog(events.removed, [*events.merges, last], events.removals)
    assert Tokenizer(Model(
        trained.recipe, trained.model.tokens, events=more, supermerges=trained.model.supermerges
    )) != trained  # fmt: skip


def change(rows: str, at: int, column: int, value: int) -> Any:
    def changed(private: dict[str, Any]) -> None:
        (private["events"][rows] if rows != "supermerges" else private[rows])[at][column] = value

    return changed


@pytest.mark.parametrize(
    "damage",
    [
        lambda private: private.pop("events"),
        lambda private: private["events"]["removals"].pop(),
        lambda private: private["events"]["removed"].pop(),
        lambda private: private["supermerges"].append(private["supermerges"][0]),
        lambda private: private["recipe"].__setitem__("segmentation", "merges"),
        lambda private: private["recipe"].__setitem__("segmentation", "events"),
        change("merges", 0, 0, 9999),
        change("removals", 0, 1, 9999),
        change("removals", 0, 0, 0),
        change("supermerges", 0, 0, 9999),
        change("supermerges", 0, 0, 5),
    ],
)
def test_damaged_files_are_errors(trained: Tokenizer, damage: Any) -> None:
    document = json.loads(formats.serialize(trained.model))
    assert document["model"]["tokctl"]["events"]["removed"]
    damage(document["model"]["tokctl"])
    with pytest.raises(TokctlError) as caught:
        formats.parse(json.dumps(document).encode(), "damaged")
    assert "damaged" in caught.value.message and caught.value.hint
