"""How much two vocabularies share, by what their tokens mean."""

from __future__ import annotations

from collections.abc import Set

from tokctl.analysis.metrics.figure import Figure, ratio
from tokctl.model import FilledRecipe, Recipe
from tokctl.model.parts import is_lossless
from tokctl.model.symbols import BYTE_TOKENS

#: (kind, bytes): the bytes without marker or leading space, and where they stand:
#: `start` of a word, `inside` (after its start), at its `end`, `open` (before its end,
#: in a vocabulary that marks ends), or `any` (the vocabulary does not say).
Canonical = tuple[str, bytes]


def canonical(recipe: Recipe, token: bytes) -> Canonical:
    """What an ordinary token means, whatever the vocabulary's way to mark words.

    | in the vocabulary | canonical |
    |---|---|
    | a leading space (byte-level `Ġthe`), where pre-tokens keep their spaces | start, the |
    | no leading space there (`the`) | inside, the |
    | a start marker, or a space that is written so (`Ġthe`, `▁the`) | start, the |
    | no start marker, in a vocabulary that has one (`the`) | inside, the |
    | no continuation marker, in a vocabulary that has one (`the`) | start, the |
    | a continuation marker (`##the`) | inside, the |
    | an end marker (`the</w>`) | end, the |
    | no end marker, in a vocabulary that has one (`the`) | open, the |
    | a whole word, in a word model without spaces (`the`) | start, the |
    | another vocabulary without markers or spaces (`the`) | any, the |

    A space or a marker that is a token of its own has no bytes left: (start, b"").
    """
    kind, text = recipe.marker
    mark = text.encode()
    if kind == "continuation":
        return ("inside", token[len(mark) :]) if token.startswith(mark) else ("start", token)
    if kind == "start":
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if kind in ("end", "end-fused"):
        return ("end", token[: -len(mark)]) if token.endswith(mark) else ("open", token)
    if space := space_mark(recipe):
        mark = space.encode()
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if all(map(is_lossless, recipe.pre_tokenizers)):
        return ("start", token[1:]) if token.startswith(b" ") else ("inside", token)
    return ("start" if recipe.algorithm == "word" else "any"), token


def space_mark(recipe: Recipe) -> str:
    """What stands for a space in the tokens, `▁` for SentencePiece: a pre-tokenizer or a
    normalizer writes it. Empty where spaces are kept as they are, or dropped."""
    for part in recipe.pre_tokenizers:
        if part.kind == "metaspace":
            return str(part["replacement"])
    for part in recipe.normalizers:
        if part.kind == "replace" and part["pattern"] == " " and part["content"].strip():
            return str(part["content"])
    return ""


def canonical_vocabulary(model: FilledRecipe) -> frozenset[Canonical]:
    """The canonical forms of a model's tokens. Special and added tokens are left out, and the
    tokens of single bytes that characters fall back to: they are no text of their own."""
    apart = model.apart
    if model.recipe.byte_fallback:
        apart = apart | {id_ for id_, token in enumerate(model.tokens) if token in BYTE_TOKENS}
    ordinary = (token for id_, token in enumerate(model.tokens) if id_ not in apart)
    return frozenset(canonical(model.recipe, token) for token in ordinary)


def jaccard(first: Set[Canonical], second: Set[Canonical]) -> Figure:
    """The Jaccard index: size of the intersection over size of the union."""
    shared = len(first & second)
    return ratio(shared, len(first) + len(second) - shared, "both vocabularies are empty")
