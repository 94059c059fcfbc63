"""Rows of growth: the same training with more text, the same work with a larger vocabulary, and
texts with odd shapes. What takes long has one round: what counts is how the time grows, not a few
percent. Encoding as the text grows has rows of its own, in `scale`."""

from __future__ import annotations

from typing import NamedTuple

from tests.tools.bench.made import SHAPES
from tests.tools.bench.rows import (
    ENGLISH,
    GIGATOKEN,
    LONG,
    TIKTOKEN,
    TOKCTL,
    Contender,
    Row,
    Sizes,
    long,
)
from tests.tools.bench.work import scale
from tests.tools.bench.work.encoding import encoders
from tests.tools.bench.work.training import GIGATOKENS, OURS, RUSTBPE, SENTENCEPIECES


class Curve(NamedTuple):
    """key, pass_: of the rows. unit: what grows."""

    key: str
    pass_: str
    unit: str
    title: str


CURVES = (
    *(
        Curve(scale.key(model, "bytes", 1), pass_, "bytes", f"Encoding, {name}, {said}")
        for model, name in scale.VOCABULARIES.items()
        for pass_, said in (("first", "first pass"), ("again", "again"))
    ),
    Curve("train-size", "first", "bytes", "Training BPE, 32,000 ids"),
    Curve("train-vocab", "first", "ids", "Training BPE of that size"),
    Curve("encode-vocab", "first", "ids", "Encoding, a BPE model of that size"),
)
ENCODERS = tuple(
    encoders("encode_array")[name] for name in ("tokctl", "gigatoken", "fastokens", "splintr")
)
BY_SIZE = (OURS, GIGATOKENS, RUSTBPE)
BY_VOCABULARY = (OURS, RUSTBPE, SENTENCEPIECES)
ODD = (
    Contender(TOKCTL, "tokctl_", "encode_array"),
    Contender(GIGATOKEN, "gigatoken_", "encode_array"),
    Contender(TIKTOKEN, "tiktoken_", "encode_array"),
)
ADDED = (*ODD[:2], encoders("encode_array")["fastokens"])
#: An odd shape that takes longer than this has shown what it had to, in seconds.
TOO_LONG = 20.0


def rows(sizes: Sizes) -> list[Row]:
    def row(
        key: str, title: str, text: str, contenders: tuple[Contender, ...], at: int, vocab: int
    ) -> Row:
        model = "bpe" if key == "encode-vocab" else ""
        return Row(
            "growth",
            title,
            text,
            contenders,
            key=key,
            vocab=vocab,
            model=model,
            # Where pairs run out, gigatoken's merges go on: it can't say whose are right.
            reference=GIGATOKEN if model else TOKCTL,
            rounds=3 if model else 1,
            at=at,
            timeout=300.0,
        )

    found = []
    for kind in LONG:
        for size in sizes.scale:
            # With a gigabyte, those that take minutes are left out.
            contenders = BY_SIZE if size <= 10**8 else BY_SIZE[:2]
            title = f"train {sizes.bpe:,}"
            found.append(row("train-size", title, long(kind, size), contenders, size, sizes.bpe))
    text = long(ENGLISH, sizes.lines)
    for vocab in sizes.growth_vocab:
        found.append(row("train-vocab", f"train {vocab:,}", text, BY_VOCABULARY, vocab, vocab))
    for vocab in sizes.growth_vocab:
        found.append(row("encode-vocab", f"encode, {vocab:,}", text, ENCODERS, vocab, vocab))
    return found


def odd_rows(sizes: Sizes) -> list[Row]:
    def row(title: str, text: str, model: str, vocab: int) -> Row:
        return Row(
            "odd",
            title,
            text,
            ADDED if model == "added" else ODD,
            key="odd",
            vocab=vocab,
            model=model,
            reference=TIKTOKEN if model == "gpt2" else GIGATOKEN,
            rounds=1,
            timeout=TOO_LONG,
        )

    found = []
    for shape in SHAPES:
        size = {"one line": sizes.odd_long, "distinct words": 4 * sizes.odd}.get(shape, sizes.odd)
        found.append(row(shape, f"{shape}@{size}", "gpt2", sizes.bpe))
    # English, and a model that must look for many added tokens in it.
    title = f"{sizes.added:,} added tokens"
    return [*found, row(title, f"english@{sizes.odd}", "added", sizes.added)]
