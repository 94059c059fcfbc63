"""The corpus state: a text's segmented pre-tokens after a number of merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tokctl.analysis.explain.history import check_step, history_of, name_symbols
from tokctl.sources import Document, Source

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

T = TypeVar("T")


@dataclass(frozen=True)
class StateWord:
    """A distinct pre-token in a corpus state.

    Attributes:
        tokens: its symbols by name.
        count: its occurrences in the text.
        changed: the step that leads to this state has rewritten it.
        before: its symbols before that step; None where it has not changed.
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
    `rewritten-last`, words that a merge has rewritten behind the others.

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
    """The pre-tokens of a file of `word<TAB>count` lines, as `tokctl train --counts` reads it:
    neither normalizers nor pre-tokenizer are applied.

    Raises:
        TokctlError: names the file and the line that is not of this form.
    """
    from tokctl import training

    options = training.Options(vocab_size=1)
    return training.count_lines(document, tokenizer.recipe, options)[0].items()


def state_words(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> list[StateWord]:
    """The corpus state of counted pre-tokens, given in first-seen order, after `step` merges.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    return _in_scan_order(tokenizer, _replayed(tokenizer, step, counts))


def state_ids(
    tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]
) -> list[tuple[list[int], int]]:
    """The same as ids with counts; `NO_ID` for a symbol that the model lacks."""
    check_step(tokenizer, step)
    replay = history_of(tokenizer).replayer.replay

    def replayed() -> Iterator[tuple[list[int], tuple[list[int], int]]]:
        for pre_token, count in counts:
            ids, _, ranks = replay(pre_token, step)
            yield _latest_first(ranks), (ids, count)

    return _in_scan_order(tokenizer, replayed())


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
) -> Iterator[tuple[list[int], StateWord]]:
    """Each pre-token's state, and the ranks that rewrote it, latest first."""
    history = history_of(tokenizer)
    replay = history.replayer.replay
    for pre_token, count in counts:
        ids, lengths, ranks = replay(pre_token, step)
        names = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
        latest_first = _latest_first(ranks)
        if not latest_first or latest_first[0] != step - 1:
            yield latest_first, StateWord(names, count, changed=False)
            continue
        ids, lengths, _ = replay(pre_token, step - 1)
        before = tuple(name_symbols(tokenizer, pre_token, ids, lengths))
        merge = history.merges[step - 1]
        places = tuple(merged_places(ids, (merge.left, merge.right)))
        yield latest_first, StateWord(names, count, True, before, places)


def merged_places(before: Sequence[int], pair: tuple[int, int]) -> Iterator[int]:
    """Where the merges of a pair, from left to right, stand in what they make of a word."""
    at = made = 0
    while at < len(before):
        if at + 1 < len(before) and (before[at], before[at + 1]) == pair:
            yield made
            at += 1
        at += 1
        made += 1
