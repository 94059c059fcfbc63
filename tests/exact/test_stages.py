"""Training in stages (SuperBPE), against the slow twin and Hugging Face's library."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import document
from tests.twins import train as twin
from tokctl import TokctlError, Tokenizer, training
from tokctl.analysis.explain import count_pre_tokens, pair_counts
from tokctl.analysis.replay import MergeReplay
from tokctl.model import Model, Recipe, TrainingStage
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.patterns import PATTERNS
from tokctl.model.presets import BPE, DEFAULTS
from tokctl.training import TrainOptions

SUPERBPE = DEFAULTS["superbpe"]
SPELLED = twin.byte_to_unicode()
#: Short lines of few words, with numbers and what is forbidden.
texts = st.text(alphabet="ab ,:1\n", min_size=1, max_size=60).filter(str.strip)


def spell(text: str) -> str:
    return "".join(SPELLED[byte] for byte in text.encode())


def pieces(text: str) -> list[str]:
    """Digits in threes from the right, and lines with their line feed."""
    groups = regex.split(r"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))", text)
    return [line for group in groups for line in group.splitlines(keepends=True) if line]


def counted(words: list[str]) -> dict[str, int]:
    return dict(Counter(map(spell, words)))


def twin_of(text: str, vocab_size: int, transition: int, **last: Any) -> twin.Training:
    """SuperBPE from its definition: BPE on words, then, from its merges, BPE on lines."""
    symbols = {"alphabet": list(SPELLED.values()), "ties": "lowest-id"}
    lines = pieces(text)
    words = [word for line in lines for word in regex.findall(PATTERNS["gpt2"], line)]
    first = twin.train(counted(words), vocab_size=transition, **symbols)
    most, forbidden = last.get("max_words", 4), last.get("forbidden", (": ",))

    def refused(token: str) -> bool:
        too_many = most is not None and len([w for w in token.split("Ġ") if w]) > most
        return too_many or any(spell(text) in token for text in forbidden)

    return twin.train(
        counted(lines), vocab_size=vocab_size, extend=first, refused=refused, **symbols
    )


def train(text: str, recipe: Recipe = SUPERBPE, **options: Any) -> Model:
    options.setdefault("vocab_size", 290)
    return training.train(document("text", text.encode(), 7), recipe, TrainOptions(**options))


def assert_equal(model: Model, expected: twin.Training) -> None:
    assert model.spelled == expected.vocabulary
    named = [(*(model.spelled[id_] for id_ in merge[:3]), *merge[3:]) for merge in model.merges]
    assert named == list(map(tuple, expected.merges))


@given(
    text=texts,
    transition=st.integers(256, 290),
    max_words=st.sampled_from([1, 2, 4, None]),
    forbidden=st.sampled_from([(), (": ",), ("a", " b,")]),
)
@part_of_examples(2)
def test_superbpe_equals_its_definition(
    text: str, transition: int, max_words: int | None, forbidden: tuple[str, ...]
) -> None:
    last = {"max_words": max_words, "forbidden": forbidden}
    recipe = replace(
        SUPERBPE,
        stages=(
            TrainingStage(pre_tokenizers=("gpt2",), until=str(transition)),
            TrainingStage(**last),
        ),
    )
    expected = twin_of(text, 290, transition, **last)
    model = train(text, recipe)
    assert_equal(model, expected)
    ends = model.training.stage_ends if model.training else ()
    assert len(ends) == 1 and ends[0] <= transition


@pytest.mark.slow
def test_a_real_text(treasure_island: Path) -> None:
    text = treasure_island.read_text(encoding="utf-8")[20_000:28_000]
    model = train(text, vocab_size=700)
    assert_equal(model, twin_of(text, 700, 630))
    assert model.training and model.training.stage_ends == (630,)
    assert any(b" " in model.tokens[merge.token].strip() for merge in model.merges)


@given(text=texts, threads=st.sampled_from([1, 2]), block=st.integers(1, 20))
@part_of_examples(2)
def test_threads_blocks_and_memory_change_nothing(text: str, threads: int, block: int) -> None:
    given = document("text", text.encode(), block)
    for memory in (None, 1 << 20):
        options = TrainOptions(vocab_size=290, threads=threads, memory=memory)
        assert training.train(given, SUPERBPE, options) == train(text, threads=1)


@given(text=texts, transition=st.integers(257, 280))
@part_of_examples(2)
def test_extending_with_other_pre_tokenizers_is_the_second_stage(
    text: str, transition: int
) -> None:
    words = replace(BPE, pre_tokenizers=PRE_TOKENIZERS.steps(["digit-groups", "lines", "gpt2"]))
    old = train(text, words, vocab_size=transition)
    lines = replace(words, pre_tokenizers=SUPERBPE.pre_tokenizers, stages=SUPERBPE.stages[1:])
    model = train(text, lines, extend=old)
    recipe = SUPERBPE.with_transition(str(transition))
    assert model.merges == train(text, recipe).merges


@given(text=texts)
@part_of_examples(2)
def test_text_comes_back(text: str) -> None:
    tokenizer = Tokenizer(train(text))
    assert tokenizer.decode(tokenizer.encode_ids(text)) == text


def test_hugging_face_gives_the_same_ids(treasure_island: Path, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    text = treasure_island.read_text(encoding="utf-8")[:100_000]
    ours = Tokenizer(train(text, vocab_size=3000))
    ours.save(tmp_path / "m.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "m.json"))
    for more in (text, "In 1234567 days:  two\n\n  spaces\tand of the of the", "", "\r\n \n"):
        assert list(ours.encode_ids(more)) == theirs.encode(more).ids


def test_min_count_is_for_the_words_of_the_first_stage() -> None:
    text = "a rare word\n" + "the same line\n" * 3
    tokens = train(text, vocab_size=1000, min_count=2).tokens
    assert b" same" in tokens and b" rare" not in tokens
    # Its lines are all there in the second stage.
    assert b"a rare word\n" in train(text + text, vocab_size=1000, min_count=3).tokens


def test_inspect_splits_a_text_as_the_stage_of_a_step_did() -> None:
    text = "of the sea and of the land: some birds fly\nof the 1234 islands\n" * 9
    tokenizer = Tokenizer(train(text, vocab_size=310))
    assert tokenizer.model.training and tokenizer.model.training.stage_ends == (279,)
    counts = count_pre_tokens(tokenizer, [document("text", text.encode(), 99)])
    refused: set[str | None] = set()
    for step, merge in enumerate(tokenizer.merges):
        first, *others = pair_counts(tokenizer, step, counts).pairs
        assert first.wins and first.step == step + 1 and first.count == merge.count
        refused |= {pair.refused for pair in others}
    assert refused == {None, "words", "forbidden"}
    states = [tokenizer.corpus_state(step, text) for step in (279 - 256, 280 - 256)]
    assert not any("Ġ" in token.strip("Ġ") for state in states[:1] for w in state for token in w)
    assert [len(state) for state in states] == [15, 5]  # words, then lines
    replay = MergeReplay(tokenizer, counts)
    kinds = [replay.goto(step).choice for step in range(len(tokenizer.merges))]
    assert {choice.kind for choice in kinds[:24] if choice} >= {"split"}
    assert {choice.kind for choice in kinds[24:] if choice} <= {"best", "tie"}


def test_a_model_to_extend_can_be_past_the_first_stage() -> None:
    text = "of the sea and of the land, some birds fly\n" * 9
    old = train(text, vocab_size=275)
    model = train(text, SUPERBPE.with_transition("260"), vocab_size=280, extend=old)
    assert model.merges[: len(old.merges)] == old.merges and len(model.tokens) == 280


def test_the_file_keeps_the_stages(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    model = train("of the sea and of the land\n" * 9)
    Tokenizer(model).save(path)
    assert Tokenizer.load(path).model == model
    data = json.loads(path.read_bytes())
    recipe = data["model"]["tokctl"]["recipe"]
    assert [stage["until"] for stage in recipe["stages"]] == ["90%", ""]
    for broken in (5, [5], [{}], [{**recipe["stages"][0], "until": 5}], recipe["stages"][:1]):
        recipe["stages"] = broken
        path.write_text(json.dumps(data))
        with pytest.raises(TokctlError):
            Tokenizer.load(path)


@pytest.mark.parametrize("until", ["", "%", "-1", "1e3", "101%", "12.5", "١٢", "9" * 20, "1.%%"])
def test_an_end_is_a_number_of_ids_or_a_share(until: str) -> None:
    with pytest.raises(TokctlError):
        SUPERBPE.with_transition(until)


def test_a_share_is_rounded_down() -> None:
    assert [TrainingStage(until=end).size(999) for end in ("90%", "12.5%", "0.1%", "100%")] == [
        899, 124, 0, 999,
    ]  # fmt: skip
    assert TrainingStage(until="2000").size(999) == 999


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "wordpiece", "name": "x"},
        {"stages": (TrainingStage(until="50%"),)},
        {"stages": (TrainingStage(pre_tokenizers=("bert",), until="50%"), TrainingStage())},
        {"stages": (TrainingStage(), TrainingStage())},
    ],
)
def test_stages_that_can_not_be(changes: dict[str, Any]) -> None:
    with pytest.raises(TokctlError):
        replace(SUPERBPE, **changes)


def test_a_stage_that_ends_within_the_alphabet_is_an_error() -> None:
    with raises_code("bad-value", "a stage can't end at 100 ids"):
        train("of the sea", SUPERBPE.with_transition("100"))


def test_limits_of_tokens_without_stages() -> None:
    recipe = replace(BPE, pre_tokenizers=(), stages=(TrainingStage(max_words=1),))
    tokens = train("of the sea and of the land " * 9, recipe, vocab_size=400).tokens
    assert max(len(token.split()) for token in tokens) == 1
