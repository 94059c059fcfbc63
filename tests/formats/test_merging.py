"""Merges and ranks turned into one another: the same ids, or a reason why not."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tokctl import Tokenizer, formats
from tokctl.formats import UnsupportedByFormat, merging
from tokctl.model import Model, byte_level
from tokctl.model.parts import AddedToken
from tokctl.model.presets import preset


def ranked(tokens: list[bytes]) -> Model:
    """A byte-level model segmented by ranks: the bytes, then these tokens."""
    recipe = replace(
        preset("gpt2"),
        pre_tokenizers=(),
        tie_break="lowest-id",
        segmentation="ranks",
        whole_words=True,
        special_tokens=(),
        post_processors=(),
    )
    return Model(recipe, [*byte_level.IN_ID_ORDER, *dict.fromkeys(tokens)])


words = st.text("ab", min_size=2, max_size=6).map(str.encode)


@given(
    st.lists(words, max_size=25), st.lists(st.text("abc", max_size=40), max_size=8), st.booleans()
)
def test_ranks_as_merges(tokens: list[bytes], texts: list[str], by_length: bool) -> None:
    """Also where tokens can be made in several ways, or in none."""
    model = ranked(sorted(tokens, key=len) if by_length else tokens)
    ours = Tokenizer(model)
    merged = Tokenizer(merging.with_merges(model))
    theirs = hf.Tokenizer.from_str(formats.write(model, "huggingface")[""].decode())
    for text in texts:
        ids = ours.encode_ids(text)
        assert merged.encode_ids(text) == ids
        assert theirs.encode(text).ids == ids


def test_a_token_that_later_ones_make() -> None:
    """With `aaa` before `aa`, `aaaa` is `aaa a`: the second merge makes the first one possible."""
    model = ranked([b"aaa", b"aa"])
    assert Tokenizer(model).encode("aaaa").tokens == ["aaa", "a"]
    assert [merge[:3] for merge in merging.with_merges(model).merges] == [
        (257, 64, 256),
        (64, 64, 257),
    ]


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=7), st.integers(1, 9), min_size=1),
    st.lists(st.text("abc", max_size=40), max_size=8),
    st.booleans(),
)
def test_merges_as_ranks(counts: dict[str, int], texts: list[str], scored: bool) -> None:
    """What training learns is the same by ranks, wherever `by_ranks` does not refuse."""
    ours = Tokenizer.train(counts, vocab_size=300)
    again = Tokenizer(merging.with_ranks(ours.model, scored=scored))
    for text in [*texts, *counts]:
        assert again.encode_ids(text) == ours.encode_ids(text)


def test_what_ranks_would_do_otherwise_is_refused() -> None:
    ours = Tokenizer.train({"ab": 2, "abc": 3}, vocab_size=259).model
    assert ours.spelled[-2:] == ["ab", "abc"]
    turned = replace(ours, merges=ours.merges[:1])
    with pytest.raises(UnsupportedByFormat, match="by ranks 'ab' and 'c' make 'abc'"):
        merging.with_ranks(turned, scored=False)
    late = Tokenizer.train({"ab": 2, "cd": 3}, vocab_size=259).model
    turned = replace(late, merges=late.merges[::-1])
    with pytest.raises(UnsupportedByFormat, match="merge 1 makes 'ab'"):
        merging.with_ranks(turned, scored=False)
    assert merging.with_ranks(turned, scored=True).scores[-2:] == [-1.0, 0.0]


def test_merges_of_special_tokens_are_refused() -> None:
    """Merges make a special token of ordinary text, too; ranks never do."""
    ours = Tokenizer.train({"ab": 2}, vocab_size=258).model
    at = ours.tokens.index(b"ab")
    recipe = ours.recipe.with_special_tokens(["ab"])
    special = replace(ours, recipe=recipe, added_tokens=(*ours.added, AddedToken("ab", at)))
    assert Tokenizer(special).encode_ids("ab") == [at]
    with pytest.raises(UnsupportedByFormat, match="merge 1 takes or makes the special token 'ab'"):
        formats.losses(special, "tiktoken")
    for scored in (False, True):
        with pytest.raises(UnsupportedByFormat, match="the special token 'ab'"):
            merging.with_ranks(special, scored=scored)


def test_gpt2_as_ranks_is_the_file_that_openai_publishes() -> None:
    model = formats.load(shared_file("vocab/gpt2.tokenizer.json"))
    ranks = merging.with_ranks(model, scored=False)
    tokens = [
        (token, id_) for id_, token in enumerate(ranks.tokens) if id_ not in ranks.reserved_ids
    ]
    data = b"".join(base64.b64encode(token) + b" %d\n" % id_ for token, id_ in tokens)
    found = hashlib.sha256(data).hexdigest()
    assert found == "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


@pytest.mark.slow
def test_cl100k_loads_in_hugging_face() -> None:
    model = formats.load(shared_file("vocab/cl100k_base.tiktoken"))
    written = formats.write(model, "huggingface")[""]
    assert "tokctl" not in json.loads(written)["model"]
    theirs = hf.Tokenizer.from_str(written.decode())
    text = shared_file("corpora/multilingual.txt").read_bytes()[:200_000].decode("utf-8", "ignore")
    ids = Tokenizer(model).encode_ids(text)
    assert theirs.encode(text).ids == ids
    assert Tokenizer(formats.parse(written, "x")).encode_ids(text) == ids


def test_a_merge_of_a_special_token_that_is_not_spelled_in_stand_ins() -> None:
    """A byte-level file spells the special token ` x` as it is, and the merge makes `Ġx`."""
    ours = Tokenizer.train({" x": 2}, vocab_size=258).model
    at = ours.tokens.index(b" x")
    recipe = ours.recipe.with_special_tokens([" x"])
    special = replace(ours, recipe=recipe, added_tokens=(*ours.added, AddedToken(" x", at)))
    again = formats.parse(formats.serialize(special), "x")
    assert Tokenizer(again).encode_ids("a x") == Tokenizer(special).encode_ids("a x")
    with pytest.raises(UnsupportedByFormat, match="by their spelling"):
        formats.losses(special, "huggingface")


def test_a_merge_of_a_special_token_behind_all_others() -> None:
    """It stands in the model's own vocabulary, as the merge needs it."""
    ours = Tokenizer.train({"ab": 2}, vocab_size=258).model
    at = ours.tokens.index(b"ab")
    assert at == len(ours.tokens) - 1
    recipe = ours.recipe.with_special_tokens(["ab"])
    special = replace(ours, recipe=recipe, added_tokens=(*ours.added, AddedToken("ab", at)))
    for name in ("tokctl", "huggingface"):
        written = formats.write(special, name)[""]
        ids = Tokenizer(special).encode_ids("xab")
        assert ids[1:] == [at]
        assert Tokenizer(formats.parse(written, "x")).encode_ids("xab") == ids
        theirs = hf.Tokenizer.from_str(written.decode())
        theirs.encode_special_tokens = True
        assert theirs.encode("xab", add_special_tokens=False).ids == ids
