"""Scaffold-BPE: BPE in which tokens that became rare only serve to build other tokens."""

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
    # subword-nmt's codes fit this algorithm if their vocabulary file omits some tokens.
    marker_kinds=("none", "end-fused"),
    learns_merges=True,
    reads_bytes=True,
)
