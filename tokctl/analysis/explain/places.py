"""Where in a word a token stands, and what it consists of."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from tokctl.analysis.metrics.overlap import space_mark

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def place_of(tokenizer: Tokenizer, id_: int) -> str:
    """Where in a word an ordinary token stands, as far as its spelling says."""
    token = tokenizer.model.tokens[id_]
    kind, mark = tokenizer.recipe.marker
    if kind == "continuation":
        return "continuation" if token.startswith(mark.encode()) else "word start"
    if kind == "start":
        return "word start" if token.startswith(mark.encode()) else "continuation"
    if kind in ("end", "end-fused"):
        return "word end" if token.endswith(mark.encode()) else "before the word end"
    if space := space_mark(tokenizer.recipe):
        return "word start" if token.startswith(space.encode()) else "continuation"
    if tokenizer.recipe.algorithm == "word":
        return "whole word"
    if tokenizer.recipe.algorithm == "char":
        return "any place"
    return "space before" if token[:1].isspace() else "no space before"


def content_of(text: bytes) -> str:
    """What a token's text consists of, white space at its edges left out."""
    try:
        characters = text.decode().strip()
    except UnicodeDecodeError:
        return "pieces of characters"
    if not characters:
        return "white space" if text else "the word marker"
    kinds = {_CONTENTS[unicodedata.category(char)[0]] for char in characters}
    return kinds.pop() if len(kinds) == 1 else "mixed"


_CONTENTS = {
    "L": "letters",
    "M": "letters",
    "N": "digits",
    "P": "punctuation",
    "S": "punctuation",
    "C": "control characters",
    "Z": "white space",
}
