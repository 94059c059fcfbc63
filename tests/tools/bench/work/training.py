"""Rows of training: from a file on disk to a model in memory."""

from __future__ import annotations

from dataclasses import replace

from tests.tools.bench.rows import (
    DOCUMENT,
    GIGATOKEN,
    HF,
    ONE_THREAD,
    SENTENCEPIECE,
    TOKCTL,
    Contender,
    Reported,
    Row,
    Sizes,
    long,
    threads_named,
)

RUSTBPE_RULES = (
    "rustbpe numbers the 256 bytes 0 to 255, GPT-2 and Hugging Face in another order; of pairs "
    "with equal counts both take the lowest ids, so they take different ones"
)
BPEASY_RULES = "bpeasy has a tie rule of its own"
SENTENCEPIECE_RULES = (
    "SentencePiece splits at spaces alone, drops rare characters and merges characters, not bytes"
)
UNIGRAM_RULES = (
    "SentencePiece's EM adds floats of 32 bits and its seed is another, so that other pieces fall "
    "out at the edge; both have the same normalizer, alphabet and splitting"
)
HASH_ORDER = (
    "Hugging Face numbers the `##` characters in the order of a hash table, so that ties fall "
    "out differently: both vocabularies are right"
)

OURS = Contender(TOKCTL, "tokctl_", "train_bpe")
RUSTBPE = Contender("rustbpe", "rustbpe_", "train_bpe", RUSTBPE_RULES)
GIGATOKENS = Contender(GIGATOKEN, "gigatoken_", "train_bpe")
SENTENCEPIECES = Contender(SENTENCEPIECE, "sentencepiece_", "train_bpe", SENTENCEPIECE_RULES)
HUGGING_FACES = Contender(HF, "huggingface", "train_bpe")
TRAIN_BPE = (
    OURS,
    HUGGING_FACES,
    RUSTBPE,
    SENTENCEPIECES,
    GIGATOKENS,
    Contender("bpeasy", "bpeasy_", "train_bpe", BPEASY_RULES),
)
TRAIN_WORDPIECE = (
    Contender(TOKCTL, "tokctl_", "train_wordpiece", HASH_ORDER),
    Contender(HF, "huggingface", "train_wordpiece", HASH_ORDER),
)
TRAIN_UNIGRAM = (
    Contender(TOKCTL, "tokctl_", "train_unigram", UNIGRAM_RULES),
    Contender(SENTENCEPIECE, "sentencepiece_", "train_unigram", UNIGRAM_RULES),
)
COUNT = Contender(TOKCTL, "tokctl_", "count")


def beside_one_thread(contenders: tuple[Contender, ...]) -> tuple[Contender, ...]:
    """With tokctl on one thread, for what its others gain."""
    ours, *others = contenders
    return ours, replace(ours, name=ONE_THREAD, threads=1), *others


def rows(sizes: Sizes) -> list[Row]:
    def row(title: str, text: str, contenders: tuple[Contender, ...], **more: object) -> Row:
        return Row("training", title, text, contenders, **more)  # type: ignore[arg-type]

    two, bpe = threads_named(2), f"byte-level BPE {sizes.bpe:,}"
    code = long("code", sizes.code)
    larger = f"byte-level BPE {sizes.code_vocab:,}, {two}"
    return [
        row(f"{bpe}, 1 thread", "books", TRAIN_BPE, key="train-bpe", vocab=sizes.bpe),
        row(
            f"{bpe}, {two}",
            "books",
            beside_one_thread(TRAIN_BPE),
            key="train-bpe-2",
            vocab=sizes.bpe,
            threads=2,
        ),
        row(
            larger,
            code,
            beside_one_thread((OURS, HUGGING_FACES, GIGATOKENS, RUSTBPE)),
            key="train-code",
            vocab=sizes.code_vocab,
            threads=2,
            rounds=1,
        ),
        row(
            f"count pre-tokens, {two}",
            code,
            beside_one_thread((COUNT,)),
            key="count",
            threads=2,
            vocab=1,
            reference=ONE_THREAD,
        ),
        row(
            f"WordPiece by count {sizes.wordpiece:,}",
            "books",
            TRAIN_WORDPIECE,
            key="train-wordpiece",
            vocab=sizes.wordpiece,
        ),
        *(
            row(
                f"Unigram {size:,}",
                "books",
                TRAIN_UNIGRAM,
                key="train-unigram",
                vocab=size,
                score=True,
            )
            for size in sizes.unigram
        ),
        *_notebooks(sizes),
        row(
            "byte-level BPE 512, letters without a space",
            f"dna@{sizes.dna}",
            (OURS, RUSTBPE),
            key="train-dna",
            vocab=512,
            rounds=2,
        ),
    ]


def _notebooks(sizes: Sizes) -> list[Row]:
    # As the notebooks print them: 15 minutes 31 and 4 minutes 16.
    asked = (
        ("WordPiece by likelihood", "wordpiece", sizes.notebook_wordpiece, 931.0),
        ("the notebook's BPE", "bpe", sizes.notebook_bpe, 256.0),
    )
    return [
        Row(
            "training",
            f"{title} {vocab:,}",
            "treasure-island",
            (Contender(TOKCTL, "tokctl_", f"train_notebook_{name}"),),
            key=f"train-notebook-{name}",
            vocab=vocab,
            reported=Reported(seconds, DOCUMENT, "another machine", same_work=True),
        )
        for title, name, vocab, seconds in asked
    ]
