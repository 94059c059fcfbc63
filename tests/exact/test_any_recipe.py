"""Recipes put together at random: what holds for every tokenizer holds for these, and what their
model file promises Hugging Face is kept there: ids, places and decoded text."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tokctl import Recipe, TokctlError, Tokenizer, default_recipe, formats
from tokctl.model import ALGORITHMS
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS

#: Values of the kinds that want one, or have several behaviours.
VALUES = {
    "prepend": ["_", "▁ "],
    "replace": ["a=>b", "e=>", " =>_", ",=> , "],
    "metaspace": ["always", "first", "never"],
    "punctuation": [
        "isolated",
        "removed",
        "merged-with-previous",
        "merged-with-next",
        "contiguous",
    ],
    "digit-groups": ["1", "3"],
    "digit-cuts": ["1", "3"],
    "fixed": ["1", "3"],
    "delimiter": ["-", "a"],
    "split": ["a", "[a-c]+", "  "],
}
#: It holds a table that another format wrote.
FOREIGN = {"precompiled"}
#: Written to that format as other parts, which text composed in part shows: see test_normalizers.
APPROXIMATE = {"nmt_nfkc", "sp_nfkc"}

ALPHABET = (
    "aabbcde  \n\tABCé日本語한글ßﬁİ\u0301\ufe0f\u200d👩👧😀\u0627\0\u202e123.,!?'\u2019-_▁#</w>"
)
texts = st.text(st.sampled_from(ALPHABET), max_size=40)


def parts(kinds: dict[str, object]) -> st.SearchStrategy[list[str]]:
    def written(kind: str) -> st.SearchStrategy[str]:
        values = [f"{kind}:{value}" for value in VALUES.get(kind, [])]
        return st.sampled_from(values or [kind])

    kind = st.sampled_from(sorted(kinds.keys() - FOREIGN)).flatmap(written)
    return st.lists(kind, max_size=2)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe | None:
    """A recipe; None where the parts do not fit together, which is said with a hint."""
    base = default_recipe(draw(st.sampled_from(tuple(ALGORITHMS))))
    changes: dict[str, object] = {
        "normalizers": draw(parts(NORMALIZERS.kinds)),
        "pre_tokenizers": draw(parts(PRE_TOKENIZERS.kinds)),
        "decoders": (),
    }
    if base.algorithm in ("bpe", "unigram") and draw(st.booleans()):
        changes |= {"units": "characters", "alphabet": "seen"}
        changes |= {"byte_fallback": draw(st.booleans()), "fuse_unknown": draw(st.booleans())}
    try:
        return replace(base, **changes)  # type: ignore[arg-type]
    except TokctlError as error:
        assert error.hint
        return None


def trained(recipe: Recipe, text: str, threads: int) -> Tokenizer | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        path.write_text(text, encoding="utf-8", newline="")
        try:
            return Tokenizer.train([path], recipe=recipe, vocab_size=400, threads=threads)
        except TokctlError as error:
            assert error.hint
            return None


@settings(max_examples=4 * settings.get_profile("tokctl").max_examples)
@given(recipe=recipes(), corpus=st.text(st.sampled_from(ALPHABET), max_size=400), text=texts)
def test_what_holds_for_every_recipe(recipe: Recipe | None, corpus: str, text: str) -> None:
    if recipe is None or (tokenizer := trained(recipe, corpus, 1)) is None:
        return
    again = trained(recipe, corpus, 2)
    assert again is not None
    data = formats.serialize(tokenizer.model)
    assert formats.serialize(again.model) == data
    read = Tokenizer(formats.parse(data, "model"))
    assert read.model == tokenizer.model
    try:
        ids = tokenizer.encode_ids(text)
    except TokctlError as error:
        with pytest.raises(TokctlError):
            read.encode_ids(text)
        assert "no unknown token" in error.message
        return
    encoding = tokenizer.encode(text)
    assert encoding.ids == ids == read.encode_ids(text)
    assert all(0 <= start <= end <= len(text) for start, end in encoding.offsets)
    whole = tokenizer.decode(ids, errors="replace")
    stream = tokenizer.decode_stream()
    assert "".join([*map(stream.push, ids), stream.finish()]) == whole
    if tokenizer.obstacle is None and not APPROXIMATE & {part.kind for part in recipe.normalizers}:
        same_there(tokenizer, data, text)


def same_there(tokenizer: Tokenizer, data: bytes, text: str) -> None:
    there = tokenizers.Tokenizer.from_str(data.decode())
    there.encode_special_tokens = True  # Their spelling is ordinary text here, unless allowed.
    expected = there.encode(text, add_special_tokens=False)
    found = tokenizer.encode(text)
    assert found.ids == expected.ids
    if not (tokenizer.recipe.algorithm == "unigram" and tokenizer.recipe.byte_fallback):
        # There all bytes of an unknown stretch have the place of the whole.
        assert found.offsets == expected.offsets
    decoded = there.decode(expected.ids, skip_special_tokens=False)
    assert tokenizer.decode(found.ids, errors="replace") == decoded
