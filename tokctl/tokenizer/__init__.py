"""The tokenizer: a filled recipe that encodes and decodes."""

from __future__ import annotations

from tokctl.tokenizer.tokenizer import Special, Tokenizer

__all__ = ["Special", "Tokenizer", "load", "train"]

train = Tokenizer.train
load = Tokenizer.load
