"""The recipe that the options of `train` describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokctl.cli.options.declaring import choose, given_options
from tokctl.cli.options.train import RecipeOptions
from tokctl.core.errors import BadOption, TokctlError
from tokctl.core.humanize import listed
from tokctl.core.values import did_you_mean
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    is_lossless,
    template_pieces,
)

if TYPE_CHECKING:
    from tokctl.model import Marker, Recipe, TrainingStage
    from tokctl.model.parts import Part, PartFamily

#: Values of `--segment`, and the recipe's names for them.
_SEGMENTATIONS = {"longest-match": "longest-match", "merges": "replay"}
_NOT_LONGEST_MATCH = (
    "is for longest match, and this model replays its merges",
    "leave it out, or add --segment longest-match",
)


def recipe_of(
    chosen: RecipeOptions,
    extended: Recipe | None = None,
    note: Callable[[str], None] = lambda _message: None,
) -> Recipe:
    """Return the recipe that the options describe.

    The recipe keeps the name of its preset only if no option changes it; else it is `custom`.

    Args:
        chosen: the options of `train`.
        extended: the recipe of the model to extend, which fills in the options that are not given.
        note: called with a message for each default that is left out because it does not fit, and
            if the new model splits text in another way than the extended one.

    Raises:
        TokctlError: an option names something that does not exist, or options conflict.
    """
    _check_texts(chosen)
    base = _base(chosen, extended)
    check_algorithm(base, chosen)
    if base.is_byte_level:
        for name in ("byte_fallback", "fuse_unknown"):
            if getattr(chosen, name):
                raise BadOption(
                    f"--{name.replace('_', '-')} is for character-level models: to a byte-level "
                    "model no byte is unknown",
                    "leave it out, or train on characters (--chars)",
                    "conflict",
                )
    changes: dict[str, Any] = {}
    if chosen.marker is not None:
        changes["marker"] = _marker(chosen.marker, base)
    changes |= _merging(chosen)
    changes |= _segmentation(base, chosen)
    if chosen.unk_token is not None:
        changes |= _unknown_token(base, chosen.unk_token)
    for name in ("byte_fallback", "fuse_unknown"):
        if (value := getattr(chosen, name)) is not None:
            changes[name] = value
    if chosen.fuse_unknown and changes.get("unk_token", base.unk_token) is None:
        raise BadOption(
            "--fuse-unknown needs an unknown token, and this model has none",
            "leave it out, or name one: --unk-token '[UNK]'",
            "conflict",
        )
    mark = changes.get("marker", base.marker).text
    special = tuple(
        dict.fromkeys(
            (*changes.get("special_tokens", base.special_tokens), *(chosen.special or ()))
        )
    )
    for token in special:
        _check_special(token, mark)
    changes["special_tokens"] = special
    changes |= _part_changes(base, chosen, changes, note)
    changes["stages"] = _stages(base, chosen)
    recipe = replace(base, **changes)
    if extended is not None and extended.pre_tokenizers != recipe.pre_tokenizers:
        note(
            f"the model to extend splits text by {extended.splitting}, and the new one by "
            f"{recipe.splitting}: a text can get other ids than before"
        )
    return recipe if recipe == base else replace(recipe, name="custom")


def _base(chosen: RecipeOptions, extended: Recipe | None) -> Recipe:
    """Return the recipe to start from, with the units (bytes or characters) that are asked for.

    That is a preset, the recipe of the model to extend, or the default of an algorithm.
    """
    from tokctl.model.presets import default_recipe, preset

    algo, characters = chosen.algo, chosen.characters
    if extended is not None:
        if chosen.preset is not None:
            raise BadOption(
                "--preset and --extend both say how the model works",
                "leave --preset out: a model is extended with its own recipe",
                "conflict",
            )
        base, what = extended, "the model to extend"
        hint = "leave --algo out"
        if characters is not None and characters == base.is_byte_level:
            option = "--chars" if characters else "--bytes"
            raise BadOption(
                f"{what} has symbols of {base.units}", f"leave {option} out", "conflict"
            )
    elif chosen.preset is not None:
        base, what = preset(chosen.preset), f"the preset {chosen.preset}"
        hint = "leave --algo or --preset out"
    else:
        base, what, hint = (
            default_recipe("bpe" if algo is None else algo, characters=bool(characters)),
            "",
            "",
        )
    if algo is not None and algo != base.algorithm:
        raise BadOption(f"{what} is {base.algorithm}, not {algo}", hint, "conflict")
    if characters is False and not base.is_byte_level:
        raise BadOption(
            f"{base.name} reads characters, and can't be trained on bytes",
            "leave --bytes out, or take --algo bpe",
            "conflict",
        )
    if characters and base.is_byte_level:
        like = default_recipe(base.algorithm, characters=True)
        if like.is_byte_level:
            raise BadOption(
                f"{base.algorithm} reads bytes, and can't be trained on characters",
                "leave --chars out, or take --algo bpe",
                "conflict",
            )
        base = replace(base, units=like.units, alphabet=like.alphabet, tie_break=like.tie_break)
        base = replace(base, name="custom", **_unknown_token(base, like.unk_token or ""))
    return base


def check_algorithm(recipe: Recipe, *groups: object) -> None:
    """Raise TokctlError if an option is for other algorithms than the recipe's."""
    from tokctl.model import ALGORITHMS

    by_option: dict[str, list[str]] = {}
    for algorithm in ALGORITHMS.values():
        for name in algorithm.options:
            by_option.setdefault(f"--{name.replace('_', '-')}", []).append(algorithm.name)
    for option, value in chain.from_iterable(given_options(group).items() for group in groups):
        names = by_option.get(option, [recipe.algorithm])
        # By default, what is unknown is dropped.
        if recipe.algorithm not in names and (option, value) != ("--unknown", "drop"):
            hint = f"take --algo {listed(names, 'or')}" if names[1:] else f"add --algo {names[0]}"
            raise BadOption(
                f"{option} is for {listed(names)}, and this is {recipe.algorithm}",
                f"leave it out, or {hint}",
                "conflict",
            )


