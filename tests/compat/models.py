"""Tokenizers of every kind, made by `tokenizers` of a bundled text, and the comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import tokenizers
from tokenizers import (
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tokctl.extras.compat.tokenizers import Encoding, Tokenizer
from tokctl.sources.corpora import corpus_path

ATTRIBUTES = (
    *("ids", "type_ids", "tokens", "offsets", "word_ids", "sequence_ids"),
    *("special_tokens_mask", "attention_mask", "n_sequences"),
)


def lines() -> list[str]:
    return corpus_path("sample").read_text(encoding="utf-8").splitlines()


def _trained(made: Any, trainer: Any) -> Any:
    made.train_from_iterator(lines(), trainer)
    return made


def _gpt2() -> Any:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<pad>"]
    return _trained(
        made,
        trainers.BpeTrainer(
            vocab_size=700, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )


def _roberta() -> Any:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    _trained(
        made,
        trainers.BpeTrainer(
            vocab_size=700, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True)])
    return made


def _bert() -> Any:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    _trained(
        made, trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


def _old_bert() -> Any:
    made = tokenizers.Tokenizer.from_str(_bert().to_str())
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def _unigram() -> Any:
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    special = ["<s>", "</s>", "<unk>", "<pad>"]
    _trained(
        made,
        trainers.UnigramTrainer(
            vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False
        ),
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 1)],
    )
    return made


def _llama() -> Any:
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    _trained(made, trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False))
    document = json.loads(made.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    made = tokenizers.Tokenizer.from_str(json.dumps(document))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return made


def _words() -> Any:
    made = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return _trained(
        made,
        trainers.WordLevelTrainer(
            vocab_size=300, special_tokens=["[PAD]", "[UNK]"], show_progress=False
        ),
    )


KINDS = {
    "gpt2": _gpt2,
    "roberta": _roberta,
    "bert": _bert,
    "old-bert": _old_bert,
    "unigram": _unigram,
    "llama": _llama,
    "words": _words,
}


@cache
def document(kind: str) -> str:
    """The document of a tokenizer of that kind, with some added tokens."""
    made = KINDS[kind]()
    made.add_tokens(
        ["Widget", tokenizers.AddedToken("gizmo", single_word=True, rstrip=True, normalized=False)]
    )
    return str(made.to_str())


def both(kind: str) -> tuple[Tokenizer, Any]:
    """Ours, and theirs."""
    text = document(kind)
    return Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)


def differing(ours: Encoding, theirs: Any) -> Iterator[tuple[str, object, object]]:
    """Attributes that differ, of the windows, too."""
    for name in ATTRIBUTES:
        here, there = getattr(ours, name), getattr(theirs, name)
        if here != there:
            yield name, here, there
    if len(ours.overflowing) != len(theirs.overflowing):
        yield "overflowing", len(ours.overflowing), len(theirs.overflowing)
        return
    for window, other in zip(ours.overflowing, theirs.overflowing, strict=True):
        yield from differing(window, other)


def assert_equal(ours: Encoding, theirs: Any, what: object = None) -> None:
    for name, here, there in differing(ours, theirs):
        raise AssertionError((name, what, here, there))
