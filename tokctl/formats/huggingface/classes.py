"""Classes of `transformers` that build their own pipeline, whatever `tokenizer.json` says.

From version 5 on, a class named after a model takes vocabulary, merges, added tokens and (some)
the post-processor out of the file, and makes the rest itself, by the fields of
`tokenizer_config.json`. Definitions: `models/*/tokenization_*.py` of transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tokctl.formats.huggingface import class_pipelines as pipelines
from tokctl.formats.huggingface import languages
from tokctl.formats.huggingface import more_pipelines as more
from tokctl.formats.huggingface import unigram_pipelines as unigrams
from tokctl.formats.huggingface.components import Fields, Json

#: The pipeline of a class: the components of a document that it replaces.
Build = Callable[[pipelines.Given], Json]


class Class(NamedTuple):
    """What a class of transformers makes of a vocabulary.

    Attributes:
        model: the type of its model.
        roles: its special tokens where the configuration names none.
        build: its pipeline by the configuration and the special tokens by role. A template
            names tokens; their ids are filled in when all tokens are known.
        vocab_files: what it reads where there is no `tokenizer.json`.
        extra: its extra special tokens where the configuration names none.
        mask: the flags of its mask where the files give none.
        kept: whether `tokenizer.json` stands, but for what `build` gives.
        again: whether it adds its special tokens once more, as special ones.
    """

    model: str
    roles: dict[str, str]
    build: Build
    vocab_files: tuple[str, ...] = ()
    extra: Callable[[Fields], list[str]] = lambda _config: []
    mask: Json | None = None
    again: bool = False
    kept: bool = False


#: A mask that takes the space before it along.
_STRIPPING: Json = {"lstrip": True, "special": True}

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
_CLS_SEP = _BERT_ROLES | {
    "bos_token": "[CLS]",
    "eos_token": "[SEP]",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
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
        _CLS_SEP,
        pipelines.albert,
        ("spiece.model",),
    ),
    "XLNetTokenizer": Class(
        "Unigram",
        _FAIRSEQ | {"sep_token": "<sep>", "cls_token": "<cls>"},
        pipelines.xlnet,
        ("spiece.model",),
        extra=lambda _config: ["<eop>", "<eod>"],
        mask=_STRIPPING,
    ),
    "XLMRobertaTokenizer": Class(
        "Unigram", _FAIRSEQ, pipelines.xlm_roberta, ("sentencepiece.bpe.model",)
    ),
}
_COHERE_ROLES = {
    "bos_token": "<BOS_TOKEN>",
    "eos_token": "<|END_OF_TURN_TOKEN|>",
    "unk_token": "<UNK>",
    "sep_token": "<SEP>",
    "pad_token": "<PAD>",
    "cls_token": "<CLS>",
    "mask_token": "<MASK_TOKEN>",
}
_INFILLING = {
    "prefix_token": "▁<PRE>",
    "middle_token": "▁<MID>",
    "suffix_token": "▁<SUF>",
    "eot_token": "▁<EOT>",
    "fill_token": "<FILL_ME>",
}
CLASSES |= {
    "BarthezTokenizer": Class("Unigram", _FAIRSEQ, unigrams.barthez, mask=_STRIPPING),
    "BigBirdTokenizer": Class(
        "Unigram",
        _CLS_SEP | {"bos_token": "<s>", "eos_token": "</s>"},
        unigrams.big_bird,
        mask=_STRIPPING,
    ),
    "BlenderbotTokenizer": Class("BPE", _FAIRSEQ, more.blenderbot, mask=_STRIPPING),
    "CamembertTokenizer": Class(
        "Unigram",
        _FAIRSEQ,
        unigrams.camembert,
        extra=lambda _config: ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"],
        mask=_STRIPPING,
    ),
    "CodeGenTokenizer": Class("BPE", _ENDS, pipelines.gpt2),
    "CodeLlamaTokenizer": Class(
        "BPE",
        _LLAMA_ROLES | _INFILLING,
        more.code_llama,
        extra=lambda _config: list(_INFILLING.values()),
    ),
    "CohereTokenizer": Class("BPE", _COHERE_ROLES, more.cohere, again=True),
    "ConvBertTokenizer": Class("WordPiece", _BERT_ROLES, more.kept_but_for_template, kept=True),
    "DPRContextEncoderTokenizer": Class("WordPiece", _BERT_ROLES, more.dpr),
    "DPRQuestionEncoderTokenizer": Class("WordPiece", _BERT_ROLES, more.dpr),
    "DebertaTokenizer": Class(
        "BPE", _BERT_ROLES | {"bos_token": "[CLS]", "eos_token": "[SEP]"}, more.deberta
    ),
    "DebertaV2Tokenizer": Class(
        "Unigram", _BERT_ROLES | {"bos_token": "[CLS]", "eos_token": "[SEP]"}, unigrams.deberta_v2
    ),
    "FNetTokenizer": Class("Unigram", _CLS_SEP, lambda _given: {}, kept=True),
    "FunnelTokenizer": Class(
        "WordPiece", _FAIRSEQ | {"sep_token": "<sep>", "cls_token": "<cls>"}, more.funnel
    ),
    "HerbertTokenizer": Class(
        "BPE",
        {role: text for role, text in _FAIRSEQ.items() if role not in ("bos_token", "eos_token")},
        more.herbert,
    ),
    "MBartTokenizer": Class(
        "Unigram",
        _FAIRSEQ,
        unigrams.mbart,
        extra=lambda _config: list(languages.MBART),
        mask=_STRIPPING,
    ),
    "MBart50Tokenizer": Class(
        "Unigram",
        {role: text for role, text in _FAIRSEQ.items() if role != "bos_token"},
        unigrams.mbart50,
        extra=lambda _config: list(languages.MBART50),
        mask=_STRIPPING,
    ),
    "MPNetTokenizer": Class(
        "WordPiece", _FAIRSEQ | {"unk_token": "[UNK]"}, more.mpnet, mask=_STRIPPING
    ),
    "NllbTokenizer": Class(
        "BPE",
        _FAIRSEQ,
        more.nllb,
        extra=lambda _config: list(languages.NLLB),
        mask=_STRIPPING | {"normalized": True},
    ),
    "OpenAIGPTTokenizer": Class("BPE", {"unk_token": "<unk>"}, more.openai_gpt),
    "PegasusTokenizer": Class(
        "Unigram",
        {
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "mask_token": "<mask_2>",
        },
        unigrams.pegasus,
        extra=unigrams.pegasus_masks,
    ),
    "Qwen3_5Tokenizer": Class(
        "BPE", {"eos_token": _END, "unk_token": _END, "pad_token": _END}, more.qwen3_5
    ),
    "ReformerTokenizer": Class(
        "BPE", {"eos_token": "</s>", "unk_token": "<unk>"}, more.reformer, again=True
    ),
    "RemBertTokenizer": Class("Unigram", _CLS_SEP, unigrams.rembert, again=True),
    "Siglip2Tokenizer": Class("BPE", _GEMMA_ROLES, more.siglip2),
    "UdopTokenizer": Class(
        "Unigram",
        {
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "sep_token": "</s>",
            "pad_token": "<pad>",
        },
        unigrams.udop,
    ),
    "WhisperTokenizer": Class("BPE", _ENDS, more.whisper),
    "XGLMTokenizer": Class(
        "Unigram",
        {role: text for role, text in _FAIRSEQ.items() if role != "mask_token"},
        unigrams.xglm,
        extra=lambda _config: [f"<madeupword{place}>" for place in range(7)],
    ),
}
#: Other names of the same classes.
for _kind, _names in {
    "BertTokenizer": "DistilBert Electra LayoutLM Lxmert MobileBert SqueezeBert",
    "LlamaTokenizer": "Phi3",
    "RobertaTokenizer": "Bart LED Longformer Mvp",
}.items():
    CLASSES.update({f"{_name}Tokenizer": CLASSES[_kind] for _name in _names.split()})
