"""PickyBPE: BPE that removes a token which occurs almost only inside another token."""

from tokctl.model.algorithms.bpe import Bpe
from tokctl.model.algorithms.merging import MergingAlgorithm


class PickyBpe(MergingAlgorithm):
    """BPE that takes tokens away again, by a threshold."""

    name = "picky"
    title = "PickyBPE"
    # The authors' code looks up the whole pre-token before it replays merges.
    default = {
        **Bpe.default,
        "segmentation": "events",
        "whole_words": True,
    }
    default_characters = Bpe.default_characters
    segmentations = ("events",)
    options = ("tie_break", "min_frequency", "byte_fallback", "fuse_unknown", "threshold")
    not_in_huggingface = "its BPE can't take a token apart again, as PickyBPE does"
    reads_bytes = True
