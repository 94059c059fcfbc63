"""SentencePiece's model files (`.model`): a protobuf message of pieces and two specifications."""

from tokctl.formats.sentencepiece.reading import is_one, read
from tokctl.formats.sentencepiece.writing import losses, write

__all__ = ["is_one", "losses", "read", "write"]
