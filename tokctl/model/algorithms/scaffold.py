"""Scaffold-BPE: merges as in BPE; tokens that have become rare only serve to make others."""

from tokctl.model.algorithms.algorithm import Algorithm
from tokctl.model.algorithms.bpe import BPE

SCAFFOLD = Algorithm(
    name="scaffold",
    title="Scaffold-BPE",
    default={**BPE.default, "segmentation": "demolish"},
    default_characters=BPE.default_characters,
    segmentations=("demolish",),
    trainer="merges",
    options=("tie_break", "min_frequency", "byte_fallback", "fuse_unknown"),
    token_kinds=BPE.token_kinds,
    exhausted=BPE.exhausted,
    huggingface={},
    not_in_huggingface="its BPE can't take scaffold tokens apart",
    # subword-nmt's codes, of which the vocabulary lacks some tokens, are such a model.
    marker_kinds=("none", "end-fused"),
    learns_merges=True,
    reads_bytes=True,
)
