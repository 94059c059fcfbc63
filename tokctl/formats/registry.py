"""The formats of model files, and how each is recognized: by first bytes, JSON keys and file names.

Recognizing a file imports none of the formats' modules, so that a start imports one format. File
names and marks that a format's module needs too are defined here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

from tokctl.formats.contract import HEAD_SIZE, LARGEST_VOCABULARY, ModelInput

#: The `version` of tokctl's model files that other libraries shall refuse.
PRIVATE_VERSION = "tokctl-1"
TOKENIZER_JSON, TOKENIZER_CONFIG, TEKKEN_JSON = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tekken.json",
)
#: Files from which AutoTokenizer can build a tokenizer if there is no `tokenizer.json`.
VOCABULARY_FILES = (
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
#: The usual names of a vocabulary and its merges, and the names that OpenAI gave them.
VOCAB_JSON, MERGES_TXT = "vocab.json", "merges.txt"
VOCAB_MERGES_NAMES = ((VOCAB_JSON, MERGES_TXT), ("encoder.json", "vocab.bpe"))
GZIP_MAGIC, GGUF_MAGIC = b"\x1f\x8b", b"GGUF"

# -- how a format is recognized -----------------------------------------------------------
#
# Patterns are compiled when they are used, because most models are JSON.


def is_tokctl(source: ModelInput) -> bool:
    """Return whether the document has tokctl's key or its private version."""
    if not is_document(source):
        return False
    return "tokctl" in source.outline["model"] or source.outline.get("version") == PRIVATE_VERSION


def is_document(source: ModelInput) -> bool:
    """Return whether the file is a JSON document with an object `model`."""
    if source.is_folder or not source.is_json:
        return False
    return isinstance(source.outline.get("model"), dict)


def is_transformers(source: ModelInput) -> bool:
    """Return whether `source` is a folder with a tokenizer of transformers.

    Such a folder has a `tokenizer.json`, or a configuration and a vocabulary.
    """
    if not source.is_folder:
        return False
    if source.sibling(TOKENIZER_JSON) is not None:
        return True
    return source.sibling(TOKENIZER_CONFIG) is not None and any(
        source.sibling(name) is not None for name in VOCABULARY_FILES
    )


def is_vocab_merges(source: ModelInput) -> bool:
    """Return whether `source` is a folder with the two files, or one file beside the other.

    The vocabulary begins like a JSON object of tokens and ids.
    """
    files = vocab_and_merges(source)
    if files is None:
        return False
    vocab, merges = files
    head = vocab.head.removeprefix(codecs.BOM_UTF8)
    match = re.match(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d+\s*[,}]', head)
    return match is not None and not merges.is_json


def vocab_and_merges(source: ModelInput) -> tuple[ModelInput, ModelInput] | None:
    """Return the two files of a folder, or of a file called like `NAME-vocab.json`, or None."""
    if source.path is None:
        return None
    for names in VOCAB_MERGES_NAMES:
        if source.is_folder:
            vocab, merges = map(source.sibling, names)
            if vocab and merges:
                return vocab, merges
            continue
        name = source.path.name
        for suffix, other_suffix in (names, names[::-1]):
            other_file = name.endswith(suffix) and source.sibling(
                name.removesuffix(suffix) + other_suffix
            )
            if other_file:
                return (source, other_file) if suffix == names[0] else (other_file, source)
    return None


def is_clip(source: ModelInput) -> bool:
    """Return whether the file, compressed or not, begins with the title of CLIP's list.

    CLIP skips the title whatever it says.
    """
    head = source.head
    if head.startswith(GZIP_MAGIC):
        import zlib

        try:
            head = zlib.decompressobj(wbits=31).decompress(head, 1 << 10)
        except zlib.error:
            return False
    return b"bpe_simple_vocab" in head.partition(b"\n")[0]


def is_subword_nmt(source: ModelInput) -> bool:
    """Return whether the file begins with merges and a version line or a symbol with `</w>`.

    A merge is a line of two symbols.
    """
    if source.is_folder or source.is_json:
        return False
    head = source.head[: source.head.rfind(b"\n") + 1]
    match = re.fullmatch(rb"(#version:[^\n]*\n)?(?:[^ \n]+ [^ \n]+\r?\n)+", head)
    return match is not None and bool(match[1] or re.search(rb"</w>\r?\n", head))


def is_bert_vocab(source: ModelInput) -> bool:
    """Return whether the lines of `source` are the tokens of a BERT vocabulary.

    The lines must include [UNK] and either all of [CLS], [SEP] and [PAD], or one of these and a
    token that begins with `##`.
    """
    if source.is_folder or source.is_json or b"\0" in source.head or b"\n" not in source.head:
        return False
    if source.size > LARGEST_VOCABULARY:
        return False
    # Tokens contain no space. The last line of the head may be incomplete, so it is skipped.
    if any(b" " in line.strip() for line in source.head.splitlines()[:-1]):
        return False
    data = b"\n" + source.data
    present = [token in data for token in (b"\n[CLS]", b"\n[SEP]", b"\n[PAD]")]
    return b"\n[UNK]" in data and (all(present) or (any(present) and b"\n##" in data))


def is_sentencepiece(source: ModelInput) -> bool:
    """Return whether the file begins with a piece.

    The first field of the message is a piece, and the first field of a piece is its text.
    """
    return re.match(rb"\n(?:[\x00-\x7f]|[\x80-\xff]{1,4}[\x00-\x7f])\n", source.head) is not None


