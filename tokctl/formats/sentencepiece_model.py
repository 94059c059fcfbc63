"""SentencePiece's model files, read only.

What its library does with them, by its source (`src/normalizer.cc`, `src/*_model.cc`,
`src/sentencepiece_processor.cc`), in terms of a recipe:

- Its rules come first, then spaces are removed and joined, then `▁` is put before the text
  and in place of each space: all of them normalizers, because it matches user-defined
  pieces in the text that results. It splits nothing. At the end of the text it removes `▁`,
  those that the text itself spells among them.
- A word model makes one unknown token of all unknown words side by side: refused.
- Control, unknown and unused pieces are special tokens. Text never spells them.
- User-defined pieces are found first in BPE and character models, and never merged with
  what stands beside them: added tokens, matched literally in the normalized text. In a
  Unigram model they are pieces that nothing scores higher than, and are so here.
- Decoding takes one `▁` of the first piece away, and where extra spaces are removed one of
  each piece before any text: all of them, unless a piece starts with two. It gives control
  pieces their name, where SentencePiece leaves them out.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from typing import Any

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.formats import charsmap, sentencepiece_proto
from tokctl.formats.contract import Source
from tokctl.pipeline import DECODERS, NORMALIZERS, AddedToken, Part, native_parts
from tokctl.recipe import FilledRecipe, Origin, Recipe, user_defined_score
from tokctl.recipe.symbols import BYTE_TOKENS

#: The name of every recipe that comes out of such a file.
NAME = "sentencepiece"
_SPACE = "▁"
_ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_SEGMENTATIONS = {"unigram": "viterbi", "bpe": "ranks", "char": "symbols"}
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6
_UNKNOWN_SURFACE = " \u2047 "
_ALL = 2**31 - 1


#: The first field of the message is a piece, whose first field is its text.
_START = re.compile(rb"\n(?:[\x00-\x7f]|[\x80-\xff]{1,4}[\x00-\x7f])\n")


def is_one(source: Source) -> bool:
    """Does it begin with a piece?"""
    return _START.match(source.head) is not None


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where it is not whole."""
    name = source.name
    try:
        return _filled(sentencepiece_proto.parse(source.data))
    except ValueError as error:
        raise TokctlError(
            f"{name} is no model file, or a damaged one: {error}",
            "copy it again from where it came",
        ) from None
    except TokctlError as error:
        raise TokctlError(f"tokctl can't use {name}: {error.message}", error.hint) from None


