"""The tokenizer class of a folder's model in `transformers` 5.24, and the classes that exist.

The tables are taken from `models/auto/tokenization_auto.py`; a test compares them.
"""

from __future__ import annotations

from typing import Any

from tokctl.core.errors import TokctlError, Unsupported
from tokctl.formats.huggingface.classes import CLASSES
from tokctl.formats.huggingface.components import Json

#: The values of `model_type` in `config.json` for each class.
_MODELS = {
    "AlbertTokenizer": "albert yoso",
    "BartTokenizer": "florence2",
    "BarthezTokenizer": "barthez",
    "BartphoTokenizer": "bartpho",
    "BertGenerationTokenizer": "bert-generation",
    "BertJapaneseTokenizer": "bert-japanese",
    "BertTokenizer": (
        "align bark bert blip bros chinese_clip convbert distilbert electra ernie flava git "
        "grounding-dino layoutlm megatron-bert mm-grounding-dino nezha nomic_bert qdqbert realm "
        "retribert squeezebert tvp vilt visual_bert"
    ),
    "BertweetTokenizer": "bertweet",
    "BigBirdTokenizer": "big_bird",
    "BioGptTokenizer": "biogpt",
    "BlenderbotSmallTokenizer": "blenderbot-small",
    "BlenderbotTokenizer": "blenderbot",
    "ByT5Tokenizer": "byt5",
    "CLIPTokenizer": (
        "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip"
    ),
    "CTRLTokenizer": "ctrl",
    "CamembertTokenizer": "camembert",
    "CanineTokenizer": "canine",
    "ClvpTokenizer": "clvp",
    "CodeLlamaTokenizer": "code_llama",
    "CohereTokenizer": "aya_vision cohere cohere2",
    "CpmAntTokenizer": "cpmant",
    "CpmTokenizer": "cpm",
    "DPRQuestionEncoderTokenizer": "dpr",
    "DebertaTokenizer": "deberta",
    "DebertaV2Tokenizer": "deberta-v2",
    "DiaTokenizer": "dia",
    "EsmTokenizer": "esm",
    "EsmcTokenizer": "esmc esmfold2",
    "FNetTokenizer": "fnet",
    "FSMTTokenizer": "fsmt",
    "FastSpeech2ConformerTokenizer": "fastspeech2_conformer",
    "FlaubertTokenizer": "flaubert",
    "FunnelTokenizer": "funnel",
    "GPT2Tokenizer": (
        "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip "
        "instructblipvideo jais2 opt phi starcoder2"
    ),
    "GPTNeoXJapaneseTokenizer": "gpt_neox_japanese",
    "GPTNeoXTokenizer": "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
    "GPTSw3Tokenizer": "gpt-sw3",
    "GemmaTokenizer": (
        "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma "
        "shieldgemma2 t5gemma zaya"
    ),
    "HerbertTokenizer": "herbert",
    "LEDTokenizer": "led",
    "LasrTokenizer": "lasr_ctc lasr_encoder",
    "LayoutLMv2Tokenizer": "layoutlmv2",
    "LayoutLMv3Tokenizer": "layoutlmv3",
    "LayoutXLMTokenizer": "layoutxlm",
    "LlamaTokenizer": "idefics idefics2",
    "LukeTokenizer": "luke",
    "LxmertTokenizer": "lxmert",
    "M2M100Tokenizer": "m2m_100",
    "MBart50Tokenizer": "mbart50",
    "MBartTokenizer": "mbart",
    "MLukeTokenizer": "mluke",
    "MPNetTokenizer": "mpnet",
    "MarianTokenizer": "marian",
    "MarkupLMTokenizer": "markuplm",
    "MgpstrTokenizer": "mgp-str",
    "MistralCommonBackend": (
        "ministral ministral3 mistral mistral3 mistral_large4 mixtral pixtral voxtral "
        "voxtral_realtime"
    ),
    "MobileBertTokenizer": "mobilebert",
    "MvpTokenizer": "mvp",
    "MyT5Tokenizer": "myt5",
    "NllbTokenizer": "nllb nllb-moe",
    "NougatTokenizer": "nougat pp_formulanet",
    "OpenAIGPTTokenizer": "openai-gpt",
    "PLBartTokenizer": "plbart",
    "ParakeetTokenizer": (
        "granite_speech5_ctc nemotron3_5_asr nemotron_asr_streaming omniasr_ctc parakeet_ctc "
        "parakeet_rnnt parakeet_tdt"
    ),
    "PegasusTokenizer": "pegasus",
    "PerceiverTokenizer": "perceiver",
    "PhobertTokenizer": "phobert",
    "ProphetNetTokenizer": "prophetnet",
    "Qwen2Tokenizer": (
        "audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl "
        "lighton_ocr moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl "
        "qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe "
        "qwen3_vl qwen3_vl_moe vibevoice"
    ),
    "Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
    "RagTokenizer": "rag",
    "ReformerTokenizer": "reformer",
    "RemBertTokenizer": "rembert",
    "RoCBertTokenizer": "roc_bert",
    "RoFormerTokenizer": "roformer",
    "RobertaTokenizer": (
        "bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta "
        "roberta-prelayernorm"
    ),
    "SeamlessM4TTokenizer": "seamless_m4t seamless_m4t_v2",
    "Siglip2Tokenizer": "siglip2",
    "SiglipTokenizer": "siglip",
    "Speech2TextTokenizer": "speech_to_text",
    "SpeechT5Tokenizer": "speecht5",
    "SplinterTokenizer": "splinter",
    "T5Tokenizer": "mt5 musicgen musicgen_melody switch_transformers t5",
    "TapasTokenizer": "tapas",
    "Tipsv2Tokenizer": "tipsv2",
    "TokenizersBackend": (
        "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr "
        "ernie4_5 ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe "
        "glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe "
        "granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm internlm2 "
        "internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash "
        "minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 modernbert "
        "modernbert-decoder molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 "
        "olmo_hybrid omniasr opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe "
        "pix2struct pocket_tts smolvlm stablelm step3_vl umt5 vipllava xlm-roberta-xl"
    ),
    "UdopTokenizer": "udop",
    "VideoPrismTokenizer": "videoprism",
    "VitsTokenizer": "vits",
    "Wav2Vec2CTCTokenizer": (
        "data2vec-audio hubert unispeech unispeech-sat wav2vec2 wav2vec2-bert wav2vec2-conformer"
    ),
    "Wav2Vec2PhonemeCTCTokenizer": "wav2vec2_phoneme",
    "WhisperTokenizer": "whisper",
    "XGLMTokenizer": "xglm",
    "XLMRobertaTokenizer": "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod",
    "XLMTokenizer": "xlm",
    "XLNetTokenizer": "xlnet",
}
BY_MODEL = {model: name for name, models in _MODELS.items() for model in models.split()}
_UNCONFIGURED = (
    "barthez bartpho bert-japanese bertweet byt5 code_llama cpm herbert mbart50 mega mluke myt5 "
    "nezha nllb nougat phobert qdqbert realm retribert wav2vec2_phoneme"
)
#: The class for a folder that names none, if it is not the class of its `model_type`. These models
#: have no configuration of their own, or share another model's.
UNNAMED = dict.fromkeys(_UNCONFIGURED.split(), "TokenizersBackend") | {"gpt-sw3": "GPT2Tokenizer"}
_MISNAMED = (
    "arctic camembertv2-base chatlm cohere_asr ernie4_5 ernie4_5_moe fuyu h2ovl_chat "
    "hyperclovax hyperclovax_vision_v2 hyperclovax_vlm internlm2 internlm3 iquestcoder jamba "
    "llava llava_next minicpm3 minicpmv minimax_m2 modernbert modernbert-decoder molmo molmo2 "
    "nemotron nvfp4 opencua openvla paddleocr_vl phi3 phi3_v phimoe qwen2 qwen3_5 qwen3_5_moe "
    "qwen3_5_moe_text qwen4_exp siglip2 smolvlm step3_vl vipllava"
)
#: Models whose folders often name a wrong class: the class of the `model_type` counts.
MISNAMED = frozenset(_MISNAMED.split())
#: Classes that use `tokenizer.json` unchanged. An unknown class name means the same.
PLAIN = frozenset({"TokenizersBackend", "PythonBackend", "PreTrainedTokenizer", "BloomTokenizer"})
_IN_PYTHON = (
    "Bartpho BertGeneration BertJapanese Bertweet BioGpt BlenderbotSmall ByT5 CTRL Canine Clvp "
    "CpmAnt Cpm Dia Esm FSMT FastSpeech2Conformer Flaubert GPTNeoXJapanese GPTSw3 M2M100 Marian "
    "Mgpstr MyT5 PLBart Perceiver Phobert Pop2Piano ProphetNet RoCBert Siglip Speech2Text SpeechT5 "
    "Tapas Vits Wav2Vec2CTC Wav2Vec2PhonemeCTC XLM"
)
_OF_THEIR_OWN = "Esmc MLuke RoFormer Splinter Tipsv2 VideoPrism"
_WITH_MORE = "LayoutLMv2 LayoutLMv3 LayoutXLM Luke MarkupLM"
_DECODING = "Lasr Parakeet"
#: Why tokctl does not run a class, by its name.
REFUSED = {
    **dict.fromkeys(
        (f"{name}Tokenizer" for name in _IN_PYTHON.split()),
        "is a program in Python that does not read tokenizer.json",
    ),
    **dict.fromkeys(
        (f"{name}Tokenizer" for name in _OF_THEIR_OWN.split()),
        "builds a pipeline of its own that tokctl does not know",
    ),
    **dict.fromkeys(
        (f"{name}Tokenizer" for name in _WITH_MORE.split()),
        "takes more than a text: words with their places, tags or entities",
    ),
    **dict.fromkeys(
        (f"{name}Tokenizer" for name in _DECODING.split()),
        "leaves out repeated ids when it decodes",
    ),
    "NougatTokenizer": "leaves parts of a text out before it spells bytes",
    **dict.fromkeys(
        ("DPRContextEncoderTokenizerFast", "DPRQuestionEncoderTokenizerFast"),
        "keeps tokenizer.json or not, by its config.json",
    ),
    "BertTokenizerLegacy": "is a program in Python that does not read tokenizer.json",
    "DPRReaderTokenizer": "takes more than a text: questions with titles and passages",
    "MistralCommonBackend": "is mistral-common, which reads tekken.json",
    "RagTokenizer": "is two tokenizers in folders of their own",
    "SeamlessM4TTokenizer": "puts other tokens around a text by how it is called",
}


