"""What is explained of many documents in one source is what is explained of as many files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain.every import NAMES, model
from tests.many import archive, files, records
from tokctl.analysis.explain import segmented, text_use
from tokctl.analysis.explain.states import count_pre_tokens
from tokctl.analysis.health import Health, check_health

#: Joined they would be other words; `<x>` may be an added token.
PIECES = st.sampled_from(["", "a", "b", "\r", "\n", " ", "new", "est", "<", "x>", "<x>", "low low"])
DOCUMENTS = st.lists(st.tuples(PIECES, st.integers(0, 3)), max_size=9)


#: Of each kind of splitting and of segmentation one, and those with added tokens.
SOME = [name for name in NAMES if name.startswith("default ")]
SOME += ["graphemes", "bpe on characters", "gpt2", "bert", "sentencepiece-unigram", "added tokens"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SOME)
@settings(max_examples=15)
@given(documents=DOCUMENTS)
def test_pre_tokens_and_uses(name: str, documents: list[tuple[str, int]]) -> None:
    tokenizer = model(name)
    texts, counts = [text.encode() for text, _ in documents], [count for _, count in documents]
    plain = count_pre_tokens(tokenizer, files(texts))
    used = segmented(tokenizer, files(texts))
    for source in (records(texts), archive(texts), records(texts, [1] * len(texts))):
        assert count_pre_tokens(tokenizer, [source]) == plain
        assert segmented(tokenizer, [source]) == used
    repeated = [text for text, n in zip(texts, counts, strict=True) for _ in range(n)]
    expected = segmented(tokenizer, files(repeated))
    found = segmented(tokenizer, [records(texts, counts)])
    assert found == expected
    assert text_use(tokenizer, found) == text_use(tokenizer, expected)


def _plain(health: Health) -> dict[str, object]:
    found = health.to_dict()
    if found["texts"]:
        del found["texts"]["names"]
    return found


@pytest.mark.parametrize("name", ["default bpe", "default wordpiece", "added tokens"])
def test_health(name: str) -> None:
    tokenizer = model(name)
    texts = ["low lower", "new", "est", "☃", "<x> wide\nst", "", "new est"]
    data = [text.encode() for text in texts]
    expected = check_health(tokenizer, files(data), limit=None, rare=3)
    for source in (records(data), archive(data), records(data, [1] * len(data))):
        found = check_health(tokenizer, [source], limit=None, rare=3)
        assert _plain(found) == _plain(expected)
        assert found.texts is not None
        assert found.texts.names == (source.name,)
        assert found.texts.documents == len(texts)
    counts = [2, 0, 1, 1, 3, 5, 0]
    repeated = [one for one, n in zip(data, counts, strict=True) for _ in range(n)]
    expected = check_health(tokenizer, files(repeated), limit=None, rare=3)
    found = check_health(tokenizer, [records(data, counts)], limit=None, rare=3)
    assert _plain(found) == _plain(expected)


def test_text_that_is_not_utf8() -> None:
    tokenizer = model("default wordpiece")
    broken = records([b"low", b"ne\xc3", b"\xa9w"], name="a.parquet", unit="row")
    for asked in (count_pre_tokens, segmented, check_health):
        with raises_code("not-utf8", r"^a\.parquet: row 2: line 1, byte 2 is not UTF-8"):
            asked(tokenizer, [broken])
        assert asked(tokenizer, [broken], errors="replace")
