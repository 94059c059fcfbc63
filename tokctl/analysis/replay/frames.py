"""What a replay shows at a step: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tokctl.analysis.explain.history import MergeRecord
from tokctl.model import Round


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
        refused: why training may not merge it (`special`: that spells a special token;
            `long`: a token longer than allowed); None where it may.
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
            `absent` (the pair is not in this text), `unknown` (the file does not say by what
            its training chose: only counts are shown).
        tied: pairs that share the best count or score, those that may not be merged left out.
        tie_break: the recipe's tie rule.
        same_figures: the pair is as frequent here as the file says it was in training; None
            where the file does not say.
    """

    kind: str
    tied: int
    tie_break: str
    same_figures: bool | None


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
        pairs: the leading pairs before that step, best first; behind them its own, where
            that comes later.
        distinct_pairs: how many there were.
        choice: why that step took its pair; None where there is no step at all.
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
