"""The tokenizer: a filled recipe that encodes and decodes."""

from __future__ import annotations

from tokctl.tokenizer.tokenizer import Special, Tokenizer
from tokctl.tokenizer.tokenizer import _from_bytes as _from_bytes  # pickles look for it here

__all__ = ["Special", "Tokenizer", "load", "train"]

train = Tokenizer.train
load = Tokenizer.load
