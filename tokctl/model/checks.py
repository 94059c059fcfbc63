"""A recipe that can't be built is refused when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokctl.errors import TokctlError
from tokctl.model.parts import Part, is_lossless, native_parts
from tokctl.model.parts.post_processors import check_template
from tokctl.model.terms import (
    ALGORITHMS,
    ALPHABETS,
    MARKER_KINDS,
    PRECISIONS,
    SCORES,
    SEGMENTATIONS,
    TIE_BREAKS,
    UNITS,
    UNKNOWNS,
)

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe


def check(recipe: Recipe) -> None:
    """TokctlError, with a hint, where two fields do not fit or one says what is not known."""
    for name, value, allowed in (
        ("algorithm", recipe.algorithm, ALGORITHMS),
        ("units", recipe.units, UNITS),
        ("marker", recipe.marker.kind, MARKER_KINDS),
        ("alphabet", recipe.alphabet, ALPHABETS),
        ("score", recipe.score, SCORES),
        ("tie break", recipe.tie_break, TIE_BREAKS),
        ("unknown", recipe.unknown, UNKNOWNS),
        ("precision", recipe.precision, PRECISIONS),
    ):
        if value not in allowed:
            raise TokctlError(
                f"no {name} is called {value!r}", f"choose one of: {', '.join(allowed)}"
            )
    _check_patterns((*recipe.normalizers, *recipe.pre_tokenizers, *recipe.decoders))
    _check_rules(recipe.normalizers)
    _check_segmentation(recipe)
    _check_pre_tokenizers(recipe)
    _check_marker(recipe)
    _check_special_tokens(recipe)
    _check_around(recipe)
    if recipe.max_input_chars is not None and not 0 < recipe.max_input_chars < 2**53:
        raise TokctlError(
            f"max_input_chars can't be {recipe.max_input_chars}",
            "it is a number from 1 up, or None for no limit",
        )


def _check_patterns(parts: tuple[Part, ...]) -> None:
    patterns = [part["pattern"] for part in parts if dict(part.options).get("regex", False)]
    if patterns:
        # Imported late: few recipes have a pattern, and every start would pay for the library.
        from tokctl.model.pretokenizers import compile_pattern

        for pattern in patterns:
            compile_pattern(pattern)


def _check_rules(normalizers: tuple[Part, ...]) -> None:
    for part in normalizers:
        if part.kind == "precompiled":
            # Imported late: few recipes hold rules, and not every command needs the core.
            from tokctl import _native

            try:
                _native.normalize(native_parts([part]), b"")
            except _native.CoreError as error:
                raise TokctlError(
                    f"the precompiled rules are damaged: {error.args[0]}",
                    "take them from a model file as they are",
                ) from None


def _check_segmentation(recipe: Recipe) -> None:
    allowed = SEGMENTATIONS[recipe.algorithm]
    if recipe.segmentation not in allowed:
        every = {name for names in SEGMENTATIONS.values() for name in names}
        if recipe.segmentation not in every:
            message = f"no segmentation is called {recipe.segmentation!r}"
        else:
            message = f"{recipe.algorithm} can't be segmented by {recipe.segmentation}"
        raise TokctlError(message, f"choose one of: {', '.join(allowed)}")
    if recipe.byte_fallback and (recipe.units == "bytes" or recipe.algorithm == "wordpiece"):
        raise TokctlError(
            "only models of characters can fall back to bytes, and WordPiece can't",
            "leave byte fallback out, or take another algorithm",
        )
    if recipe.units == "bytes" and recipe.algorithm != "bpe":
        raise TokctlError(
            f"{recipe.algorithm} reads characters, not bytes",
            "leave --bytes out; byte fallback gives unigram the bytes of unknown characters",
        )


def _check_pre_tokenizers(recipe: Recipe) -> None:
    for part in recipe.pre_tokenizers:
        if recipe.units == "bytes" and not is_lossless(part) and part.kind != "prefix-space":
            raise TokctlError(
                f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a "
                "byte-level model could not give the text back",
                "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)",
            )


def _check_marker(recipe: Recipe) -> None:
    kind, text = recipe.marker
    if (kind == "none") != (text == ""):
        raise TokctlError(
            "a word marker needs a kind and a text, or neither",
            "for instance Marker('end-fused', '</w>'), or Marker()",
        )
    if recipe.units == "bytes" and kind != "none":
        raise TokctlError(
            "a byte-level model has no word marker: its tokens hold the spaces themselves",
            "leave the marker out, or train on characters (--chars)",
        )
    if (recipe.algorithm == "wordpiece") != (kind == "continuation"):
        raise TokctlError(
            "WordPiece needs a continuation marker, and only WordPiece has one",
            "give wordpiece Marker('continuation', '##'), and others another kind or none",
        )
    if kind != "none" and recipe.algorithm not in ("bpe", "wordpiece"):
        raise TokctlError(
            f"{recipe.algorithm} has no word marker",
            "leave it out: markers are for bpe and wordpiece",
        )
    if (recipe.alphabet == "bytes") != (recipe.units == "bytes"):
        raise TokctlError(
            "a byte-level model has an alphabet of bytes, and no other has one",
            "set both units and alphabet to bytes, or neither",
        )


def _check_special_tokens(recipe: Recipe) -> None:
    if len(set(recipe.special_tokens)) != len(recipe.special_tokens):
        raise TokctlError("a special token is given twice", "give each once")
    if "" in recipe.special_tokens:
        raise TokctlError("a special token can't be empty", "give it a text, such as <pad>")
    for token in recipe.special_tokens:
        try:
            token.encode()
        except UnicodeEncodeError:
            raise TokctlError(
                f"the special token {token!r} is not UTF-8", "a lone surrogate is no character"
            ) from None
    if recipe.unk_token is not None and recipe.unk_token not in recipe.special_tokens:
        raise TokctlError(
            f"the unknown token {recipe.unk_token!r} is no special token",
            "put it among the special tokens",
        )


def _check_around(recipe: Recipe) -> None:
    """TokctlError unless post-processors and decoders fit the model."""
    for part in recipe.post_processors:
        if part.kind == "template":
            check_template(part["single"], part["pair"], recipe.special_tokens)
    needs = {
        "byte-level": (recipe.units == "bytes", "a byte-level model"),
        "wordpiece": (recipe.units != "bytes", "a model of characters"),
        "metaspace": (recipe.units != "bytes", "a model of characters"),
        "bpe-suffix": (recipe.units != "bytes", "a model of characters"),
        "byte-fallback": (recipe.byte_fallback, "a model with byte fallback"),
    }
    for part in recipe.decoders:
        fits, needed = needs.get(part.kind, (True, ""))
        if not fits:
            raise TokctlError(
                f"the decoder {part} does not fit: it needs {needed}",
                "leave the decoder out, and the recipe decodes as it should",
            )
