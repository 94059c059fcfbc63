"""SentencePiece's model files written: any recipe that its library can run."""

from __future__ import annotations

from typing import Any

from tokctl.formats import sentencepiece_proto
from tokctl.formats.contract import Files, InexpressibleError, Loss, companions_lost, training_lost
from tokctl.formats.sentencepiece.fitting import Fitted, fitted
from tokctl.formats.sentencepiece.pieces import Piece, pieces, ranked
from tokctl.formats.sentencepiece.reading import (
    ALGORITHMS,
    BYTE,
    CONTROL,
    SEGMENTATIONS,
    UNKNOWN,
    USER_DEFINED,
)
from tokctl.formats.sentencepiece.spaces import MARK, UNKNOWN_SURFACE
from tokctl.model import FilledRecipe

#: What the roles of special tokens are called: there by default, and in other models.
_ROLES = {
    "bos": ("<s>", "<bos>", "[CLS]", "<|begin_of_text|>", "<cls>"),
    "eos": ("</s>", "<eos>", "[SEP]", "<|end_of_text|>", "<sep>"),
    "pad": ("<pad>", "[PAD]"),
}


def losses(model: FilledRecipe) -> list[Loss]:
    """What the file can't hold, and what its library does otherwise.

    Raises:
        InexpressibleError: it has nothing like the model.
    """
    return message(model)[1]


def write(model: FilledRecipe) -> Files:
    """The file: the same bytes for the same model."""
    return {"": sentencepiece_proto.serialized(message(model)[0])}


def message(model: FilledRecipe) -> tuple[Any, list[Loss]]:
    """The model as a message, and what is lost."""
    _check(model)
    fit = fitted(model)
    found = [*fit.losses]
    if model.recipe.algorithm == "bpe":
        ready, more = ranked(model)
        found += more
    else:
        ready = model
    listed, more = pieces(ready)
    found += more + _segmenting(model, listed) + _around(model, fit, listed)
    return _message(model, fit, listed), found


def _check(model: FilledRecipe) -> None:
    """InexpressibleError unless there is something like it."""
    recipe = model.recipe
    algorithm = recipe.algorithm
    if recipe.is_byte_level:
        raise InexpressibleError("its tokens are bytes, and SentencePiece's are characters")
    if algorithm not in SEGMENTATIONS:
        raise InexpressibleError(f"SentencePiece has no {algorithm}")
    if recipe.marker.text:
        raise InexpressibleError(f"SentencePiece has no word marker but {MARK}")
    if algorithm != "bpe" and recipe.segmentation != SEGMENTATIONS[algorithm]:
        raise InexpressibleError(f"SentencePiece segments no {algorithm} by {recipe.segmentation}")
    marked = MARK.encode()
    if algorithm == "word" and not any(token.startswith(marked) for token in model.tokens):
        raise InexpressibleError(f"SentencePiece's words begin with {MARK}, and none does here")


def _segmenting(model: FilledRecipe, listed: list[Piece]) -> list[Loss]:
    """What it does otherwise from normalized text to pieces."""
    recipe = model.recipe
    found = []
    complete = any(piece.type == BYTE for piece in listed)
    if recipe.byte_fallback and not complete:
        found.append(Loss("its fallback to bytes, which do not all have tokens"))
    if not recipe.fuse_unknown and not complete and recipe.unk_token is not None:
        found.append(Loss("that every unknown character, or word, is an unknown token of its own"))
    looks_up = recipe.algorithm in ("unigram", "word") or recipe.whole_words
    if complete and recipe.precision == "double" and looks_up:
        found.append(Loss("that the text <0x41> becomes the token of that byte"))
    if recipe.traits.has_scores and recipe.precision == "double":
        found.append(
            Loss("sums of log probabilities in double precision: near-ties can be split otherwise")
        )
    return found


def _around(model: FilledRecipe, fit: Fitted, listed: list[Piece]) -> list[Loss]:
    """What is lost of added tokens and of what is known beside the recipe."""
    recipe = model.recipe
    found = []
    for token in model.added:
        if token.special:
            continue
        exact = token.normalized and token.literal and not recipe.pre_tokenizers
        plain = not (token.single_word or token.strip_left or token.strip_right)
        if not (exact and plain and recipe.algorithm in ("bpe", "char")):
            found.append(Loss(f"the way that the added token {token.text!r} is found in a text"))
    kept = {piece.text.decode() for piece in listed if piece.type == USER_DEFINED}
    if fit.rules.blob and kept != set(fit.rules.keep):
        text = min(kept ^ set(fit.rules.keep))
        verb = "change" if text in kept else "leave alone"
        found.append(Loss(f"that its rules {verb} {text!r}"))
    if fit.spaces.tidy and any("  " in text for text in kept):
        found.append(Loss("that spaces side by side are joined in user-defined pieces, too"))
    if recipe.post_processors:
        names = ", ".join(map(str, recipe.post_processors))
        found.append(Loss(f"the post-processors {names}"))
    return [*found, *training_lost(model, model.rounds), *companions_lost(model)]


def _message(model: FilledRecipe, fit: Fitted, listed: list[Piece]) -> Any:
    recipe, proto = model.recipe, sentencepiece_proto.new()
    for piece in listed:
        entry = proto.pieces.add(piece=piece.text, score=piece.score)
        if piece.type != 1:
            entry.type = piece.type
    trained = proto.trainer_spec
    trained.model_type = {name: number for number, name in ALGORITHMS.items()}[recipe.algorithm]
    trained.vocab_size = len(listed)
    trained.treat_whitespace_as_suffix = fit.spaces.dummy == "behind"
    trained.byte_fallback = any(piece.type == BYTE for piece in listed)
    if fit.surface != UNKNOWN_SURFACE:
        trained.unk_surface = fit.surface.encode()
    _set_roles(trained, listed)
    spec = proto.normalizer_spec
    spec.name, spec.precompiled_charsmap = fit.rules.name.encode(), fit.rules.blob
    spec.add_dummy_prefix = bool(fit.spaces.dummy)
    spec.remove_extra_whitespaces = fit.spaces.tidy
    spec.escape_whitespaces = fit.spaces.escape
    return proto


def _set_roles(trained: Any, listed: list[Piece]) -> None:
    """Which pieces are the unknown one, and those for the start and the end and for padding."""
    ids = {piece.text.decode(): id_ for id_, piece in enumerate(listed) if piece.type == CONTROL}
    unknown = next(id_ for id_, piece in enumerate(listed) if piece.type == UNKNOWN)
    trained.unk_id = unknown
    if listed[unknown].text != b"<unk>":
        trained.unk_piece = listed[unknown].text
    for role, names in _ROLES.items():
        name = next((name for name in names if name in ids), None)
        setattr(trained, f"{role}_id", ids[name] if name is not None else -1)
        if name is not None and name != names[0]:
            setattr(trained, f"{role}_piece", name.encode())
