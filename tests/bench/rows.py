"""What is measured: each row is one piece of work that several contenders do."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.texts import CL100K

TOKCTL = "tokctl"
HF = "HF tokenizers"
SENTENCEPIECE = "sentencepiece"


@dataclass(frozen=True)
class Contender:
    """peer, task: see `Job`. own_rules: why its result can't be ours; empty where it must be."""

    name: str
    peer: str
    task: str
    own_rules: str = ""


@dataclass(frozen=True)
class Row:
    """One piece of work.

    Attributes:
        section: `training`, `encoding`, `decoding` or `processes`.
        passes: which passes are shown: `first`, `again`, or both.
        again: passes behind the first in one process.
        model: for encoding and decoding: one of `tests.bench.texts.MODELS`.
        reference: the contender whose digest is the right one; ours where it is missing.
        document: seconds that the document behind the project prints for this work.
    """

    section: str
    title: str
    text: str
    contenders: tuple[Contender, ...]
    passes: tuple[str, ...] = ("first",)
    again: int = 0
    threads: int = 1
    vocab: int = 0
    model: str = ""
    reference: str = HF
    document: float | None = None


@dataclass(frozen=True)
class Sizes:
    """Vocabulary sizes."""

    bpe: int = 32_000
    wordpiece: int = 20_000
    unigram: tuple[int, int] = (8_000, 32_000)
    notebook_bpe: int = 10_000
    notebook_wordpiece: int = 20_000


QUICK = Sizes(bpe=4_000, wordpiece=4_000, unigram=(2_000, 4_000))

RUSTBPE_RULES = (
    "rustbpe numbers the 256 bytes 0 to 255, GPT-2 and Hugging Face in another order; of pairs "
    "with equal counts both take the lowest ids, so they take different ones"
)
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

TRAIN_BPE = (
    Contender(TOKCTL, "tokctl_", "train_bpe"),
    Contender(HF, "huggingface", "train_bpe"),
    Contender("rustbpe", "rustbpe_", "train_bpe", RUSTBPE_RULES),
    Contender(SENTENCEPIECE, "sentencepiece_", "train_bpe", SENTENCEPIECE_RULES),
    Contender("gigatoken", "gigatoken_", "train_bpe"),
)
TRAIN_WORDPIECE = (
    Contender(TOKCTL, "tokctl_", "train_wordpiece", HASH_ORDER),
    Contender(HF, "huggingface", "train_wordpiece", HASH_ORDER),
)
TRAIN_UNIGRAM = (
    Contender(TOKCTL, "tokctl_", "train_unigram", UNIGRAM_RULES),
    Contender(SENTENCEPIECE, "sentencepiece_", "train_unigram", UNIGRAM_RULES),
)
ENCODE_LIST = (
    Contender(TOKCTL, "tokctl_", "encode_list"),
    Contender(HF, "huggingface", "encode_list"),
    Contender("tiktoken", "tiktoken_", "encode_list"),
    Contender("gigatoken", "gigatoken_", "encode_list"),
)
ENCODE_ARRAY = (
    Contender(TOKCTL, "tokctl_", "encode_array"),
    Contender("tiktoken", "tiktoken_", "encode_array"),
    Contender("gigatoken", "gigatoken_", "encode_array"),
)
ENCODE_WORDPIECE = (
    Contender(TOKCTL, "tokctl_", "encode_list"),
    Contender(HF, "huggingface", "encode_wordpiece"),
)
ENCODE_UNIGRAM = (
    Contender(TOKCTL, "tokctl_", "encode_list"),
    Contender(HF, "huggingface", "encode_list"),
)
ENCODE_LINES = (
    Contender(TOKCTL, "tokctl_", "encode_lines"),
    Contender(SENTENCEPIECE, "sentencepiece_", "encode_lines"),
)
ENCODE_CL100K = (
    Contender(TOKCTL, "tokctl_", "encode_list"),
    Contender("tiktoken", "tiktoken_", "encode_cl100k"),
    Contender("gigatoken", "gigatoken_", "encode_cl100k"),
)
DECODE = (
    Contender(TOKCTL, "tokctl_", "decode"),
    Contender(HF, "huggingface", "decode"),
    Contender("tiktoken", "tiktoken_", "decode"),
    Contender("gigatoken", "gigatoken_", "decode"),
    Contender("gigatoken, from an array", "gigatoken_", "decode_array"),
)
PROCESS_ENCODE = (
    Contender(TOKCTL, "tokctl_", "process_encode"),
    Contender(HF, "huggingface", "process_encode"),
)
BOTH = ("first", "again")


