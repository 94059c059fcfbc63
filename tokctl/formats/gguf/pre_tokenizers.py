"""Pre-tokenizers by the names in GGUF files.

A file has no pattern, only a name in `tokenizer.ggml.pre`. llama.cpp knows the patterns
(`llm_tokenizer_bpe` and `llama_vocab::impl::load` in `src/llama-vocab.cpp`). They sometimes differ
from the patterns of a model's first library, and hand-written scanners (`src/unicode.cpp`)
sometimes differ from the patterns. The pre-tokenizers here do what llama.cpp does:

- Contractions such as `'s` also match in capitals, but not with the long s, which Unicode folds to
  s. So the patterns of Llama 3 and Qwen 2 are not tokctl's native scanners of these names.
- There is one category of letters: a letter outside ASCII counts both as a capital and as a small
  letter.
- Several patterns apply in order. Each isolates its matches in the parts that earlier patterns
  left.
"""

from __future__ import annotations

from typing import NamedTuple

from tokctl.core.errors import Unsupported
from tokctl.model.parts import PRE_TOKENIZERS, Part

_ANY_CASE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_OTHERS = r" ?[^\s\p{L}\p{N}]+"
_LINES = r"\s*[\r\n]+"
_SPACES = r"\s+(?!\S)|\s+"
_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_PUNCTUATED = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
_MARKED = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_GPT2 = "gpt2"
_DIGIT = "digits-individual"


def _cl100k(number: str, others: str = _OTHERS + r"[\r\n]*", lines: str = _LINES) -> str:
    """Return the pattern of cl100k_base, with other rules for numbers, symbols or line ends."""
    return f"regex:{_ANY_CASE}|{_LETTERS}|{number}|{others}|{lines}|{_SPACES}"


def _o200k(letter: str, end: str, number: str, cased: bool = True) -> str:
    """Return the pattern of o200k_base, with case distinguished only in ASCII, or not at all."""
    small, capital = letter, letter
    if cased:
        small, capital = rf"(?:(?={letter})[^A-Z])", rf"(?:(?={letter})[^a-z])"
    start = r"[^\r\n\p{L}\p{N}]?"
    words = f"{start}{capital}*{small}+{end}|{start}{capital}+{small}*{end}"
    return rf"regex:{words}|{number}|{_OTHERS}[\r\n/]*|{_LINES}|{_SPACES}"


