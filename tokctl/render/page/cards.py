"""Cards of tokens as the page's script reads them: labels and values, all of them text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tokctl.analysis.explain.cards import Node, TokenCard
from tokctl.analysis.explain.words import Path
from tokctl.render.page import shown
from tokctl.wording import times

#: Texts whose counts are told one by one.
_TEXTS = 6

_ALONE = {
    "special": "A special token: text is never split into it.",
    "added": "An added token: it is found in the text before the model splits anything.",
    "byte": "The token of a byte, for characters that the vocabulary lacks.",
    "alphabet": "Part of the alphabet: no merge made it.",
    "character": "A single character.",
    "word": "A word, in the vocabulary for being frequent.",
}


def card_data(card: TokenCard, texts: Sequence[str]) -> dict[str, Any]:
    """One card.

    Returns:
        `title`; `facts`, which pointing shows; `more`, which the panel shows below them;
        `notes`, sentences; `tree`, rows of depth, token and what is said of it.
    """
    return {
        "title": shown.token(card.token),
        "facts": [list(fact) for fact in _facts(card)],
        "more": [list(fact) for fact in _more(card, texts)],
        "notes": list(_notes(card)),
        "tree": [_node(node, card.ranked) for node in card.tree],
    }


def _facts(card: TokenCard) -> Iterator[tuple[str, str]]:
    text = shown.text_of(card.text)
    spelled = shown.token(card.token)
    yield "id", str(card.id)
    if spelled != text:
        yield "token", spelled
    yield "text", text or "none: it is a marker alone"
    yield "bytes", shown.hexadecimal(card.text) or "none"
    if card.step is not None:
        yield ("rank" if card.ranked else "merge"), f"{card.step:,}"
    if card.score is not None:
        yield "score", f"{card.score:.4f}"
    if card.counts:
        yield "in the text" + ("s" if len(card.counts) > 1 else ""), times(card.count)


def _more(card: TokenCard, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "kind", card.kind
    if card.merged is not None:
        yield "its pair occurred", times(card.merged) + " before the merge"
    if card.trained is not None:
        yield "in training", times(card.trained)
    if card.place is not None:
        by = "score" if card.score is not None else "count"
        yield f"place by {by}", f"{card.place:,} of {card.of:,}"
    if 1 < len(card.counts) <= _TEXTS:
        for name, count in zip(texts, card.counts, strict=True):
            yield f"in {shown.prose(name)}", times(count)


def _notes(card: TokenCard) -> Iterator[str]:
    if card.instead is not None and card.gain is not None:
        gain = f"it scores {card.gain:.4f} more than that"
        if card.gain < 0:
            gain = f"it scores {-card.gain:.4f} less than that, and is never taken"
        yield f"Best without it: {_path(card.instead)}, with {card.instead.score:.4f}; {gain}."
    elif card.kind in _ALONE:
        yield _ALONE[card.kind]
    if card.longer_count is not None:
        yield _longest_match(card)
    if card.cut:
        yield f"Its tree is larger: the first {len(card.tree)} tokens of it are shown."


def _longest_match(card: TokenCard) -> str:
    if not card.longer_count:
        return "Longest match takes it wherever a word has it: no longer token begins with it."
    some = " ".join(map(shown.token, card.longer))
    more = card.longer_count - len(card.longer)
    others = f" and {more:,} more" if more else ""
    return (
        "Longest match takes it where none of the longer tokens that begin with it fits: "
        f"{some}{others}."
    )


def _path(path: Path) -> str:
    return " │ ".join(shown.token(piece.token or piece.text) for piece in path.pieces)


def _node(node: Node, ranked: bool) -> list[Any]:
    said = "" if node.step is None else f"{'rank' if ranked else 'merge'} {node.step:,}"
    return [node.depth, shown.token(node.token), said or f"id {node.id}"]
