"""Charts of one model: what its vocabulary consists of, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tokctl.render.charts import marks
from tokctl.render.charts.drawing import Drawing, label
from tokctl.render.charts.look import Look
from tokctl.render.charts.marks import Bar, Point

#: The greatest length that has a bar of its own.
_EACH = 20


def vocabulary_lengths(unit: str, lengths: Mapping[int, int]) -> Drawing:
    """How many tokens of the vocabulary have each length, in `unit`."""
    found: dict[str, int] = {}
    for length, count in lengths.items():
        name = str(length)
        if length > _EACH:
            # Great lengths by powers of two, so that all of them have room.
            least = max(_EACH, 1 << (length - 1).bit_length() - 1)
            name = f"{least + 1:,}\N{EN DASH}{1 << (length - 1).bit_length():,}"
        found[name] = found.get(name, 0) + count

    def draw(width: int, look: Look) -> Any:
        drawn = [
            Bar(name, count, f"{count:,} tokens of {name} {unit}") for name, count in found.items()
        ]
        return marks.columns(drawn, f"length in {unit}", "tokens", width=width, look=look)

    return Drawing(
        "vocabulary",
        "The vocabulary by length",
        f"How many tokens there are of each length in {unit}, markers left out.",
        (f"length in {unit}", "tokens"),
        tuple((name, f"{count:,}") for name, count in found.items()),
        draw,
    )


def kinds(groups: Mapping[str, Mapping[str, int]]) -> Drawing:
    """Tokens by several ways to tell them apart: the names of the ways, and the counts."""
    found = [
        Bar(label(name), count, f"{label(name)}: {count:,} tokens", group)
        for group, counts in groups.items()
        for name, count in counts.items()
    ]

    def draw(width: int, look: Look) -> Any:
        # The names of the bars stand beside them.
        return marks.bars(found, "tokens", width=max(160, width - 120), look=look)

    return Drawing(
        "kinds",
        "What the vocabulary consists of",
        "Tokens by where they come from, where in a word they stand, and what they consist of.",
        ("by", "kind", "tokens"),
        tuple((bar.group, bar.label, f"{bar.number:,}") for bar in found),
        draw,
    )


def merges(curve: Sequence[tuple[int, str, float]], scores: bool) -> Drawing:
    """What each merge was chosen by: (step, token, count or score)."""
    what = "score of the pair" if scores else "occurrences of the pair"

    def draw(width: int, look: Look) -> Any:
        points = [
            Point("", step, value, f"step {step:,} makes {label(token)}: {_number(value, scores)}")
            for step, token, value in curve
        ]
        log = alt.Scale(type="log", nice=False)
        steps = marks.decades((step for step, _, _ in curve), format="~s")
        form = ".0e" if scores else "~s"
        values = marks.decades((value for _, _, value in curve), format=form)
        x = alt.X("x:Q", title="step of the training", scale=log, axis=steps)
        y = alt.Y("y:Q", title=what, scale=log, axis=values)
        return marks.lines(points, [""], x, y, width=width, look=look, dots=False)

    return Drawing(
        "merges",
        f"The {'score' if scores else 'count'} of each merge",
        f"The {what} at the step that merged it, both axes logarithmic"
        + ("." if scores else "; what is merged late is rare."),
        ("step", "token", what),
        tuple((f"{step:,}", label(token), _number(value, scores)) for step, token, value in curve),
        draw,
    )


def _number(value: float, is_score: bool) -> str:
    return f"{value:.4g}" if is_score else f"{value:,.0f}"


def scores(curve: Sequence[tuple[int, str, float]]) -> Drawing:
    """The pieces of a Unigram model by score: (place, piece, log probability)."""

    def draw(width: int, look: Look) -> Any:
        points = [
            Point("", place, score, f"place {place:,}, {label(token)}: {score:.4f}")
            for place, token, score in curve
        ]
        log = alt.Scale(type="log", nice=False)
        places = marks.decades((place for place, _, _ in curve), format="~s")
        x = alt.X("x:Q", title="place by score", scale=log, axis=places)
        y = alt.Y("y:Q", title="log probability", scale=alt.Scale(zero=False))
        return marks.lines(points, [""], x, y, width=width, look=look, dots=False)

    return Drawing(
        "scores",
        "The scores of the pieces",
        "The natural log probability of the pieces, the highest first; places are logarithmic.",
        ("place", "piece", "log probability"),
        tuple((f"{place:,}", label(token), f"{score:.4f}") for place, token, score in curve),
        draw,
    )


def loss(rounds: Sequence[tuple[int, float]]) -> Drawing:
    """The rounds of a Unigram training: (pieces, mean negative log-likelihood)."""
    numbered = list(enumerate(rounds, 1))

    def draw(width: int, look: Look) -> Any:
        points = [
            Point("", number, objective, f"round {number}: {pieces:,} pieces, {objective:.4f} nats")
            for number, (pieces, objective) in numbered
        ]
        x = alt.X(
            "x:Q",
            title="round of the training",
            axis=alt.Axis(values=[n for n, _ in numbered], format="d", labelOverlap=True),
            scale=alt.Scale(zero=False, nice=False, padding=8),
        )
        y = alt.Y("y:Q", title="nats per pre-token", scale=alt.Scale(zero=False))
        return marks.lines(points, [""], x, y, width=width, look=look)

    return Drawing(
        "loss",
        "The loss after each round",
        "The mean negative log-likelihood of a pre-token, in nats: it rises as pieces are "
        "dropped, and little where few are missed.",
        ("round", "pieces", "nats per pre-token"),
        tuple((str(n), f"{pieces:,}", f"{objective:.4f}") for n, (pieces, objective) in numbered),
        draw,
    )
