"""Rows of growth: the same work with more text, or with a larger vocabulary; and of texts with
odd shapes. One round each: what counts is how the time grows, not a few percent."""

from __future__ import annotations

from tests.bench.made import SHAPES
from tests.bench.rows import GIGATOKEN, TIKTOKEN, TOKCTL, Contender, Row, Sizes
from tests.bench.work.encoding import encoders
from tests.bench.work.training import GIGATOKENS, OURS, RUSTBPE, SENTENCEPIECES

#: The curves, by the key of their rows: what grows, and what is done.
CURVES = {
    "encode-size": ("bytes", "Encoding, GPT-2's vocabulary"),
    "train-size": ("bytes", "Training BPE, 32,000 ids"),
    "encode-vocab": ("ids", "Encoding, a BPE model of that size"),
    "train-vocab": ("ids", "Training BPE of that size"),
}
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
LONG = 20.0


def rows(sizes: Sizes) -> list[Row]:
    def row(
        key: str, title: str, text: str, contenders: tuple[Contender, ...], at: int, vocab: int
    ) -> Row:
        model = ""
        if key.startswith("encode"):
            model = "bpe" if key == "encode-vocab" else "gpt2"
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
            rounds=1,
            at=at,
        )

    text = f"books@{sizes.growth_text}"
    found = []
    for size in sizes.growth:
        made = f"books@{size}"
        found.append(row("encode-size", "encode, GPT-2", made, ENCODERS, size, sizes.bpe))
        found.append(row("train-size", f"train {sizes.bpe:,}", made, BY_SIZE, size, sizes.bpe))
    for vocab in sizes.growth_vocab:
        found.append(row("encode-vocab", f"encode, {vocab:,}", text, ENCODERS, vocab, vocab))
        found.append(row("train-vocab", f"train {vocab:,}", text, BY_VOCABULARY, vocab, vocab))
    # Curve by curve.
    return sorted(found, key=lambda row: list(CURVES).index(row.key))


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
            timeout=LONG,
        )

    found = []
    for shape in SHAPES:
        size = {"one line": sizes.odd_long, "distinct words": 4 * sizes.odd}.get(shape, sizes.odd)
        found.append(row(shape, f"{shape}@{size}", "gpt2", sizes.bpe))
    # English, and a model that must look for many added tokens in it.
    title = f"{sizes.added:,} added tokens"
    return [*found, row(title, f"english@{sizes.odd}", "added", sizes.added)]
