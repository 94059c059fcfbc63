"""Which tokens a text uses: against what `encode` gives, word by word."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain.every import NAMES, TEXT, model
from tests.metrics.models import document
from tokctl import Tokenizer
from tokctl._native import NO_ID
from tokctl.analysis.comparison.measuring import measure
from tokctl.analysis.explain import Segmented, Share, segmented, text_use, token_use
from tokctl.analysis.explain.usage import _words_of
from tokctl.analysis.metrics import range_of
from tokctl.model.encoders import pre_token_encoder
from tokctl.model.presets import BPE_CHARACTERS
from tokctl.sources import Document

FULL = f"{TEXT}<x>New <x> ab<end> Ωω\n☃ the end"


def text_of(tokenizer: Tokenizer, *texts: str, errors: str = "strict") -> list[Segmented]:
    datas = [text.encode() for text in texts]
    documents = [Document("a", None, partial(iter, [data])) for data in datas]
    return segmented(tokenizer, documents, errors)


def uses_of(text: list[Segmented]) -> Counter[int]:
    uses: Counter[int] = Counter()
    for pre_token in text:
        for id_ in pre_token.ids:
            uses[id_] += pre_token.count
    return uses


@pytest.mark.parametrize("name", NAMES)
def test_uses_are_those_of_encode(name: str) -> None:
    tokenizer = model(name)
    text = text_of(tokenizer, FULL, TEXT)
    expected = Counter(tokenizer.encode(FULL).raw_ids) + Counter(tokenizer.encode(TEXT).raw_ids)
    assert uses_of(text) == expected
    found = text_use(tokenizer, text, tokenizer.vocab_size)
    assert found.tokens == sum(expected.values())
    assert found.emittable == range_of(tokenizer.model).emittable == found.used + found.never_count
    assert len(found.never) == found.never_count
    names = {tokenizer.tokens[id_]: count for id_, count in expected.items() if id_ != NO_ID}
    assert dict(found.frequent) == dict(found.rarest) == names
    assert names.keys().isdisjoint(found.never)
    assert [uses for _, uses in found.frequent] == sorted(names.values(), reverse=True)
    assert found.rarest == found.frequent[::-1]


@pytest.mark.few(11)
@pytest.mark.parametrize("name", NAMES)
def test_every_token_of_a_text_and_its_words(name: str) -> None:
    tokenizer = model(name)
    text = text_of(tokenizer, FULL)
    expected = uses_of(text)
    ranked = sorted((count for id_, count in expected.items() if id_ != NO_ID), reverse=True)
    for id_, token in enumerate(tokenizer.tokens):
        use = token_use(tokenizer, id_, text)
        assert use.uses == expected[id_] == sum(word.uses for word in use.words)
        assert (use.used, use.tokens) == (len(ranked), expected.total())
        if use.uses:
            assert use.place == ranked.index(use.uses) + 1
        for word in use.words:
            assert word.uses == word.count * word.tokens.count(token) > 0
        assert [word.uses for word in use.words] == sorted(
            (word.uses for word in use.words), reverse=True
        )


def test_the_words_of_a_whole_text() -> None:
    # Some models take a sentence, or a text, for one pre-token; people read words.
    tokenizer = model("default char")
    text = text_of(tokenizer, "low lower low low\nlow")
    use = token_use(tokenizer, tokenizer.vocabulary["w"], text)
    assert [(word.data, word.count) for word in use.words] == [
        (b" low", 2),
        (b"low", 1),
        (b" lower", 1),
        (b"\nlow", 1),
    ]
    assert use.words[2].tokens == tuple(" lower")


@pytest.mark.parametrize("text", ["low lower low low\nlow", "  low\n\n lower  ", "☃ low☃", " "])
def test_the_words_of_a_text_make_the_text(text: str) -> None:
    recipe = replace(
        BPE_CHARACTERS, pre_tokenizers=(), unk_token="[UNK]", special_tokens=("[UNK]",)
    )
    tokenizer = Tokenizer.train([document("low lower low lowest lo")], vocab_size=30, recipe=recipe)
    (one,) = text_of(tokenizer, text)
    words = list(_words_of(tokenizer, pre_token_encoder(tokenizer.model), one))
    assert b"".join(data for data, _ in words).decode() == text
    assert [id_ for _, ids in words for id_ in ids] == tokenizer.encode(text).raw_ids
    cut = [data for data, _ in words[1:]]
    assert all(data.startswith((b" ", b"\n")) for data in cut)


def test_a_token_that_is_used_twice_in_a_word() -> None:
    tokenizer = model("default char")
    use = token_use(tokenizer, tokenizer.vocabulary["e"], text_of(tokenizer, "were the were"))
    assert [(word.data, word.count, word.uses) for word in use.words] == [
        (b"were", 1, 2),
        (b" were", 1, 2),
        (b" the", 1, 1),
    ]
    assert (use.uses, use.place) == (5, 1)


@given(text=st.text(alphabet="abelnostw  \n.é<x>☃", max_size=80), name=st.sampled_from(NAMES))
def test_shares_add_up(text: str, name: str) -> None:
    tokenizer = model(name)
    found = text_use(tokenizer, text_of(tokenizer, text))
    data = text.encode()
    counts = measure(tokenizer, data, 1)
    assert (found.tokens, found.used) == (counts.tokens, len(counts.id_counts))
    assert found.unknown == counts.unknown
    groups = [found.places, found.contents, found.scripts, found.lengths]
    totals = {
        tuple(map(sum, zip(*((s.tokens, s.used, s.uses) for s in group.values()), strict=True)))
        for group in groups
    }
    assert len(totals) == 1
    for group in groups:
        for share in group.values():  # type: ignore[attr-defined]
            assert 0 <= share.used <= share.tokens
            assert share.used <= share.uses


def test_an_empty_text() -> None:
    found = text_use(model("gpt2"), text_of(model("gpt2"), ""))
    assert (found.tokens, found.used, found.frequent, found.rarest) == (0, 0, (), ())
    assert found.never_count == found.emittable
    assert set(found.scripts) == {"Latin", "none", "pieces of characters"}
    assert all(share == Share(share.tokens, 0, 0) for share in found.scripts.values())
    assert token_use(model("gpt2"), 40, text_of(model("gpt2"), "")).words == ()


def test_text_that_is_not_utf8() -> None:
    documents = [Document("a", None, lambda: iter([b"low \xff"]))]
    for name in ("default unigram", "t5"):
        with raises_code("not-utf8", "is not UTF-8"):
            segmented(model(name), documents)
        assert segmented(model(name), documents, "replace")
    assert uses_of(segmented(model("added tokens"), documents)) == Counter(
        model("added tokens").encode(b"low \xff").raw_ids
    )