#: The letters in DeepSeek's first pattern: letters with case in an older Unicode version.
_CASED = (
    "A-Za-z\xb5\xc0-\xd6\xd8-\xf6\xf8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af"
    "\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1"
    "\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5"
    "\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a"
    "\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b"
    "\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
    "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-"
    "\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-"
    "\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-"
    "\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
#: White space never matches a class of characters in llama.cpp, even if a range contains it.
_IDEOGRAPHS = "regex:(?:(?!\\s)[\u0800-\u9fa5\uac00-\ud7ff])+"
#: A run of digits: one to three leading digits, then groups of three. Text before a run joins its
#: first group.
_THREES = r"regex:\P{N}*+(?<!\p{N})\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N}))|\p{N}{3}|\P{N}+"
#: The parts into which `(?=(\d{3})+(?!\d))`, which matches the empty text, splits numbers. ASCII
#: digits form groups of three from the right. The leftover digits join the text before them. Other
#: numbers (`²`, `٣`) join the text before them, too.
_FIRST = "(?:[0-9]{1,2}(?=(?:[0-9]{3})*+(?![0-9])))"
_OTHER = r"[^\P{N}0-9]"
_DIGIT_CUTS = rf"regex:(?:(?<!\p{{N}}){_FIRST}|[0-9]{{3}}|(?={_OTHER}))(?:{_OTHER}++{_FIRST}?+)*+"

#: Pre-tokenizers in text form, by llama.cpp's names.
_SPLITTINGS: dict[str, tuple[str, ...]] = {
    "default": (r"regex:[\p{P}\$\+<=>\^~\|]+", _GPT2, r"regex:\p{N}+", "regex:[0-9]{3}"),
    "llama3": (_cl100k(r"\p{N}{1,3}"),),
    "qwen2": (_cl100k(r"\p{N}"),),
    "qwen35": (
        rf"regex:{_ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}|"
        rf" ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_LINES}|{_SPACES}",
    ),
    "jais-2": (
        _cl100k(r"\p{N}{1,3}").removesuffix(_SPACES)
        + "|".join(rf"\s{{{2**n}}}(?!\S)" for n in range(9, 1, -1))
        + r"|\s{1,2}(?!\S)|\s",
    ),
    "deepseek-llm": (
        r"regex:[\r\n]",
        rf"regex:\s?[{_CASED}]+",
        "regex:\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001\u3002]+",
        r"regex:\s+\Z",
        _IDEOGRAPHS,
        r"regex:\p{N}+",
    ),
    "deepseek-coder": (
        r"regex:[\r\n]",
        r"regex:\s?\p{L}+",
        r"regex:\s?\p{P}+",
        _IDEOGRAPHS,
        _DIGIT,
    ),
    "deepseek-v3": ("deepseek-v3",),
    "spark2_5": (
        r"regex:\p{N}{1,3}",
        f"regex:{_KANA}",
        rf"regex:{_PUNCTUATED}|{_MARKED}| ?[\p{{P}}\p{{S}}]+|[\r\n]|{_SPACES}",
        _DIGIT,
    ),
    "youtu": (
        "regex:[\uac00-\ud7a3\u3131-\u318e]+|"
        "[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|"
        f"[\u3105-\u312f]+|{_KANA}",
        _o200k(r"[\p{L}\p{M}]", f"{_ANY_CASE}?", r"\p{N}", cased=False),
    ),
    "falcon": (r"regex:[\p{P}\$\+<=>\^~\|`]+", _GPT2, "regex:[0-9]{3}"),
    "starcoder": (_DIGIT, _GPT2),
    "gpt-2": (_GPT2,),
    "bloom": ("regex: ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+",),
    "viking": ("regex: ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+", _DIGIT),
    "tekken": (_o200k(r"\p{L}", "", r"\p{N}"),),
    "gpt-4o": (_o200k(r"\p{L}", f"{_ANY_CASE}?", r"\p{N}{1,3}"),),
    "granite-embed-multi-97m": (_o200k(r"[\p{L}\p{M}]", f"{_ANY_CASE}?", r"\p{N}{1,3}"),),
    "tiny_aya": (
        _THREES,
        _o200k(r"[\p{L}\p{M}]", f"{_ANY_CASE}?", r"\p{N}{1,3}", cased=False),
    ),
    "chameleon": (
        "regex:<sentinel:[0-9]+>",
        "regex:IMGIMG[A-I]{1,4}Z",
        r"regex:[\t\n]|    |  ",
        _DIGIT,
        r"regex:[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
    ),
    "bailingmoe": (
        rf"regex:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_LETTERS}|\p{{N}}|"
        rf"{_OTHERS}[\r\n]*|\s*[\r\n]|{_SPACES}",
    ),
    "seed-coder": (_cl100k(r"\p{N}", r" ?[^\s\p{L}\p{N}\r\n]+"),),
    "ufakzeka": (_cl100k(r"\p{N}").replace(f"{_ANY_CASE}|", ""),),
    "afmoe": (
        _THREES,
        "regex:[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f"
        "\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f"
        "\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+",
        rf"regex:{_PUNCTUATED}|{_MARKED}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES}|{_SPACES}",
    ),
    "laguna": (r"regex:[^\n]+|\n+", _cl100k(r"\p{N}")),
    "exaone-moe": (
        _cl100k(r"\p{N}", rf"{_OTHERS}[\r\n/]?", r"\s*[\r\n]").replace(
            _LETTERS, r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+"
        ),
    ),
    "superbpe": (r"regex:\p{N}+", _DIGIT_CUTS),
    "minicpm5": (r"regex:\p{N}{1,3}", _cl100k(r"\p{N}+")),
}

#: The names in files that share the meaning of one of llama.cpp's names.
_NAMES = {
    "default": ("", "default"),
    "llama3": (
        *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0"),
        *("lfm2", "jina-v5-nano", "dbrx", "smaug-bpe", "chatglm-bpe", "glm4", "glm5"),
    ),
    "qwen2": (
        *("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez", "hunyuan"),
        *("grok-2", "solar-open"),
    ),
    "deepseek-v3": ("deepseek-v3", "hunyuan-dense", "hy_v4", "joyai-llm"),
    "starcoder": (
        *("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"),
        "mellum2",
    ),
    "gpt-2": (
        *("gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de"),
        *("a.x-4.0", "mellum", "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe", "mpt"),
        *("olmo", "jais", "exaone4", "trillion", "granite-docling"),
    ),
    "bloom": ("bloom", "poro-chat", "gpt3-finnish"),
    "gpt-4o": ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"),
    "tiny_aya": ("tiny_aya", "cohere2moe"),
    "bailingmoe": ("bailingmoe", "bailingmoe2", "llada-moe"),
}
_KNOWN_NAMES = {name: meant for meant, names in _NAMES.items() for name in names}
_KNOWN_NAMES |= {name: name for name in _SPLITTINGS if name not in _NAMES}

#: Names with `ignore_merges`: a pre-token that is a token stays whole, whatever the merges say.
_KEEPS_WHOLE_WORDS = {
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
    *("jina-v5-nano", "minicpm5", "youtu", "glm4", "glm5", "tekken", "granite-embed-multi-97m"),
}
#: Names with a beginning-of-text token before each text unless the file says otherwise.
_ADDS_BOS = {
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
    *("jina-v5-nano", "tekken", "chameleon"),
}
#: Names for which the beginning-of-text token has no default id.
_NO_DEFAULT_BOS = {"chatglm-bpe", "glm4", "glm5"}

#: Unsupported names, with what llama.cpp does that no pattern expresses.
_UNSUPPORTED = {
    "sarvam-moe": "it merges characters, and drops those that it has no bytes for",
    "kimi-k2": "it works without merges",
    "whitespace": "it is another kind of model",
}


class Splitting(NamedTuple):
    """The meaning of a pre-tokenizer's name.

    Attributes:
        parts: the pre-tokenizers.
        whole_words: whether a pre-token that is a token stays whole.
        adds_bos: whether a text begins with a special token unless the file says otherwise.
        has_default_bos: whether the beginning-of-text token has a default id.
    """

    parts: tuple[Part, ...]
    whole_words: bool
    adds_bos: bool
    has_default_bos: bool


def splitting_named(name: str, pattern: str | None) -> Splitting:
    """Return the meaning of a pre-tokenizer's name.

    Args:
        name: the value of `tokenizer.ggml.pre`.
        pattern: the caller's pre-tokenizers in text form, instead of the name's; None for the
            name's.

    Raises:
        TokctlError: the name is unknown or tokctl can't split the same way, and there is no
            pattern.
    """
    settings = (name in _KEEPS_WHOLE_WORDS, name in _ADDS_BOS, name not in _NO_DEFAULT_BOS)
    if pattern is not None:
        return Splitting(tuple(PRE_TOKENIZERS.parse_list(pattern)), *settings)
    if name not in _KNOWN_NAMES:
        reason = _UNSUPPORTED.get(name, "tokctl does not know it")
        raise Unsupported(
            f"its pre-tokenizer is {name!r:.80}: {reason}",
            "give the pattern if you know it, for example pattern='llama3'",
        )
    return Splitting(PRE_TOKENIZERS.steps(_SPLITTINGS[_KNOWN_NAMES[name]]), *settings)


#: Pre-tokenizers that are close to the meaning of a name, with what llama.cpp does differently.
_LONG_S = "that \u017f behind an apostrophe is read as s is"
_OTHER_DIGITS = "that other digits than 0 to 9 are split in threes, too"
_NEAREST: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {
    ("llama3",): ("llama3", (_LONG_S,)),
    ("cl100k",): ("llama3", (_LONG_S, "that white space at the end of a text stays together")),
    ("qwen2",): ("qwen2", (_LONG_S,)),
    ("o200k",): (
        "gpt-4o",
        (_LONG_S, "that words are split by case outside ASCII, too, and marks are part of them"),
    ),
    (r"regex:\p{N}+", "digit-cuts"): ("superbpe", (_OTHER_DIGITS,)),
    ("digits", "digit-cuts"): ("superbpe", (_OTHER_DIGITS,)),
    ("digit-groups",): ("superbpe", (_OTHER_DIGITS,)),
}


class NearestName(NamedTuple):
    """The name to write for pre-tokenizers.

    Attributes:
        name: the name in the file.
        losses: what llama.cpp does differently.
    """

    name: str
    losses: tuple[str, ...]


def nearest_name(parts: tuple[Part, ...], whole_words: bool) -> NearestName | None:
    """Return the name for these pre-tokenizers, or None if no name is close to their meaning.

    Of several names, one whose rule for whole pre-tokens equals `whole_words` comes first.
    """
    meanings = {
        PRE_TOKENIZERS.steps(parts): known_name for known_name, parts in _SPLITTINGS.items()
    }
    known_name = meanings.get(parts, "")
    losses: tuple[str, ...] = ()
    if not known_name:
        known_name, losses = _NEAREST.get(tuple(map(str, parts)), ("", ()))
    if not known_name:
        return None
    # A file without a name has the empty one, which also means `default`.
    names = [name for name in _NAMES.get(known_name, (known_name,)) if name]
    return NearestName(
        next(
            (candidate for candidate in names if (candidate in _KEEPS_WHOLE_WORDS) == whole_words),
            names[0],
        ),
        losses,
    )
