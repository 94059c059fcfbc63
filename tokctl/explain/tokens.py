"""Where a token comes from and where it goes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl import byte_level
from tokctl.errors import TokctlError
from tokctl.explain.history import History, MergeRecord, history_of

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False, repr=False)
class MergeTree:
    """A token over the two that were merged into it; a leaf has no parts.

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
        data: the token's bytes, markers included.
        kind: `special`, `alphabet` or `merged`.
        merge: the merge that it was born of; None where it is not merged.
        again: later merges that made the same token from another pair, or once more.
        tree: the merges it consists of.
        merges: the same, each once, in the order learned.
        uses: the tokens made with it, in the order learned.
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


def token_history(tokenizer: Tokenizer, token: str | int) -> TokenHistory:
    """Where a token comes from and which tokens are made with it.

    Args:
        token: as the vocabulary spells it; for a byte-level model also the text that it
            stands for (` the` for `Ġthe`). A number is an id.

    Raises:
        TokctlError: no such token; the hint names some that are close.
    """
    id_ = _find(tokenizer, token)
    history = history_of(tokenizer)
    births = history.made_by.get(id_, [])
    kind = "merged" if births else "alphabet"
    if id_ in tokenizer.model.special_ids.values():
        kind = "special"
    tree, ranks = _tree(history, id_)
    return TokenHistory(
        token=tokenizer.tokens[id_],
        id=id_,
        data=tokenizer.model.tokens[id_],
        kind=kind,
        merge=history.record(births[0]) if births else None,
        again=tuple(history.record(rank) for rank in births[1:]),
        tree=tree,
        merges=tuple(history.record(rank) for rank in ranks),
        uses=tuple(_uses(history, id_)),
    )


def _find(tokenizer: Tokenizer, token: str | int) -> int:
    if isinstance(token, int):
        if not 0 <= token < tokenizer.vocab_size:
            raise TokctlError(
                f"there is no id {token}", f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
            )
        return token
    vocabulary = tokenizer.vocabulary
    if token in vocabulary:
        return vocabulary[token]
    if tokenizer.recipe.units == "bytes":
        try:
            spelled = byte_level.spell(token.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            spelled = token
        if spelled in vocabulary:
            return vocabulary[spelled]
    raise TokctlError(f"{token!r} is no token of this model", _close(tokenizer, token))


def _close(tokenizer: Tokenizer, token: str) -> str:
    """A hint: the same text in another place of a word, else what is spelled alike."""
    mark = tokenizer.recipe.marker.text or "Ġ"
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
