"""What a model can't read."""

from __future__ import annotations

from tokctl.analysis.metrics.figure import Absent, Figure, ratio


def unk_rate(unknown: int, tokens: int, *, reads_everything: bool) -> Figure:
    """Unknown tokens over tokens.

    A model that lacks both an unknown token and some characters leaves those without an
    id: they are counted.

    Args:
        reads_everything: nothing can be unknown, as for a byte-level model, or one in
            which all bytes have tokens to fall back to.
    """
    if reads_everything:
        return Absent("nothing is unknown to this model: every byte has a token")
    return ratio(unknown, tokens, "the text has no tokens")
