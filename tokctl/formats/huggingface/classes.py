"""Classes of `transformers` that build their own pipeline, whatever `tokenizer.json` says.

Since version 5, a class named after a model takes the vocabulary, the merges, the added tokens and
in some cases the post-processor from the file. It builds the rest from the fields of
`tokenizer_config.json`. `_PIPELINES` is a table of the components of a document that a class
replaces, with placeholders (`Setting`, `Role`, …) that `build` fills in. The definitions are in
`models/*/tokenization_*.py` of transformers 5.24. `classes.json` has the other facts of the
classes: `python -m tests.tools.transformers_classes` takes them from the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.core import orjson
from tokctl.core.errors import Unsupported
from tokctl.formats.contract import TRY_ANOTHER_FILE
from tokctl.formats.huggingface.components import Fields, Json, byte_level, replace_json
from tokctl.model.patterns import PATTERNS

# -- placeholders -------------------------------------------------------------------------


class Setting(NamedTuple):
    """A placeholder for a field of `tokenizer_config.json`.

    Attributes:
        name: the name of the field.
        default: the value if the field is missing.
        kind: the method of `Fields` that reads the field.
    """

    name: str
    default: Any
    kind: str = "flag"


class Role(NamedTuple):
    """A placeholder for the special token of a role."""

    name: str


class When(NamedTuple):
    """A placeholder for `yes` if the filled-in condition is true or not empty, otherwise `no`."""

    condition: Any
    yes: Any
    no: Any


class Charsmap(NamedTuple):
    """A placeholder for a list of the precompiled rules in the file's normalizer; may be empty."""


class UnknownId(NamedTuple):
    """A placeholder for the id of the unknown token in a Unigram vocabulary.

    Attributes:
        otherwise: the id if the token is not found.
        scored: whether only an entry with the score 0 counts.
        start: the first id that is searched.
    """

    otherwise: Any
    scored: bool = False
    start: int = 0


class ProcessorTemplate(NamedTuple):
    """A placeholder for the template of a post-processor.

    A word is `$A`, `$B`, the name of a role without `_token`, `language` (the field `src_lang`), or
    a token. The suffix `:1` sets a type id.

    Attributes:
        single: the words for one text.
        pair: the words for two texts.
        language: the default of `src_lang`.
    """

    single: str
    pair: str
    language: str = ""


class ModelClass(NamedTuple):
    """The pipeline that a class of transformers builds around a vocabulary.

    Attributes:
        model: the type of the model.
        roles: the special tokens by role, unless the configuration names others.
        pipeline: the components that the class replaces, with placeholders for `build`.
        vocab_files: the files that the class reads if there is no `tokenizer.json`.
        extra: the extra special tokens, unless the configuration names others.
        mask: the flags of the mask token, unless the files have them.
        again: whether the class adds its special tokens a second time, as special tokens.
        kept: whether `tokenizer.json` stays, except for the components in `pipeline`.
        only: the supported values of fields that change the class's template.
        needs_extra: whether the vocabulary must have an extra token; the class would add them all.
    """

    model: str
    roles: dict[str, str]
    pipeline: Json
    vocab_files: Sequence[str] = ()
    extra: Sequence[str] | Callable[[Fields], list[str]] = ()
    mask: Json | None = None
    again: bool = False
    kept: bool = False
    only: Mapping[str, Sequence[Any]] = {}
    needs_extra: bool = False

    def extra_tokens(self, config: Fields) -> list[str]:
        """Return the extra special tokens for a configuration that names none."""
        return self.extra(config) if callable(self.extra) else list(self.extra)


