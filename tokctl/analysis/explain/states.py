"""The corpus state: a text's segmented pre-tokens after a number of merges."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import Pair, check_step, history_of, name_symbols
from tokctl.model import TrainingStage
from tokctl.model.byte_level import BYTE_TOKENS, BYTES, spell, unspell
from tokctl.sources import Document, Source

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

T = TypeVar("T")


@dataclass(frozen=True)
class PreTokenState:
    """A distinct pre-token in a corpus state.

    Attributes:
        tokens: its symbols by name.
        count: its occurrences in the text.
        changed: the step that leads to this state has rewritten it.
        before: its symbols before that step; None if it has not changed.
        places: which of `tokens` the step has merged, from 0.
    """

    tokens: tuple[str, ...]
    count: int
    changed: bool
    before: tuple[str, ...] | None = None
    places: tuple[int, ...] = ()


def corpus_state(tokenizer: Tokenizer, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
    """The segmented pre-tokens of a text, with their counts, after `step` merges.

    The order is the one in which the recipe's tie rule scans them: as first seen; for
    `rewritten-last`, words that a merge has rewritten after the others.

    Raises:
        TokctlError: the model has no such step (0 is the state before the first merge).
    """
    data = tokenizer.as_bytes(text)
    document = Document("the text", len(data), lambda: iter([data]))
    counts = count_pre_tokens(tokenizer, [document])
    state: dict[tuple[str, ...], int] = {}
    for word in state_words(tokenizer, step, counts):
        # Different pre-tokens never have the same symbols; but if a file made it so, the
        # counts must still add up.
        state[word.tokens] = state.get(word.tokens, 0) + word.count
    return state


def count_pre_tokens(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str = "strict"
) -> list[tuple[bytes, int]]:
    """The distinct pre-tokens of all documents of the sources with their counts, in first-seen
    order. None goes from one document to the next; what a source counts more than once
    (`tokctl.sources.Batch`) counts as often here.

    Raises:
        TokctlError: text that is not UTF-8, for a character model; `errors="replace"`
            puts U+FFFD in its place.
    """
    from tokctl import training

    options = training.Options(vocab_size=1, errors=errors)
    return training.count(sources, tokenizer.recipe, options)[0].items()


def as_trained(
    tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]
) -> Sequence[tuple[bytes, int]]:
    """The counted pre-tokens without those too rare for the model's training, where that
    leaves as many as it had: then the text is surely the one that it read."""
    record = tokenizer.model.training
    if record is None or record.min_count <= 1:
        return counts
    kept = [(pre_token, count) for pre_token, count in counts if count >= record.min_count]
    total = sum(count for _, count in kept)
    same = (len(kept), total) == (record.distinct_pre_tokens, record.pre_tokens)
    return kept if same else counts


def read_counts(tokenizer: Tokenizer, document: Document) -> list[tuple[bytes, int]]:
    """The pre-tokens of a file of `word<TAB>count` lines, as `tokctl train --word-counts` reads it:
    neither normalizers nor pre-tokenizer are applied.

    Raises:
        TokctlError: names the file and the line that is not of this form.
    """
    from tokctl import training

    options = training.Options(vocab_size=1)
    return training.count_lines(document, tokenizer.recipe, options)[0].items()


def state_words(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> list[PreTokenState]:
    """The corpus state of counted pre-tokens, given in first-seen order, after `step` merges.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    split = _as_split(tokenizer, stage_of(tokenizer, step), counts)
    return _in_scan_order(tokenizer, _replayed(tokenizer, step, split))


def stage_of(tokenizer: Tokenizer, step: int) -> TrainingStage:
    """The stage of the training that a step was part of; of step 0, that of the first. The last
    one where the model's file does not say, one without limits where it names none."""
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
    """The counted pre-tokens as a stage of the training splits them further."""
    if not stage.pre_tokenizers:
        return counts
    from tokctl import training

    options = training.Options(vocab_size=1)
    words, _ = training.counting.count_mapping(dict(counts), tokenizer.recipe, options)
    return training.counting.split_further(words, stage.pre_tokenizers, options, 1).items()


