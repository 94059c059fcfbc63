"""Classes of `transformers` that build their own pipeline, whatever `tokenizer.json` says.

From version 5 on, a class named after a model takes vocabulary, merges, added tokens and (some)
the post-processor out of the file, and makes the rest itself, by the fields of
`tokenizer_config.json`. Definitions: `models/*/tokenization_*.py` of transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tokctl.formats.huggingface import class_pipelines as pipelines
from tokctl.formats.huggingface.component import Fields, Json

#: The pipeline of a class: the components of a document that it replaces.
Build = Callable[[Fields, Mapping[str, str]], Json]


class Class(NamedTuple):
    """What a class of transformers makes of a vocabulary.

    Attributes:
        model: the type of its model.
        roles: its special tokens where the configuration names none.
        build: its pipeline by the configuration and the special tokens by role. A template
            names tokens; their ids are filled in when all tokens are known.
        vocab_files: what it reads where there is no `tokenizer.json`.
        extra: its extra special tokens where the configuration names none.
    """

    model: str
    roles: dict[str, str]
    build: Build
    vocab_files: tuple[str, ...] = ()
    extra: Callable[[Fields], list[str]] = lambda _config: []


_PAIR = ("vocab.json", "merges.txt")
_END = "<|endoftext|>"
_FAIRSEQ = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "mask_token": "<mask>",
}
_BERT_ROLES = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}
_ENDS = {"bos_token": _END, "eos_token": _END, "unk_token": _END}
_LLAMA_ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
_GEMMA_ROLES = {
    "bos_token": "<bos>",
    "eos_token": "<eos>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}

#: By name, without `Fast`.
CLASSES = {
    "GPT2Tokenizer": Class("BPE", _ENDS, pipelines.gpt2, _PAIR),
    "GPTNeoXTokenizer": Class(
        "BPE", _ENDS | {"pad_token": "<|padding|>"}, pipelines.gpt_neox, _PAIR
    ),
    "RobertaTokenizer": Class("BPE", _FAIRSEQ, pipelines.roberta, _PAIR),
    "Qwen2Tokenizer": Class(
        "BPE", {"eos_token": _END, "unk_token": _END, "pad_token": _END}, pipelines.qwen2, _PAIR
    ),
    "LlamaTokenizer": Class("BPE", _LLAMA_ROLES, pipelines.llama, ("tokenizer.model",)),
    "GemmaTokenizer": Class("BPE", _GEMMA_ROLES, pipelines.gemma),
    "BertTokenizer": Class("WordPiece", _BERT_ROLES, pipelines.bert, ("vocab.txt",)),
    "T5Tokenizer": Class(
        "Unigram",
        {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
        pipelines.t5,
        ("spiece.model",),
        extra=pipelines.sentinels,
    ),
    "AlbertTokenizer": Class(
        "Unigram",
        _BERT_ROLES
        | {"bos_token": "[CLS]", "eos_token": "[SEP]", "unk_token": "<unk>", "pad_token": "<pad>"},
        pipelines.albert,
        ("spiece.model",),
    ),
    "XLNetTokenizer": Class(
        "Unigram",
        _FAIRSEQ | {"sep_token": "<sep>", "cls_token": "<cls>"},
        pipelines.xlnet,
        ("spiece.model",),
        extra=lambda _config: ["<eop>", "<eod>"],
    ),
    "XLMRobertaTokenizer": Class(
        "Unigram", _FAIRSEQ, pipelines.xlm_roberta, ("sentencepiece.bpe.model",)
    ),
}
#: Other names of the same classes.
for _kind, _names in {
    "BertTokenizer": "DistilBert Electra LayoutLM Lxmert MobileBert SqueezeBert",
    "RobertaTokenizer": "Bart LED Longformer Mvp",
}.items():
    CLASSES.update({f"{_name}Tokenizer": CLASSES[_kind] for _name in _names.split()})
#: Models of `config.json` whose class stands there where no other is named.
BY_MODEL = {
    "bert": "BertTokenizer",
    "distilbert": "BertTokenizer",
    "electra": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    "gpt_neo": "GPT2Tokenizer",
    "gptj": "GPT2Tokenizer",
    "gpt_neox": "GPTNeoXTokenizer",
    "olmo": "GPTNeoXTokenizer",
    "roberta": "RobertaTokenizer",
    "bart": "RobertaTokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen2_moe": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "qwen3_moe": "Qwen2Tokenizer",
    "t5": "T5Tokenizer",
    "mt5": "T5Tokenizer",
    "gemma": "GemmaTokenizer",
    "gemma2": "GemmaTokenizer",
    "albert": "AlbertTokenizer",
    "xlnet": "XLNetTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
