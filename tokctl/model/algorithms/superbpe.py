"""SuperBPE (arXiv 2503.13423): BPE that learns words first, then tokens of several words."""

from tokctl.model.algorithms.bpe import Bpe


class SuperBpe(Bpe):
    """BPE in two stages, of which the second merges across spaces."""

    name = "superbpe"
    title = "SuperBPE"
    default = {
        **Bpe.default,
        # The authors' tokenizers split numbers into threes from the right. They were trained line
        # by line, so no token continues past a line feed.
        "pre_tokenizers": ("digit-groups", "lines"),
        "stages": (
            {"pre_tokenizers": "gpt2", "until": "90%"},
            {"max_words": 4, "forbidden": (": ",)},
        ),
    }
    options = (*(name for name in Bpe.options if name != "marker"), "transition")
    # The first stage ends at a share of the vocabulary, so a smaller vocabulary differs early.
    is_nested = False
