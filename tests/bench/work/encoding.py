"""Rows of encoding: from a text in memory to ids in memory."""

from __future__ import annotations

from tests.bench.rows import (
    BOTH,
    GIGATOKEN,
    HF,
    SENTENCEPIECE,
    TIKTOKEN,
    TOKCTL,
    Contender,
    Row,
    Sizes,
    threads_named,
)
from tests.bench.texts import CL100K
from tests.bench.work.training import beside_one_thread


def encoders(task: str, hugging_face: str = "encode_list") -> dict[str, Contender]:
    """Everybody, by the module's name, with one task."""
    return {
        "tokctl": Contender(TOKCTL, "tokctl_", task),
        "gigatoken": Contender(GIGATOKEN, "gigatoken_", task),
        "fastokens": Contender("fastokens", "fastokens_", task),
        "splintr": Contender("splintr", "splintr_", task),
        "tokie": Contender("tokie", "tokie_", task),
        "tiktoken": Contender(TIKTOKEN, "tiktoken_", task),
        "hf": Contender(HF, "huggingface", hugging_face),
    }


def _some(task: str, names: str, hugging_face: str = "encode_list") -> tuple[Contender, ...]:
    known = encoders(task, hugging_face)
    return tuple(known[name] for name in names.split())


ALL = "tokctl gigatoken fastokens splintr tokie tiktoken hf"
ARRAY = _some("encode_array", ALL)
LIST = _some("encode_list", ALL)
TEXTS = _some("encode_texts", ALL, "encode_texts")
CL100KS = (
    Contender(TOKCTL, "tokctl_", "encode_array"),
    *(
        Contender(contender.name, contender.peer, "encode_cl100k")
        for contender in _some("", "gigatoken fastokens splintr tiktoken")
    ),
    Contender("tokie", "tokie_", "encode_array"),
)
O200KS = (
    *_some("encode_array", "tokctl gigatoken fastokens splintr tokie"),
    Contender(TIKTOKEN, "tiktoken_", "encode_o200k"),
)
WORDPIECES = _some("encode_array", "tokctl splintr tokie hf", "encode_wordpiece")
UNIGRAMS = _some("encode_array", "tokctl splintr tokie hf")
LINES = (
    *_some("encode_lines", "tokctl splintr tokie hf", "encode_lines"),
    Contender(SENTENCEPIECE, "sentencepiece_", "encode_lines"),
)
BPE_LINES = (*LINES, Contender(GIGATOKEN, "gigatoken_", "encode_lines"))


def rows(sizes: Sizes) -> list[Row]:
    def row(
        title: str, text: str, model: str, contenders: tuple[Contender, ...], **more: object
    ) -> Row:
        shape = {"passes": BOTH, "again": 3, "vocab": sizes.bpe, **more}
        return Row("encoding", title, text, contenders, model=model, **shape)  # type: ignore[arg-type]

    small, large = sizes.unigram
    two = threads_named(2)
    return [
        *(
            row("GPT-2, ids in an array", text, "gpt2", ARRAY, key="encode-gpt2")
            for text in sizes.texts
        ),
        row("GPT-2, ids in a list", "books", "gpt2", LIST),
        row(
            f"GPT-2, one text, {two}",
            "books",
            "gpt2",
            beside_one_thread(tuple(c for c in ARRAY if c.name != HF)),
            key="encode-one-2",
            threads=2,
            reference=TIKTOKEN,
        ),
        row(
            f"GPT-2, many texts, {two}",
            "books",
            "gpt2",
            beside_one_thread(TEXTS),
            key="encode-many-2",
            threads=2,
        ),
        row(
            "GPT-2, two processes, a text each",
            "books",
            "gpt2",
            (
                Contender(TOKCTL, "tokctl_", "encode_at_once"),
                Contender("tokctl, one process", "tokctl_", "encode_twice"),
            ),
            threads=2,
        ),
        *(
            row("cl100k, ids in an array", text, "cl100k", CL100KS, reference=TIKTOKEN, vocab=0)
            for text in sizes.texts[:2]
            if CL100K.exists()
        ),
        row("o200k's pattern", "books", "o200k", O200KS, reference=TIKTOKEN),
        row(
            "WordPiece, BERT uncased",
            "books",
            "bert",
            WORDPIECES,
            key="encode-wordpiece",
            vocab=sizes.wordpiece,
        ),
        row("WordPiece, cased", "books", "wordpiece", WORDPIECES, vocab=sizes.wordpiece),
        row(f"Unigram {large:,}", "books", "unigram", UNIGRAMS, key="encode-unigram", vocab=large),
        row(
            "SentencePiece's Unigram, line by line",
            "books",
            "sentencepiece-unigram",
            LINES,
            key="encode-unigram",
            vocab=small,
            reference=SENTENCEPIECE,
        ),
        row(
            "SentencePiece's BPE, line by line",
            "books",
            "sentencepiece-bpe",
            BPE_LINES,
            vocab=small,
            reference=SENTENCEPIECE,
        ),
    ]
