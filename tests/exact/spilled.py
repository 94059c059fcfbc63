"""Texts, sources and recipes for counting within a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tokctl import training
from tokctl.model import Recipe
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS
from tokctl.model.presets import BPE, BPE_CHARACTERS
from tokctl.sources import Archive, Batch, Document, Records, Source
from tokctl.training import TextStats, TrainOptions

BYTES = BPE
#: Recipes that count in all ways: scanners, a rewriting one, patterns, normalizers.
RECIPES = {
    "gpt2": BYTES,
    "whole": replace(BYTES, pre_tokenizers=PRE_TOKENIZERS.steps("none")),
    "pattern": replace(BYTES, pre_tokenizers=PRE_TOKENIZERS.steps(r"regex:\w+|\s")),
    "words": replace(BPE_CHARACTERS, pre_tokenizers=PRE_TOKENIZERS.steps("whitespace")),
    "metaspace": replace(BPE_CHARACTERS, pre_tokenizers=PRE_TOKENIZERS.steps("metaspace")),
    "normalized": replace(BPE_CHARACTERS, normalizers=NORMALIZERS.steps(["nfkc", "lowercase"])),
}

#: Few letters: the same words again and again, many seen equally often.
tied = st.text(alphabet="ab \n", max_size=60).map(str.encode)
multilingual = st.text(alphabet="aé東京🙂ß שЖ\u0301\n", max_size=40).map(str.encode)
anything = st.binary(max_size=50)
long = st.builds(lambda word, times: word * times, st.sampled_from([b"x", b"ab ", b"\xff"]),
                 st.integers(1, 400))  # fmt: skip
texts = st.lists(st.one_of(tied, multilingual, anything, long), max_size=12)


def document(name: str, text: bytes, block: int = 7) -> Document:
    blocks = [text[at : at + block] for at in range(0, len(text), block)]
    return Document(name, len(text), lambda: iter(blocks))


def records(
    name: str, given: Sequence[bytes], counts: Sequence[int] | None = None, batch: int = 3
) -> Records:
    def batches() -> Iterator[Batch]:
        for at in range(0, len(given), batch):
            some = None if counts is None else counts[at : at + batch]
            yield Batch(given[at : at + batch], some, at + 1)

    return Records(name, None, batches, lambda: 0)


def archive(name: str, members: Sequence[Document | Records]) -> Archive:
    return Archive(name, None, lambda: iter(members), lambda: 0)


def counted(
    sources: Sequence[Source], recipe: Recipe = BYTES, **options: Any
) -> tuple[list[tuple[bytes, int]], TextStats]:
    """The counts in their order, and what was read."""
    counts, read = training.count(
        sources, recipe, TrainOptions(vocab_size=300, errors="replace", **options)
    )
    return counts.items(), read
