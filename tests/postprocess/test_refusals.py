"""What post-processing refuses, and what it says."""

from __future__ import annotations

import pytest

from tests.errors import raises_code
from tests.postprocess.peers import SPECIAL_IDS, numbers
from tokctl import TokctlError
from tokctl.model.parts import bert_template as bert
from tokctl.model.parts import roberta_template as roberta
from tokctl.tokenizer.postprocess import (
    Padding,
    PostProcessor,
    Template,
    Truncation,
    pad_batch,
    postprocess,
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": -1}, "invalid value -1 for max_length"),
        ({"max_length": True}, "invalid value True for max_length"),
        ({"max_length": 5, "stride": 1.5}, "invalid value 1.5 for stride"),
        ({"max_length": 5, "strategy": "longest"}, "no strategy of truncation is called 'longest'"),
        ({"max_length": 5, "direction": ["right"]}, "no direction of truncation is called"),
    ],
)
def test_truncations_that_are_none(settings: dict, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        Truncation(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": -1}, "invalid value -1 for the padding's length"),
        ({"multiple_of": 0}, "invalid value 0 for the padding's multiple_of"),
        ({"id": "0"}, "invalid value '0' for the padding's id"),
        ({"type_id": None}, "invalid value None for the padding's type_id"),
        ({"direction": "up"}, "no direction of padding is called 'up'"),
    ],
)
def test_paddings_that_are_none(settings: dict, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        Padding(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("truncation", "pair", "message"),
    [
        (Truncation(1), False, "max_length is 1, and the template alone has 2 tokens"),
        (Truncation(2), True, "max_length is 2, and the template alone has 3 tokens"),
        (Truncation(6, stride=4), False, "the stride 4 is too much for windows of 4 tokens"),
        (Truncation(3, stride=1), True, "the stride 1 is too much for windows of 0 tokens"),
        (Truncation(8, 3, "only-first"), True, "too much for the first text, .* 1 tokens"),
        (Truncation(9, 3), True, "too much for the first text, .* 3 tokens"),
        (Truncation(6, strategy="only-first"), True, "cutting the first text is not enough"),
        (Truncation(6, strategy="only-second"), True, "cutting the second text is not enough"),
        (Truncation(6, strategy="only-second"), False, "there is no second text"),
    ],
)
def test_truncations_that_can_not_be(truncation: Truncation, pair: bool, message: str) -> None:
    second = numbers(4, 200) if pair else None
    with pytest.raises(TokctlError, match=message) as caught:
        postprocess(
            numbers(6), second, parts=[bert()], special_ids=SPECIAL_IDS, truncation=truncation
        )
    assert caught.value.hint


def test_settings_are_refused_whatever_the_text() -> None:
    """Not only once a text comes along that is long enough."""
    with raises_code("conflict"):
        postprocess(numbers(0), parts=[bert()], special_ids=SPECIAL_IDS, truncation=Truncation(1))


def test_padding_without_an_id() -> None:
    with raises_code("unknown-name", r"\[PAD\] is not a special token") as caught:
        pad_batch([numbers(1)], Padding(), {"<s>": 0})
    assert "<s>" in str(caught.value.hint)
    assert pad_batch([], Padding(), SPECIAL_IDS) == []


def test_templates_that_can_not_be() -> None:
    with raises_code("unknown-name"):
        Template.read("[CLS] $A", {"[SEP]": 1})
    with raises_code("unknown-name", r"names \[CLS\], which is not a special token"):
        PostProcessor.of([bert()], {"[SEP]": 1})
    with raises_code("conflict"):
        PostProcessor.of([bert(), bert()], SPECIAL_IDS)
    for token in ("a b", "$A", " a", ""):
        with raises_code("bad-value"):
            roberta(token)


def test_a_token_that_ends_like_a_type_id() -> None:
    part = bert("<x:1>", "[SEP]")
    assert part["single"] == "<x:1> $A [SEP]"
    part = bert("x:1", "y:2")
    read = Template.read(part["pair"], {"x:1": 5, "y:2": 6})
    assert read.wrap_ids([0], [0]) == [5, 0, 6, 0, 6]
    assert read.apply(numbers(1), numbers(1)).type_ids == [0, 0, 0, 1, 1]
