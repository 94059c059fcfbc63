"""The tokens of a vocabulary: their text, what they are, and whether any text gives them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl import _native
from tokctl.analysis.explain.history import history_of
from tokctl.analysis.metrics import space_mark

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- Ids and the text that they stand for -------------------------------------------------------


def ordinary_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of the tokens that ordinary text can give."""
    reserved = tokenizer.model.reserved_ids
    return [id_ for id_ in range(tokenizer.vocab_size) if id_ not in reserved]


def text_ids(tokenizer: Tokenizer) -> list[int]:
    """The same without the tokens of bytes that unknown characters fall back to."""
    return [id_ for id_ in ordinary_ids(tokenizer) if not is_byte_token(tokenizer, id_)]


def is_byte_token(tokenizer: Tokenizer, id_: int) -> bool:
    """Is it the token of a byte that unknown characters fall back to?"""
    return tokenizer.recipe.is_byte_token(tokenizer.model.tokens[id_])


def token_bytes(tokenizer: Tokenizer, id_: int) -> bytes:
    """A token's bytes, markers included; of `<0x0A>` the byte that it stands for."""
    data = tokenizer.model.tokens[id_]
    return bytes([int(data[3:5], 16)]) if is_byte_token(tokenizer, id_) else data


def token_text(tokenizer: Tokenizer, id_: int) -> bytes:
    """The bytes of text that a token stands for: its own, without the word marker."""
    token = tokenizer.model.tokens[id_]
    if id_ in tokenizer.model.reserved_ids:
        return token
    if space := space_mark(tokenizer.recipe):
        return token.removeprefix(space.encode())
    return tokenizer.recipe.marker.removed_from(token)


def written_text(tokenizer: Tokenizer, id_: int) -> bytes:
    """The text that could become the token: as `token_text`, with spaces for what stands
    for spaces."""
    if space := space_mark(tokenizer.recipe):
        return tokenizer.model.tokens[id_].replace(space.encode(), b" ")
    return token_text(tokenizer, id_)


def is_utf8(text: bytes) -> bool:
    """Does it consist of whole characters?"""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- What a token is: its origin, its place in a word, its content, its script ------------------


def kind_of(tokenizer: Tokenizer, id_: int) -> str:
    """Where a token comes from, in one word.

    | kind | what it is |
    |---|---|
    | `special` | given meaning by a program; ordinary text never becomes it |
    | `added` | found in the text before the model segments it |
    | `byte` | `<0x0A>`: what characters without a token fall back to |
    | `alphabet` | a symbol that words start as |
    | `merged` | made of two others |
    | `superword` | made of whole pre-tokens |
    | `character` | one character, in a model that merges nothing |
    | `piece` | a piece of several characters of a Unigram model |
    | `word` | a whole pre-token |
    | `other` | in a vocabulary whose history is not known: not made by its merges |
    """
    model = tokenizer.model
    if id_ in model.special_id_set:
        return "special"
    if is_byte_token(tokenizer, id_):
        return "byte"
    if id_ in model.reserved_ids:
        return "added"
    traits = tokenizer.recipe.traits
    if traits.learns_words:
        return "word"
    if traits.learns_characters:
        return "character"
    if traits.has_scores:
        return "piece" if len(model.tokens[id_].decode()) > 1 else "character"
    if id_ in model.superword_ids:
        return "superword"
    if id_ in history_of(tokenizer).made_by:
        return "merged"
    if model.training is not None:
        return "alphabet"
    text = token_text(tokenizer, id_)
    units = len(text) if tokenizer.recipe.is_byte_level else len(text.decode())
    if units <= 1:
        return "alphabet"
    return "merged" if tokenizer.recipe.has_ranks else "other"


def place_of(tokenizer: Tokenizer, id_: int) -> str:
    """Where in a word an ordinary token stands, as far as its spelling says."""
    token = tokenizer.model.tokens[id_]
    marker = tokenizer.recipe.marker
    mark = marker.text.encode()
    if marker.is_continuation:
        return "continuation" if token.startswith(mark) else "word start"
    if marker.starts_words:
        return "word start" if token.startswith(mark) else "continuation"
    if marker.ends_words:
        return "word end" if token.endswith(mark) else "before the word end"
    if space := space_mark(tokenizer.recipe):
        return "word start" if token.startswith(space.encode()) else "continuation"
    if tokenizer.recipe.traits.learns_words:
        return "whole word"
    if tokenizer.recipe.traits.learns_characters:
        return "any place"
    if b" " in token.strip():
        return "several words"
    return "space before" if token[:1].isspace() else "no space before"


