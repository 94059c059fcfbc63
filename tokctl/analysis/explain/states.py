"""The corpus state: a text's segmented pre-tokens after a number of merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tokctl._native import Stepper
from tokctl.analysis.explain.history import check_step, history_of, name_symbols
from tokctl.model import TrainingStage
from tokctl.model.byte_level import BYTE_TOKENS, BYTES, IN_ID_ORDER, unspell
from tokctl.sources import Document, Source

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class PreTokenState:
    """A distinct pre-token in a corpus state.

    Attributes:
        tokens: symbols of the pre-token, by name.
        count: occurrences in the text.
        changed: whether the step that leads to this state rewrote the pre-token.
        before: symbols before that step; None if the step did not change them.
        places: indices in `tokens` of the symbols that the step merged, from 0.
    """

    tokens: tuple[str, ...]
    count: int
    changed: bool
    before: tuple[str, ...] | None = None
    places: tuple[int, ...] = ()


def corpus_state(tokenizer: Tokenizer, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
    """Return the segmented pre-tokens of a text, with their counts, after `step` merges.

    The order is the scan order of the recipe's tie rule: first-seen order; for `rewritten-last`,
    pre-tokens that merges rewrote come after the others.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        step: number of merges; 0 is the state before the first merge.
        text: text to segment, as one document.

    Raises:
        TokctlError: the model has no such step.

    Example:
        >>> corpus_state(tokenizer, 1, "low low")  # the first merge joins "l" and "o"
        {('lo', 'w'): 1, ('Ġ', 'lo', 'w'): 1}
    """
    data = tokenizer.as_bytes(text)
    document = Document("the text", len(data), lambda: iter([data]))
    counts = count_pre_tokens(tokenizer, [document])
    state: dict[tuple[str, ...], int] = {}
    for word in state_words(tokenizer, step, counts):
        # Different pre-tokens have different symbols, except in a damaged file; add the counts
        # so that their sum is right in any case.
        state[word.tokens] = state.get(word.tokens, 0) + word.count
    return state


def count_pre_tokens(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str = "strict"
) -> list[tuple[bytes, int]]:
    """Return the distinct pre-tokens of all documents with their counts, in first-seen order.

    No pre-token crosses the end of a document. A document that its source counts several times
    (`tokctl.sources.Batch`) is counted that often.

    Args:
        tokenizer: tokenizer whose recipe splits the text.
        sources: texts to read.
        errors: `strict`, or `replace` to put U+FFFD where text is not UTF-8.

    Raises:
        TokctlError: text is not UTF-8, for a character-level model and `errors="strict"`.
    """
    from tokctl import training

    options = training.TrainOptions(vocab_size=1, errors=errors)
    return training.count(sources, tokenizer.recipe, options)[0].items()


def as_trained(
    tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]
) -> Sequence[tuple[bytes, int]]:
    """Return the counted pre-tokens without those below the training's `min_count`.

    Return `counts` unchanged if the rest does not match the totals in the training record: only if
    they match is the text surely the training text.
    """
    record = tokenizer.model.training
    if record is None or record.min_count <= 1:
        return counts
    kept = [(pre_token, count) for pre_token, count in counts if count >= record.min_count]
    total = sum(count for _, count in kept)
    same = (len(kept), total) == (record.distinct_pre_tokens, record.pre_tokens)
    return kept if same else counts


def read_counts(tokenizer: Tokenizer, document: Document) -> list[tuple[bytes, int]]:
    """Return the pre-tokens of a file of `word<TAB>count` lines, in first-seen order.

    `tokctl train --word-counts` reads the same format: neither normalizers nor pre-tokenizers
    apply.

    Raises:
        TokctlError: a line has another form; the message names the file and the line.
    """
    from tokctl import training

    options = training.TrainOptions(vocab_size=1)
    return training.count_lines(document, tokenizer.recipe, options)[0].items()


def state_words(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> list[PreTokenState]:
    """Return the corpus state of counted pre-tokens after `step` merges, in scan order.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        step: number of merges, from 0.
        counts: pre-tokens with their counts, in first-seen order.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    split = list(_as_split(tokenizer, stage_of(tokenizer, step), counts))
    words = [_replayed(tokenizer, step, *word) for word in split]
    if tokenizer.recipe.tie_break != "rewritten-last":
        return words
    stepper = Criterion(tokenizer).stepper(split)
    stepper.goto(step)
    return [words[number] for number in stepper.scan_order()]


