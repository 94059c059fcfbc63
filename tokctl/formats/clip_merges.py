"""CLIP's `bpe_simple_vocab_16e6.txt.gz`: a list of merges, of which CLIP uses the first 48,894.

The vocabulary follows from the merges. The ids are, in order: the bytes, the bytes with the
end-of-word suffix, the tokens that the merges make, and the two special tokens. `vocab_merges`
describes the pipeline of such a vocabulary.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace

from tokctl.core.errors import BadModel
from tokctl.formats import vocab_merges
from tokctl.formats.contract import LARGEST_VOCABULARY, ModelInput, damaged, unless_damaged
from tokctl.formats.huggingface import vocab_files
from tokctl.formats.registry import GZIP_MAGIC
from tokctl.model import ImportedFrom, Model, byte_level

_SUFFIX = "</w>"
_SPECIAL = ("<|startoftext|>", "<|endoftext|>")
#: `SimpleTokenizer` uses this many merges.
_MERGES_USED = 49_152 - 256 - len(_SPECIAL)


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged; the message names the file.
    """
    with unless_damaged(source.name, hinted=source.hints.any_given):
        unpacked = ModelInput(source.name, data=_unpack(source))
        pairs = [line.split() for line in vocab_files.read_lines(unpacked)[1:][:_MERGES_USED]]
        step = next((step for step, pair in enumerate(pairs, 1) if len(pair) != 2), None)
        if step is not None:
            raise damaged(source.name, f"merge {step} is not a pair of tokens")
        characters = sorted(byte_level.BYTES, key=_byte_order)
        tokens = [
            *characters,
            *(character + _SUFFIX for character in characters),
            *map("".join, pairs),
            *_SPECIAL,
        ]
        vocabulary = {token: id_ for id_, token in enumerate(tokens)}
        if len(vocabulary) != len(tokens):
            raise damaged(source.name, "two of its merges make the same token")
        model = vocab_merges.build_model(vocabulary, pairs, source.hints)
        return replace(model, origin=ImportedFrom("clip-merges"))


def _byte_order(character: str) -> tuple[bool, int]:
    """Return a byte's position in CLIP's vocabulary: printable bytes come first."""
    byte = byte_level.BYTES[character]
    return character != chr(byte), byte


def _unpack(source: ModelInput) -> bytes:
    data = source.read_up_to(LARGEST_VOCABULARY)
    if not data.startswith(GZIP_MAGIC):
        return data
    try:
        with gzip.open(source.open()) as file:
            text = file.read(LARGEST_VOCABULARY + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(source.name, f"it can't be unpacked ({error})") from None
    if len(text) > LARGEST_VOCABULARY:
        raise BadModel(
            f"{source.name} is too large for a list of merges",
            f"unpacked, it may have at most {LARGEST_VOCABULARY:,} bytes",
            "too-large",
        )
    return text
