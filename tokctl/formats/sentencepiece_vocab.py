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
    data = source.read_up_to(LARGEST_VOCABULARY)
    with unless_damaged(source.name, hinted=source.hints.any_given):
        special = source.hints.special or {}
        return _read_lines(data, {text.encode(): id_ for text, id_ in special.items()})


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: what the `.model` loses, and what differs from the defaults.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold the model, or its pieces do not fit on lines.
    """
    proto, found = sentencepiece.build_message(model)
    try:
        original = sentencepiece.read_message(proto, None)
    except (ValueError, TokctlError) as error:
        # What the `.model` can't hold is already among the losses.
        return found or [LostFeature(f"what the .model says: {error}")]
    readable = _make_readable(proto)
    read_back = _read_lines(_format_lines(readable), {})
    unknown = next(id_ for id_, piece in enumerate(proto.pieces) if piece.type == UNKNOWN)
    if readable is not proto:
        found.append(LostFeature("what type each piece is, which the scores do not show"))
    if original.tokens[unknown] != read_back.tokens[unknown]:
        name = original.tokens[unknown].decode()
        found.append(LostFeature(f"that its unknown piece is called {name!r}: it is <unk> there"))
    for name, what in (
        ("algorithm", "that it is another algorithm than its scores look like"),
        ("normalizers", "the normalizers, which are not SentencePiece's defaults"),
        ("decoders", "what is written for an unknown token, and how ids become text"),
        ("special_tokens", "which pieces are special tokens"),
    ):
        if getattr(original.recipe, name) != getattr(read_back.recipe, name):
            found.append(LostFeature(what))
    if _without(original.tokens, unknown) != _without(read_back.tokens, unknown):
        found.append(LostFeature("pieces that hold what ends a line"))
    elif (
        original.added != read_back.added
        and original.recipe.special_tokens == read_back.recipe.special_tokens
    ):
        found.append(LostFeature("which pieces are user-defined"))
    if original.scores != read_back.scores and readable is proto:
        # Unigram depends on sums of scores, BPE on their order, and word and character models on
        # neither.
        ranks = original.recipe.traits.is_plain_bpe and _score_ranks(original) == _score_ranks(
            read_back
        )
        minor = ranks or not (
            original.recipe.maximizes_probability or original.recipe.traits.is_plain_bpe
        )
        found.append(LostFeature("more than six digits of a score", minor))
    return found


def _without(tokens: list[bytes], id_: int) -> list[bytes]:
    return tokens[:id_] + tokens[id_ + 1 :]


def _score_ranks(model: Model) -> list[int]:
    ranks = {score: rank for rank, score in enumerate(sorted(set(model.scores)))}
    return [ranks[score] for score in model.scores]


def write(model: Model) -> Files:
    """Return the file that `spm_train` would write beside the `.model`."""
    return {"": _format_lines(_make_readable(sentencepiece.build_message(model)[0]))}


def _make_readable(proto: Any) -> Any:
    """Return the message if tokctl can read its lines, otherwise a message changed for reading.

    The changed message has the same pieces, except that the unknown piece is `<unk>`. Its scores
    are not 0 if a 0 would leave the type of a piece open.

    Raises:
        UnsupportedByFormat: no such change makes the lines readable.
    """
    if _is_readable(proto):
        return proto
    changed = sentencepiece.new_message()
    changed.CopyFrom(proto)
    names = {bytes(piece.piece) for piece in proto.pieces if piece.type != UNKNOWN}
    if _UNKNOWN in names:
        raise UnsupportedByFormat("its piece <unk> is for unknown characters, and here it is not")
    ordinary = []
    for piece in changed.pieces:
        if piece.type == UNKNOWN:
            piece.piece = _UNKNOWN
        elif piece.piece not in _CONTROLS and piece.type != BYTE:
            ordinary.append(piece)
    if proto.trainer_spec.model_type == _NUMBERS["bpe"]:
        # The pieces that merge first come first, and the pieces that never merge last.
        merged = sorted(
            (entry for entry in ordinary if entry.type == NORMAL), key=lambda entry: -entry.score
        )
        merged = [entry for entry in merged if len(entry.piece.decode()) > 1]
        merged_texts = {entry.piece for entry in merged}
        ordered = [*merged, *(entry for entry in ordinary if entry.piece not in merged_texts)]
        for rank, piece in enumerate(ordered):
            piece.score = float(-rank)
    else:
        lowest = (
            min((entry.score for entry in ordinary if math.isfinite(entry.score)), default=0.0) - 1
        )
        for piece in ordinary:
            if piece.score >= 0:
                piece.score = lowest
    if not _is_readable(changed):
        raise UnsupportedByFormat("its pieces are not lines that begin as such a file does")
    return changed


def _is_readable(proto: Any) -> bool:
    """Return whether tokctl recognizes the lines, and reads an equal number of pieces from them."""
    data = _format_lines(proto)
    try:
        is_recognized = is_sentencepiece_vocab(ModelInput("", data=data))
        return is_recognized and _read_lines(data, {}).size == len(proto.pieces)
    except (ValueError, TokctlError):
        return False


def _format_lines(proto: Any) -> bytes:
    # C++ streams write a float with six digits and without trailing zeros.
    return b"".join(b"%s\t%s\n" % (p.piece, b"%g" % p.score) for p in proto.pieces)


def _read_lines(data: bytes, special: dict[bytes, int]) -> Model:
    pieces = _parse_lines(data)
    types = _piece_types(pieces, special)
    proto = sentencepiece.new_message()
    for (piece, score), kind in zip(pieces, types, strict=True):
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = _NUMBERS[_algorithm(pieces, types)]
    proto.trainer_spec.byte_fallback = BYTE in types
    return sentencepiece.read_message(
        proto, ImportedFrom("sentencepiece-vocab"), default="nmt_nfkc"
    )


def _parse_lines(data: bytes) -> list[tuple[bytes, float]]:
    pieces = []
    offset = 0
    while offset < len(data):
        # `search` would skip text between two lines.
        line = _LINE.match(data, offset)
        if line is None and b"\n" not in data[offset:]:
            raise ValueError("its last line has no end: it is cut off")
        if line is None:
            raise ValueError(f"line {_line_number(data, offset)} is not a piece and its score")
        score = float(line[2])
        if not math.isfinite(score):
            raise ValueError(f"the score of line {_line_number(data, offset)} is too large")
        pieces.append((line[1], score))
        offset = line.end()
    return pieces


def _line_number(data: bytes, offset: int) -> int:
    """Return the number, from 1, of the line that begins at byte `offset`."""
    return data.count(b"\n", 0, offset) + 1


def _piece_types(pieces: list[tuple[bytes, float]], special: dict[bytes, int]) -> list[int]:
    """Return the type of each piece, by its name or by the special tokens that the caller names.

    Raises:
        TokctlError: there is no `<unk>`, or the type of a piece with the score 0 is unknown.
    """
    names = {piece for piece, _ in pieces}
    if _UNKNOWN not in names:
        raise BadModel(
            "it has no piece <unk>, and does not say which piece is for unknown characters",
            "read the .model that belongs to it",
        )
    has_all_bytes = all(token in names for token in BYTE_TOKENS)
    types = []
    for piece, _ in pieces:
        if piece == _UNKNOWN:
            types.append(UNKNOWN)
        elif piece in _CONTROLS or piece in special:
            types.append(CONTROL)
        elif has_all_bytes and piece in _BYTES:
            types.append(BYTE)
        else:
            types.append(NORMAL)
    _check_zero_scores(pieces, types)
    return types


_BYTES = frozenset(BYTE_TOKENS)


def _check_zero_scores(pieces: list[tuple[bytes, float]], types: list[int]) -> None:
    """Raise TokctlError for a piece of score 0 that may be a control or a user-defined piece.

    The first piece that BPE learns also has the score 0. It comes after all pieces of these types.
    """
    ordinary = [id_ for id_, kind in enumerate(types) if kind == NORMAL]
    zero_scored = [id_ for id_ in ordinary if pieces[id_][1] == 0]
    learned = [id_ for id_ in ordinary if pieces[id_][1] < 0]
    if zero_scored and _is_ranked([pieces[id_] for id_ in ordinary]):
        return
    if zero_scored and learned and zero_scored[-1] < learned[0] and pieces[learned[0]][1] == -1:
        zero_scored.pop()
    if zero_scored:
        name = pieces[zero_scored[0]][0].decode(errors="replace")
        raise BadModel(
            f"its piece {name!r} has the score 0: a control piece or a user-defined one, and the "
            "file does not say which",
            "read the .model that belongs to it, or name the special tokens",
        )


def _is_ranked(pieces: list[tuple[bytes, float]]) -> bool:
    """Return whether the scores are 0, -1, -2, … in any order, like those of BPE."""
    scores = sorted((-score for _, score in pieces), key=float)
    return bool(pieces) and all(score == rank for rank, score in enumerate(scores))


def _algorithm(pieces: list[tuple[bytes, float]], types: list[int]) -> str:
    """Return the training algorithm that the pieces and scores show.

    BPE has the scores 0, -1, -2, … in any order. Each piece of a character model is one character.
    Each piece of a word model begins with the word marker. Anything else is Unigram.
    """
    ordinary = [entry for entry, kind in zip(pieces, types, strict=True) if kind == NORMAL]
    texts = [piece.decode(errors="replace") for piece, _ in ordinary]
    if _is_ranked(ordinary):
        return "bpe"
    if all(len(text) == 1 for text in texts):
        return "char"
    if all(text.startswith(MARK) for text in texts):
        return "word"
    return "unigram"