def count_pairs(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> tuple[Counter[int], Counter[Pair]]:
    """The symbols and the pairs of neighbours in the corpus state of counted pre-tokens after
    `step` merges, with their weighted counts, as the tie rule sees them first; `NO_ID` stands
    for symbols that the model lacks.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    replay = history_of(tokenizer).replayer.replay

    def replayed() -> Iterator[tuple[list[int], tuple[list[int], int]]]:
        for pre_token, count in counts:
            ids, _, ranks = replay(pre_token, step)
            yield _latest_first(ranks), (ids, count)

    symbols: Counter[int] = Counter()
    pairs: Counter[Pair] = Counter()
    for ids, count in _in_scan_order(tokenizer, replayed()):
        for id_ in ids:
            symbols[id_] += count
        for pair in pairwise(ids):
            pairs[pair] += count
    return symbols, pairs


def _in_scan_order(tokenizer: Tokenizer, replayed: Iterable[tuple[list[int], T]]) -> list[T]:
    """What is given beside the ranks that rewrote each pre-token, latest first, in the order
    in which the tie rule scans it."""
    if tokenizer.recipe.tie_break != "rewritten-last":
        return [word for _, word in replayed]
    # Words that a step rewrites go to the end in the order they had. So of two words the
    # one rewritten last is behind; rewritten by the same steps back to some point, their
    # order is the older one; a word that is never rewritten comes first. That is the order
    # of the lists of steps, latest first; `sorted` keeps the first-seen order of equals.
    return [word for _, word in sorted(replayed, key=lambda pair: pair[0])]


def _latest_first(ranks: Sequence[int]) -> list[int]:
    """The ranks that rewrote a pre-token; one is given once for each place that it merged."""
    return sorted(set(ranks), reverse=True)


def _replayed(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> Iterator[tuple[list[int], PreTokenState]]:
    """Each pre-token's state, and the ranks that rewrote it, latest first."""
    history = history_of(tokenizer)
    replay = history.replayer.replay
    for pre_token, count in counts:
        ids, lengths, ranks = replay(pre_token, step)
        names = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
        latest_first = _latest_first(ranks)
        if not latest_first or latest_first[0] != step - 1:
            yield latest_first, PreTokenState(names, count, changed=False)
            continue
        ids, lengths, _ = replay(pre_token, step - 1)
        before = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
        merge = history.merges[step - 1]
        places = tuple(merged_places(ids, (merge.left, merge.right)))
        yield latest_first, PreTokenState(names, count, True, before, places)


def merged_places(before: Sequence[int], pair: tuple[int, int]) -> Iterator[int]:
    """Where the merges of a pair, from left to right, stand in what they make of a word."""
    at = made = 0
    while at < len(before):
        if at + 1 < len(before) and (before[at], before[at + 1]) == pair:
            yield made
            at += 1
        at += 1
        made += 1


class Criterion:
    """By what a model's training chose its merges.

    Attributes:
        known: the file says it. Where it does not, pairs are compared by count, equals by their
            ids, and any pair may be merged that spells no special token.
        by_language: the languages of a parity-aware training chose, each by its own text, and no
            text says which pair comes next.
        by_score: `count(ab) / (count(a) * count(b))` is compared, else `count(ab)`.
        tie_break: see `tokctl.model.Recipe`.
        least: a pair with a lower count is not merged.
        first: steps before the first one that it chose so; those before make initial tokens.
    """

    def __init__(self, tokenizer: Tokenizer, stage: TrainingStage | None = None) -> None:
        """
        Args:
            stage: of the training, whose limits are asked about; None: the last one.
        """
        model = tokenizer.model
        recipe, training = model.recipe, model.training
        self.known = training is not None
        self.by_language = model.parity is not None
        self.by_score = self.known and recipe.merges_by_likelihood
        self.tie_break = recipe.tie_break if self.known else "lowest-id"
        self.least = training.min_frequency if training else 1
        self._longest = training.max_token_length if training else None
        self.first = training.initial_merges if training else 0
        self._whole_characters = training is not None and training.whole_characters
        self._stage = stage or (recipe.stages or (TrainingStage(),))[-1]
        self._tokens = model.tokens
        self._recipe = recipe
        self._never = {model.tokens[id_] for id_ in model.reserved_ids}
        self._never |= BYTE_TOKENS.keys() if recipe.byte_fallback else set()
        if recipe.is_byte_level:
            # What a model file would spell as a special token is spelled.
            spelled = (text for text in recipe.special_tokens if set(text) <= BYTES.keys())
            self._never |= set(map(unspell, spelled))

    def refusal(self, pair: Pair) -> str | None:
        """Why the training may not merge a pair, however frequent it is: `long` (its token would
        be longer than allowed), `words` (it would have more words than allowed), `forbidden` (it
        would contain a forbidden text), `special` (it would spell a special token), `cut` (it would
        cut a character, see `whole_characters` in `tokctl.training.Options`); None if it may."""
        if self._longest is not None and self._length(pair) > self._longest:
            return "long"
        token, most = self.joined(pair), self._stage.max_words
        if most is not None and sum(map(bool, token.split(b" "))) > most:
            return "words"
        if any(text.encode() in token for text in self._stage.forbidden):
            return "forbidden"
        if token in self._never:
            return "special"
        cuts = self._whole_characters and not _keep_whole(self._tokens[pair[0]], token)
        return "cut" if cuts else None

    def by_ids_or_texts(self, pairs: Iterable[Pair]) -> list[Pair] | None:
        """Pairs of equal score as a tie rule orders them that compares tokens; None if it
        compares where they are."""
        if self.tie_break == "lowest-id":
            return sorted(pairs)
        if self.tie_break == "highest-text":
            return sorted(pairs, key=lambda pair: (self._text(pair[0]), self._text(pair[1])))[::-1]
        return None

    def _text(self, id_: int) -> str:
        token = self._tokens[id_]
        return spell(token) if self._recipe.is_byte_level else token.decode()

    def joined(self, pair: Pair) -> bytes:
        """The token that merging a pair makes."""
        left, right = self._tokens[pair[0]], self._tokens[pair[1]]
        return self._recipe.marker.merged(left, right)

    def _length(self, pair: Pair) -> int:
        """Of the token, in units, without its marker."""
        text = self._recipe.marker.removed_from(self.joined(pair))
        return len(text) if self._recipe.is_byte_level else len(text.decode("utf-8", "replace"))


def _keep_whole(left: bytes, joined: bytes) -> bool:
    """Do two symbols that make `joined` keep characters whole? See `docs/algorithms.md`."""
    try:
        text = getincrementaldecoder("utf-8")().decode(joined)
        if not text:
            return True  # the beginning of a character
        if len(text) > 1:
            left.decode()
    except UnicodeDecodeError:
        return False
    return text.encode() == joined


@dataclass(frozen=True)
class PairCount:
    """Two symbols that stand side by side in a corpus state.

    Attributes:
        count: weighted occurrences, overlapping ones included.
        left_count, right_count: those of each symbol.
        by_score: the training compares `score`; else it compares `count`.
        step: the first step, of those still to come, at which the model merges the pair;
            None if it never does.
        refused: why the training would not merge it: `rare` (below the least frequency),
            or why `Criterion.refusal` says; None if it may be merged.
        wins: of the pairs that may be merged this is the one that the training would
            merge next, were this the state of its corpus; none does where that is not known.
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
        """count(ab) / (count(a) * count(b)), exactly, where that is compared; else None."""
        if not self.by_score:
            return None
        return Fraction(self.count, self.left_count * self.right_count)


@dataclass(frozen=True)
class PairCounts:
    """The pairs of a corpus state.

    Attributes:
        step: the step that led to the state.
        pairs: the one that the training prefers first; equal ones in the order of the
            recipe's tie rule. Those that it would not merge come last.
        unknown: occurrences of pairs with a character that the model has no symbol for,
            which are none of `pairs`.
        known: the model's file says by what its training chose. Where it does not, pairs are
            ranked by count, equal ones by their ids.
        by_language: see `Criterion`.
    """

    step: int
    pairs: tuple[PairCount, ...]
    unknown: int
    known: bool
    by_language: bool = False


def pair_counts(tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]) -> PairCounts:
    """The pairs of the corpus state of counted pre-tokens, given in first-seen order, after
    `step` merges.

    Raises:
        TokctlError: the model has no such step.
    """
    stage = stage_of(tokenizer, step + 1)
    symbols, found = count_pairs(tokenizer, step, _as_split(tokenizer, stage, counts))
    history = history_of(tokenizer)
    criterion = Criterion(tokenizer, stage)
    known = [pair for pair in found if NO_ID not in pair]
    unknown = sum(count for pair, count in found.items() if NO_ID in pair)
    known = criterion.by_ids_or_texts(known) or known
    by_score = criterion.by_score
    known.sort(key=_preference(found, symbols, by_score=by_score))  # keeps the order of equals
    refused = {
        pair: "rare" if found[pair] < criterion.least else criterion.refusal(pair) for pair in known
    }
    known.sort(key=lambda pair: refused[pair] is not None)
    names = tokenizer.tokens
    chosen = criterion.known and not criterion.by_language and step >= criterion.first
    return PairCounts(
        step,
        tuple(
            PairCount(
                names[left],
                names[right],
                found[left, right],
                symbols[left],
                symbols[right],
                by_score,
                next((r + 1 for r in history.ranks_of((left, right)) if r >= step), None),
                refused[left, right],
                place == 0 and chosen and refused[left, right] is None,
            )
            for place, (left, right) in enumerate(known)
        ),
        unknown,
        criterion.known,
        criterion.by_language,
    )


def _preference(
    found: Counter[Pair], symbols: Counter[int], *, by_score: bool
) -> Callable[[Pair], int]:
    """A key by which the pair that is preferred comes first."""
    if not by_score:
        return lambda pair: -found[pair]
    # Two fractions that differ do so by at least 1 / (product of their denominators): times
    # a power of two over that, and rounded down, they still differ, and equal ones are equal.
    # Whole numbers are compared much faster than fractions.
    most = max((symbols[left] * symbols[right] for left, right in found), default=1)
    shift = 2 * most.bit_length()
    return lambda pair: -((found[pair] << shift) // (symbols[pair[0]] * symbols[pair[1]]))
