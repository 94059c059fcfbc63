"""`Metaspace` with `first`: a text begins only where its normalizers have left its start."""

from __future__ import annotations

import json
from functools import cache

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tokctl import Tokenizer, formats

NORMALIZERS = {
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "accents": {"type": "StripAccents"},
    "a text for nothing": {"type": "Replace", "pattern": {"String": "x"}, "content": ""},
    "a text for another": {"type": "Replace", "pattern": {"String": "x"}, "content": "a"},
    "a text in front": {"type": "Prepend", "prepend": "x"},
    "control characters": {"type": "Nmt"},
    "NFKD": {"type": "NFKD"},
    "lower case": {"type": "Lowercase"},
    "more for one": {"type": "Replace", "pattern": {"Regex": "^[ax]"}, "content": "a x"},
    "none": None,
}


def in_sequence(steps: list[dict[str, object]]) -> dict[str, object]:
    return {"type": "Sequence", "pretokenizers": steps}


@cache
def both(name: str, split: str = "", *, normalized: bool) -> tuple[hf.Tokenizer, Tokenizer]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    vocabulary = ["<unk>", "▁", "▁a", "▁x", "a", "b", "x", "é", "e"]
    document = {
        "version": "1.0",
        "added_tokens": [
            {"id": 9, "content": "<s>", "special": True, **flags},
            {"id": 4, "content": "a", "special": False, **flags},
        ],
        "normalizer": NORMALIZERS[name],
        "pre_tokenizer": in_sequence([{"type": split}] * bool(split) + [metaspace]),
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [[token, -2.5] for token in vocabulary],
            "byte_fallback": False,
        },
    }
    text = json.dumps(document)
    return hf.Tokenizer.from_str(text), Tokenizer(formats.parse(text.encode(), "theirs.json"))


@pytest.mark.few(2)
@pytest.mark.parametrize("split", ["", "UnicodeScripts", "Whitespace", "BertPreTokenizer"])
@pytest.mark.parametrize("name", NORMALIZERS)
@given(
    st.lists(st.sampled_from([*"  abxéİ¨\uff41⒜\u0301\x01\u3000", "<s>"]), max_size=12).map(
        "".join
    ),
    st.booleans(),
)
def test_first(name: str, split: str, text: str, normalized: bool) -> None:
    """Splitting may make several pieces of what the first character became: each of them is one."""
    there, here = both(name, split, normalized=normalized)
    expected = there.encode(text)
    assert here.encode_ids(text, special="all") == expected.ids
    assert here.encode(text, special="all").ids == expected.ids


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("split", ["", "Whitespace"])
@pytest.mark.parametrize("start", ["", " ", "x", " " * 40_000, "x" * 40_000 + " "], ids=len)
def test_long_texts(name: str, split: str, start: str) -> None:
    there, here = both(name, split, normalized=False)
    text = start + "ab xé " * 20_000
    (expected,) = (found.ids for found in there.encode_batch_fast([text]))
    for threads in (1, 2):
        assert here.encode_ids([text], threads=threads) == [expected]
        assert list(here.encode_array(text, threads=threads)) == expected
