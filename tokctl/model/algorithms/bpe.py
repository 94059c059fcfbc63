"""Byte-pair encoding: repeatedly merge the best pair of adjacent symbols."""

from tokctl.model.algorithms.algorithm import Algorithm

BPE = Algorithm(
    name="bpe",
    title="BPE",
    default={
        "pre_tokenizers": "gpt2",
        "units": "bytes",
        "alphabet": "bytes",
        "tie_break": "lowest-id",
    },
    # A character that is not in the training text needs `[UNK]`.
    default_characters={
        "units": "characters",
        "alphabet": "seen",
        "tie_break": "first-seen",
        "unk_token": "[UNK]",
        "special_tokens": ("[UNK]",),
    },
    segmentations=("merges", "replay", "ranks", "remerge"),
    trainer="merges",
    options=(
        "marker",
        "tie_break",
        "show_steps",
        "min_frequency",
        "byte_fallback",
        "fuse_unknown",
        "max_words",
        "forbid",
    ),
    token_kinds=("special", "alphabet", "merged"),
    exhausted="no pair was left to merge",
    huggingface={"merges": "BPE"},
    not_in_huggingface="its BPE merges by rank only",
    marker_kinds=("none", "end", "end-fused", "start"),
    learns_merges=True,
    is_plain_bpe=True,
    reads_bytes=True,
    is_nested=True,
)
