"""GGUF, the files of llama.cpp, read only: the vocabulary in their metadata.

What a vocabulary means is what llama.cpp does with it (`src/llama-vocab.cpp`), also where that
is not what the library does that the model came from: `special="none"` here is its
`parse_special = false`, `special="all"` is `true`.
"""

from __future__ import annotations

from typing import Any

import regex

from tokctl._native import ModelFile
from tokctl.errors import TokctlError
from tokctl.formats import charsmap
from tokctl.formats.contract import Source, unless_damaged
from tokctl.formats.gguf import metadata, pre_tokenizers
from tokctl.formats.gguf.vocabulary import (
    Vocabulary,
    added,
    surrounding_ids,
    template_of,
    vocabulary,
)
from tokctl.formats.huggingface.models import NO_COLUMNS, fill, merge_ids, token_ids
from tokctl.formats.sentencepiece import BYTE, NORMAL, UNUSED
from tokctl.model import FilledRecipe, Marker, Merge, Origin, Recipe, byte_level
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import DECODERS, NORMALIZERS, PRE_TOKENIZERS, AddedToken, Part

# -- SentencePiece's BPE (`llm_tokenizer_spm`) ---------------------------------------

SPACE = "▁"
#: More ways than this to split control tokens in two are no vocabulary's.
_MOST_SPLITS = 1 << 24
_DEEPEST = 200


def read_llama(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    falls_back = _falls_back(found)
    reserved = {found.ids[token.decode()] for token in BYTE_TOKENS} if falls_back else set()
    _check_unmade(found, sorted(found.special | reserved))
    tokens = added(found, [id_ for id_ in found.user_defined if SPACE in found.texts[id_]])
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 0)
    unk_token = found.texts[unknown] if unknown in found.special and unknown is not None else None
    if unk_token is None and not falls_back:
        raise TokctlError("it has neither an unknown token nor a token for each byte")
    prefix = found.keys.get("tokenizer.ggml.add_space_prefix", True)
    around = surrounding_ids(found, begins=True, ends=False, begin=1, end=2)
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        normalizers=spaces(prefix),
        segmentation="ranks",
        unk_token=unk_token,
        byte_fallback=falls_back,
        fuse_unknown=True,
        precision="single",
        post_processors=template_of(found, tokens, *around),
        decoders=decoders(prefix, falls_back),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in found.texts],
        "scores": found.scores,
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def spaces(prefix: bool) -> tuple[Part, ...]:
    """`▁` for each space, and before the text."""
    parts = [NORMALIZERS.part("prepend", text=" ")] if prefix else []
    return (*parts, NORMALIZERS.part("replace", pattern=" ", content=SPACE))


def decoders(prefix: bool, falls_back: bool) -> tuple[Part, ...]:
    """A space for each `▁`, but none for the one that was put before the text."""
    parts = [DECODERS.part("replace", pattern=SPACE, content=" ")]
    if falls_back:
        parts.append(DECODERS.part("byte-fallback"))
    parts.append(DECODERS.part("fuse"))
    if prefix:
        parts.append(DECODERS.part("strip", content=" ", start=1))
    return tuple(parts)


def _falls_back(found: Vocabulary) -> bool:
    there = sum(token.decode() in found.ids for token in BYTE_TOKENS)
    if there not in (0, len(BYTE_TOKENS)):
        raise TokctlError(f"it has tokens for {there} of the 256 bytes, and not for all of them")
    return there > 0


def _check_unmade(found: Vocabulary, ids: list[int]) -> None:
    """TokctlError where merges of ordinary text make one of these tokens: there they do, here
    such tokens are apart."""
    known: dict[str, bool] = {}
    left = _MOST_SPLITS

    def made(text: str, depth: int = 0) -> bool:
        """Is it a character, or a token of two that are made?"""
        nonlocal left
        if len(text) == 1:
            return True
        if text not in found.ids:
            return False
        if text not in known:
            left -= len(text) ** 2
            if left < 0 or depth > _DEEPEST:
                raise TokctlError("its tokens can be made in more ways than tokctl checks")
            known[text] = False
            for at in range(1, len(text)):
                if made(text[:at], depth + 1) and made(text[at:], depth + 1):
                    known[text] = True
                    break
        return known[text]

    for id_ in ids:
        if made(found.texts[id_]):
            raise TokctlError(
                f"its control token {found.texts[id_]!r:.80} is made of ordinary text, too, by "
                "merging"
            )


