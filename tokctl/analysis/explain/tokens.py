"""Where a token comes from and where it goes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import (
    History,
    MergeRecord,
    Ranks,
    check_merges,
    history_of,
    merge_range,
)
from tokctl.analysis.explain.vocabulary import is_byte_token, kind_of, token_text
from tokctl.analysis.explain.words import LONGEST, Path, paths_of
from tokctl.analysis.metrics import space_mark
from tokctl.errors import TokctlError
from tokctl.model import byte_level
from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False, repr=False)
class MergeTree:
    """A token over the two that were merged into it; a leaf has no parts. `step` is the rank
    where ranks say what merges.

    Equal parts are one and the same object. A tree can be as deep as its token is long:
    go through it with `walk`, not by recursion.
    """

    token: str
    id: int
    step: int | None
    parts: tuple[MergeTree, MergeTree] | tuple[()]

    def walk(self) -> Iterator[tuple[int, MergeTree]]:
        """Every node with its depth, each before its parts, left before right."""
        waiting = [(0, self)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, part) for part in reversed(node.parts)]

    def __repr__(self) -> str:
        return f"<MergeTree {self.token!r}, step {self.step}>"


@dataclass(frozen=True)
class Use:
    """A merge that has the token as a part: `side` is `left`, `right` or `both`."""

    step: int
    partner: str
    side: str
    result: str


@dataclass(frozen=True)
class TokenHistory:
    """A token's past and future in the training.

    Attributes:
        data: the token's bytes, markers included; of `<0x0A>` the byte that it stands for.
        kind: see `tokctl.analysis.explain.vocabulary`.
        merge: the merge that it was born of; None where it is not merged.
        again: later merges that made the same token from another pair, or once more.
        tree: the merges it consists of.
        merges: the same, each once, in the order learned.
        uses: the tokens made with it, in the order learned.
        ranked: no merges are known; those shown follow from the ranks of the tokens.
        worth: of a piece of a Unigram model.
        counted: of a token of a word or character model.
        added: how the token is found in a text, where that is done before the model.
    """

    token: str
    id: int
    data: bytes
    kind: str
    merge: MergeRecord | None
    again: tuple[MergeRecord, ...]
    tree: MergeTree
    merges: tuple[MergeRecord, ...]
    uses: tuple[Use, ...]
    ranked: bool = False
    worth: Worth | None = None
    counted: Counted | None = None
    added: AddedToken | None = None


def token_history(tokenizer: Tokenizer, token: str | int) -> TokenHistory:
    """Where a token comes from and which tokens are made with it.

    Args:
        token: as the vocabulary spells it; also the text that it stands for (` the` for
            `Ġthe` or `▁the`). A number is an id, and so is `#300` unless a token is spelled
            so.

    Raises:
        TokctlError: no such token; the hint names some that are close.
    """
    id_ = token if isinstance(token, int) else find_token(tokenizer, token)
    _check_id(tokenizer, id_)
    history = history_of(tokenizer)
    known = TokenHistory(
        token=tokenizer.tokens[id_],
        id=id_,
        data=_bytes_of(tokenizer, id_),
        kind=kind_of(tokenizer, id_),
        merge=None,
        again=(),
        tree=MergeTree(tokenizer.tokens[id_], id_, None, ()),
        merges=(),
        uses=(),
        worth=worth_of(tokenizer, id_),
        counted=counted_of(tokenizer, id_),
        added=next((token for token in tokenizer.model.added if token.id == id_), None),
    )
    if tokenizer.recipe.has_ranks:
        return _with_ranks(tokenizer, known)
    births = history.made_by.get(id_, [])
    tree, ranks = _tree(history, id_)
    return replace(
        known,
        merge=history.record(births[0]) if births else None,
        again=tuple(history.record(rank) for rank in births[1:]),
        tree=tree,
        merges=tuple(history.record(rank) for rank in ranks),
        uses=tuple(_uses(history, id_)),
    )


def _bytes_of(tokenizer: Tokenizer, id_: int) -> bytes:
    data = tokenizer.model.tokens[id_]
    return bytes([int(data[3:5], 16)]) if is_byte_token(tokenizer, id_) else data


def _with_ranks(tokenizer: Tokenizer, known: TokenHistory) -> TokenHistory:
    """The merges and uses that follow from ranks, for want of a history."""
    if known.id in tokenizer.model.apart:
        return replace(known, ranked=True)
    ranks = Ranks(tokenizer)
    names = tokenizer.tokens
    nodes: dict[int, MergeTree] = {}
    records: dict[int, MergeRecord] = {}
    waiting = [known.id]
    while waiting:
        id_ = waiting[-1]
        parts = ranks.parts(id_)
        missing = [part for part in parts or () if part not in nodes]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        step = None if parts is None else ranks.by_id[id_]
        if parts and step is not None:
            records[id_] = ranks.record(step, parts)
        below = (nodes[parts[0]], nodes[parts[1]]) if parts else ()
        nodes[id_] = MergeTree(names[id_], id_, step, below)
    uses = []
    for other, (left, right) in ranks.uses(known.id):
        side = "both" if left == right else "left" if left == known.id else "right"
        partner = right if left == known.id else left
        uses.append(Use(ranks.by_id[other], names[partner], side, names[other]))
    return replace(
        known,
        merge=records.get(known.id),
        tree=nodes[known.id],
        merges=tuple(sorted(records.values(), key=lambda record: record.step)),
        uses=tuple(uses),
        ranked=True,
    )


def _check_id(tokenizer: Tokenizer, id_: int) -> None:
    if not 0 <= id_ < tokenizer.vocab_size:
        raise TokctlError(
            f"there is no id {id_}", f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
        )


def find_token(tokenizer: Tokenizer, token: str) -> int:
    """The id of a token: as the vocabulary spells it, else `#ID`, else the text that it
    stands for.

    Raises:
        TokctlError: no such token; the hint names some that are close.
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
    if (mark := space_mark(tokenizer.recipe)) and token.replace(" ", mark) in vocabulary:
        return vocabulary[token.replace(" ", mark)]
    raise TokctlError(f"{token!r} is no token of this model", _close(tokenizer, token))


