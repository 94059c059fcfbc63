"""Encoding speeds of a model file as a document."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from tokctl.core.humanize import plural
from tokctl.report.document import Block, Bullets, Column, Figure, Paragraph, Report, Table
from tokctl.report.visible import safe

if TYPE_CHECKING:
    from tokctl.analysis.bench import Bench


def bench_answer(found: Bench) -> Report:
    """Return the document of a speed measurement."""
    return Report(
        "bench",
        "Speed",
        lambda: _blocks(found),
        found.to_dict,
    )


def _blocks(found: Bench) -> Iterator[Block]:
    model = safe(found.model)
    yield Paragraph(
        f"{model}: {plural(found.texts, 'text')}, {found.bytes:,} bytes, "
        f"{plural(found.threads, 'thread')}; MB of text per second"
    )
    columns = (
        Column("library"),
        Column("first", right=True),
        Column("again", right=True),
        Column("min-max", right=True, least=58),
        Column("time", right=True),
        Column("ids", least=70),
        Column("file", least=90),
    )
    rows = [
        (
            speed.name,
            Figure(found.rate(speed.seconds[0]), "speed"),
            Figure(found.rate(median(speed.again)), "speed"),
            f"{found.rate(max(speed.again)):,.1f}-{found.rate(min(speed.again)):,.1f}",
            Figure(found.ratio(speed), "factor"),
            speed.digest if speed.same else f"{speed.digest} differ",
            speed.file,
        )
        for speed in found.speeds
    ]
    yield Table(columns, rows, has_head=True, strong=[0])
    notes = [
        "first: with empty caches; again: the median of later passes; time: of later passes, as a "
        "multiple of tokctl's.",
        *(f"{name}: {safe(why)}" for name, why in found.not_measured),
    ]
    if others := [speed.name for speed in found.speeds if not speed.same]:
        notes.append(f"Other ids than tokctl: {', '.join(others)}.")
    if found.validated:
        notes += [_difference(each) for each in found.differences]
        if not found.differences:
            notes.append("Each library gives the same ids for each text.")
    yield Bullets(tuple(notes), style="dim")


def _difference(each: object) -> str:
    from tokctl.analysis.verification import Difference

    assert isinstance(each, Difference)
    told = str(each)
    for name, tokens in (("tokctl", each.before), ("there", each.found)):
        if tokens:
            told += f"; {name}: " + " ".join(f"{id_} {token!r}" for id_, token in tokens)
    return safe(told)
