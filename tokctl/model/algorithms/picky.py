"""PickyBPE: BPE that removes a token which occurs almost only inside another token."""

from tokctl.model.algorithms.algorithm import Algorithm
from tokctl.model.algorithms.bpe import BPE

PICKY = Algorithm(
    name="picky",
    title="PickyBPE",
    # The authors' code looks up the whole pre-token before it replays merges.
    default={**BPE.default, "segmentation": "events", "whole_words": True},
    default_characters=BPE.default_characters,
    segmentations=("events",),
    trainer="merges",
    options=("tie_break", "min_frequency", "byte_fallback", "fuse_unknown", "threshold"),
    token_kinds=BPE.token_kinds,
    exhausted=BPE.exhausted,
    huggingface={},
    not_in_huggingface="its BPE can't take a token apart again, as PickyBPE does",
    learns_merges=True,
    reads_bytes=True,
)
