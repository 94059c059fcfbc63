"""Slow twin of the decoders: tokens back to text, by the recipe's word marker.

The marker kinds are those of `train.initial_symbols` (`algorithms.md`, "Word markers"). Words are
joined by one space; what stood between them in the text is not in the tokens.
"""

from collections.abc import Sequence

from .train import MarkerKind, strip_marker


def decode_tokens(tokens: Sequence[str], marker_kind: MarkerKind, marker: str) -> str:
    """`end`, `end-fused`: a token that ends with the marker ends a word. `start`: one that begins
    with it begins a word. `continuation`: one that begins with it goes on with the word.
    """
    text = ""
    space_due = False
    for index, token in enumerate(tokens):
        if marker_kind == "start":
            space_due = token.startswith(marker) and index > 0
        elif marker_kind == "continuation":
            space_due = not token.startswith(marker) and index > 0
        text += (" " if space_due else "") + strip_marker(token, marker_kind, marker)
        space_due = marker_kind in ("end", "end-fused") and token.endswith(marker)
    return text
