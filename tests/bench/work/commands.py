"""Rows of whole processes, from start to exit, and of what the library takes for the same."""

from __future__ import annotations

from tests.bench.rows import GIGATOKEN, HF, SENTENCEPIECE, TOKCTL, Contender, Row, Sizes

OTHER_MODEL = "for one line it loads a model of its own, with at most 8,000 pieces"
ONE_LINE = (
    Contender(TOKCTL, "tokctl_", "process_encode"),
    Contender(HF, "huggingface", "process_encode"),
    Contender(GIGATOKEN, "gigatoken_", "process_encode"),
    Contender("fastokens", "fastokens_", "process_encode"),
    Contender(SENTENCEPIECE, "sentencepiece_", "process_encode", OTHER_MODEL),
)
BINARY = (
    Contender(TOKCTL, "tokctl_", "process_encode_file"),
    Contender("tokctl, through the library", "tokctl_", "file_in_process"),
    Contender("gigatoken, a script", "gigatoken_", "process_encode_file"),
    Contender("fastokens, a script", "fastokens_", "process_encode_file"),
)
DECIMAL = (
    Contender(TOKCTL, "tokctl_", "process_encode_lines"),
    Contender("tokctl, through the library", "tokctl_", "lines_in_process"),
)


def rows(sizes: Sizes) -> list[Row]:
    def train(title: str, task: str, vocab: int, document: float) -> Row:
        return Row(
            "processes",
            f"tokctl train: {title} {vocab:,}",
            "treasure-island",
            (Contender(TOKCTL, "tokctl_", task),),
            passes=("again",),
            again=3,
            vocab=vocab,
            document=document,
        )

    def encode(
        title: str, text: str, model: str, contenders: tuple[Contender, ...], vocab: int, key: str
    ) -> Row:
        return Row(
            "processes",
            title,
            text,
            contenders,
            key=key,
            passes=("again",),
            again=5 if text == "line" else 2,
            vocab=vocab,
            model=model,
            reference=HF if text == "line" else TOKCTL,
        )

    wordpiece, bpe = sizes.notebook_wordpiece, sizes.notebook_bpe
    own = f"one line, a BPE model of {sizes.command:,}"
    return [
        train("notebook-wordpiece", "process_notebook_wordpiece", wordpiece, 931),
        train("notebook-bpe", "process_notebook_bpe", bpe, 256),
        encode("one line, GPT-2's file", "line", "gpt2", ONE_LINE, sizes.bpe, "process-line"),
        encode(own, "line", "bpe", ONE_LINE[:4], sizes.command, "process-line"),
        encode("GPT-2, --as bin", "books", "gpt2", BINARY, sizes.bpe, ""),
        encode("GPT-2, --as ids", "books", "gpt2", DECIMAL, sizes.bpe, ""),
    ]
