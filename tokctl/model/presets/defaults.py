"""The default recipe of each algorithm."""

from __future__ import annotations

from dataclasses import replace

from tokctl.model import Marker, Recipe
from tokctl.model.parts import DECODERS, NORMALIZERS, PRE_TOKENIZERS

_split = PRE_TOKENIZERS.steps
_normalize = NORMALIZERS.steps
_decode = DECODERS.steps

BPE = Recipe(
    name="bpe",
    algorithm="bpe",
    pre_tokenizers=_split("gpt2"),
    units="bytes",
    alphabet="bytes",
    tie_break="lowest-id",
)

#: What `--chars` makes of it. A character that training has not seen needs `[UNK]`.
BPE_CHARACTERS = replace(
    BPE,
    units="characters",
    alphabet="seen",
    tie_break="first-seen",
    unk_token="[UNK]",
    special_tokens=("[UNK]",),
)

WORDPIECE = Recipe(
    name="wordpiece",
    algorithm="wordpiece",
    pre_tokenizers=_split("bert"),
    marker=Marker("continuation", "##"),
    score="likelihood",
    tie_break="first-seen",
    segmentation="longest-match",
    unk_token="[UNK]",
    max_input_chars=100,
    special_tokens=("[UNK]",),
)

UNIGRAM = Recipe(
    name="unigram",
    algorithm="unigram",
    normalizers=_normalize("nmt_nfkc"),
    pre_tokenizers=_split("metaspace"),
    segmentation="viterbi",
    unk_token="<unk>",
    unknown="char",
    fuse_unknown=True,
    decoders=_decode("metaspace"),
    special_tokens=("<unk>",),
)

WORD = Recipe(
    name="word",
    algorithm="word",
    pre_tokenizers=_split("bert"),
    segmentation="lookup",
    unk_token="[UNK]",
    decoders=_decode("join"),
    special_tokens=("[UNK]",),
)

CHAR = Recipe(
    name="char",
    algorithm="char",
    segmentation="symbols",
    unk_token="[UNK]",
    special_tokens=("[UNK]",),
)

DEFAULTS = {"bpe": BPE, "wordpiece": WORDPIECE, "unigram": UNIGRAM, "word": WORD, "char": CHAR}
