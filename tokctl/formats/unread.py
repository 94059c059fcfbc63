"""Tokenizer files that tokctl can't read: how to recognize them, and what to do instead."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tokctl.core.errors import BadModel, TokctlError
from tokctl.formats.contract import ModelInput


class UnreadFormat(NamedTuple):
    """A format that tokctl recognizes but does not read.

    Attributes:
        what: the description of the file: the message's text after the file's name.
        hint: what the user can do with the file.
    """

    what: str
    hint: str


_RWKV = UnreadFormat(
    "is a vocabulary of RWKV, whose longest match byte by byte tokctl does not support",
    "encode with RWKV's own tokenizer (pyrwkv-tokenizer), or train a model: tokctl train",
)
_FASTBPE = UnreadFormat(
    "holds codes of fastBPE: merges with their counts",
    "convert them to subword-nmt's codes, which tokctl reads with the vocabulary beside them: "
    "(echo '#version: 0.2'; cut -d' ' -f1,2 {name}) > codes",
)
_KERAS = UnreadFormat(
    "is a tokenizer of Keras: a list of words by their frequency, and no subwords",
    "use it with keras, or train a model on words: tokctl train --algo word",
)
_MIDITOK = UnreadFormat(
    "is a tokenizer of MidiTok: its tokens are music, not text",
    "use it with miditok; the model of its merges is the JSON text in the field _model, if it has "
    "any",
)
#: A line such as `1 'a' 1`: the id, the token as a Python literal, the token's length in bytes.
_RWKV_LINES = re.compile(rb"""(?:[0-9]+ b?(?:'[^\n]*'|"[^\n]*") [0-9]+\r?\n)+""")
_FASTBPE_LINES = re.compile(rb"(?:[^ \n]+ [^ \n]+ [0-9]+\r?\n)+")


def unread_format_error(source: ModelInput) -> TokctlError | None:
    """Return the error for a file in a known format that tokctl can't read, or None."""
    form = _detect_json(source.document) if source.is_json else _detect_text(source.head)
    if form is None:
        return None
    return BadModel(f"{source.name} {form.what}", form.hint.format(name=source.name), "not-a-model")


def _detect_text(head: bytes) -> UnreadFormat | None:
    lines = head[: head.rfind(b"\n") + 1]
    if _RWKV_LINES.fullmatch(lines):
        return _RWKV
    if _FASTBPE_LINES.fullmatch(lines) and b"</w> " in lines:
        return _FASTBPE
    return None


def _detect_json(document: Any) -> UnreadFormat | None:
    if not isinstance(document, dict):
        return None
    config = document.get("config")
    if document.get("class_name") == "Tokenizer" and isinstance(config, dict):
        return _KERAS
    if "tokenization" in document or "miditok_version" in document:
        return _MIDITOK
    return None
