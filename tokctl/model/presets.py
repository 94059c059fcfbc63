"""The default recipe of each algorithm, and the named recipes."""

from __future__ import annotations

from dataclasses import replace

from tokctl.core.errors import BadOption
from tokctl.core.values import did_you_mean
from tokctl.model import ALGORITHMS, Marker, Recipe
from tokctl.model.parts import DECODERS, NORMALIZERS, POST_PROCESSORS, PRE_TOKENIZERS

#: The default recipe of each algorithm, by the algorithm's name.
DEFAULTS = {
    name: Recipe(name=name, algorithm=name, **one.default) for name, one in ALGORITHMS.items()
}
BPE = DEFAULTS["bpe"]
WORDPIECE = DEFAULTS["wordpiece"]
UNIGRAM = DEFAULTS["unigram"]
WORD = DEFAULTS["word"]
CHAR = DEFAULTS["char"]
#: BPE on characters, the default recipe for `--chars`.
BPE_CHARACTERS = replace(BPE, **ALGORITHMS[BPE.algorithm].default_characters)


def preset(name: str) -> Recipe:
    """Return the recipe of the preset `name`.

    Raises:
        TokctlError: no preset has this name; the hint lists names.

    Example:
        >>> preset("bert").algorithm
        'wordpiece'
    """
    if name in PRESETS:
        return PRESETS[name][1]
    near = did_you_mean(name, PRESETS).rstrip()
    hint = near or f"the presets are: {', '.join(PRESETS)}"
    raise BadOption(f"no preset is called {name!r}", hint, "unknown-name")


def default_recipe(algorithm: str, *, characters: bool = False) -> Recipe:
    """Return the default recipe of an algorithm.

    Args:
        algorithm: name of the algorithm.
        characters: whether symbols are characters where the default recipe uses bytes.

    Raises:
        TokctlError: no algorithm has this name.
    """
    if algorithm not in DEFAULTS:
        hint = f"{did_you_mean(algorithm, ALGORITHMS)}choose one of: {', '.join(ALGORITHMS)}"
        raise BadOption(f"no algorithm is called {algorithm!r}", hint, "unknown-name")
    if characters:
        return replace(DEFAULTS[algorithm], **ALGORITHMS[algorithm].default_characters)
    return DEFAULTS[algorithm]


_split = PRE_TOKENIZERS.steps
_normalize = NORMALIZERS.steps
_decode = DECODERS.steps

#: WordPiece as Hugging Face trains it, with BPE's criterion, alphabet and tie rule.
_HF_WORDPIECE = replace(
    WORDPIECE,
    score="count",
    alphabet="characters",
    tie_break="lowest-id",
    decoders=_decode({"kind": "wordpiece", "prefix": "##", "cleanup": True}),
)
_BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_BERT_TEMPLATE = POST_PROCESSORS.steps("template:[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1")
_SENTENCEPIECE_TOKENS = ("<unk>", "<s>", "</s>")
_LLAMA_DECODERS = _decode(
    [
        "replace:▁=> ",
        "byte-fallback",
        "fuse",
        {"kind": "strip", "content": " ", "start": 1, "stop": 0},
    ]
)


def _byte_level(name: str, pattern: str, *special: str, nfc: bool = False) -> Recipe:
    return replace(
        BPE,
        name=name,
        pre_tokenizers=_split(pattern),
        normalizers=_normalize("nfc" if nfc else "none"),
        special_tokens=special,
    )


_GPT2 = _byte_level("gpt2", "gpt2", "<|endoftext|>")