def stage_of(tokenizer: Tokenizer, step: int) -> TrainingStage:
    """Return the training stage that `step` belongs to; for step 0, the first stage.

    Return the last stage if the model file does not record the stages, and a stage without limits
    if the recipe has none.
    """
    model = tokenizer.model
    stages, record = model.recipe.stages or (TrainingStage(),), model.training
    if record is None or not record.stage_ends or step > len(model.merges):
        return stages[-1]
    token = model.merges[max(0, step - 1)].token
    if token < record.extended:
        return stages[-1]
    return stages[sum(end <= token for end in record.stage_ends)]


def _as_split(
    tokenizer: Tokenizer, stage: TrainingStage, counts: Iterable[tuple[bytes, int]]
) -> Iterable[tuple[bytes, int]]:
    """Return the counted pre-tokens as a stage's own pre-tokenizers split them further."""
    if not stage.pre_tokenizers:
        return counts
    from tokctl import training

    options = training.TrainOptions(vocab_size=1)
    words, _ = training.counting.count_mapping(dict(counts), tokenizer.recipe, options)
    return training.counting.split_further(words, stage.pre_tokenizers, options, 1).items()


def _replayed(tokenizer: Tokenizer, step: int, pre_token: bytes, count: int) -> PreTokenState:
    """Return the state of a pre-token after `step` merges."""
    history = history_of(tokenizer)
    replay = history.replayer.replay
    ids, lengths, ranks = replay(pre_token, step)
    names = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
    if step - 1 not in ranks:
        return PreTokenState(names, count, changed=False)
    ids, lengths, _ = replay(pre_token, step - 1)
    before = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
    merge = history.merges[step - 1]
    places = tuple(merged_places(ids, (merge.left, merge.right)))
    return PreTokenState(names, count, True, before, places)


def merged_places(before: Sequence[int], pair: tuple[int, int]) -> Iterator[int]:
    """Yield the index of each token that merging `pair` makes in a word, left to right.

    The indices refer to the symbols after the merge.
    """
    at = made = 0
    while at < len(before):
        if at + 1 < len(before) and (before[at], before[at + 1]) == pair:
            yield made
            at += 1
        at += 1
        made += 1


class Criterion:
    """The rule by which a model's training chose its merges.

    Attributes:
        known: whether the file records the training. If not, pairs are compared by count, equal
            counts by their ids, and any pair may merge that spells no special token.
        by_language: whether the languages of a parity-aware training chose, each by its own text;
            then one text can't say which pair merges next.
        by_score: whether `count(ab) / (count(a) * count(b))` is compared; else `count(ab)` is.
        tie_break: name of the tie rule; see `tokctl.model.Recipe`.
        least: lowest count at which a pair may merge.
        first: number of steps before the first step chosen by this rule; they make initial tokens.
    """

    def __init__(self, tokenizer: Tokenizer, stage: TrainingStage | None = None) -> None:
        """Read the criterion from a tokenizer's model.

        Args:
            tokenizer: tokenizer whose training is described.
            stage: stage of the training whose limits apply; None means the last stage.
        """
        model = tokenizer.model
        recipe, training = model.recipe, model.training
        self.known = training is not None
        self.by_language = model.parity is not None
        self.by_score = self.known and recipe.merges_by_likelihood
        self.tie_break = recipe.tie_break if self.known else "lowest-id"
        self.least = training.min_frequency if training else 1
        self.first = training.initial_merges if training else 0
        stage = stage or (recipe.stages or (TrainingStage(),))[-1]
        self._model = model
        self._limits = {
            "max_token_length": training.max_token_length if training else None,
            "max_words": stage.max_words,
            "forbidden": [text.encode() for text in stage.forbidden],
            "whole_characters": training is not None and training.whole_characters,
        }
        self._encoder = history_of(tokenizer).replayer

    def stepper(self, counts: Sequence[tuple[bytes, int]]) -> Stepper:
        """Return the training on counted pre-tokens, at the state before the first merge.

        The stepper's pairs have the reasons why the training may not merge them, whatever their
        count. `long`: the token would be longer than allowed. `words`: it would have more words
        than allowed. `forbidden`: it would contain a forbidden text. `special`: it would spell a
        special token. `cut`: it would cut a character (`whole_characters` in
        `tokctl.training.TrainOptions`).
        """
        model, recipe = self._model, self._model.recipe
        never = {model.tokens[id_] for id_ in model.reserved_ids}
        never |= BYTE_TOKENS.keys() if recipe.byte_fallback else set()
        if recipe.is_byte_level:
            # A model file spells bytes as characters: tokens spelled like a special token are
            # excluded, too.
            spelled = (text for text in recipe.special_tokens if set(text) <= BYTES.keys())
            never |= set(map(unspell, spelled))
        return Stepper(
            self._encoder,
            counts,
            model.tokens,
            [merge[:3] for merge in model.merges],
            {
                "criterion": "likelihood" if self.by_score else "count",
                "ties": self.tie_break,
                "units": recipe.units,
                "marker": recipe.marker,
                "special_tokens": list(never),
                "initial_alphabet": IN_ID_ORDER if recipe.is_byte_level else [],
                "min_frequency": self.least,
                **self._limits,
            },
            keeps_scan_order=recipe.tie_break == "rewritten-last",
        )