def _merging(chosen: RecipeOptions) -> dict[str, Any]:
    from tokctl.model import SCORES, TIE_BREAKS

    changes: dict[str, Any] = {}
    if chosen.score is not None:
        changes["score"] = choose("--score", chosen.score, SCORES)
    if chosen.score == "count":  # what Hugging Face's WordPieceTrainer does
        changes |= {"alphabet": "characters", "tie_break": "lowest-id"}
    if chosen.tie_break is not None:
        changes["tie_break"] = choose("--tie-break", chosen.tie_break, TIE_BREAKS)
    return changes


def _stages(base: Recipe, chosen: RecipeOptions) -> tuple[TrainingStage, ...]:
    """Return the stages of the training; limits on the tokens are for the last stage."""
    from tokctl.model import TrainingStage

    if chosen.transition is not None:
        base = base.with_transition(chosen.transition)
    limits: dict[str, Any] = {}
    if chosen.max_words is not None:
        limits["max_words"] = chosen.max_words
    if chosen.forbid is not None:
        none = chosen.forbid == ["none"]
        limits["forbidden"] = () if none else tuple(dict.fromkeys(chosen.forbid))
    if not limits:
        return base.stages
    *earlier, last = base.stages or (TrainingStage(),)
    return (*earlier, replace(last, **limits))


def _segmentation(base: Recipe, chosen: RecipeOptions) -> dict[str, Any]:
    from tokctl.model import UNKNOWNS

    changes: dict[str, Any] = {}
    if chosen.segment is not None:
        choose("--segment", chosen.segment, tuple(_SEGMENTATIONS))
        changes["segmentation"] = _SEGMENTATIONS[chosen.segment]
    if not replace(base, **changes).matches_longest:
        for name in ("unknown", "max_input_chars"):
            if getattr(chosen, name) not in (None, "drop"):
                why, hint = _NOT_LONGEST_MATCH
                raise BadOption(f"--{name.replace('_', '-')} {why}", hint, "conflict")
        changes["max_input_chars"] = None
    if chosen.unknown is not None:
        if chosen.unknown not in UNKNOWNS:
            raise BadOption(
                f"invalid value {chosen.unknown!r} for --unknown",
                f"{did_you_mean(chosen.unknown, UNKNOWNS)}the token's text is --unk-token; "
                f"choose one of: {', '.join(UNKNOWNS)}",
                "bad-value",
            )
        changes["unknown"] = chosen.unknown
        if chosen.unknown == "drop":
            changes |= _unknown_token(base, "")
    if chosen.max_input_chars is not None:
        changes["max_input_chars"] = chosen.max_input_chars
    if chosen.graphemes:
        changes["segmentation"] = "lookup"  # each pre-token is one grapheme
    return changes


def _unknown_token(base: Recipe, text: str) -> dict[str, Any]:
    """Return the changes that make `text` the unknown token; an empty `text` removes the token.

    The new token takes the place of the old one among the special tokens, or the first place.
    """
    from tokctl.model import UNKNOWNS

    if text in UNKNOWNS:
        raise BadOption(
            f"invalid value {text!r} for --unk-token: this is a value of --unknown",
            f"write --unknown {text}, or give the text of a token, for example '[UNK]'",
            "bad-value",
        )
    if text and base.is_byte_level:
        raise BadOption(
            "a byte-level model knows every byte: no token is ever unknown to it",
            "leave --unk-token out, or train on characters (--chars)",
            "conflict",
        )
    old = base.special_tokens
    if base.unk_token is None:
        tokens = (text, *old)
    else:
        tokens = tuple(text if token == base.unk_token else token for token in old)
    tokens = tuple(dict.fromkeys(token for token in tokens if token))
    return {"unk_token": text or None, "special_tokens": tokens}