#: By the first letter of the Unicode category.
_CONTENTS = {
    "L": "letters",
    "M": "letters",
    "N": "digits",
    "P": "punctuation",
    "S": "punctuation",
    "C": "control characters",
    "Z": "white space",
}


def content_of(text: bytes) -> str:
    """What a token's text consists of, white space at its edges left out."""
    try:
        characters = text.decode().strip()
    except UnicodeDecodeError:
        return "pieces of characters"
    if not characters:
        return "white space" if text else "the word marker"
    kinds = {_CONTENTS[unicodedata.category(char)[0]] for char in characters}
    return kinds.pop() if len(kinds) == 1 else "mixed"


#: Characters of several scripts.
MIXED = "mixed"
#: Nothing but characters that all scripts share: digits, punctuation, spaces.
NONE = "none"
#: Bytes that are no whole characters.
PIECES = "pieces of characters"


def script_of(text: bytes) -> str:
    """The Unicode script (UAX #24) of a text's characters, or `MIXED`, `NONE` or `PIECES`.

    Characters that many scripts share, and combining marks that take the script of their base,
    say nothing.
    """
    try:
        found = _native.scripts_of(text.decode())
    except UnicodeDecodeError:
        return PIECES
    return MIXED if len(found) > 1 else found[0] if found else NONE


