"""WordPiece: merges by count or likelihood, and the longest match from left to right."""

from tokctl.model.algorithms.algorithm import Algorithm

WORDPIECE = Algorithm(
    name="wordpiece",
    title="WordPiece",
    default={
        "pre_tokenizers": "bert",
        "marker": ("continuation", "##"),
        "score": "likelihood",
        "tie_break": "first-seen",
        "segmentation": "longest-match",
        "unk_token": "[UNK]",
        "max_input_chars": 100,
        "special_tokens": ("[UNK]",),
    },
    segmentations=("longest-match", "replay", "merges"),
    trainer="merges",
    options=(
        "score",
        "segment",
        "unknown",
        "max_input_chars",
        "marker",
        "tie_break",
        "show_steps",
        "min_frequency",
    ),
    token_kinds=("special", "alphabet", "merged"),
    exhausted="no pair was left to merge",
    huggingface={"longest-match": "WordPiece"},
    not_in_huggingface="its WordPiece does not replay merges",
    marker_kinds=("continuation",),
    learns_merges=True,
    can_fall_back=False,
    is_nested=True,
)
