"""Rows of encoding: from a text in memory to ids in memory."""

from __future__ import annotations

from tests.tools.bench.rows import (
    BOTH,
    ENGLISH,
    GIGATOKEN,
    HF,
    PIECES,
    SCRIPTS,
    SENTENCEPIECE,
    TIKTOKEN,
    TOKCTL,
    Contender,
    Row,
    Sizes,
    long,
    threads_named,
)
from tests.tools.bench.texts import CL100K
from tests.tools.bench.work.training import beside_one_thread


def encoders(task: str, hugging_face: str = "encode_list") -> dict[str, Contender]:
    """Everybody, by the module's name, with one task."""
    return {
        "tokctl": Contender(TOKCTL, "tokctl_", task),
        "gigatoken": Contender(GIGATOKEN, "gigatoken_", task),
        "fastokens": Contender("fastokens", "fastokens_", task),
        "splintr": Contender("splintr", "splintr_", task),
        "tokie": Contender("tokie", "tokie_", task),
        "kitoken": Contender("kitoken", "kitoken_", task),
        "quicktok": Contender("quicktok", "quicktok_", task),
        "iree": Contender("iree", "iree_", task),
        "wordchipper": Contender("wordchipper", "wordchipper_", task),
        "tiktoken": Contender(TIKTOKEN, "tiktoken_", task),
        "hf": Contender(HF, "huggingface", hugging_face),
    }


def some(task: str, names: str, hugging_face: str = "encode_list") -> tuple[Contender, ...]:
    known = encoders(task, hugging_face)
    return tuple(known[name] for name in names.split())


ALL = "tokctl gigatoken fastokens splintr tokie tiktoken hf"
LIST = some("encode_list", ALL)
TEXTS = some("encode_texts", ALL, "encode_texts")
#: tiktoken is left out: it reads no file like ours, and its reader of ranks takes no pattern.
LOAD = some("load", "tokctl gigatoken fastokens splintr tokie hf kitoken iree", "load")
SHORT = (
    Contender(TOKCTL, "tokctl_", "encode_short_texts"),
    Contender(PIECES, "tokctl_", "encode_texts"),
)
CL100KS = (
    Contender(TOKCTL, "tokctl_", "encode_array"),
    *(
        Contender(contender.name, contender.peer, "encode_cl100k")
        for contender in some("", "gigatoken fastokens splintr quicktok wordchipper tiktoken")
    ),
    Contender("tokie", "tokie_", "encode_array"),
)
OVER_WORDS = some("encode_array", "tokctl hf")
WORDPIECES = some("encode_array", "tokctl splintr tokie hf", "encode_wordpiece")
UNIGRAMS = some("encode_array", "tokctl splintr tokie hf")
LINES = (
    *some("encode_lines", "tokctl splintr tokie hf", "encode_lines"),
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
            row(
                f"load, then one letter, {name}",
                "line",
                model,
                LOAD,
                key="load",
                passes=("first",),
                again=0,
                vocab=sizes.scale_vocab if model == "o200k" else sizes.bpe,
            )
            for model, name in (("gpt2", "r50k"), ("o200k", "o200k"))
        ),
        row("GPT-2, ids in a list", "books", "gpt2", LIST),
        row(
            "GPT-2, texts of 100 bytes",
            long(ENGLISH, sizes.short),
            "gpt2",
            SHORT,
            key="short",
            reference=TOKCTL,
        ),
        row(
            f"GPT-2, many texts, {two}",
            "books",
            "gpt2",
            beside_one_thread(TEXTS),
            key="encode-many-2",
            threads=2,
        ),
        *(
            row("cl100k, ids in an array", text, "cl100k", CL100KS, reference=TIKTOKEN, vocab=0)
            for text in sizes.texts[:2]
            if CL100K.exists()
        ),
        row("BPE of whole lines", "books", "lines", OVER_WORDS, key="encode-lines"),
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
        *(
            row(
                f"SentencePiece's {name}, line by line",
                text,
                f"sentencepiece-{name.lower()}{of}",
                contenders,
                key="encode-sentencepiece",
                vocab=small,
                reference=SENTENCEPIECE,
            )
            for text, of in (("books", ""), (long(SCRIPTS, sizes.lines), "-scripts"))
            for name, contenders in (("Unigram", LINES), ("BPE", BPE_LINES))
        ),
    ]
