"""A training replayed on a text: forward, back, or straight to a step.

`tokctl.analysis.explain.states` computes the corpus state after one step from scratch. A `Replay`
stands at a step, and goes to the next by what that step changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nlargest
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeVar

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import (
    MergeRecord,
    Pair,
    check_merges,
    check_states,
    history_of,
    name_symbols,
    rounds,
)
from tokctl.analysis.explain.states import Criterion, as_trained, merged_places, stage_of
from tokctl.errors import TokctlError
from tokctl.model import Round, byte_level
from tokctl.values import no_garbage
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

# -- Which words each step of a merge history rewrites -------------------------------------------

_NONE: array[int] = array("I")


class Timeline:
    """The words of a text by the ranks of the merges that rewrite them.

    Attributes:
        changed: by rank, the numbers of the words that the merge rewrites, ascending; ranks
            that rewrite none are not there.
        broken: words with a symbol that has no id: no pair crosses it.
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        self.history = history_of(tokenizer)
        self.counts = counts
        self.changed: dict[int, array[int]] = {}
        self.broken: set[int] = set()
        self._initial: dict[int, array[int]] = {}
        replay = self.history.replayer.replay
        total = len(self.history.merges)
        for number, (pre_token, _) in enumerate(counts):
            for symbol in set(replay(pre_token, 0)[0]):
                if symbol == NO_ID:
                    self.broken.add(number)
                else:
                    self._initial.setdefault(symbol, array("I")).append(number)
            # A rank is there once for each place that it merged.
            for rank in set(replay(pre_token, total)[2]):
                self.changed.setdefault(rank, array("I")).append(number)

    def state(self, number: int, merges: int) -> tuple[int, ...]:
        """The symbols of a word after so many merges."""
        return tuple(self.history.replayer.replay(self.counts[number][0], merges)[0])

    def rewritten(self, rank: int) -> array[int]:
        """The words that the merge of a rank rewrites."""
        return self.changed.get(rank, _NONE)

    def holders(self, symbol: int, merges: int) -> list[array[int]]:
        """Words among which are all that hold a symbol after so many merges, in lists that
        ascend each by itself."""
        lists = [self._initial[symbol]] if symbol in self._initial else []
        for rank in self.history.made_by.get(symbol, ()):
            if rank < merges and rank in self.changed:
                lists.append(self.changed[rank])
        return lists


class Scan:
    """The order in which the tie rule `rewritten-last` scans words: a word that a merge
    rewrites moves after all others, and those that one merge rewrites keep their order."""

    def __init__(self, timeline: Timeline, words: int) -> None:
        self._ranks = [array("I") for _ in range(words)]
        self._places = [array("Q") for _ in range(words)]
        places = list(range(words))
        following = words
        for rank in sorted(timeline.changed):
            for number in sorted(timeline.changed[rank], key=places.__getitem__):
                places[number] = following
                self._ranks[number].append(rank)
                self._places[number].append(following)
                following += 1
        self._timeline = timeline
        self._order = list(range(words))
        self._now = list(range(words))
        self._at = 0

    def place(self, number: int, merges: int) -> int:
        """Where a word stands after so many merges: the smaller, the earlier it is scanned."""
        last = bisect_left(self._ranks[number], merges)
        return self._places[number][last - 1] if last else number

    def order(self, merges: int) -> list[int]:
        """The words as they are scanned after so many merges."""
        if abs(merges - self._at) == 1:
            moved: Iterable[int] = self._timeline.rewritten(min(merges, self._at))
        else:
            moved = range(len(self._now)) if merges != self._at else ()
        for number in moved:
            self._now[number] = self.place(number, merges)
        # What was nearly in order before is sorted quickly.
        self._order.sort(key=self._now.__getitem__)
        self._at = merges
        return self._order


# -- Pairs and symbols with their counts ---------------------------------------------------------

Key = TypeVar("Key", Pair, int)


