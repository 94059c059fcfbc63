"""SentencePiece's model files read: what its library does with them, in terms of a recipe.

By its source (`src/model_interface.cc`, `src/*_model.cc`, `src/sentencepiece_processor.cc`);
for what it does with spaces see `spaces`.

- Control, unknown and unused pieces are special tokens. Text never spells them.
- User-defined pieces are found first in BPE and character models, and never merged with
  what stands beside them: added tokens, matched literally in the normalized text. In a
  Unigram model they are pieces that nothing scores higher than, and are so here. In a word
  model they are words.
- Unknown pieces side by side are one, in a word model, too, where each word is a pre-token.
- It splits nothing else. Decoding gives control pieces their name, where SentencePiece leaves
  them out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats import charsmap, sentencepiece_proto
from tokctl.formats.contract import LARGEST_VOCABULARY, Source, damaged
from tokctl.formats.sentencepiece.missing import made_of_missing
from tokctl.formats.sentencepiece.spaces import MARK, UNKNOWN_SURFACE, Spaces, decoders, normalizers
from tokctl.model import FilledRecipe, Origin, Recipe, user_defined_score
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS, AddedToken

#: The name of every recipe that comes out of such a file.
NAME = "sentencepiece"
ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
SEGMENTATIONS = {"unigram": "viterbi", "bpe": "ranks", "word": "lookup", "char": "symbols"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: The lowest number of single precision. It stands for the logarithm of 0 where that can't be.
LOWEST = -(2.0**128 - 2.0**104)
#: A word model's pre-tokens: each begins with `▁`, but for the first.
WORDS = PRE_TOKENIZERS.steps(f"split:{MARK}=>merged-with-next")

#: The first field of the message is a piece, whose first field is its text.
_START = re.compile(rb"\n(?:[\x00-\x7f]|[\x80-\xff]{1,4}[\x00-\x7f])\n")


def is_one(source: Source) -> bool:
    """Does it begin with a piece?"""
    return _START.match(source.head) is not None


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where it is not whole."""
    data = source.within(LARGEST_VOCABULARY)
    try:
        return filled(sentencepiece_proto.parse(data), Origin("sentencepiece"))
    except ValueError as error:
        raise damaged(source.name, str(error)) from None
    except TokctlError as error:
        raise TokctlError(f"tokctl can't use {source.name}: {error.message}", error.hint) from None


