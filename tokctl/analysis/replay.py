"""A replay of a training on a text: forward, back, or straight to a step.

The native `Stepper` keeps the corpus state of a step and ranks its pairs as the trainer does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import (
    MergeRecord,
    check_merges,
    check_states,
    history_of,
    name_symbols,
    rounds,
)
from tokctl.analysis.explain.states import Criterion, as_trained, merged_places, stage_of
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.humanize import plural
from tokctl.model import Round, byte_level

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


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
        refused: why the training may not merge the pair, as in `Criterion.stepper`; None if it may.
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
        """Read the words and the merges.

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
        self._criterion = Criterion(tokenizer)
        self._stepper = self._criterion.stepper(self.counts)
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
        self._stepper.goto(max(decides - 1, 0))
        pairs, choice = self._pairs(decides, leading)
        distinct_pairs = self._stepper.distinct_pairs
        self._stepper.goto(step)
        changed = self._stepper.rewritten()
        order = self._order(arrange, changed)
        recorded = self.merges[step - 1] if step else None
        return Step(
            step=step,
            total=self.total,
            merge=self._history.record(step - 1) if step else None,
            left_count=recorded.left_count if recorded else 0,
            right_count=recorded.right_count if recorded else 0,
            vocabulary=self._sizes[step],
            tokens=self._stepper.symbols,
            distinct=len(self.counts),
            changed=len(changed),
            changed_occurrences=sum(self.counts[number][1] for number in changed),
            words=tuple(self.word(number, step) for number in order[first : first + limit]),
            decides=decides,
            pairs=pairs,
            distinct_pairs=distinct_pairs,
            choice=choice,
        )

    def _order(self, arrange: str, changed: Sequence[int]) -> Sequence[int]:
        """Return the numbers of the words in the order to show after the present step."""
        if arrange == "scan":
            return self._stepper.scan_order()
        if arrange == "count" or not changed:
            return self.by_count
        first = set(changed)
        return sorted(self.by_count, key=lambda number: number not in first)

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
            earlier_symbols = self._history.replayer.replay(pre_token, step - 1)[0]
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
        rows, best, tied = self._stepper.leading(most)
        leading = [self._leading(place, *row) for place, row in enumerate(rows, 1)]
        if not step:
            return tuple(leading), None
        merge = self.merges[step - 1]
        found = self._stepper.pair(merge.left, merge.right)
        places = [place for place, pair in enumerate(leading) if pair.ids == merge[:2]]
        if found and not places:
            row, above = found
            places = [len(leading)]
            leading.append(self._leading(max(above, len(leading)) + 1, *row))
        for place in places:
            leading[place] = replace(leading[place], chosen=True)
        figures = found[0][2:5] if found else (0, 0, 0)
        is_best = best is not None and best[:2] == merge[:2]
        return tuple(leading), self._choice(step, figures, tied, is_best=is_best)

    def _leading(
        self,
        place: int,
        left: int,
        right: int,
        count: int,
        left_count: int,
        right_count: int,
        refused: str | None,
    ) -> LeadingPair:
        names = self.tokenizer.tokens
        by_score = self._criterion.by_score
        return LeadingPair(
            place=place,
            left=names[left],
            right=names[right],
            ids=(left, right),
            token=self.tokenizer.recipe.marker.merged(names[left], names[right]),
            count=count,
            left_count=left_count,
            right_count=right_count,
            score=Fraction(count, left_count * right_count) if by_score else None,
            chosen=False,
            refused=refused,
        )

    def _choice(
        self, step: int, figures: tuple[int, int, int], tied: int, *, is_best: bool
    ) -> WhyChosen:
        """Return why a step merged its pair.

        Args:
            step: step to explain, from 1.
            figures: counts of the pair and its two symbols in this text; zeros if it is absent.
            tied: number of pairs with the best score.
            is_best: whether the training would merge the pair in this text.
        """
        merge = self.merges[step - 1]
        language = self._history.record(step - 1).language
        compared = 3 if self._criterion.by_score else 1
        splits = bool(stage_of(self.tokenizer, step).pre_tokenizers)
        if step <= self._criterion.first:
            kind = "initial"
        elif not figures[0]:
            kind = "absent"
        elif not self._criterion.known:
            kind = "unknown"
        elif language is not None:
            kind = "language"
        elif not is_best:
            kind = "split" if splits else "other"
        else:
            kind = "best" if tied == 1 else "tie"
        same = figures[:compared] == merge[3 : 3 + compared] if merge.count and not splits else None
        return WhyChosen(kind, tied, self._criterion.tie_break, same, language)


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