class Tally:
    """Counts in the corpus state after a number of merges.

    Attributes:
        merges: how many have been made.
        states: the symbols of each word.
        pairs: every pair of neighbours with its weighted count; those across a symbol
            without an id are none.
        symbols: every symbol with its weighted count.
    """

    merges: int
    states: list[tuple[int, ...]]
    pairs: dict[Pair, int]
    symbols: dict[int, int]

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.weights = [count for _, count in timeline.counts]
        self._build(0)

    def goto(self, merges: int) -> None:
        """To the state after so many merges. A step costs what it changes, a leap never
        more than counting anew."""
        if merges == self.merges:
            return
        low, high = sorted((merges, self.merges))
        changes = [self._timeline.rewritten(rank) for rank in range(low, high)]
        if high - low == 1:
            self._rewrite(changes[0], merges)
        elif sum(map(len, changes)) * 2 < len(self.states):
            self._rewrite({number for numbers in changes for number in numbers}, merges)
        else:
            self._build(merges)
        self.merges = merges

    def _build(self, merges: int) -> None:
        self.merges = merges
        self.pairs = {}
        self.symbols = {}
        state = self._timeline.state
        with no_garbage():  # it would walk every tuple again and again
            self.states = [state(number, merges) for number in range(len(self.weights))]
            for number, symbols in enumerate(self.states):
                self._add(number, symbols)

    def _rewrite(self, numbers: Iterable[int], merges: int) -> None:
        for number in numbers:
            self._take(number, self.states[number])
            state = self.states[number] = self._timeline.state(number, merges)
            self._add(number, state)

    def neighbours(self, number: int, state: tuple[int, ...]) -> Iterable[Pair]:
        """The pairs of a word."""
        pairs = pairwise(state)
        if number not in self._timeline.broken:
            return pairs
        return (pair for pair in pairs if NO_ID not in pair)

    def _add(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        pairs, symbols = self.pairs, self.symbols
        for pair in self.neighbours(number, state):
            pairs[pair] = pairs.get(pair, 0) + weight
        for symbol in state:
            symbols[symbol] = symbols.get(symbol, 0) + weight

    def _take(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        for pair in self.neighbours(number, state):
            _lower(self.pairs, pair, weight)
        for symbol in state:
            _lower(self.symbols, symbol, weight)


def _lower(counts: dict[Key, int], key: Key, by: int) -> None:
    left = counts[key] - by
    if left:
        counts[key] = left
    else:
        del counts[key]


# -- The leading pairs, as the recipe's criterion and tie rule rank them -------------------------

#: Of so many pairs that tie each is looked up by itself; of more, the words are scanned.
_FEW = 64
#: Scores this close in floating point are compared exactly.
_CLOSE = 1e-9


@dataclass(frozen=True)
class Ranked:
    """Pairs in their order, up to the first ones that were asked for.

    Attributes:
        pairs: best first, those that may not be merged among them.
        best: the first that may be merged; None if there is none.
        tied: pairs as good as `best` that may be merged, itself among them.
    """

    pairs: tuple[Pair, ...]
    best: Pair | None
    tied: int


class Ranking:
    """Ranks the pairs of a tally."""

    def __init__(
        self, criterion: Criterion, timeline: Timeline, tally: Tally, scan: Scan | None
    ) -> None:
        self._criterion = criterion
        self._timeline = timeline
        self._tally = tally
        self._scan = scan

    def leading(self, most: int) -> Ranked:
        """The `most` best pairs, and the best that may be merged."""
        wanted = most
        while True:
            pairs: list[Pair] = []
            best, tied = None, 0
            for level in self._levels(wanted):
                allowed = [pair for pair in level if self._criterion.refusal(pair) is None]
                if best is None and allowed:
                    best = self._in_order(allowed, 1)[0]
                    tied = len(allowed)
                if len(pairs) < most:
                    pairs += self._in_order(level, most - len(pairs))
                elif best is not None:
                    break
            if best is not None or wanted >= len(self._tally.pairs):
                return Ranked(tuple(pairs), best, tied)
            wanted *= 8  # none of these may be merged: look further down

    def score(self, pair: Pair) -> Fraction:
        """What is compared: the count, or the likelihood."""
        count = self._tally.pairs[pair]
        if not self._criterion.by_score:
            return Fraction(count)
        symbols = self._tally.symbols
        return Fraction(count, symbols[pair[0]] * symbols[pair[1]])

    def _levels(self, most: int) -> list[list[Pair]]:
        """The best pairs by score, equals together: at least `most` where there are so many."""
        counts = self._tally.pairs
        if self._criterion.by_score:
            return self._score_levels(most)
        found = nlargest(most, counts.values())
        cut = max(found[-1], self._criterion.least) if found else 0
        levels: dict[int, list[Pair]] = {}
        for pair, count in counts.items():
            if count >= cut:
                levels.setdefault(count, []).append(pair)
        return [levels[count] for count in sorted(levels, reverse=True)]

    def _score_levels(self, most: int) -> list[list[Pair]]:
        pairs = self._tally.pairs
        if self._criterion.least > 1:
            pairs = {pair: count for pair, count in pairs.items() if count >= self._criterion.least}
        # Every pair's score, at every step: as floats first, the best of them exactly.
        part = {symbol: 1 / count for symbol, count in self._tally.symbols.items()}
        rough = [count * part[left] * part[right] for (left, right), count in pairs.items()]
        found = nlargest(most, rough)
        cut = found[-1] * (1 - _CLOSE) if found else 0.0
        levels: dict[Fraction, list[Pair]] = {}
        for pair, score in zip(pairs, rough, strict=True):
            if score >= cut:
                levels.setdefault(self.score(pair), []).append(pair)
        return [levels[score] for score in sorted(levels, reverse=True)]

    def _in_order(self, pairs: Sequence[Pair], most: int) -> list[Pair]:
        """The first `most` of pairs of equal score, as the tie rule orders them."""
        if (ordered := self._criterion.by_ids_or_texts(pairs)) is not None:
            return ordered[:most]
        if len(pairs) == 1:
            return list(pairs)
        if len(pairs) <= _FEW:
            return sorted(pairs, key=self._first_place)[:most]
        return self._first_scanned(set(pairs), most)

    def _first_scanned(self, wanted: set[Pair], most: int) -> list[Pair]:
        """The first of many pairs that a scan of the words meets."""
        merges, states = self._tally.merges, self._tally.states
        found: list[Pair] = []
        for number in self._scan.order(merges) if self._scan else range(len(states)):
            for pair in pairwise(states[number]):
                if pair in wanted:
                    wanted.discard(pair)
                    found.append(pair)
                    if len(found) == most or not wanted:
                        return found
        return found

    def _first_place(self, pair: Pair) -> tuple[int, int]:
        """The word that a scan meets a pair in first, and where in it."""
        merges, states = self._tally.merges, self._tally.states
        both = [self._timeline.holders(symbol, merges) for symbol in pair]
        fewer = min(both, key=lambda lists: sum(map(len, lists)))
        found = []
        for numbers in fewer:
            for number in numbers:
                state = states[number]
                if pair[0] not in state or pair not in (pairs := list(pairwise(state))):
                    continue
                place = self._scan.place(number, merges) if self._scan else number
                found.append((place, pairs.index(pair)))
                if self._scan is None:
                    break  # as first seen: later words are of no interest
        return min(found)

    def above(self, pair: Pair) -> Iterator[Pair]:
        """The pairs with a higher score than one that is in the text."""
        if self._criterion.by_score:
            symbols, score = self._tally.symbols, self.score(pair)
            rough = float(score) * (1 - _CLOSE)
            for other, count in self._tally.pairs.items():
                near = count / (symbols[other[0]] * symbols[other[1]]) >= rough
                if near and self.score(other) > score:
                    yield other
        else:
            count = self._tally.pairs[pair]
            yield from (other for other, more in self._tally.pairs.items() if more > count)


@dataclass(frozen=True)
class FrameWord:
    """A distinct pre-token as it is segmented after a step.

    Attributes:
        number: which of the text's distinct pre-tokens it is, in first-seen order, from 0.
        tokens: its first symbols by name.
        more: symbols behind these.
        count: its occurrences in the text.
        changed: the step has rewritten it.
        made: the places in `tokens`, from 0, that the step has merged.
    """

    number: int
    tokens: tuple[str, ...]
    more: int
    count: int
    changed: bool
    made: tuple[int, ...]


@dataclass(frozen=True)
class LeadingPair:
    """A pair of neighbours, with its figures in the text before a step.

    Attributes:
        place: in the ranking, from 1.
        ids: of left and right, which the tie rule `lowest-id` compares.
        token: what merging them makes.
        count, left_count, right_count: weighted occurrences of the pair and its symbols.
        score: count / (left_count * right_count), where that is what the recipe compares;
            else None.
        chosen: the step merges it.
        refused: why training may not merge it, as `Criterion.refusal` says; None if it may.
    """

    place: int
    left: str
    right: str
    ids: tuple[int, int]
    token: str
    count: int
    left_count: int
    right_count: int
    score: Fraction | None
    chosen: bool
    refused: str | None = None


@dataclass(frozen=True)
class Choice:
    """Is the merge that the file records the one that this text asks for?

    Attributes:
        kind: `best` (no pair has a higher count or score), `tie` (others have the same, and
            the tie rule takes this one), `other` (on this text another pair comes first),
            `initial` (it makes an initial token, and was not chosen by the text), `split` (another
            comes first, and the training had split the text further in this stage), `absent` (the
            pair is not in this text), `unknown` (the file does not say by what
            its training chose: only counts are shown), `language` (a language chose it, by its
            own text).
        tied: pairs that share the best count or score, those that may not be merged left out.
        tie_break: the recipe's tie rule.
        same_figures: the pair is as frequent here as the file says it was in training; None
            if the file does not say.
        language: see `MergeRecord`.
    """

    kind: str
    tied: int
    tie_break: str
    same_figures: bool | None
    language: str | None = None


@dataclass(frozen=True)
class Frame:
    """A merge training after a step.

    Attributes:
        step: 0 is the state before the first merge.
        total: steps that there are.
        merge: the step's merge as the model's file records it; None for step 0.
        left_count, right_count: of its symbols, as recorded; 0 where the file does not know.
        vocabulary: ids in the vocabulary so far, special tokens and alphabet among them.
        tokens: what the text comes to, in tokens.
        distinct: distinct pre-tokens of the text.
        changed: of them, those that the step has rewritten.
        changed_occurrences: how often these are in the text.
        words: those asked for.
        decides: the step that `pairs` led to: this one, and for step 0 the first.
        pairs: the leading pairs before that step, best first; after them its own, where
            that comes later.
        distinct_pairs: how many there were.
        choice: why that step took its pair; None if there is no step at all.
    """

    step: int
    total: int
    merge: MergeRecord | None
    left_count: int
    right_count: int
    vocabulary: int
    tokens: int
    distinct: int
    changed: int
    changed_occurrences: int
    words: tuple[FrameWord, ...]
    decides: int
    pairs: tuple[LeadingPair, ...]
    distinct_pairs: int
    choice: Choice | None


@dataclass(frozen=True)
class RoundFrame:
    """A Unigram training after a round.

    Attributes:
        step: the round, from 1.
        total: rounds that there are.
        round: what the model's file records of it.
        left: pieces that the round leaves.
        objectives: those of all rounds.
        vocabulary: ids of the final model.
        tokens: what the text comes to, in tokens, as the final model splits it.
        distinct: distinct pre-tokens of the text.
        words: those asked for, as the final model splits them: the file does not keep the
            pieces of a round.
    """

    step: int
    total: int
    round: Round
    left: int
    objectives: tuple[float, ...]
    vocabulary: int
    tokens: int
    distinct: int
    words: tuple[FrameWord, ...]


@dataclass(frozen=True)
class Stage:
    """A word from the step that made it so until the next one that changes it."""

    step: int
    tokens: tuple[str, ...]
    more: int
    made: tuple[int, ...]


#: How words can be arranged: as the recipe's tie rule scans them, the most frequent first, or
#: those that the step has changed first, these and the others by count.
ARRANGEMENTS = ("scan", "count", "changed")
#: Bytes of all distinct pre-tokens together: what is kept of a text grows with them. (8 MB of
#: books have 0.5 MB of them.)
MOST_BYTES = 8_000_000
#: Symbols of one word that a frame holds: a word can be as long as a book.
MOST_SYMBOLS = 200
#: Bytes of the longest word that can be followed: each of its stages is a replay of it.
LONGEST_FOLLOWED = 2_000
_SPACES = (b" ", "▁".encode(), "Ġ".encode())


class Replay(ABC):
    """A training on counted pre-tokens, looked at step by step.

    Attributes:
        first, total: the steps there are.
        unit: what a step is called.
    """

    unit = "step"
    first = 0
    total: int

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        size = sum(len(pre_token) for pre_token, _ in counts)
        if size > MOST_BYTES:
            raise TokctlError(
                f"this text is too large to watch: its distinct pre-tokens have {size:,} bytes, "
                f"and {MOST_BYTES:,} are the most",
                "watch a part of it: head -c 8000000 TEXT > part.txt",
            )
        self.tokenizer = tokenizer
        self.counts = counts

    @abstractmethod
    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> Frame | RoundFrame:
        """What there is to see after a step.

        Args:
            first, limit: of the words, so many from this place on.
            arrange: one of `ARRANGEMENTS`.

        Raises:
            TokctlError: there is no such step.
        """

    @abstractmethod
    def find_token(self, token: str, after: int) -> int:
        """The step that makes a token: the first one behind `after`, else the first of all.

        Raises:
            TokctlError: no step makes it.
        """

    @abstractmethod
    def stages(self, number: int) -> tuple[Stage, ...]:
        """How the pre-token of that number evolves: as it starts, then at every step that
        changes it.

        Raises:
            TokctlError: it is longer than `LONGEST_FOLLOWED`.
        """

    @abstractmethod
    def word(self, number: int, step: int) -> FrameWord:
        """The pre-token of that number after a step."""

    def check(self, step: int) -> None:
        """TokctlError if there is no such step."""
        if not self.first <= step <= self.total:
            raise TokctlError(
                f"there is no {self.unit} {step:,}: this model has {plural(self.total, self.unit)}",
                f"choose one from {self.first} to {self.total}",
            )

    def find_word(self, text: str) -> int:
        """The number of the pre-token that a person means: spelled so, or with the space in
        front that pre-tokenizers leave there, the most frequent of these; else the first that
        holds it.

        Raises:
            TokctlError: no pre-token of the text holds it.
        """
        data = text.encode("utf-8", "surrogatepass")
        spellings = (data, *(space + data for space in _SPACES))
        found = [self._numbers[each] for each in spellings if each in self._numbers]
        if found and data:
            return max(found, key=lambda number: self.counts[number][1])
        if data:
            for number, (pre_token, _) in enumerate(self.counts):
                if data in pre_token:
                    return number
        raise TokctlError(
            f"no word of this text holds {text!r}", "words are as the pre-tokenizer cuts them"
        )

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {pre_token: number for number, (pre_token, _) in enumerate(self.counts)}

    @cached_property
    def by_count(self) -> list[int]:
        """The words' numbers, the most frequent first, equals as first seen."""
        return sorted(range(len(self.counts)), key=lambda number: -self.counts[number][1])


# -- By merges -----------------------------------------------------------------------------------

#: Pairs that a frame holds.
LEADING = 20


class MergeReplay(Replay):
    """A training by merges on counted pre-tokens.

    The counts stand at the state before the step that is looked at: there the pairs compete.
    The words of a frame are those after it.
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Replays every word once.

        Args:
            counts: distinct pre-tokens with their counts, in first-seen order.

        Raises:
            TokctlError: the model has no merges; a text that is too large.
        """
        check_merges(tokenizer)
        check_states(tokenizer)
        super().__init__(tokenizer, as_trained(tokenizer, counts))
        self.merges = tokenizer.merges
        self.total = len(self.merges)
        self._history = history_of(tokenizer)
        self._timeline = Timeline(tokenizer, self.counts)
        by_rewriting = tokenizer.recipe.tie_break == "rewritten-last"
        self._scan = Scan(self._timeline, len(self.counts)) if by_rewriting else None
        self._tally = Tally(self._timeline)
        self._criterion = Criterion(tokenizer)
        self._ranking = Ranking(self._criterion, self._timeline, self._tally, self._scan)
        self._arranged: tuple[tuple[int, str], list[int] | range] = ((-1, ""), range(0))
        self._sizes = _vocabulary_sizes(tokenizer)

    def goto(
        self,
        step: int,
        *,
        first: int = 0,
        limit: int = 50,
        arrange: str = "scan",
        leading: int = LEADING,
    ) -> Frame:
        self.check(step)
        decides = min(max(step, 1), self.total)
        self._tally.goto(max(decides - 1, 0))
        changed = self._timeline.rewritten(step - 1)
        order = self._order(step, arrange)
        weights = self._tally.weights
        merge = self._history.record(step - 1) if step else None
        recorded = self.merges[step - 1] if step else None
        pairs, choice = self._pairs(decides, leading)
        after = sum(self._tally.symbols.values())
        after -= sum(weights[number] * self._merged(number, step) for number in changed)
        return Frame(
            step=step,
            total=self.total,
            merge=merge,
            left_count=recorded.left_count if recorded else 0,
            right_count=recorded.right_count if recorded else 0,
            vocabulary=self._sizes[step],
            tokens=after,
            distinct=len(self.counts),
            changed=len(changed),
            changed_occurrences=sum(weights[number] for number in changed),
            words=tuple(self.word(number, step) for number in order[first : first + limit]),
            decides=decides,
            pairs=pairs,
            distinct_pairs=len(self._tally.pairs),
            choice=choice,
        )

    def _merged(self, number: int, step: int) -> int:
        """Merges that a step makes in a word."""
        merge = self.merges[step - 1]
        before = self._tally.states[number]
        return sum(1 for _ in merged_places(before, (merge.left, merge.right)))

    def _order(self, step: int, arrange: str) -> list[int] | range:
        """The words' numbers as they are to be shown after a step."""
        key = (step, arrange)
        if self._arranged[0] == key:
            return self._arranged[1]
        order: list[int] | range = range(len(self.counts))
        changed = set(self._timeline.rewritten(step - 1))
        if arrange != "scan":
            order = self.by_count
        elif self._scan:
            before = self._scan.order(max(step - 1, 0))
            order = [number for number in before if number not in changed]
            order += [number for number in before if number in changed]
        if arrange == "changed" and changed:
            first = [number for number in order if number in changed]
            order = first + [number for number in order if number not in changed]
        self._arranged = (key, order)
        return order

    def word(self, number: int, step: int) -> FrameWord:
        tokens, more, made = self._segmented(number, step)
        return FrameWord(number, tokens, more, self.counts[number][1], bool(made), made)

    def _segmented(self, number: int, step: int) -> tuple[tuple[str, ...], int, tuple[int, ...]]:
        """A word's tokens after a step, how many more there are, and those just made; of a
        step that merges after the tokens that are named, the last one stands for them."""
        pre_token = self.counts[number][0]
        ids, lengths, ranks = self._history.replayer.replay(pre_token, step)
        made: tuple[int, ...] = ()
        if step and ranks and step - 1 in ranks:
            merge = self.merges[step - 1]
            before = self._timeline.state(number, step - 1)
            places = [*merged_places(before, (merge.left, merge.right))]
            made = tuple(place for place in places if place < MOST_SYMBOLS)
            made = made or (min(len(ids), MOST_SYMBOLS) - 1,)
        names = name_symbols(self.tokenizer, pre_token, ids[:MOST_SYMBOLS], lengths[:MOST_SYMBOLS])
        return tuple(names), max(0, len(ids) - MOST_SYMBOLS), made

    def stages(self, number: int) -> tuple[Stage, ...]:
        pre_token = self.counts[number][0]
        if len(pre_token) > LONGEST_FOLLOWED:
            raise TokctlError(
                f"this word is too long to follow: it has {len(pre_token):,} bytes",
                f"follow one of up to {LONGEST_FOLLOWED:,}",
            )
        ranks = self._history.replayer.replay(pre_token, self.total)[2]
        steps = [0, *(rank + 1 for rank in sorted(set(ranks)))]
        return tuple(Stage(step, *self._segmented(number, step)) for step in steps)

    def find_token(self, token: str, after: int) -> int:
        tokenizer = self.tokenizer
        spellings = spelled_like(tokenizer, token)
        ids = [id_ for id_, name in enumerate(tokenizer.tokens) if name in spellings]
        steps = sorted(rank + 1 for id_ in ids for rank in self._history.made_by.get(id_, ()))
        if steps:
            return next((step for step in steps if step > after), steps[0])
        if ids:
            raise TokctlError(
                f"no step makes {token!r}: it was there before the first",
                "it is a special token or one of the alphabet",
            )
        near = next((name for name in tokenizer.tokens if token and token in name), None)
        raise TokctlError(
            f"no step makes {token!r}: the model has no such token",
            f"tokens are spelled as they are shown, {near!r} for instance"
            if near
            else "--token shows the tokens",
        )

    def _pairs(self, step: int, most: int) -> tuple[tuple[LeadingPair, ...], Choice | None]:
        """The leading pairs before a step, and why it took its own."""
        ranking = self._ranking
        ranked = ranking.leading(most)
        if not step:
            left = (self._leading(pair, at, None) for at, pair in enumerate(ranked.pairs, 1))
            return tuple(left), None
        merge = self.merges[step - 1]
        own = (merge.left, merge.right)
        pairs = [self._leading(pair, n, own) for n, pair in enumerate(ranked.pairs, 1)]
        present = own in self._tally.pairs
        if present and own not in ranked.pairs:
            place = max(sum(1 for _ in ranking.above(own)), len(pairs)) + 1
            pairs.append(self._leading(own, place, own))
        return tuple(pairs), self._choice(ranked, own, present, step)

    def _leading(self, pair: Pair, place: int, own: Pair | None) -> LeadingPair:
        tokens, symbols, count = self.tokenizer.tokens, self._tally.symbols, self._tally.pairs[pair]
        left, right = pair
        return LeadingPair(
            place=place,
            left=tokens[left],
            right=tokens[right],
            ids=pair,
            token=self.tokenizer.recipe.marker.merged(tokens[left], tokens[right]),
            count=count,
            left_count=symbols[left],
            right_count=symbols[right],
            score=self._ranking.score(pair) if self._criterion.by_score else None,
            chosen=pair == own,
            refused=self._criterion.refusal(pair),
        )

    def _choice(self, ranked: Ranked, own: Pair, present: bool, step: int) -> Choice:
        merge = self.merges[step - 1]
        language = self._history.record(step - 1).language
        here = self._tally.pairs.get(own, 0)
        figures: tuple[int, ...] = (here,)
        recorded: tuple[int, ...] = (merge.count,)
        if self._criterion.by_score:
            symbols = self._tally.symbols
            figures += tuple(symbols.get(symbol, 0) for symbol in own)
            recorded += (merge.left_count, merge.right_count)
        splits = bool(stage_of(self.tokenizer, step).pre_tokenizers)
        if step <= self._criterion.first:
            kind = "initial"
        elif not present:
            kind = "absent"
        elif not self._criterion.known:
            kind = "unknown"
        elif language is not None:
            kind = "language"
        elif ranked.best != own:
            kind = "split" if splits else "other"
        else:
            kind = "best" if ranked.tied == 1 else "tie"
        same = figures == recorded if merge.count and not splits else None
        return Choice(kind, ranked.tied, self._criterion.tie_break, same, language)


def spelled_like(tokenizer: Tokenizer, token: str) -> set[str]:
    """What a person can mean who types a token: it may have a space where the model spells
    one otherwise. Only the first spelling of these that is a token."""
    data = token.encode("utf-8", "surrogatepass")
    others = [byte_level.spell(data)] if tokenizer.recipe.is_byte_level else []
    for spelling in (token, *others, token.replace(" ", "▁"), token.replace(" ", "Ġ")):
        if spelling in tokenizer.vocabulary:
            return {spelling}
    return {token}


def _vocabulary_sizes(tokenizer: Tokenizer) -> list[int]:
    """Ids in the vocabulary after each step, from 0 on. A token counts from the first step
    that makes it on; superwords, which no step makes, never do."""
    recipe, tokens = tokenizer.recipe, tokenizer.model.tokens
    seen: set[int] = set()
    new = []
    for merge in tokenizer.merges:
        first = merge.token not in seen and not recipe.is_initial_symbol(tokens[merge.token])
        seen.add(merge.token)
        new.append(int(first))
    others = len(tokens) - len(tokenizer.model.supermerges) - sum(new)
    return list(accumulate(new, initial=others))


# -- By rounds -----------------------------------------------------------------------------------


class RoundReplay(Replay):
    """The rounds of a Unigram training, beside counted pre-tokens as the final model
    splits them: the pieces of a round are in no file."""

    unit = "round"
    first = 1

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Raises TokctlError for a model without rounds, and for a text that is too large."""
        self.rounds = rounds(tokenizer)
        super().__init__(tokenizer, counts)
        self.total = len(self.rounds)

    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> RoundFrame:
        self.check(step)
        found = self.rounds[step - 1]
        order = range(len(self.counts)) if arrange == "scan" else self.by_count
        return RoundFrame(
            step=step,
            total=self.total,
            round=found,
            left=found.pieces - found.dropped,
            objectives=tuple(each.objective for each in self.rounds),
            vocabulary=len(self.tokenizer.tokens),
            tokens=self._tokens,
            distinct=len(self.counts),
            words=tuple(self.word(number, step) for number in order[first : first + limit]),
        )

    @cached_property
    def _tokens(self) -> int:
        return sum(count * len(self._best(data)[0]) for data, count in self.counts)

    def _best(self, pre_token: bytes) -> tuple[list[int], list[int]]:
        ids, lengths, _ = self.tokenizer.encoder.nbest(pre_token, 1)[0]
        return ids, lengths

    def word(self, number: int, step: int) -> FrameWord:  # noqa: ARG002
        pre_token, count = self.counts[number]
        ids, lengths = self._best(pre_token)
        ids, more = ids[:MOST_SYMBOLS], max(0, len(ids) - MOST_SYMBOLS)
        names = name_symbols(self.tokenizer, pre_token, ids, lengths[:MOST_SYMBOLS])
        return FrameWord(number, tuple(names), more, count, False, ())

    def stages(self, number: int) -> tuple[Stage, ...]:
        word = self.word(number, self.total)
        return (Stage(self.total, word.tokens, word.more, ()),)

    def find_token(self, token: str, after: int) -> int:  # noqa: ARG002
        """The round that dropped a piece, as far as the file tells; the last round for one
        that was kept."""
        for step, found in enumerate(self.rounds, 1):
            if any(piece == token for piece, _ in found.examples):
                return step
        if token in self.tokenizer.tokens:
            return self.total
        raise TokctlError(
            f"no round is known to have dropped {token!r}, and the model has no such piece",
            "the file keeps only some of the dropped pieces of each round",
        )
