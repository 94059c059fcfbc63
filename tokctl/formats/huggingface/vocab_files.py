"""Vocabulary files from before `tokenizer.json`: `vocab.json`, `merges.txt`, `vocab.txt`, `.model`.

From SentencePiece's `.model`, only the vocabulary is taken, as in transformers. Lines are split and
trimmed as in Hugging Face `tokenizers` (`BPE.read_file`, `WordPiece.read_file`): only a line feed
ends a line, with an optional carriage return before it.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from tokctl.core.errors import BadModel, TokctlError, Unsupported
from tokctl.formats.contract import LARGEST_VOCABULARY, TRY_ANOTHER_FILE, ModelInput, damaged
from tokctl.formats.huggingface.components import Json

#: White space according to Unicode, which Rust's `trim_end` removes.
_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
)
_WHITE_SPACE += "\u200a\u2028\u2029\u202f\u205f\u3000"


#: Most lines of a vocabulary file. No vocabulary comes near this number.
_MOST_LINES = 1 << 20


def read_lines(source: ModelInput) -> list[str]:
    """Return the lines of a text file, without line ends.

    Raises:
        TokctlError: the file is too large, or not UTF-8.
    """
    data = source.read_up_to(LARGEST_VOCABULARY)
    if data.count(b"\n") > _MOST_LINES:
        raise damaged(source.name, f"it has more than {_MOST_LINES} lines")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise damaged(source.name, f"it is not UTF-8 at byte {error.start}") from None
    lines = text.split("\n")
    last = lines.pop()
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def vocab_json(source: ModelInput) -> dict[str, int]:
    """Return the ids in a `vocab.json`, by token.

    Raises:
        TokctlError: the file is damaged.
    """
    source.read_up_to(LARGEST_VOCABULARY)
    vocabulary = source.document
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise damaged(source.name, "it is not an object of tokens and their ids")
    if set(map(type, vocabulary.values())) != {int}:
        raise damaged(source.name, "one of its ids is not a whole number")
    return vocabulary


def merges_txt(source: ModelInput) -> list[list[str]]:
    """Return the merges in a `all_merges.txt`, in order.

    Raises:
        TokctlError: a line is not a pair of tokens.
    """
    found = [line.split(" ") for line in read_lines(source) if not line.startswith("#version")]
    if set(map(len, found)) - {2}:
        step = next(step for step, pair in enumerate(found, 1) if len(pair) != 2)
        raise damaged(
            source.name, f"merge {step} is not a pair of tokens with a space between them"
        )
    return found


def vocab_txt(source: ModelInput) -> dict[str, int]:
    """Return the ids in a `vocab.txt`, by token: line numbers from 0, the last of equal lines."""
    return {line.rstrip(_WHITE_SPACE): id_ for id_, line in enumerate(read_lines(source))}


def write_merges(pairs: list[tuple[str, str]]) -> bytes:
    """Return the content of a `all_merges.txt`.

    Raises:
        ValueError: a token could not be read back unchanged.
    """
    for pair in pairs:
        text = "".join(pair)
        if " " in text or "\n" in text or pair[1].endswith("\r") or "" in pair:
            raise ValueError(f"the merge of {pair[0]!r} and {pair[1]!r}")
        if pair[0].startswith("#version"):
            raise ValueError(f"the merge of {pair[0]!r} and {pair[1]!r}")
    return ("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs)).encode()


def write_vocab_txt(tokens: list[str]) -> bytes:
    """Return the content of a `vocab.txt`.

    Raises:
        ValueError: a token could not be read back unchanged.
    """
    for id_, token in enumerate(tokens):
        if "\n" in token or token != token.rstrip(_WHITE_SPACE):
            raise ValueError(f"the token {token!r} (id {id_})")
    return "".join(f"{token}\n" for token in tokens).encode()


def unsupported_class_error(folder: str, reason: str, hint: str = "") -> TokctlError:
    """Return the error for a folder whose class tokctl can't build from vocabulary files."""
    return Unsupported(
        f"{folder} has no tokenizer.json, and {reason}",
        hint or "load it with transformers and save it, which writes a tokenizer.json",
    )


