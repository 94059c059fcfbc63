"""What holds for every metric, whatever the model and the text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.models import RECIPES, model
from tests.metrics.test_compare import TEXTS
from tokctl.analysis.comparison.measuring import measure
from tokctl.analysis.metrics import (
    METRICS,
    NOTHING,
    Counts,
    MetricValue,
    Range,
    Undefined,
    range_of,
)


def _figures(reach: Range, counts: Counts, baseline: Counts) -> dict[str, MetricValue]:
    return {metric.name: metric.figure(reach, counts, baseline) for metric in METRICS}


RULES = st.sampled_from(["spaces", "unicode"])


@pytest.mark.few(4)
@pytest.mark.parametrize("name", RECIPES)
@given(text=TEXTS, rule=RULES)
def test_bounds(name: str, text: bytes, rule: str) -> None:
    tokenizer = model(name)
    counts = measure(tokenizer, text, 1, rule)
    reach = range_of(tokenizer.model)
    found = _figures(reach, counts, counts)
    for metric in METRICS:
        figure = found[metric.name]
        if isinstance(figure, Undefined):
            assert figure.reason
            continue
        assert figure >= 0
        assert figure <= 1 or metric.kind != "share", metric.name
    assert found["nsl"] == (1 if counts.tokens else found["nsl"])
    assert counts.whole_words + counts.split_words <= counts.words
    assert counts.unknown <= counts.tokens
    assert len(counts.id_counts) <= reach.emittable
    assert counts.exact_lines <= counts.lines
    without_id = counts.unknown if tokenizer.unk_id is None else 0
    assert sum(counts.id_counts.values()) == counts.tokens - without_id


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram", "bert"])
@given(text=TEXTS, data=st.data())
def test_names_of_ids_do_not_matter(name: str, text: bytes, data: st.DataObject) -> None:
    tokenizer = model(name)
    counts = measure(tokenizer, text, 1)
    others = data.draw(st.permutations(range(tokenizer.vocab_size)))
    renamed = {others[id_]: count for id_, count in counts.id_counts.items()}
    shuffled = replace(counts, id_counts=dict(data.draw(st.permutations(list(renamed.items())))))
    reach = range_of(tokenizer.model)
    assert _figures(reach, shuffled, counts) == _figures(reach, counts, counts)


@pytest.mark.parametrize("name", ["bpe", "characters", "wordpiece"])
@given(texts=st.lists(TEXTS.map(lambda text: text + b" x\n"), min_size=1, max_size=3), rule=RULES)
def test_texts_add_up(name: str, texts: list[bytes], rule: str) -> None:
    tokenizer = model(name)
    parts = [measure(tokenizer, text, 1, rule) for text in texts]
    total = sum(parts, NOTHING)
    assert total == sum(reversed(parts), NOTHING)
    assert total.tokens == sum(part.tokens for part in parts)
    for id_, count in total.id_counts.items():
        assert count == sum(part.id_counts.get(id_, 0) for part in parts)
    # Twice the same says the same, of what does not grow with the text.
    reach = range_of(tokenizer.model)
    once, twice = (_figures(reach, counts, counts) for counts in (total, total + total))
    assert twice.pop("tokens") == 2 * once.pop("tokens")  # type: ignore[operator]
    assert twice == {
        name: figure if isinstance(figure, Undefined) else pytest.approx(figure, abs=1e-12)
        for name, figure in once.items()
    }
