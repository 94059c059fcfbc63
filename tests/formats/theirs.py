"""Hugging Face's tokenizers made, read and written."""

from __future__ import annotations

import json
from typing import Any

import tokenizers as hf
from tokenizers import models

from tokctl import formats
from tokctl.model import Model

RULES = "BAAAAAAAAAAA"


def tokenizer(vocab: list[str] | None = None) -> hf.Tokenizer:
    tokens = vocab or ["<unk>", "[CLS]", "[SEP]", "a", "b"]
    model = models.BPE({token: id_ for id_, token in enumerate(tokens)}, [], unk_token="<unk>")
    made = hf.Tokenizer(model)
    made.add_special_tokens(["<unk>", "[CLS]", "[SEP]"])
    return made


def read(made: hf.Tokenizer) -> Model:
    return formats.parse(made.to_str().encode(), "theirs.json")


def back(model: Model) -> dict[str, Any]:
    """What they make of the file that we write."""
    data = formats.serialize(model)
    document: dict[str, Any] = json.loads(hf.Tokenizer.from_str(data.decode()).to_str())
    return document