def build(
    model_class: ModelClass,
    config: Fields,
    roles: Mapping[str, str],
    vocab: Any,
    rules: list[Json],
) -> Json:
    """Return the components of a document that a class replaces.

    Templates name tokens without ids. `with_ids` adds the ids when all tokens are known.

    Args:
        model_class: the class.
        config: the fields of `tokenizer_config.json`.
        roles: the special tokens by role.
        vocab: the vocabulary in a document's form.
        rules: a list of the precompiled rules in the file's normalizer; may be empty.

    Raises:
        TokctlError: the class would do something that tokctl does not support.
    """
    for name, allowed in model_class.only.items():
        if config.data.get(name) not in (None, *allowed):
            raise Unsupported(
                f"its tokenizer_config.json sets {name}, which tokctl does not know for its class",
                "name its tokenizer.json to read that file as it stands",
            )
    if model_class.needs_extra and not {text for text, _ in vocab} & {
        *model_class.extra_tokens(config)
    }:
        raise Unsupported(
            "its vocabulary has no language codes, and its class would add them", TRY_ANOTHER_FILE
        )

    def fill(value: Any) -> Any:
        if isinstance(value, Setting):
            return getattr(config, value.kind)(value.name, value.default)
        if isinstance(value, Role):
            return roles[value.name]
        if isinstance(value, When):
            return fill(value.yes if fill(value.condition) else value.no)
        if isinstance(value, Charsmap):
            return rules
        if isinstance(value, UnknownId):
            for id_, (text, score) in enumerate(vocab):
                is_candidate = id_ >= value.start and (score == 0.0 or not value.scored)
                if is_candidate and text == roles["unk_token"]:
                    return id_
            return fill(value.otherwise)
        if isinstance(value, ProcessorTemplate):
            single, pair = (_pieces(text, value.language) for text in value[:2])
            return {"type": "TemplateProcessing", "single": single, "pair": pair}
        if isinstance(value, dict):
            return {name: fill(item) for name, item in value.items()}
        if isinstance(value, list):
            # A list inside a list is replaced by its items.
            components = [fill(item) for item in value]
            return [
                item
                for items in components
                for item in (items if isinstance(items, list) else [items])
            ]
        return value

    def _pieces(text: str, language: str) -> list[Json]:
        pieces: list[Json] = []
        for word in text.split():
            name, _, type_id = word.partition(":")
            kind = "Sequence" if name in ("$A", "$B") else "SpecialToken"
            if name == "language":
                name = config.text("src_lang", language)
            elif f"{name}_token" in ROLES:
                name = roles[f"{name}_token"]
            pieces.append({kind: {"id": name.removeprefix("$"), "type_id": int(type_id or 0)}})
        return pieces

    components: Json = fill(model_class.pipeline)
    return components


#: The roles of special tokens in transformers, in its order.
ROLES = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


def bos_eos_template(bos: str | None, eos: str | None, *, bos_again: bool = True) -> Json:
    """Return the template of `add_bos_token` and `add_eos_token`.

    Args:
        bos: the token before a text, if any.
        eos: the token after a text, if any.
        bos_again: whether `bos` also comes before a second text.
    """

    def pieces(sequence: str, type_id: int) -> list[Json]:
        start = bos if bos_again or sequence == "A" else None
        pieces_of_text = ((start, "SpecialToken"), (sequence, "Sequence"), (eos, "SpecialToken"))
        return [{kind: {"id": name, "type_id": type_id}} for name, kind in pieces_of_text if name]

    single = pieces("A", 0)
    return {"type": "TemplateProcessing", "single": single, "pair": [*single, *pieces("B", 1)]}


# -- components that several classes have -------------------------------------------------

_PREFIX = Setting("add_prefix_space", True)
_NO_PREFIX = Setting("add_prefix_space", False)
_SCHEME = When(_PREFIX, "always", "never")
_NFC: Json = {"type": "NFC"}


def _bpe(**options: Any) -> Json:
    plain = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    return plain | options


def _normalizers(*steps: Any) -> Json:
    return {"type": "Sequence", "normalizers": list(steps)}


def _pre_tokenizers(*steps: Any) -> Json:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def _decoders(*steps: Any) -> Json:
    return {"type": "Sequence", "decoders": list(steps)}


def _split(pattern: Json, behaviour: str) -> Json:
    return {"type": "Split", "pattern": pattern, "behavior": behaviour, "invert": False}


