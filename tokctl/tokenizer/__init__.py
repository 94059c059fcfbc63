"""The tokenizer: a model that encodes and decodes text."""

from __future__ import annotations

from tokctl.tokenizer.tokenizer import Special, Tokenizer
from tokctl.tokenizer.tokenizer import _from_bytes as _from_bytes  # named in pickles

__all__ = ["Special", "Tokenizer", "load", "train"]

train = Tokenizer.train
load = Tokenizer.load
