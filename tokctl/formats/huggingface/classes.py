"""Classes of `transformers` that build their own pipeline, whatever `tokenizer.json` says.

Since version 5, a class named after a model takes the vocabulary, the merges, the added tokens and
in some cases the post-processor from the file. It builds the rest from the fields of
`tokenizer_config.json`. `CLASSES` is a table of these pipelines: the components of a document that
a class replaces, with placeholders (`Setting`, `Role`, …) that `build` fills in. The definitions
are in `models/*/tokenization_*.py` of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tokctl.core.errors import Unsupported
from tokctl.formats.contract import ANOTHER
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
        needs: tokens of which the vocabulary must have at least one; the class would add them.
    """

    model: str
    roles: dict[str, str]
    pipeline: Json
    vocab_files: tuple[str, ...] = ()
    extra: tuple[str, ...] | Callable[[Fields], list[str]] = ()
    mask: Json | None = None
    again: bool = False
    kept: bool = False
    only: Mapping[str, tuple[Any, ...]] = {}
    needs: tuple[str, ...] = ()

    def extra_tokens(self, config: Fields) -> list[str]:
        """Return the extra special tokens for a configuration that names none."""
        return self.extra(config) if callable(self.extra) else list(self.extra)


def build(
    known: ModelClass,
    config: Fields,
    roles: Mapping[str, str],
    vocab: Any,
    rules: list[Json],
) -> Json:
    """Return the components of a document that a class replaces.

    Templates name tokens without ids. `with_ids` adds the ids when all tokens are known.

    Args:
        known: the class.
        config: the fields of `tokenizer_config.json`.
        roles: the special tokens by role.
        vocab: the vocabulary in a document's form.
        rules: a list of the precompiled rules in the file's normalizer; may be empty.

    Raises:
        TokctlError: the class would do something that tokctl does not support.
    """
    for name, allowed in known.only.items():
        if config.data.get(name) not in (None, *allowed):
            raise Unsupported(
                f"its tokenizer_config.json sets {name}, which tokctl does not know for its class",
                "name its tokenizer.json to read that file as it stands",
            )
    if known.needs and not {text for text, _ in vocab} & set(known.needs):
        raise Unsupported(
            "its vocabulary has no language codes, and its class would add them", ANOTHER
        )

    def filled(value: Any) -> Any:
        if isinstance(value, Setting):
            return getattr(config, value.kind)(value.name, value.default)
        if isinstance(value, Role):
            return roles[value.name]
        if isinstance(value, When):
            return filled(value.yes if filled(value.condition) else value.no)
        if isinstance(value, Charsmap):
            return rules
        if isinstance(value, UnknownId):
            for place, (text, score) in enumerate(vocab):
                counts = place >= value.start and (score == 0.0 or not value.scored)
                if counts and text == roles["unk_token"]:
                    return place
            return filled(value.otherwise)
        if isinstance(value, ProcessorTemplate):
            single, pair = (_pieces(text, value.language) for text in value[:2])
            return {"type": "TemplateProcessing", "single": single, "pair": pair}
        if isinstance(value, dict):
            return {name: filled(one) for name, one in value.items()}
        if isinstance(value, list):
            # A list inside a list is replaced by its items.
            made = [filled(one) for one in value]
            return [one for each in made for one in (each if isinstance(each, list) else [each])]
        return value

    def _pieces(text: str, language: str) -> list[Json]:
        found: list[Json] = []
        for word in text.split():
            name, _, type_id = word.partition(":")
            kind = "Sequence" if name in ("$A", "$B") else "SpecialToken"
            if name == "language":
                name = config.text("src_lang", language)
            elif f"{name}_token" in ROLES:
                name = roles[f"{name}_token"]
            found.append({kind: {"id": name.removeprefix("$"), "type_id": int(type_id or 0)}})
        return found

    made: Json = filled(known.pipeline)
    return made


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