def _metaspace(scheme: Any, *, split: bool = True) -> Json:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def _cls_sep_template(*, double: bool) -> ProcessorTemplate:
    """Return the template `cls A sep B sep`, with a second `sep` between the texts if `double`."""
    if double:
        return ProcessorTemplate("cls $A sep", "cls $A sep sep $B sep")
    return ProcessorTemplate("cls $A sep", "cls $A sep $B:1 sep:1")


_COLLAPSE = replace_json(" {2,}", " ", regex=True)
_LOWERCASE: Json = {"type": "Lowercase"}
_QUOTES = [replace_json("``", '"'), replace_json("''", '"')]
_NO_ACCENTS: list[Json] = [{"type": "NFKD"}, {"type": "StripAccents"}]
_COLLAPSED_AND_TRIMMED: list[Json] = [
    replace_json(r"\s{2,}|[\n\r\t]", " ", regex=True),
    _NFC,
    {"type": "Strip", "strip_left": False, "strip_right": True},
]


def _lowercase(default: bool) -> When:
    return When(Setting("do_lower_case", default), [_LOWERCASE], [])


def _accents(kept: bool) -> When:
    return When(Setting("keep_accents", kept), [], _NO_ACCENTS)


_STRIP: Json = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_BYTE_FALLBACK_DECODERS: list[Json] = [
    replace_json("▁", " "),
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]

# -- pipelines: BPE on bytes --------------------------------------------------------------

#: The pattern leaves out only white space.
_CLIP_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
_GPT2: Json = {
    "model": _bpe(),
    "normalizer": None,
    "pre_tokenizer": byte_level(_NO_PREFIX),
    "decoder": byte_level(),
}


def _qwen(pattern: str) -> Json:
    split = _split({"Regex": pattern}, "Isolated")
    spelling = byte_level(_NO_PREFIX, regex=False)
    return _GPT2 | {"normalizer": _NFC, "pre_tokenizer": _pre_tokenizers(split, spelling)}


_QWEN3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
#: Removes timestamps from decoded text.
_TIMESTAMPS = replace_json(r"<\|(\d+\.\d+)\|>", "", regex=True)

# -- pipelines: BPE on characters ---------------------------------------------------------

_LLAMA: Json = {
    "model": _bpe(fuse_unk=True, byte_fallback=True),
    "normalizer": None,
    "pre_tokenizer": _metaspace(
        When(_PREFIX, When(Setting("legacy", False), "always", "first"), "never"), split=False
    ),
    "decoder": _decoders(_BYTE_FALLBACK_DECODERS, When(_PREFIX, [_STRIP], [])),
}
_GEMMA: Json = {
    "model": _bpe(fuse_unk=True, byte_fallback=True, unk_token=Role("unk_token")),
    "normalizer": replace_json(" ", "▁"),
    "pre_tokenizer": _split({"String": " "}, "MergedWithPrevious"),
    "decoder": _decoders(_BYTE_FALLBACK_DECODERS),
}
_REFORMER: Json = {
    "model": _bpe(unk_token=Role("unk_token"), fuse_unk=True),
    "normalizer": When(Charsmap(), _normalizers(Charsmap(), _COLLAPSE), None),
    "pre_tokenizer": _metaspace("always"),
    "decoder": _metaspace("always"),
}


def bert_words_bpe(*, lowercase: bool, strip_accents: bool | None) -> Json:
    """Return the components for BPE on BERT's words, with `</w>` at the end of each word.

    Args:
        lowercase: the option of BertNormalizer.
        strip_accents: the option of BertNormalizer; None to follow `lowercase`.
    """
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }
    return {
        "model": _bpe(unk_token=Role("unk_token"), end_of_word_suffix="</w>"),
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
    }


# -- pipelines: WordPiece -----------------------------------------------------------------