def _close(tokenizer: Tokenizer, token: str) -> str:
    """A hint: the same text in another place of a word, else what is spelled alike."""
    mark = tokenizer.recipe.marker.text or space_mark(tokenizer.recipe) or "Ġ"
    vocabulary = tokenizer.vocabulary
    changed = (mark + token, token + mark, token.removeprefix(mark), token.removesuffix(mark))
    close = [name for name in dict.fromkeys(changed) if name in vocabulary]
    if not close and token:
        near = [name for name in vocabulary if abs(len(name) - len(token)) <= 2]
        close = difflib.get_close_matches(token, near, n=3)
    split = f"how the text is split: --word {token!r}"
    return f"did you mean {' or '.join(close)}? (or {split})" if close else f"see {split}"


def _tree(history: History, root: int) -> tuple[MergeTree, list[int]]:
    """The tree of a token, and the ranks of its merges in order."""
    born = {root: history.made_by[root][0]} if root in history.made_by else {}
    waiting = list(born)
    while waiting:
        merge = history.merges[born[waiting.pop()]]
        for part in (merge.left, merge.right):
            if part not in born and part in history.made_by:
                born[part] = history.made_by[part][0]
                waiting.append(part)
    nodes: dict[int, MergeTree] = {}

    def node(id_: int, before: int) -> MergeTree:
        # A part is older than the whole. In a file that says otherwise the part is taken
        # for a leaf, so that nothing goes round in a circle.
        known = nodes.get(id_)
        if known is None or (known.step or 0) > before:
            return MergeTree(history.tokens[id_], id_, None, ())
        return known

    ranks = sorted(born.values())
    for rank in ranks:
        merge = history.merges[rank]
        parts = (node(merge.left, rank), node(merge.right, rank))
        nodes[merge.token] = MergeTree(history.tokens[merge.token], merge.token, rank + 1, parts)
    return node(root, len(history.merges)), ranks


def _uses(history: History, id_: int) -> Iterator[Use]:
    for step, merge in enumerate(history.merges, 1):
        if id_ not in (merge.left, merge.right):
            continue
        side, partner = ("left", merge.right) if merge.left == id_ else ("right", merge.left)
        side = "both" if merge.left == merge.right else side
        yield Use(step, history.tokens[partner], side, history.tokens[merge.token])


