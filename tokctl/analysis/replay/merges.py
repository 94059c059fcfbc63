"""A training by merges, replayed on a text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import check_merges, history_of, name_symbols
from tokctl.analysis.explain.states import Criterion, Pair, as_trained, merged_places
from tokctl.analysis.replay.base import LONGEST_FOLLOWED, MOST_SYMBOLS, Replay, Stage
from tokctl.analysis.replay.frames import Choice, Frame, FrameWord, LeadingPair
from tokctl.analysis.replay.ranking import Ranked, Ranking
from tokctl.analysis.replay.tally import Tally
from tokctl.analysis.replay.timeline import Scan, Timeline
from tokctl.errors import TokctlError
from tokctl.model import byte_level

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Pairs that a frame holds.
LEADING = 20


class MergeReplay(Replay):
    """A training by merges on counted pre-tokens.

    The counts stand at the state before the step that is looked at: there the pairs compete.
    The words of a frame are those behind it.
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Replays every word once.

        Args:
            counts: distinct pre-tokens with their counts, in first-seen order.

        Raises:
            TokctlError: the model has no merges; a text that is too large.
        """
        check_merges(tokenizer)
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
        if arrange == "count":
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
        step that merges behind the tokens that are named, the last one stands for them."""
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
            f"tokens are spelled as they are shown, {near!r} for instance" if near else None,
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
        kind, mark = self.tokenizer.recipe.marker
        tail = tokens[right].removeprefix(mark) if kind == "continuation" else tokens[right]
        return LeadingPair(
            place=place,
            left=tokens[left],
            right=tokens[right],
            ids=pair,
            token=tokens[left] + tail,
            count=count,
            left_count=symbols[left],
            right_count=symbols[right],
            score=self._ranking.score(pair) if self._criterion.by_score else None,
            chosen=pair == own,
            refused=self._criterion.refusal(pair),
        )

    def _choice(self, ranked: Ranked, own: Pair, present: bool, step: int) -> Choice:
        merge = self.merges[step - 1]
        here = self._tally.pairs.get(own, 0)
        figures: tuple[int, ...] = (here,)
        recorded: tuple[int, ...] = (merge.count,)
        if self._criterion.by_score:
            symbols = self._tally.symbols
            figures += tuple(symbols.get(symbol, 0) for symbol in own)
            recorded += (merge.left_count, merge.right_count)
        if not present:
            kind = "absent"
        elif not self._criterion.known:
            kind = "unknown"
        elif ranked.best != own:
            kind = "other"
        else:
            kind = "best" if ranked.tied == 1 else "tie"
        same = figures == recorded if merge.count else None
        return Choice(kind, ranked.tied, self._criterion.tie_break, same)


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
    that makes it on."""
    recipe, tokens = tokenizer.recipe, tokenizer.model.tokens
    seen: set[int] = set()
    new = []
    for merge in tokenizer.merges:
        first = merge.token not in seen and not recipe.is_initial_symbol(tokens[merge.token])
        seen.add(merge.token)
        new.append(int(first))
    return list(accumulate(new, initial=len(tokens) - sum(new)))
