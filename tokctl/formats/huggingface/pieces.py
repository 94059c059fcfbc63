"""A SentencePiece model as transformers takes a vocabulary out of it (`SentencePieceExtractor`
in `convert_slow_tokenizer.py`): pieces and scores, for BPE every pair that makes a piece.

That is not how SentencePiece itself runs the model: see the format `sentencepiece` for that.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats import charsmap, sentencepiece
from tokctl.formats.contract import LARGEST_VOCABULARY, Source
from tokctl.formats.huggingface.components import Json

_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
#: Each way to split a piece is a merge; no trainer makes longer ones.
_LONGEST_PIECE = 512
_MOST_CHARACTERS = 1 << 22


class Pieces(NamedTuple):
    """What is taken out of a model.

    Attributes:
        content: the fields of a model: `vocab`, and for BPE `merges`.
        rules: its normalizer, if it has rules.
        listed: the control and the user-defined pieces, as extra special tokens.
    """

    content: Json
    rules: list[Json]
    listed: list[Json]


def read(source: Source, model: str) -> Pieces:
    """The pieces for a model of the type `BPE` or `Unigram`."""
    proto = sentencepiece.parse(source.within(LARGEST_VOCABULARY))
    try:
        texts = [bytes(piece.piece).decode() for piece in proto.pieces]
    except UnicodeDecodeError:
        raise ValueError("a piece is not UTF-8") from None
    if not texts:
        raise ValueError("it has no pieces")
    types = [piece.type for piece in proto.pieces]
    listed = [
        {"content": text, "normalized": False, "special": kind == _CONTROL}
        for text, kind in zip(texts, types, strict=True)
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    content: Json = {}
    if model == "BPE":
        vocabulary = {text: id_ for id_, text in enumerate(texts)}
        content = {"vocab": vocabulary, "merges": merges(vocabulary)}
    else:
        scores = [float(piece.score) for piece in proto.pieces]
        content = {"vocab": list(zip(texts, scores, strict=True))}
        if _UNKNOWN in types:
            content["unk_id"] = types.index(_UNKNOWN)
    return Pieces(content, _rules(bytes(proto.normalizer_spec.precompiled_charsmap)), listed)


def _rules(blob: bytes) -> list[Json]:
    if not blob:
        return []
    charsmap.check(blob)
    return [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}]


def merges(vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Every pair of tokens that makes a token, by that token's id; of one token's pairs those
    first whose sides have the lower ids, but for the length of the left side."""
    if sum(map(len, vocabulary)) > _MOST_CHARACTERS:
        raise TokctlError(f"its pieces have more than {_MOST_CHARACTERS} characters")
    found: list[tuple[int, int, int, int, int, str, str]] = []
    for token, id_ in vocabulary.items():
        if len(token) > _LONGEST_PIECE:
            raise TokctlError(f"it has a piece of {len(token)} characters")
        for place in range(1, len(token)):
            left, right = token[:place], token[place:]
            ids = vocabulary.get(left), vocabulary.get(right)
            if ids[0] is not None and ids[1] is not None:
                found.append((id_, place, len(right), ids[0], ids[1], left, right))
    return [(left, right) for *_, left, right in sorted(found)]


def fairseq(content: Json, roles: dict[str, str]) -> Json:
    """The vocabulary with fairseq's four tokens in front and the mask at the end."""
    first = [roles[f"{role}_token"] for role in ("bos", "pad", "eos", "unk")]
    tokens: list[Any] = [(text, 0.0) for text in first]
    return {"vocab": [*tokens, *content["vocab"][3:], (roles["mask_token"], 0.0)]}
