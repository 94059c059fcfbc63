"""A sweep's models are those that are trained one by one."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.metrics.models import TEXT
from tokctl.analysis.comparison import compare, train_sizes
from tokctl.analysis.comparison.measuring import SWEPT, sweep_points
from tokctl.analysis.texts import Text
from tokctl.core.errors import TokctlError
from tokctl.model import Recipe
from tokctl.model.presets import PRESETS, default_recipe, preset
from tokctl.tokenizer import Tokenizer

RECIPES: dict[str, tuple[Recipe, list[int]]] = {
    "bpe": (default_recipe("bpe"), [260, 265, 400]),
    "wordpiece": (default_recipe("wordpiece"), [25, 30, 90]),
    "wordpiece by count": (preset("bert"), [40, 50, 90]),
    "notebook": (preset("notebook-wordpiece"), [25, 30, 90]),
    "unigram": (default_recipe("unigram"), [24, 30, 90]),
    "word": (default_recipe("word"), [3, 8, 90]),
    "char": (default_recipe("char"), [3, 8, 90]),
}


def grows(recipe: Recipe) -> bool:
    return recipe.algorithm in ("bpe", "wordpiece", "word")


@pytest.mark.parametrize("name", RECIPES)
def test_the_models_are_those_trained_one_by_one(name: str) -> None:
    recipe, sizes = RECIPES[name]
    text = Text("low.txt", TEXT.encode())
    trained = train_sizes({name: recipe}, [text], [sizes[1], sizes[2], sizes[0]], threads=1)
    assert set(trained) == {(name, size) for size in sizes}
    for size in sizes:
        alone = Tokenizer.train([text.source()], vocab_size=size, recipe=recipe)
        swept = trained[name, size].model
        assert swept.tokens == alone.model.tokens
        assert swept.merges == alone.model.merges
        assert swept.scores == alone.model.scores


@settings(max_examples=30)
@given(text=st.text(alphabet="ab \n", min_size=5, max_size=60), size=st.integers(260, 290))
def test_ties_are_the_same_in_a_larger_training(text: str, size: int) -> None:
    texts = [Text("", text.encode())]
    recipe = default_recipe("bpe")
    trained = train_sizes({"bpe": recipe}, texts, [size, 300], threads=1)
    alone = Tokenizer.train([texts[0].source()], vocab_size=size, recipe=recipe)
    assert trained["bpe", size].model.merges == alone.model.merges


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name for name, (_, r) in PRESETS.items() if grows(r)])
@settings(max_examples=12)
@given(
    text=st.text(alphabet="aab#Ġ▁é<>/w1'Z \n", min_size=5, max_size=80),
    more=st.lists(st.integers(0, 30), min_size=2, max_size=4, unique=True),
)
def test_every_preset_is_cut_as_it_is_trained(name: str, text: str, more: list[int]) -> None:
    """Markers, bytes to fall back to, special tokens, lowest ids: no matter."""
    recipe, texts = preset(name), [Text("", text.encode())]
    try:
        least = Tokenizer.train([texts[0].source()], vocab_size=2**20, recipe=recipe)
    except TokctlError:
        assume(False)  # nothing is left of the text
    sizes = [least.vocab_size - len(least.merges) + number for number in more]
    trained = train_sizes({name: recipe}, texts, sizes, threads=1)
    for size in sizes:
        alone = Tokenizer.train([texts[0].source()], vocab_size=size, recipe=recipe).model
        swept = trained[name, size].model
        assert (swept.tokens, swept.merges) == (alone.tokens, alone.merges)
        assert (swept.added, swept.special_ids) == (alone.added, alone.special_ids)


@pytest.mark.parametrize("rule", ["spaces", "unicode"])
def test_words_of_a_sweep_are_those_of_the_metrics(rule: str) -> None:
    text = Text("", b"(low) 'low' low-low\n" * 3)
    trained = train_sizes({"bpe": default_recipe("bpe")}, [text], [258, 265], threads=1)
    models = [("bpe", trained["bpe", 265])]
    found = compare(models, [text.source()], sweep=trained, word_rule=rule)
    point = next(point for point in found.sweep if point.asked == 265)
    for name in ("fertility", "strr", "continued_words"):
        assert point.figures[name] == found.models[0].total.figures[name]


def test_points_are_the_figures_of_a_comparison() -> None:
    text = Text("low.txt", TEXT.encode())
    recipes = {"bpe": default_recipe("bpe"), "word": default_recipe("word")}
    trained = train_sizes(recipes, [text], [270, 300], threads=1)
    points = sweep_points(trained, [text], 1)
    assert [(point.model, point.asked) for point in points] == [
        ("bpe", 270),
        ("bpe", 300),
        ("word", 270),
        ("word", 300),
    ]
    for point in points:
        tokenizer = trained[point.model, point.asked]
        found = compare([tokenizer], [text.source()]).models[0]
        assert point.vocab_size == tokenizer.vocab_size
        assert point.exhausted == (tokenizer.vocab_size < point.asked)
        assert set(point.figures) == set(SWEPT)
        for name, figure in point.figures.items():
            assert figure == found.total.figures[name]


def test_a_size_below_the_alphabet_is_refused() -> None:
    text = Text("low.txt", TEXT.encode())
    for sizes in ([9], [9, 300]):
        with raises_code("bad-value", r"too few|256"):
            train_sizes({"bpe": default_recipe("bpe")}, [text], sizes)