# -- SentencePiece's .model ---------------------------------------------------------------
#
# This follows `SentencePieceExtractor` in `convert_slow_tokenizer.py`: pieces with scores, and for
# BPE every pair that makes a piece. SentencePiece itself runs the model differently: see the format
# `sentencepiece`.

#: Limits: each way to split a piece is a merge, and no trainer makes longer pieces.
_LONGEST_PIECE = 512
_MOST_CHARACTERS = 1 << 22


class PieceVocabulary(NamedTuple):
    """The content of a SentencePiece model that transformers uses.

    Attributes:
        content: the fields of a document's model: `vocab`, and `all_merges` for BPE.
        rules: a list of the normalizer with the model's rules; empty if it has none.
        listed: the control and user-defined pieces, as extra special tokens.
    """

    content: Json
    rules: list[Json]
    listed: list[Json]


def read_pieces(source: ModelInput, model: str) -> PieceVocabulary:
    """Return the pieces of a SentencePiece file.

    Args:
        source: the `.model` file.
        model: the type of the model in the document, `BPE` or `Unigram`.

    Raises:
        ValueError: the file is damaged.
        TokctlError: the pieces are too long, or the package protobuf is missing.
    """
    # Imported here, as in `_precompiled`, because the other files do not need the module.
    from tokctl.formats import sentencepiece

    proto = sentencepiece.parse(source.read_up_to(LARGEST_VOCABULARY))
    try:
        texts = [bytes(piece.piece).decode() for piece in proto.pieces]
    except UnicodeDecodeError:
        raise ValueError("a piece is not UTF-8") from None
    if not texts:
        raise ValueError("it has no pieces")
    types = [piece.type for piece in proto.pieces]
    listed = [
        {"content": text, "normalized": False, "special": kind == sentencepiece.CONTROL}
        for text, kind in zip(texts, types, strict=True)
        if kind in (sentencepiece.CONTROL, sentencepiece.USER_DEFINED)
    ]
    content: Json = {}
    if model == "BPE":
        vocabulary = {text: id_ for id_, text in enumerate(texts)}
        content = {"vocab": vocabulary, "merges": all_merges(vocabulary)}
    else:
        scores = [float(piece.score) for piece in proto.pieces]
        content = {"vocab": list(zip(texts, scores, strict=True))}
        if sentencepiece.UNKNOWN in types:
            content["unk_id"] = types.index(sentencepiece.UNKNOWN)
    return PieceVocabulary(
        content, _precompiled(bytes(proto.normalizer_spec.precompiled_charsmap)), listed
    )


def _precompiled(blob: bytes) -> list[Json]:
    if not blob:
        return []
    from tokctl.formats import charsmap

    charsmap.check(blob)
    return [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}]


def all_merges(vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Return every pair of tokens that makes a token, as merges.

    The merges are in the order of the ids of the tokens they make. For one token, a shorter left
    side comes first.

    Raises:
        TokctlError: the pieces are too long.
    """
    if sum(map(len, vocabulary)) > _MOST_CHARACTERS:
        raise BadModel(
            f"its pieces have more than {_MOST_CHARACTERS} characters",
            TRY_ANOTHER_FILE,
            "too-large",
        )
    found: list[tuple[int, int, int, int, int, str, str]] = []
    for token, id_ in vocabulary.items():
        if len(token) > _LONGEST_PIECE:
            raise BadModel(
                f"it has a piece of {len(token)} characters", TRY_ANOTHER_FILE, "too-large"
            )
        for split in range(1, len(token)):
            left, right = token[:split], token[split:]
            ids = vocabulary.get(left), vocabulary.get(right)
            if ids[0] is not None and ids[1] is not None:
                found.append((id_, split, len(right), ids[0], ids[1], left, right))
    return [(left, right) for *_, left, right in sorted(found)]


def with_fairseq_tokens(content: Json, roles: dict[str, str]) -> Json:
    """Return the vocabulary with fairseq's four tokens at the beginning and the mask at the end."""
    special = [roles[f"{role}_token"] for role in ("bos", "pad", "eos", "unk")]
    tokens: list[Any] = [(text, 0.0) for text in special]
    return {"vocab": [*tokens, *content["vocab"][3:], (roles["mask_token"], 0.0)]}