def _marker(chosen: str, base: Recipe) -> Marker:
    from tokctl.model import MARKER_KINDS, Marker

    kind, _, text = chosen.partition(":")
    if kind not in MARKER_KINDS or (kind == "none") != (text == ""):
        raise BadOption(
            f"invalid value {chosen!r} for --marker",
            "give a kind and a text: end:_, end-fused:</w>, start:Ġ, continuation:##; or none",
            "bad-value",
        )
    marker = Marker(kind, text)
    if marker.is_continuation != base.marker.is_continuation:
        has_one = base.marker.is_continuation
        fits = "continuation:TEXT" if has_one else "none, end, end-fused, start"
        raise BadOption(
            f"{base.algorithm} can't have {'an' if kind[0] == 'e' else 'a'} {kind} marker",
            f"choose: {fits}",
            "conflict",
        )
    return marker


def _check_special(token: str, mark: str) -> None:
    if not token:
        raise BadOption(
            "a special token can't be empty",
            "give the token a text; --unk-token '' trains without an unknown token",
            "bad-value",
        )
    if len(token.removeprefix(mark).removesuffix(mark)) <= 1:
        raise BadOption(
            f"the special token {token!r} is spelled like a symbol of the alphabet",
            "give it a spelling that no text has: <|endoftext|>, [SEP], …",
            "bad-value",
        )


def _check_texts(chosen: RecipeOptions) -> None:
    for given in vars(chosen).values():
        values: Sequence[Any] = given if isinstance(given, (list, tuple)) else [given]
        for value in values:
            try:
                str(value).encode()
            except UnicodeEncodeError:
                raise BadOption(
                    f"the argument {value!r} is not UTF-8",
                    "write the argument in UTF-8: a model file holds only UTF-8",
                    "bad-value",
                ) from None


#: Decoders that turn the `▁` of the pre-tokenizer `metaspace` back into spaces.
_OF_METASPACE = ("metaspace", "replace", "strip")
_MAKE_SPACES = ("metaspace", "replace", "join", "wordpiece")


def _part_changes(
    base: Recipe, chosen: RecipeOptions, others: Mapping[str, Any], note: Callable[[str], None]
) -> dict[str, Any]:
    """Return the changes of `base` by the options of its parts.

    Args:
        base: the recipe to change.
        chosen: the options by name.
        others: the changes by other options.
        note: called with a message for each decoder that is left out, with the reason.

    Raises:
        TokctlError: a part does not exist, or its description is invalid.
    """
    found: dict[str, Any] = {}
    if chosen.normalize:
        found["normalizers"] = _parts(NORMALIZERS, "--normalize", chosen.normalize)
    if chosen.pretokenize:
        found["pre_tokenizers"] = _parts(PRE_TOKENIZERS, "--pretokenize", chosen.pretokenize)
    if chosen.graphemes:
        before = found.get("pre_tokenizers", base.pre_tokenizers)
        last = PRE_TOKENIZERS.part("graphemes")
        found["pre_tokenizers"] = (*(part for part in before if part != last), last)
    if chosen.template is not None:
        special = others.get("special_tokens", base.special_tokens)
        found["post_processors"] = _template(base, chosen.template, special)
    if chosen.decoder:
        found["decoders"] = _parts(DECODERS, "--decoder", chosen.decoder)
        _check_bytes_are_spelled(base, {**others, **found})
        return found
    decoders = _fitting_decoders(base, {**others, **found}, note)
    if decoders != base.decoders:
        found["decoders"] = decoders
    return found


def _check_bytes_are_spelled(base: Recipe, changed: Mapping[str, Any]) -> None:
    """Raise TokctlError if the decoder byte-level would read plain text as spelled bytes.

    Existing model files may combine the two; a new model could not give its text back.
    """
    spelled = changed.get("units", base.units) == "bytes" or any(
        part.kind == "byte-level" for part in changed.get("pre_tokenizers", base.pre_tokenizers)
    )
    if not spelled and any(part.kind == "byte-level" for part in changed["decoders"]):
        raise BadOption(
            "the decoder byte-level does not fit: it needs a byte-level model",
            "leave the decoder out to use the recipe's own",
            "conflict",
        )