def _bert(clean_text: Any = True, prefix: Any = "##", processor: Any = None) -> Json:
    return {
        "model": {
            "type": "WordPiece",
            "unk_token": Role("unk_token"),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": clean_text,
            "handle_chinese_chars": Setting("tokenize_chinese_chars", True),
            "strip_accents": Setting("strip_accents", None),
            "lowercase": Setting("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": True},
        "post_processor": processor or _cls_sep_template(double=False),
    }


# -- pipelines: Unigram -------------------------------------------------------------------


def _unigram(unk_id: Any, scheme: Any, *normalizers: Any, processor: Any = None) -> Json:
    """Return the components for Unigram on words between white space."""
    components = _metaspaced(unk_id, scheme, *normalizers, processor=processor)
    components["pre_tokenizer"] = _pre_tokenizers({"type": "WhitespaceSplit"}, _metaspace(scheme))
    return components


def _metaspaced(unk_id: Any, scheme: Any, *normalizers: Any, processor: Any = None) -> Json:
    """Return the components for Unigram on words that a Metaspace splits."""
    components: Json = {
        "model": {"type": "Unigram", "unk_id": unk_id, "byte_fallback": False},
        "normalizer": _normalizers(*normalizers),
        "pre_tokenizer": _metaspace(scheme),
        "decoder": _metaspace(scheme),
    }
    return components if processor is None else components | {"post_processor": processor}


def _sentinels(config: Fields) -> list[str]:
    """Return T5's sentinel tokens, at most 10,000."""
    count = config.number("extra_ids", 100)
    return [f"<extra_id_{number}>" for number in range(min(max(count, 0), 10_000))]


def _pegasus_masks(config: Fields) -> list[str]:
    sentence = config.text("mask_token_sent", "<mask_1>")
    count = min(max(config.number("offset", 103), 0), 10_000)
    return [sentence, *(f"<unk_{number}>" for number in range(2, count))]


#: Fields of classes whose number of extra tokens is in the configuration.
_EXTRA_TOKENS: dict[str, Any] = {
    "PegasusTokenizer": {"extra": _pegasus_masks},
    "T5Tokenizer": {"extra": _sentinels},
}

# -- the pipelines by class ---------------------------------------------------------------

#: The components that each class replaces. `classes.json` has the other facts of a class.
_PIPELINES: dict[str, Json] = {
    # The template of `tokenizer.json` is set after the class's template, so it counts.
    "AlbertTokenizer": _unigram(1, _SCHEME, _QUOTES, _accents(False), _lowercase(True), Charsmap()),
    "BarthezTokenizer": _metaspaced(3, _SCHEME, _COLLAPSED_AND_TRIMMED),
    "BertTokenizer": _bert(),
    "BigBirdTokenizer": _metaspaced(
        UnknownId(100, scored=True),
        _SCHEME,
        replace_json(" {2,}", "▁", regex=True),
        processor=_cls_sep_template(double=False),
    ),
    "BlenderbotTokenizer": _GPT2 | {"pre_tokenizer": byte_level(_PREFIX)},
    "CLIPTokenizer": {
        "model": _bpe(end_of_word_suffix="</w>", unk_token=Role("unk_token")),
        "normalizer": _normalizers(_NFC, replace_json(r"\s+", " ", regex=True), _LOWERCASE),
        "pre_tokenizer": _pre_tokenizers(
            _split({"Regex": _CLIP_PATTERN}, "Removed") | {"invert": True}, byte_level()
        ),
        "decoder": _decoders(
            byte_level(),
            replace_json("</w>", " "),
            # `str.strip` also treats four separators as white space.
            replace_json(r"\A[\s\x1c-\x1f]+|[\s\x1c-\x1f]+\z", "", regex=True),
        ),
        "post_processor": ProcessorTemplate("bos $A eos", "bos $A eos eos $B eos"),
    },
    "CamembertTokenizer": _unigram(
        UnknownId(0),
        _SCHEME,
        Charsmap(),
        processor=ProcessorTemplate("bos $A eos", "bos $A eos eos $B eos"),
    ),
    "CodeGenTokenizer": _GPT2,
    "CodeLlamaTokenizer": {
        "model": _bpe(fuse_unk=True, byte_fallback=True, unk_token=Role("unk_token")),
        "normalizer": None,
        "pre_tokenizer": _metaspace(When(_PREFIX, "first", "never"), split=False),
        "decoder": _decoders(_BYTE_FALLBACK_DECODERS, _STRIP),
        # With a tokenizer.json, the class ignores add_bos_token and add_eos_token.
        "post_processor": ProcessorTemplate("bos $A", "bos $A bos:1 $B:1"),
    },
    "CohereTokenizer": _GPT2
    | {
        "normalizer": _NFC,
        "pre_tokenizer": _pre_tokenizers(
            {"type": "Digits", "individual_digits": True}, byte_level(_NO_PREFIX)
        ),
    },
    "ConvBertTokenizer": {"post_processor": _cls_sep_template(double=False)},
    # Some of DPR's classes pass do_lower_case on, and some do not.
    "DPRContextEncoderTokenizer": _bert(),
    "DPRQuestionEncoderTokenizer": _bert(),
    "DebertaTokenizer": _GPT2 | {"post_processor": _cls_sep_template(double=True)},
    "DebertaV2Tokenizer": _metaspaced(
        UnknownId(Setting("unk_id", 1, "number"), scored=True),
        When(_PREFIX, "always", "first"),
        _lowercase(False),
        _COLLAPSED_AND_TRIMMED,
        processor=_cls_sep_template(double=False),
    )
    | {
        "pre_tokenizer": _pre_tokenizers(
            When(
                Setting("split_by_punct", False),
                [{"type": "Punctuation", "behavior": "Isolated"}],
                [],
            ),
            _metaspace(When(_PREFIX, "always", "first")),
        )
    },
    "FNetTokenizer": {},
    "FunnelTokenizer": _bert(
        Setting("clean_text", True),
        Setting("wordpieces_prefix", "##", "text"),
        ProcessorTemplate("cls:2 $A sep", "cls:2 $A sep $B:1 sep:1"),
    ),
    "GPT2Tokenizer": _GPT2,
    # The class rebuilds the template, and ignores add_bos_token with a tokenizer.json.
    "GPTNeoXTokenizer": _GPT2
    | {"normalizer": _NFC, "post_processor": ProcessorTemplate("$A", "$A $B:1")},
    "GemmaTokenizer": _GEMMA,
    "HerbertTokenizer": bert_words_bpe(lowercase=False, strip_accents=False)
    | {
        "post_processor": {
            "type": "BertProcessing",
            "sep": [Role("sep_token"), 2],
            "cls": [Role("cls_token"), 0],
        }
    },
    "LlamaTokenizer": _LLAMA,
    "MBart50Tokenizer": _metaspaced(
        3,
        "always",
        Charsmap(),
        _COLLAPSE,
        processor=ProcessorTemplate("language $A eos", "language $A $B eos", "en_XX"),
    ),
    "MBartTokenizer": _unigram(
        3, "always", processor=ProcessorTemplate("$A eos language", "$A $B eos language", "en_XX")
    ),
    "MPNetTokenizer": _bert(
        processor={
            "type": "Sequence",
            "processors": [byte_level(), _cls_sep_template(double=True)],
        }
    ),
    "NllbTokenizer": _REFORMER
    | {
        "post_processor": When(
            Setting("legacy_behaviour", False),
            ProcessorTemplate("$A eos language", "$A $B eos language", "eng_Latn"),
            ProcessorTemplate("language $A eos", "language $A $B eos", "eng_Latn"),
        )
    },
    "OpenAIGPTTokenizer": bert_words_bpe(lowercase=True, strip_accents=None),
    "PegasusTokenizer": _metaspaced(
        # The class ignores an unknown token at position 0, and then fails.
        UnknownId(-1, scored=True, start=1),
        "always",
        When(Charsmap(), Charsmap(), [replace_json(r"\n", " ", regex=True)]),
        _COLLAPSE,
        processor=ProcessorTemplate("$A eos", "$A $B eos"),
    ),
    "Qwen2Tokenizer": _qwen(PATTERNS["qwen2"]),
    "Qwen3_5Tokenizer": _qwen(_QWEN3_5),
    "ReformerTokenizer": _REFORMER,
    "RemBertTokenizer": _metaspaced(
        2,
        _SCHEME,
        _QUOTES,
        _COLLAPSE,
        _accents(True),
        _lowercase(False),
        Charsmap(),
        processor=_cls_sep_template(double=False),
    ),
    "RobertaTokenizer": _GPT2
    | {
        "post_processor": When(
            Setting("trim_offsets", True),
            {
                "type": "Sequence",
                "processors": [byte_level(_NO_PREFIX), _cls_sep_template(double=True)],
            },
            _cls_sep_template(double=True),
        )
    },
    "Siglip2Tokenizer": _GEMMA | {"normalizer": _normalizers(_LOWERCASE, _GEMMA["normalizer"])},
    "T5Tokenizer": _unigram(
        2, "always", Charsmap(), processor=ProcessorTemplate("$A eos", "$A eos $B eos")
    ),
    "UdopTokenizer": _unigram(
        UnknownId(2), "always", processor=ProcessorTemplate("$A eos", "$A eos $B eos")
    ),
    "WhisperTokenizer": _GPT2
    | {
        "decoder": _decoders(byte_level(), {"type": "Fuse"}, _TIMESTAMPS),
        "post_processor": When(
            Setting("predict_timestamps", False),
            ProcessorTemplate(
                "<|startoftranscript|> $A eos", "<|startoftranscript|> $A $B:1 eos:1"
            ),
            ProcessorTemplate(
                "<|startoftranscript|> <|notimestamps|> $A eos",
                "<|startoftranscript|> <|notimestamps|> $A $B:1 eos:1",
            ),
        ),
    },
    "XGLMTokenizer": _metaspaced(
        3,
        _SCHEME,
        Charsmap(),
        _COLLAPSE,
        processor=ProcessorTemplate("eos $A", "eos $A eos eos $B"),
    ),
    "XLMRobertaTokenizer": _unigram(
        3,
        _SCHEME,
        Charsmap(),
        processor=ProcessorTemplate("bos $A eos", "bos $A eos eos $B eos"),
    ),
    "XLNetTokenizer": _unigram(
        Setting("unk_id", 0, "number"),
        "always",
        _QUOTES,
        _NO_ACCENTS,
        _lowercase(False),
        Charsmap(),
        processor=ProcessorTemplate("$A sep cls:2", "$A sep $B:1 sep:1 cls:2"),
    ),
}

# -- the table ----------------------------------------------------------------------------

FILE = Path(__file__).with_name("classes.json")


@cache
def table() -> Json:
    """Return the content of `classes.json`.

    A row of `classes` may have, besides fields of `ModelClass`: `model_types`, the values of
    `model_type` in `config.json` for the class; `as`, the class that is run instead; `refused`, a
    key of `reasons`; and `plain` if the class uses `tokenizer.json` unchanged. `misnamed` and
    `unnamed` are about values of `model_type`.
    """
    content: Json = orjson.loads(FILE.read_bytes())
    return content


@cache
def known_classes() -> dict[str, ModelClass]:
    """Return the classes that tokctl runs, by name, without `Fast`."""
    rows = table()["classes"]
    classes: dict[str, ModelClass] = {}
    for name, pipeline in _PIPELINES.items():
        fields = {key: value for key, value in rows[name].items() if key != "model_types"}
        classes[name] = ModelClass(pipeline=pipeline, **_EXTRA_TOKENS.get(name, {}), **fields)
    aliases = sorted((row["as"], name) for name, row in rows.items() if "as" in row)
    return classes | {name: classes[other] for other, name in aliases}
