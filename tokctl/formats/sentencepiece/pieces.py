"""The pieces of a model file: what type each token is, and its score."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import NamedTuple

from tokctl.formats import charsmap, merging
from tokctl.formats.contract import InexpressibleError, Loss
from tokctl.formats.sentencepiece.missing import made_of_missing
from tokctl.formats.sentencepiece.reading import (
    BYTE,
    CONTROL,
    LOWEST,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
)
from tokctl.model import FilledRecipe, user_defined_score
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import AddedToken


class Piece(NamedTuple):
    """One piece of the file."""

    text: bytes
    score: float
    type: int


def ranked(model: FilledRecipe) -> tuple[FilledRecipe, list[Loss]]:
    """A BPE model segmented by scores, with tokens that nothing makes as special tokens.

    Raises:
        InexpressibleError: there are no scores that do the same.
    """
    losses: list[Loss] = []
    # Tokens of bytes are never found in text there, nor made of others.
    model = replace(model, recipe=replace(model.recipe, precision="single"))
    made = {token for *_, token in merging.made(model)}
    idle = [
        id_
        for id_, token in enumerate(model.tokens)
        if id_ not in made and id_ not in model.apart and len(token.decode()) > 1
    ]
    if idle and model.recipe.whole_words:
        name = model.spelled[idle[0]]
        losses.append(Loss(f"that a text which is the token {name!r} becomes it without merges"))
    if model.recipe.segmentation != "merges":
        idle = _of_missing(model)
    if idle:
        names = ", ".join(repr(model.spelled[id_]) for id_ in idle[:3])
        more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
        losses.append(
            Loss(f"tokens that no text becomes, but as control pieces ({names}{more})", True)
        )
    model = _without(model, idle)
    recipe = replace(model.recipe, whole_words=False)
    model = merging.by_ranks(replace(model, recipe=recipe), scored=True)
    if not model.scores or any(score != _single(score) for score in model.scores):
        model = replace(model, scores=_scores(model))
    return model, losses


def _of_missing(model: FilledRecipe) -> list[int]:
    """The tokens that are made there, of characters without a token."""
    texts = {token.decode(): id_ for id_, token in enumerate(model.tokens)}
    normal = {text: id_ for text, id_ in texts.items() if id_ not in model.apart}
    kept = {token.text for token in model.added if not token.special}
    return [normal[text] for text in made_of_missing(normal, normal.keys() | kept)]


def _without(model: FilledRecipe, idle: list[int]) -> FilledRecipe:
    """The model with these tokens as special ones, so that nothing makes them there, either."""
    if not idle:
        return model
    added = {token.id: token for token in model.added}
    for id_ in idle:
        added.setdefault(id_, AddedToken(model.spelled[id_], id_))
    texts = (model.spelled[id_] for id_ in idle if added[id_].special)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(list(texts)),
        added_tokens=tuple(added[id_] for id_ in sorted(added)),
    )


def _scores(model: FilledRecipe) -> list[float]:
    """The same order as 0, -1, -2, …, which single precision holds."""
    if not model.scores:
        return [-float(id_) for id_ in range(len(model.tokens))]
    places = {score: -float(at) for at, score in enumerate(sorted(set(model.scores))[::-1])}
    return [places[score] for score in model.scores]


def _single(score: float) -> float:
    """As a file holds it."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        return math.inf


def pieces(model: FilledRecipe) -> tuple[list[Piece], list[Loss]]:
    """The pieces of a model whose BPE is `ranked`, and what is lost of them.

    Raises:
        InexpressibleError: SentencePiece refuses them.
    """
    losses: list[Loss] = []
    types = _types(model)
    texts = list(model.tokens)
    for id_, text in enumerate(texts):
        if types[id_] == BYTE or b"\0" not in text:
            continue
        losses.append(Loss(f"the token {model.spelled[id_]!r}, which holds a NUL"))
        texts[id_], types[id_] = b"<|unused_%d|>" % id_, CONTROL
    if len(set(texts)) != len(texts) or b"" in texts:
        raise InexpressibleError("a token is empty, or two are spelled alike")
    if model.recipe.traits.has_scores and not {NORMAL, USER_DEFINED} & set(types):
        raise InexpressibleError("it has no token that text becomes")
    scores = _written_scores(model)
    decides = model.recipe.algorithm in ("bpe", "unigram")
    if decides and not all(math.isfinite(_single(score)) for score in scores):
        raise InexpressibleError("a score is too large for single precision")
    # What is written for these is not read: 0, as training writes it.
    found = [
        Piece(text, 0.0 if kind == USER_DEFINED else score, kind)
        for text, score, kind in zip(texts, scores, types, strict=True)
    ]
    if model.recipe.unk_token is None:
        name = next(
            name
            for name in (b"<unk>", *(b"<unk_%d>" % at for at in range(len(texts) + 1)))
            if name not in texts
        )
        found.append(Piece(name, 0.0, UNKNOWN))
        complete = model.recipe.byte_fallback and BYTE in types
        losses.append(Loss("that it has no unknown token", minor=complete))
    return found, losses


def _types(model: FilledRecipe) -> list[int]:
    types = [NORMAL] * len(model.tokens)
    if model.recipe.byte_fallback:
        ids = {token: id_ for id_, token in enumerate(model.tokens)}
        present = [ids[token] for token in BYTE_TOKENS if token in ids]
        for id_ in present:
            types[id_] = BYTE if len(present) == len(BYTE_TOKENS) else CONTROL
    for id_ in model.user_defined:
        types[id_] = USER_DEFINED
    kept = {text.encode() for part in model.recipe.normalizers for text in _kept(part)}
    algorithm = model.recipe.algorithm
    for id_, text in enumerate(model.tokens):
        if text in kept and (
            algorithm == "word" or (algorithm == "unigram" and _is_best(model, id_))
        ):
            types[id_] = USER_DEFINED
    for id_ in _of_one_byte(model):
        types[id_] = USER_DEFINED
    for token in model.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
        if token.text == model.recipe.unk_token and token.special:
            types[token.id] = UNKNOWN
    return types


def _is_best(model: FilledRecipe, id_: int) -> bool:
    """Does a Unigram model take this token before all others, as user-defined pieces are?"""
    return model.scores[id_] == user_defined_score(model.tokens[id_])


def _of_one_byte(model: FilledRecipe) -> list[int]:
    """User-defined pieces that only their score, 0, shows: no rules say that they stay."""
    recipe = model.recipe
    if not recipe.traits.has_scores or recipe.precision != "single":
        return []
    if min(model.scores, default=0) >= 0 or any(charsmap.blob_of(p) for p in recipe.normalizers):
        return []
    scored = enumerate(zip(model.tokens, model.scores, strict=True))
    return [id_ for id_, (token, score) in scored if score == 0 and len(token) == 1]


def _kept(part: object) -> tuple[str, ...]:
    """The texts that a normalizer leaves alone."""
    found: tuple[str, ...] = dict(getattr(part, "options", ())).get("keep", ())
    return found


def _written_scores(model: FilledRecipe) -> list[float]:
    """As they are known; of words and characters that were counted, as training has them."""
    if model.recipe.traits.by_frequency and model.scores:
        return [-math.inf if score == LOWEST else score for score in model.scores]
    if model.scores:
        return model.scores
    total = sum(model.counts)
    if not total:
        return [0.0] * len(model.tokens)
    return [math.log(count / total) if count else 0.0 for count in model.counts]
