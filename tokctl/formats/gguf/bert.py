"""WordPiece as llama.cpp does it (`llm_tokenizer_wpm`).

Words start with `▁` in the file, where BERT has nothing, and go on without a mark, where BERT
has `##`. What happens to a text before is nearly BERT's, but not quite: every white space splits
words (BERT removes some controls that are), unassigned characters stay, of a Hangul syllable
only the first letter does, all kinds of marks are removed as accents, and a word is never too
long. A word with `▁` inside is the one thing that tokctl does otherwise: an unknown word.
"""

from __future__ import annotations

from typing import Any

import regex

from tokctl.errors import TokctlError
from tokctl.formats.gguf import ends
from tokctl.formats.gguf.llama import SPACE
from tokctl.formats.gguf.vocabulary import Vocabulary, added
from tokctl.model import Marker, Recipe
from tokctl.model.parts import NORMALIZERS, Part

_MARK = "##"
_ONE_WORD = regex.compile(r"[^\s\p{P}$+<=>^`|~]+")
#: Hangul syllables by their first letter (Unicode, 3.12): so many each, from U+AC00.
_SYLLABLES, _EACH, _LETTERS, _FIRST = 0xAC00, 588, 19, 0x1100


def read(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    if SPACE in found.ids:
        raise TokctlError(
            f"it has a token {SPACE!r}, which llama.cpp finds at the start of words it lacks"
        )
    # Where user-defined tokens start words, or go on them, they are found as others are.
    tokens = added(found, found.user_defined)
    for token in tokens:
        if token.special and _ONE_WORD.fullmatch(token.text):
            raise TokctlError(f"its control token {token.text!r:.80} goes on ordinary words, too")
    unknown = found.id_of("unknown", 100)
    if unknown is None or unknown not in found.special:
        raise TokctlError("it has no unknown token that is a control token")
    begin, end = found.id_of("bos", 101), found.id_of("seperator", 102)
    recipe = Recipe(
        name="gguf",
        algorithm="wordpiece",
        normalizers=_normalizers(found.keys),
        pre_tokenizers=("bert",),  # type: ignore[arg-type]
        marker=Marker("continuation", _MARK),
        segmentation="longest-match",
        unk_token=found.texts[unknown],
        post_processors=ends.template(found, tokens, begin, end),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    apart = {token.id for token in tokens if token.special}
    spelled = [
        text if id_ in apart else text[1:] if text.startswith(SPACE) else _MARK + text
        for id_, text in enumerate(found.texts)
    ]
    if len(set(spelled)) != len(spelled):
        raise TokctlError("two of its tokens are spelled alike as BERT spells them")
    parts = {"tokens": [text.encode() for text in spelled], "added_tokens": tuple(tokens)}
    return recipe, parts


def _normalizers(keys: dict[str, Any]) -> tuple[Part, ...]:
    lowercase = keys.get("tokenizer.ggml.normalizer.lowercase", True)
    strip = keys.get("tokenizer.ggml.normalizer.strip_accents", lowercase)

    def replace(pattern: str, content: str) -> Part:
        return NORMALIZERS.part("replace", pattern=pattern, content=content, regex=True)

    parts = []
    if strip:
        for letter in range(_LETTERS):
            start = _SYLLABLES + letter * _EACH
            pattern = f"[{chr(start)}-{chr(start + _EACH - 1)}]"
            parts.append(replace(pattern, chr(_FIRST + letter)))
        parts.append(NORMALIZERS.part("nfd"))
    parts.append(replace(r"(?!\s)[\p{Cc}\p{Cf}\p{Co}\uFFFD]", ""))
    if strip:
        parts.append(NORMALIZERS.part("strip-accents"))
    if lowercase:
        # It knows one small letter for each capital, and this has two in Unicode.
        parts.append(NORMALIZERS.part("replace", pattern="\u0130", content="i"))
        parts.append(NORMALIZERS.part("lowercase"))
    spacing = NORMALIZERS.part(
        "bert", clean_text=False, cjk_spacing=True, strip_accents=False, lowercase=False
    )
    return (*parts, spacing)
