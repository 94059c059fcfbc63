"""SentencePiece's `.vocab`: pieces and their scores, as `spm_train` lists them beside a model.

A line is a piece, a tab and the score with six digits. For what the file leaves open, the defaults
of SentencePiece's training apply: the rules nmt_nfkc, extra spaces removed, a space before the
text. A file whose piece types remain open is refused. A `.model` beside the file is not used: it is
complete, and can be read itself.
"""

from __future__ import annotations

import math
import re
from typing import Any

from tokctl.core.errors import BadModel, TokctlError
from tokctl.formats import sentencepiece
from tokctl.formats.contract import (
    LARGEST_VOCABULARY,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    unless_damaged,
)
from tokctl.formats.registry import is_sentencepiece_vocab
from tokctl.formats.sentencepiece import BYTE, CONTROL, MARK, NORMAL, UNKNOWN
from tokctl.model import ImportedFrom, Model
from tokctl.model.byte_level import BYTE_TOKENS

#: A piece can contain line ends, so a line ends only after a score.
_LINE = re.compile(rb"(.+?)\t(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\r?\n", re.DOTALL)
_UNKNOWN = b"<unk>"
_CONTROLS = (b"<s>", b"</s>", b"<pad>")
_NUMBERS = {name: number for number, name in sentencepiece.MODEL_TYPES.items()}


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged, or leaves open what type a piece has.
    """
    data = source.within(LARGEST_VOCABULARY)
    with unless_damaged(source.name, hinted=source.hints.are_given):
        special = source.hints.special or {}
        return _filled(data, {text.encode(): id_ for text, id_ in special.items()})


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: what the `.model` loses, and what differs from the defaults.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold the model, or its pieces do not fit on lines.
    """
    proto, found = sentencepiece.message(model)
    try:
        there = sentencepiece.filled(proto, None)
    except (ValueError, TokctlError) as error:
        # What the `.model` can't hold is already among the losses.
        return found or [LostFeature(f"what the .model says: {error}")]
    written = _readable(proto)
    here = _filled(_lines(written), {})
    unknown = next(at for at, piece in enumerate(proto.pieces) if piece.type == UNKNOWN)
    if written is not proto:
        found.append(LostFeature("what type each piece is, which the scores do not show"))
    if there.tokens[unknown] != here.tokens[unknown]:
        name = there.tokens[unknown].decode()
        found.append(LostFeature(f"that its unknown piece is called {name!r}: it is <unk> there"))
    for name, what in (
        ("algorithm", "that it is another algorithm than its scores look like"),
        ("normalizers", "the normalizers, which are not SentencePiece's defaults"),
        ("decoders", "what is written for an unknown token, and how ids become text"),
        ("special_tokens", "which pieces are special tokens"),
    ):
        if getattr(there.recipe, name) != getattr(here.recipe, name):
            found.append(LostFeature(what))
    if _but(there.tokens, unknown) != _but(here.tokens, unknown):
        found.append(LostFeature("pieces that hold what ends a line"))
    elif there.added != here.added and there.recipe.special_tokens == here.recipe.special_tokens:
        found.append(LostFeature("which pieces are user-defined"))
    if there.scores != here.scores and written is proto:
        # Unigram depends on sums of scores, BPE on their order, and word and character models on
        # neither.
        ranks = there.recipe.traits.is_plain_bpe and _order(there) == _order(here)
        minor = ranks or there.recipe.traits.by_frequency
        found.append(LostFeature("more than six digits of a score", minor))
    return found


def _but(tokens: list[bytes], id_: int) -> list[bytes]:
    return tokens[:id_] + tokens[id_ + 1 :]


def _order(model: Model) -> list[int]:
    places = {score: at for at, score in enumerate(sorted(set(model.scores)))}
    return [places[score] for score in model.scores]


def write(model: Model) -> Files:
    """Return the file that `spm_train` would write beside the `.model`."""
    return {"": _lines(_readable(sentencepiece.message(model)[0]))}


def _readable(proto: Any) -> Any:
    """Return the message if tokctl can read its lines, otherwise a message changed for reading.

    The changed message has the same pieces, except that the unknown piece is `<unk>`. Its scores
    are not 0 if a 0 would leave the type of a piece open.

    Raises:
        UnsupportedByFormat: no such change makes the lines readable.
    """
    if _is_read(proto):
        return proto
    changed = sentencepiece.new()
    changed.CopyFrom(proto)
    names = {bytes(piece.piece) for piece in proto.pieces if piece.type != UNKNOWN}
    if _UNKNOWN in names:
        raise UnsupportedByFormat("its piece <unk> is for unknown characters, and here it is not")
    plain = []
    for piece in changed.pieces:
        if piece.type == UNKNOWN:
            piece.piece = _UNKNOWN
        elif piece.piece not in _CONTROLS and piece.type != BYTE:
            plain.append(piece)
    if proto.trainer_spec.model_type == _NUMBERS["bpe"]:
        # The pieces that merge first come first, and the pieces that never merge last.
        merged = sorted((one for one in plain if one.type == NORMAL), key=lambda one: -one.score)
        merged = [one for one in merged if len(one.piece.decode()) > 1]
        texts = {one.piece for one in merged}
        ordered = [*merged, *(one for one in plain if one.piece not in texts)]
        for rank, piece in enumerate(ordered):
            piece.score = float(-rank)
    else:
        lowest = min((one.score for one in plain if math.isfinite(one.score)), default=0.0) - 1
        for piece in plain:
            if piece.score >= 0:
                piece.score = lowest
    if not _is_read(changed):
        raise UnsupportedByFormat("its pieces are not lines that begin as such a file does")
    return changed