def ends_template(bos: str | None, eos: str | None, *, bos_again: bool = True) -> Json:
    """Return the template of `add_bos_token` and `add_eos_token`.

    Args:
        bos: the token before a text, if any.
        eos: the token after a text, if any.
        bos_again: whether `bos` also comes before a second text.
    """

    def pieces(sequence: str, type_id: int) -> list[Json]:
        first = bos if bos_again or sequence == "A" else None
        named = ((first, "SpecialToken"), (sequence, "Sequence"), (eos, "SpecialToken"))
        return [{kind: {"id": name, "type_id": type_id}} for name, kind in named if name]

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
_TRIMMED: list[Json] = [
    replace_json(r"\s{2,}|[\n\r\t]", " ", regex=True),
    _NFC,
    {"type": "Strip", "strip_left": False, "strip_right": True},
]


def _lowercase(default: bool) -> When:
    return When(Setting("do_lower_case", default), [_LOWERCASE], [])


def _accents(kept: bool) -> When:
    return When(Setting("keep_accents", kept), [], _NO_ACCENTS)


_STRIP: Json = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_UNMARKED: list[Json] = [replace_json("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}]

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
    "decoder": _decoders(_UNMARKED, When(_PREFIX, [_STRIP], [])),
}
_GEMMA: Json = {
    "model": _bpe(fuse_unk=True, byte_fallback=True, unk_token=Role("unk_token")),
    "normalizer": replace_json(" ", "▁"),
    "pre_tokenizer": _split({"String": " "}, "MergedWithPrevious"),
    "decoder": _decoders(_UNMARKED),
}
_REFORMER: Json = {
    "model": _bpe(unk_token=Role("unk_token"), fuse_unk=True),
    "normalizer": When(Charsmap(), _normalizers(Charsmap(), _COLLAPSE), None),
    "pre_tokenizer": _metaspace("always"),
    "decoder": _metaspace("always"),
}


def of_words(*, lowercase: bool, strip_accents: bool | None) -> Json:
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
    made = _metaspaced(unk_id, scheme, *normalizers, processor=processor)
    made["pre_tokenizer"] = _pre_tokenizers({"type": "WhitespaceSplit"}, _metaspace(scheme))
    return made


def _metaspaced(unk_id: Any, scheme: Any, *normalizers: Any, processor: Any = None) -> Json:
    """Return the components for Unigram on words that a Metaspace splits."""
    made: Json = {
        "model": {"type": "Unigram", "unk_id": unk_id, "byte_fallback": False},
        "normalizer": _normalizers(*normalizers),
        "pre_tokenizer": _metaspace(scheme),
        "decoder": _metaspace(scheme),
    }
    return made if processor is None else made | {"post_processor": processor}


def _sentinels(config: Fields) -> list[str]:
    """Return T5's sentinel tokens, at most 10,000."""
    count = config.number("extra_ids", 100)
    return [f"<extra_id_{place}>" for place in range(min(max(count, 0), 10_000))]


def _pegasus_masks(config: Fields) -> list[str]:
    sentence = config.text("mask_token_sent", "<mask_1>")
    count = min(max(config.number("offset", 103), 0), 10_000)
    return [sentence, *(f"<unk_{place}>" for place in range(2, count))]


# -- special tokens by role ---------------------------------------------------------------

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
_BERT_ENDS = _BERT_ROLES | {"bos_token": "[CLS]", "eos_token": "[SEP]"}
_CLS_SEP = _BERT_ENDS | {"unk_token": "<unk>", "pad_token": "<pad>"}
_ENDS = {"bos_token": _END, "eos_token": _END, "unk_token": _END}
_QWEN_ROLES = {"eos_token": _END, "unk_token": _END, "pad_token": _END}
_LLAMA_ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
_GEMMA_ROLES = {
    "bos_token": "<bos>",
    "eos_token": "<eos>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
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
_EOS_UNK_PAD = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_SEP_CLS = {"sep_token": "<sep>", "cls_token": "<cls>"}


def _without(roles: dict[str, str], *names: str) -> dict[str, str]:
    return {role: text for role, text in roles.items() if role not in names}


#: The flags of a mask token that includes the space before it.
_STRIPPING: Json = {"lstrip": True, "special": True}
_PAIR = ("vocab.json", "merges.txt")

#: The language codes that are tokens of mBART, in id order.
_MBART_CODES = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
#: The further language codes of mBART-50.
_MBART50_CODES = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF "
    "pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)

#: The language codes of FLORES-200, which NLLB uses.
_NLLB_CODES = (
    "ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab "
    "arb_Arab ars_Arab ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn "
    "bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt "
    "bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab crh_Latn cym_Latn "
    "dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn "
    "ewe_Latn fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn "
    "gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn "
    "hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn jpn_Jpan kab_Latn "
    "kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn "
    "kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn lao_Laoo "
    "lvs_Latn lij_Latn lim_Latn lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn "
    "luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn mkd_Cyrl plt_Latn mlt_Latn "
    "mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva "
    "nso_Latn nus_Latn nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn "
    "por_Latn prs_Arab pbt_Arab quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng "
    "scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn sna_Latn snd_Arab som_Latn sot_Latn "
    "spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn tam_Taml "
    "tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn "
    "tso_Latn tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab "
    "uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans "
    "zho_Hant zul_Latn"
)

MBART = tuple(_MBART_CODES.split())
MBART50 = (*MBART, *_MBART50_CODES.split())
NLLB = tuple(_NLLB_CODES.split())

# -- the table ----------------------------------------------------------------------------

#: The classes by name, without `Fast`.
CLASSES = {
    "AlbertTokenizer": ModelClass(
        "Unigram",
        _CLS_SEP,
        # The template of `tokenizer.json` is set after the class's template, so it counts.
        _unigram(1, _SCHEME, _QUOTES, _accents(False), _lowercase(True), Charsmap()),
        ("spiece.model",),
    ),
    "BarthezTokenizer": ModelClass(
        "Unigram", _FAIRSEQ, _metaspaced(3, _SCHEME, _TRIMMED), mask=_STRIPPING
    ),
    "BertTokenizer": ModelClass("WordPiece", _BERT_ROLES, _bert(), ("vocab.txt",)),
    "BigBirdTokenizer": ModelClass(
        "Unigram",
        _CLS_SEP | {"bos_token": "<s>", "eos_token": "</s>"},
        _metaspaced(
            UnknownId(100, scored=True),
            _SCHEME,
            replace_json(" {2,}", "▁", regex=True),
            processor=_cls_sep_template(double=False),
        ),
        mask=_STRIPPING,
    ),
    "BlenderbotTokenizer": ModelClass(
        "BPE", _FAIRSEQ, _GPT2 | {"pre_tokenizer": byte_level(_PREFIX)}, mask=_STRIPPING
    ),
    "CamembertTokenizer": ModelClass(
        "Unigram",
        _FAIRSEQ,
        _unigram(
            UnknownId(0),
            _SCHEME,
            Charsmap(),
            processor=ProcessorTemplate("bos $A eos", "bos $A eos eos $B eos"),
        ),
        extra=("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
        mask=_STRIPPING,
    ),
    "CLIPTokenizer": ModelClass(
        "BPE",
        dict.fromkeys(("eos_token", "unk_token", "pad_token"), _END)
        | {"bos_token": "<|startoftext|>"},
        {
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
        _PAIR,
    ),
    "CodeGenTokenizer": ModelClass("BPE", _ENDS, _GPT2),
    "CodeLlamaTokenizer": ModelClass(
        "BPE",
        _LLAMA_ROLES | _INFILLING,
        {
            "model": _bpe(fuse_unk=True, byte_fallback=True, unk_token=Role("unk_token")),
            "normalizer": None,
            "pre_tokenizer": _metaspace(When(_PREFIX, "first", "never"), split=False),
            "decoder": _decoders(_UNMARKED, _STRIP),
            # With a tokenizer.json, the class ignores add_bos_token and add_eos_token.
            "post_processor": ProcessorTemplate("bos $A", "bos $A bos:1 $B:1"),
        },
        extra=tuple(_INFILLING.values()),
    ),
    "CohereTokenizer": ModelClass(
        "BPE",
        _COHERE_ROLES,
        _GPT2
        | {
            "normalizer": _NFC,
            "pre_tokenizer": _pre_tokenizers(
                {"type": "Digits", "individual_digits": True}, byte_level(_NO_PREFIX)
            ),
        },
        again=True,
    ),
    "ConvBertTokenizer": ModelClass(
        "WordPiece", _BERT_ROLES, {"post_processor": _cls_sep_template(double=False)}, kept=True
    ),
    # Some of DPR's classes pass do_lower_case on, and some do not.
    **dict.fromkeys(
        ("DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"),
        ModelClass("WordPiece", _BERT_ROLES, _bert(), only={"do_lower_case": (True,)}),
    ),
    "DebertaTokenizer": ModelClass(
        "BPE", _BERT_ENDS, _GPT2 | {"post_processor": _cls_sep_template(double=True)}
    ),
    "DebertaV2Tokenizer": ModelClass(
        "Unigram",
        _BERT_ENDS,
        _metaspaced(
            UnknownId(Setting("unk_id", 1, "number"), scored=True),
            When(_PREFIX, "always", "first"),
            _lowercase(False),
            _TRIMMED,
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
    ),
    "FNetTokenizer": ModelClass("Unigram", _CLS_SEP, {}, kept=True),
    "FunnelTokenizer": ModelClass(
        "WordPiece",
        _FAIRSEQ | _SEP_CLS,
        _bert(
            Setting("clean_text", True),
            Setting("wordpieces_prefix", "##", "text"),
            ProcessorTemplate("cls:2 $A sep", "cls:2 $A sep $B:1 sep:1"),
        ),
    ),
    "GPT2Tokenizer": ModelClass("BPE", _ENDS, _GPT2, _PAIR),
    "GPTNeoXTokenizer": ModelClass(
        "BPE",
        _ENDS | {"pad_token": "<|padding|>"},
        # The class rebuilds the template, and ignores add_bos_token with a tokenizer.json.
        _GPT2 | {"normalizer": _NFC, "post_processor": ProcessorTemplate("$A", "$A $B:1")},
        _PAIR,
    ),
    "GemmaTokenizer": ModelClass("BPE", _GEMMA_ROLES, _GEMMA),
    "HerbertTokenizer": ModelClass(
        "BPE",
        _without(_FAIRSEQ, "bos_token", "eos_token"),
        of_words(lowercase=False, strip_accents=False)
        | {
            "post_processor": {
                "type": "BertProcessing",
                "sep": [Role("sep_token"), 2],
                "cls": [Role("cls_token"), 0],
            }
        },
    ),
    "LlamaTokenizer": ModelClass("BPE", _LLAMA_ROLES, _LLAMA, ("tokenizer.model",)),
    "MBartTokenizer": ModelClass(
        "Unigram",
        _FAIRSEQ,
        _unigram(
            3,
            "always",
            processor=ProcessorTemplate("$A eos language", "$A $B eos language", "en_XX"),
        ),
        extra=MBART,
        mask=_STRIPPING,
    ),
    "MBart50Tokenizer": ModelClass(
        "Unigram",
        _without(_FAIRSEQ, "bos_token"),
        _metaspaced(
            3,
            "always",
            Charsmap(),
            _COLLAPSE,
            processor=ProcessorTemplate("language $A eos", "language $A $B eos", "en_XX"),
        ),
        extra=MBART50,
        mask=_STRIPPING,
        needs=MBART50,
    ),
    "MPNetTokenizer": ModelClass(
        "WordPiece",
        _FAIRSEQ | {"unk_token": "[UNK]"},
        _bert(
            processor={
                "type": "Sequence",
                "processors": [byte_level(), _cls_sep_template(double=True)],
            }
        ),
        mask=_STRIPPING,
    ),
    "NllbTokenizer": ModelClass(
        "BPE",
        _FAIRSEQ,
        _REFORMER
        | {
            "post_processor": When(
                Setting("legacy_behaviour", False),
                ProcessorTemplate("$A eos language", "$A $B eos language", "eng_Latn"),
                ProcessorTemplate("language $A eos", "language $A $B eos", "eng_Latn"),
            )
        },
        extra=NLLB,
        mask=_STRIPPING | {"normalized": True},
    ),
    "OpenAIGPTTokenizer": ModelClass(
        "BPE", {"unk_token": "<unk>"}, of_words(lowercase=True, strip_accents=None)
    ),
    "PegasusTokenizer": ModelClass(
        "Unigram",
        _EOS_UNK_PAD | {"mask_token": "<mask_2>"},
        _metaspaced(
            # The class ignores an unknown token at position 0, and then fails.
            UnknownId(-1, scored=True, start=1),
            "always",
            When(Charsmap(), Charsmap(), [replace_json(r"\n", " ", regex=True)]),
            _COLLAPSE,
            processor=ProcessorTemplate("$A eos", "$A $B eos"),
        ),
        extra=_pegasus_masks,
    ),
    "Qwen2Tokenizer": ModelClass("BPE", _QWEN_ROLES, _qwen(PATTERNS["qwen2"]), _PAIR),
    "Qwen3_5Tokenizer": ModelClass("BPE", _QWEN_ROLES, _qwen(_QWEN3_5)),
    "ReformerTokenizer": ModelClass(
        "BPE", {"eos_token": "</s>", "unk_token": "<unk>"}, _REFORMER, again=True
    ),
    "RemBertTokenizer": ModelClass(
        "Unigram",
        _CLS_SEP,
        _metaspaced(
            2,
            _SCHEME,
            _QUOTES,
            _COLLAPSE,
            _accents(True),
            _lowercase(False),
            Charsmap(),
            processor=_cls_sep_template(double=False),
        ),
        again=True,
    ),
    "RobertaTokenizer": ModelClass(
        "BPE",
        _FAIRSEQ,
        _GPT2
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
        _PAIR,
    ),
    "Siglip2Tokenizer": ModelClass(
        "BPE",
        _GEMMA_ROLES,
        _GEMMA | {"normalizer": _normalizers(_LOWERCASE, _GEMMA["normalizer"])},
    ),
    "T5Tokenizer": ModelClass(
        "Unigram",
        _EOS_UNK_PAD,
        _unigram(
            2,
            "always",
            Charsmap(),
            processor=ProcessorTemplate("$A eos", "$A eos $B eos"),
        ),
        ("spiece.model",),
        extra=_sentinels,
    ),
    "UdopTokenizer": ModelClass(
        "Unigram",
        _EOS_UNK_PAD | {"sep_token": "</s>"},
        _unigram(UnknownId(2), "always", processor=ProcessorTemplate("$A eos", "$A eos $B eos")),
    ),
    "WhisperTokenizer": ModelClass(
        "BPE",
        _ENDS,
        _GPT2
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
        # The class numbers the tokens of languages after the first one by a table of its own.
        only={"language": (), "task": ()},
    ),
    "XGLMTokenizer": ModelClass(
        "Unigram",
        _without(_FAIRSEQ, "mask_token"),
        _metaspaced(
            3,
            _SCHEME,
            Charsmap(),
            _COLLAPSE,
            processor=ProcessorTemplate("eos $A", "eos $A eos eos $B"),
        ),
        extra=tuple(f"<madeupword{place}>" for place in range(7)),
    ),
    "XLMRobertaTokenizer": ModelClass(
        "Unigram",
        _FAIRSEQ,
        _unigram(
            3,
            _SCHEME,
            Charsmap(),
            processor=ProcessorTemplate("bos $A eos", "bos $A eos eos $B eos"),
        ),
        ("sentencepiece.bpe.model",),
    ),
    "XLNetTokenizer": ModelClass(
        "Unigram",
        _FAIRSEQ | _SEP_CLS,
        _unigram(
            Setting("unk_id", 0, "number"),
            "always",
            _QUOTES,
            _NO_ACCENTS,
            _lowercase(False),
            Charsmap(),
            processor=ProcessorTemplate("$A sep cls:2", "$A sep $B:1 sep:1 cls:2"),
        ),
        ("spiece.model",),
        extra=("<eop>", "<eod>"),
        mask=_STRIPPING,
    ),
}
#: Further names of some of these classes.
for _kind, _names in {
    "BertTokenizer": "DistilBert Electra LayoutLM Lxmert MobileBert SqueezeBert",
    "LlamaTokenizer": "Phi3",
    "RobertaTokenizer": "Bart LED Longformer Mvp",
}.items():
    CLASSES.update({f"{_name}Tokenizer": CLASSES[_kind] for _name in _names.split()})
