"""Rows of whole processes, from start to exit, and of what the library takes for the same."""

from __future__ import annotations

from tests.tools.bench.rows import (
    ENGLISH,
    GIGATOKEN,
    HF,
    IN_MEMORY,
    PIECES,
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
#: From a large file to a file: beside the same encoding in memory, a first pass without the load.
FILES = {
    "ids": (Contender(IN_MEMORY, "tokctl_", "encode_array", "ids in memory are not in decimal"),),
    "bin": (
        Contender(IN_MEMORY, "tokctl_", "encode_array"),
        Contender("gigatoken, a script", "gigatoken_", "process_encode_file"),
    ),
    "npy": (Contender(IN_MEMORY, "tokctl_", "encode_array"),),
    "count": (Contender(IN_MEMORY, "tokctl_", "encode_array", "ids are not their number"),),
}
COMPARE = (
    Contender(TOKCTL, "tokctl_", "process_compare_short"),
    Contender(PIECES, "tokctl_", "process_compare"),
)


def rows(sizes: Sizes) -> list[Row]:
    def line(name: str, model: str, contenders: tuple[Contender, ...], vocab: int, key: str) -> Row:
        return Row(
            "processes",
            f"one line, {name}",
            "line",
            contenders,
            key=key,
            passes=("again",),
            again=5,
            vocab=vocab,
            model=model,
        )

    def file(title: str, size: int, key: str, contenders: tuple[Contender, ...]) -> Row:
        return Row(
            "processes",
            f"GPT-2, {title}",
            long(ENGLISH, size),
            contenders,
            key=key,
            vocab=sizes.bpe,
            model="gpt2",
            reference=TOKCTL,
            rounds=2,
        )

    def encode(form: str) -> Contender:
        return Contender(TOKCTL, "tokctl_", f"process_encode_{form}")

    own = f"a BPE model of {sizes.command:,}"
    return [
        line("GPT-2's file", "gpt2", ONE_LINE, sizes.bpe, "process-line"),
        line(own, "bpe", ONE_LINE[:4], sizes.command, ""),
        line("o200k", "o200k", ONE_LINE[:4], sizes.scale_vocab, "process-line-o200k"),
        *(
            file(
                form,
                sizes.files,
                "file-count" if form == "count" else "file",
                (encode(form), *beside),
            )
            for form, beside in FILES.items()
        ),
        *(file(form, sizes.forms, "form", (encode(form),)) for form in ("jsonl", "tokens")),
        file("compare, texts of 100 bytes", sizes.forms, "compare", COMPARE),
    ]