def _is_read(proto: Any) -> bool:
    """Return whether tokctl recognizes the lines, and reads an equal number of pieces from them."""
    data = _lines(proto)
    try:
        is_ours = is_sentencepiece_vocab(ModelInput("", data=data))
        return is_ours and _filled(data, {}).size == len(proto.pieces)
    except (ValueError, TokctlError):
        return False


def _lines(proto: Any) -> bytes:
    # C++ streams write a float with six digits and without trailing zeros.
    return b"".join(b"%s\t%s\n" % (p.piece, b"%g" % p.score) for p in proto.pieces)


def _filled(data: bytes, special: dict[bytes, int]) -> Model:
    listed = _pieces(data)
    types = _types(listed, special)
    proto = sentencepiece.new()
    for (piece, score), kind in zip(listed, types, strict=True):
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = _NUMBERS[_algorithm(listed, types)]
    proto.trainer_spec.byte_fallback = BYTE in types
    return sentencepiece.filled(proto, ImportedFrom("sentencepiece-vocab"), default="nmt_nfkc")


def _pieces(data: bytes) -> list[tuple[bytes, float]]:
    found = []
    at = 0
    while at < len(data):
        # `search` would skip text between two lines.
        line = _LINE.match(data, at)
        if line is None and b"\n" not in data[at:]:
            raise ValueError("its last line has no end: it is cut off")
        if line is None:
            raise ValueError(f"line {_number(data, at)} is not a piece and its score")
        score = float(line[2])
        if not math.isfinite(score):
            raise ValueError(f"the score of line {_number(data, at)} is too large")
        found.append((line[1], score))
        at = line.end()
    return found


def _number(data: bytes, at: int) -> int:
    """Return the number, from 1, of the line that begins at byte `at`."""
    return data.count(b"\n", 0, at) + 1


def _types(listed: list[tuple[bytes, float]], special: dict[bytes, int]) -> list[int]:
    """Return the type of each piece, by its name or by the special tokens that the caller names.

    Raises:
        TokctlError: there is no `<unk>`, or the type of a piece with the score 0 is unknown.
    """
    names = {piece for piece, _ in listed}
    if _UNKNOWN not in names:
        raise BadModel(
            "it has no piece <unk>, and does not say which piece is for unknown characters",
            "read the .model that belongs to it",
        )
    whole = all(token in names for token in BYTE_TOKENS)
    types = []
    for piece, _ in listed:
        if piece == _UNKNOWN:
            types.append(UNKNOWN)
        elif piece in _CONTROLS or piece in special:
            types.append(CONTROL)
        elif whole and piece in _BYTES:
            types.append(BYTE)
        else:
            types.append(NORMAL)
    _check_learned(listed, types)
    return types


_BYTES = frozenset(BYTE_TOKENS)


def _check_learned(listed: list[tuple[bytes, float]], types: list[int]) -> None:
    """Raise TokctlError for a piece of score 0 that may be a control or a user-defined piece.

    The first piece that BPE learns also has the score 0. It comes after all pieces of these types.
    """
    plain = [at for at, kind in enumerate(types) if kind == NORMAL]
    zero = [at for at in plain if listed[at][1] == 0]
    learned = [at for at in plain if listed[at][1] < 0]
    if zero and _is_ranked([listed[at] for at in plain]):
        return
    if zero and learned and zero[-1] < learned[0] and listed[learned[0]][1] == -1:
        zero.pop()
    if zero:
        name = listed[zero[0]][0].decode(errors="replace")
        raise BadModel(
            f"its piece {name!r} has the score 0: a control piece or a user-defined one, and the "
            "file does not say which",
            "read the .model that belongs to it, or name the special tokens",
        )


def _is_ranked(plain: list[tuple[bytes, float]]) -> bool:
    """Return whether the scores are 0, -1, -2, … in any order, like those of BPE."""
    scores = sorted((-score for _, score in plain), key=float)
    return bool(plain) and all(score == at for at, score in enumerate(scores))


def _algorithm(listed: list[tuple[bytes, float]], types: list[int]) -> str:
    """Return the training algorithm that the pieces and scores show.

    BPE has the scores 0, -1, -2, … in any order. Each piece of a character model is one character.
    Each piece of a word model begins with the word marker. Anything else is Unigram.
    """
    plain = [entry for entry, kind in zip(listed, types, strict=True) if kind == NORMAL]
    texts = [piece.decode(errors="replace") for piece, _ in plain]
    if _is_ranked(plain):
        return "bpe"
    if all(len(text) == 1 for text in texts):
        return "char"
    if all(text.startswith(MARK) for text in texts):
        return "word"
    return "unigram"
