"""Every normalizer and pre-tokenizer that Hugging Face has, one by one, on corpora, declarations
and generated strings: the same text and places. (Decoders, post-processors and added tokens are
compared on generated input by `test_decoders`, `tests/postprocess` and `test_added_tokens`.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("tokenizers")

from tests.exact import test_normalizers as normalizers
from tests.exact import test_pretokenizer_steps as pre_tokenizers
from tests.exact.pipeline_peers import texts
from tests.exact.strings import EXAMPLES, strings


def compare(here: Callable[[str], Any], there: Callable[[str], Any], some: Iterator[str]) -> None:
    number, different = 0, []
    for text in some:
        number += 1
        if here(text) != there(text):
            different.append(text[:300])
    print(f"{number:,} texts, {len(different)} differences")
    assert different[:5] == []


@pytest.mark.few(4)
@pytest.mark.parametrize("name", normalizers.LIBRARY)
def test_normalizers(name: str) -> None:
    """The text of all; the places too, of the strings."""
    parts, make = normalizers.LIBRARY[name]
    component = make()
    compare(
        lambda text: normalizers._native.normalize(parts, text.encode()).decode(),
        component.normalize_str,
        texts(seed=5),
    )
    compare(
        lambda text: normalizers.ours(parts, text)[1],
        lambda text: normalizers.places_there(component, text),
        strings(EXAMPLES // 5, seed=6),
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("name", pre_tokenizers.COMPONENTS)
def test_pre_tokenizers(name: str) -> None:
    parts, component = pre_tokenizers.COMPONENTS[name]
    some = texts(2000, seed=7)
    if name == "scripts":  # of three characters, their table of Unicode 9 has another script
        some = (text.translate({0x589: None, 0x61C: None, 0x1F9D1: None}) for text in some)
    compare(
        lambda text: pre_tokenizers.ours(parts, text),
        lambda text: pre_tokenizers.theirs(component, text),
        some,
    )
