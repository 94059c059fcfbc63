"""Explanations of how a text's pre-tokens are split, step by step, and why not in another way.

`explain` explains each pre-token by the recipe's segmentation: merges, scores, longest match, or a
look-up.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import exp
from typing import TYPE_CHECKING

from tokctl._native import NO_ID, normalize
from tokctl.analysis.explain.history import (
    LONGEST,
    MergeRecord,
    MergeRules,
    Pair,
    Ranks,
    check_symbols,
    full_history_of,
    history_of,
    merge_rules,
    name_symbols,
)
from tokctl.analysis.explain.removals import RefinedWord, refined_word
from tokctl.core.errors import BadInput
from tokctl.core.values import ShortRepr
from tokctl.model.parts import AddedToken, native_parts
from tokctl.tokenizer.sampling import check_nbest

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- Merges -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A pair that could have merged instead of the chosen one.

    Attributes:
        left: left symbol.
        right: right symbol.
        step: step at which the training merged the pair; the rank in a model segmented by ranks.
    """

    left: str
    right: str
    step: int


@dataclass(frozen=True)
class MergeStep:
    """A merge, applied to every occurrence of its pair that is due.

    Attributes:
        merge: the merge.
        places: indices of the left symbols in the state before the step, from 0.
        losers: other pairs that a merge exists for, by step; their merges all come later.
        state: symbols after the step.
    """

    merge: MergeRecord
    places: tuple[int, ...]
    losers: tuple[Candidate, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class Leftover:
    """Why two neighbours of the last state are not merged.

    Attributes:
        left: left symbol.
        right: right symbol.
        reason: `unknown` (a symbol has no id), `never` (the model has no merge of the pair; by
            ranks, no token that the pair spells) or `passed` (the pair arose only after its step).
        step: step that had passed; None for the other reasons.
        instead: merge of another pair that makes the token which the two would spell; None if the
            vocabulary lacks the token or its merge is not known.
        lacks: symbols of the pair without an id.
    """

    left: str
    right: str
    reason: str
    step: int | None
    instead: MergeRecord | None = None
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class MergedWord:
    """A pre-token that is segmented by merges.

    Attributes:
        data: bytes of the pre-token, normalized and rewritten.
        symbols: initial symbols, markers included; byte tokens for characters that fall back to
            bytes.
        steps: merges in the order applied.
        state: last symbols; a symbol without an id is the character itself.
        leftovers: why neighbours in `state` are not merged.
        tokens: tokens as `encode` names them: with the unknown token, if any, and with adjacent
            unknown symbols as one token if the recipe fuses them.
        ids: id of each token; None for a character without an id.
        whole: whether the pre-token is a token and is kept whole, without steps, whatever the
            merges would give.
        ranked: whether the model has no merge history and the steps are ranks of tokens.
        fallbacks: characters that fell back to bytes, with their byte tokens.
        joined: whether several pre-tokens are one token: the symbols are the pre-tokens, and the
            steps are supermerges.
    """

    data: bytes
    symbols: tuple[str, ...]
    steps: tuple[MergeStep, ...]
    state: tuple[str, ...]
    leftovers: tuple[Leftover, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]
    whole: bool = False
    ranked: bool = False
    fallbacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    joined: bool = False


def join_words(tokenizer: Tokenizer, words: Sequence[bytes], name: str, id_: int) -> MergedWord:
    """Return how supermerges join pre-tokens into one token.

    Args:
        tokenizer: tokenizer of a model with supermerges.
        words: bytes of the pre-tokens, each of which is a token.
        name: name of the token.
        id_: id of the token.
    """
    history = full_history_of(tokenizer)
    ids = [history.ids[word] for word in words]
    sequence = SymbolSequence(
        history, ids, [tokenizer.tokens[word_id] for word_id in ids], replay=False
    )
    first_rank = len(history.merges) - len(tokenizer.model.supermerges)
    ranks = (first_rank + rank for rank in tokenizer.encoder.supermerge_steps(ids))
    merges = ((rank, history.merges[rank]) for rank in ranks)
    steps = tuple(sequence.steps((rank, (merge.left, merge.right)) for rank, merge in merges))
    symbols = tuple(tokenizer.tokens[word_id] for word_id in ids)
    data = b"".join(words)
    return MergedWord(data, symbols, steps, (name,), (), (name,), (id_,), joined=True)


def merge_word(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], final: tuple[int | None, ...]
) -> MergedWord:
    """Return how merges segment one pre-token.

    Args:
        tokenizer: tokenizer of a model that segments by merges or ranks.
        data: bytes of the pre-token, normalized and rewritten.
        names: tokens that the encoder made of the pre-token.
        final: ids of these tokens.

    Raises:
        TokctlError: the pre-token has more than `LONGEST` symbols.
    """
    ids, lengths, _ = tokenizer.encoder.replay(data, 0)
    check_symbols(len(ids))
    symbols = name_symbols(tokenizer, data, ids, lengths)
    rules = merge_rules(tokenizer)
    sequence = SymbolSequence(rules, ids, symbols, replay=tokenizer.recipe.replays_merges)
    if isinstance(rules, Ranks):
        steps = tuple(sequence.steps(sequence.by_rank(rules)))
    else:
        merges = tokenizer.merges
        _, _, ranks = tokenizer.encoder.replay(data, len(merges))
        pairs = ((merges[rank].left, merges[rank].right) for rank in ranks)
        steps = tuple(sequence.steps(zip(ranks, pairs, strict=True)))
    fallbacks = tuple(_fallbacks(tokenizer, data, symbols, lengths))
    # No merge ever joins byte tokens, so a reason for each pair would say nothing.
    fallback_names = {name for _, names in fallbacks for name in names}
    return MergedWord(
        data=data,
        symbols=tuple(symbols),
        steps=steps,
        state=tuple(sequence.names),
        leftovers=tuple(
            leftover
            for leftover in sequence.leftovers()
            if not fallback_names & {leftover.left, leftover.right}
        ),
        tokens=names,
        ids=final,
        ranked=isinstance(rules, Ranks),
        fallbacks=fallbacks,
    )


