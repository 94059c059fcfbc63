"""Do a recipe's decoders give the text that SentencePiece gives?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from tokctl.formats.contract import Loss
from tokctl.formats.sentencepiece.spaces import MARK, Spaces, decoders
from tokctl.model import FilledRecipe
from tokctl.model.parts import Part


def decoding(model: FilledRecipe, spaces: Spaces) -> tuple[str, list[Loss]]:
    """What stands for an unknown piece, and a loss unless ids of a text become the same text."""
    recipe = model.recipe
    texts = [token.decode(errors="replace") for token in model.tokens]
    unk_token, found = recipe.unk_token or "<unk>", list(recipe.decoders)
    falls_back, words = recipe.byte_fallback, recipe.traits.learns_words
    surface = unk_token
    if found and found[0].kind == "replace" and found[0]["pattern"] == unk_token:
        surface = found[0]["content"]
        exact = decoders(spaces, texts, unk_token, surface, byte_fallback=falls_back, words=words)
        if found == list(exact) and not found[0]["regex"] and MARK not in surface:
            return surface, []
    if MARK in surface:
        # There it would stay as it is.
        what = f"that {surface!r} stands for an unknown piece, its {MARK} as a space"
        return surface.replace(MARK, " "), [Loss(what)]
    lost = [Loss(f"the decoders {', '.join(map(str, found)) or 'that leave every token as it is'}")]
    plain = (text for id_, text in enumerate(texts) if id_ not in model.special_ids.values())
    alike = _reads_alike(found, spaces, plain, byte_fallback=falls_back, words=words)
    return surface, [] if alike else lost


def _reads_alike(
    parts: list[Part], spaces: Spaces, texts: Iterable[str], *, byte_fallback: bool, words: bool
) -> bool:
    """Do these decoders give the texts of pieces that a text was segmented into?

    Such pieces begin with the `▁` that was put before the text, where one was, or are unknown.
    """
    texts = list(texts)
    kinds = [part.kind for part in parts if part.kind != "fuse"]
    if byte_fallback != ("byte-fallback" in kinds):
        return False
    apart = list(takewhile(lambda kind: kind != "fuse", (part.kind for part in parts)))
    if byte_fallback and "byte-fallback" not in apart:
        return False
    if byte_fallback and kinds[-1] != "byte-fallback" and (words or MARK not in texts):
        return False  # the mark may be among the bytes, and stays there
    kinds = [kind for kind in kinds if kind != "byte-fallback"]
    if not kinds:
        return not spaces.escape and not spaces.strips and not any(MARK in t for t in texts)
    begins = spaces.dummy == "before" and spaces.escape
    if kinds == ["metaspace"]:
        part = next(part for part in parts if part.kind == "metaspace")
        first = part["prepend"] != "never"
        # It removes every ▁ of the first token.
        single = not any(MARK in text[1:] for text in texts)
        return (
            part["replacement"] == MARK
            and first == spaces.strips
            and (not first or (begins and single and "metaspace" in apart))
        )
    spaced = [part for part in parts if part.kind == "replace"]
    if len(spaced) != 1 or (spaced[0]["pattern"], spaced[0]["content"]) != (MARK, " "):
        return False
    if kinds == ["replace"]:
        return not spaces.strips
    strips = [part for part in parts if part.kind == "strip"]
    if sorted(kinds) != ["replace", "strip"] or not spaces.strips or not begins:
        return False
    # Behind a fuse it is the text that is stripped, else every token.
    fused = any(part.kind == "fuse" for part in parts[: parts.index(strips[0])])
    wanted = MARK if parts.index(strips[0]) < parts.index(spaced[0]) else " "
    one = (strips[0]["content"], strips[0]["start"], strips[0]["stop"]) == (wanted, 1, 0)
    return fused and one
