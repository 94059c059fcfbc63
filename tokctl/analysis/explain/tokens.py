"""The history of tokens: which merges make them, their scores or counts, and which tokens use them.

`token_history` describes one token in full. `token_cards` describes many in short, for a page.
`merges_of` lists the merges that tokens take part in.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokctl.analysis.explain.history import (
    LONGEST,
    MergeRecord,
    MergeRules,
    Ranks,
    check_merges,
    full_history_of,
    history_of,
    merge_range,
    removed_names,
    token_rules,
)
from tokctl.analysis.explain.removals import RemovalRecord, removals_of
from tokctl.analysis.explain.vocabulary import (
    is_byte_token,
    kind_of,
    ordinary_ids,
    text_ids,
    token_bytes,
    token_text,
    written_text,
)
from tokctl.analysis.explain.words import Path, paths_of
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.values import ShortRepr
from tokctl.model import byte_level
from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- The merges that a token consists of -------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class MergeTree:
    """A token as a binary tree of the merges that make it; a leaf has no parts.

    Equal parts are the same object. A tree can be as deep as its token is long: traverse it with
    `walk`, not by recursion.

    Attributes:
        token: the token as the vocabulary spells it.
        id: id of the token.
        step: step of its merge; the rank in a model segmented by ranks; None for a leaf.
        parts: the two merged parts; empty for a leaf.
    """

    token: str
    id: int
    step: int | None
    parts: tuple[MergeTree, MergeTree] | tuple[()]

    def walk(self) -> Iterator[tuple[int, MergeTree]]:
        """Yield every node with its depth, each before its parts, left before right."""
        waiting = [(0, self)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, part) for part in reversed(node.parts)]

    def __repr__(self) -> str:
        return f"<MergeTree {self.token!r}, step {self.step}>"


def merge_tree(rules: MergeRules, root: int) -> tuple[MergeTree, tuple[MergeRecord, ...]]:
    """Return the tree of token `root`, and its merges, each once, in the order learned."""
    made: dict[int, tuple[tuple[int, int], int]] = {}
    waiting = [root]
    while waiting:
        id_ = waiting.pop()
        if id_ not in made and (found := rules.parts_of(id_)):
            made[id_] = found
            waiting += found[0]
    nodes: dict[int, MergeTree] = {}
    leaves: dict[int, MergeTree] = {}

    def node(id_: int) -> MergeTree:
        # A part is older than its whole. In a file that says otherwise the part becomes a leaf,
        # so that the tree has no cycles.
        if id_ in nodes:
            return nodes[id_]
        return leaves.setdefault(id_, MergeTree(rules.tokens[id_], id_, None, ()))

    records = []
    for id_, (pair, rank) in sorted(made.items(), key=lambda item: item[1][1]):
        records.append(rules.record(rank, pair))
        parts = (node(pair[0]), node(pair[1]))
        nodes[id_] = MergeTree(rules.tokens[id_], id_, records[-1].step, parts)
    return node(root), tuple(records)


# -- Scores and counts -------------------------------------------------------------------------


@dataclass(frozen=True)
class PieceScore:
    """The value of a Unigram piece.

    Attributes:
        score: natural log probability of the piece.
        place: rank of the piece by score, from 1.
        pieces: number of pieces ranked.
        instead: best segmentation of the piece's own text without the piece; None for a single
            character.
        gain: `score` minus the score of `instead`. A piece with a negative gain is never used.
    """

    score: float
    place: int
    pieces: int
    instead: Path | None
    gain: float | None


@dataclass(frozen=True)
class TrainingCount:
    """The count of a token in training.

    Attributes:
        count: occurrences counted in training.
        place: rank of the token by count, from 1.
        tokens: number of tokens ranked.
    """

    count: int
    place: int
    tokens: int


class _Places:
    """Ranks of tokens by score or count, highest first; equals share the lowest number."""

    def __init__(self, values: Sequence[float], ids: Iterable[int]) -> None:
        self.values = values
        self.negated = sorted(-values[id_] for id_ in ids)

    def __len__(self) -> int:
        return len(self.negated)

    def of(self, id_: int) -> int:
        """Return the rank of token `id_`, from 1."""
        return bisect_left(self.negated, -self.values[id_]) + 1


def piece_score(tokenizer: Tokenizer, id_: int, places: _Places | None = None) -> PieceScore | None:
    """Return the value of a Unigram piece; None for other tokens and other models."""
    model = tokenizer.model
    if (
        not model.recipe.maximizes_probability
        or id_ in model.reserved_ids
        or is_byte_token(tokenizer, id_)
    ):
        return None
    places = places or _Places(model.scores, text_ids(tokenizer))
    score = model.scores[id_]
    instead = _path_without(tokenizer, id_)
    gain = None if instead is None else score - instead.score
    return PieceScore(score, places.of(id_), len(places), instead, gain)


def _path_without(tokenizer: Tokenizer, id_: int) -> Path | None:
    """Return the best segmentation of a piece's text without the piece.

    None if no other exists, or if the piece is longer than `LONGEST` characters.
    """
    data = tokenizer.model.tokens[id_]
    if len(data.decode()) > LONGEST:
        return None
    own = [tokenizer.tokens[id_]]
    paths = paths_of(tokenizer, data, 2)
    return next((path for path in paths if [piece.token for piece in path.pieces] != own), None)


def training_count(tokenizer: Tokenizer, id_: int) -> TrainingCount | None:
    """Return the count of a token in training; None if the model lacks counts."""
    model = tokenizer.model
    if not model.counts or id_ in model.reserved_ids:
        return None
    places = _Places(model.counts, ordinary_ids(tokenizer))
    return TrainingCount(model.counts[id_], places.of(id_), len(places))


# -- The history of one token ------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """A merge that has the token as a part.

    Attributes:
        step: step of the merge, or its rank in a model segmented by ranks.
        partner: the other part.
        side: side of the token: `left`, `right` or `both`.
        result: token that the merge makes.
    """

    step: int
    partner: str
    side: str
    result: str


@dataclass(frozen=True, repr=False)
class TokenHistory(ShortRepr):
    """The merges that make a token and the merges that use it.

    Attributes:
        token: the token as the vocabulary spells it.
        id: id of the token; None for a removed token.
        data: bytes of the token, markers included; for `<0x0A>` the byte that it stands for.
        kind: kind of the token (see `tokctl.analysis.explain.vocabulary.kind_of`), or `removed`.
        merge: merge that first made the token; None if no merge did.
        again: later merges that made the token from another pair, or made it once more.
        tree: tree of the merges that make the token.
        merges: merges of the tree, each once, in the order learned.
        uses: merges that have the token as a part, in the order learned.
        ranked: whether no merges are known and those shown are derived from the tokens' ranks.
        piece_score: value of a Unigram piece; else None.
        training_count: training count in a word or character model; else None.
        added: how the token is found before the model segments the text; None for other tokens.
        removals: when and why the token was removed; several if merges made it again.
    """

    token: str
    id: int | None
    data: bytes
    kind: str
    merge: MergeRecord | None
    again: tuple[MergeRecord, ...]
    tree: MergeTree
    merges: tuple[MergeRecord, ...]
    uses: tuple[Use, ...]
    ranked: bool = False
    piece_score: PieceScore | None = None
    training_count: TrainingCount | None = None
    added: AddedToken | None = None
    removals: tuple[RemovalRecord, ...] = ()


def token_history(tokenizer: Tokenizer, token: str | int) -> TokenHistory:
    """Return the merges that make a token and the merges that use it.

    Args:
        tokenizer: tokenizer whose vocabulary has the token.
        token: the token as the vocabulary spells it, or the text that it stands for (` the` for
            `Ġthe` or `▁the`). An integer is an id; `#300` is an id, too, unless a token is spelled
            so.

    Raises:
        TokctlError: the model has no such token; the hint names similar ones.

    Example:
        >>> merge = token_history(tokenizer, "est").merge
        >>> merge.left, merge.right
        ('es', 't')
    """
    if isinstance(token, str) and (number := _removed(tokenizer, token)) is not None:
        return _removed_history(tokenizer, number)
    id_ = token if isinstance(token, int) else find_token(tokenizer, token)
    _check_id(tokenizer, id_)
    rules = token_rules(tokenizer)
    tree, merges = merge_tree(rules, id_)
    born = rules.parts_of(id_)
    history = full_history_of(tokenizer)
    return TokenHistory(
        token=tokenizer.tokens[id_],
        id=id_,
        data=token_bytes(tokenizer, id_),
        kind=kind_of(tokenizer, id_),
        merge=rules.record(born[1], born[0]) if born else None,
        again=tuple(history.record(rank) for rank in history.made_by.get(id_, ())[1:]),
        tree=tree,
        merges=merges,
        uses=tuple(_uses(rules, id_)),
        ranked=tokenizer.recipe.has_ranks,
        piece_score=piece_score(tokenizer, id_),
        training_count=training_count(tokenizer, id_),
        added=next((token for token in tokenizer.model.added if token.id == id_), None),
        removals=removals_of(tokenizer, id_),
    )


def _removed(tokenizer: Tokenizer, token: str) -> int | None:
    """Return the number of a removed token by its spelling or text; None for other tokens."""
    events = tokenizer.model.events
    if events is None or token in tokenizer.vocabulary:
        return None
    names = removed_names(tokenizer)
    text = token.encode("utf-8", "surrogateescape")
    if token in names:
        return tokenizer.vocab_size + names.index(token)
    if text in events.removed and text not in tokenizer.model.tokens:
        return tokenizer.vocab_size + events.removed.index(text)
    return None


def _removed_history(tokenizer: Tokenizer, number: int) -> TokenHistory:
    """Return the history of a removed token, which has no id."""
    history = history_of(tokenizer)
    tree, merges = merge_tree(history, number)
    events = tokenizer.model.events
    return TokenHistory(
        token=history.tokens[number],
        id=None,
        data=events.removed[number - tokenizer.vocab_size] if events else b"",
        kind="removed",
        merge=history.record(history.made_by[number][0]),
        again=tuple(history.record(rank) for rank in history.made_by[number][1:]),
        tree=tree,
        merges=merges,
        uses=tuple(_uses(history, number)),
        removals=removals_of(tokenizer, number),
    )


def _uses(rules: MergeRules, id_: int) -> Iterator[Use]:
    for pair, rank in rules.uses_of(id_):
        left, right = pair
        side = "both" if left == right else "left" if left == id_ else "right"
        partner = right if left == id_ else left
        record = rules.record(rank, pair)
        yield Use(record.step, rules.tokens[partner], side, record.token)


def _check_id(tokenizer: Tokenizer, id_: int) -> None:
    if not 0 <= id_ < tokenizer.vocab_size:
        raise BadInput(
            f"there is no id {id_}",
            f"this model's ids are 0 to {tokenizer.vocab_size - 1}",
            "bad-ids",
        )


def find_token(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a token.

    Args:
        tokenizer: tokenizer whose vocabulary has the token.
        token: the token as the vocabulary spells it, else `#ID`, else the text that it stands for.

    Raises:
        TokctlError: the model has no such token; the hint names similar ones.
    """
    vocabulary = tokenizer.vocabulary
    if token in vocabulary:
        return vocabulary[token]
    if by_id := re.fullmatch(r"#(\d{1,18})", token, re.ASCII):
        _check_id(tokenizer, int(by_id[1]))
        return int(by_id[1])
    if tokenizer.recipe.is_byte_level:
        try:
            spelled = byte_level.spell(token.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            spelled = token
        if spelled in vocabulary:
            return vocabulary[spelled]
    if (mark := tokenizer.recipe.space_mark) and token.replace(" ", mark) in vocabulary:
        return vocabulary[token.replace(" ", mark)]
    raise BadOption(
        f"{token!r} is not a token of this model", _close(tokenizer, token), "unknown-name"
    )


def _close(tokenizer: Tokenizer, token: str) -> str:
    """Return a hint with the text at another position in a word, else with similar spellings."""
    mark = tokenizer.recipe.marker.text or tokenizer.recipe.space_mark or "Ġ"
    vocabulary = tokenizer.vocabulary
    changed = (mark + token, token + mark, token.removeprefix(mark), token.removesuffix(mark))
    close = [name for name in dict.fromkeys(changed) if name in vocabulary]
    if not close and token:
        near = [name for name in vocabulary if abs(len(name) - len(token)) <= 2]
        close = difflib.get_close_matches(token, near, n=3)
    split = f"how the text is split: --word {token!r}"
    return f"did you mean {' or '.join(close)}? (or {split})" if close else f"see {split}"


# -- The merges that tokens take part in -------------------------------------------------------

#: Kinds of token patterns, each with the text that introduces it in messages.
MATCHES = {
    "is": "the token is",
    "begins": "the text begins with",
    "ends": "the text ends with",
    "contains": "the text contains",
}


@dataclass(frozen=True)
class TokenPattern:
    """The tokens that `merges_of` looked for.

    Attributes:
        how: a key of `MATCHES`.
        text: the token, or the text that its text begins with, ends with or contains.
        names: tokens that match.
    """

    how: str
    text: str
    names: frozenset[str]


def merges_of(
    tokenizer: Tokenizer, token: str, first: int = 1, last: int | None = None
) -> tuple[list[MergeRecord], TokenPattern]:
    """Return the merges of steps `first` to `last` in which a token is left, right or result.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        token: a token as `token_history` takes it, or `#ID`. A pattern with a `*` at an end that is
            not a token stands for many: `est*` for tokens whose text begins with `est`, `*est` for
            those ending with it, `*est*` for those containing it. The pattern is matched against
            the vocabulary's spelling, and against the text without its word marker or the spaces
            around.
        first: first step, from 1.
        last: last step; None means the last step of the training.

    Returns:
        The merges in the order learned, and the pattern with the tokens that match.

    Raises:
        TokctlError: the model has no merges, no such token, or no step `first`.

    Example:
        >>> records, pattern = merges_of(tokenizer, "est*")
        >>> pattern.how
        'begins'
    """
    check_merges(tokenizer)
    ids, pattern = _matching(tokenizer, token)
    history = full_history_of(tokenizer)
    ranks = merge_range(tokenizer, first, last)
    found = [history.record(rank) for rank in ranks if not ids.isdisjoint(history.merges[rank][:3])]
    return found, pattern


def _matching(tokenizer: Tokenizer, token: str) -> tuple[frozenset[int], TokenPattern]:
    """Return the ids of the tokens that `token` names or matches, and the pattern."""
    text = token.strip("*") if token.strip("*") else ""
    is_pattern = text and (token.startswith("*") or token.endswith("*"))
    if token in tokenizer.vocabulary or not is_pattern:
        id_ = find_token(tokenizer, token)
        name = tokenizer.tokens[id_]
        return frozenset({id_}), TokenPattern("is", name, frozenset({name}))
    behind, before = token.endswith("*"), token.startswith("*")
    how = "contains" if behind and before else "begins" if behind else "ends"
    part = text.encode("utf-8", "surrogateescape")

    def fits(form: bytes) -> bool:
        if how == "contains":
            return part in form
        return form.startswith(part) if how == "begins" else form.endswith(part)

    ids = frozenset(
        id_
        for id_, name in enumerate(tokenizer.tokens)
        if id_ not in tokenizer.model.reserved_ids
        and any(map(fits, (name.encode(), token_text(tokenizer, id_), *_bare(tokenizer, id_))))
    )
    if not ids:
        raise BadOption(
            f"no token of this model matches {token!r}: for none {MATCHES[how]} {text!r}",
            "give another pattern: TEXT*, *TEXT or *TEXT*",
            "unknown-name",
        )
    return ids, TokenPattern(how, text, frozenset(tokenizer.tokens[id_] for id_ in ids))


def _bare(tokenizer: Tokenizer, id_: int) -> tuple[bytes, bytes]:
    """Return a token's bytes, and its text without the spaces around it."""
    return tokenizer.model.tokens[id_], token_text(tokenizer, id_).strip()


# -- Cards: short descriptions of tokens, for a page -------------------------------------------

#: Most nodes of a tree on a card. A token of n symbols has 2n - 1 nodes.
NODES = 99
#: Most longer tokens that a card names.
LONGER = 5


class TreeNode(NamedTuple):
    """A node of a merge tree. Each node comes before its parts, left before right.

    Attributes:
        depth: distance from the token of the card, which has depth 0.
        token: the token as the vocabulary spells it.
        id: id of the token.
        step: step of its merge, or its rank; None if it was not merged.
    """

    depth: int
    token: str
    id: int
    step: int | None


@dataclass(frozen=True)
class TokenCard:
    """A short description of one token, for a page.

    Attributes:
        token: the token as the vocabulary spells it.
        id: id of the token.
        text: text of the token without markers and with real spaces; for `<0x0A>` the byte.
        kind: kind of the token; see `tokctl.analysis.explain.vocabulary.kind_of`.
        counts: occurrences of the token in each text, in the order of the texts.
        ranked: whether `step` is a rank.
        step: step that made the token, or its rank; None if no merge made it.
        merged: weighted occurrences of the pair before that merge; None if not known.
        stage: stage of the merge; see `MergeRecord`.
        language: language that chose the merge; see `MergeRecord`.
        score: natural log probability (unigram).
        trained: occurrences counted in training (word, char).
        place: rank of the token by score or training count, from 1.
        of: number of tokens ranked.
        tree: nodes of the merge tree, at most `NODES`; empty if no merge made the token.
        cut: whether the tree has more nodes than `tree`.
        instead: best segmentation of the token's own text without the token (unigram).
        gain: `score` minus the score of `instead`; a token with a negative gain is never used.
        longer: shortest tokens that begin with the token; longest match prefers them if the text
            continues in the same way.
        longer_count: number of tokens that begin with the token.
    """

    token: str
    id: int
    text: bytes
    kind: str
    counts: tuple[int, ...]
    ranked: bool = False
    step: int | None = None
    merged: int | None = None
    stage: int | None = None
    language: str | None = None
    score: float | None = None
    trained: int | None = None
    place: int | None = None
    of: int | None = None
    tree: tuple[TreeNode, ...] = ()
    cut: bool = False
    instead: Path | None = None
    gain: float | None = None
    longer: tuple[str, ...] = ()
    longer_count: int | None = None

    @property
    def count(self) -> int:
        """Occurrences in all texts together."""
        return sum(self.counts)


def token_cards(
    tokenizer: Tokenizer, ids: Iterable[int], counts: Sequence[Mapping[int, int]] = ()
) -> tuple[TokenCard, ...]:
    """Return the cards of some tokens, sorted by id.

    Args:
        tokenizer: tokenizer whose vocabulary has the tokens.
        ids: ids of the tokens; duplicates count once.
        counts: occurrences of each id, one mapping for each text.

    Raises:
        IndexError: an id is outside the vocabulary.
    """
    maker = _CardMaker(tokenizer, counts)
    return tuple(maker.card(id_) for id_ in sorted(set(ids)))


class _CardMaker:
    """Maker of a model's token cards, with the data that all cards share."""

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[Mapping[int, int]]) -> None:
        self.tokenizer = tokenizer
        self.counts = counts
        self.rules = token_rules(tokenizer)
        self.ranked = tokenizer.recipe.has_ranks
        self.matches = tokenizer.recipe.matches_longest
        self.scored = tokenizer.recipe.maximizes_probability

    def card(self, id_: int) -> TokenCard:
        """Return the card of token `id_`."""
        tokenizer, model = self.tokenizer, self.tokenizer.model
        reserved = id_ in model.reserved_ids
        of_byte = is_byte_token(tokenizer, id_)
        born = None if reserved else self.rules.parts_of(id_)
        merge = self.rules.record(born[1], born[0]) if born else None
        nodes = self._nodes(id_) if born else ()
        has_value = bool(self.values) and not reserved and not of_byte
        piece = piece_score(tokenizer, id_, self.places) if self.scored and has_value else None
        longer, longer_count = self._longer(id_) if self.matches and not reserved else ((), None)
        return TokenCard(
            token=tokenizer.tokens[id_],
            id=id_,
            text=token_bytes(tokenizer, id_) if of_byte else written_text(tokenizer, id_),
            kind=kind_of(tokenizer, id_),
            counts=tuple(found.get(id_, 0) for found in self.counts),
            ranked=self.ranked,
            step=self._step(id_, merge),
            merged=merge.count if merge else None,
            stage=merge.stage if merge else None,
            language=merge.language if merge else None,
            score=piece.score if piece else None,
            trained=None if self.scored or not has_value else int(self.values[id_]),
            place=self.places.of(id_) if has_value else None,
            of=len(self.places) if has_value else None,
            tree=nodes[:NODES],
            cut=len(nodes) > NODES,
            instead=piece.instead if piece else None,
            gain=piece.gain if piece else None,
            longer=longer,
            longer_count=longer_count,
        )

    def _step(self, id_: int, merge: MergeRecord | None) -> int | None:
        if isinstance(self.rules, Ranks):
            return self.rules.by_id.get(id_)
        return merge.step if merge else None

    def _nodes(self, id_: int) -> tuple[TreeNode, ...]:
        """Return the first `NODES + 1` nodes of a token's tree, each before its parts."""
        tree, _ = merge_tree(self.rules, id_)
        first = islice(tree.walk(), NODES + 1)
        return tuple(TreeNode(depth, node.token, node.id, node.step) for depth, node in first)

    @cached_property
    def values(self) -> Sequence[float]:
        """Scores or training counts by id; empty if the model has neither."""
        model = self.tokenizer.model
        return model.scores if self.scored else model.counts

    @cached_property
    def places(self) -> _Places:
        """Ranks of the tokens by `values`."""
        return _Places(self.values, text_ids(self.tokenizer))

    @cached_property
    def names(self) -> list[str]:
        """Ordinary tokens, sorted by code points."""
        return sorted(self.tokenizer.tokens[id_] for id_ in ordinary_ids(self.tokenizer))

    def _longer(self, id_: int) -> tuple[tuple[str, ...], int]:
        token = self.tokenizer.tokens[id_]
        first = bisect_right(self.names, token)
        end = bisect_left(self.names, token + chr(0x10FFFF))
        found = range(first, max(first, end))
        shortest = nsmallest(LONGER, (self.names[at] for at in found), key=lambda n: (len(n), n))
        return tuple(shortest), len(found)
