"""The tokens of a vocabulary: their text, kind and content, and whether any text gives them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl import _native

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- Ids and the text that they stand for -------------------------------------------------------


def ordinary_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of the tokens that ordinary text can give, ascending."""
    reserved = tokenizer.model.reserved_ids
    return [id_ for id_ in range(tokenizer.vocab_size) if id_ not in reserved]


def text_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the ordinary ids without byte-fallback tokens, ascending."""
    return [id_ for id_ in ordinary_ids(tokenizer) if not is_byte_token(tokenizer, id_)]


def is_byte_token(tokenizer: Tokenizer, id_: int) -> bool:
    """Return whether token `id_` stands for a byte of unknown characters (byte fallback)."""
    return tokenizer.recipe.is_byte_token(tokenizer.model.tokens[id_])


def token_bytes(tokenizer: Tokenizer, id_: int) -> bytes:
    """Return a token's bytes, markers included; for `<0x0A>` the byte that it stands for."""
    data = tokenizer.model.tokens[id_]
    return bytes([int(data[3:5], 16)]) if is_byte_token(tokenizer, id_) else data


def token_text(tokenizer: Tokenizer, id_: int) -> bytes:
    """Return the bytes of text that a token stands for, without its word marker."""
    token = tokenizer.model.tokens[id_]
    if id_ in tokenizer.model.reserved_ids:
        return token
    if space := tokenizer.recipe.space_mark:
        return token.removeprefix(space.encode())
    return tokenizer.recipe.marker.removed_from(token)


def written_text(tokenizer: Tokenizer, id_: int) -> bytes:
    """Return the text that could become the token: `token_text`, with real spaces."""
    if space := tokenizer.recipe.space_mark:
        return tokenizer.model.tokens[id_].replace(space.encode(), b" ")
    return token_text(tokenizer, id_)


def is_utf8(text: bytes) -> bool:
    """Return whether `text` consists of whole characters in UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- A token's origin, its position in a word, its content and its script -----------------------


def kind_of(tokenizer: Tokenizer, id_: int) -> str:
    """Return where a token comes from, in one word.

    | kind | meaning |
    |---|---|
    | `special` | given meaning by a program; ordinary text never becomes it |
    | `added` | found in the text before the model segments it |
    | `byte` | `<0x0A>`: byte fallback for characters without a token |
    | `alphabet` | an initial symbol |
    | `merged` | made of two other tokens |
    | `superword` | made of whole pre-tokens |
    | `character` | one character, in a model that merges nothing |
    | `piece` | a piece of several characters of a Unigram model |
    | `word` | a whole pre-token |
    | `other` | not made by a known merge, in a model that tokctl did not train |
    """
    model = tokenizer.model
    if id_ in model.special_id_set:
        return "special"
    if is_byte_token(tokenizer, id_):
        return "byte"
    if id_ in model.reserved_ids:
        return "added"
    return tokenizer.recipe.traits.kind_of(model, id_, token_text(tokenizer, id_))


def place_of(tokenizer: Tokenizer, id_: int) -> str:
    """Return where in a word an ordinary token stands, as far as its spelling says."""
    token = tokenizer.model.tokens[id_]
    marker = tokenizer.recipe.marker
    mark = marker.text.encode()
    if marker.is_continuation:
        return "continuation" if token.startswith(mark) else "word start"
    if marker.starts_words:
        return "word start" if token.startswith(mark) else "continuation"
    if marker.ends_words:
        return "word end" if token.endswith(mark) else "before the word end"
    if space := tokenizer.recipe.space_mark:
        return "word start" if token.startswith(space.encode()) else "continuation"
    if place := tokenizer.recipe.traits.token_place:
        return place
    if b" " in token.strip():
        return "several words"
    return "space before" if token[:1].isspace() else "no space before"


#: Contents by the first letter of the Unicode category.
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
    """Return the kind of characters in a token's text, white space at its edges ignored."""
    try:
        characters = text.decode().strip()
    except UnicodeDecodeError:
        return "pieces of characters"
    if not characters:
        return "white space" if text else "the word marker"
    kinds = {_CONTENTS[unicodedata.category(char)[0]] for char in characters}
    return kinds.pop() if len(kinds) == 1 else "mixed"


#: Script of a text with characters of several scripts.
MIXED = "mixed"
#: Script of a text of shared characters only: digits, punctuation, spaces.
NONE = "none"
#: Script of bytes that are not whole characters.
PIECES = "pieces of characters"


def script_of(text: bytes) -> str:
    """Return the Unicode script (UAX #24) of a text's characters, or `MIXED`, `NONE` or `PIECES`.

    Characters that many scripts share are ignored, and so are combining marks that take the script
    of their base.
    """
    try:
        found = _native.scripts_of(text.decode())
    except UnicodeDecodeError:
        return PIECES
    return MIXED if len(found) > 1 else found[0] if found else NONE