def filled(proto: Any, origin: Origin | None, default: str | None = None) -> FilledRecipe:
    """The model of a message.

    default: the kind of rules that it has where the message holds none.

    Raises:
        ValueError: it makes no sense.
        TokctlError: tokctl can't run it.
    """
    trained = proto.trainer_spec
    algorithm = ALGORITHMS.get(trained.model_type)
    if algorithm is None:
        raise ValueError(f"its model type is {trained.model_type}")
    if proto.denormalizer_spec.precompiled_charsmap:
        raise TokctlError("it has rules for denormalizing, which tokctl lacks")
    tokens = [bytes(piece.piece) for piece in proto.pieces]
    types = [piece.type for piece in proto.pieces]
    texts = _texts(tokens)
    _check(proto, algorithm, texts, types)
    scores = [float(piece.score) for piece in proto.pieces]
    if algorithm in ("word", "char"):
        # Of a character that is required and was never seen; no score decides anything here.
        scores = [LOWEST if score == -math.inf else score for score in scores]
    if not all(map(math.isfinite, scores)):
        raise ValueError("one of its scores is no number")
    if algorithm == "unigram":
        scores = [
            user_defined_score(token) if kind == USER_DEFINED else score
            for token, score, kind in zip(tokens, scores, types, strict=True)
        ]
    keep = [text for text, kind in zip(texts, types, strict=True) if kind == USER_DEFINED]
    blob = bytes(proto.normalizer_spec.precompiled_charsmap)
    rules = (charsmap.part_of(blob, keep),) if blob else ()
    if not blob and default is not None:
        rules = (NORMALIZERS.part(default, keep=keep),)
    spaces = Spaces.of(proto)
    _check_kept_spaces(spaces, keep)
    added = _added(algorithm, texts, types)
    unk_token = texts[types.index(UNKNOWN)]
    recipe = Recipe(
        name=NAME,
        algorithm=algorithm,
        normalizers=(*rules, *normalizers(spaces, rules=bool(rules))),
        pre_tokenizers=WORDS if algorithm == "word" else (),
        segmentation=SEGMENTATIONS[algorithm],
        unk_token=unk_token,
        byte_fallback=trained.byte_fallback,
        fuse_unknown=True,
        precision="single",
        decoders=decoders(
            spaces,
            texts,
            unk_token,
            _surface(trained),
            byte_fallback=trained.byte_fallback,
            words=algorithm == "word",
        ),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    return FilledRecipe(recipe, tokens, scores=scores, added_tokens=tuple(added), origin=origin)


def _texts(tokens: list[bytes]) -> list[str]:
    texts = []
    for id_, token in enumerate(tokens):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            raise ValueError(f"piece {id_} is not UTF-8") from None
        if not token:
            raise ValueError(f"piece {id_} is empty")
        if b"\0" in token:
            raise ValueError(f"piece {id_} holds a NUL, which SentencePiece refuses, too")
    return texts


def _check(proto: Any, algorithm: str, texts: list[str], types: list[int]) -> None:
    """What SentencePiece itself asks of the pieces, and what tokctl can't do."""
    if not texts:
        raise ValueError("it has no pieces")
    if set(types) - {NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE}:
        raise ValueError("one of its pieces is of an unknown type")
    if types.count(UNKNOWN) != 1:
        raise ValueError(f"it has {types.count(UNKNOWN)} unknown pieces, and should have one")
    reserved = (UNKNOWN, CONTROL, BYTE)
    keys = [(kind in reserved, text) for text, kind in zip(texts, types, strict=True)]
    if len(set(keys)) != len(keys):
        times = Counter(keys)
        twice = next(key[1] for key in keys if times[key] > 1)
        raise ValueError(f"the piece {twice!r} is there twice")
    found = {text for text, kind in zip(texts, types, strict=True) if kind == BYTE}
    wanted = {token.decode() for token in BYTE_TOKENS}
    if proto.trainer_spec.byte_fallback:
        if found != wanted:
            raise ValueError("its byte pieces are not all there")
    elif found:
        raise ValueError("it has byte pieces, but no byte fallback")
    if algorithm == "bpe" and UNUSED in types:
        raise TokctlError(
            f"its piece {texts[types.index(UNUSED)]!r} is unused, and is taken apart again "
            "where merges make it",
            "use the model without a restricted vocabulary",
        )
    if algorithm == "bpe":
        _check_characters(texts, types)


def _check_characters(texts: list[str], types: list[int]) -> None:
    kinds = list(zip(texts, types, strict=True))
    normal = [text for text, kind in kinds if kind == NORMAL]
    characters = {text for text, kind in kinds if kind in (NORMAL, USER_DEFINED)}
    if found := made_of_missing(normal, characters):
        character = next(one for one in found[0] if one not in characters)
        raise TokctlError(
            f"its piece {found[0]!r} is made of {character!r}, which is no piece itself",
            f"add the piece {character!r} to the model",
        )


def _check_kept_spaces(spaces: Spaces, keep: list[str]) -> None:
    """In a user-defined piece spaces are not joined, and everywhere else they are."""
    for text in keep:
        if spaces.tidy and "  " in text:
            raise TokctlError(
                f"its user-defined piece {text!r} keeps spaces side by side, which are joined "
                "everywhere else",
                "train it with --remove_extra_whitespaces=false, or without that piece",
            )


def _added(algorithm: str, texts: list[str], types: list[int]) -> list[AddedToken]:
    """The pieces that ordinary text does not make, and those that are found first."""
    added = []
    for id_, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (UNKNOWN, CONTROL, UNUSED):
            added.append(AddedToken(text, id_))
        if kind == USER_DEFINED and algorithm in ("bpe", "char"):
            added.append(AddedToken(text, id_, special=False, normalized=True, literal=True))
    return added


def _surface(trained: Any) -> str:
    if not trained.HasField("unk_surface"):
        return UNKNOWN_SURFACE
    try:
        surface = bytes(trained.unk_surface).decode()
    except UnicodeDecodeError:
        raise ValueError("what it writes for an unknown piece is not UTF-8") from None
    if MARK in surface:
        raise TokctlError(
            f"it writes {surface!r} for an unknown piece, with a {MARK} that is no space there",
            f"train it with an --unk_surface without {MARK}",
        )
    return surface