# -- GPT-2's byte-level BPE (`llm_tokenizer_bpe`) ------------------------------------

_IN_TEXT = frozenset(range(256)) - byte_level.NEVER_IN_UTF8
#: What may be one pre-token: no pattern puts more side by side.
_ONE_PRE_TOKEN = regex.compile(r"\P{L}?\p{L}+|[^\p{L}\p{N}]+|\p{N}+")


def read_gpt2(found: Vocabulary, pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    if found.keys.get("tokenizer.ggml.pre") in _OF_CHARACTERS and pattern is None:
        return read_gemma4(found, None)
    splitting = pre_tokenizers.named(found.keys.get("tokenizer.ggml.pre", ""), pattern)
    pairs = _pairs(found.keys.get("tokenizer.ggml.merges"))
    # llama.cpp drops a byte without a token in silence; here it is an error, as it is for others.
    has_every_byte = byte_level.BYTES.keys() <= found.ids.keys() - {
        found.texts[id_] for id_ in found.special
    }
    lefts, rights, made = _merges(found, pairs)
    tokens = added(found, made)
    _check_apart(found, [token.id for token in tokens if not token.ordinary], splitting.whole_words)
    default = 11 if splitting.has_default_ends else None
    around = surrounding_ids(found, begins=splitting.begins, ends=False, begin=default, end=11)
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        pre_tokenizers=splitting.parts,
        units="bytes",
        alphabet="bytes" if has_every_byte else "seen",
        whole_words=splitting.whole_words,
        post_processors=template_of(found, tokens, *around),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    return recipe, _merging(found, recipe, (lefts, rights, made), tokens)


def _merging(
    found: Vocabulary,
    recipe: Recipe,
    merges: tuple[list[int], list[int], list[int]],
    tokens: list[AddedToken],
) -> dict[str, Any]:
    """What a model by merges has beside its recipe."""
    lists = ModelFile.of(
        list(found.texts), list(merges), scores=[], scored=False, columns=NO_COLUMNS
    )
    core = fill(lists, recipe, tokens)
    return {
        "tokens": core.tokens(),
        "merges": list(map(Merge._make, zip(*core.merge_columns(), strict=True))),
        "added_tokens": tuple(tokens),
    }


def _pairs(merges: Any) -> list[list[str]]:
    if not isinstance(merges, list) or (merges and not isinstance(merges[0], str)):
        raise ValueError("it holds no list of merges")
    # Of a pair that is there twice, the first counts.
    pairs = [merge.split(" ") for merge in dict.fromkeys(merges)]
    for step, pair in enumerate(pairs, 1):
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"merge {step} is {' '.join(pair)!r:.80}, which is no pair")
    return pairs


def _merges(found: Vocabulary, pairs: list[list[str]]) -> tuple[list[int], list[int], list[int]]:
    lefts, rights = merge_ids(found.ids, pairs)
    return lefts, rights, token_ids(found.ids, ["".join(pair) for pair in pairs])


def _check_apart(found: Vocabulary, apart: list[int], whole_words: bool) -> None:
    """TokctlError where ordinary text is one of these tokens there: by itself, as a byte, or as a
    pre-token that is looked up."""
    for id_ in apart:
        text = found.texts[id_]
        looked_up = whole_words and text.isascii() and _ONE_PRE_TOKEN.fullmatch(text)
        is_byte = byte_level.BYTES.get(text) in _IN_TEXT
        if is_byte or (looked_up and id_ in found.special):
            raise TokctlError(
                f"its control token {text!r:.80} is found in ordinary text, too, as llama.cpp "
                "looks words up"
            )


