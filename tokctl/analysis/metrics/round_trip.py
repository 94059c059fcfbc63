"""What decoding gives back."""

from __future__ import annotations

from tokctl.analysis.metrics.figure import Figure, ratio


def round_trip(exact_lines: int, lines: int) -> Figure:
    """The share of lines with decode(encode(line)) = line, byte for byte.

    Lines are taken without their `\\n`; empty ones count, too.
    """
    return ratio(exact_lines, lines, "the text has no lines")
