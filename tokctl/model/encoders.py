"""The native encoder and decoder of a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tokctl import _native
from tokctl.model import Merge, Model
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import AddedToken, native_parts


def encoder(model: Model, produced_ids: frozenset[int] = frozenset()) -> _native.Encoder:
    """Return the native encoder of a model, from normalizers to segmentation.

    Args:
        model: the model.
        produced_ids: ids of special tokens that the encoder may also produce from ordinary text.
    """
    recipe = model.recipe
    return _build_encoder(
        model,
        reserved=model.reserved_ids - produced_ids,
        normalizers=native_parts(recipe.normalizers),
        pre_tokenizers=native_parts(recipe.pre_tokenizers),
        segmentation=recipe.segmentation,
        unknown_id=_unknown_id(model),
        supermerges=model.supermerges,
    )


def replay_encoder(model: Model) -> _native.Encoder:
    """Return an encoder of single pre-tokens that makes the merges in the order learned.

    The recipe's own segmentation does not matter. Unknown symbols get no id.
    """
    return _build_encoder(
        model, normalizers=[], pre_tokenizers=[], segmentation="replay", unknown_id=None
    )


def pre_token_encoder(model: Model, produced_ids: frozenset[int] = frozenset()) -> _native.Encoder:
    """Return an encoder that segments each text as one pre-token.

    The text must be normalized, and rewritten by the pre-tokenizers.

    Args:
        model: the model.
        produced_ids: ids of special tokens that the encoder may also produce from ordinary text.
    """
    recipe = model.recipe
    return _build_encoder(
        model,
        reserved=model.reserved_ids - produced_ids,
        normalizers=[],
        pre_tokenizers=[],
        segmentation=recipe.segmentation,
        unknown_id=_unknown_id(model),
    )


def _unknown_id(model: Model) -> int | None:
    token = model.recipe.unk_token
    return None if token is None else model.special_ids[token]


def _build_encoder(
    model: Model,
    *,
    normalizers: list[dict[str, Any]],
    pre_tokenizers: list[dict[str, Any]],
    segmentation: str,
    unknown_id: int | None,
    reserved: frozenset[int] | None = None,
    supermerges: Sequence[Merge] = (),
) -> _native.Encoder:
    recipe = model.recipe
    reserved = model.reserved_ids if reserved is None else reserved
    settings = {
        "segmentation": segmentation,
        "units": recipe.units,
        "marker": recipe.marker,
        "user_defined": model.user_defined,
        "fuse_unknown": recipe.fuse_unknown,
        "whole_words": recipe.whole_words,
        "precision": recipe.precision,
        "unknown_id": unknown_id,
        "unknown": recipe.unknown,
        "max_input_chars": recipe.max_input_chars,
        "events": _native_events(model),
        "supermerges": [merge[:3] for merge in supermerges],
    }
    if model.core is not None:
        return model.core.encoder(
            normalizers,
            pre_tokenizers,
            settings,
            reserved_ids=reserved,
            byte_fallback=recipe.byte_fallback,
        )
    if reserved == frozenset(range(len(reserved))):
        first_id = len(reserved)
        ordinary = list(
            zip(model.tokens[first_id:], range(first_id, len(model.tokens)), strict=True)
        )
    else:
        ordinary = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in reserved]
    return _native.Encoder(
        normalizers,
        pre_tokenizers,
        settings,
        tokens=ordinary,
        merges=[merge[:3] for merge in model.merges],
        scores=model.scores,
        byte_ids=byte_ids(model) if recipe.byte_fallback else None,
    )


def _native_events(model: Model) -> tuple[Any, ...] | None:
    """Return the merges and removals in the form that the native core takes."""
    events = model.events
    if events is None:
        return None
    merges = [merge[:3] for merge in events.merges]
    removals = [removal[:2] for removal in events.removals]
    return (model.size, len(events.removed)), merges, removals


def byte_ids(model: Model) -> list[int]:
    """Return the ids of `<0x00>` to `<0xFF>`, with `NO_ID` for a missing token."""
    ids = {token: id_ for id_, token in enumerate(model.tokens)}
    return [ids.get(token, _native.NO_ID) for token in BYTE_TOKENS]


def decoder(model: Model) -> _native.Decoder:
    """Return the native decoder of a model.

    If the recipe has no decoders, the word marker decides where spaces go.
    """
    recipe = model.recipe
    steps: list[dict[str, Any]] = native_parts(recipe.decoders)
    # The first decoder of a byte-level model gets bytes; every other decoder gets text.
    for step in steps[recipe.is_byte_level :]:
        step["kind"] = _DECODER_KINDS.get(step["kind"], step["kind"])
    if not steps:
        kind, text = recipe.marker
        steps = [{"kind": "markers", "marker": kind, "text": text}]
    other_bytes = _decoded_by_id(model)
    # Like Hugging Face, skip every token that decodes to a special token's text, whatever its id.
    names = {token.text.encode() for token in model.added if token.special and not token.named}
    special = {
        added_token.id
        for added_token in model.added
        if other_bytes.get(added_token.id, added_token.text.encode()) in names
    }
    if model.core is not None and not other_bytes:
        return model.core.decoder(steps, list(special))
    tokens = [other_bytes.get(id_, token) for id_, token in enumerate(model.tokens)]
    flags = [id_ in special for id_ in range(len(tokens))]
    return _native.Decoder(steps, tokens, flags)


#: Decoders that get text and must turn the characters for bytes back into bytes.
_DECODER_KINDS = {"byte-level": "byte-characters"}


def _decoded_by_id(model: Model) -> dict[int, bytes]:
    """Return the tokens that decode to other bytes than their own, by id.

    An added token with a normalized spelling decodes to that spelling (`simple_id_to_token` in
    Hugging Face's `added_vocabulary.rs`).
    """
    normalizers = native_parts(model.recipe.normalizers)
    normalized = [token for token in model.added if token.normalized and not token.literal]
    if not normalizers:
        return {}
    return {token.id: _native.normalize(normalizers, token.text.encode()) for token in normalized}


def searched_tokens(
    model: Model, allowed: Collection[str]
) -> tuple[list[AddedToken], list[AddedToken]]:
    """Return the added tokens to find in a text, and the special tokens that stay text.

    Nothing is found inside a special token that stays text: Hugging Face's library finds allowed
    and other special tokens in one search. Such a special token does not take part in a search
    for the longest token (llama.cpp) or for literal text (SentencePiece).

    Args:
        model: the model.
        allowed: texts of the special tokens to find.
    """
    added = [token for token in model.added if token.listed]
    matched = [
        added_token
        for added_token in added
        if not added_token.special or added_token.named or added_token.text in allowed
    ]
    texts = {token.text for token in matched}
    searches = {
        added_token.normalized
        for added_token in matched
        if not (added_token.special or added_token.literal or added_token.longest_first)
    }
    return matched, [
        added_token
        for added_token in added
        if added_token.normalized in searches and added_token.text not in texts
    ]


def matchers(
    model: Model, encoder: _native.Encoder, allowed: Collection[str]
) -> _native.Matchers | None:
    """Return the matchers that find the added tokens and allowed special tokens in a text.

    Args:
        model: the model.
        encoder: native encoder of the model.
        allowed: texts of the special tokens to find.

    Returns:
        The matchers; None if there is nothing to find.
    """
    matched, text_only = searched_tokens(model, allowed)
    if not matched:
        return None
    rows = [
        (
            token.text.encode(),
            token.id,
            (token.single_word, token.strip_left, token.strip_right, token.longest_first),
            (token.normalized, token.literal),
            stays_text,
        )
        for tokens, stays_text in ((matched, False), (text_only, True))
        for token in tokens
    ]
    return _native.Matchers(encoder, rows)
