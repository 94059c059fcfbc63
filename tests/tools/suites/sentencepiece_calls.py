"""SentencePiece's calls: `SentencePieceProcessor`, also those that other names stand for."""

from __future__ import annotations

import tempfile
from itertools import accumulate
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import sentencepiece
from sentencepiece import SentencePieceProcessor as Processor

from tests.tools.suites.record import Different, Recorder, Untranslatable, alike, mirror
from tests.tools.zoo.cases import Case
from tests.tools.zoo.peers import SentencePiece
from tokctl import TokctlError, Tokenizer

Place = tuple[int, int]

_READ: WeakKeyDictionary[Processor, Tokenizer | TokctlError] = WeakKeyDictionary()


def ours(processor: Processor) -> Tokenizer:
    if processor not in _READ:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "their.model")
            path.write_bytes(processor.serialized_model_proto())
            try:
                _READ[processor] = Tokenizer.load(path)
            except TokctlError as error:
                _READ[processor] = error
    made = _READ[processor]
    if isinstance(made, TokctlError):
        raise Untranslatable(f"not read: {made.message}")
    return made


class Piece(tuple[Any, ...]):
    """What a message of theirs says of a piece: the id, the piece, its text, its place."""


def _pieces(message: Any) -> list[Piece]:
    parsed = sentencepiece._to_spt(message) if isinstance(message, bytes) else message
    return [Piece((p.id, p.piece, p.surface, (p.begin, p.end))) for p in parsed.pieces]


COLUMNS = ("ids", "pieces", "surfaces", "places")