class TokenGroups:
    """The tokens that stand for text, and the groups that they fall into, by id."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.unit = "bytes" if tokenizer.recipe.is_byte_level else "characters"
        self.texts = {id_: token_text(tokenizer, id_) for id_ in text_ids(tokenizer)}

    @cached_property
    def lengths(self) -> dict[int, int]:
        """Without markers, in `unit`."""
        if self.unit == "bytes":
            return {id_: len(text) for id_, text in self.texts.items()}
        return {id_: len(text.decode()) for id_, text in self.texts.items()}

    @cached_property
    def places(self) -> dict[int, str]:
        return {id_: place_of(self.tokenizer, id_) for id_ in self.texts}

    @cached_property
    def contents(self) -> dict[int, str]:
        return {id_: content_of(text) for id_, text in self.texts.items()}

    @cached_property
    def scripts(self) -> dict[int, str]:
        return {id_: script_of(text) for id_, text in self.texts.items()}


# -- Reach: tokens that no text is encoded to ---------------------------------------------------

# Merges that a token is made of can be overtaken: by other merges in front of it, by a
# pre-tokenizer that cuts the token's text in two, by a longer token that always wins. Whether
# any text at all gives a token can't be decided by trying; what is tried here is the token's
# own text, alone and beside one more character:
#
# - The text alone, as a word of its own. That settles whole words.
# - The text behind a character, and in front of one. Inside a word a marker model spells a
#   token otherwise than at its edges, so most of its tokens need a neighbour. Characters that
#   the model does not know come first, since they merge with nothing; then its alphabet, and
#   long tokens where the longest match wins.
# - Where `▁` stands for a space, the text is tried with spaces first, and then as it is spelled.
# - A byte-level token that is no whole characters is given to the merges alone, without the
#   pre-tokenizer: what the rest of its characters would be, nothing says.
#
# A token that none of these trials gives is called unreachable. Special and added tokens are
# not tried, as ordinary text never gives them; nor are the tokens of bytes that unknown
# characters fall back to, many of which (`<0xFF>`) are in no UTF-8.
#
# Of a Unigram model the trials decide: the parts of a best path are best paths of their own
# texts, so that a piece whose own text is split better is in none.

#: Texts that are encoded at most, in all.
TRIALS = 400_000
#: Steps that they may take, where a text of n bytes takes n², as a search for pieces as long as the
#: text does: a second. The longest pieces of models that people use take thousands.
_STEPS = 1_000_000_000
#: Characters of the alphabet that are tried as neighbours.
NEIGHBOURS = 256
#: Of the longest tokens that words start with, where the longest match wins.
LONG_NEIGHBOURS = 32
#: More than any model has.
_EVERY_STEP = (1 << 32) - 2
#: Letters, digits and signs of scripts that few models know.
_STRANGE = "\ua66e\u13a0\u16a0\u07c0\u1810\u2042\u2e30"


@dataclass(frozen=True)
class Reach:
    """What the trials have found.

    Attributes:
        unreachable: tokens that no trial has given, in id order.
        undecided: tokens whose trials were cut short at `TRIALS`, or because they are too long.
        trials: texts that were encoded.
        ids: those of the unreachable tokens.
    """

    unreachable: tuple[str, ...]
    undecided: int
    trials: int
    ids: tuple[int, ...] = ()


def unreachable(
    tokenizer: Tokenizer, trials: int | None = None, matcher: _native.Matchers | None = None
) -> Reach:
    """The tokens of a model that trials with their own text can't bring about.

    Args:
        trials: texts that are encoded at most, by default `TRIALS`.
        matcher: finds added tokens before the model reads the texts; by default none are.
    """
    most = TRIALS if trials is None else trials
    waiting = {}
    for id_ in ordinary_ids(tokenizer):
        data = tokenizer.model.tokens[id_]
        if is_byte_token(tokenizer, id_):
            continue
        if is_utf8(data):
            waiting[id_] = written_text(tokenizer, id_)
        elif not _merges_give(tokenizer, id_, data):
            waiting[id_] = data
    made = steps = 0
    for before, after, literal in _contexts(tokenizer):
        steps += sum(len(text) ** 2 for text in waiting.values())
        if made + len(waiting) > most or steps > _STEPS:
            return Reach((), len(waiting), made)
        made += len(waiting)
        if literal:
            waiting = {id_: tokenizer.model.tokens[id_] for id_ in waiting}
        texts = [before + text + after for text in waiting.values()]
        results = tokenizer.encoder.batch(texts, 1, matcher)
        pairs = zip(waiting.items(), results, strict=True)
        waiting = {id_: text for (id_, text), ids in pairs if id_ not in ids}
        if not waiting:
            break
    return Reach(tuple(tokenizer.tokens[id_] for id_ in waiting), 0, made, tuple(waiting))


def _merges_give(tokenizer: Tokenizer, id_: int, text: bytes) -> bool:
    ids, _, _ = tokenizer.encoder.replay(text, _EVERY_STEP)
    return ids == [id_]


def _contexts(tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes, bool]]:
    """What is put before and behind a token's text; whether the text is the token as it is
    spelled, with its `▁` for a space, which a text may hold, too."""
    for before, after in _neighbours(tokenizer):
        yield before, after, False
    if space_mark(tokenizer.recipe):
        yield b"", b"", True
        yield b"a", b"a", True


def _neighbours(tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    yield b"", b""
    if space_mark(tokenizer.recipe):
        yield b" ", b""
        yield b"a", b"a"  # where spaces at the ends are removed
    if tokenizer.recipe.looks_up_pre_tokens or tokenizer.recipe.emits_symbols:
        return  # what these read does not depend on what stands beside it
    known = set()
    alphabet = []
    for id_ in ordinary_ids(tokenizer):
        text = token_text(tokenizer, id_)
        if len(text) <= 4 and is_utf8(text) and len(text.decode()) == 1 and text not in known:
            known.add(text)
            alphabet.append(text)
    strange = [char.encode() for char in _STRANGE if char.encode() not in known]
    if tokenizer.recipe.matches_longest:
        strange = []  # they would make the whole word unknown
    if tokenizer.recipe.traits.has_scores:
        alphabet = []  # beside what no piece spells, the best path of the rest stays the best
    for neighbour in [*strange, *alphabet[:NEIGHBOURS]]:
        yield neighbour, b""
        yield b"", neighbour
    if tokenizer.recipe.matches_longest:
        # A character before may belong to a longer match; few tokens go on from a long one.
        mark = tokenizer.recipe.marker.text.encode()
        tokens = (tokenizer.model.tokens[id_] for id_ in ordinary_ids(tokenizer))
        starts = [token for token in tokens if not token.startswith(mark)]
        for start in sorted(starts, key=len, reverse=True)[:LONG_NEIGHBOURS]:
            yield start, b""
