"""Small Hugging Face tokenizers, and their plain encodings as this project's."""

from __future__ import annotations

from functools import cache
from typing import Any

import tokenizers
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from tokctl.tokenizer.encoding import Encoding

SPECIAL = ("<s>", "</s>", "[CLS]", "[SEP]", "[PAD]", "<x:1>")
SPECIAL_IDS = {token: id_ for id_, token in enumerate(SPECIAL)}
LINES = ["the theme of the three thieves", "  then they  thawed, é字 the 😀 thaw "]

#: Texts with spaces in odd places, characters of every width, and special tokens.
texts = st.lists(
    st.sampled_from(
        [
            "the",
            "theme",
            " then",
            " ",
            "  ",
            "\n",
            "é",
            "字",
            "😀",
            ",",
            "q",
            "[SEP]",
            " </s>",
            "\u3000",
        ]
    ),
    max_size=14,
).map("".join)


@cache
def byte_level(prefix_space: bool) -> tokenizers.Tokenizer:
    """BPE on bytes, with few merges: a character has several tokens. Never changed."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + 270,
        special_tokens=list(SPECIAL),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(LINES, trainer)
    # An added token takes white space along that is not spelled Ġ.
    tokenizer.add_tokens([tokenizers.AddedToken("q", rstrip=True, lstrip=True)])
    return tokenizer


def copy(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """One that may be changed."""
    return tokenizers.Tokenizer.from_str(tokenizer.to_str())


def plain(tokenizer: tokenizers.Tokenizer, text: str) -> Encoding:
    """A text's tokens before any post-processing."""
    found = tokenizer.encode(text, add_special_tokens=False)
    widths = [len(text[:end].encode()) for end in range(len(text) + 1)]
    return Encoding(
        found.ids,
        found.tokens,
        [text[start:end] for start, end in found.offsets],
        found.offsets,
        found.word_ids,
        byte_offsets=[(widths[start], widths[end]) for start, end in found.offsets],
    )


def fields_of(encoding: Any) -> dict[str, Any]:
    """What an encoding of either library says, windows within windows included."""
    ours = isinstance(encoding, Encoding)
    mask = encoding.special_mask if ours else encoding.special_tokens_mask
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": encoding.offsets,
        "word_ids": encoding.word_ids,
        "type_ids": encoding.type_ids,
        "special_mask": mask,
        "attention_mask": encoding.attention_mask,
        "sequence_ids": encoding.sequence_ids,
        "overflowing": [fields_of(window) for window in encoding.overflowing],
    }


def without(described: dict[str, Any], name: str, windows_only: bool = False) -> dict[str, Any]:
    """The same without one field."""
    kept = {key: value for key, value in described.items() if key != name or windows_only}
    kept["overflowing"] = [without(window, name) for window in described["overflowing"]]
    return kept


def numbers(size: int, first: int = 100) -> Encoding:
    """A text of `size` words of one character each."""
    ids = list(range(first, first + size))
    places = [(place, place + 1) for place in range(size)]
    return Encoding(ids, [str(i) for i in ids], ["x"] * size, places, list(range(size)))