class _Unknown(str):
    """What an unknown piece is called: the normalized text there, one name for all here."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, bytes))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def encode(self, *_: str) -> Any:
        return self

    __hash__ = str.__hash__


UNKNOWN = _Unknown("<unknown>")


def _columns(mine: Any, theirs: Any) -> list[Different]:
    """Of results in their several forms."""
    batch = isinstance(theirs, list) and bool(theirs) and isinstance(mine[0], list)
    if batch:
        found = [_columns(*both) for both in zip(mine, theirs, strict=True)]
        return [one for some in found for one in some][:1]
    if isinstance(theirs, dict):
        theirs = list(zip(theirs["ids"], theirs["pieces"], theirs["offsets"], strict=True))
        return alike(mine, theirs)
    if hasattr(theirs, "tolist"):
        theirs = theirs.tolist()
    if hasattr(theirs, "pieces") or (isinstance(theirs, bytes) and isinstance(mine, list)):
        theirs = _pieces(theirs)
        if len(theirs) != len(mine):
            return [Different("ids", mine, theirs)]
        for index, kind in enumerate(COLUMNS):
            if [p[index] for p in mine] != [p[index] for p in theirs]:
                return [Different(kind, mine, theirs)]
        return []
    return alike(mine, theirs)


def _as_asked(processor: Processor, text: str | bytes, kind: Any, given: dict[str, Any]) -> Any:
    """The encoding of a text in the form that is asked for."""
    made = ours(processor)
    encoding = made.encode(text)
    ids = list(encoding.ids)
    data = text.encode() if isinstance(text, str) else text
    rows = []
    has_places = kind not in (int, "numpy", str, bytes)
    placed = _placed(processor, text) if has_places else None
    for index, id_ in enumerate(ids):
        start, end = encoding.byte_offsets[index]
        surface = data[start:end].decode("utf-8", "replace")
        if placed is not None and len(placed) == len(ids):
            surface, (start, end) = placed[index]
        name = encoding.tokens[index]
        if id_ == made.unk_id and not given.get("emit_unk_piece", processor._emit_unk_piece):
            name = UNKNOWN
        rows.append(Piece((id_, name, surface, (start, end))))
    if given.get("reverse", processor._reverse):
        rows.reverse()
    if given.get("add_bos", processor._add_bos):
        rows[:0] = _end(processor, processor.bos_id())
    if given.get("add_eos", processor._add_eos):
        rows += _end(processor, processor.eos_id())
    if kind in (int, "numpy"):
        return [row[0] for row in rows]
    if kind in (str, bytes):
        return [row[1] if kind is str else row[1].encode() for row in rows]
    if kind == "offset_mapping":
        if given.get("return_bytes") or isinstance(text, bytes):
            raise Untranslatable("pieces and places of bytes")
        starts = list(accumulate(map(len, map(str.encode, text)), initial=0))
        return [(*row[:2], tuple(map(starts.index, row[3]))) for row in rows]
    return rows


def _placed(processor: Processor, text: str | bytes) -> list[tuple[str, Place]] | None:
    """Their surfaces and places, where ours say the same by their own alignment: see
    `tests.tools.zoo.peers.SentencePiece`."""
    text = text.decode() if isinstance(text, bytes) else text
    found = SentencePiece(ours(processor), processor).differences(Case(text))
    if any(kind == "offsets" for kind, *_ in found):
        return None
    pieces = processor.encode(text, out_type="proto").pieces
    return [(piece.surface, (piece.begin, piece.end)) for piece in pieces]


def _end(processor: Processor, id_: int) -> list[Piece]:
    if id_ < 0:
        raise Untranslatable("`add_bos` or `add_eos` without such a piece")
    return [Piece((id_, processor.IdToPiece(id_), "", (0, 0)))]


def _encode(processor: Processor, *given: Any, **named: Any) -> Any:
    text, kind = _arguments(processor, given, named)
    if named.get("enable_sampling", processor._enable_sampling):
        raise Untranslatable("sampling: its numbers are its own")
    if isinstance(text, list):
        return [_as_asked(processor, one, kind, named) for one in text]
    return _as_asked(processor, text, kind, named)


def _arguments(
    processor: Processor, given: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, Any]:
    for name in [name for name, value in named.items() if value is None]:
        del named[name]
    text = given[0] if given else named.pop("input")
    names = ("add_bos", "add_eos", "reverse", "emit_unk_piece", "enable_sampling")
    named.update(zip(names, given[1:], strict=False))
    kind = named.pop("return_type", named.pop("out_type", processor._return_type))
    return text, kind


def _nbest(processor: Processor, *given: Any, **named: Any) -> Any:
    text, kind = _arguments(processor, given, named)
    if set(named) - {"nbest_size"} or kind not in (int, str):
        raise Untranslatable("`nbest` in this form")
    if isinstance(text, list):
        return [_nbest(processor, one, return_type=kind, **named) for one in text]
    found = ours(processor).nbest(text, max(1, named.get("nbest_size", processor._nbest_size)))
    return [list(one.ids if kind is int else one.tokens) for one in found]


def _best(mine: Any, theirs: Any) -> list[Different]:
    if mine != theirs and mine[: len(theirs)] == theirs:
        raise Untranslatable("`SetNBestTimeout`")
    return alike(mine, theirs)


def _decode(processor: Processor, *rest: Any, **named: Any) -> Any:
    given, *rest = rest or (named["input"],)
    kind = named.get("return_type") or named.get("out_type") or (rest[0] if rest else str)
    if kind not in (str, bytes, "proto", "serialized_proto"):
        raise Untranslatable("decoding with places")
    made = ours(processor)

    def one(pieces: Any) -> Any:
        if isinstance(pieces, (int, str, bytes)):
            pieces = [pieces]
        pieces = list(pieces)
        if any(isinstance(piece, bytes) for piece in pieces):
            raise Untranslatable("pieces as bytes")
        if pieces and isinstance(pieces[0], str):
            text = made.decode_tokens(pieces, errors="replace")
        else:
            text = made.decode([int(id_) for id_ in pieces], errors="replace")
        return text.encode() if kind is bytes else text

    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        given = [some.tolist() if hasattr(some, "tolist") else some for some in given]
    if isinstance(given, (list, tuple)) and any(isinstance(some, (list, tuple)) for some in given):
        return [one(some) for some in given]
    return one(given if given is not None else [])


def _texts(mine: Any, theirs: Any) -> list[Different]:
    """Decoded texts; of a message of theirs, the text."""

    def text(one: Any, like: Any) -> Any:
        if isinstance(one, bytes) and isinstance(like, str):
            one = sentencepiece._to_spt(one)
        return one.text if hasattr(one, "pieces") else one

    if isinstance(theirs, list):
        return alike(mine, [text(*both) for both in zip(theirs, mine, strict=True)])
    return alike(mine, text(theirs, mine))


def _normalize(processor: Processor, text: Any, with_offsets: Any = None) -> Any:
    if with_offsets:
        raise Untranslatable("the places of a normalized text")
    if isinstance(text, list):
        return [_normalize(processor, one) for one in text]
    normalized = ours(processor).pre_tokens(text)[0]
    return normalized if isinstance(text, bytes) else normalized.decode()


def _piece_to_id(processor: Processor, piece: Any) -> Any:
    made = ours(processor)
    if isinstance(piece, (list, tuple)):
        return [_piece_to_id(processor, one) for one in piece]
    found = made.token_to_id(piece.decode() if isinstance(piece, bytes) else piece)
    return processor.unk_id() if found is None else found


def _id_to_piece(processor: Processor, id_: Any) -> Any:
    if hasattr(id_, "tolist"):
        id_ = id_.tolist()
    if isinstance(id_, (list, tuple)):
        return [_id_to_piece(processor, one) for one in id_]
    token = ours(processor).id_to_token(id_)
    if token is None:
        raise KeyError(id_)
    return token


def _untranslatable(reason: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Untranslatable(reason)

    return refuse


def _for_its_form(error: BaseException) -> bool:
    return isinstance(error, (TypeError, ValueError)) or "UNIMPLEMENTED: add_bos" in str(error)


def install(recorder: Recorder) -> None:
    def put(name: str, mine: Any, **options: Any) -> None:
        call = f"SentencePieceProcessor.{name}"
        mirror(recorder, Processor, name, mine, call=call, arguments=_for_its_form, **options)

    for name in ("LoadFromFile", "LoadFromSerializedProto"):
        _forgets(name)
    put("Encode", _encode, compare=_columns)
    put("NBestEncode", _nbest, compare=_best)
    put("ParallelEncode", _untranslatable("`ParallelEncode` cuts a text anywhere"))
    put("Decode", _decode, compare=_texts)
    put("Normalize", _normalize)
    put("PieceToId", _piece_to_id)
    put("IdToPiece", _id_to_piece)
    put("GetPieceSize", lambda processor: ours(processor).vocab_size)
    # Of the trainer and of the normalizer of its own there is no processor to take a model from.


def _forgets(name: str) -> None:
    original = getattr(Processor, name)

    def load(processor: Processor, *given: Any) -> Any:
        _READ.pop(processor, None)
        return original(processor, *given)

    for attribute, value in list(vars(Processor).items()):
        if value is original:
            setattr(Processor, attribute, load)
