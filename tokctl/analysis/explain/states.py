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
    split = _as_split(tokenizer, stage_of(tokenizer, step), counts)
    return _in_scan_order(tokenizer, _replayed(tokenizer, step, split))


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


def count_pairs(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> tuple[Counter[int], Counter[Pair]]:
    """Count the symbols and the neighbouring pairs of a corpus state.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        step: number of merges that led to the state, from 0.
        counts: pre-tokens with their counts, in first-seen order.

    Returns:
        Weighted counts by id and by pair of ids, in the scan order of the tie rule. `NO_ID` stands
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
    """Return the items of `replayed` in the scan order of the tie rule.

    Each item comes with the ranks that rewrote its pre-token, latest first.
    """
    if tokenizer.recipe.tie_break != "rewritten-last":
        return [word for _, word in replayed]
    # A step moves the words that it rewrites to the end and keeps their order. So the word
    # rewritten later comes later. Words last rewritten by the same step keep the order that
    # earlier steps gave them, and words never rewritten come first. This is the lexicographic
    # order of the lists of ranks, latest first; `sorted` keeps equals in first-seen order.
    return [word for _, word in sorted(replayed, key=lambda pair: pair[0])]


def _latest_first(ranks: Sequence[int]) -> list[int]:
    """Return the distinct ranks that rewrote a pre-token, latest first."""
    return sorted(set(ranks), reverse=True)


def _replayed(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> Iterator[tuple[list[int], PreTokenState]]:
    """Yield each pre-token's state with the ranks that rewrote it, latest first."""
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
        self._longest = training.max_token_length if training else None
        self.first = training.initial_merges if training else 0
        self._whole_characters = training is not None and training.whole_characters
        self._stage = stage or (recipe.stages or (TrainingStage(),))[-1]
        self._tokens = model.tokens
        self._recipe = recipe
        self._never = {model.tokens[id_] for id_ in model.reserved_ids}
        self._never |= BYTE_TOKENS.keys() if recipe.byte_fallback else set()
        if recipe.is_byte_level:
            # A model file spells bytes as characters: tokens spelled like a special token are
            # excluded, too.
            spelled = (text for text in recipe.special_tokens if set(text) <= BYTES.keys())
            self._never |= set(map(unspell, spelled))

    def refusal(self, pair: Pair) -> str | None:
        """Return why the training may not merge a pair, whatever its count; None if it may.

        Returns:
            `long`: the token would be longer than allowed. `words`: it would have more words than
            allowed. `forbidden`: it would contain a forbidden text. `special`: it would spell a
                special
            token. `cut`: it would cut a character (`whole_characters` in
                `tokctl.training.TrainOptions`).
        """
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
        """Return pairs of equal score in the order of a tie rule that compares ids or texts.

        None if the tie rule compares positions in the text.
        """
        if self.tie_break == "lowest-id":
            return sorted(pairs)
        if self.tie_break == "highest-text":
            return sorted(pairs, key=lambda pair: (self._text(pair[0]), self._text(pair[1])))[::-1]
        return None

    def _text(self, id_: int) -> str:
        token = self._tokens[id_]
        return spell(token) if self._recipe.is_byte_level else token.decode()

    def joined(self, pair: Pair) -> bytes:
        """Return the bytes of the token that merging `pair` makes."""
        left, right = self._tokens[pair[0]], self._tokens[pair[1]]
        return self._recipe.marker.merged(left, right)

    def _length(self, pair: Pair) -> int:
        """Return the length of the merged token in the recipe's units, without its marker."""
        text = self._recipe.marker.removed_from(self.joined(pair))
        return len(text) if self._recipe.is_byte_level else len(text.decode("utf-8", "replace"))


def _keep_whole(left: bytes, joined: bytes) -> bool:
    """Return whether merging `left` into `joined` keeps characters whole (docs/algorithms.md)."""
    try:
        text = getincrementaldecoder("utf-8")().decode(joined)
        if not text:
            return True  # the start of one character
        if len(text) > 1:
            left.decode()
    except UnicodeDecodeError:
        return False
    return text.encode() == joined


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
            or a reason of `Criterion.refusal`; None if it may merge.
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
    return StatePairs(
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
    """Return a sort key that puts the preferred pair first."""
    if not by_score:
        return lambda pair: -found[pair]
    # Different fractions differ by at least 1 / (product of their denominators). Multiplied by a
    # power of two above that product and rounded down, they still differ, and equal fractions
    # stay equal. Integers compare much faster than fractions.
    most = max((symbols[left] * symbols[right] for left, right in found), default=1)
    shift = 2 * most.bit_length()
    return lambda pair: -((found[pair] << shift) // (symbols[pair[0]] * symbols[pair[1]]))
