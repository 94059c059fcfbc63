"""Slow twin of parity-aware BPE: `docs/parity.md`, replayed from the words at every step.

Foroutan et al. 2025 (arXiv 2508.04796), with the moving window and the hybrid of their code. Every
text is a corpus state of `tests.twins.train`; what a language costs is counted anew at each step.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from tests.twins.train import (
    MarkerKind,
    Merge,
    Pair,
    State,
    Ties,
    apply_merge,
    choose,
    count_pairs,
    count_symbols,
    initial_symbols,
    merged_token,
)

Words = dict[str, int]


@dataclass(frozen=True)
class ParityTraining:
    vocabulary: list[str]
    merges: list[Merge]
    chosen: list[int | None]  # of each merge; None: all together
    tokens: list[int]  # of each measured text at the end


def tokens_of(state: State) -> int:
    return sum(len(word) * count for word, count in state.items())


def train_parity(
    languages: list[Words],
    dev: list[Words] | None = None,
    *,
    vocab_size: int,
    marker_kind: MarkerKind = "none",
    marker: str = "",
    ties: Ties = "first-seen",
    global_merges: int = 0,
    window: int | None = None,
    limit: Fraction = Fraction(2),
    lengths: list[int] | None = None,
    targets: list[Fraction] | None = None,
    min_frequency: int = 1,
    special_tokens: tuple[str, ...] = (),
) -> ParityTraining:
    """`lengths`: what the tokens of each language are divided by; None: nothing. `window`: how many
    choices it holds; None: there is none."""

    def state_of(words: Words) -> State:
        return {tuple(initial_symbols(w, marker_kind, marker)): n for w, n in words.items()}

    total: Counter[str] = Counter()
    for words in languages:
        total.update(words)
    together = state_of(total)
    states = [state_of(words) for words in languages]
    dev_states = None if dev is None else [state_of(words) for words in dev]

    def carries_marker(symbol: str) -> bool:
        return marker_kind in ("continuation", "end-fused") and len(symbol) > 1

    symbols = sorted(count_symbols(together), key=lambda s: (carries_marker(s), s))
    vocabulary = list(dict.fromkeys([*special_tokens, *symbols]))
    merges: list[Merge] = []
    chosen: list[int | None] = []
    window_choices: list[int] = []
    exhausted: set[int] = set()

    def best(state: State) -> Pair | None:
        candidates = {
            pair: Fraction(count)
            for pair, count in count_pairs(state).items()
            if count >= min_frequency
            and merged_token(*pair, marker_kind, marker) not in special_tokens
        }
        return choose(candidates, ties, vocabulary) if candidates else None

    def worst(costs: list[Fraction]) -> int | None:
        left = [number for number in range(len(languages)) if number not in exhausted]
        if window is not None:
            most = limit / len(languages) * window
            within = [number for number in left if window_choices.count(number) <= most]
            left = within or left
        # `max` takes the first of equals.
        return max(left, key=lambda number: costs[number]) if left else None

    while len(vocabulary) < vocab_size:
        language: int | None = None
        if len(merges) < global_merges:
            pair = best(together)
            if pair is None:
                break
        else:
            costs = [
                Fraction(tokens_of(state))
                * (targets[number] if targets else 1)
                / (lengths[number] if lengths else 1)
                for number, state in enumerate(dev_states or states)
            ]
            language = worst(costs)
            if language is None:
                break
            if window is not None:
                window_choices = [*window_choices, language][-window:]
            pair = best(states[language])
            if pair is None:
                exhausted.add(language)
                continue
        left, right = pair
        token = merged_token(left, right, marker_kind, marker)
        if token not in vocabulary:
            vocabulary.append(token)
        counts = count_symbols(together)
        merges.append(
            Merge(left, right, token, count_pairs(together)[pair], counts[left], counts[right])
        )
        chosen.append(language)
        together = apply_merge(together, left, right, token, ties)
        states = [apply_merge(state, left, right, token, ties) for state in states]
        if dev_states is not None:
            dev_states = [apply_merge(state, left, right, token, ties) for state in dev_states]
    return ParityTraining(vocabulary, merges, chosen, list(map(tokens_of, dev_states or states)))
