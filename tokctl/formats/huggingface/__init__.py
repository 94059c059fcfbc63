"""Hugging Face's `tokenizer.json`: a model in its terms, where it can express it, and back."""

from tokctl.formats.huggingface.component import InexpressibleError
from tokctl.formats.huggingface.writing import AMBIGUOUS, frame, model_size, obstacle

__all__ = ["AMBIGUOUS", "InexpressibleError", "frame", "model_size", "obstacle"]
