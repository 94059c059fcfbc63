"""Slow twin of BoundlessBPE: `algorithms.md`, "BoundlessBPE", in the one phase of the first paper.

All documents stay in memory, as rows of pre-tokens and superwords. Each step looks at everything
anew: it merges the best pair of symbols inside pre-tokens, or joins the best pair of neighbours in
a row that are one symbol each.

With a threshold (`train_with_removals`) training has two phases, as the second paper has it, and
the first takes tokens away.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from typing import NamedTuple

import regex

from tests.twins.encode import encode_bpe
from tests.twins.train import byte_to_unicode, merge_word

Pair = tuple[bytes, bytes]


class Piece(NamedTuple):
    """A pre-token, or a superword that some of them have become."""

    text: bytes
    is_superword: bool


class Step(NamedTuple):
    """A merge, or a supermerge, with its count."""

    left: bytes
    right: bytes
    count: int
    joins: bool


class Rules(NamedTuple):
    """What implementations decide in different ways.

    by_bytes: of pairs with the same count the one with the smallest bytes goes first; else that
        with the lowest ids, where all words come before all superwords.
    overlapping: `aaa` has the pair (a, a) twice.
    joins_first: of equal counts a supermerge goes before a merge.
    """

    by_bytes: bool = False
    overlapping: bool = True
    joins_first: bool = False


def is_word(pre_token: bytes) -> bool:
    """Can it be part of a superword: text with a letter and without a line break?"""
    try:
        text = pre_token.decode()
    except UnicodeDecodeError:
        return False
    return any(map(is_letter, text)) and "\n" not in text and "\r" not in text


def is_letter(character: str) -> bool:
    return bool(regex.match(r"\p{L}", character))


def pairs(row: Sequence[bytes], rules: Rules) -> Iterable[Pair]:
    """The pairs of a row that count."""
    last = None
    for pair in pairwise(row):
        if not rules.overlapping and pair == last and pair[0] == pair[1]:
            last = None
        else:
            last = pair
            yield pair


def train(
    documents: Sequence[Sequence[bytes]],
    steps: int,
    *,
    rules: Rules = Rules(),  # noqa: B008 (a tuple can't change)
    min_frequency: int = 1,
    max_token_length: int | None = None,
) -> list[Step]:
    """The first `steps` steps on documents that are split into pre-tokens."""
    counts = Counter(pre_token for document in documents for pre_token in document)
    words: dict[bytes, tuple[bytes, ...]] = {
        word: tuple(bytes([byte]) for byte in word) for word in counts
    }
    can_join = {word for word in words if is_word(word)}
    rows = [[Piece(pre_token, False) for pre_token in document] for document in documents]
    table = byte_to_unicode()
    alphabet = sorted(table, key=lambda byte: table[byte])
    ids = {bytes([byte]): (False, id_) for id_, byte in enumerate(alphabet)}
    done: list[Step] = []

    def symbol(piece: Piece) -> bytes | None:
        """The token that the piece is; None where it is several, or no word."""
        text, is_superword = piece
        whole = is_superword or (len(words[text]) == 1 and text in can_join)
        return text if whole else None

    def best(found: Counter[Pair]) -> tuple[int, Pair]:
        def is_allowed(pair: Pair) -> bool:
            length = len(pair[0] + pair[1])
            short = max_token_length is None or length <= max_token_length
            return short and found[pair] >= min_frequency and pair[0] + pair[1] not in ids

        def key(pair: Pair) -> tuple[int, object]:
            return -found[pair], pair if rules.by_bytes else (ids[pair[0]], ids[pair[1]])

        pair = min(filter(is_allowed, found), key=key, default=(b"", b""))
        return found[pair], pair

    while len(done) < steps:
        inside: Counter[Pair] = Counter()
        for word, symbols in words.items():
            for pair in pairs(symbols, rules):
                inside[pair] += counts[word]
        between: Counter[Pair] = Counter()
        for row in rows:
            for is_run, run in groupby(map(symbol, row), lambda found: found is not None):
                if is_run:
                    between.update(pairs([token for token in run if token is not None], rules))
        (count, (left, right)), joined = best(inside), best(between)
        joins = joined[0] > count or (rules.joins_first and joined[0] == count)
        if joins:
            count, (left, right) = joined
        if not count:
            break
        done.append(Step(left, right, count, joins))
        token = left + right
        ids[token] = (joins, len(ids))
        if joins:
            rows = [join(row, left, right, symbol) for row in rows]
        else:
            for word, symbols in words.items():
                words[word] = merge_word(symbols, left, right, token)  # type: ignore[arg-type, assignment]
    return done


def join(
    row: list[Piece], left: bytes, right: bytes, symbol: Callable[[Piece], bytes | None]
) -> list[Piece]:
    """The row with every occurrence of the pair joined, left to right, without overlap."""
    joined: list[Piece] = []
    place = 0
    while place < len(row):
        if [symbol(piece) for piece in row[place : place + 2]] == [left, right]:
            joined.append(Piece(left + right, True))
            place += 2
        else:
            joined.append(row[place])
            place += 1
    return joined


def encode(pre_tokens: Sequence[bytes], steps: Sequence[Step]) -> list[bytes]:
    """The tokens of a text that is split into pre-tokens: merges inside them, then supermerges
    over neighbours that are one token each."""
    inside = [(step.left, step.right, step.left + step.right) for step in steps if not step.joins]
    between = [(step.left, step.right, step.left + step.right) for step in steps if step.joins]
    tokens: list[bytes] = []
    run: list[bytes] = []
    for pre_token in pre_tokens:
        symbols = [bytes([byte]) for byte in pre_token]
        found = encode_bpe(symbols, inside)  # type: ignore[arg-type]
        if len(found) == 1 and is_word(pre_token):
            run += found  # type: ignore[arg-type]
            continue
        tokens += [*encode_bpe(run, between), *found]  # type: ignore[arg-type, list-item]
        run = []
    return [*tokens, *encode_bpe(run, between)]  # type: ignore[arg-type, list-item]


class Removal(NamedTuple):
    """A token removed after `step` merges: `count` of its `whole` occurrences were merged."""

    step: int
    token: bytes
    count: int
    whole: int


class Refined(NamedTuple):
    """What a training with a threshold found.

    tokens: those with an id, in id order: bytes, merged tokens, superwords.
    removed: those that have none any more, in the order in which they were first made.
    """

    tokens: list[bytes]
    removed: list[bytes]
    merges: list[Step]
    removals: list[Removal]
    supermerges: list[Step]


def train_with_removals(
    documents: Sequence[Sequence[bytes]],
    size: int,
    threshold: Fraction,
    *,
    rules: Rules = Rules(),  # noqa: B008 (a tuple can't change)
    min_frequency: int = 1,
    max_token_length: int | None = None,
) -> Refined:
    """A training to `size` ids on documents that are split into pre-tokens."""
    counts = Counter(pre_token for document in documents for pre_token in document)
    words = {word: tuple(bytes([byte]) for byte in word) for word in counts}
    table = byte_to_unicode()
    ever = [bytes([byte]) for byte in sorted(table, key=lambda byte: table[byte])]
    superwords: list[bytes] = []

    def best(rows: Iterable[tuple[Sequence[bytes], int]], never: Sequence[bytes]) -> Step | None:
        found: Counter[Pair] = Counter()
        for row, count in rows:
            for pair in pairs(row, rules):
                found[pair] += count
        order = {token: place for place, token in enumerate([*ever, *superwords])}
        allowed = [
            pair
            for pair, count in found.items()
            if count >= min_frequency
            and pair[0] + pair[1] not in never
            and (max_token_length is None or len(pair[0] + pair[1]) <= max_token_length)
        ]
        if not allowed:
            return None
        by_ids = lambda pair: pair if rules.by_bytes else (order[pair[0]], order[pair[1]])  # noqa: E731
        left, right = min(allowed, key=lambda pair: (-found[pair], by_ids(pair)))
        return Step(left, right, found[left, right], bool(never))

    # The first phase. After each step: who has an id, and which pre-tokens are one token.
    merges: list[Step] = []
    removals: list[Removal] = []
    present, lone = [set(ever)], [{word for word in words if len(word) == 1}]
    while len(present[-1]) < size:
        step = best(((symbols, counts[word]) for word, symbols in words.items()), ())
        if step is None:
            break
        left, right, token = step.left, step.right, step.left + step.right
        before = total(words, counts)
        for word, symbols in words.items():
            words[word] = merge_word(symbols, left, right, token)  # type: ignore[arg-type, assignment]
        merges.append(step)
        times = total(words, counts)[token] - before[token]
        ever += [] if token in ever else [token]
        there = present[-1] | {token}
        for side in dict.fromkeys((left, right)):
            if len(side) > 1 and Fraction(times, before[side]) >= threshold:
                there.remove(side)
                removals.append(Removal(len(merges), side, times, before[side]))
                for word, symbols in words.items():
                    words[word] = taken_apart(symbols, side)
        present.append(there)
        lone.append({word for word, symbols in words.items() if len(symbols) == 1})

    # The second: the next step of the first, or a supermerge of words that are there for good.
    in_superwords = {word for word in lone[-1] if is_word(word)}
    rows = [[Piece(one, one in superwords) for one in document] for document in documents]
    supermerges: list[Step] = []
    kept = 0

    def symbol(piece: Piece) -> bytes | None:
        return piece.text if piece.is_superword or piece.text in in_superwords else None

    def runs() -> Iterable[tuple[Sequence[bytes], int]]:
        for row in rows:
            for is_run, run in groupby(map(symbol, row), lambda found: found is not None):
                if is_run:
                    yield [token for token in run if token is not None], 1

    while len(present[kept]) + len(supermerges) < size:
        step = best(runs(), [*ever, *superwords])
        ready = step is not None and all(
            side in superwords or all(side in then for then in lone[kept:])
            for side in (step.left, step.right)
        )
        if step and ready and (kept == len(merges) or step.count > merges[kept].count):
            supermerges.append(step)
            superwords.append(step.left + step.right)
            rows = [join(row, step.left, step.right, symbol) for row in rows]
        elif kept < len(merges):
            kept += 1
        else:
            break
    made = {step.left + step.right for step in merges[:kept]}
    known = [token for token in ever if len(token) == 1 or token in made]
    return Refined(
        [*(token for token in known if token in present[kept]), *superwords],
        [token for token in known if token not in present[kept]],
        merges[:kept],
        [removal for removal in removals if removal.step <= kept],
        supermerges,
    )


def total(words: dict[bytes, tuple[bytes, ...]], counts: Counter[bytes]) -> Counter[bytes]:
    """How often each symbol occurs."""
    found: Counter[bytes] = Counter()
    for word, symbols in words.items():
        for one in symbols:
            found[one] += counts[word]
    return found


def taken_apart(symbols: Sequence[bytes], token: bytes) -> tuple[bytes, ...]:
    """The symbols, with every occurrence of the token as its bytes."""
    apart = [bytes([byte]) for byte in token]
    return tuple(one for symbol in symbols for one in (apart if symbol == token else [symbol]))


def encode_refined(pre_tokens: Sequence[bytes], found: Refined) -> list[bytes]:
    """The tokens of a text that is split into pre-tokens: merges and removals in their order, each
    on the whole pre-token, then supermerges over neighbours that are one token each."""
    between = [(step.left, step.right, step.left + step.right) for step in found.supermerges]
    tokens: list[bytes] = []
    run: list[bytes] = []
    for pre_token in pre_tokens:
        symbols: tuple[bytes, ...] = tuple(bytes([byte]) for byte in pre_token)
        for number, (left, right, *_) in enumerate(found.merges, 1):
            symbols = merge_word(symbols, left, right, left + right)  # type: ignore[arg-type, assignment]
            for removal in found.removals:
                if removal.step == number:
                    symbols = taken_apart(symbols, removal.token)
        if len(symbols) == 1 and is_word(pre_token):
            run += symbols
            continue
        tokens += [*encode_bpe(run, between), *symbols]  # type: ignore[arg-type, list-item]
        run = []
    return [*tokens, *encode_bpe(run, between)]  # type: ignore[arg-type, list-item]
