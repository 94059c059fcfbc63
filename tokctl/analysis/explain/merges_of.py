"""The merges that a token, or any token with a certain text, takes part in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import MergeRecord, check_merges, history_of, merge_range
from tokctl.analysis.explain.reach import token_text
from tokctl.analysis.explain.tokens import find_token
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

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
