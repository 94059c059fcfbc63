"""How much two vocabularies share, by what their tokens mean."""

from __future__ import annotations

from collections.abc import Set

from tokctl.metrics.figure import Figure, ratio
from tokctl.pipeline import is_lossless
from tokctl.recipe import FilledRecipe, Recipe

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
    | a start marker (`Ġthe`, `▁the`) | start, the |
    | no start marker, in a vocabulary that has one (`the`) | inside, the |
    | no continuation marker, in a vocabulary that has one (`the`) | start, the |
    | a continuation marker (`##the`) | inside, the |
    | an end marker (`the</w>`) | end, the |
    | no end marker, in a vocabulary that has one (`the`) | open, the |
    | a vocabulary without markers or spaces (`the`) | any, the |

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
    if any(part.kind == "metaspace" for part in recipe.pre_tokenizers) or _writes_spaces(recipe):
        mark = "▁".encode()
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if all(map(is_lossless, recipe.pre_tokenizers)):
        return ("start", token[1:]) if token.startswith(b" ") else ("inside", token)
    return "any", token


def _writes_spaces(recipe: Recipe) -> bool:
    """Do the normalizers write spaces as ▁, as SentencePiece does?"""
    return any(part.kind == "replace" and part["content"] == "▁" for part in recipe.normalizers)


def canonical_vocabulary(model: FilledRecipe) -> frozenset[Canonical]:
    """The canonical forms of a model's tokens; special tokens have no text and are left out."""
    ordinary = (token for id_, token in enumerate(model.tokens) if id_ not in model.apart)
    return frozenset(canonical(model.recipe, token) for token in ordinary)


def jaccard(first: Set[Canonical], second: Set[Canonical]) -> Figure:
    """The Jaccard index: size of the intersection over size of the union."""
    shared = len(first & second)
    return ratio(shared, len(first) + len(second) - shared, "both vocabularies are empty")
