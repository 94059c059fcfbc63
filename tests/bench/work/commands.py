"""Rows of whole processes, from start to exit, and of what the library takes for the same."""

from __future__ import annotations

from tests.bench.rows import (
    ENGLISH,
    GIGATOKEN,
    HF,
    IN_MEMORY,
    SENTENCEPIECE,
    TOKCTL,
    Contender,
    Row,
    Sizes,
    long,
)

OTHER_MODEL = "for one line it loads a model of its own, with at most 8,000 pieces"
ONE_LINE = (
    Contender(TOKCTL, "tokctl_", "process_encode"),
    Contender(HF, "huggingface", "process_encode"),
    Contender(GIGATOKEN, "gigatoken_", "process_encode"),
    Contender("fastokens", "fastokens_", "process_encode"),
    Contender(SENTENCEPIECE, "sentencepiece_", "process_encode", OTHER_MODEL),
)
BINARY = (
    Contender(TOKCTL, "tokctl_", "process_encode_bin"),
    Contender("tokctl, through the library", "tokctl_", "file_in_process"),
    Contender("gigatoken, a script", "gigatoken_", "process_encode_file"),
    Contender("fastokens, a script", "fastokens_", "process_encode_file"),
)
DECIMAL = (
    Contender(TOKCTL, "tokctl_", "process_encode_ids"),
    Contender("tokctl, through the library", "tokctl_", "lines_in_process"),
)
#: What `encode` writes of a large file, and why ids in memory are no such thing.
FORMS = {
    "ids": "ids in memory are not ids in decimal",
    "bin": "",
    "npy": "",
    "count": "ids in memory are not their number",
}


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
    large = sizes.scale_vocab
    own = f"one line, a BPE model of {sizes.command:,}"
    return [
        train("notebook-wordpiece", "process_notebook_wordpiece", wordpiece, 931),
        train("notebook-bpe", "process_notebook_bpe", bpe, 256),
        encode("one line, GPT-2's file", "line", "gpt2", ONE_LINE, sizes.bpe, "process-line"),
        encode(own, "line", "bpe", ONE_LINE[:4], sizes.command, ""),
        encode("one line, o200k", "line", "o200k", ONE_LINE[:4], large, "process-line-o200k"),
        encode("GPT-2, --as bin", "books", "gpt2", BINARY, sizes.bpe, ""),
        encode("GPT-2, --as ids", "books", "gpt2", DECIMAL, sizes.bpe, ""),
        *(_file(sizes, form, rules) for form, rules in FORMS.items()),
        *(_form(sizes, form) for form in ("jsonl", "tokens")),
    ]


def _file(sizes: Sizes, form: str, rules: str) -> Row:
    """From file to file, beside the same encoding in memory: a first pass without the load."""
    return Row(
        "processes",
        f"GPT-2, {form}, a large file",
        long(ENGLISH, sizes.files),
        (
            Contender(TOKCTL, "tokctl_", f"process_encode_{form}"),
            Contender(IN_MEMORY, "tokctl_", "encode_array", rules),
        ),
        key="file-count" if form == "count" else "file",
        vocab=sizes.bpe,
        model="gpt2",
        reference=TOKCTL,
        rounds=1,
    )


def _form(sizes: Sizes, form: str) -> Row:
    return Row(
        "processes",
        f"GPT-2, --as {form}",
        long(ENGLISH, sizes.forms),
        (Contender(TOKCTL, "tokctl_", f"process_encode_{form}"),),
        key="form",
        vocab=sizes.bpe,
        model="gpt2",
        reference=TOKCTL,
        rounds=2,
    )
