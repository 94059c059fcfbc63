"""Where a token comes from, in one word.

| kind | what it is |
|---|---|
| `special` | given meaning by a program; ordinary text never becomes it |
| `added` | found in the text before the model segments it |
| `byte` | `<0x0A>`: what characters without a token fall back to |
| `alphabet` | a symbol that words start as |
| `merged` | made of two others |
| `character` | one character, in a model that merges nothing |
| `piece` | a piece of several characters of a Unigram model |
| `word` | a whole pre-token |
| `other` | in a vocabulary whose history is not known: not made by its merges |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import history_of
from tokctl.analysis.explain.reach import is_byte_token, token_text

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: The kinds that each algorithm's tokens have, in the order in which they are listed.
KINDS = {
    "bpe": ("special", "alphabet", "merged"),
    "wordpiece": ("special", "alphabet", "merged"),
    "unigram": ("special", "character", "piece"),
    "word": ("special", "word"),
    "char": ("special", "character"),
}


def kind_of(tokenizer: Tokenizer, id_: int) -> str:
    """One of the kinds above."""
    model = tokenizer.model
    if id_ in model.special_ids.values():
        return "special"
    if is_byte_token(tokenizer, id_):
        return "byte"
    if id_ in model.apart:
        return "added"
    algorithm = tokenizer.recipe.algorithm
    if algorithm == "word":
        return "word"
    if algorithm == "char":
        return "character"
    if algorithm == "unigram":
        return "piece" if len(model.tokens[id_].decode()) > 1 else "character"
    if id_ in history_of(tokenizer).made_by:
        return "merged"
    if model.training is not None:
        return "alphabet"
    text = token_text(tokenizer, id_)
    units = len(text) if tokenizer.recipe.units == "bytes" else len(text.decode())
    if units <= 1:
        return "alphabet"
    return "merged" if tokenizer.recipe.segmentation == "ranks" else "other"