def _parts(family: PartFamily, option: str, given: Sequence[str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for text in given:
        if not text.strip():
            raise BadOption(
                f"{option} is empty", f"for no {family.name}: {option} none", "bad-value"
            )
        try:
            parts += [] if text.strip() == "none" else family.parse_list(text.lstrip())
        except TokctlError as error:
            if error.hint:
                raise
            raise error.reworded(hint=f"see {option} in: tokctl train --help") from None
    return tuple(parts)


def _template(base: Recipe, text: str, special: Sequence[str]) -> tuple[Part, ...]:
    others = tuple(part for part in base.post_processors if part.kind != "template")
    if text.strip() == "none":
        return others
    if "$A" not in text:
        raise BadOption(
            f"the template {text!r} has no place for the text",
            "write it as $A, quoted for the shell: '[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'",
            "bad-value",
        )
    part = POST_PROCESSORS.parse(f"template:{text}")
    pieces = [*template_pieces(part["single"]), *template_pieces(part["pair"])]
    named = dict.fromkeys(piece.token for piece in pieces if piece.token is not None)
    if missing := [token for token in named if token not in special]:
        from shlex import quote

        raise BadOption(
            f"the template {text!r} names {missing[0]}, which is not a special token",
            "make it one: " + " ".join(f"--special-token {quote(token)}" for token in missing),
            "unknown-name",
        )
    return (*others, part)


def _fitting_decoders(
    base: Recipe, changed: Mapping[str, Any], note: Callable[[str], None]
) -> tuple[Part, ...]:
    """Return the decoders of `base`, adapted to the changed recipe.

    Decoders that undo a removed step are dropped, and decoders that undo a new step are added. No
    option names decoders here, so the ones that restore the text best are chosen.
    """
    decoders = _for_spaces(base, changed)
    marker = changed.get("marker", base.marker)
    if "marker" in changed:
        # WordPiece's decoder still removes the old marker; let it remove the new one.
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
            raise BadOption(
                "--byte-fallback can't be combined with a word marker: each byte of a character "
                "would carry the marker",
                "leave it out, or take --marker none --pretokenize metaspace",
                "conflict",
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
        note(f"the {what} left out: {why}")
    pre_tokenizers = changed.get("pre_tokenizers", base.pre_tokenizers)
    dropping = [part for part in pre_tokenizers if not _keeps_text(part)]
    spaced = bool(marker.text) or any(part.kind in _MAKE_SPACES for part in decoders)
    if "pre_tokenizers" in changed and dropping and not spaced:
        note(f"the pre-tokenizer {dropping[0]} drops spaces, and decoding can't bring them back")
    return decoders


def _for_spaces(base: Recipe, changed: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the decoders of `base`, with the ones for spaces that the pre-tokenizers need."""
    decoders = base.decoders
    marker = changed.get("marker", base.marker)
    pre_tokenizers = changed.get("pre_tokenizers", base.pre_tokenizers)
    before, after = _metaspace(base.pre_tokenizers), _metaspace(pre_tokenizers)
    if before != after:
        # A metaspace decoder is only right for the `▁` of its pre-tokenizer.
        if before is not None:
            decoders = tuple(part for part in decoders if part.kind not in _OF_METASPACE)
        if after is not None and (not marker.text or marker.is_continuation):
            decoders = tuple(part for part in decoders if part.kind not in ("join", "wordpiece"))
            prepend, replacement = after
            undo = DECODERS.part("metaspace", prepend=prepend, replacement=replacement)
            bare = marker.text and DECODERS.part("replace", pattern=marker.text, content="")
            decoders = (*([bare] if bare else []), undo, *decoders)
    if "pre_tokenizers" in changed and all(map(is_lossless, pre_tokenizers)):
        # The tokens contain the spaces, so `join` would add a second one.
        decoders = tuple(part for part in decoders if part.kind != "join")
    return decoders


def _keeps_text(part: Part) -> bool:
    return is_lossless(part) or part.kind in ("metaspace", "prefix-space")


#: Why a decoder is left out, as the note to the user says it.
_WHY_LEFT_OUT = {
    **dict.fromkeys(_OF_METASPACE, "nothing shows spaces as metaspace does"),
    "join": "the tokens hold the spaces themselves",
    "wordpiece": "the spaces are those of the pre-tokenizer metaspace",
    "byte-fallback": "there are no bytes to fall back to",
}


def _metaspace(pre_tokenizers: Sequence[Part]) -> tuple[str, str] | None:
    """Return `prepend` and `replacement` of the pre-tokenizer `metaspace`, or None without it."""
    for part in pre_tokenizers:
        if part.kind == "metaspace":
            return part["prepend"], part["replacement"]
    return None