# -- Gemma 4's BPE over characters (`llm_tokenizer_bpe`, too) -------------------------

#: Names of the pre-tokenizer that means it.
_OF_CHARACTERS = ("gemma4", "granite-embed-multi-311m")


def read_gemma4(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has.

    A run of line feeds that is a token is one, and so it is found here: as an added token. (One
    that is none has no ids there, it ends the program.)
    """
    if not _falls_back(found):
        raise TokctlError("it has no tokens for bytes, and llama.cpp drops what has no token")
    pairs = _pairs(found.keys.get("tokenizer.ggml.merges"))
    lefts, rights, made = _merges(found, pairs)
    reserved = {found.ids[token.decode()] for token in BYTE_TOKENS}
    runs = {id_ for text, id_ in found.ids.items() if not text.strip("\n")}
    alone = {id_ for text, id_ in found.ids.items() if len(text) == 1}
    tokens = added(found, {*made, *alone} - found.special, found_first=runs)
    for id_ in [*reserved, *(token.id for token in tokens if token.special)]:
        if id_ in alone or id_ in made:
            raise TokctlError(
                f"its control token {found.texts[id_]!r:.80} is made of ordinary text, too"
            )
    around = surrounding_ids(found, begins=True, ends=False, begin=None, end=None)
    # Whatever the file says.
    around = (found.id_of("bos"), around[1])
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        normalizers=spaces(prefix=False),
        pre_tokenizers=(_LINE_FEEDS,),
        byte_fallback=True,
        fuse_unknown=True,
        post_processors=template_of(found, tokens, *around),
        decoders=decoders(prefix=False, falls_back=True),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    return recipe, _merging(found, recipe, (lefts, rights, made), tokens)


_LINE_FEEDS = PRE_TOKENIZERS.part("split", pattern=r"\n+", regex=True, behaviour="isolated")


# -- WordPiece (`llm_tokenizer_wpm`) -------------------------------------------------

_MARK = "##"
_ONE_WORD = regex.compile(r"[^\s\p{P}$+<=>^`|~]+")
#: Hangul syllables by their first letter (Unicode, 3.12): so many each, from U+AC00.
_SYLLABLES, _EACH, _LETTERS, _FIRST = 0xAC00, 588, 19, 0x1100


def read_bert(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    if SPACE in found.ids:
        raise TokctlError(
            f"it has a token {SPACE!r}, which llama.cpp finds at the start of words it lacks"
        )
    # Where user-defined tokens start words, or go on them, they are found as others are.
    tokens = added(found, found.user_defined)
    for token in tokens:
        if token.special and _ONE_WORD.fullmatch(token.text):
            raise TokctlError(f"its control token {token.text!r:.80} goes on ordinary words, too")
    unknown = found.id_of("unknown", 100)
    if unknown is None or unknown not in found.special:
        raise TokctlError("it has no unknown token that is a control token")
    begin, end = found.id_of("bos", 101), found.id_of("seperator", 102)
    recipe = Recipe(
        name="gguf",
        algorithm="wordpiece",
        normalizers=_normalizers(found.keys),
        pre_tokenizers=("bert",),  # type: ignore[arg-type]
        marker=Marker("continuation", _MARK),
        segmentation="longest-match",
        unk_token=found.texts[unknown],
        post_processors=template_of(found, tokens, begin, end),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    apart = {token.id for token in tokens if token.special}
    spelled = [
        text if id_ in apart else text[1:] if text.startswith(SPACE) else _MARK + text
        for id_, text in enumerate(found.texts)
    ]
    if len(set(spelled)) != len(spelled):
        raise TokctlError("two of its tokens are spelled alike as BERT spells them")
    parts = {"tokens": [text.encode() for text in spelled], "added_tokens": tuple(tokens)}
    return recipe, parts


def _normalizers(keys: dict[str, Any]) -> tuple[Part, ...]:
    lowercase = keys.get("tokenizer.ggml.normalizer.lowercase", True)
    strip = keys.get("tokenizer.ggml.normalizer.strip_accents", lowercase)

    def replace(pattern: str, content: str) -> Part:
        return NORMALIZERS.part("replace", pattern=pattern, content=content, regex=True)

    parts = []
    if strip:
        for letter in range(_LETTERS):
            start = _SYLLABLES + letter * _EACH
            pattern = f"[{chr(start)}-{chr(start + _EACH - 1)}]"
            parts.append(replace(pattern, chr(_FIRST + letter)))
        parts.append(NORMALIZERS.part("nfd"))
    parts.append(replace(r"(?!\s)[\p{Cc}\p{Cf}\p{Co}\uFFFD]", ""))
    if strip:
        parts.append(NORMALIZERS.part("strip-accents"))
    if lowercase:
        # It knows one small letter for each capital, and this has two in Unicode.
        parts.append(NORMALIZERS.part("replace", pattern="\u0130", content="i"))
        parts.append(NORMALIZERS.part("lowercase"))
    spacing = NORMALIZERS.part(
        "bert", clean_text=False, cjk_spacing=True, strip_accents=False, lowercase=False
    )
    return (*parts, spacing)


# -- SentencePiece's Unigram (`llm_tokenizer_ugm`) -----------------------------------

#: Characters of all that the rules leave alone.
_MOST_KEPT = 1 << 20


def read_t5(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    if BYTE in found.types:
        raise TokctlError(
            "it is a Unigram model with tokens for bytes, which llama.cpp leaves unused"
        )
    if any(found.types[id_] in (NORMAL, UNUSED) for id_ in found.special):
        raise TokctlError("one of its ordinary tokens is spelled as a control token")
    user_defined = set(found.user_defined)
    tokens = added(found, user_defined)
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 2)
    if unknown is None or unknown not in found.special:
        raise TokctlError("it has no unknown token that is a control token")
    scores = [0.0 if id_ in user_defined else score for id_, score in enumerate(found.scores)]
    normal = [score for score, kind in zip(scores, found.types, strict=True) if kind == NORMAL]
    if not normal:
        raise ValueError("it has no tokens but special ones")
    unused = [score for score, kind in zip(scores, found.types, strict=True) if kind == UNUSED]
    if min(normal) > min([*unused, *[0.0 for _ in user_defined]], default=min(normal)):
        raise TokctlError("its lowest score is of a token that llama.cpp does not count")
    # Control tokens don't count for what an unknown character costs.
    none = max(0.0, min(normal))
    scores = [none if id_ in found.special else score for id_, score in enumerate(scores)]
    prefix = found.keys.get("tokenizer.ggml.add_space_prefix", False)
    around = surrounding_ids(found, begins=False, ends=True, begin=None, end=1)
    recipe = Recipe(
        name="gguf",
        algorithm="unigram",
        normalizers=(*_rules(found), *_spaces(found.keys, prefix)),
        segmentation="viterbi",
        unk_token=found.texts[unknown],
        fuse_unknown=True,
        post_processors=template_of(found, tokens, *around),
        decoders=decoders(prefix, falls_back=False),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in found.texts],
        "scores": scores,
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def _rules(found: Vocabulary) -> list[Part]:
    """The rules for normalizing, if there are any."""
    given = found.keys.get("tokenizer.ggml.precompiled_charsmap")
    keep = _kept([found.texts[id_] for id_ in found.user_defined])
    if given is None:
        return []
    if getattr(given, "typecode", " ") not in "bB":
        raise ValueError("its rules for normalizing are no list of bytes")
    return [charsmap.part_of(given.tobytes(), keep)]


def _kept(texts: list[str]) -> list[str]:
    """What the rules leave alone: llama.cpp passes over all that begins as a user-defined token
    does, byte by byte, whether or not the token goes on."""
    if not all(map(str.isascii, texts)):
        wrong = next(text for text in texts if not text.isascii())
        raise TokctlError(
            f"it has the user-defined token {wrong!r:.80}, and llama.cpp takes characters apart "
            "that begin with the same byte"
        )
    if sum(len(text) ** 2 for text in texts) > _MOST_KEPT:
        raise TokctlError("its user-defined tokens are longer in all than tokctl reads")
    return sorted({text[:end] for text in texts for end in range(1, len(text) + 1)})


def _spaces(keys: dict[str, Any], prefix: bool) -> list[Part]:
    """What it does with spaces, behind its rules."""
    parts = []
    if keys.get("tokenizer.ggml.remove_extra_whitespaces", False):
        # Every word gets a space then, the first one also.
        parts.append(NORMALIZERS.part("strip-spaces"))
        parts.append(NORMALIZERS.part("collapse-spaces"))
        parts.append(NORMALIZERS.part("prepend", text=" "))
    elif prefix:
        pattern = r"\A(?= *[^ ])"
        parts.append(NORMALIZERS.part("replace", pattern=pattern, content=" ", regex=True))
    parts.append(NORMALIZERS.part("replace", pattern=" ", content=SPACE))
    return parts


# -- the format ----------------------------------------------------------------------


#: Models that tokctl reads, by what `tokenizer.ggml.model` calls them.
_MODELS = {
    "llama": read_llama,
    "gpt2": read_gpt2,
    "gemma4": read_gemma4,
    "bert": read_bert,
    "t5": read_t5,
}
_ABOUT = {
    "no_vocab": "the file holds none",
    "none": "the file holds none",
    "rwkv": "RWKV's matches the longest token of a trie of bytes",
    "plamo2": "PLaMo 2's chooses by scores of suffixes",
    "hybriddna": "it cuts DNA into stretches of fixed length",
    "whitespace": "it looks whole words up, and merges the others",
}
_TEMPLATE = "tokenizer.chat_template"
_TEXTS = {
    *("general.name", "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"),
    _TEMPLATE,
}
_FLAGS = {
    f"tokenizer.ggml.{name}"
    for name in (
        *("add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix"),
        *("remove_extra_whitespaces", "normalizer.lowercase", "normalizer.strip_accents"),
    )
}
_WANTED = frozenset(
    {
        *_TEXTS,
        *_FLAGS,
        *(
            f"tokenizer.ggml.{name}"
            for name in ("tokens", "token_type", "scores", "merges", "precompiled_charsmap")
        ),
        *(
            f"tokenizer.ggml.{name}_token_id"
            for name in (
                *("bos", "eos", "eot", "eom", "unknown", "seperator", "fim_pre", "fim_suf"),
                *("fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"),
            )
        ),
    }
)


def is_one(source: Source) -> bool:
    """Does it begin with GGUF?"""
    return source.head.startswith(metadata.MAGIC)


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where it is not whole."""
    with unless_damaged(source.name):
        keys = metadata.read(source, _WANTED)
        _check(keys)
        return _model(keys, source.hints.pattern)


def _check(keys: dict[str, Any]) -> None:
    """ValueError where a value is of a wrong type."""
    for key, value in keys.items():
        kind = str if key in _TEXTS else bool if key in _FLAGS else None
        if kind is not None and type(value) is not kind:
            raise ValueError(f"the value of {key!r} is {value!r:.40}")
    if "tokenizer.ggml.model" not in keys:
        raise ValueError("it holds no vocabulary")


def _model(keys: dict[str, Any], pattern: str | None) -> FilledRecipe:
    kind = keys["tokenizer.ggml.model"]
    if kind not in _MODELS:
        raise TokctlError(
            f"its tokenizer is {kind!r:.80}: {_ABOUT.get(kind, 'tokctl does not know it')}",
            f"tokctl reads {', '.join(_MODELS)}",
        )
    found = vocabulary(keys)
    recipe, parts = _MODELS[kind](found, pattern)
    title, pre = keys.get("general.name", ""), keys.get("tokenizer.ggml.pre", "")
    origin = f"{title} ({pre})" if title and pre else title or pre
    return FilledRecipe(
        recipe,
        **parts,
        origin=Origin("gguf", origin),
        companions={"chat_template.jinja": keys[_TEMPLATE]} if _TEMPLATE in keys else {},
    )
