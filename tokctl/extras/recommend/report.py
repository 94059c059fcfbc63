"""Recommendations as documents: advice, curves by vocabulary size, and the command to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokctl.core.humanize import plural
from tokctl.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Figure,
    Figures,
    Heading,
    Paragraph,
    Report,
    facts,
)
from tokctl.report.visible import safe

if TYPE_CHECKING:
    from tokctl.extras.recommend.curves import SizeCurve
    from tokctl.extras.recommend.results import Recommendation


def recommendation_answer(found: Recommendation, command: str | None) -> Report:
    """Return the document of a recommendation.

    Args:
        found: recommendation, with the curves of its candidates.
        command: command line that trains the recommended tokenizer; None without a recommendation.
    """
    return Report(
        "recommend",
        "Recommendation",
        lambda: _blocks(found, command),
        lambda: {**found.to_dict(), "command": command},
    )


def opening(found: Recommendation) -> str:
    """Return the size of the corpus, and the bytes used for training and for measuring."""
    corpus = found.corpus
    read = f"{plural(corpus.documents, 'document')}, {corpus.bytes:,} bytes"
    if corpus.sampled is not None:
        read += f", of which {corpus.sampled:,} are used, pieces chosen at random (--sample-size)"
    unit = f" in whole {corpus.unit}" if corpus.unit else " of another text"
    return (
        f"Read {read}. Candidates were trained on {corpus.training_bytes:,} bytes, and measured on "
        f"{corpus.measured_bytes:,}{unit} that they have not seen."
    )


def _blocks(found: Recommendation, command: str | None) -> Iterator[Block]:
    yield Paragraph(opening(found))
    yield Heading("Recommendation")
    yield facts((one.subject, safe(one.text)) for one in found.advice)
    if len(found.curves) > 1:
        yield Heading("Bytes per token on what is held out")
        yield _all_curves(found)
    if notes := tuple(_notes(found)):
        yield Bullets(notes, style="dim")
    chosen = next((curve for curve in found.curves if curve.name == found.candidate), None)
    if chosen:
        yield Heading(f"The curve of {chosen.name}")
        yield _one_curve(found, chosen)
    if command:
        yield Heading("Command")
        yield Code(command)


def _all_curves(found: Recommendation) -> Figures:
    """Return bytes per token at sizes that several candidates have, and at the recommended size."""
    sizes = {point.size for curve in found.curves for point in curve.points}
    lines = []
    for size in sorted(sizes):
        points = [curve.at(size) for curve in found.curves]
        if size != found.size and sum(point is not None for point in points) < 2:
            continue
        whole = [
            point.tokens
            for point, curve in zip(points, found.curves, strict=True)
            if point and curve.round_trip == 1
        ]
        cells: list[Cell] = []
        for point, curve in zip(points, found.curves, strict=True):
            best = point and curve.round_trip == 1 and point.tokens == min(whole)
            value = point.bytes_per_token if point else None
            cells.append(Figure(value, "ratio", "best" if best else ""))
        lines.append((f"{size:,}", tuple(cells)))
    return Figures("vocabulary", tuple(curve.name for curve in found.curves), tuple(lines))


def _notes(found: Recommendation) -> Iterator[str]:
    if len(found.curves) > 1:
        yield "Marked is the most of a row, among candidates that give the text back."
    for curve in found.curves:
        if curve.reach is not None:
            yield f"{curve.name} ends at {curve.reach:,} ids: the text has no more to give."


def _one_curve(found: Recommendation, curve: SizeCurve) -> Figures:
    """Return all sizes of one candidate; the recommended one stands out."""
    shape = found.shape
    names = ["bytes per token", "tokens saved"]
    if shape:
        names += ["embeddings", "of the model", "FLOPs per byte"]
    lines = []
    for point in curve.points:
        gain = curve.gain(point)
        cells = [Figure(point.bytes_per_token, "ratio"), Figure(gain, "percent")]
        if shape:
            flops = shape.flops_per_byte(point.size, point.bytes_per_token)
            cells += [
                Figure(shape.embedding(point.size)),
                Figure(shape.share(point.size), "percent"),
                Figure(flops, "scientific"),
            ]
        style = "bold" if point.size == found.size else ""
        lines.append((f"{point.size:,}", tuple(cell._replace(style=style) for cell in cells)))
    return Figures("vocabulary", tuple(names), tuple(lines))
