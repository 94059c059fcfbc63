"""Tokens that no text is encoded to.

Merges that a token is made of can be overtaken: by other merges in front of it, by a
pre-tokenizer that cuts the token's text in two, by a longer token that always wins. Whether
any text at all gives a token can't be decided by trying; what is tried here is the token's
own text, alone and beside one more character:

- The text alone, as a word of its own. That settles whole words.
- The text behind a character, and in front of one. Inside a word a marker model spells a
  token otherwise than at its edges, so most of its tokens need a neighbour. Characters that
  the model does not know come first, since they merge with nothing; then its alphabet.
- A byte-level token that is no whole characters is given to the merges alone, without the
  pre-tokenizer: what the rest of its characters would be, nothing says.

A token that none of these trials gives is called unreachable. Special tokens are not tried:
ordinary text never gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Texts that are encoded at most, in all.
TRIALS = 400_000
#: Characters of the alphabet that are tried as neighbours.
NEIGHBOURS = 256

#: Letters, digits and signs of scripts that few models know.
_STRANGE = "\ua66e\u13a0\u16a0\u07c0\u1810\u2042\u2e30"


@dataclass(frozen=True)
class Reach:
    """What the trials have found.

    Attributes:
        unreachable: tokens that no trial has given, in id order.
        undecided: tokens whose trials were cut short at `TRIALS`.
        trials: texts that were encoded.
    """

    unreachable: tuple[str, ...]
    undecided: int
    trials: int


def unreachable(tokenizer: Tokenizer) -> Reach:
    """The tokens of a model that trials with their own text can't bring about."""
    waiting = {}
    for id_ in ordinary_ids(tokenizer):
        text = token_text(tokenizer, id_)
        if _is_whole(text) or not _merges_give(tokenizer, id_, text):
            waiting[id_] = text
    trials = 0
    for before, after in _contexts(tokenizer):
        if trials + len(waiting) > TRIALS:
            return Reach((), len(waiting), trials)
        trials += len(waiting)
        texts = [before + text + after for text in waiting.values()]
        results = _encode(tokenizer, texts)
        pairs = zip(waiting.items(), results, strict=True)
        waiting = {id_: text for (id_, text), ids in pairs if id_ not in ids}
        if not waiting:
            break
    return Reach(tuple(tokenizer.tokens[id_] for id_ in waiting), 0, trials)


def ordinary_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of the tokens that ordinary text can give."""
    apart = tokenizer.model.apart
    return [id_ for id_ in range(tokenizer.vocab_size) if id_ not in apart]


def token_text(tokenizer: Tokenizer, id_: int) -> bytes:
    """The bytes of text that a token stands for: its own, without the word marker."""
    token = tokenizer.model.tokens[id_]
    kind, mark = tokenizer.recipe.marker
    if id_ in tokenizer.model.apart:
        return token
    if kind in ("start", "continuation"):
        return token.removeprefix(mark.encode())
    return token.removesuffix(mark.encode()) if mark else token


def _is_whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _merges_give(tokenizer: Tokenizer, id_: int, text: bytes) -> bool:
    ids, _, _ = tokenizer.encoder.replay(text, len(tokenizer.merges))
    return ids == [id_]


def _contexts(tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    yield b"", b""
    known = set()
    alphabet = []
    for id_ in ordinary_ids(tokenizer):
        text = token_text(tokenizer, id_)
        if len(text) <= 4 and _is_whole(text) and len(text.decode()) == 1 and text not in known:
            known.add(text)
            alphabet.append(text)
    strange = [char.encode() for char in _STRANGE if char.encode() not in known]
    if tokenizer.recipe.segmentation == "longest-match":
        strange = []  # they would make the whole word unknown
    for neighbour in [*strange, *alphabet[:NEIGHBOURS]]:
        yield neighbour, b""
        yield b"", neighbour


def _encode(tokenizer: Tokenizer, texts: list[bytes]) -> list[list[int]]:
    return tokenizer.encoder.batch(texts, 1, None)