class TokenGroups:
    """The tokens that stand for text, grouped in several ways by id.

    Attributes:
        unit: unit of `lengths`: `bytes` or `characters`.
        texts: text of each token, without its word marker.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.unit = "bytes" if tokenizer.recipe.is_byte_level else "characters"
        self.texts = {id_: token_text(tokenizer, id_) for id_ in text_ids(tokenizer)}

    @cached_property
    def lengths(self) -> dict[int, int]:
        """Length of each token in `unit`, without markers."""
        if self.unit == "bytes":
            return {id_: len(text) for id_, text in self.texts.items()}
        return {id_: len(text.decode()) for id_, text in self.texts.items()}

    @cached_property
    def places(self) -> dict[int, str]:
        """Position in a word of each token; see `place_of`."""
        return {id_: place_of(self.tokenizer, id_) for id_ in self.texts}

    @cached_property
    def contents(self) -> dict[int, str]:
        """Content of each token; see `content_of`."""
        return {id_: content_of(text) for id_, text in self.texts.items()}

    @cached_property
    def scripts(self) -> dict[int, str]:
        """Unicode script of each token; see `script_of`."""
        return {id_: script_of(text) for id_, text in self.texts.items()}


# -- Reach: tokens that no text is encoded to ---------------------------------------------------

# A token can be unreachable although merges make it: other merges may come first, a pre-tokenizer
# may cut the token's text, or a longer token may always win. Trials can't prove that no text at
# all gives a token. The trials encode the token's own text, alone and beside one more character:
#
# - The text alone, as a separate word. That settles whole words.
# - The text after a character, and before a character. A model with word markers spells tokens
#   inside a word differently from tokens at its edges, so most of its tokens need a neighbour.
#   Characters that the model does not know come first, since they merge with nothing; then the
#   model's alphabet, and long tokens if the longest match wins.
# - If `▁` stands for a space, the text with spaces first, and then the token as it is spelled.
# - A byte-level token that is not whole characters goes through the merges without the
#   pre-tokenizer, because the other bytes of its characters are not known.
#
# A token that none of these trials gives is called unreachable. Special and added tokens are not
# tried, since ordinary text never gives them. Nor are byte-fallback tokens, many of which
# (`<0xFF>`) occur in no UTF-8 text.
#
# For a Unigram model the trials are a proof: the parts of a best path are best paths of their own
# texts, so a piece whose own text has a better segmentation is on no best path.

#: Most texts to encode for one model.
TRIALS = 400_000
#: Most steps for one model, about a second. A text of n bytes takes n² steps, as a search for
#: pieces as long as the text does. The longest pieces of published models take thousands of steps.
_STEPS = 1_000_000_000
#: Most characters of the alphabet to try as neighbours.
NEIGHBOURS = 256
#: Most tokens at the start of a word, longest first, to try as neighbours for longest match.
LONG_NEIGHBOURS = 32
#: A number of merges that no model reaches.
_EVERY_STEP = (1 << 32) - 2
#: Letters, digits and signs that few models have tokens for.
_STRANGE = "\ua66e\u13a0\u16a0\u07c0\u1810\u2042\u2e30"


@dataclass(frozen=True)
class Reach:
    """The results of trials to make texts give each token.

    Attributes:
        unreachable: tokens that no trial gave, in id order.
        undecided: number of tokens whose trials stopped at `TRIALS` or because they are too long.
        trials: number of texts encoded.
        ids: ids of the unreachable tokens.
    """

    unreachable: tuple[str, ...]
    undecided: int
    trials: int
    ids: tuple[int, ...] = ()


def unreachable(
    tokenizer: Tokenizer, trials: int | None = None, matcher: _native.Matchers | None = None
) -> Reach:
    """Return the tokens that no trial with their own text gives.

    The comment above `TRIALS` lists the trials. They can miss a text that gives a token.

    Args:
        tokenizer: tokenizer whose tokens are tried.
        trials: most texts to encode; None means `TRIALS`.
        matcher: matcher of added tokens to find before the model segments; None finds none.

    Example:
        >>> unreachable(tokenizer).unreachable  # every token is reachable
        ()
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
    """Yield the texts to put before and after a token's text, and whether to spell it literally.

    A literal token keeps its `▁` instead of a space, since a text may contain `▁`, too.
    """
    for before, after in _neighbours(tokenizer):
        yield before, after, False
    if tokenizer.recipe.space_mark:
        yield b"", b"", True
        yield b"a", b"a", True


def _neighbours(tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    yield b"", b""
    if tokenizer.recipe.space_mark:
        yield b" ", b""
        yield b"a", b"a"  # for models that strip spaces at the ends of the text
    if tokenizer.recipe.looks_up_pre_tokens or tokenizer.recipe.emits_symbols:
        return  # these models ignore the neighbours of a pre-token or symbol
    known = set()
    alphabet = []
    for id_ in ordinary_ids(tokenizer):
        text = token_text(tokenizer, id_)
        if len(text) <= 4 and is_utf8(text) and len(text.decode()) == 1 and text not in known:
            known.add(text)
            alphabet.append(text)
    strange = [char.encode() for char in _STRANGE if char.encode() not in known]
    if tokenizer.recipe.matches_longest:
        strange = []  # an unknown character makes the whole word unknown
    if tokenizer.recipe.maximizes_probability:
        alphabet = []  # unknown neighbours suffice: they don't change the best path of the rest
    for neighbour in [*strange, *alphabet[:NEIGHBOURS]]:
        yield neighbour, b""
        yield b"", neighbour
    if tokenizer.recipe.matches_longest:
        # A single character before the token may start a longer match; few tokens continue a
        # long token.
        mark = tokenizer.recipe.marker.text.encode()
        tokens = (tokenizer.model.tokens[id_] for id_ in ordinary_ids(tokenizer))
        starts = [token for token in tokens if not token.startswith(mark)]
        for start in sorted(starts, key=len, reverse=True)[:LONG_NEIGHBOURS]:
            yield start, b""
