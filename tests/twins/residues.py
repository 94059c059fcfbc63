"""Slow twin of LiteToken: `algorithms.md`, "Residues of merging (LiteToken)".

A symbol carries the tree of the merges that made it: its token, and the trees of the two sides, or
none. What merges is said by a function of two neighbours: a rank, or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple


class Tree(NamedTuple):
    """A token, and what it was merged of."""

    token: bytes
    sides: tuple[Tree, Tree] | None = None


#: The rank at which two tokens merge; None where they do not.
Rank = Callable[[bytes, bytes], int | None]


def by_list(merges: Sequence[tuple[bytes, bytes]]) -> Rank:
    """The place in a list of pairs."""
    ranks: dict[tuple[bytes, bytes], int] = {}
    for rank, pair in enumerate(merges):
        ranks.setdefault(pair, rank)
    return lambda left, right: ranks.get((left, right))


def stood_for(rank: Rank) -> Rank:
    """The merges that ranks of tokens stand for: of each token the pair that its own bytes end
    with."""

    def one(left: bytes, right: bytes) -> int | None:
        found = rank(left, right)
        if found is None:
            return None
        row = merged([Tree(bytes([byte])) for byte in left + right], rank)
        sides = row[0].sides if len(row) == 1 else None
        return found if sides and (sides[0].token, sides[1].token) == (left, right) else None

    return one


def merged(symbols: Sequence[Tree], rank: Rank) -> list[Tree]:
    """The pair of the lowest rank, at its leftmost place, until none is left."""
    row = list(symbols)
    while True:
        present = []
        for place, (one, two) in enumerate(pairwise(row)):
            found = rank(one.token, two.token)
            if found is not None:
                present.append((found, place))
        if not present:
            return row
        _, place = min(present)
        one, two = row[place : place + 2]
        row[place : place + 2] = [Tree(one.token + two.token, (one, two))]


def nodes(tree: Tree) -> Iterator[Tree]:
    """All trees in a tree, itself among them."""
    yield tree
    for side in tree.sides or ():
        yield from nodes(side)


class Found(NamedTuple):
    """What texts say of a token that is merged."""

    final: int
    intermediate: int
    entropy: Decimal


def judged(words: Mapping[tuple[bytes, ...], int], rank: Rank) -> dict[bytes, Found]:
    """All merged tokens that words, given as their symbols, become or are made with."""
    final: Counter[bytes] = Counter()
    neighbours: dict[bytes, Counter[tuple[str, bytes]]] = {}
    seen: set[bytes] = set()
    for symbols, count in words.items():
        for tree in merged([Tree(symbol) for symbol in symbols], rank):
            final[tree.token] += count
            for node in nodes(tree):
                if node.sides is None:
                    continue
                seen.add(node.token)
                left, right = (side.token for side in node.sides)
                neighbours.setdefault(left, Counter())["on its right", right] += count
                neighbours.setdefault(right, Counter())["on its left", left] += count
    found = {}
    for token in seen:
        around = neighbours.get(token, Counter[tuple[str, bytes]]())
        found[token] = Found(final[token], around.total(), entropy(list(around.values())))
    return found


def entropy(counts: Sequence[int]) -> Decimal:
    """In bits, rounded to 10 decimals."""
    with localcontext() as context:
        context.prec = 50
        shares = [Decimal(count) / sum(counts) for count in counts]
        bits = -sum(share * share.ln() for share in shares) / Decimal(2).ln()
        return bits.quantize(Decimal(10) ** -10) + 0


def residues(found: Mapping[bytes, Found], ratio: Fraction, most: Decimal) -> dict[bytes, Found]:
    """Those with a low FI ratio, part of others at least once, and a low entropy."""
    return {
        token: one
        for token, one in found.items()
        if one.intermediate
        and Fraction(one.final, one.final + one.intermediate) <= ratio
        and one.entropy <= most
    }


def encode(
    symbols: Sequence[bytes], rank: Rank, again: Rank, gone: Mapping[bytes, Found]
) -> list[bytes]:
    """All merges; residues taken apart; then the merges of `again` that make none."""

    def apart(tree: Tree) -> Iterator[Tree]:
        if tree.token not in gone or tree.sides is None:
            yield tree
            return
        for side in tree.sides:
            yield from apart(side)

    def kept(left: bytes, right: bytes) -> int | None:
        return None if left + right in gone else again(left, right)

    row = [part for tree in merged([Tree(one) for one in symbols], rank) for part in apart(tree)]
    return [tree.token for tree in merged(row, kept)]
