"""Hugging Face's `tokenizer.json`: a model in its terms, where it can express it, and back."""

from tokctl.formats.huggingface.component import InexpressibleError
from tokctl.formats.huggingface.writing import frame, model_size, obstacle

__all__ = ["InexpressibleError", "frame", "model_size", "obstacle"]
