"""How much text one token carries."""

from __future__ import annotations

from tokctl.analysis.metrics.figure import Figure, ratio

_NO_TOKENS = "the text has no tokens"


def bytes_per_token(size: int, tokens: int) -> Figure:
    """B / T: bytes of the text, white space included, over tokens."""
    return ratio(size, tokens, _NO_TOKENS)


def characters_per_token(characters: int, tokens: int) -> Figure:
    """C / T: characters of the text, white space included, over tokens."""
    return ratio(characters, tokens, _NO_TOKENS)


def nsl(tokens: int, baseline_tokens: int) -> Figure:
    """Normalized sequence length: T / T of the baseline model on the same text.

    Dagan, Synnaeve and Rozière (2024), arXiv 2402.01035. Taken over totals, where they
    take the mean over examples.
    """
    return ratio(tokens, baseline_tokens, "the baseline makes no tokens of the text")
