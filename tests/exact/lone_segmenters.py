"""Segmenters by themselves, as the encoder has them: one pre-token in, (id, length) of each
segment out."""

from __future__ import annotations

from typing import Any

from tokctl import _native

Segments = list[tuple[int, int]]


def encoder(segmentation: str, tokens: list[tuple[bytes, int]], **options: Any) -> _native.Encoder:
    """An encoder that leaves a text whole and as it is. `options` are what it has learned, and
    how it segments."""
    learned: dict[str, Any] = {"merges": [], "scores": [], "byte_ids": None}
    settings: dict[str, Any] = {
        "segmentation": segmentation,
        "units": "characters",
        "marker": ("none", ""),
        "user_defined": frozenset(),
        "fuse_unknown": False,
        "whole_words": False,
        "precision": "single",
        "unknown_id": None,
        "unknown": "word",
        "max_input_chars": None,
        "events": None,
        "supermerges": [],
    }
    for name, value in options.items():
        (learned if name in learned else settings)[name] = value
    return _native.Encoder([], [], settings, tokens=tokens, **learned)


class Segmenter:
    """A model without normalizers and pre-tokenizers."""

    def __init__(self, encoder: _native.Encoder) -> None:
        self.encoder = encoder

    def segment(self, pre_token: bytes) -> Segments:
        ids, starts, ends, _ = self.encoder.tokens(pre_token)
        return [(i, end - start) for i, start, end in zip(ids, starts, ends, strict=True)]


class Unigram(Segmenter):
    """Pieces are (text, id, score); user-defined ones have no score."""

    def __init__(
        self,
        pieces: list[tuple[bytes, int, float]],
        *,
        user_defined: list[tuple[bytes, int]] | None = None,
        fuse_unknown: bool = True,
        **options: Any,
    ) -> None:
        tokens = [piece[:2] for piece in pieces] + (user_defined or [])
        highest = max([0.0, *(score for _, _, score in pieces)])
        scores = [highest] * (1 + max(id_ for _, id_ in tokens))
        for _, id_, score in pieces:
            scores[id_] = score
        own = frozenset(id_ for _, id_ in user_defined or [])
        options |= {"scores": scores, "user_defined": own, "fuse_unknown": fuse_unknown}
        super().__init__(encoder("viterbi", tokens, **options))

    def nbest(self, pre_token: bytes, n: int) -> list[tuple[Segments, float]]:
        found = self.encoder.nbest(pre_token, n)
        return [(list(zip(ids, lengths, strict=True)), score) for ids, lengths, score in found]

    def sample(
        self, pre_token: bytes, alpha: float, nbest_size: int, seed: int, count: int
    ) -> list[Segments]:
        """So many segmentations, drawn one after the other."""
        ranges = [(0, len(pre_token))] * count
        drawn = self.encoder.sample(pre_token, ranges, alpha, nbest_size, seed)
        return [list(zip(ids, lengths, strict=True)) for ids, lengths in drawn]


def bpe(
    tokens: list[tuple[bytes, int]],
    *,
    merges: list[tuple[int, int, int]] | None = None,
    ranks: list[int] | None = None,
    **options: Any,
) -> Segmenter:
    """Merges of (left, right, token); without them any two tokens that spell a token merge, by
    rank, one for each token."""
    if merges is not None:
        return Segmenter(encoder("merges", tokens, merges=merges, **options))
    assert ranks is not None
    scores = [0.0] * (1 + max(id_ for _, id_ in tokens))
    for (_, id_), rank in zip(tokens, ranks, strict=True):
        scores[id_] = float(-rank)
    return Segmenter(encoder("ranks", tokens, scores=scores, **options))