@dataclass(frozen=True)
class Worth:
    """What a piece of a Unigram model is worth.

    Attributes:
        score: its natural log probability.
        place, pieces: its place by score among all pieces.
        instead: the best segmentation of the piece's own text without the piece; None for
            a single character.
        gain: how much higher the piece scores than that. Below 0 the piece is never taken.
    """

    score: float
    place: int
    pieces: int
    instead: Path | None
    gain: float | None


@dataclass(frozen=True)
class Counted:
    """How often a token was counted in training, and its place among all by that."""

    count: int
    place: int
    tokens: int


def worth_of(tokenizer: Tokenizer, id_: int) -> Worth | None:
    """What a piece is worth; None for other tokens, and in other models."""
    model = tokenizer.model
    if not model.recipe.traits.has_scores or id_ in model.apart:
        return None
    if is_byte_token(tokenizer, id_):
        return None
    score = model.scores[id_]
    others = [
        other
        for number, other in enumerate(model.scores)
        if number not in model.apart and not is_byte_token(tokenizer, number)
    ]
    place = 1 + sum(other > score for other in others)
    data = model.tokens[id_]
    if len(data.decode()) > LONGEST:
        return Worth(score, place, len(others), None, None)
    token = tokenizer.tokens[id_]
    without = [
        path
        for path in paths_of(tokenizer, data, 2)
        if [piece.token for piece in path.pieces] != [token]
    ]
    instead = without[0] if without else None
    gain = None if instead is None else score - instead.score
    return Worth(score, place, len(others), instead, gain)


def counted_of(tokenizer: Tokenizer, id_: int) -> Counted | None:
    """How often a token was counted, where the model says so."""
    model = tokenizer.model
    if not model.counts or id_ in model.apart:
        return None
    others = [count for number, count in enumerate(model.counts) if number not in model.apart]
    count = model.counts[id_]
    return Counted(count, 1 + sum(other > count for other in others), len(others))


#: How a pattern is matched, for people.
HOW = {
    "is": "the token is",
    "begins": "the text begins with",
    "ends": "the text ends with",
    "contains": "the text contains",
}


@dataclass(frozen=True)
class Wanted:
    """What `merges_of` looked for.

    Attributes:
        how: a key of `HOW`.
        text: the token, or what its text begins with, ends with or contains.
        names: the tokens that are so.
    """

    how: str
    text: str
    names: frozenset[str]


def merges_of(
    tokenizer: Tokenizer, token: str, first: int = 1, last: int | None = None
) -> tuple[list[MergeRecord], Wanted]:
    """The merges of the steps `first` to `last` in which a token is left, right or result.

    Args:
        token: as `token_history` takes it, or `#ID`. What is no token of the model and has a
            `*` at an end stands for many: `est*` for the tokens whose text begins so, `*est`
            for those that end so, `*est*` for those that contain it. The text of a token is
            matched as the vocabulary spells it, and without its word marker or the spaces
            around it.

    Raises:
        TokctlError: the model has no merges, no such token, or not the step `first`.
    """
    check_merges(tokenizer)
    ids, wanted = _wanted(tokenizer, token)
    history = history_of(tokenizer)
    ranks = merge_range(tokenizer, first, last)
    found = [history.record(rank) for rank in ranks if not ids.isdisjoint(history.merges[rank][:3])]
    return found, wanted


def _wanted(tokenizer: Tokenizer, token: str) -> tuple[frozenset[int], Wanted]:
    text = token.strip("*") if token.strip("*") else ""
    is_pattern = text and (token.startswith("*") or token.endswith("*"))
    if token in tokenizer.vocabulary or not is_pattern:
        id_ = find_token(tokenizer, token)
        name = tokenizer.tokens[id_]
        return frozenset({id_}), Wanted("is", name, frozenset({name}))
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
        if id_ not in tokenizer.model.apart
        and any(map(fits, (name.encode(), token_text(tokenizer, id_), *_bare(tokenizer, id_))))
    )
    if not ids:
        raise TokctlError(f"no token of this model fits {token!r}", f"{HOW[how]} {text!r}: none")
    return ids, Wanted(how, text, frozenset(tokenizer.tokens[id_] for id_ in ids))


def _bare(tokenizer: Tokenizer, id_: int) -> tuple[bytes, bytes]:
    """A token's bytes, and its text without the spaces around it."""
    return tokenizer.model.tokens[id_], token_text(tokenizer, id_).strip()
