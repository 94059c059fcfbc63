"""The vocabulary files of before `tokenizer.json`: `vocab.json`, `merges.txt`, `vocab.txt`, and
SentencePiece's `.model` as transformers takes a vocabulary out of it.

Lines are split and trimmed as Hugging Face `tokenizers` does (`BPE.read_file`,
`WordPiece.read_file`): at line feeds alone, with a carriage return before them.
"""

from __future__ import annotations

import base64
import codecs
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import ANOTHER, LARGEST_VOCABULARY, Source, damaged
from tokctl.formats.huggingface.components import Json

#: What Unicode calls white space, which Rust's `trim_end` takes away.
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
_WHITE += "\u200a\u2028\u2029\u202f\u205f\u3000"


#: No vocabulary file comes near this; a larger one is read by mistake.
_MOST_LINES = 1 << 20


def lines(source: Source) -> list[str]:
    """The lines of a text file; TokctlError if it is no UTF-8."""
    data = source.within(LARGEST_VOCABULARY)
    if data.count(b"\n") > _MOST_LINES:
        raise damaged(source.name, f"it has more than {_MOST_LINES} lines")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise damaged(source.name, f"it is no UTF-8 at byte {error.start}") from None
    found = text.split("\n")
    last = found.pop()
    return [line.removesuffix("\r") for line in found] + ([last] if last else [])


def vocab_json(source: Source) -> dict[str, int]:
    """The ids by token of a `vocab.json`."""
    source.within(LARGEST_VOCABULARY)
    vocabulary = source.document
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise damaged(source.name, "it is no object of tokens and their ids")
    if set(map(type, vocabulary.values())) != {int}:
        raise damaged(source.name, "one of its ids is no whole number")
    return vocabulary


def is_vocab_json(source: Source) -> bool:
    """Does it begin as an object of tokens and ids does?"""
    import re

    head = source.head.removeprefix(codecs.BOM_UTF8)
    return re.match(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d+\s*[,}]', head) is not None


def merges_txt(source: Source) -> list[list[str]]:
    """The merges of a `merges.txt`, in their order."""
    found = [line.split(" ") for line in lines(source) if not line.startswith("#version")]
    if set(map(len, found)) - {2}:
        step = next(step for step, pair in enumerate(found, 1) if len(pair) != 2)
        raise damaged(source.name, f"merge {step} is no pair of two tokens with a space between")
    return found


def vocab_txt(source: Source) -> dict[str, int]:
    """The ids by token of a `vocab.txt`: the numbers of the lines, of equal ones the last."""
    return {line.rstrip(_WHITE): id_ for id_, line in enumerate(lines(source))}


def write_merges(pairs: list[tuple[str, str]]) -> bytes:
    """A `merges.txt`; ValueError if a token would not be read again as it is."""
    for pair in pairs:
        text = "".join(pair)
        if " " in text or "\n" in text or pair[1].endswith("\r") or "" in pair:
            raise ValueError(f"the merge of {pair[0]!r} and {pair[1]!r}")
        if pair[0].startswith("#version"):
            raise ValueError(f"the merge of {pair[0]!r} and {pair[1]!r}")
    return ("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs)).encode()


def write_vocab_txt(tokens: list[str]) -> bytes:
    """A `vocab.txt`; ValueError if a line would not be read again as its token."""
    for id_, token in enumerate(tokens):
        if "\n" in token or token != token.rstrip(_WHITE):
            raise ValueError(f"the token {token!r} (id {id_})")
    return "".join(f"{token}\n" for token in tokens).encode()


def no_such_class(folder: str, reason: str, hint: str = "") -> TokctlError:
    """Return the error for a folder whose class tokctl can't build from vocabulary files."""
    return TokctlError(
        f"{folder} has no tokenizer.json, and {reason}",
        hint or "load it with transformers and save it, which writes a tokenizer.json",
    )


# -- SentencePiece's .model ---------------------------------------------------------------
#
# As `SentencePieceExtractor` in `convert_slow_tokenizer.py` does it: pieces and scores, for BPE
# every pair that makes a piece. That is not how SentencePiece itself runs the model: see the
# format `sentencepiece` for that.

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


def read_pieces(source: Source, model: str) -> Pieces:
    """The pieces for a model of the type `BPE` or `Unigram`."""
    # Imported late, as in `_rules`: the other files need none of it.
    from tokctl.formats import sentencepiece

    proto = sentencepiece.parse(source.within(LARGEST_VOCABULARY))
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
        content = {"vocab": vocabulary, "merges": merges(vocabulary)}
    else:
        scores = [float(piece.score) for piece in proto.pieces]
        content = {"vocab": list(zip(texts, scores, strict=True))}
        if sentencepiece.UNKNOWN in types:
            content["unk_id"] = types.index(sentencepiece.UNKNOWN)
    return Pieces(content, _rules(bytes(proto.normalizer_spec.precompiled_charsmap)), listed)


def _rules(blob: bytes) -> list[Json]:
    if not blob:
        return []
    from tokctl.formats import charsmap

    charsmap.check(blob)
    return [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}]


def merges(vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Every pair of tokens that makes a token, by that token's id; of one token's pairs those
    first whose sides have the lower ids, but for the length of the left side."""
    if sum(map(len, vocabulary)) > _MOST_CHARACTERS:
        raise TokctlError(f"its pieces have more than {_MOST_CHARACTERS} characters", ANOTHER)
    found: list[tuple[int, int, int, int, int, str, str]] = []
    for token, id_ in vocabulary.items():
        if len(token) > _LONGEST_PIECE:
            raise TokctlError(f"it has a piece of {len(token)} characters", ANOTHER)
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
