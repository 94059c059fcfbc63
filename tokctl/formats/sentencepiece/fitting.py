"""A recipe's normalizers and pre-tokenizers as SentencePiece's options, and what
these can't say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokctl.formats import charsmap
from tokctl.formats.contract import Loss
from tokctl.formats.sentencepiece.decoding import decoding
from tokctl.formats.sentencepiece.reading import WORDS
from tokctl.formats.sentencepiece.spaces import EVERY, MARK, Spaces, normalizers
from tokctl.model import FilledRecipe
from tokctl.model.parts import Part

#: What runs of spaces are found by in models that Hugging Face's libraries make of others.
_RUNS = (" {2,}", " +", "  +", r"\s{2,}", "[ ]{2,}")


class Rules(NamedTuple):
    """The rules for normalizing: what they are called there, the blob, what they leave alone."""

    name: str = "identity"
    blob: bytes = b""
    keep: tuple[str, ...] = ()


class Fitted(NamedTuple):
    """The options that come nearest to a recipe.

    surface: what is written for an unknown piece.
    losses: what they do otherwise.
    """

    rules: Rules
    spaces: Spaces
    surface: str
    losses: list[Loss]


def fitted(model: FilledRecipe) -> Fitted:
    """The options for a model, whose recipe has an unknown token or needs none."""
    recipe = model.recipe
    rules, rest, losses = _rules(recipe.normalizers)
    splits = recipe.pre_tokenizers
    exact = [one for one in EVERY if normalizers(one, rules=bool(rules.blob)) == tuple(rest)]
    if exact and (splits == WORDS if recipe.traits.learns_words else not splits):
        spaces = exact[0]
    else:
        spaces, more = _nearest(model, rest, bool(rules.blob))
        losses += more
    if found := _joined_words(model):
        losses.append(found)
    surface, more = decoding(model, spaces)
    return Fitted(rules, spaces, surface, losses + more)


# -- rules ----------------------------------------------------------------------------


def _rules(parts: Sequence[Part]) -> tuple[Rules, list[Part], list[Loss]]:
    """The rules, the normalizers behind them, and what is lost of those before them."""
    for place, part in enumerate(parts):
        found = charsmap.blob_of(part)
        if found is None:
            continue
        lost = [_normalizer(before) for before in parts[:place]]
        if part.kind == "precompiled" and part["graphemes"]:
            lost.append(Loss("that its rules are applied to a whole grapheme where one fits"))
        return Rules(*found, keep=part["keep"]), list(parts[place + 1 :]), lost
    first = 0
    while first < len(parts) and _is_rule(parts[first]):
        first += 1
    if first and (blob := charsmap.of_replacements(parts[:first])):
        return Rules("user_defined", blob), list(parts[first:]), []
    return Rules(), list(parts), []


def _is_rule(part: Part) -> bool:
    """Does it put a text in the place of another, and is none of them a space or its mark?"""
    if part.kind != "replace" or part["regex"]:
        return False
    return not {" ", MARK} & {*part["pattern"], *part["content"]}


def _normalizer(part: Part) -> Loss:
    return Loss(f"the normalizer {part}")


# -- spaces ---------------------------------------------------------------------------


class _State:
    """What is done with spaces: how they are kept at the ends and inside, what is put before."""

    def __init__(self) -> None:
        self.left = self.right = self.inside = False  # removed, joined?
        self.prefix = ""  # "always", "unless" one is there
        self.escape = False
        self.losses: list[Loss] = []

    def step(self, part: Part) -> None:
        """Takes in one normalizer."""
        if (self.prefix or self.escape) and not _puts(part) and not _marks(part):
            self.losses.append(_normalizer(part))
        elif part.kind in ("strip-spaces", "strip"):
            self.left |= part["left"]
            self.right |= part["right"]
            if part.kind == "strip":
                what = "that other white space than spaces is removed at the ends of a text"
                self.losses.append(Loss(what))
        elif part.kind == "collapse-spaces" or _joins(part):
            self.inside = True
        elif _puts(part, marked=self.escape):
            self.prefix = "always"
        elif _marks(part) and part["content"] == MARK:
            self.escape = True
        else:
            self.losses.append(_normalizer(part))

    def split(self, part: Part) -> None:
        """Takes in one pre-tokenizer."""
        if part.kind == "metaspace" and part["replacement"] == MARK:
            self.escape = True
            if part["prepend"] != "never":
                self.prefix = self.prefix or "unless"
        elif part != WORDS[0] or not self.escape:
            self.losses.append(Loss(f"the pre-tokenizer {part}"))


def _puts(part: Part, *, marked: bool = False) -> bool:
    """Does it put a space before the text? marked: spaces are marks already."""
    if part.kind == "prepend":
        return part["text"] == MARK or (part["text"] == " " and not marked)
    return part.kind == "dummy-space" and not part["behind"] and not marked


def _marks(part: Part) -> bool:
    """Does it put something in the place of each space?"""
    return part.kind == "replace" and part["pattern"] == " " and not part["regex"]


def _joins(part: Part) -> bool:
    return (
        part.kind == "replace"
        and part["regex"]
        and part["pattern"] in _RUNS
        and part["content"] in (" ", MARK)
    )


def _nearest(model: FilledRecipe, parts: list[Part], rules: bool) -> tuple[Spaces, list[Loss]]:
    recipe, state = model.recipe, _State()
    for part in parts:
        state.step(part)
    for part in recipe.pre_tokenizers:
        state.split(part)
    if recipe.traits.learns_words and not recipe.pre_tokenizers:
        state.losses.append(Loss("that a whole text is one word"))
    tidy = state.inside or (state.left and state.right)
    spaces = Spaces("before" if state.prefix else "", tidy, state.escape)
    return spaces, state.losses + [Loss(what) for what in _differences(state, spaces, rules)]


def _differences(state: _State, spaces: Spaces, rules: bool) -> list[str]:
    """What happens to spaces there and not here, or here and not there."""
    found = []
    if spaces.tidy:
        if not state.left and state.prefix != "unless":
            found.append("spaces at the start of a text, which it removes")
        if not state.right:
            found.append("spaces at the end of a text, which it removes")
        if not state.inside:
            found.append("spaces side by side, which it joins")
        if spaces.escape:
            found.append(f"a {MARK} that a text itself has at its start or end")
    else:
        if state.left or state.right:
            found.append("that spaces at the ends of a text are removed, and others are not")
        if state.prefix == "unless":
            found.append(f"that a text which starts with a space, or {MARK}, gets no other")
        elif rules and state.prefix:
            found.append("that a text which its rules leave nothing of gets no space")
    return found


def _joined_words(model: FilledRecipe) -> Loss | None:
    """A token that reaches over the start of a word, where each word is a pre-token."""
    mark = MARK.encode()
    recipe = model.recipe
    splits = any(part.kind != "metaspace" or part["split"] for part in recipe.pre_tokenizers)
    if not splits or recipe.traits.learns_words:
        return None
    ordinary = (id_ for id_ in range(len(model.tokens)) if id_ not in model.apart)
    joined = next((id_ for id_ in ordinary if mark in model.tokens[id_][1:]), None)
    if joined is not None and not recipe.traits.learns_characters:
        return Loss(f"that words are split, which its piece {model.spelled[joined]!r} joins")
    if mark not in model.tokens and recipe.fuse_unknown and not recipe.byte_fallback:
        return Loss(f"that words are split: {MARK} has no token, and is one with its neighbours")
    return None
