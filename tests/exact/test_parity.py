"""Parity-aware BPE against its slow twin, and against Hugging Face's `ParityBpeTrainer`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.exact.training_options import MARKERS
from tests.twins import parity as twin
from tests.twins.train import Merge
from tokctl import Recipe, Tokenizer, _native, default_recipe, preset
from tokctl.model import TIE_BREAKS
from tokctl.sources import Document
from tokctl.training import TextStats, TrainOptions
from tokctl.training.parity import CountedLanguages, ParityOptions, fill_by_language

#: Few letters and small counts: ties everywhere, and languages that run out of pairs.
words = st.dictionaries(
    st.text(alphabet="abc", min_size=1, max_size=6), st.integers(1, 3), min_size=1, max_size=8
)
parallel = st.integers(2, 4).flatmap(
    lambda size: st.tuples(
        st.lists(words, min_size=size, max_size=size),
        st.none() | st.lists(words, min_size=size, max_size=size),
    )
)
ways = st.fixed_dictionaries(
    {
        "variant": st.sampled_from(["base", "window"]),
        "global_merges": st.sampled_from([0, 0, 3, 9]),
        "window": st.integers(1, 7),
        "limit": st.sampled_from(["1/2", "1", "3/2", "2"]),
        "measure": st.sampled_from(["tokens", "bytes", "characters"]),
    }
)


def counts_of(words: dict[str, int]) -> _native.Counts:
    counter = _native.Counter("none", [], 1)
    for word, times in words.items():
        counter.add(word.encode(), times)
    return counter.finish(1)


def trained(
    recipe: Recipe,
    languages: Sequence[dict[str, int]],
    dev: Sequence[dict[str, int]] | None,
    parity: ParityOptions,
    **options: Any,
) -> Tokenizer:
    def counted(texts: Sequence[dict[str, int]]) -> dict[str, _native.Counts]:
        return {str(number): counts_of(words) for number, words in enumerate(texts)}

    found = CountedLanguages(
        counted(languages), counted(dev) if dev else None, TextStats(0, 0, ""), None
    )
    return Tokenizer(fill_by_language(found, recipe, TrainOptions(**options), parity))


@pytest.mark.few(2)
@pytest.mark.parametrize(("marker", "ties"), list(product(MARKERS, TIE_BREAKS)))
@given(
    texts=parallel,
    way=ways,
    targets=st.none() | st.lists(st.integers(1, 3), min_size=4, max_size=4),
    min_frequency=st.integers(1, 3),
    vocab_size=st.integers(10, 40),
    special=st.sampled_from([(), ("ab", "<x>")]),
)
@part_of_examples(4)
def test_the_trainer_equals_its_twin(
    marker: str,
    ties: str,
    texts: tuple[list[dict[str, int]], list[dict[str, int]] | None],
    way: dict[str, Any],
    targets: list[int] | None,
    min_frequency: int,
    vocab_size: int,
    special: tuple[str, ...],
) -> None:
    languages, dev = texts
    wordpiece = marker == "continuation"
    recipe = Recipe(
        name="test",
        algorithm="wordpiece" if wordpiece else "bpe",
        pre_tokenizers="whitespace",  # type: ignore[arg-type]
        units="characters",
        marker=MARKERS[marker],
        score="count",
        tie_break=ties,
        segmentation="replay",
        special_tokens=special,
    )
    by_name = (
        {str(n): target for n, target in enumerate(targets[: len(languages)])} if targets else {}
    )
    tokenizer = trained(
        recipe,
        languages,
        dev,
        ParityOptions(**way, targets=by_name),
        vocab_size=vocab_size,
        min_frequency=min_frequency,
    )
    measured = dev or languages
    lengths = [sum(len(word) * times for word, times in text.items()) for text in measured]
    expected = twin.train_parity(
        languages,
        dev,
        vocab_size=vocab_size,
        marker_kind=MARKERS[marker].kind,
        marker=MARKERS[marker].text,
        ties=ties,  # type: ignore[arg-type]
        global_merges=way["global_merges"],
        window=way["window"] if way["variant"] == "window" else None,
        limit=Fraction(way["limit"]),
        lengths=None if way["measure"] == "tokens" else lengths,
        targets=list(map(Fraction, targets)) if targets else None,
        min_frequency=min_frequency,
        special_tokens=special,
    )
    assert tokenizer.tokens == expected.vocabulary
    names = tokenizer.tokens
    assert expected.merges == [
        Merge(names[m.left], names[m.right], names[m.token], *m[3:]) for m in tokenizer.merges
    ]
    record = tokenizer.model.parity
    assert record is not None
    chosen = [record.language_of(rank) for rank in range(len(expected.merges))]
    assert chosen == ["" if one is None else str(one) for one in expected.chosen]
    assert dev or list(record.after) == expected.tokens


def test_a_share_of_the_merges_is_rounded_down() -> None:
    texts = [{"abcdefgh": 2}, {"hgfedcba": 3}]
    recipe = replace(default_recipe("bpe", characters=True), pre_tokenizers=())
    for share, merges in (("0%", 0), ("50%", 3), ("33.4%", 2), ("100%", 7)):
        model = trained(
            recipe, texts, None, ParityOptions(global_merges=share), vocab_size=16
        ).model
        assert model.parity is not None
        assert (model.parity.global_merges, len(model.merges)) == (merges, 7), share


def test_a_character_without_an_id_is_one_token_of_what_is_measured() -> None:
    recipe = replace(default_recipe("bpe", characters=True), pre_tokenizers=())
    texts, dev = [{"abab": 3}, {"cdcd": 2}], [{"abxyab": 1}, {"cdzcd": 2}]
    tokenizer = trained(recipe, texts, dev, ParityOptions(), vocab_size=9)
    record = tokenizer.model.parity
    assert record is not None and record.before == (6, 10)
    assert record.after == (len(tokenizer.encode("abxyab").ids), 2 * len(tokenizer.encode("cdzcd")))
    assert "x" not in tokenizer.vocabulary


# -- Hugging Face ---------------------------------------------------------------------------

SAME_TIES = replace(preset("gpt2"), special_tokens=(), tie_break="highest-text")


def theirs(
    languages: list[str], dev: list[str] | None, merges: int, **options: Any
) -> list[tuple[str, str]]:
    """What their trainer learns; their ties are our `highest-text`."""
    hf = pytest.importorskip("tokenizers")
    if not hasattr(hf.trainers, "ParityBpeTrainer"):
        pytest.skip("this release of tokenizers has no ParityBpeTrainer")
    tokenizer = hf.Tokenizer(hf.models.BPE())
    tokenizer.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = hf.trainers.ParityBpeTrainer(
        num_merges=merges,
        initial_alphabet=hf.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **options,
    )
    trainer.train_from_iterator(
        tokenizer, [[text] for text in languages], [[text] for text in dev] if dev else None
    )
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def ours(
    languages: list[str], dev: list[str] | None, merges: int, **options: Any
) -> list[tuple[str, str]]:
    def texts(given: list[str]) -> dict[str, Document]:
        return {
            str(number): Document(str(number), None, lambda text=text: iter([text.encode()]))
            for number, text in enumerate(given)
        }

    given = {"measure": "tokens", **options}
    min_frequency = given.pop("min_frequency", 1)
    tokenizer = Tokenizer.train(
        texts(languages),
        recipe=SAME_TIES,
        vocab_size=256 + merges,
        min_frequency=min_frequency,
        parity=ParityOptions(dev=texts(dev) if dev else None, **given),
    )
    names = tokenizer.tokens
    return [(names[merge.left], names[merge.right]) for merge in tokenizer.merges]


#: Ours and theirs.
VARIANTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"global_merges": 60}, {"global_merges": 60}),
    ({"variant": "window"}, {"variant": "window"}),
    (
        {"variant": "window", "window": 20, "limit": 1, "global_merges": 30},
        {"variant": "window", "window_size": 20, "alpha": 1.0, "global_merges": 30},
    ),
    ({"min_frequency": 3}, {"min_frequency": 3}),
]


@pytest.mark.parametrize(("own", "other"), VARIANTS)
@pytest.mark.parametrize("with_dev", [False, True])
def test_merges_are_those_of_hugging_face(
    own: dict[str, Any], other: dict[str, Any], with_dev: bool
) -> None:
    names = ("eng", "swh", "fin", "hin", "rus", "cmn_hans")
    texts = [
        shared_file(f"corpora/udhr/{name}.txt").read_text(encoding="utf-8")[:3000] for name in names
    ]
    dev = [text[2000:] for text in texts] if with_dev else None
    train = [text[:2000] for text in texts] if with_dev else texts
    assert ours(train, dev, 400, **own) == theirs(train, dev, 400, **other)


def test_targets_are_their_ratio() -> None:
    names = ("eng", "swh", "hin")
    texts = [
        shared_file(f"corpora/udhr/{name}.txt").read_text(encoding="utf-8")[:3000] for name in names
    ]
    targets = {"0": 1, "1": 1.25, "2": "2.5"}
    found = ours(texts, None, 400, measure="bytes", targets=targets)
    assert found == theirs(texts, None, 400, ratio=[1.0, 1.25, 2.5])


@given(texts=st.lists(st.text("ab c'é字", min_size=1, max_size=80), min_size=2, max_size=4))
@part_of_examples(4)
def test_generated_texts_give_the_same_merges(texts: list[str]) -> None:
    assert ours(texts, None, 30) == theirs(texts, None, 30)


@pytest.mark.slow
@pytest.mark.parametrize(("own", "other"), VARIANTS)
def test_all_languages_give_the_same_merges(own: dict[str, Any], other: dict[str, Any]) -> None:
    folder = shared_file("corpora/udhr/eng.txt").parent
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.txt"))]
    train, dev = [t[: len(t) // 2] for t in texts], [t[len(t) // 2 :] for t in texts]
    assert ours(train, dev, 6000, **own) == theirs(train, dev, 6000, **other)
