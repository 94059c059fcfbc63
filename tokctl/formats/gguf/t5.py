"""SentencePiece's Unigram as llama.cpp does it (`llm_tokenizer_ugm`).

Sums are of double precision, as in Hugging Face's tokenizers. Spaces are put before text, never
before spaces alone. A user-defined token inside the normalized text scores 0.
"""

from __future__ import annotations

import base64
from typing import Any

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.formats import charsmap
from tokctl.formats.gguf import ends
from tokctl.formats.gguf.llama import SPACE, decoders
from tokctl.formats.gguf.vocabulary import BYTE, NORMAL, UNUSED, Vocabulary, added
from tokctl.model import Recipe
from tokctl.model.parts import NORMALIZERS, Part, native_parts

#: Characters of all that the rules leave alone.
_MOST_KEPT = 1 << 20


def read(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    if BYTE in found.types:
        raise TokctlError(
            "it is a Unigram model with tokens for bytes, which llama.cpp leaves unused"
        )
    if any(found.types[id_] in (NORMAL, UNUSED) for id_ in found.special):
        raise TokctlError("one of its ordinary tokens is spelled as a control token")
    user_defined = set(found.user_defined)
    tokens = added(found, user_defined)
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 2)
    if unknown is None or unknown not in found.special:
        raise TokctlError("it has no unknown token that is a control token")
    scores = [
        0.0 if id_ in user_defined or id_ in found.special else score
        for id_, score in enumerate(found.scores)
    ]
    normal = [score for score, kind in zip(scores, found.types, strict=True) if kind == NORMAL]
    if not normal:
        raise ValueError("it has no tokens but special ones")
    unused = [score for score, kind in zip(scores, found.types, strict=True) if kind == UNUSED]
    if min(normal) > min([*unused, *[0.0 for _ in user_defined]], default=min(normal)):
        raise TokctlError("its lowest score is of a token that llama.cpp does not count")
    prefix = found.keys.get("tokenizer.ggml.add_space_prefix", False)
    around = ends.ids(found, begins=False, ends=True, begin=None, end=1)
    recipe = Recipe(
        name="gguf",
        algorithm="unigram",
        normalizers=(*_rules(found), *_spaces(found.keys, prefix)),
        segmentation="viterbi",
        unk_token=found.texts[unknown],
        fuse_unknown=True,
        post_processors=ends.template(found, tokens, *around),
        decoders=decoders(prefix, falls_back=False),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in found.texts],
        "scores": scores,
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def _rules(found: Vocabulary) -> list[Part]:
    """The rules for normalizing, if there are any."""
    given = found.keys.get("tokenizer.ggml.precompiled_charsmap")
    keep = _kept([found.texts[id_] for id_ in found.user_defined])
    if given is None:
        return []
    if getattr(given, "typecode", " ") not in "bB":
        raise ValueError("its rules for normalizing are no list of bytes")
    rules = given.tobytes()
    charsmap.check(rules)
    if kind := charsmap.known(rules):
        return [NORMALIZERS.part(kind, keep=keep)]
    text = base64.b64encode(rules).decode()
    part = NORMALIZERS.part("precompiled", rules=text, keep=keep)
    try:
        _native.normalize(native_parts([part]), b"")
    except _native.CoreError as error:
        raise ValueError(f"its normalization rules are wrong: {error.args[0]}") from None
    return [part]


def _kept(texts: list[str]) -> list[str]:
    """What the rules leave alone: llama.cpp passes over all that begins as a user-defined token
    does, byte by byte, whether or not the token goes on."""
    if not all(map(str.isascii, texts)):
        wrong = next(text for text in texts if not text.isascii())
        raise TokctlError(
            f"it has the user-defined token {wrong!r:.80}, and llama.cpp takes characters apart "
            "that begin with the same byte"
        )
    if sum(len(text) ** 2 for text in texts) > _MOST_KEPT:
        raise TokctlError("its user-defined tokens are longer in all than tokctl reads")
    return sorted({text[:end] for text in texts for end in range(1, len(text) + 1)})


def _spaces(keys: dict[str, Any], prefix: bool) -> list[Part]:
    """What it does with spaces, behind its rules."""
    parts = []
    if keys.get("tokenizer.ggml.remove_extra_whitespaces", False):
        # Every word gets a space then, the first one also.
        parts.append(NORMALIZERS.part("strip-spaces"))
        parts.append(NORMALIZERS.part("collapse-spaces"))
        parts.append(NORMALIZERS.part("prepend", text=" "))
    elif prefix:
        pattern = r"\A(?= *[^ ])"
        parts.append(NORMALIZERS.part("replace", pattern=pattern, content=" ", regex=True))
    parts.append(NORMALIZERS.part("replace", pattern=" ", content=SPACE))
    return parts
