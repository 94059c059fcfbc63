"""SuperBPE (arXiv 2503.13423): BPE that learns words first, and then tokens of several words."""

from tokctl.model.algorithms.bpe import BPE

SUPERBPE = BPE._replace(
    name="superbpe",
    title="SuperBPE",
    default={
        **BPE.default,
        # What the authors' tokenizers split text by: numbers in threes from the right. They were
        # trained line by line, so that no token goes on after a line feed.
        "pre_tokenizers": ("digit-groups", "lines"),
        "stages": (
            {"pre_tokenizers": "gpt2", "until": "90%"},
            {"max_words": 4, "forbidden": (": ",)},
        ),
    },
    options=(*(name for name in BPE.options if name != "marker"), "transition"),
    # The first stage ends at a share of the vocabulary.
    is_nested=False,
)