#: Description and recipe of each preset, by name.
PRESETS = {
    "wordpiece-likelihood": (
        "WordPiece by likelihood, as this project's documents define it: the same as wordpiece",
        replace(WORDPIECE, name="wordpiece-likelihood"),
    ),
    "wordpiece-count": (
        "WordPiece by count, the criterion of BERT's vocabulary; all else as wordpiece",
        replace(WORDPIECE, name="wordpiece-count", score="count"),
    ),
    "bert": (
        "BERT, uncased: its normalizer, WordPiece by count, [CLS] and [SEP]",
        replace(
            _HF_WORDPIECE,
            name="bert",
            normalizers=_normalize("bert"),
            special_tokens=_BERT_TOKENS,
            post_processors=_BERT_TEMPLATE,
        ),
    ),
    "bert-cased": (
        "BERT, cased: as bert, but case and accents are kept",
        replace(
            _HF_WORDPIECE,
            name="bert-cased",
            normalizers=_normalize({"kind": "bert", "strip_accents": False, "lowercase": False}),
            special_tokens=_BERT_TOKENS,
            post_processors=_BERT_TEMPLATE,
        ),
    ),
    "char-bpe": (
        "the first BPE of neural translation: characters, </w> at the end of a word",
        replace(
            BPE_CHARACTERS,
            name="char-bpe",
            normalizers=_normalize("bert"),
            pre_tokenizers=_split("bert"),
            alphabet="characters",
            marker=Marker("end-fused", "</w>"),
            tie_break="lowest-id",
            unk_token="<unk>",
            special_tokens=("<unk>",),
        ),
    ),
    "gpt2": ("GPT-2's byte-level BPE; merges equal Hugging Face's one for one", _GPT2),
    "byte-bpe": ("the same as gpt2", replace(_GPT2, name="byte-bpe")),
    "sentencepiece-bpe": (
        "SentencePiece's BPE: its normalizer, ▁ for spaces, characters",
        Recipe(
            name="sentencepiece-bpe",
            algorithm="bpe",
            normalizers=_normalize("nmt_nfkc"),
            pre_tokenizers=_split("metaspace"),
            tie_break="lowest-id",
            unk_token="<unk>",
            fuse_unknown=True,
            decoders=_decode("metaspace"),
            special_tokens=_SENTENCEPIECE_TOKENS,
        ),
    ),
    "sentencepiece-unigram": (
        "SentencePiece's Unigram: its normalizer, extra spaces removed, ▁ for spaces",
        replace(
            UNIGRAM,
            name="sentencepiece-unigram",
            normalizers=_normalize(["nmt_nfkc", "collapse-spaces", "strip-spaces"]),
            special_tokens=_SENTENCEPIECE_TOKENS,
        ),
    ),
    "albert": (
        "ALBERT: Unigram, lower case without accents, [CLS] and [SEP]",
        replace(
            UNIGRAM,
            name="albert",
            normalizers=_normalize(
                [
                    'replace:``=>"',
                    "replace:''=>\"",
                    "nfkd",
                    "strip-accents",
                    "lowercase",
                    "nmt_nfkc",
                    "collapse-spaces",
                ]
            ),
            special_tokens=("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
            post_processors=_BERT_TEMPLATE,
        ),
    ),
    "t5": (
        "T5: Unigram, </s> after each text",
        replace(
            UNIGRAM,
            name="t5",
            normalizers=_normalize(["nmt_nfkc", "collapse-spaces"]),
            special_tokens=("<pad>", "</s>", "<unk>"),
            post_processors=POST_PROCESSORS.steps("template:$A </s>=>$A </s> $B </s>"),
        ),
    ),
    "llama2": (
        "like Llama 2: BPE on characters, ▁ for spaces, bytes for unknown characters",
        Recipe(
            name="llama2",
            algorithm="bpe",
            pre_tokenizers=_split("metaspace:first"),
            tie_break="lowest-id",
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unknown=True,
            decoders=_LLAMA_DECODERS,
            special_tokens=_SENTENCEPIECE_TOKENS,
            post_processors=POST_PROCESSORS.steps("template:<s> $A=><s> $A <s>:1 $B:1"),
        ),
    ),
    "cl100k": (
        "GPT-3.5 and GPT-4: byte-level BPE with their pattern",
        _byte_level(
            "cl100k",
            "cl100k",
            "<|endoftext|>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|endofprompt|>",
        ),
    ),
    "o200k": (
        "GPT-4o: byte-level BPE with its pattern",
        _byte_level("o200k", "o200k", "<|endoftext|>", "<|endofprompt|>"),
    ),
    "llama3": (
        "Llama 3: byte-level BPE with its pattern, <|begin_of_text|> before each text",
        replace(
            _byte_level("llama3", "llama3", "<|begin_of_text|>", "<|end_of_text|>"),
            whole_words=True,
            post_processors=POST_PROCESSORS.steps(
                "template:<|begin_of_text|> $A=><|begin_of_text|> $A <|begin_of_text|>:1 $B:1"
            ),
        ),
    ),
    "qwen": (
        "Qwen 2 and 3: byte-level BPE with their pattern, NFC, single digits",
        _byte_level("qwen", "qwen2", "<|endoftext|>", "<|im_start|>", "<|im_end|>", nfc=True),
    ),
    "notebook-bpe": (
        "the first notebook: characters, Ġ before each word, newlines deleted, no unknown token",
        Recipe(
            name="notebook-bpe",
            algorithm="bpe",
            normalizers=_normalize("delete-newlines"),
            pre_tokenizers=_split("gpt2-words"),
            marker=Marker("start", "Ġ"),
            tie_break="rewritten-last",
        ),
    ),
    "notebook-wordpiece": (
        "the second notebook: likelihood score, merges replayed, no unknown token",
        Recipe(
            name="notebook-wordpiece",
            algorithm="wordpiece",
            normalizers=_normalize("delete-newlines"),
            pre_tokenizers=_split("gpt2-words"),
            marker=Marker("continuation", "##"),
            score="likelihood",
            tie_break="rewritten-last",
            segmentation="replay",
        ),
    ),
}
