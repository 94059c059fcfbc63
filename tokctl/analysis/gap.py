"""The distance of a tokenizer from the optimum: its fewest tokens, and bounds for any vocabulary.

The lower bounds hold for every vocabulary of the same size. `docs/gap.md` defines the values and
says which are proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from tokctl import _native
from tokctl.analysis.explain.usage import Segmented, segmented
from tokctl.analysis.explain.vocabulary import is_byte_token, text_ids, token_bytes
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.texts import checked_batches, errors_of
from tokctl.core.errors import BadOption
from tokctl.core.values import cached_property
from tokctl.model.parts import is_lossless
from tokctl.sources import Batch, Named, Records, Source, check_errors, opened, total_size
from tokctl.tokenizer.tokenizer import chosen_threads

if TYPE_CHECKING:
    from tokctl.model import Recipe
    from tokctl.tokenizer import Tokenizer

#: Default steps of the search for a lower bound. Twice as many raise it by 0.01 %.
ROUNDS = 100
#: Most edges of the linear program that can change, at about 40 bytes of memory each. An edge is an
#: occurrence of a string in a distinct pre-token. Edges of rarer strings stay fixed. With over
#: twice as many edges the program is skipped.
_MOST_EDGES = 3 << 23
#: Default number of pre-tokens to list as losing most.
SHOWN = 30
#: Byte for the word marker, as in `vocabulary_bound.rs`: it never occurs in UTF-8.
_MARK = b"\xff"

#: Function called with a phase, the steps done and the number of steps.
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class LosingPreToken:
    """A distinct pre-token that the model splits into more tokens than its vocabulary needs.

    Attributes:
        data: bytes of the pre-token, normalized and rewritten by the pre-tokenizer.
        count: occurrences in the text.
        tokens: segmentation by the model.
        fewest: segmentation with the fewest tokens; among several, the one with the longest first
            token, then the longest second, and so on.
    """

    data: bytes
    count: int
    tokens: tuple[str, ...]
    fewest: tuple[str, ...]

    @property
    def lost(self) -> int:
        """Number of tokens that could be saved in all occurrences."""
        return self.count * (len(self.tokens) - len(self.fewest))


@dataclass(frozen=True)
class TokenGap:
    """The number of tokens of a text compared with the fewest possible.

    Some pre-tokens can't be spelled: the model gives an unknown token for them, or drops a part.
    They and the added tokens found in the text count unchanged in every value.

    Attributes:
        tokens: number of tokens that the model gives.
        fewest: exact least number of tokens of the vocabulary that spell the same pre-tokens.
        across: exact least number if tokens may cross pre-tokens. Absent if joined pre-tokens are
            not the text, or some can't be spelled.
        bounds: proven lower bounds on these pre-tokens for any vocabulary with at most `budget`
            tokens of two symbols or more, by name: `pre-tokens`, `frequent`, `linear program`.
        is_reached: whether some such vocabulary certainly gives as few tokens as the highest bound.
        budget: number of the model's ordinary tokens with two symbols or more. A token that also
            spells the word marker's own text, which the text contains, counts twice.
        symbols: `bytes` or `characters`.
        edges: occurrences, in distinct pre-tokens, of the strings that occur there at least twice:
            the size of the linear program. 0 if the program was not needed, or skipped for its
            size.
        pre_tokens: number of pre-tokens in the text, added tokens included.
        distinct: number of distinct pre-tokens, added tokens included.
        characters: number of characters of these pre-tokens; a byte that is not UTF-8 counts as
            one.
        unspelled: number of pre-tokens and added tokens that count unchanged.
        unspelled_tokens: number of their tokens.
        losing: number of distinct pre-tokens with more tokens than necessary.
        losers: pre-tokens that lose most over all occurrences, equal ones in first-seen order.
    """

    tokens: int
    fewest: int
    across: int | Undefined
    bounds: dict[str, int]
    is_reached: bool
    budget: int
    symbols: str
    edges: int
    pre_tokens: int
    distinct: int
    characters: int
    unspelled: int
    unspelled_tokens: int
    losing: int
    losers: tuple[LosingPreToken, ...]

    @property
    def bound(self) -> int:
        """Highest lower bound."""
        return max(self.bounds.values())

    @property
    def bound_name(self) -> str:
        """Name of the highest lower bound; of equal bounds the simplest."""
        return next(name for name, tokens in self.bounds.items() if tokens == self.bound)

    @property
    def lost(self) -> int:
        """Number of tokens that another segmentation with the same vocabulary would save."""
        return self.tokens - self.fewest


def token_gap(
    tokenizer: Tokenizer,
    texts: Named | Sequence[Named],
    *,
    errors: str = "strict",
    limit: int | None = None,
    rounds: int = ROUNDS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TokenGap:
    """Measure how far the tokens of texts are from the fewest possible.

    Args:
        tokenizer: tokenizer to measure.
        texts: paths and sources. No pre-token or token crosses the end of a document, and a
            document counts as often as its source says.
        errors: `strict`, or `replace` to put U+FFFD where text is not UTF-8 and the model reads
            characters.
        limit: most pre-tokens to list as losing; None means `SHOWN`.
        rounds: steps of the search for the lower bound; more steps take longer and raise it a
            little.
        threads: threads to use; None takes the processors that this process may use. The result
            does not depend on them.
        progress: function called with the phase, the steps done and the number of steps.

    Raises:
        TokctlError: text is unreadable or too large for the bound, or not UTF-8 for a
            character-level model and `errors="strict"`.

    Example:
        >>> gap = token_gap(tokenizer, ["book.txt"])
        >>> gap.bound <= gap.fewest <= gap.tokens
        True
    """
    check_errors(errors)
    if rounds < 0:
        raise BadOption(
            f"invalid value {rounds} for rounds", "give a number of at least 0", "bad-value"
        )
    threads = chosen_threads(threads)
    spelling = _Spelling(tokenizer)
    fewest_tokens = spelling.fewest_tokens()
    across = _Across(tokenizer, opened(texts), errors, fewest_tokens)
    pre_tokens = segmented(tokenizer, [across.source()], errors)
    if literal := spelling.literal_tokens(pre_token.data for pre_token in pre_tokens):
        fewest_tokens = spelling.fewest_tokens(literal)
    spellings = [spelling.pre_token(pre_token.data) for pre_token in pre_tokens]
    counts = fewest_tokens.counts(spellings, threads)
    rows = [
        _Row(pre_token, text, fewest)
        for pre_token, text, fewest in zip(pre_tokens, spellings, counts, strict=True)
        if fewest is not None and spelling.is_spelled(pre_token)
    ]
    spelled = [row.pre_token for row in rows]
    tokens, occurrences = _tokens(pre_tokens), _occurrences(pre_tokens)
    unspelled_tokens = tokens - _tokens(spelled)
    budget = spelling.budget + len(literal)
    bounds, is_reached, edges = spelling.bounds(rows, budget, rounds, threads, progress)
    losing = [row for row in rows if row.lost]
    losing.sort(key=lambda row: -row.lost)
    shown = losing[: SHOWN if limit is None else limit]
    return TokenGap(
        tokens=tokens,
        fewest=unspelled_tokens + sum(row.fewest * row.pre_token.count for row in rows),
        across=across.tokens(unspelled=_lacks_spelling(tokenizer, pre_tokens, spelled)),
        bounds={name: unspelled_tokens + bound for name, bound in bounds.items()},
        is_reached=is_reached,
        budget=budget,
        symbols="bytes" if tokenizer.recipe.is_byte_level else "characters",
        edges=edges,
        pre_tokens=occurrences,
        distinct=len(pre_tokens),
        characters=sum(
            len(pre_token.data.decode("utf-8", "surrogateescape")) * pre_token.count
            for pre_token in pre_tokens
        ),
        unspelled=occurrences - _occurrences(spelled),
        unspelled_tokens=unspelled_tokens,
        losing=len(losing),
        losers=tuple(spelling.losing(row, fewest_tokens) for row in shown),
    )


def _tokens(pre_tokens: Iterable[Segmented]) -> int:
    """Return the number of tokens that the model gives in all occurrences of pre-tokens."""
    return sum(len(pre_token.ids) * pre_token.count for pre_token in pre_tokens)


def _occurrences(pre_tokens: Iterable[Segmented]) -> int:
    """Return the number of occurrences of distinct pre-tokens in the text."""
    return sum(pre_token.count for pre_token in pre_tokens)


def _lacks_spelling(
    tokenizer: Tokenizer, pre_tokens: Iterable[Segmented], spelled: Iterable[Segmented]
) -> bool:
    """Return whether a pre-token is neither among `spelled` nor an added token."""
    added = {token.id for token in tokenizer.model.added}
    known = set(map(id, spelled))
    return any(
        id(pre_token) not in known and not added.issuperset(pre_token.ids)
        for pre_token in pre_tokens
    )


class _Row(NamedTuple):
    """A distinct pre-token that the vocabulary can spell.

    Attributes:
        pre_token: the pre-token with its segmentation by the model.
        text: its bytes with the marker as `_MARK`.
        fewest: its fewest tokens.
    """

    pre_token: Segmented
    text: bytes
    fewest: int

    @property
    def lost(self) -> int:
        """Number of tokens that could be saved in all occurrences."""
        return (len(self.pre_token.ids) - self.fewest) * self.pre_token.count


class _Spelling:
    """Conversion of pre-tokens and tokens to strings without word markers.

    A marker becomes the byte `_MARK` at the start or the end of a pre-token, so that a token fits
    wherever its string occurs. WordPiece's `##est` becomes `est`, and its `est` becomes `_MARK` and
    `est`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._recipe = tokenizer.recipe
        self._marker = tokenizer.recipe.marker
        self._mark = self._marker.text.encode()
        tokens = tokenizer.model.tokens
        self._ids = text_ids(tokenizer)
        self._strings = {id_: self._string_of(tokens[id_]) for id_ in self._ids}
        #: Bytes that each id stands for in the model's segmentations.
        self._pieces = {id_: tokens[id_] for id_ in self._ids}
        for id_ in range(tokenizer.vocab_size):
            if is_byte_token(tokenizer, id_):
                self._pieces.setdefault(id_, token_bytes(tokenizer, id_))
        self.budget = sum(not self._recipe.is_initial_symbol(tokens[id_]) for id_ in self._ids)

    def _is_marked(self, token: bytes) -> bool:
        """Return whether a token has a word marker.

        A marker that is not a separate symbol must be attached to a character.
        """
        unmarked = self._marker.removed_from(token)
        return unmarked != token and (bool(unmarked) or self._marker.is_symbol)

    def _string_of(self, token: bytes) -> bytes:
        if not self._is_marked(token):
            return _MARK + token if self._marker.is_continuation else token
        unmarked = self._marker.removed_from(token)
        if self._marker.is_continuation:
            return unmarked
        return unmarked + _MARK if self._marker.ends_words else _MARK + unmarked

    def pre_token(self, data: bytes) -> bytes:
        """Return the string of a pre-token."""
        if self._marker.ends_words:
            return data + _MARK
        return _MARK + data if self._mark else data

    def literal_tokens(self, texts: Iterable[bytes]) -> list[bytes]:
        """Return additional strings of marked tokens whose marker's own text occurs in `texts`.

        Such a token spells that text literally, too. Very few texts contain a marker.
        """
        if not self._mark:
            return []
        tokens = (self._tokenizer.model.tokens[id_] for id_ in self._ids)
        marked = {token for token in tokens if self._is_marked(token)}
        longest = max(map(len, marked), default=0)
        strings: dict[bytes, None] = {}
        for text in texts:
            start_of_mark = text.find(self._mark)
            while start_of_mark >= 0:
                end = start_of_mark + len(self._mark)
                if self._marker.ends_words:
                    parts = [
                        text[start:end] for start in range(max(0, end - longest), start_of_mark + 1)
                    ]
                else:
                    parts = [
                        text[start_of_mark:stop]
                        for stop in range(end, min(len(text), start_of_mark + longest) + 1)
                    ]
                strings.update(dict.fromkeys(part for part in parts if part in marked))
                # Only at the start of a word is a continuation token looked up literally.
                start_of_mark = (
                    -1 if self._marker.is_continuation else text.find(self._mark, start_of_mark + 1)
                )
        return [_MARK + token if self._marker.is_continuation else token for token in strings]

    def fewest_tokens(self, literal: Sequence[bytes] = ()) -> _native.FewestTokens:
        """Return the native search for the fewest tokens, with `literal` strings added."""
        strings = [*self._strings.values(), *literal]
        return _native.FewestTokens(strings, byte_fallback=self._recipe.byte_fallback)

    def is_spelled(self, pre_token: Segmented) -> bool:
        """Return whether the tokens that the model gives spell the pre-token."""
        known_pieces = [self._pieces.get(id_) for id_ in pre_token.ids]
        pieces = [piece for piece in known_pieces if piece is not None]
        if len(pieces) < len(known_pieces):
            return False
        if self._marker.is_continuation:
            if not all(piece.startswith(self._mark) for piece in pieces[1:]):
                return False
            pieces[1:] = [piece[len(self._mark) :] for piece in pieces[1:]]
            return b"".join(pieces) == pre_token.data
        start, end = self._mark * self._marker.starts_words, self._mark * self._marker.ends_words
        return b"".join(pieces) == start + pre_token.data + end

    def losing(self, row: _Row, fewest_tokens: _native.FewestTokens) -> LosingPreToken:
        """Return a row with its segmentation by the model and one with the fewest tokens."""
        names = self._tokenizer.tokens
        lengths = fewest_tokens.lengths(row.text) or []
        parts = []
        start = 0
        for length in lengths:
            parts.append(row.text[start : start + length])
            start += length
        fewest = [name for part in parts for name in self._names_of_part(part)]
        pre_token = row.pre_token
        return LosingPreToken(
            pre_token.data,
            pre_token.count,
            tuple(names[id_] for id_ in pre_token.ids),
            tuple(fewest),
        )

    def _names_of_part(self, part: bytes) -> list[str]:
        """Return the name of the token that spells a part, or of its byte tokens."""
        names = self._tokenizer.tokens
        id_ = self._id_of.get(part)
        if id_ is not None:
            return [names[id_]]
        return [names[self._id_of_byte[byte]] for byte in part]

    @cached_property
    def _id_of_byte(self) -> dict[int, int]:
        return {piece[0]: id_ for id_, piece in self._pieces.items() if id_ not in self._strings}

    @cached_property
    def _id_of(self) -> dict[bytes, int]:
        """Ids of the strings, `literal_tokens` included; the lowest id of equal strings."""
        found = {string: id_ for id_, string in reversed(self._strings.items())}
        if self._mark:
            for id_ in self._ids:
                token = self._tokenizer.model.tokens[id_]
                found.setdefault(_MARK + token if self._marker.is_continuation else token, id_)
        return found

    def bounds(
        self,
        rows: Sequence[_Row],
        budget: int,
        rounds: int,
        threads: int,
        progress: Progress | None,
    ) -> tuple[dict[str, int], bool, int]:
        """Return lower bounds by name, whether the highest is reached, and the program's edges.

        Args:
            rows: distinct pre-tokens that can be spelled.
            budget: most tokens of two symbols or more.
            rounds: steps of the search for the linear program's bound.
            threads: threads to use.
            progress: function called with the phase, the steps done and the number of steps.
        """
        is_fused = self._marker.is_end_fused or self._marker.is_continuation
        symbols = "bytes" if self._recipe.is_byte_level else "characters"

        def tell(done: int) -> None:
            if progress is not None:
                progress("bound", done, rounds)

        frequent, is_reached, linear, edges = _native.vocabulary_bound(
            [row.text for row in rows],
            [row.pre_token.count for row in rows],
            symbols="marked" if is_fused else symbols,
            budget=budget,
            rounds=rounds,
            most_edges=_MOST_EDGES,
            threads=threads,
            progress=tell,
        )
        pre_tokens = sum(row.pre_token.count for row in rows if row.text)
        bounds = {"pre-tokens": pre_tokens, "frequent": frequent}
        if linear:
            bounds["linear program"] = linear
        return bounds, is_reached, edges


