"""The formats that tokctl knows, in the order in which a file is tried for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from tokctl.errors import TokctlError


class Format(NamedTuple):
    """A format on disk.

    Attributes:
        name: as `--to` takes it.
        title: what people call it.
        module: in `tokctl.formats`; see `contract` for what it has.
        suffix: of a new file; empty where the format is a folder.
        writes: does tokctl write it?
        reads: does tokctl read a model from it?
        hints: what of `Hints` it may leave open.
    """

    name: str
    title: str
    module: str
    suffix: str
    writes: bool = True
    reads: bool = True
    hints: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Are its files written into a folder?"""
        return not self.suffix

    def load(self) -> Any:
        """The module, imported when it is needed: a start pays for none but its own."""
        return import_module(f"tokctl.formats.{self.module}")


_BOTH = ("pattern", "special")
FORMATS = (
    Format("tokctl", "tokctl model file", "tokenizer_json", ".json"),
    Format("huggingface", "Hugging Face tokenizer.json", "huggingface_json", ".json"),
    Format("huggingface-folder", "Hugging Face folder", "huggingface_folder", ""),
    Format("vocab-merges", "vocab.json and merges.txt", "vocab_merges", "", hints=_BOTH),
    Format("bert-vocab", "BERT vocab.txt", "bert_vocab", ".txt"),
    Format("sentencepiece", "SentencePiece .model", "sentencepiece", ".model"),
    Format("word-counts", "word counts", "word_counts", ".tsv", reads=False),
    Format(
        "sentencepiece-vocab",
        "SentencePiece .vocab",
        "sentencepiece_vocab",
        ".vocab",
        hints=("special",),
    ),
    Format("gguf", "GGUF file of llama.cpp", "gguf", ".gguf", writes=False, hints=("pattern",)),
    Format("tiktoken", "tiktoken ranks", "tiktoken", ".tiktoken", hints=_BOTH),
    Format("tekken", "Mistral tekken.json", "tekken", ".json", writes=False),
)


def named(name: str) -> Format:
    """The format of that name; TokctlError where there is none."""
    for one in FORMATS:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in FORMATS)
    raise TokctlError(f"no format is called {name!r}", f"choose one of: {names}")
