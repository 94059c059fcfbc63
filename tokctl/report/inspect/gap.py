"""Distance between a model's token count and the fewest tokens, as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokctl.analysis.gap import TokenGap
from tokctl.analysis.metrics import Undefined
from tokctl.core.humanize import percent, plural
from tokctl.report.document import (
    Block,
    Bullets,
    Column,
    Content,
    Figure,
    Heading,
    Name,
    Paragraph,
    Report,
    Table,
    Tokens,
    text_or_bytes,
)
from tokctl.report.visible import decoded

#: Shown on a terminal at most: pre-tokens, tokens of one pre-token.
_FEW = 10
_LONGEST = 16

#: Reason why each lower bound holds.
_BOUNDS = {
    "pre-tokens": "each pre-token takes a token",
    "frequent": "pre-tokens that are not among the most frequent take two",
    "linear program": "dual of the linear program",
}


def gap(found: TokenGap, limit: int | None) -> Report:
    """Return the document that compares a text's token count with the fewest tokens.

    Args:
        found: token counts and bounds.
        limit: most pre-tokens shown among those with more tokens than necessary; None shows a few.
    """
    return Report(
        "inspect",
        "How far the tokens of a text are from the fewest",
        lambda: _blocks(found, limit or _FEW),
        lambda: _data(found),
    )


def _blocks(gap: TokenGap, limit: int) -> Iterator[Block]:
    """Yield the figures, notes on their proofs, and the pre-tokens that lose the most tokens."""
    if not gap.tokens:
        yield Paragraph("The text has no tokens.")
        return
    yield Paragraph(_summary(gap), "bold")
    more = Column("this model has", right=True, fold=True)
    columns = (Column(fold=True, field="segmentation"), Column("tokens", right=True), more)
    rows: list[list[Content]] = [["this model", Figure(gap.tokens), ""]]
    figures = [
        ("fewest with its vocabulary", gap.fewest),
        ("lower bound, any vocabulary", gap.bound),
    ]
    if not isinstance(gap.across, Undefined):
        figures.append(("fewest across pre-tokens", gap.across))
    for label, tokens in figures:
        rows.append([label, Figure(tokens), _more(gap.tokens, tokens)])
    yield Table(columns, rows, has_head=True)
    yield Bullets(tuple(_notes(gap)), "dim")
    if not gap.losing:
        return
    yield Heading(
        f"pre-tokens that lose the most, of {gap.losing:,} among {gap.distinct:,} distinct ones"
    )
    table: list[list[Content]] = [
        [
            Figure(one.lost),
            Figure(one.count),
            Name(decoded(one.data)),
            Tokens(one.tokens, (), _LONGEST),
            Tokens(one.fewest, (), _LONGEST),
        ]
        for one in gap.losers[:limit]
    ]
    yield Table(
        (
            Column("lost", right=True),
            Column("count", right=True, style="dim"),
            Column("pre-token", fold=True),
            Column("tokens", fold=True),
            Column("fewest", fold=True),
        ),
        table,
        has_head=True,
    )


def _summary(gap: TokenGap) -> str:
    if not gap.lost:
        return f"{plural(gap.tokens, 'token')}: no segmentation with this vocabulary has fewer."
    per = f"{1000 * gap.lost / gap.characters:.2f} per 1,000 characters"
    saved = f"{gap.lost:,} could be saved, {percent(gap.lost / gap.tokens, 2)}, {per}"
    return f"{plural(gap.tokens, 'token')}; with the same vocabulary {saved}."


def _more(tokens: int, fewest: int) -> str:
    """Return how many more tokens the model has than `fewest`, in percent."""
    if tokens == fewest:
        return "as many"
    return f"{percent((tokens - fewest) / fewest, 2)} more" if fewest else "n/a"


def _notes(gap: TokenGap) -> Iterator[str]:
    """Yield notes that explain the figures and say which are proven."""
    yield "The fewest with its vocabulary is exact: the same pre-tokens, cut in the best way."
    budget = f"up to {plural(gap.budget, 'token')} of two {gap.symbols} or more"
    yield (
        f"The lower bound is proven ({_BOUNDS[gap.bound_name]}). It holds for vocabularies with "
        f"{budget}, even if they were chosen for this text, on the same pre-tokens. "
        + ("One of them reaches it." if gap.is_reached else "Whether one reaches it is not known.")
    )
    if not (gap.is_reached or gap.edges):
        yield "The linear program was left out: too many strings occur more than once in the text."
    if isinstance(gap.across, Undefined):
        yield f"Nothing is computed across pre-tokens: {gap.across.reason}."
    else:
        yield (
            "The fewest across pre-tokens is exact: the same vocabulary, if tokens might go from "
            "one pre-token to the next. The lower bound does not apply to it."
        )
    if gap.unspelled:
        yield (
            f"{plural(gap.unspelled, 'pre-token')} that the vocabulary does not spell, or added "
            f"tokens, count as they are in each figure: {plural(gap.unspelled_tokens, 'token')}."
        )


def _data(gap: TokenGap) -> dict[str, Any]:
    absent = isinstance(gap.across, Undefined)
    return {
        "tokens": gap.tokens,
        "fewest": gap.fewest,
        "lost": gap.lost,
        "lost_share": gap.lost / gap.tokens if gap.tokens else None,
        "lost_per_1000_characters": 1000 * gap.lost / gap.characters if gap.characters else None,
        "across": None if absent else gap.across,
        "across_reason": gap.across.reason if isinstance(gap.across, Undefined) else None,
        "bound": gap.bound,
        "bound_name": gap.bound_name,
        "bound_reached": gap.is_reached,
        "bounds": gap.bounds,
        "budget": gap.budget,
        "symbols": gap.symbols,
        "edges": gap.edges,
        "pre_tokens": gap.pre_tokens,
        "distinct_pre_tokens": gap.distinct,
        "characters": gap.characters,
        "unspelled": {"pre_tokens": gap.unspelled, "tokens": gap.unspelled_tokens},
        "losing": gap.losing,
        "losers": [
            {
                "pre_token": text_or_bytes(one.data),
                "count": one.count,
                "lost": one.lost,
                "tokens": one.tokens,
                "fewest": one.fewest,
            }
            for one in gap.losers
        ],
    }