def is_word_counts(source: ModelInput) -> bool:
    """Return whether each complete line at the beginning is a word, a tab and a count.

    The first count is at least 1: in the similar `.vocab` of SentencePiece, the first score is 0 or
    less.
    """
    head = source.head
    if len(head) == HEAD_SIZE:
        head = head[: head.rfind(b"\n") + 1]
    elif head and not head.endswith(b"\n"):
        head += b"\n"
    lines = rb"[^\n]+\t[1-9][0-9]{0,18}\r?\n(?:[^\n]+\t[0-9]{1,19}\r?\n)*"
    return re.fullmatch(lines, head) is not None


def is_sentencepiece_vocab(source: ModelInput) -> bool:
    """Return whether the file begins with pieces without a tab, and scores of 0 or less.

    Counts, which are 0 or more, look similar.
    """
    lines = rb"(?:[^\t\n\0]{1,400}\t(?:0|-[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\r?\n){1,3}"
    return re.match(lines, source.head) is not None


def is_gguf(source: ModelInput) -> bool:
    """Return whether the file begins with GGUF's magic bytes."""
    return source.head.startswith(GGUF_MAGIC)


def is_tiktoken(source: ModelInput) -> bool:
    """Return whether the file begins with a token in base64, its rank and the end of the line."""
    line = (
        rb"(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=])"
        rb" [0-9]+[\r\n]"
    )
    return re.match(line, source.head.removeprefix(codecs.BOM_UTF8)) is not None


def is_tekken(source: ModelInput) -> bool:
    """Return whether `source` is a tekken document, or a folder with one and no tokenizer.json.

    A tekken document has a number of special tokens in its `config`, and a `vocab`.
    """
    if source.is_folder:
        file = source.sibling(TEKKEN_JSON)
        return file is not None and source.sibling(TOKENIZER_JSON) is None and is_tekken(file)
    if not source.is_json:
        return False
    config = source.document.get("config")
    return (
        isinstance(config, dict)
        and "default_num_special_tokens" in config
        and "vocab" in source.document
    )


# -- the formats --------------------------------------------------------------------------


def _never(_source: ModelInput) -> bool:
    return False


class Format(NamedTuple):
    """A file format of models.

    Attributes:
        name: the name that `--to` takes.
        title: the name in messages and tables.
        module: the module of the format, relative to `tokctl.formats`.
        suffix: the suffix of a new file; empty if the format is a folder.
        writes: whether tokctl writes the format.
        reads: whether tokctl reads models from the format.
        hints: the fields of `LoadOptions` that a caller may give: a file can leave them open.
        detect: returns whether a file or folder looks like this format.
    """

    name: str
    title: str
    module: str
    suffix: str
    writes: bool = True
    reads: bool = True
    hints: tuple[str, ...] = ()
    detect: Callable[[ModelInput], bool] = _never

    @property
    def is_folder(self) -> bool:
        """Whether the format is a folder of several files."""
        return not self.suffix

    def load(self) -> Any:
        """Import and return the format's module."""
        return import_module(f"tokctl.formats.{self.module}")


_ALL_OPTIONS = ("pattern", "special")
#: The formats in the order in which they are tried.
FORMATS = (
    Format("tokctl", "tokctl model file", "tokenizer_json", ".json", detect=is_tokctl),
    Format(
        "huggingface",
        "Hugging Face tokenizer.json",
        "huggingface.document",
        ".json",
        detect=is_document,
    ),
    Format(
        "huggingface-folder",
        "Hugging Face folder",
        "huggingface.folder",
        "",
        detect=is_transformers,
    ),
    Format(
        "vocab-merges",
        "vocab.json and merges.txt",
        "vocab_merges",
        "",
        hints=_ALL_OPTIONS,
        detect=is_vocab_merges,
    ),
    Format(
        "clip-merges",
        "CLIP's merges",
        "clip_merges",
        ".txt.gz",
        writes=False,
        hints=_ALL_OPTIONS,
        detect=is_clip,
    ),
    Format(
        "subword-nmt",
        "codes of subword-nmt",
        "subword_nmt",
        ".codes",
        writes=False,
        detect=is_subword_nmt,
    ),
    Format("bert-vocab", "BERT vocab.txt", "bert_vocab", ".txt", detect=is_bert_vocab),
    Format(
        "sentencepiece", "SentencePiece .model", "sentencepiece", ".model", detect=is_sentencepiece
    ),
    Format("word-counts", "word counts", "word_counts", ".tsv", reads=False, detect=is_word_counts),
    Format(
        "sentencepiece-vocab",
        "SentencePiece .vocab",
        "sentencepiece_vocab",
        ".vocab",
        hints=("special",),
        detect=is_sentencepiece_vocab,
    ),
    Format("gguf", "GGUF file of llama.cpp", "gguf", ".gguf", hints=("pattern",), detect=is_gguf),
    Format(
        "tiktoken",
        "tiktoken ranks",
        "tiktoken",
        ".tiktoken",
        hints=_ALL_OPTIONS,
        detect=is_tiktoken,
    ),
    Format("tekken", "Mistral tekken.json", "tekken", ".json", writes=False, detect=is_tekken),
)


def detect(source: ModelInput, forms: Iterable[Format] = FORMATS) -> Format | None:
    """Return the first format that `source` looks like, or None.

    Args:
        source: the file or folder; most formats are recognized by its first `HEAD_SIZE` bytes.
        forms: the formats to try, in this order.

    Raises:
        TokctlError: the file can't be read, or begins like JSON and is not JSON.
    """
    return next((form for form in forms if form.detect(source)), None)
