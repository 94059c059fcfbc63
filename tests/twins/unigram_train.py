"""Slow twin of the Unigram trainer: `algorithms.md`, "Unigram", after Kudo (2018) and
SentencePiece's `unigram_model_trainer.cc`.

Seeding lists every substring, EM adds logarithms over plain lattices, and each pruning looks
every piece's best alternative up anew. Nothing is carried from one step to the next but the
pieces and their scores.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import exp, log
from struct import pack, unpack
from typing import NamedTuple

Scores = dict[str, float]
Words = list[tuple[str, int]]

EQUAL = 1e-9  # figures that are closer than this are equal: rounding errors decide nothing
NOWHERE = float("-inf")


class Round(NamedTuple):
    pieces: int
    objective: float
    tokens: float
    unused: int
    dropped: int
    losses: dict[str, float]  # of the dropped pieces that best segmentations use


@dataclass(frozen=True)
class Training:
    pieces: list[tuple[str, float]]
    rounds: list[Round]
    alphabet: set[str]
    exhausted: bool


def train(
    words: dict[str, int],
    *,
    vocab_size: int,
    special_tokens: list[str] | None = None,
    byte_fallback: bool = False,
    seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75,
    sub_iterations: int = 2,
    max_piece_length: int = 16,
    alphabet: set[str] | None = None,
    required: set[str] | None = None,
    initial: list[str] | None = None,
) -> Training:
    """Learn pieces from pre-tokens and their counts. `initial` are pieces that are put in at the
    end, of several characters, which are among the required ones. A vocabulary too small for
    these and the alphabet is not the twin's business."""
    required = required or set()
    excluded = set(special_tokens or [])
    if byte_fallback:
        excluded |= {f"<0x{byte:02X}>" for byte in range(256)}
    wanted = vocab_size - len(special_tokens or []) - (256 if byte_fallback else 0)
    allowed = alphabet if alphabet is None else alphabet | required
    segments = [(part, n) for word, n in words.items() if n for part in split(word, allowed)]
    total = sum(n for word, n in words.items() if word)
    frequencies = Counter[str]()
    for segment, n in segments:
        for character in segment:
            frequencies[character] += n

    scores = seed(segments, frequencies, excluded, seed_size, max_piece_length)
    enough = int(wanted * 1.1)
    rounds: list[Round] = []
    rare: set[str] = set()
    while segments:
        unused = 0
        for _ in range(sub_iterations):
            expected, log_likelihood = expect(segments, scores)
            before = len(scores)
            scores, rare = maximize(expected, frequencies)
            unused += before - len(scores)
        objective, tokens = -log_likelihood / total, sum(expected.values())
        pieces = len(scores)
        if pieces <= enough:
            rounds.append(Round(pieces, objective, tokens, unused, 0, {}))
            break
        size = max(enough, int(pieces * shrinking_factor))
        scores, lost = prune(segments, scores, size, enough, total)
        dropped = pieces - len(scores)
        rounds.append(Round(pieces, objective, tokens, unused, dropped, lost))

    final = finish(scores, rare | (required - set(frequencies)), frequencies, wanted, initial or [])
    if rounds:
        rounds[-1] = rounds[-1]._replace(dropped=len(scores.keys() - dict(final).keys()))
    return Training(final, rounds, set(frequencies) | required, len(final) < wanted)


def split(word: str, allowed: set[str] | None) -> list[str]:
    """The parts of a pre-token between characters that have no piece."""
    parts = [""]
    for character in word:
        if allowed is None or character in allowed:
            parts[-1] += character
        else:
            parts.append("")
    return [part for part in parts if part]


def seed(
    segments: Words, frequencies: Counter[str], excluded: set[str], size: int, longest: int
) -> Scores:
    """All characters, and the substrings with the highest frequency x length that occur twice or
    more and not always within the same longer one (or have the greatest length)."""
    counts = Counter[str]()
    followers: defaultdict[str, set[str]] = defaultdict(set)
    for segment, n in segments:
        for start in range(len(segment)):
            for end in range(start + 2, min(len(segment), start + longest) + 1):
                counts[segment[start:end]] += n
                followers[segment[start:end]].add(segment[end : end + 1])
    found = [
        piece
        for piece, count in counts.items()
        if count >= 2
        and piece not in excluded
        and (len(piece) == longest or "" in followers[piece] or len(followers[piece]) > 1)
    ]
    found.sort(key=lambda piece: (-counts[piece] * len(piece), piece.encode()))
    weights = dict(frequencies) | {piece: counts[piece] * len(piece) for piece in found[:size]}
    whole = sum(weights.values())
    return {piece: log(weight / whole) for piece, weight in weights.items()}


def edges(segment: str, scores: Scores) -> list[tuple[int, int, str]]:
    """(start, end, piece) of every piece in a segment, by start, then end."""
    longest = max(map(len, scores))
    return [
        (start, end, segment[start:end])
        for start in range(len(segment))
        for end in range(start + 1, min(len(segment), start + longest) + 1)
        if segment[start:end] in scores
    ]


def log_add(one: float, other: float) -> float:
    if one == NOWHERE:
        return other
    high, low = max(one, other), min(one, other)
    return high + log(1 + exp(low - high))


