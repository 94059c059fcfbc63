"""A replay of a training on a text: forward, back, or straight to a step.

`tokctl.analysis.explain.states` computes the corpus state after one step from scratch. A `Replay`
keeps the state of a step and updates only what the next step changes.
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
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.humanize import plural
from tokctl.core.values import gc_paused
from tokctl.model import Round, byte_level

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

# -- The words that each step of a merge history rewrites ----------------------------------------

_NO_WORDS: array[int] = array("I")


class MergeIndex:
    """The words of a text, indexed by the ranks of the merges that rewrite them.

    Attributes:
        history: the model's merges.
        counts: distinct pre-tokens with their counts.
        changed: numbers of the words that each merge rewrites, ascending, by rank; ranks that
            rewrite no word are missing.
        broken: numbers of the words with a symbol that has no id, which no pair crosses.
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        self.history = history_of(tokenizer)
        self.counts = counts
        self.changed: dict[int, array[int]] = {}
        self.broken: set[int] = set()
        self._initial: dict[int, array[int]] = {}
        replay_word = self.history.replayer.replay
        total = len(self.history.merges)
        for number, (pre_token, _) in enumerate(counts):
            for symbol in set(replay_word(pre_token, 0)[0]):
                if symbol == NO_ID:
                    self.broken.add(number)
                else:
                    self._initial.setdefault(symbol, array("I")).append(number)
            # `replay` lists a rank once for each merge that it made in the word.
            for rank in set(replay_word(pre_token, total)[2]):
                self.changed.setdefault(rank, array("I")).append(number)

    def state(self, number: int, merges: int) -> tuple[int, ...]:
        """Return the symbols of a word after `merges` merges."""
        return tuple(self.history.replayer.replay(self.counts[number][0], merges)[0])

    def rewritten(self, rank: int) -> array[int]:
        """Return the numbers of the words that the merge at `rank` rewrites, ascending."""
        return self.changed.get(rank, _NO_WORDS)

    def holders(self, symbol: int, merges: int) -> list[array[int]]:
        """Return lists of words that include all words with `symbol` after `merges` merges.

        Each list ascends. The lists can also include words that no longer have the symbol.
        """
        lists = [self._initial[symbol]] if symbol in self._initial else []
        for rank in self.history.made_by.get(symbol, ()):
            if rank < merges and rank in self.changed:
                lists.append(self.changed[rank])
        return lists


class ScanOrder:
    """The order in which the tie rule `rewritten-last` scans words.

    A word that a merge rewrites moves after all others. Words that the same merge rewrites keep
    their order.
    """

    def __init__(self, merge_index: MergeIndex, words: int) -> None:
        self._ranks = [array("I") for _ in range(words)]
        self._places = [array("Q") for _ in range(words)]
        places = list(range(words))
        next_place = words
        for rank in sorted(merge_index.changed):
            for number in sorted(merge_index.changed[rank], key=places.__getitem__):
                places[number] = next_place
                self._ranks[number].append(rank)
                self._places[number].append(next_place)
                next_place += 1
        self._merge_index = merge_index
        self._order = list(range(words))
        self._current_places = list(range(words))
        self._current_merges = 0

    def place(self, number: int, merges: int) -> int:
        """Return the scan position of a word after `merges` merges: lower is scanned earlier."""
        last = bisect_left(self._ranks[number], merges)
        return self._places[number][last - 1] if last else number

    def order(self, merges: int) -> list[int]:
        """Return the numbers of the words in scan order after `merges` merges."""
        if abs(merges - self._current_merges) == 1:
            moved: Iterable[int] = self._merge_index.rewritten(min(merges, self._current_merges))
        else:
            moved = range(len(self._current_places)) if merges != self._current_merges else ()
        for number in moved:
            self._current_places[number] = self.place(number, merges)
        # Sorting the previous order is fast, because it is nearly sorted.
        self._order.sort(key=self._current_places.__getitem__)
        self._current_merges = merges
        return self._order


# -- Pairs and symbols with their counts ---------------------------------------------------------

Key = TypeVar("Key", Pair, int)


