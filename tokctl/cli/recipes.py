"""The recipe that the options of `train` describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokctl.cli import options, recipe_parts
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.model import Marker, Recipe

#: As the option calls them, and as a recipe does.
_SEGMENTATIONS = {"longest-match": "longest-match", "merges": "replay"}
_NOT_LONGEST_MATCH = (
    "is for longest match, and this model replays its merges",
    "leave it out, or add --segment longest-match",
)

#: The options that only some algorithms have.
_NOT_FOR_ALL = (
    "score",
    "segment",
    "unknown",
    "max_input_chars",
    "marker",
    "tie_break",
    "show_steps",
    "min_frequency",
    "byte_fallback",
    "fuse_unknown",
    "graphemes",
)


def recipe_of(
    asked: Mapping[str, Any],
    extended: Recipe | None = None,
    tell: recipe_parts.Tell = lambda _message: None,
) -> Recipe:
    """The recipe that `asked` describes: the options by their names in `train`; None: not given.

    It keeps its name only where nothing about it was changed; else it is `custom`.

    Args:
        extended: that of the model which the training goes on from: what is not asked
            for is as there.
        tell: hears which defaults do not fit what was asked for, and are left out.

    Raises:
        TokctlError: what is asked for does not exist, or does not go together.
    """
    _check_texts(asked)
    base = _base(asked, extended)
    _refuse_others(base, asked)
    changes: dict[str, Any] = {}
    if asked["marker"] is not None:
        changes["marker"] = _marker(asked["marker"], base)
    changes |= _merging(asked)
    changes |= _segmentation(base, asked)
    if asked["unk_token"] is not None:
        changes |= _unknown_token(base, asked["unk_token"])
    for name in ("byte_fallback", "fuse_unknown"):
        if asked[name] is not None:
            changes[name] = asked[name]
    if asked["fuse_unknown"] and changes.get("unk_token", base.unk_token) is None:
        raise TokctlError(
            "--fuse-unknown needs an unknown token, and this model has none",
            "leave it out, or name one: --unk-token '[UNK]'",
        )
    mark = changes.get("marker", base.marker).text
    special = tuple(
        dict.fromkeys((*changes.get("special_tokens", base.special_tokens), *asked["special"]))
    )
    for token in special:
        _check_special(token, mark)
    changes["special_tokens"] = special
    changes |= recipe_parts.changes(base, asked, changes, tell)
    recipe = replace(base, **changes)
    return recipe if recipe == base else replace(recipe, name="custom")


def _base(asked: Mapping[str, Any], extended: Recipe | None) -> Recipe:
    """The preset, the default recipe or that of the model to extend, in the units that are
    asked for."""
    from tokctl.model.presets import default_recipe, preset

    algo, characters = asked["algo"], asked["characters"]
    if extended is not None:
        if asked["preset"] is not None:
            raise TokctlError(
                "--preset and --extend both say how the model works",
                "leave --preset out: a model is extended with its own recipe",
            )
        base, what = extended, "the model to extend"
        hint = "leave --algo out"
        if characters is not None and characters == base.is_byte_level:
            option = "--chars" if characters else "--bytes"
            raise TokctlError(f"{what} has symbols of {base.units}", f"leave {option} out")
    elif asked["preset"] is not None:
        base, what = preset(asked["preset"]), f"the preset {asked['preset']}"
        hint = "leave --algo or --preset out"
    else:
        base, what, hint = default_recipe(algo or "bpe", characters=bool(characters)), "", ""
    if algo is not None and algo != base.algorithm:
        raise TokctlError(f"{what} is {base.algorithm}, not {algo}", hint)
    if characters is False and not base.is_byte_level:
        raise TokctlError(
            f"{base.name} reads characters, and can't be trained on bytes",
            "leave --bytes out, or take --algo bpe",
        )
    if characters and base.is_byte_level:
        like = default_recipe(base.algorithm, characters=True)
        base = replace(base, units=like.units, alphabet=like.alphabet, tie_break=like.tie_break)
        base = replace(base, name="custom", **_unknown_token(base, like.unk_token or ""))
    return base


def _refuse_others(base: Recipe, asked: Mapping[str, Any]) -> None:
    """TokctlError where an option is for other algorithms than that of `base`."""
    for name in _NOT_FOR_ALL:
        # A number that does nothing is as good as none.
        given = asked[name] not in (None, False, 0) and (name, asked[name]) != ("min_frequency", 1)
        if given and name not in base.traits.options:
            from tokctl.model import ALGORITHMS

            option = f"--{name.replace('_', '-')}"
            *most, last = (one.name for one in ALGORITHMS.values() if name in one.options)
            fitting = f"{', '.join(most)} and {last}" if most else last
            choice = f"take --algo {', '.join(most)} or {last}" if most else f"add --algo {last}"
            raise TokctlError(
                f"{option} is for {fitting}, and this is {base.algorithm}",
                f"leave it out, or {choice}",
            )
    if base.is_byte_level:
        for name in ("byte_fallback", "fuse_unknown"):
            if asked[name]:
                raise TokctlError(
                    f"--{name.replace('_', '-')} is for models of characters: to one of bytes "
                    "no byte is unknown",
                    "leave it out, or train on characters (--chars)",
                )


def _merging(asked: Mapping[str, Any]) -> dict[str, Any]:
    from tokctl.model import SCORES, TIE_BREAKS

    changes: dict[str, Any] = {}
    if asked["score"] is not None:
        changes["score"] = options.choose("--score", asked["score"], SCORES)
    if asked["score"] == "count":  # what Hugging Face's WordPieceTrainer does
        changes |= {"alphabet": "characters", "tie_break": "lowest-id"}
    if asked["tie_break"] is not None:
        changes["tie_break"] = options.choose("--tie-break", asked["tie_break"], TIE_BREAKS)
    return changes


def _segmentation(base: Recipe, asked: Mapping[str, Any]) -> dict[str, Any]:
    from tokctl.model import UNKNOWNS

    changes: dict[str, Any] = {}
    if asked["segment"] is not None:
        options.choose("--segment", asked["segment"], tuple(_SEGMENTATIONS))
        changes["segmentation"] = _SEGMENTATIONS[asked["segment"]]
    if not replace(base, **changes).matches_longest:
        for name in ("unknown", "max_input_chars"):
            if asked[name] is not None:
                why, hint = _NOT_LONGEST_MATCH
                raise TokctlError(f"--{name.replace('_', '-')} {why}", hint)
        changes["max_input_chars"] = None
    if asked["unknown"] is not None:
        changes["unknown"] = options.choose("--unknown", asked["unknown"], UNKNOWNS)
    if asked["max_input_chars"] is not None:
        changes["max_input_chars"] = asked["max_input_chars"]
    if asked["graphemes"]:
        changes["segmentation"] = "lookup"  # of what the pre-tokenizer has split off
    return changes


def _unknown_token(base: Recipe, text: str) -> dict[str, Any]:
    """Puts the token where the old one was, else first; takes it away where `text` is empty."""
    if text and base.is_byte_level:
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
    from tokctl.model import MARKER_KINDS, Marker

    kind, _, text = asked.partition(":")
    if kind not in MARKER_KINDS or (kind == "none") != (text == ""):
        raise TokctlError(
            f"--marker can't be {asked!r}",
            "give a kind and a text: end:_, end-fused:</w>, start:Ġ, continuation:##; or none",
        )
    marker = Marker(kind, text)
    if marker.is_continuation != base.traits.marks_continuations:
        fits = (
            "continuation:TEXT"
            if base.traits.marks_continuations
            else "none, end, end-fused, start"
        )
        raise TokctlError(
            f"{base.algorithm} can't have {'an' if kind[0] == 'e' else 'a'} {kind} marker",
            f"choose: {fits}",
        )
    return marker


def _check_special(token: str, mark: str) -> None:
    if not token:
        raise TokctlError("a special token can't be empty", "for no unknown token: --unk-token ''")
    if len(token.removeprefix(mark).removesuffix(mark)) <= 1:
        raise TokctlError(
            f"the special token {token!r} is spelled like a symbol of the alphabet",
            "give it a spelling that no text has: <|endoftext|>, [SEP], …",
        )


def _check_texts(asked: Mapping[str, Any]) -> None:
    for given in asked.values():
        values: Sequence[Any] = given if isinstance(given, (list, tuple)) else [given]
        for value in values:
            try:
                str(value).encode()
            except UnicodeEncodeError:
                raise TokctlError(
                    f"the argument {value!r} is not UTF-8", "a model file holds UTF-8 text only"
                ) from None