def expect(segments: Words, scores: Scores) -> tuple[dict[str, float], float]:
    """Expected counts of all pieces, and the log likelihood of the corpus."""
    expected = dict.fromkeys(scores, 0.0)
    log_likelihood = 0.0
    for segment, n in segments:
        lattice = edges(segment, scores)
        forward = [0.0] + [NOWHERE] * len(segment)
        for start, end, piece in lattice:
            forward[end] = log_add(forward[end], forward[start] + scores[piece])
        backward = [NOWHERE] * len(segment) + [0.0]
        for start, end, piece in reversed(lattice):
            backward[start] = log_add(backward[start], scores[piece] + backward[end])
        for start, end, piece in lattice:
            share = forward[start] + scores[piece] + backward[end] - forward[-1]
            expected[piece] += n * exp(share)
        log_likelihood += n * forward[-1]
    return expected, log_likelihood


def digamma(x: float) -> float:
    """psi(x + 1) = psi(x) + 1/x, and the asymptotic series in x far from 0."""
    below = 0.0
    while x < 20:
        below += 1 / x
        x += 1
    return log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) - below


def maximize(expected: dict[str, float], frequencies: Counter[str]) -> tuple[Scores, set[str]]:
    """New scores, and the characters that are expected too rarely to have their own."""
    enough = {piece: count for piece, count in expected.items() if count >= 0.5 - EQUAL}
    whole = digamma(sum(enough.values())) if enough else 0.0
    scores = {piece: digamma(count) - whole for piece, count in enough.items()}
    least = min(scores.values(), default=0.0)
    rare = set(frequencies) - set(enough)
    return scores | dict.fromkeys(rare, least - 10), rare


def best_path(text: str, scores: Scores, *, whole: bool = True) -> tuple[float, list[str]]:
    """The best segmentation; of equal ones that with the longest last piece."""
    best: list[tuple[float, list[str]]] = [(0.0, []), *((NOWHERE, []) for _ in text)]
    for start, end, piece in edges(text, scores):
        if piece == text and not whole:
            continue
        score = best[start][0] + scores[piece]
        if score > best[end][0] + EQUAL:
            best[end] = (score, [*best[start][1], piece])
    return best[-1]


def prune(
    segments: Words, scores: Scores, size: int, enough: int, total: int
) -> tuple[Scores, dict[str, float]]:
    """The pieces with the highest losses; and the losses of the others, where they have one.
    Those in no best segmentation have none, and are kept only to leave `enough`."""
    used = Counter[str]()
    for segment, n in segments:
        for piece in best_path(segment, scores)[1]:
            used[piece] += n
    tokens = sum(used.values())
    losses: dict[str, float] = {}
    for piece in scores:
        if len(piece) == 1 or not used[piece]:
            continue
        score, alternative = best_path(piece, scores, whole=False)
        if score > scores[piece] + EQUAL:
            continue
        tokens_without = tokens + used[piece] * (len(alternative) - 1)
        without = sum(log((used[part] + used[piece]) / tokens_without) for part in alternative)
        losses[piece] = used[piece] / total * (log(used[piece] / tokens) - without)

    def rank(piece: str) -> tuple[float, float, bytes]:
        loss = losses.get(piece, NOWHERE)
        return -to_32_bits(loss), -to_32_bits(scores[piece]), piece.encode()

    characters = [piece for piece in scores if len(piece) == 1]
    ranked = sorted((piece for piece in scores if len(piece) > 1), key=rank)
    room = min(size - len(characters), max(len(losses), enough - len(characters)))
    kept = characters + ranked[: max(0, room)]
    lost = {piece: loss for piece, loss in losses.items() if piece not in kept}
    return {piece: scores[piece] for piece in kept}, lost


def to_32_bits(number: float) -> float:
    return float(unpack("f", pack("f", number))[0])


def finish(
    scores: Scores, rare: set[str], frequencies: Counter[str], wanted: int, initial: list[str]
) -> list[tuple[str, float]]:
    """All characters, those without a score of their own below all pieces, the initial pieces, and
    the best others."""
    estimated = {piece: score for piece, score in scores.items() if piece not in rare}
    least = min(estimated.values(), default=0.0)
    in_order = sorted(rare, key=lambda character: (-frequencies[character], character))
    low = {character: least - 0.0001 * (n + 1) for n, character in enumerate(in_order)}
    rounded = {piece: to_32_bits(score) for piece, score in (estimated | low).items()}
    ranked = sorted(rounded, key=lambda piece: (-rounded[piece], piece.encode()))
    room = wanted - sum(len(piece) == 1 for piece in ranked) - len(initial)
    others = [piece for piece in ranked if len(piece) > 1 and piece not in initial][:room]
    kept = [piece for piece in ranked if len(piece) == 1 or piece in initial] + others
    chosen = {piece: rounded[piece] for piece in kept}
    for piece in sorted(initial, key=len):
        ahead = best_path(piece, chosen, whole=False)[0] + 0.001 * len(piece)
        chosen[piece] = max(chosen.get(piece, NOWHERE), to_32_bits(min(ahead, 0.0)))
    ranked = sorted(chosen, key=lambda piece: (-chosen[piece], piece.encode()))
    return [(piece, chosen[piece]) for piece in ranked]
