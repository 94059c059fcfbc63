"""The nearest model that the format can express, with what is different about it.

Each step takes one thing away that `tokenizer.json` has no place for, and says so. What has
nothing near it (a word marker that is a symbol of its own, say) stays, and writing it raises
`InexpressibleError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tokctl import _native
from tokctl.formats.contract import Loss
from tokctl.formats.huggingface.unknown import drops_unknown, fails_at_bytes, needs_unknown
from tokctl.formats.huggingface.writing import found_in_text
from tokctl.model import FilledRecipe
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS, AddedToken, Part, native_parts


class Step(NamedTuple):
    """A model without one thing, and what that was; nothing where it changes no text."""

    model: FilledRecipe
    lost: str | None


def nearest(model: FilledRecipe) -> tuple[FilledRecipe, list[Loss]]:
    """The model as the format can have it, and what it loses on the way."""
    losses = []
    for step in _STEPS:
        for found in step(model):
            model = found.model
            if found.lost:
                losses.append(Loss(found.lost))
    return model, losses


Steps = Iterator[Step]


def _with(model: FilledRecipe, **fields: Any) -> FilledRecipe:
    return replace(model, recipe=replace(model.recipe, **fields))


# -- the model ------------------------------------------------------------------------


def _precision(model: FilledRecipe) -> Steps:
    recipe = model.recipe
    if recipe.precision == "single":
        lost = "sums of log probabilities in single precision, which decide between near-equal ways"
        # Merges add nothing up.
        if recipe.byte_fallback:
            lost += ", and bytes that no text can spell (<0x41>)"
        yield Step(_with(model, precision="double"), lost if recipe.traits.has_scores else None)


def _unknown(model: FilledRecipe) -> Steps:
    recipe = model.recipe
    if recipe.traits.has_scores and not recipe.fuse_unknown:
        yield Step(_with(model, fuse_unknown=True), "one unknown token for each unknown character")
    elif recipe.traits.learns_words and recipe.fuse_unknown:
        yield Step(_with(model, fuse_unknown=False), "one unknown token for several unknown words")
    elif recipe.traits.learns_characters and recipe.looks_up_pre_tokens and recipe.fuse_unknown:
        yield Step(_with(model, fuse_unknown=False), "one unknown token for several characters")
    if recipe.traits.marks_continuations and recipe.unknown != "word":
        yield Step(_with(model, unknown="word"), "an unknown token for the unknown character alone")
    if drops_unknown(recipe) and not needs_unknown(recipe):
        yield Step(model, "that a character without a token is an error: it drops it in silence")
    if fails_at_bytes(recipe):
        yield Step(model, "the bytes of unknown characters: it needs an unknown token to get there")


def _scores(model: FilledRecipe) -> Steps:
    """There the lowest score of all decides how bad an unknown character is, and here that of
    the tokens that the model makes."""
    made = [score for id_, score in enumerate(model.scores) if id_ not in model.apart]
    lowest = min(made, default=0.0)
    if model.recipe.traits.has_scores and made and min(model.scores) < lowest:
        yield Step(replace(model, scores=[max(score, lowest) for score in model.scores]), None)


def _segmentation(model: FilledRecipe) -> Steps:
    recipe = model.recipe
    if recipe.traits.is_plain_bpe and recipe.replays_merges:
        yield Step(
            _with(model, segmentation="merges"),
            "merges that are replayed one after the other: it merges by rank",
        )
    if recipe.traits.marks_continuations and not recipe.matches_longest:
        yield Step(
            _with(model, segmentation="longest-match"),
            "WordPiece by merges: it takes the longest token that matches",
        )


# -- normalizers and pre-tokenizers ---------------------------------------------------

_FOLDING = ("nmt_nfkc_cf", "nfkc_cf")


def _normalizers(model: FilledRecipe) -> Steps:
    steps: list[Part] = []
    lost = []
    for part in model.recipe.normalizers:
        new, reasons = _near_normalizer(part)
        steps += new
        lost += reasons
    if tuple(steps) != model.recipe.normalizers:
        model = _with(model, normalizers=tuple(steps))
    for reason in lost:
        yield Step(model, reason)


def _near_normalizer(part: Part) -> tuple[list[Part], list[str]]:
    reasons = []
    options = dict(part.options)
    if options.get("keep"):
        reasons.append("that its user-defined pieces are not normalized")
        options["keep"] = ()
    if part.kind in _FOLDING:
        kind = "nmt_nfkc" if part.kind == "nmt_nfkc_cf" else "sp_nfkc"
        reasons.append(f"SentencePiece's rules {part.kind}: it has {kind} and lower case")
        return [NORMALIZERS.part(kind), NORMALIZERS.part("lowercase")], reasons
    if part.kind in ("nmt_nfkc", "sp_nfkc"):
        reasons.append(
            f"SentencePiece's rules {part.kind} where text is composed in part (ê and U+0300) or "
            "newer than its tables: it has NFKC"
        )
    if part.kind == "precompiled" and not part["graphemes"]:
        reasons.append("its own rules on what they match: it applies them to graphemes")
        options["graphemes"] = True
    return [NORMALIZERS.part(part.kind, **options) if reasons else part], reasons


def _pre_tokenizers(model: FilledRecipe) -> Steps:
    parts = model.recipe.pre_tokenizers
    if any(part.kind == "graphemes" for part in parts):
        clusters = PRE_TOKENIZERS.part("split", pattern=r"(?:\P{M}\p{M}*|\p{M}+)", regex=True)
        found = tuple(clusters if part.kind == "graphemes" else part for part in parts)
        yield Step(
            _with(model, pre_tokenizers=found),
            "graphemes: it has a character with the marks behind it",
        )


# -- added tokens and decoders --------------------------------------------------------


def _added(model: FilledRecipe) -> Steps:
    if not any(token.normalized and token.literal for token in model.added):
        return
    changed = []
    lost = []
    for token in model.added:
        if token.normalized and token.literal:
            plain = _normalizes_to_itself(model, token)
            token = token._replace(literal=False, normalized=plain)
            if not plain:
                lost.append(token.text)
        changed.append(token)
    model = replace(model, added_tokens=tuple(changed))
    if lost:
        several = _several(lost)
        yield Step(model, f"that {several} found in normalized text, spelled as it stands there")
    else:
        yield Step(model, None)


def _normalizes_to_itself(model: FilledRecipe, token: AddedToken) -> bool:
    parts = native_parts(model.recipe.normalizers)
    try:
        return bool(_native.normalize(parts, token.text.encode()) == token.text.encode())
    except _native.CoreError:
        return False


def _several(texts: list[str]) -> str:
    if len(texts) == 1:
        return f"the added token {texts[0]!r} is"
    return f"{len(texts)} added tokens ({texts[0]!r}, …) are"


def _spelled_in_text(model: FilledRecipe) -> Steps:
    if found := found_in_text(model):
        several = found[0] if len(found) == 1 else f"{len(found)} of them, {found[0]} for one"
        yield Step(model, f"special tokens that no text can spell ({several})")


def _decoders(model: FilledRecipe) -> Steps:
    recipe = model.recipe
    first = recipe.decoders[0].kind if recipe.decoders else "byte-level"
    if recipe.is_byte_level and first not in ("byte-level", "join"):
        yield Step(
            _with(model, decoders=()), f"the decoder {first} on bytes: it gets them as spelled"
        )
    if recipe.marker.is_end_fused and not recipe.decoders:
        mark = recipe.marker.text.encode()
        if any(mark in token.removesuffix(mark) for token in model.tokens):
            yield Step(
                model,
                f"tokens with {recipe.marker.text} before their end: it decodes that as a space",
            )


_STEPS: tuple[Callable[[FilledRecipe], Steps], ...] = (
    _segmentation,
    _precision,
    _unknown,
    _scores,
    _normalizers,
    _pre_tokenizers,
    _added,
    _decoders,
    _spelled_in_text,
)
