"""Characters: the most frequent ones, or the most frequent graphemes."""

from tokctl.model.algorithms.algorithm import Algorithm

CHAR = Algorithm(
    name="char",
    title="characters",
    default={
        "segmentation": "symbols",
        "unk_token": "[UNK]",
        "special_tokens": ("[UNK]",),
    },
    segmentations=("symbols", "lookup"),
    trainer="frequency",
    options=("min_frequency", "graphemes"),
    token_kinds=("special", "character"),
    exhausted="the text has no more characters",
    # BPE without merges; for graphemes, WordLevel behind a pre-tokenizer that splits them off.
    huggingface={"symbols": "BPE", "lookup": "WordLevel"},
    learns_characters=True,
)
