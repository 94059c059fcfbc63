"""The comparison: golden values, and equality with an independent slow computation."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.metrics import slow
from tests.metrics.models import RECIPES, TEXT, document, model
from tokctl.analysis.comparison import Comparison, compare
from tokctl.analysis.comparison.measuring import agreements, measure, measure_all
from tokctl.analysis.comparison.samples import pick_sentences
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.texts import Text
from tokctl.model.presets import default_recipe
from tokctl.tokenizer import Tokenizer

#: With characters that normalizers make longer, and make spaces of.
ALPHABET = "lowernstid (\u2019é\u3000\n\t\r\x1c\ufb01\u00bd\ufdfa\u00a8E▁<s>"
TEXTS = st.text(alphabet=ALPHABET, max_size=60).map(str.encode)
BYTES = st.binary(max_size=40)


@pytest.mark.few(3)
@pytest.mark.parametrize("rule", ["spaces", "unicode"])
@pytest.mark.parametrize("name", RECIPES)
@given(text=TEXTS)
def test_counts_equal_the_slow_ones(name: str, rule: str, text: bytes) -> None:
    assert measure(model(name), text, 1, rule) == slow.counts(model(name), text, rule)


@pytest.mark.parametrize("name", ["bpe", "pattern"])
@given(text=BYTES | TEXTS)
def test_counts_of_any_bytes(name: str, text: bytes) -> None:
    found = measure(model(name), text, 1)
    assert found == slow.counts(model(name), text)
    assert found.exact_lines == found.lines


@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_agreement_equals_the_slow_one(texts: list[bytes]) -> None:
    models = [model(name) for name in ("bpe", "wordpiece", "notebook-bpe", "pattern")]
    matrix = agreements(
        [[measure_all(one, text, 1, boundaries=True) for text in texts] for one in models]
    )
    cuts = [
        {(n, place) for n, text in enumerate(texts) for place in slow.boundaries(tokenizer, text)}
        for tokenizer in models
    ]
    for i, row in enumerate(matrix):
        for j, cell in enumerate(row):
            if i == j:
                assert cell == 1
                continue
            expected = slow.f1(cuts[i], cuts[j])  # type: ignore[arg-type]
            if expected is None:
                assert isinstance(cell, Undefined)
            else:
                assert cell == pytest.approx(expected, abs=1e-12)


def _golden() -> Comparison:
    models = [(name, model(name)) for name in ("bpe", "wordpiece", "notebook-bpe")]
    return compare(models, [document(TEXT)], sentences=["lowest (new)"], threads=1)


def _efficiencies(counts: list[int], vocabulary: int) -> dict[str, object]:
    shares = [count / sum(counts) for count in counts]
    shannon = sum(share * math.log(1 / share, vocabulary) for share in shares)
    renyi = -math.log(sum(share**2.5 for share in shares), vocabulary) / 1.5
    return {
        "renyi_efficiency": pytest.approx(renyi, abs=1e-12),
        "shannon_efficiency": pytest.approx(shannon, abs=1e-12),
    }


def test_golden_values() -> None:
    figures = {entry.name: dict(entry.total.figures) for entry in _golden().models}
    nothing_unknown = figures["bpe"].pop("unk_rate")
    assert isinstance(nothing_unknown, Undefined)
    assert figures == {
        "bpe": {
            "tokens": 28,
            "bytes_per_token": 71 / 28,
            "characters_per_token": 71 / 28,
            "nsl": 1.0,
            "fertility": 28 / 12,
            "continued_words": 8 / 12,
            "strr": 4 / 12,
            "round_trip": 1.0,
            "vocabulary_use": 13 / 270,
            # er and Ċ 4 times, Ġlow and est 3 times, five 2 times, four once.
            **_efficiencies([4, 4, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1], 270),
        },
        "wordpiece": {
            "tokens": 14,
            "bytes_per_token": 71 / 14,
            "characters_per_token": 71 / 14,
            "nsl": 0.5,
            "fertility": 14 / 12,
            "continued_words": 1 / 12,
            "strr": 11 / 12,
            "unk_rate": 0.0,
            "round_trip": 3 / 4,
            "vocabulary_use": 11 / 34,
            **_efficiencies([3, 2, *[1] * 9], 34),
        },
        # Line ends are deleted: "longer\nlow" is Ġlonge r lo w, and "new\n\nnewer" Ġne w ne wer.
        "notebook-bpe": {
            "tokens": 24,
            "bytes_per_token": 71 / 24,
            "characters_per_token": 71 / 24,
            "nsl": 24 / 28,
            "fertility": 24 / 12,
            "continued_words": 7 / 12,
            "strr": 5 / 12,
            "unk_rate": 0.0,
            "round_trip": 3 / 4,
            "vocabulary_use": 15 / 30,
            **_efficiencies([3, *[2] * 7, *[1] * 7], 30),
        },
    }


def test_golden_segmentations_and_words() -> None:
    found = _golden()
    assert [" ".join(cut.tokens) for cut in found.samples[0].segmentations] == [
        "low est Ġ ( new )",
        "low ##est ( new )",
        "Ġlo we st Ġ ( Ġne w Ġ )",
    ]
    # Ġnew|est, newest, Ġne|we|st: 1 + 3 + 2 boundaries that one has and the other lacks.
    assert [(word.word, word.count, word.weight) for word in found.disagreements] == [
        ("newest", 1, 6),
        ("lower", 2, 4),
        ("widest", 1, 4),
        ("longer", 1, 4),
        ("newer", 1, 4),
        ("(longest)", 1, 4),
        ("new", 1, 2),
        ("wide", 1, 2),
    ]
    assert found.samples[0].segmentations[0].shown[2] == " "


def test_nothing_depends_on_threads() -> None:
    models = [model("bpe"), model("wordpiece")]
    text = [document(TEXT * 50)]
    assert compare(models, text, threads=1) == compare(models, text, threads=4)


def test_texts_one_by_one_and_together() -> None:
    models = [model("bpe"), model("wordpiece")]
    found = compare(models, [document(TEXT, "a"), document("new\n", "b")])
    alone = compare(models, [document("new\n", "b")])
    assert [text.name for text in found.texts] == ["a", "b"]
    for report, single in zip(found.models, alone.models, strict=True):
        assert report.texts[1] == single.texts[0]
        assert report.total.counts == report.texts[0].counts + report.texts[1].counts


def test_names_and_baseline() -> None:
    models = [model("bpe"), model("pattern"), model("wordpiece")]
    found = compare(models, [document(TEXT)], baseline="wordpiece")
    assert [entry.name for entry in found.models] == ["bpe", "bpe-2", "wordpiece"]
    assert [entry.total.figures["nsl"] for entry in found.models][0::2] == [2.0, 1.0]


def test_a_path_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "low.txt"
    path.write_text(TEXT)
    assert compare([model("bpe")], [path]).total.bytes == len(TEXT)


def test_errors_name_what_is_wrong() -> None:
    bad = document(b"low\nlo\xffw\n", "bad.txt")
    with raises_code("not-utf8", r"bad\.txt: line 2, byte 6 is not UTF-8"):
        compare([model("bpe"), model("wordpiece")], [bad])
    with raises_code("unknown-name", "no model of this comparison is called 'x'"):
        compare([model("bpe")], [document(TEXT)], baseline="x")
    with raises_code("bad-option", "two models are called 'a'"):
        compare([("a", model("bpe")), ("a", model("wordpiece"))], [document(TEXT)])
    with raises_code("missing-option"):
        compare([], [document(TEXT)])
    with raises_code("bad-value", "invalid value 'ignore' for errors"):
        compare([model("bpe")], [document(TEXT)], errors="ignore")


def test_byte_level_models_alone_read_any_bytes() -> None:
    found = compare([model("bpe")], [document(b"lo\xffw \x00\n")])
    assert found.total.bytes == 7
    assert found.models[0].total.figures["round_trip"] == 1


def test_replace_gives_all_models_the_same_text() -> None:
    models = [model("bpe"), model("wordpiece")]
    found = compare(models, [document(b"lo\xffw low\n")], errors="replace")
    assert found.total.bytes == len("lo\ufffdw low\n".encode())
    assert {entry.total.counts.bytes for entry in found.models} == {found.total.bytes}


def test_sentences_are_spread_over_the_text() -> None:
    sentences = [f"This is the sentence with the number {n}, and no other." for n in range(999)]
    text = "\n".join(sentences)
    picked = pick_sentences([Text("a", text.encode())])
    assert len(picked) == 3
    places = [sentences.index(sentence) for sentence in picked]
    assert [round(place / 999, 1) for place in places] == [0.2, 0.5, 0.8]
    half = [Text("a", text[: len(text) // 2].encode()), Text("b", text[len(text) // 2 :].encode())]
    assert pick_sentences(half)[0] == picked[0]


@pytest.mark.parametrize("text", ["", "\n\n", "low", "x" * 500_000, "\xff\n" * 300, "。" * 50])
def test_texts_without_sentences(text: str) -> None:
    for picked in pick_sentences([Text("", text.encode("latin-1", "replace"))]):
        assert 0 < len(picked) <= 120


def test_models_are_given_as_they_are_there(tmp_path: Path) -> None:
    tokenizer = model("bpe")
    path = tmp_path / "mine.json"
    tokenizer.save(path)
    found = compare([path, ("other", tokenizer), tokenizer, tokenizer], [document("low")])
    name = tokenizer.recipe.name
    assert [report.name for report in found.models] == ["mine", "other", name, f"{name}-2"]
    for wrong in (str(path), {"a": tokenizer}):
        with raises_code("bad-value"):
            compare(wrong, [document("low")])  # type: ignore[arg-type]
    with raises_code("bad-value"):
        compare([tokenizer], "text.txt")
    with raises_code("bad-option", "two models are called 'mine'"):
        compare([path, ("mine", tokenizer)], [document("low")])
    with raises_code("unreadable"):
        compare([tmp_path / "none.json"], [document("low")])


def test_what_a_model_drops_is_unknown() -> None:
    """Losing text is not compression."""
    recipe = default_recipe("bpe", characters=True)
    recipe = replace(recipe, unk_token=None, special_tokens=())
    keeping = Tokenizer.train({"low": 5, "lower": 2}, recipe=recipe, vocab_size=12)
    dropping = Tokenizer(replace(keeping.model, recipe=replace(keeping.recipe, unknown="drop")))
    text = "low дом low\n".encode()
    assert len(dropping.encode_ids(text)) == 2 < measure(dropping, text, 1).tokens
    assert measure(dropping, text, 1) == measure(keeping, text, 1)
    assert measure(dropping, text, 1).unknown == len(" дом \n")