#: The class that uses `tokenizer.json` unchanged.
BACKEND = "TokenizersBackend"
#: The prefix for a class whose code is in the folder, or in another one.
OWN_CODE = "code: "
_MISTRAL = "MistralCommonBackend"
_AS_IT_STANDS = "name its tokenizer.json to read that file as it stands: -m {}/tokenizer.json"


def chosen(config: Json, model: Json, document: Json | None, *, tekken: bool) -> str:
    """Return the name of the class that `transformers` uses for a folder, without `Fast`.

    A class with its own code has the prefix `OWN_CODE`.

    Args:
        config: the content of `tokenizer_config.json`.
        model: the content of `config.json`.
        document: the content of `tokenizer.json`, or None.
        tekken: whether there is a `tekken.json`, which mistral-common reads if it is installed.
    """
    kind = _text(model, "model_type")
    registered = BY_MODEL.get(kind, "")
    own = _bare(_text(config, "tokenizer_class"))
    given = own or _bare(_text(model, "tokenizer_class"))
    misnamed = kind in MISNAMED
    code = own_code(config)
    if code and not misnamed:
        return f"{OWN_CODE}{code:.80}"
    if not code:
        misnamed = misnamed or _text(model, "model_name") in MISNAMED
        is_llama = given == "LlamaTokenizer" and registered != _MISTRAL and not misnamed
        if is_llama and document is not None and has_byte_level(document):
            return BACKEND
        if given and registered and registered != given:
            if (
                not misnamed
                and f"{given}Fast" in REFUSED
                and given + "Fast" in _names(config, model)
            ):
                return f"{given}Fast"
            name = registered if misnamed else given
            if registered not in (BACKEND, _MISTRAL) and is_class(name):
                return name
            return _MISTRAL if registered == _MISTRAL and tekken else BACKEND
    name = given or UNNAMED.get(kind, registered) or BACKEND
    return BACKEND if name == _MISTRAL and not given and not tekken else name