class PairCounts:
    """Counts in the corpus state after a number of merges.

    Attributes:
        merges: number of merges made.
        states: symbols of each word.
        pairs: weighted count of each pair of neighbours; pairs with a symbol without an id are left
            out.
        symbols: weighted count of each symbol.
    """

    merges: int
    states: list[tuple[int, ...]]
    pairs: dict[Pair, int]
    symbols: dict[int, int]

    def __init__(self, merge_index: MergeIndex) -> None:
        self._merge_index = merge_index
        self.weights = [count for _, count in merge_index.counts]
        self._build(0)

    def goto(self, merges: int) -> None:
        """Move to the state after `merges` merges.

        A single step costs as much as it changes; a jump costs at most a full recount.
        """
        if merges == self.merges:
            return
        first_rank, end_rank = sorted((merges, self.merges))
        changes = [self._merge_index.rewritten(rank) for rank in range(first_rank, end_rank)]
        if end_rank - first_rank == 1:
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
        state = self._merge_index.state
        with gc_paused():  # the collector would traverse every tuple repeatedly
            self.states = [state(number, merges) for number in range(len(self.weights))]
            for number, symbols in enumerate(self.states):
                self._count_word(number, symbols)

    def _rewrite(self, numbers: Iterable[int], merges: int) -> None:
        for number in numbers:
            self._remove(number, self.states[number])
            state = self.states[number] = self._merge_index.state(number, merges)
            self._count_word(number, state)

    def neighbours(self, number: int, state: tuple[int, ...]) -> Iterable[Pair]:
        """Return the pairs of a word, without those that contain a symbol without an id."""
        pairs = pairwise(state)
        if number not in self._merge_index.broken:
            return pairs
        return (pair for pair in pairs if NO_ID not in pair)

    def _count_word(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        pairs, symbols = self.pairs, self.symbols
        for pair in self.neighbours(number, state):
            pairs[pair] = pairs.get(pair, 0) + weight
        for symbol in state:
            symbols[symbol] = symbols.get(symbol, 0) + weight

    def _remove(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        for pair in self.neighbours(number, state):
            _subtract(self.pairs, pair, weight)
        for symbol in state:
            _subtract(self.symbols, symbol, weight)


def _subtract(counts: dict[Key, int], key: Key, amount: int) -> None:
    remaining = counts[key] - amount
    if remaining:
        counts[key] = remaining
    else:
        del counts[key]


# -- The leading pairs, as the recipe's criterion and tie rule rank them -------------------------

#: Most tied pairs to look up one by one; for more, one scan of the words is faster.
_FEW_PAIRS = 64
#: Scores this close in floating point are compared exactly.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Ranked:
    """The leading pairs, in order.

    Attributes:
        pairs: best pairs first, including pairs that may not merge.
        best: first pair that may merge; None if no pair may.
        tied: number of pairs as good as `best` that may merge, `best` included.
    """

    pairs: tuple[Pair, ...]
    best: Pair | None
    tied: int


class Ranking:
    """The ranking of the pairs in a `PairCounts`."""

    def __init__(
        self,
        criterion: Criterion,
        merge_index: MergeIndex,
        counts: PairCounts,
        scan: ScanOrder | None,
    ) -> None:
        self._criterion = criterion
        self._merge_index = merge_index
        self._pair_counts = counts
        self._scan = scan

    def leading(self, limit: int) -> Ranked:
        """Return the `limit` best pairs, and the best pair that may merge."""
        search_limit = limit
        while True:
            pairs: list[Pair] = []
            best, tied = None, 0
            for level in self._levels(search_limit):
                allowed = [pair for pair in level if self._criterion.refusal(pair) is None]
                if best is None and allowed:
                    best = self._in_order(allowed, 1)[0]
                    tied = len(allowed)
                if len(pairs) < limit:
                    pairs += self._in_order(level, limit - len(pairs))
                elif best is not None:
                    break
            if best is not None or search_limit >= len(self._pair_counts.pairs):
                return Ranked(tuple(pairs), best, tied)
            search_limit *= 8  # none of these pairs may merge: include lower scores

    def score(self, pair: Pair) -> Fraction:
        """Return the value that the training compares: the count or the likelihood score."""
        count = self._pair_counts.pairs[pair]
        if not self._criterion.by_score:
            return Fraction(count)
        symbols = self._pair_counts.symbols
        return Fraction(count, symbols[pair[0]] * symbols[pair[1]])

    def _levels(self, limit: int) -> list[list[Pair]]:
        """Return the best pairs grouped by equal score, best first.

        There are at least `limit` pairs if the state has as many.
        """
        counts = self._pair_counts.pairs
        if self._criterion.by_score:
            return self._score_levels(limit)
        highest = nlargest(limit, counts.values())
        threshold = max(highest[-1], self._criterion.least) if highest else 0
        levels: dict[int, list[Pair]] = {}
        for pair, count in counts.items():
            if count >= threshold:
                levels.setdefault(count, []).append(pair)
        return [levels[count] for count in sorted(levels, reverse=True)]

    def _score_levels(self, limit: int) -> list[list[Pair]]:
        pairs = self._pair_counts.pairs
        if self._criterion.least > 1:
            pairs = {pair: count for pair, count in pairs.items() if count >= self._criterion.least}
        # Every step scores every pair, so use floats first, and exact fractions for the best.
        inverse = {symbol: 1 / count for symbol, count in self._pair_counts.symbols.items()}
        approximate = [
            count * inverse[left] * inverse[right] for (left, right), count in pairs.items()
        ]
        highest = nlargest(limit, approximate)
        threshold = highest[-1] * (1 - _TOLERANCE) if highest else 0.0
        levels: dict[Fraction, list[Pair]] = {}
        for pair, score in zip(pairs, approximate, strict=True):
            if score >= threshold:
                levels.setdefault(self.score(pair), []).append(pair)
        return [levels[score] for score in sorted(levels, reverse=True)]

    def _in_order(self, pairs: Sequence[Pair], limit: int) -> list[Pair]:
        """Return the first `limit` of pairs with equal scores, as the tie rule orders them."""
        if (ordered := self._criterion.by_ids_or_texts(pairs)) is not None:
            return ordered[:limit]
        if len(pairs) == 1:
            return list(pairs)
        if len(pairs) <= _FEW_PAIRS:
            return sorted(pairs, key=self._first_place)[:limit]
        return self._first_scanned(set(pairs), limit)

    def _first_scanned(self, wanted: set[Pair], limit: int) -> list[Pair]:
        """Return the first `limit` of the wanted pairs that a scan of the words finds."""
        merges, states = self._pair_counts.merges, self._pair_counts.states
        ordered: list[Pair] = []
        for number in self._scan.order(merges) if self._scan else range(len(states)):
            for pair in pairwise(states[number]):
                if pair in wanted:
                    wanted.discard(pair)
                    ordered.append(pair)
                    if len(ordered) == limit or not wanted:
                        return ordered
        return ordered

    def _first_place(self, pair: Pair) -> tuple[int, int]:
        """Return the scan position of a pair's first word, and its index in the word."""
        merges, states = self._pair_counts.merges, self._pair_counts.states
        word_lists = [self._merge_index.holders(symbol, merges) for symbol in pair]
        shorter = min(word_lists, key=lambda lists: sum(map(len, lists)))
        positions = []
        for numbers in shorter:
            for number in numbers:
                state = states[number]
                if pair[0] not in state or pair not in (pairs := list(pairwise(state))):
                    continue
                place = self._scan.place(number, merges) if self._scan else number
                positions.append((place, pairs.index(pair)))
                if self._scan is None:
                    break  # numbers ascend, so later words come later
        return min(positions)

    def above(self, pair: Pair) -> Iterator[Pair]:
        """Yield the pairs with a higher score than `pair`, which is in the text."""
        if self._criterion.by_score:
            symbols, score = self._pair_counts.symbols, self.score(pair)
            lower_bound = float(score) * (1 - _TOLERANCE)
            for other, count in self._pair_counts.pairs.items():
                may_be_higher = count / (symbols[other[0]] * symbols[other[1]]) >= lower_bound
                if may_be_higher and self.score(other) > score:
                    yield other
        else:
            count = self._pair_counts.pairs[pair]
            yield from (
                other
                for other, other_count in self._pair_counts.pairs.items()
                if other_count > count
            )


@dataclass(frozen=True)
class FrameWord:
    """A distinct pre-token as it is segmented after a step.

    Attributes:
        number: number of the pre-token in first-seen order, from 0.
        tokens: first symbols by name.
        more: number of symbols after them.
        count: occurrences in the text.
        changed: whether the step rewrote the pre-token.
        made: indices in `tokens`, from 0, of the symbols that the step merged.
    """

    number: int
    tokens: tuple[str, ...]
    more: int
    count: int
    changed: bool
    made: tuple[int, ...]


@dataclass(frozen=True)
class LeadingPair:
    """A pair of neighbours with its values in the text before a step.

    Attributes:
        place: rank of the pair, from 1.
        left: left symbol.
        right: right symbol.
        ids: ids of left and right, which the tie rule `lowest-id` compares.
        token: token that the merge makes.
        count: weighted occurrences of the pair.
        left_count: weighted occurrences of the left symbol.
        right_count: weighted occurrences of the right symbol.
        score: count / (left_count * right_count) if the recipe compares scores; else None.
        chosen: whether the step merges the pair.
        refused: why the training may not merge the pair, as in `Criterion.refusal`; None if it may.
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
class WhyChosen:
    """Why a step merged its pair, compared with the pair that this text would choose.

    Attributes:
        kind: `best` (no pair has a higher count or score), `tie` (others have an equal one, and the
            tie rule chooses this pair), `other` (another pair leads on this text), `initial` (the
            merge makes an initial token, not chosen by the text), `split` (another pair leads, and
            the training split the text further in this stage), `absent` (the pair is not in this
            text), `unknown` (the file does not record how the training chose; only counts are
            shown), `language` (a language chose it, by its own text).
        tied: number of pairs with the best count or score that may merge.
        tie_break: the recipe's tie rule.
        same_figures: whether the pair is as frequent in this text as in training; None if not
            known.
        language: language that chose the merge; see `MergeRecord`.
    """

    kind: str
    tied: int
    tie_break: str
    same_figures: bool | None
    language: str | None = None


@dataclass(frozen=True)
class Step:
    """The state of a training by merges after a step.

    Attributes:
        step: number of merges made; 0 is the state before the first merge.
        total: number of steps.
        merge: the step's merge as the model's file records it; None for step 0.
        left_count: recorded count of its left symbol; 0 if not known.
        right_count: recorded count of its right symbol; 0 if not known.
        vocabulary: ids in the vocabulary so far, including special tokens and the alphabet.
        tokens: number of tokens in the text.
        distinct: number of distinct pre-tokens.
        changed: number of distinct pre-tokens that the step rewrote.
        changed_occurrences: occurrences of these pre-tokens in the text.
        words: words asked for, as segmented after the step.
        decides: step that `pairs` led to: this step, or step 1 for step 0.
        pairs: leading pairs before step `decides`, best first; last its own pair if it ranks lower.
        distinct_pairs: number of distinct pairs before that step.
        choice: why that step merged its pair; None if the model has no merges.
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
    choice: WhyChosen | None


@dataclass(frozen=True)
class RoundFrame:
    """The state of a Unigram training after a round.

    Attributes:
        step: number of the round, from 1.
        total: number of rounds.
        round: the round as the model's file records it.
        left: number of pieces that the round leaves.
        objectives: objectives of all rounds.
        vocabulary: number of ids of the final model.
        tokens: number of tokens in the text as the final model segments it.
        distinct: number of distinct pre-tokens.
        words: words asked for, as the final model segments them: the file does not keep the pieces
            of a round.
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
    """A word from the step that gave it this form until the next step that changes it.

    Attributes:
        step: step that gave the word this form.
        tokens: first symbols by name.
        more: number of symbols after them.
        made: indices in `tokens` of the symbols that the step merged.
    """

    step: int
    tokens: tuple[str, ...]
    more: int
    made: tuple[int, ...]


#: Orders of words: `scan` as the recipe's tie rule scans them, `count` with the most frequent
#: first, `changed` with those that the step changed first, both parts by count.
ARRANGEMENTS = ("scan", "count", "changed")
#: Most bytes of all distinct pre-tokens together, which determine the memory. (8 MB of books have
#: 0.5 MB of them.)
MOST_BYTES = 8_000_000
#: Most symbols of one word in a frame: a word can be as long as a book.
MOST_SYMBOLS = 200
#: Most bytes of a word that can be followed: each of its stages replays the whole word.
LONGEST_FOLLOWED = 2_000
_SPACES = (b" ", "▁".encode(), "Ġ".encode())


class Replay(ABC):
    """A training on counted pre-tokens, viewed step by step.

    Attributes:
        first: first step.
        total: last step.
        unit: name of a step in messages.
        tokenizer: tokenizer whose training is replayed.
        counts: distinct pre-tokens with their counts, in first-seen order.
    """

    unit = "step"
    first = 0
    total: int

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        size = sum(len(pre_token) for pre_token, _ in counts)
        if size > MOST_BYTES:
            raise BadInput(
                f"this text is too large to watch: its distinct pre-tokens have {size:,} bytes, "
                f"more than {MOST_BYTES:,}",
                "watch a part of it: head -c 8000000 TEXT > part.txt",
                "too-large",
            )
        self.tokenizer = tokenizer
        self.counts = counts

    @abstractmethod
    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> Step | RoundFrame:
        """Return the state of the training after a step.

        Args:
            step: step to show.
            first: position of the first word to return, from 0.
            limit: most words to return.
            arrange: order of the words, one of `ARRANGEMENTS`.

        Raises:
            TokctlError: the training has no such step.
        """

    @abstractmethod
    def find_token(self, token: str, after: int) -> int:
        """Return the first step after `after` that makes a token, else the first that makes it.

        Raises:
            TokctlError: no step makes the token.
        """

    @abstractmethod
    def stages(self, number: int) -> tuple[Stage, ...]:
        """Return the forms of pre-token `number`: the initial form, then one for each change.

        Raises:
            TokctlError: the pre-token is longer than `LONGEST_FOLLOWED`.
        """

    @abstractmethod
    def word(self, number: int, step: int) -> FrameWord:
        """Return pre-token `number` as it is segmented after a step."""

    def check(self, step: int) -> None:
        """Raise TokctlError if the training has no such step."""
        if not self.first <= step <= self.total:
            raise BadOption(
                f"there is no {self.unit} {step:,}: this model has {plural(self.total, self.unit)}",
                f"choose one from {self.first} to {self.total}",
                "bad-value",
            )

    def find_word(self, text: str) -> int:
        """Return the number of the pre-token that a user means by `text`.

        An exact match counts with or without the space that pre-tokenizers leave in front; the most
        frequent match wins. Otherwise return the first pre-token that contains `text`.

        Raises:
            TokctlError: no pre-token contains the text.
        """
        data = text.encode("utf-8", "surrogatepass")
        spellings = (data, *(space + data for space in _SPACES))
        numbers = [self._numbers[spelling] for spelling in spellings if spelling in self._numbers]
        if numbers and data:
            return max(numbers, key=lambda number: self.counts[number][1])
        if data:
            for number, (pre_token, _) in enumerate(self.counts):
                if data in pre_token:
                    return number
        raise BadOption(
            f"no word of this text contains {text!r}",
            "give a part of one word, as the pre-tokenizer splits the text",
            "unknown-name",
        )

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {pre_token: number for number, (pre_token, _) in enumerate(self.counts)}

    @cached_property
    def by_count(self) -> list[int]:
        """Numbers of the words, most frequent first, equals in first-seen order."""
        return sorted(range(len(self.counts)), key=lambda number: -self.counts[number][1])


# -- By merges -----------------------------------------------------------------------------------

#: Default number of leading pairs in a frame.
LEADING = 20


class MergeReplay(Replay):
    """A training by merges on counted pre-tokens.

    The counts are those of the state before the step shown, where the pairs compete. The words of a
    frame are those after the step.

    Example:
        >>> replay = MergeReplay(tokenizer, [(b"low", 2), (b"lot", 1)])
        >>> pair = replay.goto(0).pairs[0]
        >>> pair.left, pair.right, pair.count
        ('l', 'o', 3)
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Replay every word once, to find the steps that rewrite it.

        Args:
            tokenizer: tokenizer of a model with a merge history.
            counts: distinct pre-tokens with their counts, in first-seen order.

        Raises:
            TokctlError: the model has no merges, or the text is too large.
        """
        check_merges(tokenizer)
        check_states(tokenizer)
        super().__init__(tokenizer, as_trained(tokenizer, counts))
        self.merges = tokenizer.merges
        self.total = len(self.merges)
        self._history = history_of(tokenizer)
        self._merge_index = MergeIndex(tokenizer, self.counts)
        by_rewriting = tokenizer.recipe.tie_break == "rewritten-last"
        self._scan = ScanOrder(self._merge_index, len(self.counts)) if by_rewriting else None
        self._pair_counts = PairCounts(self._merge_index)
        self._criterion = Criterion(tokenizer)
        self._ranking = Ranking(self._criterion, self._merge_index, self._pair_counts, self._scan)
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
    ) -> Step:
        """Return the state of the training after a step.

        Args:
            step: number of merges made, from 0.
            first: position of the first word to return, from 0.
            limit: most words to return.
            arrange: order of the words, one of `ARRANGEMENTS`.
            leading: number of leading pairs to return.

        Raises:
            TokctlError: the training has no such step.
        """
        self.check(step)
        decides = min(max(step, 1), self.total)
        self._pair_counts.goto(max(decides - 1, 0))
        changed = self._merge_index.rewritten(step - 1)
        order = self._order(step, arrange)
        weights = self._pair_counts.weights
        merge = self._history.record(step - 1) if step else None
        recorded = self.merges[step - 1] if step else None
        pairs, choice = self._pairs(decides, leading)
        after = sum(self._pair_counts.symbols.values())
        after -= sum(weights[number] * self._merges_in_word(number, step) for number in changed)
        return Step(
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
            distinct_pairs=len(self._pair_counts.pairs),
            choice=choice,
        )

    def _merges_in_word(self, number: int, step: int) -> int:
        """Return how many merges a step makes in a word."""
        merge = self.merges[step - 1]
        earlier_symbols = self._pair_counts.states[number]
        return sum(1 for _ in merged_places(earlier_symbols, (merge.left, merge.right)))

    def _order(self, step: int, arrange: str) -> list[int] | range:
        """Return the numbers of the words in the order to show after a step."""
        key = (step, arrange)
        if self._arranged[0] == key:
            return self._arranged[1]
        order: list[int] | range = range(len(self.counts))
        changed = set(self._merge_index.rewritten(step - 1))
        if arrange != "scan":
            order = self.by_count
        elif self._scan:
            earlier_order = self._scan.order(max(step - 1, 0))
            order = [number for number in earlier_order if number not in changed]
            order += [number for number in earlier_order if number in changed]
        if arrange == "changed" and changed:
            changed_first = [number for number in order if number in changed]
            order = changed_first + [number for number in order if number not in changed]
        self._arranged = (key, order)
        return order

    def word(self, number: int, step: int) -> FrameWord:
        """Return pre-token `number` as it is segmented after a step."""
        tokens, more, made = self._tokens_after(number, step)
        return FrameWord(number, tokens, more, self.counts[number][1], bool(made), made)

    def _tokens_after(self, number: int, step: int) -> tuple[tuple[str, ...], int, tuple[int, ...]]:
        """Return a word's first tokens after a step, the number of other tokens, and the new ones.

        If the step merges only later tokens, the last token returned is marked instead.
        """
        pre_token = self.counts[number][0]
        ids, lengths, ranks = self._history.replayer.replay(pre_token, step)
        made: tuple[int, ...] = ()
        if step and ranks and step - 1 in ranks:
            merge = self.merges[step - 1]
            earlier_symbols = self._merge_index.state(number, step - 1)
            places = [*merged_places(earlier_symbols, (merge.left, merge.right))]
            made = tuple(place for place in places if place < MOST_SYMBOLS)
            made = made or (min(len(ids), MOST_SYMBOLS) - 1,)
        names = name_symbols(self.tokenizer, pre_token, ids[:MOST_SYMBOLS], lengths[:MOST_SYMBOLS])
        return tuple(names), max(0, len(ids) - MOST_SYMBOLS), made

    def stages(self, number: int) -> tuple[Stage, ...]:
        """Return the forms of pre-token `number`: the initial form, then one for each change."""
        pre_token = self.counts[number][0]
        if len(pre_token) > LONGEST_FOLLOWED:
            raise BadInput(
                f"this word is too long to follow: it has {len(pre_token):,} bytes",
                f"follow a word of at most {LONGEST_FOLLOWED:,} bytes",
                "too-large",
            )
        ranks = self._history.replayer.replay(pre_token, self.total)[2]
        steps = [0, *(rank + 1 for rank in sorted(set(ranks)))]
        return tuple(Stage(step, *self._tokens_after(number, step)) for step in steps)

    def find_token(self, token: str, after: int) -> int:
        """Return the first step after `after` that makes a token, else the first that makes it."""
        tokenizer = self.tokenizer
        spellings = spelled_like(tokenizer, token)
        ids = [id_ for id_, name in enumerate(tokenizer.tokens) if name in spellings]
        steps = sorted(rank + 1 for id_ in ids for rank in self._history.made_by.get(id_, ()))
        if steps:
            return next((step for step in steps if step > after), steps[0])
        if ids:
            raise BadOption(
                f"no step makes {token!r}: it was there before the first step",
                "choose a token that a merge made, not a special token or one of the alphabet",
            )
        similar = next((name for name in tokenizer.tokens if token and token in name), None)
        raise BadOption(
            f"no step makes {token!r}: the model has no such token",
            f"tokens are spelled as they are shown, {similar!r} for instance"
            if similar
            else "--token shows the tokens",
            "unknown-name",
        )

    def _pairs(self, step: int, most: int) -> tuple[tuple[LeadingPair, ...], WhyChosen | None]:
        """Return the leading pairs before a step, and why the step merged its own."""
        ranking = self._ranking
        ranked = ranking.leading(most)
        if not step:
            leading = (self._leading(pair, at, None) for at, pair in enumerate(ranked.pairs, 1))
            return tuple(leading), None
        merge = self.merges[step - 1]
        merged_pair = (merge.left, merge.right)
        pairs = [self._leading(pair, n, merged_pair) for n, pair in enumerate(ranked.pairs, 1)]
        present = merged_pair in self._pair_counts.pairs
        if present and merged_pair not in ranked.pairs:
            place = max(sum(1 for _ in ranking.above(merged_pair)), len(pairs)) + 1
            pairs.append(self._leading(merged_pair, place, merged_pair))
        return tuple(pairs), self._choice(ranked, merged_pair, present, step)

    def _leading(self, pair: Pair, place: int, merged_pair: Pair | None) -> LeadingPair:
        tokens, symbols, count = (
            self.tokenizer.tokens,
            self._pair_counts.symbols,
            self._pair_counts.pairs[pair],
        )
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
            chosen=pair == merged_pair,
            refused=self._criterion.refusal(pair),
        )

    def _choice(self, ranked: Ranked, merged_pair: Pair, is_present: bool, step: int) -> WhyChosen:
        merge = self.merges[step - 1]
        language = self._history.record(step - 1).language
        count = self._pair_counts.pairs.get(merged_pair, 0)
        figures: tuple[int, ...] = (count,)
        recorded: tuple[int, ...] = (merge.count,)
        if self._criterion.by_score:
            symbols = self._pair_counts.symbols
            figures += tuple(symbols.get(symbol, 0) for symbol in merged_pair)
            recorded += (merge.left_count, merge.right_count)
        splits = bool(stage_of(self.tokenizer, step).pre_tokenizers)
        if step <= self._criterion.first:
            kind = "initial"
        elif not is_present:
            kind = "absent"
        elif not self._criterion.known:
            kind = "unknown"
        elif language is not None:
            kind = "language"
        elif ranked.best != merged_pair:
            kind = "split" if splits else "other"
        else:
            kind = "best" if ranked.tied == 1 else "tie"
        same = figures == recorded if merge.count and not splits else None
        return WhyChosen(kind, ranked.tied, self._criterion.tie_break, same, language)


def spelled_like(tokenizer: Tokenizer, token: str) -> set[str]:
    """Return the vocabulary's spelling of a token that a user typed, as a set of one.

    The user may type a space where the model spells one differently. Return `token` itself if no
    spelling is in the vocabulary.
    """
    data = token.encode("utf-8", "surrogatepass")
    others = [byte_level.spell(data)] if tokenizer.recipe.is_byte_level else []
    for spelling in (token, *others, token.replace(" ", "▁"), token.replace(" ", "Ġ")):
        if spelling in tokenizer.vocabulary:
            return {spelling}
    return {token}


def _vocabulary_sizes(tokenizer: Tokenizer) -> list[int]:
    """Return the number of ids in the vocabulary after each step, from step 0.

    A token counts from the first step that makes it. Superwords never count, since no step makes
    them.
    """
    recipe, tokens = tokenizer.recipe, tokenizer.model.tokens
    seen: set[int] = set()
    additions = []
    for merge in tokenizer.merges:
        is_new = merge.token not in seen and not recipe.is_initial_symbol(tokens[merge.token])
        seen.add(merge.token)
        additions.append(int(is_new))
    initial_size = len(tokens) - len(tokenizer.model.supermerges) - sum(additions)
    return list(accumulate(additions, initial=initial_size))


# -- By rounds -----------------------------------------------------------------------------------


class RoundReplay(Replay):
    """The rounds of a Unigram training, with counted pre-tokens as the final model segments them.

    No file keeps the pieces of a round.
    """

    unit = "round"
    first = 1

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Read the rounds of the model.

        Args:
            tokenizer: tokenizer of a Unigram model.
            counts: distinct pre-tokens with their counts, in first-seen order.

        Raises:
            TokctlError: the model has no rounds, or the text is too large.
        """
        self.rounds = rounds(tokenizer)
        super().__init__(tokenizer, counts)
        self.total = len(self.rounds)

    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> RoundFrame:
        """Return the state of the training after a round.

        Args:
            step: number of the round, from 1.
            first: position of the first word to return, from 0.
            limit: most words to return.
            arrange: order of the words: `scan` for first-seen order, else by count.

        Raises:
            TokctlError: the training has no such round.
        """
        self.check(step)
        unigram_round = self.rounds[step - 1]
        order = range(len(self.counts)) if arrange == "scan" else self.by_count
        return RoundFrame(
            step=step,
            total=self.total,
            round=unigram_round,
            left=unigram_round.pieces - unigram_round.dropped,
            objectives=tuple(other.objective for other in self.rounds),
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
        """Return pre-token `number` as the final model segments it, whatever the round."""
        pre_token, count = self.counts[number]
        ids, lengths = self._best(pre_token)
        ids, more = ids[:MOST_SYMBOLS], max(0, len(ids) - MOST_SYMBOLS)
        names = name_symbols(self.tokenizer, pre_token, ids, lengths[:MOST_SYMBOLS])
        return FrameWord(number, tuple(names), more, count, False, ())

    def stages(self, number: int) -> tuple[Stage, ...]:
        """Return the only known form of pre-token `number`: the form after the last round."""
        word = self.word(number, self.total)
        return (Stage(self.total, word.tokens, word.more, ()),)

    def find_token(self, token: str, after: int) -> int:  # noqa: ARG002
        """Return the round that dropped a piece, or the last round if the piece was kept.

        A model file records only some of the dropped pieces.

        Raises:
            TokctlError: no round is known to have dropped the piece, and the model lacks it.
        """
        for step, unigram_round in enumerate(self.rounds, 1):
            if any(piece == token for piece, _ in unigram_round.examples):
                return step
        if token in self.tokenizer.tokens:
            return self.total
        raise BadOption(
            f"no round is known to have dropped {token!r}, and the model has no such piece",
            "choose another piece: the file keeps only some of the dropped pieces of each round",
            "unknown-name",
        )