def _filled(proto: Any) -> FilledRecipe:
    algorithm = _ALGORITHMS.get(proto.trainer_spec.model_type)
    if algorithm is None:
        raise ValueError(f"its model type is {proto.trainer_spec.model_type}")
    if proto.denormalizer_spec.precompiled_charsmap:
        raise TokctlError("it has rules for denormalizing, which tokctl lacks")
    tokens = [bytes(piece.piece) for piece in proto.pieces]
    types = [piece.type for piece in proto.pieces]
    texts = _texts(tokens)
    _check(proto, algorithm, texts, types)
    scores = [float(piece.score) for piece in proto.pieces]
    if not all(map(math.isfinite, scores)):
        raise ValueError("one of its scores is no number")
    if algorithm == "unigram":
        scores = [
            user_defined_score(token) if kind == _USER_DEFINED else score
            for token, score, kind in zip(tokens, scores, types, strict=True)
        ]
    keep = [text for text, kind in zip(texts, types, strict=True) if kind == _USER_DEFINED]
    rules = _rules(proto.normalizer_spec, keep)
    added = _added(algorithm, texts, types)
    recipe = Recipe(
        name=NAME,
        algorithm=algorithm,
        normalizers=(*rules, *_normalizers(proto)),
        pre_tokenizers=(),
        segmentation=_SEGMENTATIONS[algorithm],
        unk_token=texts[types.index(_UNKNOWN)],
        byte_fallback=proto.trainer_spec.byte_fallback and algorithm in ("unigram", "bpe"),
        fuse_unknown=True,
        precision="single",
        decoders=tuple(_decoders(proto, texts, texts[types.index(_UNKNOWN)])),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    return FilledRecipe(
        recipe,
        tokens,
        scores=scores if algorithm in ("unigram", "bpe") else [],
        added_tokens=tuple(added),
        origin=Origin("sentencepiece"),
    )


def _texts(tokens: list[bytes]) -> list[str]:
    texts = []
    for id_, token in enumerate(tokens):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            raise ValueError(f"piece {id_} is not UTF-8") from None
        if not token:
            raise ValueError(f"piece {id_} is empty")
    return texts


def _check(proto: Any, algorithm: str, texts: list[str], types: list[int]) -> None:
    """What SentencePiece itself asks of the pieces, and what tokctl can't do."""
    if algorithm == "word":
        raise TokctlError(
            "its word model makes one unknown token of all unknown words side by side, and "
            "tokctl one of each",
            _TRAIN_ANOTHER,
        )
    if not texts:
        raise ValueError("it has no pieces")
    if set(types) - {_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE}:
        raise ValueError("one of its pieces is of an unknown type")
    if types.count(_UNKNOWN) != 1:
        raise ValueError(f"it has {types.count(_UNKNOWN)} unknown pieces, and should have one")
    reserved = (_UNKNOWN, _CONTROL, _BYTE)
    keys = [(kind in reserved, text) for text, kind in zip(texts, types, strict=True)]
    if len(set(keys)) != len(keys):
        times = Counter(keys)
        twice = next(key[1] for key in keys if times[key] > 1)
        raise ValueError(f"the piece {twice!r} is there twice")
    found = {text for text, kind in zip(texts, types, strict=True) if kind == _BYTE}
    wanted = {token.decode() for token in BYTE_TOKENS}
    if proto.trainer_spec.byte_fallback:
        if found != wanted:
            raise ValueError("its byte pieces are not all there")
        if algorithm == "char":
            raise TokctlError("its char model falls back to bytes", _TRAIN_ANOTHER)
    elif found:
        raise ValueError("it has byte pieces, but no byte fallback")
    if algorithm == "bpe" and _UNUSED in types:
        raise TokctlError(
            f"its piece {texts[types.index(_UNUSED)]!r} is unused, and is taken apart again "
            "where merges make it",
            "use the model without a restricted vocabulary",
        )


_TRAIN_ANOTHER = "train such a model with unigram or bpe"


def _rules(spec: Any, keep: list[str]) -> list[Part]:
    """The rules for normalizing, if there are any; they leave `keep` alone."""
    rules = bytes(spec.precompiled_charsmap)
    if not rules:
        return []
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


def _added(algorithm: str, texts: list[str], types: list[int]) -> list[AddedToken]:
    """The pieces that ordinary text does not make, and those that are found first."""
    added = []
    for id_, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (_UNKNOWN, _CONTROL, _UNUSED):
            added.append(AddedToken(text, id_))
        if kind == _USER_DEFINED and algorithm in ("bpe", "char"):
            added.append(AddedToken(text, id_, special=False, normalized=True, literal=True))
    return added


def _normalizers(proto: Any) -> list[Part]:
    """What it does with spaces, behind its rules."""
    spec = proto.normalizer_spec
    parts = []
    tidy, escape = spec.remove_extra_whitespaces, spec.escape_whitespaces
    if tidy:
        parts.append(NORMALIZERS.part("strip-spaces", right=not escape))
        parts.append(NORMALIZERS.part("collapse-spaces"))
    if spec.add_dummy_prefix:
        if proto.trainer_spec.treat_whitespace_as_suffix:
            raise TokctlError(
                f"its words end with {_SPACE} instead of starting with it",
                "train it without --treat_whitespace_as_suffix",
            )
        parts.append(NORMALIZERS.part("prepend", text=" "))
    if tidy and escape:
        # At the end it removes its own ▁ and the text's alike; nothing else tells them apart.
        parts.append(NORMALIZERS.part("replace", pattern=_SPACE, content=" "))
        parts.append(NORMALIZERS.part("strip-spaces", left=False))
    if escape:
        parts.append(NORMALIZERS.part("replace", pattern=" ", content=_SPACE))
    return parts


def _decoders(proto: Any, texts: list[str], unk_token: str) -> list[Part]:
    spec, trained = proto.normalizer_spec, proto.trainer_spec
    surface = _UNKNOWN_SURFACE
    if trained.HasField("unk_surface"):
        try:
            surface = bytes(trained.unk_surface).decode()
        except UnicodeDecodeError:
            raise ValueError("what it writes for an unknown piece is not UTF-8") from None
    parts = [DECODERS.part("replace", pattern=unk_token, content=surface)]
    if trained.byte_fallback:
        parts.append(DECODERS.part("byte-fallback"))
    parts.append(DECODERS.part("fuse"))
    if spec.add_dummy_prefix or spec.remove_extra_whitespaces:
        # Before ▁ is a space: what stands for an unknown piece starts with one, too.
        twice = any(piece.startswith(_SPACE * 2) for piece in texts)
        most = _ALL if spec.remove_extra_whitespaces and not twice else 1
        parts.append(DECODERS.part("strip", content=_SPACE, start=most))
    parts.append(DECODERS.part("replace", pattern=_SPACE, content=" "))
    return parts
