"""Recommendations as documents: advice, curves by vocabulary size, and the command to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokctl.core.humanize import percent, plural
from tokctl.report.document import (
    Block,
    Bullets,
    Code,
    Figures,
    Heading,
    Paragraph,
    Record,
    Report,
    Span,
    facts,
)
from tokctl.report.visible import safe

if TYPE_CHECKING:
    from tokctl.extras.recommend import Recommendation, SizeCurve

_NONE = "-"


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
        lambda: _records(found, command),
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
        cells = []
        for point, curve in zip(points, found.curves, strict=True):
            best = point and curve.round_trip == 1 and point.tokens == min(whole)
            text = f"{point.bytes_per_token:.3f}" if point else _NONE
            cells.append(Span(f"{text}{'*' if best else ' '}", "best" if best else ""))
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
        cells = [f"{point.bytes_per_token:.3f}", _NONE if gain is None else percent(gain)]
        if shape:
            cells += [
                f"{shape.embedding(point.size):,}",
                percent(shape.share(point.size)),
                f"{shape.flops_per_byte(point.size, point.bytes_per_token):.3e}",
            ]
        style = "bold" if point.size == found.size else ""
        lines.append((f"{point.size:,}", tuple(Span(cell, style) for cell in cells)))
    return Figures("vocabulary", tuple(names), tuple(lines))


def _records(found: Recommendation, command: str | None) -> Iterator[Record]:
    """Yield the records; the first field is the kind of line."""
    corpus, shape = found.corpus, found.shape
    if command:
        yield ("vocabulary", str(found.size))
        yield ("candidate", str(found.candidate))
        yield ("coverage", found.coverage or "")
    sampled = corpus.bytes if corpus.sampled is None else corpus.sampled
    sizes = (corpus.documents, corpus.bytes, sampled, corpus.training_bytes, corpus.measured_bytes)
    yield ("corpus", *map(str, sizes))
    for one in found.advice:
        yield ("advice", one.subject, safe(one.text))
    for curve in found.curves:
        for point in curve.points:
            gain = curve.gain(point)
            record = [
                *("curve", curve.name, str(point.size), str(point.tokens)),
                f"{point.bytes_per_token:.6f}",
                "" if gain is None else f"{gain:.6f}",
            ]
            if shape:
                record += [
                    str(shape.embedding(point.size)),
                    f"{shape.share(point.size):.6f}",
                    f"{shape.flops_per_byte(point.size, point.bytes_per_token):.6g}",
                ]
            yield record
    if command:
        yield ("command", command)
