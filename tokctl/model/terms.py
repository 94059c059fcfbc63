"""What the fields of a recipe may say."""

from __future__ import annotations

from typing import NamedTuple

ALGORITHMS = ("bpe", "wordpiece", "unigram", "word", "char")
UNITS = ("bytes", "characters")
MARKER_KINDS = ("none", "end", "end-fused", "start", "continuation")
SCORES = ("count", "likelihood")
TIE_BREAKS = ("first-seen", "rewritten-last", "lowest-id")
UNKNOWNS = ("word", "char")
ALPHABETS = ("seen", "characters", "bytes")
PRECISIONS = ("double", "single")

#: How each algorithm's models can segment a pre-token.
SEGMENTATIONS = {
    "bpe": ("merges", "replay", "ranks"),
    "wordpiece": ("longest-match", "replay", "merges"),
    "unigram": ("viterbi",),
    "word": ("lookup",),
    "char": ("symbols", "lookup"),
}


class Marker(NamedTuple):
    """How tokens show where a word starts, goes on or ends.

    kind: `none`; `end` and `start` (a symbol of its own behind or before the word);
        `end-fused` (glued to the last character); `continuation` (in front of every
        symbol but a word's first).
    text: what it looks like, `##` for instance; empty for `none`.
    """

    kind: str = "none"
    text: str = ""