def all_rows(sizes: Sizes = Sizes()) -> list[Row]:
    """Every row, in the order of the report."""
    bpe, wordpiece = sizes.bpe, sizes.wordpiece
    rows = []
    for threads in (1, 2):
        title = f"byte-level BPE {bpe:,}, {threads} thread{'s'[: threads - 1]}"
        rows.append(Row("training", title, "books", TRAIN_BPE, threads=threads, vocab=bpe))
    title = f"WordPiece by count {wordpiece:,}"
    rows.append(Row("training", title, "books", TRAIN_WORDPIECE, vocab=wordpiece))
    for size in sizes.unigram:
        rows.append(Row("training", f"Unigram {size:,}", "books", TRAIN_UNIGRAM, vocab=size))
    shape = {"passes": BOTH, "again": 3, "vocab": bpe, "model": "bpe"}
    for text in ("books", "code", "multilingual"):
        rows.append(Row("encoding", "BPE, ids in a list", text, ENCODE_LIST, **shape))  # type: ignore[arg-type]
        rows.append(Row("encoding", "BPE, ids in an array", text, ENCODE_ARRAY, **shape))  # type: ignore[arg-type]
    pieces = {**shape, "vocab": wordpiece, "model": "wordpiece"}
    rows.append(Row("encoding", "WordPiece, ids in a list", "books", ENCODE_WORDPIECE, **pieces))  # type: ignore[arg-type]
    rows += _more_encoding(sizes)
    for text in ("books", "code", "multilingual"):
        rows.append(Row("decoding", "BPE", text, DECODE, **shape))  # type: ignore[arg-type]
    rows.append(Row("decoding", "WordPiece", "books", DECODE[:2], **pieces))  # type: ignore[arg-type]
    return [*rows, *_processes(sizes)]


def _more_encoding(sizes: Sizes) -> list[Row]:
    def row(
        title: str,
        text: str,
        model: str,
        contenders: tuple[Contender, ...],
        vocab: int,
        reference: str,
    ) -> Row:
        return Row(
            "encoding",
            title,
            text,
            contenders,
            BOTH,
            again=2,
            vocab=vocab,
            model=model,
            reference=reference,
        )

    small = sizes.unigram[0]
    pieces = "SentencePiece's {}, a list per line"
    return [
        row("BERT uncased, ids in a list", "books", "bert", ENCODE_WORDPIECE, sizes.wordpiece, HF),
        row("Unigram, ids in a list", "books", "unigram", ENCODE_UNIGRAM, small, HF),
        *(
            row(pieces.format(name), "books", model, ENCODE_LINES, small, SENTENCEPIECE)
            for name, model in (
                ("Unigram", "sentencepiece-unigram"),
                ("BPE", "sentencepiece-bpe"),
            )
        ),
        *(
            row("cl100k, ids in a list", text, "cl100k", ENCODE_CL100K, 0, "tiktoken")
            for text in ("books", "code")
            if CL100K.exists()
        ),
    ]


def _processes(sizes: Sizes) -> list[Row]:
    def train(title: str, task: str, vocab: int, document: float) -> Row:
        ours = (Contender(TOKCTL, "tokctl_", task),)
        return Row(
            "processes",
            f"tokctl train: {title} {vocab:,}",
            "treasure-island",
            ours,
            ("again",),
            again=5,
            vocab=vocab,
            document=document,
        )

    # As the notebooks print them: 15 minutes 31 and 4 minutes 16.
    wordpiece, bpe = sizes.notebook_wordpiece, sizes.notebook_bpe
    return [
        train("notebook-wordpiece", "process_notebook_wordpiece", wordpiece, 931),
        train("notebook-bpe", "process_notebook_bpe", bpe, 256),
        Row(
            "processes",
            "load the BPE model, encode one line",
            "line",
            PROCESS_ENCODE,
            ("again",),
            again=10,
            vocab=sizes.bpe,
            model="bpe",
        ),
    ]