class _Across:
    """Counter of the fewest tokens if tokens may cross pre-tokens.

    It counts while the texts are read for another purpose, so that each source is read only once.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        sources: Sequence[Source],
        errors: str,
        fewest_tokens: _native.FewestTokens,
    ) -> None:
        self._tokenizer = tokenizer
        self._sources = sources
        self._errors = errors_of(tokenizer, errors)
        self._fewest_tokens = fewest_tokens
        self._tokens: int | Undefined = 0
        if reason := _no_text(tokenizer.recipe):
            self._tokens = Undefined(reason)

    def source(self) -> Source:
        """Return the documents of all sources as one source, which may be read once."""
        size = total_size(self._sources)
        return Records("the text", size, self._batches, lambda: 0)

    def _batches(self) -> Iterator[Batch]:
        for _, batch in checked_batches(self._sources, self._errors):
            for text, times in zip(batch.texts, batch.counts or repeat(1), strict=False):
                if not isinstance(self._tokens, Undefined):
                    self._add(text, times)
            yield batch

    def _add(self, text: bytes, times: int) -> None:
        tokenizer = self._tokenizer
        matchers = tokenizer.special_matcher("none")
        found = self._fewest_tokens.across(tokenizer.encoder, text, matchers)
        if found is None:
            self._tokens = Undefined(_UNSPELLED)
        elif not isinstance(self._tokens, Undefined):
            self._tokens += found * times

    def tokens(self, *, unspelled: bool) -> int | Undefined:
        """Return the fewest tokens; Absent if some of the text can't be spelled."""
        if unspelled and not isinstance(self._tokens, Undefined):
            return Undefined(_UNSPELLED)
        return self._tokens


_UNSPELLED = "some of the text can't be spelled with the vocabulary"


def _no_text(recipe: Recipe) -> str:
    """Return why a recipe's joined pre-tokens are not the text; empty if they are."""
    if recipe.marker.text:
        return "the word marker says where a pre-token begins or ends"
    if recipe.looks_up_pre_tokens:
        return "every pre-token is one token"
    if not all(is_lossless(part) or part.kind in _REWRITING for part in recipe.pre_tokenizers):
        return "the pre-tokenizer drops the white space between pre-tokens"
    return ""


#: Pre-tokenizers that rewrite text without dropping any of it.
_REWRITING = ("metaspace", "prefix-space", "byte-level")
