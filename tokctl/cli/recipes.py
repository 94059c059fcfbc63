"""The recipe that the options of `train` describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokctl.cli import options
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.recipe import Marker, Recipe

#: As the option calls them, and as a recipe does.
_SEGMENTATIONS = {"longest-match": "longest-match", "merges": "replay"}
_NOT_WORDPIECE = ("is for wordpiece, and this is bpe", "leave it out, or add --algo wordpiece")
_NOT_LONGEST_MATCH = (
    "is for longest match, and this model replays its merges",
    "leave it out, or add --segment longest-match",
)


def recipe_of(asked: Mapping[str, Any]) -> Recipe:
    """The recipe that `asked` describes: the options by their names in `train`; None: not given.

    It keeps its name only where nothing about it was changed; else it is `custom`.

    Raises:
        TokctlError: what is asked for does not exist, or does not go together.
    """
    from tokctl.recipe import SCORES, TIE_BREAKS

    for value in (asked["pretokenize"], asked["marker"], asked["unk_token"], *asked["special"]):
        _check_text(value)
    base = _base(asked["algo"], asked["preset"], asked["characters"])
    if base.algorithm != "wordpiece":
        _refuse(asked, ("score", "segment", "unknown", "max_input_chars"), *_NOT_WORDPIECE)
    changes: dict[str, Any] = {}
    if asked["pretokenize"] is not None:
        from tokctl.pipeline import PRE_TOKENIZERS

        changes["pre_tokenizers"] = PRE_TOKENIZERS.parse_list(asked["pretokenize"])
    if asked["marker"] is not None:
        changes["marker"] = _marker(asked["marker"], base)
    if asked["score"] is not None:
        changes["score"] = options.choose("--score", asked["score"], SCORES)
    if asked["score"] == "count":  # what Hugging Face's WordPieceTrainer does
        changes |= {"alphabet": "characters", "tie_break": "lowest-id"}
    if asked["tie_break"] is not None:
        changes["tie_break"] = options.choose("--tie-break", asked["tie_break"], TIE_BREAKS)
    changes |= _segmentation(base, asked)
    if asked["unk_token"] is not None:
        changes |= _unknown_token(base, asked["unk_token"])
    mark = changes.get("marker", base.marker).text
    for token in (*changes.get("special_tokens", base.special_tokens), *asked["special"]):
        _check_special(token, mark)
    recipe = replace(base, **changes).with_special_tokens(asked["special"])
    return recipe if recipe == base else replace(recipe, name="custom")


def _base(algo: str | None, preset_name: str | None, characters: bool | None) -> Recipe:
    """The preset or default recipe, in the units that are asked for."""
    from tokctl.presets import default_recipe, preset

    if preset_name is None:
        base = default_recipe(algo or "bpe", characters=bool(characters))
    else:
        base = preset(preset_name)
        if algo is not None and algo != base.algorithm:
            raise TokctlError(
                f"the preset {preset_name} is {base.algorithm}, not {algo}",
                "leave --algo or --preset out",
            )
    if characters is False and base.units != "bytes":
        raise TokctlError(
            f"{base.name} reads characters, and can't be trained on bytes",
            "leave --bytes out, or take --algo bpe",
        )
    if characters and base.units == "bytes":
        like = default_recipe(base.algorithm, characters=True)
        base = replace(base, units=like.units, alphabet=like.alphabet, tie_break=like.tie_break)
        base = replace(base, name="custom", **_unknown_token(base, like.unk_token or ""))
    return base


def _segmentation(base: Recipe, asked: Mapping[str, Any]) -> dict[str, Any]:
    from tokctl.recipe import UNKNOWNS

    changes: dict[str, Any] = {}
    segmentation = base.segmentation
    if asked["segment"] is not None:
        options.choose("--segment", asked["segment"], tuple(_SEGMENTATIONS))
        segmentation = changes["segmentation"] = _SEGMENTATIONS[asked["segment"]]
    if segmentation != "longest-match":
        _refuse(asked, ("unknown", "max_input_chars"), *_NOT_LONGEST_MATCH)
        changes["max_input_chars"] = None
    if asked["unknown"] is not None:
        changes["unknown"] = options.choose("--unknown", asked["unknown"], UNKNOWNS)
    if asked["max_input_chars"] is not None:
        changes["max_input_chars"] = asked["max_input_chars"]
    return changes


def _refuse(asked: Mapping[str, Any], names: Sequence[str], why: str, hint: str) -> None:
    for name in names:
        if asked[name] is not None:
            raise TokctlError(f"--{name.replace('_', '-')} {why}", hint)


def _unknown_token(base: Recipe, text: str) -> dict[str, Any]:
    """Puts the token where the old one was, else first; takes it away where `text` is empty."""
    if text and base.units == "bytes":
        raise TokctlError(
            "a byte-level model knows every byte: no token is ever unknown to it",
            "leave --unk-token out, or train on characters (--chars)",
        )
    old = base.special_tokens
    if base.unk_token is None:
        tokens = (text, *old)
    else:
        tokens = tuple(text if token == base.unk_token else token for token in old)
    tokens = tuple(dict.fromkeys(token for token in tokens if token))
    return {"unk_token": text or None, "special_tokens": tokens}


def _marker(asked: str, base: Recipe) -> Marker:
    from tokctl.recipe import MARKER_KINDS, Marker

    kind, _, text = asked.partition(":")
    if kind not in MARKER_KINDS or (kind == "none") != (text == ""):
        raise TokctlError(
            f"--marker can't be {asked!r}",
            "give a kind and a text: end:_, end-fused:</w>, start:Ġ, continuation:##; or none",
        )
    if (kind == "continuation") != (base.algorithm == "wordpiece"):
        fits = (
            "continuation:TEXT" if base.algorithm == "wordpiece" else "none, end, end-fused, start"
        )
        raise TokctlError(f"{base.algorithm} can't have a {kind} marker", f"choose: {fits}")
    return Marker(kind, text)


def _check_special(token: str, mark: str) -> None:
    if not token:
        raise TokctlError("a special token can't be empty", "for no unknown token: --unk-token ''")
    if len(token.removeprefix(mark).removesuffix(mark)) <= 1:
        raise TokctlError(
            f"the special token {token!r} is spelled like a symbol of the alphabet",
            "give it a spelling that no text has: <|endoftext|>, [SEP], …",
        )


def _check_text(value: str | None) -> None:
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise TokctlError(
            f"the argument {value!r} is not UTF-8", "a model file holds UTF-8 text only"
        ) from None
