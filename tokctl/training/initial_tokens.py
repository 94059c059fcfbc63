"""Initial tokens: texts that must each become one token, whatever their counts.

Each text is normalized by the recipe and must stay in one pre-token. This module turns the texts
into pre-tokens; the core makes their tokens before all others
(`native/core/src/train/initial_tokens.rs`). After the training, `check` verifies that the model
encodes each text as a single token.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokctl import _native
from tokctl.core.errors import BadOption
from tokctl.model import Model, Recipe
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.encoders import encoder
from tokctl.model.parts import Part, native_parts
from tokctl.training.options import TrainOptions


def pre_tokens(recipe: Recipe, options: TrainOptions) -> list[bytes]:
    """Return the initial tokens of `options` as pre-tokens of the recipe, without duplicates.

    Raises:
        TokctlError: An initial token is not a text, is empty, spells a special token, is split by
            the pre-tokenizer, or is longer than a token may be.
    """
    return list(
        dict.fromkeys(_single_pre_token(text, recipe, options) for text in options.initial_tokens)
    )


def _single_pre_token(text: str, recipe: Recipe, options: TrainOptions) -> bytes:
    """Return the one pre-token that the recipe makes of `text`, or raise TokctlError."""
    try:
        encoded = text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise BadOption(
            f"invalid value {text!r} for an initial token", "it is a text", "bad-value"
        ) from None
    if not text:
        raise BadOption("an initial token can't be empty", "leave it out", "bad-value")
    if text in recipe.special_tokens:
        raise BadOption(
            f"the initial token {text!r} is a special token", "leave one of the two out", "conflict"
        )
    normalized = _native.normalize(native_parts(recipe.normalizers), encoded)
    pieces = _split(recipe.pre_tokenizers, normalized)
    if not pieces:
        raise BadOption(
            f"the recipe's normalizers and pre-tokenizers remove all of the initial token {text!r}",
            "leave it out",
            "bad-value",
        )
    if len(pieces) > 1:
        steps = recipe.pre_tokenizers
        splitting_step = next(
            step for step in range(len(steps)) if len(_split(steps[: step + 1], normalized)) > 1
        )
        parts = [part.decode("utf-8", "replace") for part in pieces]
        raise BadOption(
            f"the initial token {text!r} would never be used: the pre-tokenizer "
            f"{steps[splitting_step]} cuts it into {', '.join(map(repr, parts[:8]))}",
            "no token crosses such a cut; leave it out, or choose another --pretokenize",
            "conflict",
        )
    [pre_token] = pieces
    special = [
        *map(str.encode, recipe.special_tokens),
        *(BYTE_TOKENS if recipe.byte_fallback else ()),
    ]
    if pre_token in special:
        raise BadOption(
            f"the initial token {text!r} is spelled like a special token",
            "leave one of the two out",
            "conflict",
        )
    length = len(pre_token) if recipe.is_byte_level else len(pre_token.decode())
    max_length = options.max_token_length or recipe.traits.longest_token
    if max_length is not None and length > max_length:
        raise BadOption(
            f"the initial token {text!r} has {length} {recipe.units}, and a token may have "
            f"{max_length}",
            "leave it out"
            + (
                ""
                if recipe.traits.longest_token == max_length
                else f", or allow longer ones: --max-token-length {length}"
            ),
            "bad-value",
        )
    return pre_token


def _split(steps: Sequence[Part], text: bytes) -> list[bytes]:
    """Return the pre-tokens of `text`, split by `steps`."""
    rewritten, ranges, _ = _native.pre_tokenize(native_parts(steps), text)
    return [rewritten[start:end] for start, end in ranges]


def check(model: Model) -> None:
    """Raise TokctlError unless the model encodes each of its initial tokens as one known token."""
    texts = model.training.initial_tokens if model.training else ()
    if not texts:
        return
    unknown = model.recipe.unk_token
    unknown_id = None if unknown is None else model.special_ids[unknown]
    for text, ids in zip(texts, encoder(model).batch(texts, 1, None), strict=True):
        if len(ids) == 1 and ids[0] != unknown_id:
            continue
        spellings = [model.tokens[id_].decode("utf-8", "replace") for id_ in ids]
        raise BadOption(
            f"the model would split the text of the initial token {text!r} into "
            f"{', '.join(map(repr, spellings[:8]))}",
            "leave it out",
            "conflict",
        )
