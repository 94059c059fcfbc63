"""Rows of decoding: from ids in memory to bytes or a string in memory."""

from __future__ import annotations

from tests.tools.bench.rows import BOTH, GIGATOKEN, HF, TIKTOKEN, TOKCTL, Contender, Row, Sizes

LIST = (
    Contender(TOKCTL, "tokctl_", "decode"),
    Contender(GIGATOKEN, "gigatoken_", "decode"),
    Contender("fastokens", "fastokens_", "decode"),
    Contender("splintr", "splintr_", "decode"),
    Contender("tokie", "tokie_", "decode"),
    Contender(TIKTOKEN, "tiktoken_", "decode"),
    Contender(HF, "huggingface", "decode"),
)
ARRAY = (
    Contender(TOKCTL, "tokctl_", "decode_array"),
    Contender(GIGATOKEN, "gigatoken_", "decode_array"),
)


def rows(sizes: Sizes) -> list[Row]:
    def row(
        title: str, text: str, contenders: tuple[Contender, ...], model: str, key: str = ""
    ) -> Row:
        vocab = sizes.bpe if model == "gpt2" else sizes.wordpiece
        return Row(
            "decoding",
            title,
            text,
            contenders,
            key=key,
            passes=BOTH,
            again=3,
            vocab=vocab,
            model=model,
        )

    found = []
    for text in sizes.texts:
        found.append(row("GPT-2, from an array", text, ARRAY, "gpt2", "decode-array"))
        found.append(row("GPT-2, from a list", text, LIST, "gpt2", "decode-list"))
    return [*found, row("WordPiece, from a list", "books", (LIST[0], LIST[-1]), "bert")]
