"""What a page says of each token that it shows: a card, with the token's merges laid out flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokctl.analysis.explain.history import Ranks, history_of
from tokctl.analysis.explain.vocabulary import is_byte_token, kind_of, written_text
from tokctl.analysis.explain.words import LONGEST, Path, paths_of

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Nodes of a tree that a card holds. A token of n symbols has 2n - 1.
NODES = 99
#: Longer tokens that a card names.
LONGER = 5
#: What a token is made of: left, right and the step or rank at which they merge.
_Parts = Callable[[int], tuple[int, int, int] | None]


class Node(NamedTuple):
    """A token of a merge tree. Each node comes before its parts, left before right.

    depth: 0 is the token of the card.
    step: at which it was merged, or its rank; None where it was not.
    """

    depth: int
    token: str
    id: int
    step: int | None


@dataclass(frozen=True)
class TokenCard:
    """One token, for people who point at it.

    Attributes:
        token: as the vocabulary spells it.
        text: what it stands for: without markers, a space for what is written for one; of
            `<0x0A>` the byte.
        kind: see `tokctl.analysis.explain.vocabulary`.
        counts: how often each text has it, in the order of the texts.
        step: the step that made it, or its rank where `ranked`; None where none did.
        merged: weighted occurrences of the pair before that merge, where they are known.
        score: its natural log probability (unigram).
        trained: how often training counted it (word, char).
        place, of: its place among `of` tokens by score or by that count.
        tree: its merges, at most `NODES` of them; a token that is not merged is alone.
        cut: the tree is larger than that.
        instead: the best segmentation of its own text without it (unigram).
        gain: how much higher it scores than that; below 0 it is never taken.
        longer, longer_count: tokens that begin with it, the shortest first, and how many
            there are; longest match takes one of them where the text goes on so.
    """

    token: str
    id: int
    text: bytes
    kind: str
    counts: tuple[int, ...]
    ranked: bool = False
    step: int | None = None
    merged: int | None = None
    score: float | None = None
    trained: int | None = None
    place: int | None = None
    of: int | None = None
    tree: tuple[Node, ...] = ()
    cut: bool = False
    instead: Path | None = None
    gain: float | None = None
    longer: tuple[str, ...] = ()
    longer_count: int | None = None

    @property
    def count(self) -> int:
        """In all texts together."""
        return sum(self.counts)


def token_cards(
    tokenizer: Tokenizer, ids: Iterable[int], counts: Sequence[Mapping[int, int]] = ()
) -> tuple[TokenCard, ...]:
    """The cards of some tokens, by id.

    Args:
        counts: for each text, how often it has each id.

    Raises:
        IndexError: an id outside the vocabulary.
    """
    maker = _Maker(tokenizer, counts)
    return tuple(maker.card(id_) for id_ in sorted(set(ids)))


class _Maker:
    """What all cards of one model need, found once."""

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[Mapping[int, int]]) -> None:
        self.tokenizer = tokenizer
        self.counts = counts
        recipe = tokenizer.recipe
        self.ranked = recipe.has_ranks
        self.matches = recipe.matches_longest
        self.scored = recipe.traits.has_scores

    def card(self, id_: int) -> TokenCard:
        model = self.tokenizer.model
        apart = id_ in model.apart
        of_byte = is_byte_token(self.tokenizer, id_)
        tree = _flat(id_, self.tokenizer.tokens, self.parts) if not apart else ()
        step = tree[0].step if tree else None
        rank = self.ranks.by_id.get(id_) if self.ranked and not apart else None
        value = None if apart or of_byte or not self.values else self.values[id_]
        instead = self._instead(id_) if self.scored and value is not None else None
        longer, longer_count = self._longer(id_) if self.matches and not apart else ((), None)
        return TokenCard(
            token=self.tokenizer.tokens[id_],
            id=id_,
            text=self._text(id_, of_byte),
            kind=kind_of(self.tokenizer, id_),
            counts=tuple(found.get(id_, 0) for found in self.counts),
            ranked=self.ranked,
            step=rank if self.ranked else step,
            merged=self._merged(step),
            score=float(value) if self.scored and value is not None else None,
            trained=None if self.scored or value is None else int(value),
            place=None if value is None else self._place(value),
            of=None if value is None else len(self.ordered),
            tree=tree[:NODES] if step is not None else (),
            cut=len(tree) > NODES,
            instead=instead,
            gain=None if instead is None or value is None else value - instead.score,
            longer=longer,
            longer_count=longer_count,
        )

    def _text(self, id_: int, of_byte: bool) -> bytes:
        if of_byte:
            return bytes([int(self.tokenizer.model.tokens[id_][3:5], 16)])
        return written_text(self.tokenizer, id_)

    @cached_property
    def ranks(self) -> Ranks:
        return Ranks(self.tokenizer)

    @cached_property
    def parts(self) -> _Parts:
        """What tokens are made of, by the history of merges or by the ranks of tokens."""
        known: dict[int, tuple[int, int, int] | None] = {}
        find = self._by_rank if self.ranked else self._by_history

        def parts(id_: int) -> tuple[int, int, int] | None:
            if id_ not in known:
                known[id_] = find(id_)
            return known[id_]

        return parts

    def _by_rank(self, id_: int) -> tuple[int, int, int] | None:
        found = self.ranks.parts(id_) if id_ in self.ranks.by_id else None
        return None if found is None else (*found, self.ranks.by_id[id_])

    def _by_history(self, id_: int) -> tuple[int, int, int] | None:
        history = history_of(self.tokenizer)
        births = history.made_by.get(id_)
        if births is None:
            return None
        merge = history.merges[births[0]]
        return merge.left, merge.right, births[0] + 1

    def _merged(self, step: int | None) -> int | None:
        if step is None or self.ranked:
            return None
        return history_of(self.tokenizer).merges[step - 1].count or None

    @cached_property
    def values(self) -> Sequence[float]:
        """What tokens were chosen by, where that is not a merge: scores or counts."""
        model = self.tokenizer.model
        return model.scores if self.scored else model.counts

    @cached_property
    def ordered(self) -> list[float]:
        """The same of all ordinary tokens, negated, so that the first is the highest."""
        apart = self.tokenizer.model.apart
        return sorted(
            -value
            for id_, value in enumerate(self.values)
            if id_ not in apart and not is_byte_token(self.tokenizer, id_)
        )

    def _place(self, value: float) -> int:
        from bisect import bisect_left

        return bisect_left(self.ordered, -value) + 1

    def _instead(self, id_: int) -> Path | None:
        """The best way to write a piece's text without it."""
        data = self.tokenizer.model.tokens[id_]
        if len(data.decode()) > LONGEST:
            return None
        token = [self.tokenizer.tokens[id_]]
        paths = paths_of(self.tokenizer, data, 2)
        without = (path for path in paths if [piece.token for piece in path.pieces] != token)
        return next(without, None)

    @cached_property
    def names(self) -> list[str]:
        """The ordinary tokens in the order of their characters."""
        apart = self.tokenizer.model.apart
        return sorted(n for id_, n in enumerate(self.tokenizer.tokens) if id_ not in apart)

    def _longer(self, id_: int) -> tuple[tuple[str, ...], int]:
        from bisect import bisect_left, bisect_right
        from heapq import nsmallest

        token = self.tokenizer.tokens[id_]
        first = bisect_right(self.names, token)
        end = bisect_left(self.names, token + chr(0x10FFFF))
        found = range(first, max(first, end))
        shortest = nsmallest(LONGER, (self.names[at] for at in found), key=lambda n: (len(n), n))
        return tuple(shortest), len(found)


def _flat(root: int, names: Sequence[str], parts: _Parts) -> tuple[Node, ...]:
    """A token's tree in one row, up to one node more than a card holds."""

    def nodes() -> Iterator[Node]:
        # A part is older than the whole. In a file that says otherwise the part is taken
        # for a leaf, so that nothing goes round in a circle.
        waiting: list[tuple[int, int, int | None]] = [(0, root, None)]
        while waiting:
            depth, id_, before = waiting.pop()
            made = parts(id_)
            if made and before is not None and made[2] >= before:
                made = None
            yield Node(depth, names[id_], id_, made[2] if made else None)
            if made:
                left, right, step = made
                waiting += [(depth + 1, right, step), (depth + 1, left, step)]

    found = []
    for node in nodes():
        found.append(node)
        if len(found) > NODES:
            break
    return tuple(found)
