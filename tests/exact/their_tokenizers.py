"""Hugging Face's tokenizers, trained there: for each of our presets the one it is named after,
and the variants that its own library makes of them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sentencepiece
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    implementations,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tests.exact.pipeline_peers import training_text
from tokctl.formats import sentencepiece as sentencepiece_files

SIZE = 4000
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@lru_cache(maxsize=1)
def lines() -> list[str]:
    return training_text().splitlines()


@lru_cache(maxsize=1)
def rules() -> bytes:
    """SentencePiece's default rules, as its models hold them."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()[:2000]),
        model_writer=model,
        vocab_size=1000,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    spec = sentencepiece_files.parse(model.getvalue()).normalizer_spec
    return bytes(spec.precompiled_charsmap)


def implementation(made: Any, **training: Any) -> Tokenizer:
    """One of their ready-made tokenizers, trained."""
    made.train_from_iterator(lines(), vocab_size=SIZE, show_progress=False, **training)
    tokenizer: Tokenizer = made._tokenizer
    return tokenizer


def template(made: Tokenizer, single: str, pair: str, *special: str) -> Tokenizer:
    named = [(token, made.token_to_id(token)) for token in special]
    made.post_processor = processors.TemplateProcessing(single, pair, named)
    return made


def bert(**options: Any) -> Tokenizer:
    made = implementation(implementations.BertWordPieceTokenizer(**options))
    sep, cls = (made.token_to_id(token) for token in ("[SEP]", "[CLS]"))
    made.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return made


def roberta() -> Tokenizer:
    made = implementation(
        implementations.ByteLevelBPETokenizer(add_prefix_space=True),
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return made


def byte_level(pattern: str, normalizer: Any = None, *special: str, **model: Any) -> Tokenizer:
    made = Tokenizer(models.BPE(**model))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(lines(), trainer)
    made.add_special_tokens(list(special))
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def llama3() -> Tokenizer:
    special = ("<|begin_of_text|>", "<|end_of_text|>")
    made = byte_level(CL100K, None, *special, ignore_merges=True)
    begin = special[0]
    return template(made, f"{begin} $A", f"{begin} $A {begin}:1 $B:1", begin)


def llama2() -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
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
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
    )
    made.train_from_iterator([word for line in lines() for word in line.split()], trainer)
    # The bytes are tokens of the model, none that a text could spell.
    document = json.loads(made.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    made = Tokenizer.from_str(json.dumps(document))
    return template(made, "<s> $A", "<s> $A <s>:1 $B:1", "<s>")


def unigram(normalizer: Any, special: list[str], splitting: Any = None) -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizer
    made.pre_tokenizer = splitting or pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=SIZE, show_progress=False, special_tokens=special, unk_token="<unk>"
    )
    made.train_from_iterator(lines(), trainer)
    return made


def albert() -> Tokenizer:
    steps = [
        normalizers.Replace("``", '"'),
        normalizers.Replace("''", '"'),
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        normalizers.Precompiled(rules()),
        normalizers.Replace(Regex(" {2,}"), " "),
    ]
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    made = unigram(normalizers.Sequence(steps), special)
    return template(made, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", *("[CLS]", "[SEP]"))


def t5() -> Tokenizer:
    splitting = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made = unigram(normalizers.Precompiled(rules()), ["<pad>", "</s>", "<unk>"], splitting)
    return template(made, "$A </s>", "$A </s> $B </s>", "</s>")


def words(split_characters: bool) -> Tokenizer:
    made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    isolated = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.pre_tokenizer = isolated if split_characters else pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(
        vocab_size=SIZE, special_tokens=["[UNK]"], show_progress=False
    )
    made.train_from_iterator(lines(), trainer)
    return made


_BPE = implementations.CharBPETokenizer
_BYTES = implementations.ByteLevelBPETokenizer
_SP_BPE = implementations.SentencePieceBPETokenizer

#: By name: the presets' own, then variants. (`byte-bpe` is `gpt2`, `default bpe` and
#: `o200k` differ in their patterns alone, which tests of the scanners compare.)
MAKERS: dict[str, Callable[[], Tokenizer]] = {
    "bert": bert,
    "bert-cased": lambda: bert(lowercase=False),
    "char-bpe": lambda: implementation(_BPE()),
    "gpt2": lambda: implementation(_BYTES()),
    "roberta": roberta,
    "sentencepiece-bpe": lambda: implementation(_SP_BPE()),
    "sentencepiece-unigram": lambda: implementation(
        implementations.SentencePieceUnigramTokenizer(),
        special_tokens=["<unk>", "<s>"],
        unk_token="<unk>",
    ),
    "albert": albert,
    "t5": t5,
    "llama2": llama2,
    "cl100k": lambda: byte_level(CL100K, None, "<|endoftext|>"),
    "llama3": llama3,
    "qwen": lambda: byte_level(CL100K.replace("{1,3}", ""), normalizers.NFC(), "<|im_start|>"),
    "word": lambda: words(split_characters=False),
    "char": lambda: words(split_characters=True),
    "char-bpe, NFKD": lambda: implementation(
        _BPE(
            lowercase=True,
            unicode_normalizer="nfkd",
            split_on_whitespace_only=True,
            bert_normalizer=False,
        )
    ),
    "byte-bpe, NFKC, trimmed": lambda: implementation(
        _BYTES(trim_offsets=True, add_prefix_space=True, lowercase=True, unicode_normalizer="nfkc")
    ),
    "sentencepiece-bpe, fused": lambda: implementation(
        _SP_BPE(fuse_unk=True, add_prefix_space=False)
    ),
}
