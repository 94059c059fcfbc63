"""The normalizers, pre-tokenizers, decoders and template that the options of `train` ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    is_lossless,
    template_pieces,
)

if TYPE_CHECKING:
    from tokctl.model import Recipe
    from tokctl.model.parts import Family, Part

#: Told what people should know about the recipe that was made.
Tell = Callable[[str], None]

#: Decoders that put spaces where the pre-tokenizer `metaspace` had put its `▁`.
_OF_METASPACE = ("metaspace", "replace", "strip")
_MAKE_SPACES = ("metaspace", "replace", "join", "wordpiece")


def changes(
    base: Recipe, asked: Mapping[str, Any], others: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """What these options change about `base`; `others` are the changes besides. `tell` hears
    which of its decoders are left out, and why.

    Raises:
        TokctlError: a part that does not exist, or is not described as it should be.
    """
    found: dict[str, Any] = {}
    if asked["normalize"]:
        found["normalizers"] = _parts(NORMALIZERS, "--normalize", asked["normalize"])
    if asked["pretokenize"]:
        found["pre_tokenizers"] = _parts(PRE_TOKENIZERS, "--pretokenize", asked["pretokenize"])
    if asked["graphemes"]:
        before = found.get("pre_tokenizers", base.pre_tokenizers)
        last = PRE_TOKENIZERS.part("graphemes")
        found["pre_tokenizers"] = (*(part for part in before if part != last), last)
    if asked["template"] is not None:
        special = others.get("special_tokens", base.special_tokens)
        found["post_processors"] = _template(base, asked["template"], special)
    if asked["decoder"]:
        found["decoders"] = _parts(DECODERS, "--decoder", asked["decoder"])
        return found
    decoders = _fitting_decoders(base, {**others, **found}, tell)
    if decoders != base.decoders:
        found["decoders"] = decoders
    return found


def _parts(family: Family, option: str, given: Sequence[str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for text in given:
        if not text.strip():
            raise TokctlError(f"{option} is empty", f"for no {family.name}: {option} none")
        try:
            parts += [] if text.strip() == "none" else family.parse_list(text.lstrip())
        except TokctlError as error:
            if error.hint:
                raise
            raise TokctlError(error.message, f"see: tokctl train --help, {option}") from None
    return tuple(parts)


def _template(base: Recipe, text: str, special: Sequence[str]) -> tuple[Part, ...]:
    others = tuple(part for part in base.post_processors if part.kind != "template")
    if text.strip() == "none":
        return others
    if "$A" not in text:
        raise TokctlError(
            f"the template {text!r} has no place for the text",
            "write it as $A, quoted for the shell: '[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'",
        )
    part = POST_PROCESSORS.parse(f"template:{text}")
    pieces = [*template_pieces(part["single"]), *template_pieces(part["pair"])]
    named = dict.fromkeys(piece.token for piece in pieces if piece.token is not None)
    if missing := [token for token in named if token not in special]:
        from shlex import quote

        raise TokctlError(
            f"the template {text!r} names {missing[0]}, which is no special token",
            "make it one: " + " ".join(f"--special {quote(token)}" for token in missing),
        )
    return (*others, part)


def _fitting_decoders(base: Recipe, changed: Mapping[str, Any], tell: Tell) -> tuple[Part, ...]:
    """The decoders of `base`, less those that undo what the changed recipe no longer does,
    and with those that undo what it does now. Nobody has asked for decoders, so what
    decodes well is wanted."""
    decoders = _for_spaces(base, changed)
    marker = changed.get("marker", base.marker)
    if "marker" in changed:
        # WordPiece's decoder takes the marker away that the old recipe had.
        decoders = tuple(
            DECODERS.part("wordpiece", prefix=marker.text, cleanup=part["cleanup"])
            if part.kind == "wordpiece"
            else part
            for part in decoders
        )
    falls_back = changed.get("byte_fallback", base.byte_fallback)
    if not falls_back:
        decoders = tuple(part for part in decoders if part.kind != "byte-fallback")
    elif not any(part.kind == "byte-fallback" for part in decoders):
        if marker.text:
            raise TokctlError(
                "--byte-fallback does not go with a word marker: the bytes of a character "
                "would carry it, too",
                "leave it out, or take --marker none --pretokenize metaspace",
            )
        decoders = (*decoders, DECODERS.part("byte-fallback"))
    kinds = {part.kind for part in decoders}
    lost: dict[str, list[str]] = {}
    for part in base.decoders:
        replaced = part.kind in _OF_METASPACE and "metaspace" in kinds
        if part.kind not in kinds and not replaced:
            lost.setdefault(_WHY_LEFT_OUT[part.kind], []).append(part.kind)
    for why, names in lost.items():
        what = f"decoder {names[0]} is" if len(names) == 1 else f"decoders {', '.join(names)} are"
        tell(f"the {what} left out: {why}")
    pre_tokenizers = changed.get("pre_tokenizers", base.pre_tokenizers)
    dropping = [part for part in pre_tokenizers if not _keeps_text(part)]
    spaced = bool(marker.text) or any(part.kind in _MAKE_SPACES for part in decoders)
    if "pre_tokenizers" in changed and dropping and not spaced:
        tell(f"the pre-tokenizer {dropping[0]} drops spaces, and decoding can't bring them back")
    return decoders


def _for_spaces(base: Recipe, changed: Mapping[str, Any]) -> tuple[Part, ...]:
    """The decoders of `base` with those that make spaces as the pre-tokenizers ask for it."""
    decoders = base.decoders
    marker = changed.get("marker", base.marker)
    pre_tokenizers = changed.get("pre_tokenizers", base.pre_tokenizers)
    before, after = _metaspace(base.pre_tokenizers), _metaspace(pre_tokenizers)
    if before != after:
        # The spaces that a metaspace decoder makes belong to the pre-tokenizer's `▁`.
        if before is not None:
            decoders = tuple(part for part in decoders if part.kind not in _OF_METASPACE)
        if after is not None and (not marker.text or marker.is_continuation):
            decoders = tuple(part for part in decoders if part.kind not in ("join", "wordpiece"))
            prepend, replacement = after
            undo = DECODERS.part("metaspace", prepend=prepend, replacement=replacement)
            bare = marker.text and DECODERS.part("replace", pattern=marker.text, content="")
            decoders = (*([bare] if bare else []), undo, *decoders)
    if "pre_tokenizers" in changed and all(map(is_lossless, pre_tokenizers)):
        # Tokens that hold the spaces themselves are not to get others between them.
        decoders = tuple(part for part in decoders if part.kind != "join")
    return decoders


def _keeps_text(part: Part) -> bool:
    return is_lossless(part) or part.kind in ("metaspace", "prefix-space")


#: Why a decoder does not fit any more, in the words of the options.
_WHY_LEFT_OUT = {
    **dict.fromkeys(_OF_METASPACE, "nothing shows spaces as metaspace does"),
    "join": "the tokens hold the spaces themselves",
    "wordpiece": "the spaces are those of the pre-tokenizer metaspace",
    "byte-fallback": "there are no bytes to fall back to",
}


def _metaspace(pre_tokenizers: Sequence[Part]) -> tuple[str, str] | None:
    """How the pre-tokenizer `metaspace` shows spaces, if it is there."""
    for part in pre_tokenizers:
        if part.kind == "metaspace":
            return part["prepend"], part["replacement"]
    return None