def is_class(name: str) -> bool:
    """Return whether `name` is a class that does more than read `tokenizer.json`."""
    return name in CLASSES or name in REFUSED


def refused(name: str, folder: str) -> TokctlError | None:
    """Return the error for a class that tokctl does not run, or None if tokctl runs the class."""
    hint = _AS_IT_STANDS.format(folder)
    if name.startswith(OWN_CODE):
        code = name.removeprefix(OWN_CODE)
        return Unsupported(
            f"its tokenizer is a program of its own ({code}), which tokctl does not run", hint
        )
    return Unsupported(f"its class {name} {REFUSED[name]}", hint) if name in REFUSED else None


def own_code(config: Json) -> str:
    """Return the class with its own code that the configuration names, or an empty text."""
    found = config.get("auto_map")
    if isinstance(found, dict):
        found = found.get("AutoTokenizer")
    if isinstance(found, (list, tuple)):
        return next((name for name in reversed(found) if isinstance(name, str)), "")
    return found if isinstance(found, str) else ""


def _text(data: Json, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _names(config: Json, model: Json) -> tuple[str, str]:
    return _text(config, "tokenizer_class"), _text(model, "tokenizer_class")


def _bare(name: str) -> str:
    return name.removesuffix("Fast")


def has_byte_level(value: Any, depth: int = 0) -> bool:
    """Return whether `value`, a part of a `tokenizer.json`, contains a ByteLevel component."""
    if depth > 12 or not isinstance(value, (dict, list)):
        return False
    if isinstance(value, list):
        return any(has_byte_level(one, depth + 1) for one in value)
    if value.get("type") == "ByteLevel":
        return True
    return any(has_byte_level(one, depth + 1) for key, one in value.items() if key != "model")