class SymbolSequence:
    """The changing symbols of a pre-token while merges are applied."""

    def __init__(
        self, rules: MergeRules, ids: Sequence[int], names: Sequence[str], *, replay: bool
    ) -> None:
        self.rules = rules
        self.replay = replay
        self.ids = list(ids)
        self.names = list(names)

    def steps(self, merges: Iterable[tuple[int, Pair]]) -> Iterator[MergeStep]:
        """Apply merges and yield one step for each run of the same rank and pair.

        Args:
            merges: rank and pair of each merge, in the order applied.
        """
        for (rank, pair), places in groupby(merges):
            losers = tuple(self._losing_pairs(rank, pair))
            positions = tuple(
                self._merge(rank, pair, merged_before) for merged_before, _ in enumerate(places)
            )
            yield MergeStep(self.rules.record(rank, pair), positions, losers, tuple(self.names))

    def _merge(self, rank: int, pair: Pair, merged_before: int) -> int:
        """Merge the leftmost occurrence of `pair`.

        Return the index of its left symbol in the state before the first of the `merged_before`
        merges that the step has made, all further left.
        """
        index = next(
            index for index, neighbours in enumerate(pairwise(self.ids)) if neighbours == pair
        )
        token = self.rules.token_of(rank, pair)
        self.ids[index : index + 2] = [token]
        self.names[index : index + 2] = [self.rules.tokens[token]]
        return index + merged_before

    def _losing_pairs(self, rank_now: int, merged: Pair) -> Iterator[Candidate]:
        """Yield the other pairs that could still merge when the merge of `rank_now` is applied."""
        candidates: dict[tuple[int, Pair], None] = {}
        for pair in pairwise(self.ids):
            ranks = self.rules.ranks_of(pair)
            due_ranks = [r for r in ranks if r >= rank_now] if self.replay else ranks[:1]
            candidates.update(((rank, pair), None) for rank in due_ranks)
        names = self.rules.tokens
        for rank, (left, right) in sorted(candidates):
            if (rank, (left, right)) != (rank_now, merged):
                step = self.rules.record(rank, (left, right)).step
                yield Candidate(names[left], names[right], step)

    def by_rank(self, rules: Ranks) -> Iterator[tuple[int, Pair]]:
        """Yield the pairs to merge; each is searched for after the merges before it."""
        while entry := rules.lowest(self.ids):
            yield entry

    def leftovers(self) -> Iterator[Leftover]:
        """Yield why each two neighbours are not merged, left to right."""
        for pair, (left, right) in zip(pairwise(self.ids), pairwise(self.names), strict=True):
            if NO_ID in pair:
                id_names = zip(pair, (left, right), strict=True)
                lacks = tuple(name for id_, name in id_names if id_ == NO_ID)
                yield Leftover(left, right, "unknown", None, lacks=lacks)
            elif ranks := self.rules.ranks_of(pair):
                step = self.rules.record(ranks[-1], pair).step
                yield Leftover(left, right, "passed", step)
            else:
                yield Leftover(left, right, "never", None, self.rules.alternative(pair))


