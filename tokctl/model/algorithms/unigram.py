"""Unigram: pieces with log probabilities; the segmentation with the highest sum is used."""

from tokctl.model.algorithms.algorithm import Algorithm

UNIGRAM = Algorithm(
    name="unigram",
    title="Unigram",
    default={
        "normalizers": "nmt_nfkc",
        "pre_tokenizers": "metaspace",
        "segmentation": "viterbi",
        "unk_token": "<unk>",
        "unknown": "char",
        "fuse_unknown": True,
        "decoders": "metaspace",
        "special_tokens": ("<unk>",),
    },
    segmentations=("viterbi",),
    trainer="unigram",
    options=("show_steps", "byte_fallback", "fuse_unknown"),
    token_kinds=("special", "character", "piece"),
    exhausted="the text gave no more pieces",
    huggingface={"viterbi": "Unigram"},
    has_scores=True,
    # The trainer stores a token's length in one byte.
    longest_token=255,
)
