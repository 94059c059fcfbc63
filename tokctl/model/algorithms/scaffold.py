"""Scaffold-BPE: BPE in which tokens that became rare only serve to build other tokens."""

from tokctl.model.algorithms.bpe import Bpe
from tokctl.model.algorithms.merging import MergingAlgorithm


class ScaffoldBpe(MergingAlgorithm):
    """BPE whose rare tokens split again at the end of each pre-token."""

    name = "scaffold"
    title = "Scaffold-BPE"
    default = {**Bpe.default, "segmentation": "demolish"}
    default_characters = Bpe.default_characters
    segmentations = ("demolish",)
    options = ("tie_break", "min_frequency", "byte_fallback", "fuse_unknown")
    not_in_huggingface = "its BPE can't take scaffold tokens apart"
    # subword-nmt's codes fit this algorithm if their vocabulary file omits some tokens.
    marker_kinds = ("none", "end-fused")
    reads_bytes = True
