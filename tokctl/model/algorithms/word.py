"""Words: the most frequent pre-tokens, each looked up as a whole."""

from tokctl.model.algorithms.algorithm import Algorithm

WORD = Algorithm(
    name="word",
    title="words",
    default={
        "pre_tokenizers": "bert",
        "segmentation": "lookup",
        "unk_token": "[UNK]",
        "decoders": "join",
        "special_tokens": ("[UNK]",),
    },
    segmentations=("lookup",),
    trainer="frequency",
    options=("min_frequency",),
    token_kinds=("special", "word"),
    exhausted="the text has no more words",
    huggingface={"lookup": "WordLevel"},
    learns_words=True,
    is_nested=True,
)