@dataclass(frozen=True)
class PairCount:
    """A pair of neighbouring symbols in a corpus state.

    Attributes:
        left: left symbol.
        right: right symbol.
        count: weighted occurrences of the pair, overlapping ones included.
        left_count: weighted occurrences of the left symbol.
        right_count: weighted occurrences of the right symbol.
        by_score: whether the training compares `score`; else it compares `count`.
        step: first later step at which the model merges the pair; None if it never does.
        refused: why the training would not merge the pair: `rare` (below the lowest allowed count),
            or a reason of `Criterion.stepper`; None if it may merge.
        wins: whether the training would merge this pair next if this were the state of its corpus.
            False for every pair if that is not known.
    """

    left: str
    right: str
    count: int
    left_count: int
    right_count: int
    by_score: bool
    step: int | None
    refused: str | None
    wins: bool

    @property
    def score(self) -> Fraction | None:
        """Exact count(ab) / (count(a) * count(b)) if scores are compared; else None."""
        if not self.by_score:
            return None
        return Fraction(self.count, self.left_count * self.right_count)


@dataclass(frozen=True)
class StatePairs:
    """The pairs of a corpus state.

    Attributes:
        step: number of merges that led to the state.
        pairs: pairs in the order that the training prefers, equal ones by the recipe's tie rule.
            Pairs that the training would not merge come last.
        unknown: weighted occurrences of pairs, not listed in `pairs`, with a character that the
            model has no symbol for.
        known: whether the model file records how the training chose. If not, pairs are ordered by
            count, equal counts by their ids.
        by_language: whether the languages of a parity-aware training chose; see `Criterion`.
    """

    step: int
    pairs: tuple[PairCount, ...]
    unknown: int
    known: bool
    by_language: bool = False


def pair_counts(tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]) -> StatePairs:
    """Return the pairs of a corpus state, in the order that the training prefers.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        step: number of merges that led to the state, from 0.
        counts: pre-tokens with their counts, in first-seen order.

    Raises:
        TokctlError: the model has no such step.

    Example:
        >>> best = pair_counts(tokenizer, 0, [(b"low", 2), (b"lot", 1)]).pairs[0]
        >>> best.left, best.right, best.count
        ('l', 'o', 3)
    """
    check_step(tokenizer, step)
    stage = stage_of(tokenizer, step + 1)
    criterion = Criterion(tokenizer, stage)
    stepper = criterion.stepper(list(_as_split(tokenizer, stage, counts)))
    stepper.goto(step)
    history = history_of(tokenizer)
    names = tokenizer.tokens
    pairs = [
        PairCount(
            names[left],
            names[right],
            count,
            left_count,
            right_count,
            criterion.by_score,
            next((rank + 1 for rank in history.ranks_of((left, right)) if rank >= step), None),
            "rare" if count < criterion.least else refused,
            wins=False,
        )
        for left, right, count, left_count, right_count, refused in stepper.all_pairs()
    ]
    pairs.sort(key=lambda pair: pair.refused is not None)
    chosen = criterion.known and not criterion.by_language and step >= criterion.first
    if pairs and chosen and pairs[0].refused is None:
        pairs[0] = replace(pairs[0], wins=True)
    return StatePairs(
        step, tuple(pairs), stepper.unknown_pairs, criterion.known, criterion.by_language
    )
