"""BoundlessBPE: byte-pair encoding that also merges whole pre-tokens into superwords."""

from tokctl.model.algorithms.algorithm import Algorithm

BOUNDLESS = Algorithm(
    name="boundless",
    title="BoundlessBPE",
    default={
        "pre_tokenizers": "o200k",
        "units": "bytes",
        "alphabet": "bytes",
        "tie_break": "lowest-id",
    },
    # The second segmentation is for models whose training removed tokens (`--threshold`).
    segmentations=("merges", "events-to-symbols"),
    trainer="superwords",
    options=("tie_break", "min_frequency", "threshold"),
    token_kinds=("special", "alphabet", "merged", "superword"),
    exhausted="no pair was left to merge",
    huggingface={},
    not_in_huggingface="its BPE never makes one token of several pre-tokens",
    learns_merges=True,
    learns_superwords=True,
    reads_bytes=True,
    is_nested=True,
)
