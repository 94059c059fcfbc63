"""How a text's pre-tokens are split, step by step, and why not otherwise.

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
from tokctl.errors import TokctlError
from tokctl.model.parts import AddedToken, native_parts
from tokctl.tokenizer.sampling import check_nbest
from tokctl.values import Brief

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- Merges -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A pair that could have been merged, and the step at which training merged it."""

    left: str
    right: str
    step: int


@dataclass(frozen=True)
class MergeStep:
    """One merge, made at every place where it is the next.

    Attributes:
        places: which symbols of the state before it were left parts, from 0.
        losers: the other pairs that a merge exists for, by step; all come later.
        state: the symbols after it.
    """

    merge: MergeRecord
    places: tuple[int, ...]
    losers: tuple[Candidate, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class Leftover:
    """Why two neighbours of the last state are not merged.

    Attributes:
        reason: `unknown` (one of them has no id), `never` (no merge in the history; by
            ranks: no token that they spell) or `passed` (the pair came up only after its
            step).
        step: the step that had passed; None for the other reasons.
        instead: the merge that makes the token that the two would spell, of another pair;
            None if there is no such token, or its merge is not known.
        lacks: which of the two have no id.
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
        data: the pre-token's bytes, normalized and rewritten.
        symbols: what it starts as, markers included; characters that fall back to bytes
            as the tokens of these.
        state: what it ends as; a symbol without an id as the character itself.
        tokens: the same as `encode` names it, with the unknown token where there is one,
            and unknown symbols side by side as one where the recipe fuses them.
        ids: None if a character has no id.
        whole: the pre-token is a token and stays whole, whatever the merges would make of
            it; there are no steps then.
        ranked: there is no history of merges: the steps are ranks of tokens.
        fallbacks: the characters that fell back to bytes, with their tokens.
        joined: several pre-tokens that are one token: the symbols are these, and the steps are
            supermerges.
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
    """How supermerges make one token of some pre-tokens."""
    history = full_history_of(tokenizer)
    ids = [history.ids[word] for word in words]
    row = SymbolSequence(history, ids, [tokenizer.tokens[one] for one in ids], replay=False)
    first = len(history.merges) - len(tokenizer.model.supermerges)
    ranks = (first + rank for rank in tokenizer.encoder.supermerge_steps(ids))
    merges = ((rank, history.merges[rank]) for rank in ranks)
    steps = tuple(row.steps((rank, (merge.left, merge.right)) for rank, merge in merges))
    symbols = tuple(tokenizer.tokens[one] for one in ids)
    data = b"".join(words)
    return MergedWord(data, symbols, steps, (name,), (), (name,), (id_,), joined=True)


def merge_word(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], final: tuple[int | None, ...]
) -> MergedWord:
    """How merges segment one pre-token, which the encoder has made the tokens `names` of.

    Raises:
        TokctlError: it has over `LONGEST` symbols.
    """
    ids, lengths, _ = tokenizer.encoder.replay(data, 0)
    check_symbols(len(ids))
    symbols = name_symbols(tokenizer, data, ids, lengths)
    rules = merge_rules(tokenizer)
    word = SymbolSequence(rules, ids, symbols, replay=tokenizer.recipe.replays_merges)
    if isinstance(rules, Ranks):
        steps = tuple(word.steps(word.by_rank(rules)))
    else:
        merges = tokenizer.merges
        _, _, ranks = tokenizer.encoder.replay(data, len(merges))
        pairs = ((merges[rank].left, merges[rank].right) for rank in ranks)
        steps = tuple(word.steps(zip(ranks, pairs, strict=True)))
    fallbacks = tuple(_fallbacks(tokenizer, data, symbols, lengths))
    # No merge could ever join these, which says it all.
    of_bytes = {name for _, names in fallbacks for name in names}
    return MergedWord(
        data=data,
        symbols=tuple(symbols),
        steps=steps,
        state=tuple(word.names),
        leftovers=tuple(
            rest for rest in word.leftovers() if not of_bytes & {rest.left, rest.right}
        ),
        tokens=names,
        ids=final,
        ranked=isinstance(rules, Ranks),
        fallbacks=fallbacks,
    )


class SymbolSequence:
    """A pre-token on its way from symbols to tokens."""

    def __init__(
        self, rules: MergeRules, ids: Sequence[int], names: Sequence[str], *, replay: bool
    ) -> None:
        self.rules = rules
        self.replay = replay
        self.ids = list(ids)
        self.names = list(names)

    def steps(self, merges: Iterable[tuple[int, Pair]]) -> Iterator[MergeStep]:
        """The merges of these ranks and pairs, equal ones in a row together."""
        for (rank, pair), places in groupby(merges):
            losers = tuple(self._losers(rank, pair))
            done = tuple(self._merge(rank, pair, already) for already, _ in enumerate(places))
            yield MergeStep(self.rules.record(rank, pair), done, losers, tuple(self.names))

    def _merge(self, rank: int, pair: Pair, already: int) -> int:
        """Merges the leftmost such pair. The place of its left symbol in the state that
        the `already` merges of the same rank, all further left, began with."""
        at = next(at for at, two in enumerate(pairwise(self.ids)) if two == pair)
        token = self.rules.token_of(rank, pair)
        self.ids[at : at + 2] = [token]
        self.names[at : at + 2] = [self.rules.tokens[token]]
        return at + already

    def _losers(self, now: int, merged: Pair) -> Iterator[Candidate]:
        """The other pairs that are due, at a time when the merge `now` is."""
        due: dict[tuple[int, Pair], None] = {}
        for pair in pairwise(self.ids):
            ranks = self.rules.ranks_of(pair)
            wanted = [r for r in ranks if r >= now] if self.replay else ranks[:1]
            due.update(((rank, pair), None) for rank in wanted)
        names = self.rules.tokens
        for rank, (left, right) in sorted(due):
            if (rank, (left, right)) != (now, merged):
                step = self.rules.record(rank, (left, right)).step
                yield Candidate(names[left], names[right], step)

    def by_rank(self, rules: Ranks) -> Iterator[tuple[int, Pair]]:
        """The pairs that merge, each looked for when those before it are merged."""
        while found := rules.lowest(self.ids):
            yield found

    def leftovers(self) -> Iterator[Leftover]:
        for pair, (left, right) in zip(pairwise(self.ids), pairwise(self.names), strict=True):
            if NO_ID in pair:
                named = zip(pair, (left, right), strict=True)
                lacks = tuple(name for id_, name in named if id_ == NO_ID)
                yield Leftover(left, right, "unknown", None, lacks=lacks)
            elif ranks := self.rules.ranks_of(pair):
                step = self.rules.record(ranks[-1], pair).step
                yield Leftover(left, right, "passed", step)
            else:
                yield Leftover(left, right, "never", None, self.rules.alternative(pair))


def _fallbacks(
    tokenizer: Tokenizer, data: bytes, symbols: Sequence[str], lengths: Sequence[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The characters that have become the tokens of their bytes."""
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

#: Segmentations that are shown.
BEST = 5
#: An unknown character scores so much less than the worst piece (SentencePiece's
#: `kUnkPenalty`).
UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class PathPiece:
    """A stretch of a path.

    Attributes:
        text: the stretch.
        token: the piece; None for unknown characters.
        score: its natural log probability; of unknown characters, the penalty of each.
        fallback: the tokens of the bytes of unknown characters, where the model has them.
    """

    text: str
    token: str | None
    score: float
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """One way to segment a pre-token.

    Attributes:
        score: the sum, as the encoder has it.
        behind: how much less that is than the best path's score.
        probability: of the path among all that there are, exp(score) over the sum of theirs;
            None in models with user-defined pieces, whose scores are not probabilities.
    """

    pieces: tuple[PathPiece, ...]
    score: float
    behind: float
    probability: float | None = None


@dataclass(frozen=True)
class ScoredWord:
    """A pre-token that is segmented by the scores of pieces.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        paths: the best path, which is taken, and the next best, by score: `BEST` in all
            unless another number was asked for.
        tokens: as `encode` names them.
        ids: None if there is no unknown token.
    """

    data: bytes
    paths: tuple[Path, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def paths_of(tokenizer: Tokenizer, data: bytes, most: int = BEST) -> tuple[Path, ...]:
    """The best paths of a pre-token, the one that is taken first.

    Raises:
        TokctlError: a pre-token of over `LONGEST` characters.
    """
    if (length := len(data.decode())) > LONGEST:
        raise TokctlError(
            f"a pre-token of {length:,} characters is too long to explain",
            f"give a part of it, up to {LONGEST:,} characters; encode splits it at any length",
        )
    # Of equal scores the encoder's choice comes first, whatever the search for more finds.
    taken = tokenizer.encoder.nbest(data, 1)[0]
    others = [found for found in tokenizer.encoder.nbest(data, most) if found[:2] != taken[:2]]
    worst = unknown_score(tokenizer)
    paths = [
        (tuple(_pieces(tokenizer, data, ids, lengths, worst)), score)
        for ids, lengths, score in [taken, *others[: most - 1]]
    ]
    if tokenizer.model.user_defined:
        # The search for more counts the characters of these pieces, the encoder their bytes.
        summed = ((pieces, _sum(pieces)) for pieces, _ in paths[1:])
        paths[1:] = sorted(summed, key=lambda path: -path[1])
    # The encoder's sums can be in single precision, those of all paths are not.
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
    """The sum of the scores as the encoder has it: each in single precision."""
    total = 0.0
    for piece in pieces:
        total = _single(total + piece.score)
    return total


def _single(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def unknown_score(tokenizer: Tokenizer) -> float:
    """What one unknown character costs."""
    model = tokenizer.model
    if tokenizer.recipe.precision == "double":
        return min(model.scores, default=0.0) - UNKNOWN_PENALTY
    scores = (score for id_, score in enumerate(model.scores) if id_ not in model.reserved_ids)
    return _single(min(scores, default=0.0) - UNKNOWN_PENALTY)


def _pieces(
    tokenizer: Tokenizer, data: bytes, ids: Sequence[int], lengths: Sequence[int], unknown: float
) -> Iterator[PathPiece]:
    at = 0
    waiting: list[str] = []  # byte tokens of characters that have not ended yet
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
    """Characters that became the tokens of their bytes: each by itself."""
    at = 0
    for character in data.decode():
        end = at + len(character.encode())
        yield PathPiece(character, None, unknown, tuple(tokens[at:end]))
        at = end


# -- Longest match: which token is found at each place, and which longer ones are none ----------

#: Longer stretches that are shown of those that are no token.
LONGER_SHOWN = 3


@dataclass(frozen=True)
class Match:
    """The token found at one place of a word.

    Attributes:
        stretch: the characters that it covers.
        token: None if nothing matches the character, which alone is unknown.
        longer: tokens that would have gone further, were they in the vocabulary: up to
            `LONGER_SHOWN`, the longest of all first, then those that come just before the match.
        longer_count: how many were tried in vain.
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
        rest: the stretch at whose start no token fits; empty if the word is too long.
        characters: the word's length.
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
        data: the pre-token's bytes, normalized.
        matches: what was found, from left to right; up to the failure where there is one.
        failure: why the word is unknown as a whole, or None.
        tokens: as `encode` names them.
        ids: None if there is no unknown token.
    """

    data: bytes
    matches: tuple[Match, ...]
    failure: MatchFailure | None
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def match_word(tokenizer: Tokenizer, data: bytes) -> MatchedWord:
    """How BERT's rule splits one pre-token, which is UTF-8."""
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
    """The matches with their places; one without a token covers one character."""
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
        # Just those above the match, and in front of them the whole rest.
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
    """What was looked up.

    Attributes:
        token: None if the vocabulary lacks it.
        count: how often it was counted in training; None if the model does not say.
    """

    text: str
    token: str | None
    count: int | None


@dataclass(frozen=True)
class LookedUpWord:
    """A pre-token that was looked up, whole or by its characters.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        unit: `word` or `character`: what was looked up.
        size: how many of these the vocabulary holds.
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
    """How a word or character model reads one pre-token."""
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
    unit = "word" if whole and tokenizer.recipe.traits.learns_words else "character"
    return LookedUpWord(data, unit, len(known), tuple(found), names, ids)


# -- Explanations -------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundWord:
    """An added token, found in the text before the model segments anything."""

    data: bytes
    added: AddedToken
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


#: A pre-token and how it is segmented.
Word = MergedWord | RefinedWord | MatchedWord | ScoredWord | LookedUpWord | FoundWord


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """How a text becomes tokens.

    Attributes:
        text: as it was given.
        segmentation: the recipe's; see `tokctl.model.Recipe`.
        words: one for each pre-token, in order, and one for each added token that the
            text holds; but for these all are of one type.
        normalized: the text that was split, where the normalizers have changed it; None
            if they have not, and where an added token cuts the text before they see it.
    """

    text: str
    segmentation: str
    words: tuple[Word, ...]
    normalized: str | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens of all pre-tokens, as `encode` gives them."""
        return [token for word in self.words for token in word.tokens]


def explain(tokenizer: Tokenizer, word: str, nbest: int | None = None) -> Explanation:
    """How each pre-token of a word or text is split, and why not otherwise.

    Args:
        nbest: paths of each pre-token, the one that is taken among them (unigram); None
            for `BEST`.

    Raises:
        TokctlError: a pre-token of over `LONGEST` symbols, where merges or scores segment
            it; text that the model can't read; `nbest` out of range, or of a model that
            has one segmentation.
    """
    if nbest is not None:
        check_nbest(tokenizer, nbest)
    data = tokenizer.as_bytes(word)
    words = tuple(_words(tokenizer, data, nbest or BEST))
    whole = not any(isinstance(found, FoundWord) for found in words)
    normalized = _normalized(tokenizer, data) if whole else None
    return Explanation(word, tokenizer.recipe.segmentation, words, normalized)


def _normalized(tokenizer: Tokenizer, data: bytes) -> str | None:
    """The text as the normalizers leave it, if that is another."""
    normalizers = tokenizer.recipe.normalizers
    if not normalizers:
        return None
    changed = normalize(native_parts(normalizers), data)
    return None if changed == data else changed.decode("utf-8", "backslashreplace")


def _words(tokenizer: Tokenizer, data: bytes, nbest: int) -> Iterator[Word]:
    encoding = tokenizer.encode(data)
    columns = zip(encoding.word_ids, encoding.tokens, encoding.raw_ids, strict=True)
    # What each pre-token has become; an added token that is found always counts as one.
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
    """The same where a token can be several pre-tokens: it has the number of the first."""
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
    """One pre-token, which the encoder has made these tokens of."""
    recipe = tokenizer.recipe
    if recipe.matches_longest:
        return match_word(tokenizer, data)
    if recipe.traits.has_scores:
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
    """What a text is cut into, in order: pre-tokens, normalized and rewritten, and the
    added tokens that need no permission."""
    matchers = tokenizer.special_matcher("none")
    text, ranges, _, found = tokenizer.encoder.pre_tokens(data, matchers)
    added = {token.id: token for token in tokenizer.model.added if not token.special}
    for (start, end), id_ in zip(ranges, found, strict=True):
        yield text[start:end] if id_ is None else added[id_]