def _fallbacks(
    tokenizer: Tokenizer, data: bytes, symbols: Sequence[str], lengths: Sequence[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the characters that fell back to bytes, with their byte tokens."""
    if not tokenizer.recipe.byte_fallback:
        return
    at = 0
    symbol = 0
    while symbol < len(symbols):
        byte = f"<0x{data[at]:02X}>" if at < len(data) else ""
        if lengths[symbol] == 1 and symbols[symbol] == byte:
            # A character of n bytes begins here, and has n symbols.
            first = data[at]
            size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            yield data[at : at + size].decode(), tuple(symbols[symbol : symbol + size])
            at += size
            symbol += size
        else:
            at += lengths[symbol]
            symbol += 1


# -- Scores: the best path through the lattice of pieces, and the next best (Unigram) -----------

#: Default number of segmentations.
BEST = 5
#: How far an unknown character scores below the worst piece (SentencePiece's `kUnkPenalty`).
UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class PathPiece:
    """A span of a path: one piece, or unknown characters.

    Attributes:
        text: text of the span.
        token: the piece; None for unknown characters.
        score: natural log probability of the piece; `unknown_score` for each unknown character.
        fallback: byte tokens of the unknown characters if the model has them.
    """

    text: str
    token: str | None
    score: float
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """A segmentation of a pre-token into pieces.

    Attributes:
        pieces: spans from left to right.
        score: sum of the scores, in the encoder's precision.
        behind: score of the best path minus this score.
        probability: exp(score) over the sum for all paths; None in models with user-defined pieces,
            whose scores are not probabilities.
    """

    pieces: tuple[PathPiece, ...]
    score: float
    behind: float
    probability: float | None = None


@dataclass(frozen=True)
class ScoredWord:
    """A pre-token that is segmented by the scores of pieces.

    Attributes:
        data: bytes of the pre-token, normalized and rewritten.
        paths: the best path, which is taken, then the next best by score; `BEST` paths by default.
        tokens: tokens as `encode` names them.
        ids: id of each token; None for an unknown one if the model has no unknown token.
    """

    data: bytes
    paths: tuple[Path, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def paths_of(tokenizer: Tokenizer, data: bytes, most: int = BEST) -> tuple[Path, ...]:
    """Return the best paths of a pre-token, the path that is taken first.

    Args:
        tokenizer: tokenizer of a Unigram model.
        data: bytes of the pre-token, normalized and rewritten.
        most: most paths to return.

    Raises:
        TokctlError: the pre-token has more than `LONGEST` characters.
    """
    if (length := len(data.decode())) > LONGEST:
        raise BadInput(
            f"a pre-token of {length:,} characters is too long to explain",
            f"give a part of it, up to {LONGEST:,} characters; encode splits it at any length",
            "too-large",
        )
    # With equal scores the n-best search may order paths differently; put the encoder's path first.
    taken = tokenizer.encoder.nbest(data, 1)[0]
    others = [found for found in tokenizer.encoder.nbest(data, most) if found[:2] != taken[:2]]
    worst = unknown_score(tokenizer)
    paths = [
        (tuple(_pieces(tokenizer, data, ids, lengths, worst)), score)
        for ids, lengths, score in [taken, *others[: most - 1]]
    ]
    if tokenizer.model.user_defined:
        # User-defined pieces score by length: the n-best search counts characters, the encoder
        # bytes.
        summed = ((pieces, _sum(pieces)) for pieces, _ in paths[1:])
        paths[1:] = sorted(summed, key=lambda path: -path[1])
    # The encoder may sum in single precision; the total over all paths is in double precision.
    total = None if tokenizer.model.user_defined else tokenizer.encoder.total(data)
    return tuple(
        Path(
            pieces,
            score,
            taken[2] - score,
            None if total is None else exp(min(0.0, score - total)),
        )
        for pieces, score in paths
    )


def _sum(pieces: Sequence[PathPiece]) -> float:
    """Return the sum of the scores, rounded to single precision after each addition."""
    total = 0.0
    for piece in pieces:
        total = _single(total + piece.score)
    return total


def _single(number: float) -> float:
    """Return `number` rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def unknown_score(tokenizer: Tokenizer) -> float:
    """Return the score of one unknown character: the lowest score minus the penalty."""
    model = tokenizer.model
    if tokenizer.recipe.precision == "double":
        return min(model.scores, default=0.0) - UNKNOWN_PENALTY
    scores = (score for id_, score in enumerate(model.scores) if id_ not in model.reserved_ids)
    return _single(min(scores, default=0.0) - UNKNOWN_PENALTY)


def _pieces(
    tokenizer: Tokenizer, data: bytes, ids: Sequence[int], lengths: Sequence[int], unknown: float
) -> Iterator[PathPiece]:
    at = 0
    waiting: list[str] = []  # byte tokens of characters not yet complete
    start = 0
    for id_, length in zip(ids, lengths, strict=True):
        stretch = data[at : at + length]
        at += length
        known = id_ < len(tokenizer.tokens)
        if known and tokenizer.model.tokens[id_] == stretch and id_ != tokenizer.unk_id:
            yield from _fallen(data[start : at - length], waiting, unknown)
            waiting, start = [], at
            yield PathPiece(stretch.decode(), tokenizer.tokens[id_], tokenizer.model.scores[id_])
        elif known and tokenizer.recipe.byte_fallback and id_ != tokenizer.unk_id:
            waiting.append(tokenizer.tokens[id_])
        else:
            yield from _fallen(data[start : at - length], waiting, unknown)
            waiting, start = [], at
            text = stretch.decode()
            yield PathPiece(text, None, unknown * len(text))
    yield from _fallen(data[start:], waiting, unknown)


def _fallen(data: bytes, tokens: list[str], unknown: float) -> Iterator[PathPiece]:
    """Yield one span for each character of `data` that became its byte tokens."""
    at = 0
    for character in data.decode():
        end = at + len(character.encode())
        yield PathPiece(character, None, unknown, tuple(tokens[at:end]))
        at = end


# -- Longest match: the token at each position, and the longer spellings that are not tokens ----

#: Longer spellings to show that are not in the vocabulary.
LONGER_SHOWN = 3


@dataclass(frozen=True)
class Match:
    """The token found at one position of a word.

    Attributes:
        stretch: characters that the token covers.
        token: the token; None if no token matches, and the single character is unknown.
        longer: longer spellings that are not in the vocabulary: at most `LONGER_SHOWN`, the longest
            of all first, then those just longer than the match.
        longer_count: number of longer spellings tried in vain.
    """

    stretch: str
    token: str | None
    longer: tuple[str, ...]
    longer_count: int


@dataclass(frozen=True)
class MatchFailure:
    """Why a whole word is unknown.

    Attributes:
        reason: `too-long` or `unmatchable`.
        rest: rest of the word from the position where no token fits; empty if the word is too long.
        characters: length of the word.
        limit: the recipe's `max_input_chars`.
    """

    reason: str
    rest: str
    characters: int
    limit: int | None


@dataclass(frozen=True)
class MatchedWord:
    """A pre-token that is segmented by longest match.

    Attributes:
        data: bytes of the pre-token, normalized.
        matches: matches from left to right, up to the failure if the word fails.
        failure: why the word is unknown as a whole; else None.
        tokens: tokens as `encode` names them.
        ids: id of each token; None for an unknown one if the model has no unknown token.
    """

    data: bytes
    matches: tuple[Match, ...]
    failure: MatchFailure | None
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def match_word(tokenizer: Tokenizer, data: bytes) -> MatchedWord:
    """Return how BERT's longest match splits one pre-token.

    Args:
        tokenizer: tokenizer of a model that segments by longest match.
        data: bytes of the pre-token, normalized; they are UTF-8.
    """
    recipe = tokenizer.recipe
    word = data.decode()
    limit = recipe.max_input_chars
    matches: list[Match] = []
    failure = None
    if limit is not None and len(word) > limit:
        failure = MatchFailure("too-long", "", len(word), limit)
    else:
        for at, match in _matches(tokenizer, word):
            if match.token is None and recipe.unknown == "word":
                failure = MatchFailure("unmatchable", word[at:], len(word), limit)
                break
            matches.append(match)
    unknown, mark = recipe.unk_token, recipe.marker.text
    if failure:
        names = [unknown or word]
    else:
        names = [
            match.token or unknown or (mark if place else "") + match.stretch
            for place, match in enumerate(matches)
        ]
    found = [None] if failure else [match.token for match in matches]
    ids = [tokenizer.unk_id if token is None else tokenizer.vocabulary[token] for token in found]
    return MatchedWord(data, tuple(matches), failure, tuple(names), tuple(ids))


def _matches(tokenizer: Tokenizer, word: str) -> Iterator[tuple[int, Match]]:
    """Yield each match with its position in characters.

    A match without a token covers one character.
    """
    vocabulary = tokenizer.vocabulary
    reserved = tokenizer.model.reserved_ids
    longest = history_of(tokenizer).longest
    at = 0
    while at < len(word):
        mark = tokenizer.recipe.marker.text if at else ""
        ends = range(min(len(word), at + longest), at, -1)
        spelled = (mark + word[at:end] for end in ends)
        token = next(
            (n for n in spelled if n in vocabulary and vocabulary[n] not in reserved), None
        )
        end = at + (1 if token is None else len(token) - len(mark))
        tried = len(word) - (at if token is None else end)
        # The spellings just longer than the match, and first the whole rest of the word.
        above = [mark + word[at:stop] for stop in range(len(word) - tried + 1, len(word) + 1)][
            : LONGER_SHOWN - 1
        ]
        if tried >= LONGER_SHOWN:
            above.append(mark + word[at:])
        yield at, Match(word[at:end], token, tuple(reversed(above)), tried)
        at = end


# -- Look-ups: whole pre-tokens of word models, characters of character models ------------------


@dataclass(frozen=True)
class Lookup:
    """A text that was looked up in the vocabulary.

    Attributes:
        text: a whole pre-token or a character.
        token: the token; None if the vocabulary lacks the text.
        count: occurrences counted in training; None if the model lacks counts or the token.
    """

    text: str
    token: str | None
    count: int | None


@dataclass(frozen=True)
class LookedUpWord:
    """A pre-token that was looked up, whole or by its characters.

    Attributes:
        data: bytes of the pre-token, normalized and rewritten.
        unit: unit that was looked up: `word` or `character`.
        size: number of ordinary tokens in the vocabulary.
        lookups: look-ups from left to right.
        tokens: tokens as `encode` names them.
        ids: id of each token; None for an unknown one if the model has no unknown token.
    """

    data: bytes
    unit: str
    size: int
    lookups: tuple[Lookup, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def look_up(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], ids: tuple[int | None, ...]
) -> LookedUpWord:
    """Return how a word or character model encodes one pre-token.

    Args:
        tokenizer: tokenizer of a word or character model.
        data: bytes of the pre-token, normalized and rewritten.
        names: tokens that the encoder made of the pre-token.
        ids: ids of these tokens.
    """
    whole = tokenizer.recipe.looks_up_pre_tokens
    text = data.decode()
    model = tokenizer.model
    known = {token: id_ for id_, token in enumerate(model.tokens) if id_ not in model.reserved_ids}
    found = []
    for part in [text] if whole else text:
        id_ = known.get(part.encode(), NO_ID)
        token = None if id_ == NO_ID else tokenizer.tokens[id_]
        count = model.counts[id_] if model.counts and token is not None else None
        found.append(Lookup(part, token, count))
    unit = "word" if tokenizer.recipe.traits.learns == "words" else "character"
    return LookedUpWord(data, unit, len(known), tuple(found), names, ids)


# -- Explanations -------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundWord:
    """An added token, found in the text before the model segments.

    Attributes:
        data: bytes of the token's text.
        added: the added token.
        tokens: its name, as `encode` gives it.
        ids: its id.
    """

    data: bytes
    added: AddedToken
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


#: A pre-token, or an added token, with its segmentation.
Word = MergedWord | RefinedWord | MatchedWord | ScoredWord | LookedUpWord | FoundWord


@dataclass(frozen=True, repr=False)
class Explanation(ShortRepr):
    """How a text becomes tokens.

    Attributes:
        text: the text as it was given.
        segmentation: the recipe's segmentation; see `tokctl.model.Recipe`.
        words: one entry for each pre-token and each added token, in order. The entries of
            pre-tokens have the type that belongs to the segmentation.
        normalized: text after the normalizers; None if they changed nothing, or if an added token
            cuts the text before they run.
    """

    text: str
    segmentation: str
    words: tuple[Word, ...]
    normalized: str | None = None

    @property
    def tokens(self) -> list[str]:
        """Tokens of all pre-tokens, as `encode` names them."""
        return [token for word in self.words for token in word.tokens]


def explain(tokenizer: Tokenizer, word: str, nbest: int | None = None) -> Explanation:
    """Explain how each pre-token of a text is split, and why not in another way.

    Args:
        tokenizer: tokenizer that splits the text.
        word: text to explain.
        nbest: number of paths of each pre-token, including the one taken (unigram); None means
            `BEST`.

    Raises:
        TokctlError: a pre-token has more than `LONGEST` symbols and is segmented by merges or
            scores; the model can't read the text; `nbest` is out of range, or the model has only
            one segmentation.

    Example:
        >>> word = explain(tokenizer, "lowest").words[0]
        >>> [step.merge.token for step in word.steps]
        ['es', 'lo', 'est', 'low']
    """
    if nbest is not None:
        check_nbest(tokenizer, nbest)
    data = tokenizer.as_bytes(word)
    words = tuple(_words(tokenizer, data, nbest or BEST))
    whole = not any(isinstance(found, FoundWord) for found in words)
    normalized = _normalized(tokenizer, data) if whole else None
    return Explanation(word, tokenizer.recipe.segmentation, words, normalized)


def _normalized(tokenizer: Tokenizer, data: bytes) -> str | None:
    """Return the text after the normalizers; None if they change nothing."""
    normalizers = tokenizer.recipe.normalizers
    if not normalizers:
        return None
    changed = normalize(native_parts(normalizers), data)
    return None if changed == data else changed.decode("utf-8", "backslashreplace")


def _words(tokenizer: Tokenizer, data: bytes, nbest: int) -> Iterator[Word]:
    encoding = tokenizer.encode(data)
    columns = zip(encoding.word_ids, encoding.tokens, encoding.raw_ids, strict=True)
    # The tokens of each pre-token by its number; a found added token has a number, too.
    made: dict[int, list[tuple[str, int]]] = {}
    for number, name, id_ in columns:
        if number is not None:
            made.setdefault(number, []).append((name, id_))
    if tokenizer.model.supermerges:
        yield from _with_joined(tokenizer, data, made)
        return
    groups = iter(made.values())
    for found in pre_tokens_of(tokenizer, data):
        if isinstance(found, AddedToken):
            next(groups, None)
            yield FoundWord(found.text.encode(), found, (found.text,), (found.id,))
            continue
        tokens = next(groups, [])
        names = tuple(name for name, _ in tokens)
        ids = tuple(tokenizer.unk_id if id_ == NO_ID else id_ for _, id_ in tokens)
        yield _word(tokenizer, found, names, ids, nbest)


def _with_joined(
    tokenizer: Tokenizer, data: bytes, made: dict[int, list[tuple[str, int]]]
) -> Iterator[Word]:
    """Yield the explanations of `_words` if a token can cover several pre-tokens.

    `made` keys such a token by the number of its first pre-token.
    """
    found = list(pre_tokens_of(tokenizer, data))
    for place, tokens in made.items():
        end = next((n for n in range(place + 1, len(found)) if n in made), len(found))
        first, names = found[place], tuple(name for name, _ in tokens)
        if isinstance(first, AddedToken):
            yield FoundWord(first.text.encode(), first, (first.text,), (first.id,))
        elif end - place > 1:
            words = [word for word in found[place:end] if isinstance(word, bytes)]
            yield join_words(tokenizer, words, *tokens[0])
        else:
            yield _word(tokenizer, first, names, tuple(id_ for _, id_ in tokens), BEST)


def _word(
    tokenizer: Tokenizer,
    data: bytes,
    names: tuple[str, ...],
    ids: tuple[int | None, ...],
    nbest: int,
) -> Word:
    """Return the explanation of one pre-token, given the tokens that the encoder made of it."""
    recipe = tokenizer.recipe
    if recipe.matches_longest:
        return match_word(tokenizer, data)
    if recipe.maximizes_probability:
        return ScoredWord(data, paths_of(tokenizer, data, nbest), names, ids)
    if recipe.removal:
        return refined_word(tokenizer, data, names, ids)
    if not recipe.segments_by_merging:
        return look_up(tokenizer, data, names, ids)
    if recipe.whole_words and len(ids) == 1:
        id_ = ids[0]
        if id_ is not None and tokenizer.model.tokens[id_] == data:
            return MergedWord(data, (), (), names, (), names, ids, whole=True)
    return merge_word(tokenizer, data, names, ids)


def pre_tokens_of(tokenizer: Tokenizer, data: bytes) -> Iterator[bytes | AddedToken]:
    """Yield the parts that a text is cut into, in order.

    They are pre-tokens, normalized and rewritten, and the added tokens that are always found.
    """
    matchers = tokenizer.special_matcher("none")
    text, ranges, _, found = tokenizer.encoder.pre_tokens(data, matchers)
    added = {token.id: token for token in tokenizer.model.added if not token.special}
    for (start, end), id_ in zip(ranges, found, strict=True):
        yield text[start:end] if id_ is None else added[id_]
