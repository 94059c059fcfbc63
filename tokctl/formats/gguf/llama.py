"""SentencePiece's BPE as llama.cpp does it (`llm_tokenizer_spm`).

Spaces become `▁`, one is put before the text and behind each added token, and of two neighbours
that spell a token those of the highest score merge, the leftmost first. It knows no rules for
normalizing, keeps all spaces, and merges to any token, unused ones among them. A character
without a token is its bytes.
"""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.gguf import ends
from tokctl.formats.gguf.vocabulary import Vocabulary, added
from tokctl.model import Recipe
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import DECODERS, NORMALIZERS, Part

SPACE = "▁"
#: More ways than this to split control tokens in two are no vocabulary's.
_MOST_SPLITS = 1 << 24
_DEEPEST = 200


def read(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    falls_back = _falls_back(found)
    reserved = {found.ids[token.decode()] for token in BYTE_TOKENS} if falls_back else set()
    _check_unmade(found, sorted(found.special | reserved))
    tokens = added(found, [id_ for id_ in found.user_defined if SPACE in found.texts[id_]])
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 0)
    unk_token = found.texts[unknown] if unknown in found.special and unknown is not None else None
    if unk_token is None and not falls_back:
        raise TokctlError("it has neither an unknown token nor a token for each byte")
    prefix = found.keys.get("tokenizer.ggml.add_space_prefix", True)
    around = ends.ids(found, begins=True, ends=False, begin=1, end=2)
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        normalizers=spaces(prefix),
        segmentation="ranks",
        unk_token=unk_token,
        byte_fallback=falls_back,
        fuse_unknown=True,
        precision="single",
        post_processors=ends.template(found, tokens, *around),
        decoders=decoders(prefix, falls_back),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in found.texts],
        "scores": found.scores,
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def spaces(prefix: bool) -> tuple[Part, ...]:
    """`▁` for each space, and before the text."""
    parts = [NORMALIZERS.part("prepend", text=" ")] if prefix else []
    return (*parts, NORMALIZERS.part("replace", pattern=" ", content=SPACE))


def decoders(prefix: bool, falls_back: bool) -> tuple[Part, ...]:
    """A space for each `▁`, but none for the one that was put before the text."""
    parts = [DECODERS.part("replace", pattern=SPACE, content=" ")]
    if falls_back:
        parts.append(DECODERS.part("byte-fallback"))
    parts.append(DECODERS.part("fuse"))
    if prefix:
        parts.append(DECODERS.part("strip", content=" ", start=1))
    return tuple(parts)


def _falls_back(found: Vocabulary) -> bool:
    there = sum(token.decode() in found.ids for token in BYTE_TOKENS)
    if there not in (0, len(BYTE_TOKENS)):
        raise TokctlError(f"it has tokens for {there} of the 256 bytes, and not for all of them")
    return there > 0


def _check_unmade(found: Vocabulary, ids: list[int]) -> None:
    """TokctlError where merges of ordinary text make one of these tokens: there they do, here
    such tokens are apart."""
    known: dict[str, bool] = {}
    left = _MOST_SPLITS

    def made(text: str, depth: int = 0) -> bool:
        """Is it a character, or a token of two that are made?"""
        nonlocal left
        if len(text) == 1:
            return True
        if text not in found.ids:
            return False
        if text not in known:
            left -= len(text) ** 2
            if left < 0 or depth > _DEEPEST:
                raise TokctlError("its tokens can be made in more ways than tokctl checks")
            known[text] = False
            for at in range(1, len(text)):
                if made(text[:at], depth + 1) and made(text[at:], depth + 1):
                    known[text] = True
                    break
        return known[text]

    for id_ in ids:
        if made(found.texts[id_]):
            raise TokctlError(
                f"its control token {found.texts[id_]!r:.80} is made of ordinary text, too, by "
                "merging"
            )
