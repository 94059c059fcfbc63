"""GGUF, the files of llama.cpp: reading and writing the vocabulary in their metadata.

A vocabulary means what llama.cpp does with it (`src/llama-vocab.cpp`), even if the model's first
library does something else. tokctl's `special="none"` is llama.cpp's `parse_special = false`, and
`special="all"` is `true`.

A written file contains a vocabulary and no tensors, like llama.cpp's own `ggml-vocab-*.gguf`. Each
new file is read again before it is returned, and every difference from the model is a loss.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import regex

from tokctl._native import ModelFile
from tokctl.core.errors import TokctlError, Unsupported
from tokctl.formats import charsmap, merging, sentencepiece
from tokctl.formats.contract import (
    ANOTHER,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    companions_lost,
    lengths_lost,
    training_lost,
    unless_damaged,
)
from tokctl.formats.differences import differences
from tokctl.formats.gguf import metadata, pre_tokenizers
from tokctl.formats.gguf.vocabulary import (
    Vocabulary,
    added,
    surrounding_ids,
    template_of,
    vocabulary,
)
from tokctl.formats.huggingface.folder import parsed, roles_of
from tokctl.formats.huggingface.models import NO_COLUMNS, fill, merge_ids, token_ids
from tokctl.formats.registry import CONFIG
from tokctl.formats.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from tokctl.model import ImportedFrom, Marker, Merge, Model, Recipe, byte_level
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import DECODERS, NORMALIZERS, PRE_TOKENIZERS, AddedToken, Part

# -- SentencePiece's BPE (`llm_tokenizer_spm`) ---------------------------------------

SPACE = "▁"
#: Most work for checking how control tokens can be split, in squared characters. No real
#: vocabulary needs more.
_MOST_SPLITS = 1 << 24
_DEEPEST = 200


def read_llama(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a SentencePiece BPE vocabulary, and the model's other fields."""
    falls_back = _falls_back(found)
    reserved = {found.ids[token.decode()] for token in BYTE_TOKENS} if falls_back else set()
    _check_unmade(found, sorted(found.special | reserved))
    tokens = added(found, [id_ for id_ in found.user_defined if SPACE in found.texts[id_]])
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 0)
    unk_token = found.texts[unknown] if unknown in found.special and unknown is not None else None
    if unk_token is None and not falls_back:
        raise Unsupported("it has neither an unknown token nor a token for each byte", ANOTHER)
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
    """Return the normalizers that put `▁` for spaces and, with `prefix`, before the text."""
    parts = [NORMALIZERS.part("prepend", text=" ")] if prefix else []
    return (*parts, NORMALIZERS.part("replace", pattern=" ", content=SPACE))


def decoders(prefix: bool, falls_back: bool) -> tuple[Part, ...]:
    """Return the decoders that replace `▁` by a space, and with `prefix` remove the first space."""
    parts = [DECODERS.part("replace", pattern=SPACE, content=" ")]
    if falls_back:
        parts.append(DECODERS.part("byte-fallback", invalid="keep"))
    parts.append(DECODERS.part("fuse"))
    if prefix:
        parts.append(DECODERS.part("strip", content=" ", start=1))
    return tuple(parts)


def _falls_back(found: Vocabulary) -> bool:
    there = sum(token.decode() in found.ids for token in BYTE_TOKENS)
    if there not in (0, len(BYTE_TOKENS)):
        raise Unsupported(
            f"it has tokens for {there} of the 256 bytes, and not for all of them", ANOTHER
        )
    return there > 0


def _check_unmade(found: Vocabulary, ids: list[int]) -> None:
    """Raise TokctlError if merges of ordinary text can make one of the tokens `ids`.

    llama.cpp would make such a token from ordinary text, and tokctl would not.
    """
    known: dict[str, bool] = {}
    left = _MOST_SPLITS

    def made(text: str, depth: int = 0) -> bool:
        """Return whether `text` is a character, or a token that consists of two such texts."""
        nonlocal left
        if len(text) == 1:
            return True
        if text not in found.ids:
            return False
        if text not in known:
            left -= len(text) ** 2
            if left < 0 or depth > _DEEPEST:
                raise Unsupported("its tokens can be made in more ways than tokctl checks", ANOTHER)
            known[text] = False
            for at in range(1, len(text)):
                if made(text[:at], depth + 1) and made(text[at:], depth + 1):
                    known[text] = True
                    break
        return known[text]

    for id_ in ids:
        if made(found.texts[id_]):
            raise Unsupported(
                f"merging ordinary text can make its control token {found.texts[id_]!r:.80}",
                ANOTHER,
            )


# -- GPT-2's byte-level BPE (`llm_tokenizer_bpe`) ------------------------------------

_IN_TEXT = frozenset(range(256)) - byte_level.NEVER_IN_UTF8
#: Texts that can be one pre-token: no pattern keeps other characters together.
_ONE_PRE_TOKEN = regex.compile(r"\P{L}?\p{L}+|[^\p{L}\p{N}]+|\p{N}+")


def read_gpt2(found: Vocabulary, pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a byte-level BPE vocabulary, and the other fields of the model."""
    if found.keys.get("tokenizer.ggml.pre") in _OF_CHARACTERS and pattern is None:
        return read_gemma4(found, None)
    splitting = pre_tokenizers.named(found.keys.get("tokenizer.ggml.pre", ""), pattern)
    pairs = _pairs(found.keys.get("tokenizer.ggml.merges"))
    # llama.cpp silently drops a byte without a token. tokctl raises an error, as for other models.
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
    """Return the fields of a model by merges, apart from its recipe."""
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
    # Of equal merges, the first one counts.
    pairs = [merge.split(" ") for merge in dict.fromkeys(merges)]
    for step, pair in enumerate(pairs, 1):
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"merge {step} is {' '.join(pair)!r:.80}, which is not a pair")
    return pairs


def _merges(found: Vocabulary, pairs: list[list[str]]) -> tuple[list[int], list[int], list[int]]:
    lefts, rights = merge_ids(found.ids, pairs)
    return lefts, rights, token_ids(found.ids, ["".join(pair) for pair in pairs])


def _check_apart(found: Vocabulary, apart: list[int], whole_words: bool) -> None:
    """Raise TokctlError if llama.cpp finds one of these tokens in ordinary text.

    Such a token is one byte, or a control token that can be a whole pre-token and is looked up.
    """
    for id_ in apart:
        text = found.texts[id_]
        looked_up = whole_words and text.isascii() and _ONE_PRE_TOKEN.fullmatch(text)
        is_byte = byte_level.BYTES.get(text) in _IN_TEXT
        if is_byte or (looked_up and id_ in found.special):
            raise Unsupported(
                f"its control token {text!r:.80} is found in ordinary text, too, as llama.cpp "
                "looks words up",
                ANOTHER,
            )


# -- Gemma 4's BPE over characters (`llm_tokenizer_bpe`, too) -------------------------

#: The values of `tokenizer.ggml.pre` for this model.
_OF_CHARACTERS = ("gemma4", "granite-embed-multi-311m")


def read_gemma4(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a vocabulary like Gemma 4's, and the other fields of the model.

    In llama.cpp, a run of line feeds that is a token is always one token, so it is an added token
    here. (A run that is not a token makes llama.cpp abort.)
    """
    if not _falls_back(found):
        raise Unsupported(
            "it has no tokens for bytes, and llama.cpp drops text that has no token", ANOTHER
        )
    pairs = _pairs(found.keys.get("tokenizer.ggml.merges"))
    lefts, rights, made = _merges(found, pairs)
    reserved = {found.ids[token.decode()] for token in BYTE_TOKENS}
    runs = {id_ for text, id_ in found.ids.items() if not text.strip("\n")}
    alone = {id_ for text, id_ in found.ids.items() if len(text) == 1}
    tokens = added(found, {*made, *alone} - found.special, found_first=runs)
    for id_ in [*reserved, *(token.id for token in tokens if token.special)]:
        if id_ in alone or id_ in made:
            raise Unsupported(
                f"ordinary text can become its control token {found.texts[id_]!r:.80}", ANOTHER
            )
    around = surrounding_ids(found, begins=True, ends=False, begin=None, end=None)
    # llama.cpp begins a text with this token whatever the file says.
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
#: Hangul syllables, by their first letter (Unicode, 3.12): `_EACH` syllables for each of the
#: `_LETTERS` letters from `_FIRST`, starting at `_SYLLABLES`.
_SYLLABLES, _EACH, _LETTERS, _FIRST = 0xAC00, 588, 19, 0x1100


def read_bert(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a WordPiece vocabulary, and the other fields of the model."""
    if SPACE in found.ids:
        raise Unsupported(
            f"it has a token {SPACE!r}, which llama.cpp finds at the start of words that it does "
            "not know",
            ANOTHER,
        )
    # User-defined tokens can also start or continue ordinary words.
    tokens = added(found, found.user_defined)
    for token in tokens:
        if token.special and _ONE_WORD.fullmatch(token.text):
            raise Unsupported(
                f"its control token {token.text!r:.80} goes on ordinary words, too", ANOTHER
            )
    unknown = found.id_of("unknown", 100)
    if unknown is None or unknown not in found.special:
        raise Unsupported("it has no unknown token that is a control token", ANOTHER)
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
        raise Unsupported("two of its tokens are spelled alike as BERT spells them", ANOTHER)
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
        # llama.cpp has one small letter for each capital, and U+0130 has two in Unicode.
        parts.append(NORMALIZERS.part("replace", pattern="\u0130", content="i"))
        parts.append(NORMALIZERS.part("lowercase"))
    spacing = NORMALIZERS.part(
        "bert", clean_text=False, cjk_spacing=True, strip_accents=False, lowercase=False
    )
    return (*parts, spacing)


# -- SentencePiece's Unigram (`llm_tokenizer_ugm`) -----------------------------------

#: Largest sum of the squared lengths of user-defined tokens, whose prefixes the rules leave
#: unchanged.
_MOST_KEPT = 1 << 20


def read_t5(found: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a Unigram vocabulary, and the other fields of the model."""
    if BYTE in found.types:
        raise Unsupported(
            "it is a Unigram model with tokens for bytes, which llama.cpp leaves unused", ANOTHER
        )
    if any(found.types[id_] in (NORMAL, UNUSED) for id_ in found.special):
        raise Unsupported("one of its ordinary tokens is spelled as a control token", ANOTHER)
    user_defined = set(found.user_defined)
    tokens = added(found, user_defined)
    special = [token.text for token in tokens if token.special]
    unknown = found.id_of("unknown", 2)
    if unknown is None or unknown not in found.special:
        raise Unsupported("it has no unknown token that is a control token", ANOTHER)
    scores = [0.0 if id_ in user_defined else score for id_, score in enumerate(found.scores)]
    normal = [score for score, kind in zip(scores, found.types, strict=True) if kind == NORMAL]
    if not normal:
        raise ValueError("it has no tokens but special ones")
    unused = [score for score, kind in zip(scores, found.types, strict=True) if kind == UNUSED]
    if min(normal) > min([*unused, *[0.0 for _ in user_defined]], default=min(normal)):
        raise Unsupported(
            "its lowest score belongs to a token that llama.cpp does not count", ANOTHER
        )
    # The cost of an unknown character does not depend on the scores of control tokens.
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
    """Return the normalizer with the file's rules, if it has any."""
    given = found.keys.get("tokenizer.ggml.precompiled_charsmap")
    keep = _kept([found.texts[id_] for id_ in found.user_defined])
    if given is None:
        return []
    if getattr(given, "typecode", " ") not in "bB":
        raise ValueError("its rules for normalizing are not a list of bytes")
    return [charsmap.part_of(given.tobytes(), keep)]


def _kept(texts: list[str]) -> list[str]:
    """Return the texts that the rules leave unchanged: all prefixes of user-defined tokens.

    llama.cpp skips a text that begins like a user-defined token, byte by byte, even if the text
    does not continue like the token.
    """
    if not all(map(str.isascii, texts)):
        wrong = next(text for text in texts if not text.isascii())
        raise Unsupported(
            f"it has the user-defined token {wrong!r:.80}, and llama.cpp splits characters that "
            "begin with the same byte",
            ANOTHER,
        )
    if sum(len(text) ** 2 for text in texts) > _MOST_KEPT:
        raise Unsupported("its user-defined tokens are longer in all than tokctl reads", ANOTHER)
    return sorted({text[:end] for text in texts for end in range(1, len(text) + 1)})


def _spaces(keys: dict[str, Any], prefix: bool) -> list[Part]:
    """Return the normalizers for spaces, which follow the rules."""
    parts = []
    if keys.get("tokenizer.ggml.remove_extra_whitespaces", False):
        # Every word then gets a space, including the first.
        parts.append(NORMALIZERS.part("strip-spaces"))
        parts.append(NORMALIZERS.part("collapse-spaces"))
        parts.append(NORMALIZERS.part("prepend", text=" "))
    elif prefix:
        pattern = r"\A(?= *[^ ])"
        parts.append(NORMALIZERS.part("replace", pattern=pattern, content=" ", regex=True))
    parts.append(NORMALIZERS.part("replace", pattern=" ", content=SPACE))
    return parts


# -- the format ----------------------------------------------------------------------


#: The functions that read a model, by the value of `tokenizer.ggml.model`.
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
_TEMPLATE_FILE = "chat_template.jinja"
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


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged, or tokctl does not support its model or pre-tokenizer.
    """
    with unless_damaged(source.name, hinted=source.hints.are_given):
        keys = metadata.read(source, _WANTED)
        _check(keys)
        return _model(keys, source.hints.pattern)


def _check(keys: dict[str, Any]) -> None:
    """Raise ValueError if a value has a wrong type."""
    for key, value in keys.items():
        kind = str if key in _TEXTS else bool if key in _FLAGS else None
        if kind is not None and type(value) is not kind:
            raise ValueError(f"the value of {key!r} is {value!r:.40}")
    if "tokenizer.ggml.model" not in keys:
        raise ValueError("it holds no vocabulary")


def _model(keys: dict[str, Any], pattern: str | None) -> Model:
    kind = keys["tokenizer.ggml.model"]
    if kind not in _MODELS:
        raise Unsupported(
            f"its tokenizer is {kind!r:.80}: {_ABOUT.get(kind, 'tokctl does not know it')}",
            f"tokctl reads {', '.join(_MODELS)}",
        )
    found = vocabulary(keys)
    recipe, parts = _MODELS[kind](found, pattern)
    title, pre = keys.get("general.name", ""), keys.get("tokenizer.ggml.pre", "")
    origin = f"{title} ({pre})" if title and pre else title or pre
    return Model(
        recipe,
        **parts,
        origin=ImportedFrom("gguf", origin),
        companions={_TEMPLATE_FILE: keys[_TEMPLATE]} if _TEMPLATE in keys else {},
    )


# -- writing -------------------------------------------------------------------------


class _Draft(NamedTuple):
    """A model prepared for writing.

    Attributes:
        model: the model that reading the file should return.
        keys: the values under `tokenizer.ggml`.
        losses: what the keys can't hold.
        settled: the fields of the recipe whose differences `losses` already covers.
    """

    model: Model
    keys: dict[str, Any]
    losses: list[LostFeature]
    settled: tuple[str, ...] = ()


def losses(model: Model) -> list[LostFeature]:
    """Return what the file can't hold, and what llama.cpp does differently.

    Raises:
        UnsupportedByFormat: llama.cpp can't run a model of this kind.
    """
    return _file(model)[1]


def write(model: Model) -> Files:
    """Return the file, whose bytes depend on the model alone.

    Raises:
        UnsupportedByFormat: llama.cpp can't run a model of this kind.
    """
    return {"": _file(model)[0]}


def _file(model: Model) -> tuple[bytes, list[LostFeature]]:
    """Return the file, and the losses: the differences after reading it again."""
    kind = _kind(model.recipe)
    nul = UnsupportedByFormat("a token holds a NUL, which ends a text there")
    if any("\0" in token.text for token in model.added):  # pieces would replace it
        raise nul
    draft = _DRAFTS[kind](model)
    if any("\0" in text for text in draft.keys["tokens"]):
        raise nul
    template = _chat_template(model)
    keys = {
        "general.architecture": kind,
        "tokenizer.ggml.model": kind,
        **{f"tokenizer.ggml.{name}": value for name, value in draft.keys.items()},
        **({_TEMPLATE: template} if template else {}),
    }
    data = metadata.written(keys)
    try:
        found = metadata.read(ModelInput("", data=data), _WANTED)
        _check(found)
        again = _model(found, None)
    except (TokctlError, ValueError) as error:
        raise UnsupportedByFormat(str(error)) from None
    wanted = draft.model
    if again.tokens != wanted.tokens or _steps(again) != _steps(wanted):
        raise UnsupportedByFormat("llama.cpp would make other tokens of its spellings")
    settled = {name: getattr(again.recipe, name) for name in draft.settled}
    try:
        wanted = replace(wanted, recipe=replace(wanted.recipe, **settled))
    except TokctlError as error:  # the unknown token is spelled like another token
        raise UnsupportedByFormat(f"llama.cpp reads it otherwise: {error.message}") from None
    wanted, pairs = _without_pairs(wanted, again)
    others = {name: text for name, text in model.companions.items() if name != _TEMPLATE_FILE}
    return data, [
        *draft.losses,
        *_by_spelling_lost(found, draft.keys["token_type"]),
        *pairs,
        *differences(wanted, again),
        *training_lost(model, model.rounds),
        *lengths_lost(model),
        *companions_lost(replace(model, companions=others)),
    ]


def _by_spelling_lost(found: dict[str, Any], types: array[int]) -> list[LostFeature]:
    """Return the losses of ordinary tokens that llama.cpp takes for control tokens by spelling.

    If special tokens are allowed, llama.cpp finds them in a text before merging.
    """
    read = vocabulary(found)
    odd = sorted(id_ for id_ in read.special if types[id_] not in (CONTROL, UNKNOWN))
    return [LostFeature(f"that {read.texts[id_]!r} is an ordinary token") for id_ in odd]


def _steps(model: Model) -> list[tuple[int, ...]]:
    return [merge[:3] for merge in model.merges]


def _kind(recipe: Recipe) -> str:
    """Return llama.cpp's name for a model of this kind; the draft checks the details."""
    if recipe.traits.is_plain_bpe and not recipe.emits_symbols:
        if recipe.marker.text:
            raise UnsupportedByFormat("its words have a marker, and llama.cpp's BPE knows none")
        if recipe.is_byte_level:
            return "gpt2"
        return "gemma4" if recipe.pre_tokenizers == (_LINE_FEEDS,) else "llama"
    if recipe.traits.has_scores:
        return "t5"
    if recipe.matches_longest:
        return "bert"
    named = f"{recipe.traits.title} (segmentation: {recipe.segmentation})"
    raise UnsupportedByFormat(f"llama.cpp does not know {named}")


def _chat_template(model: Model) -> str | None:
    """Return the model's chat template, from its own file or the configuration, or None."""
    found = model.companions.get(_TEMPLATE_FILE)
    if found is None and CONFIG in model.companions:
        found = parsed(model.companions[CONFIG], CONFIG).get("chat_template")
    return found if isinstance(found, str) else None


#: The roles of special tokens, with the keys of their ids. A text begins with `cls` in BERT.
_ROLES = {
    "bos": "bos",
    "eos": "eos",
    "unk": "unknown",
    "sep": "seperator",  # llama.cpp's spelling
    "pad": "padding",
    "cls": "cls",
    "mask": "mask",
}


def _roles(model: Model, **more: str | None) -> dict[str, Any]:
    """Return the keys for the ids of special tokens, by the model's roles and those in `more`."""
    named = {role.removesuffix("_token"): text for role, text in roles_of(model).items()}
    if "eos" in named:
        # As in GPT-2, the end token is also the beginning token. Without the key, llama.cpp would
        # treat the beginning token as an ordinary one.
        named.setdefault("bos", named["eos"])
    named |= {role: text for role, text in more.items() if text is not None}
    return {
        f"{key}_token_id": model.special_ids[named[role]]
        for role, key in _ROLES.items()
        if named.get(role) in model.special_ids
    }


def _around(model: Model) -> tuple[str | None, str | None]:
    """Return the special tokens that the template puts before and after a text.

    Both are None if the model has no template, or if the template puts several tokens on one side.
    """
    templates = [part for part in model.recipe.post_processors if part.kind == "template"]
    words = templates[0]["single"].split() if len(templates) == 1 else []
    if "$A" not in words:
        return None, None
    before, after = words[: words.index("$A")], words[words.index("$A") + 1 :]
    if max(len(before), len(after)) > 1:
        return None, None
    return before[0] if before else None, after[0] if after else None


def _surrounding(model: Model) -> dict[str, Any]:
    """Return the keys for the special tokens around a text."""
    before, after = _around(model)
    flags = {"add_bos_token": before is not None, "add_eos_token": after is not None}
    return {**_roles(model, bos=before, eos=after), **flags}


def _without_pairs(wanted: Model, again: Model) -> tuple[Model, list[LostFeature]]:
    """Return the model with the template that was read, and a loss, if only pairs of texts differ.

    llama.cpp never joins two texts. In all other cases the model is returned unchanged.
    """
    mine, found = _around(wanted), _around(again)
    kinds = {part.kind for part in wanted.recipe.post_processors} - {"trim-offsets"}
    if mine == (None, None) or mine != found or kinds != {"template"}:
        return wanted, []
    parts = [
        again.recipe.post_processors[0] if part.kind == "template" else part
        for part in wanted.recipe.post_processors
    ]
    if parts == list(wanted.recipe.post_processors):
        return wanted, []
    recipe = replace(wanted.recipe, post_processors=tuple(parts))
    return replace(wanted, recipe=recipe), [LostFeature("how it puts two texts together")]


def _types(model: Model) -> list[int]:
    types = [NORMAL] * model.size
    for token in model.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
        if token.special and token.text == model.recipe.unk_token:
            types[token.id] = UNKNOWN
    return types


# -- writing: BPE by merges ----------------------------------------------------------


def _draft_gpt2(model: Model) -> _Draft:
    naming = pre_tokenizers.naming(model.recipe.pre_tokenizers, model.recipe.whole_words)
    if naming is None:
        raise UnsupportedByFormat(
            "llama.cpp knows pre-tokenizers by name, and none of its names means "
            f"{model.recipe.splitting}"
        )
    ready, keys = _by_merges(model)
    lost = [LostFeature(what) for what in naming.losses]
    if model.recipe.drops_unknown and not model.recipe.has_every_byte:
        lost.append(LostFeature("that what has no token is left out"))
    settled = ["pre_tokenizers"] if lost else []
    if _is_made_by_merging(ready):
        settled.append("whole_words")
    return _Draft(ready, {"pre": naming.name, **keys, **_surrounding(model)}, lost, tuple(settled))


def _draft_gemma4(model: Model) -> _Draft:
    ready, keys = _by_merges(model)
    types = array("i", keys["token_type"])
    for id_, token in enumerate(model.tokens):
        if token in BYTE_TOKENS:
            types[id_] = BYTE
    around = _surrounding(model)
    if not around["add_bos_token"]:
        around.pop("bos_token_id", None)  # llama.cpp would put it before each text
    return _Draft(ready, {**keys, "token_type": types, **around}, [])


def _by_merges(model: Model) -> tuple[Model, dict[str, Any]]:
    """Return the model segmented by merges, and the keys for its tokens and merges."""
    ready = merging.by_merges(model)
    if ready.recipe.replays_merges:
        raise UnsupportedByFormat("it merges in the order learned, whatever a merge makes possible")
    names = ready.spelled
    if ready.is_ambiguous:
        raise UnsupportedByFormat("it knows tokens by their spelling, and two are spelled alike")
    odd = next((id_ for merge in ready.merges for id_ in merge[:2] if " " in names[id_]), None)
    if odd is not None:
        raise UnsupportedByFormat(f"a merge takes {names[odd]!r}, and a space is between the two")
    return ready, {
        "tokens": list(names),
        "token_type": array("i", _types(ready)),
        "merges": [f"{names[left]} {names[right]}" for left, right, *_ in ready.merges],
    }


def _is_made_by_merging(model: Model) -> bool:
    """Return whether merging makes each token from its own text.

    Looking up whole pre-tokens before merging then changes nothing.
    """
    made = {token for *_, token in merging.made(model)}
    ordinary = set(range(model.size)) - made - model.reserved_ids
    return all(model.recipe.is_initial_symbol(model.tokens[id_]) for id_ in ordinary)


# -- writing: SentencePiece's models -------------------------------------------------


def _pieces(
    model: Model, listed: list[sentencepiece.Piece]
) -> tuple[Model, dict[str, Any], list[LostFeature]]:
    """Return the model with the given pieces as tokens, their keys, and the losses.

    llama.cpp finds user-defined pieces in the text before normalization, which is a loss.
    """
    tokens = [piece.text for piece in listed]
    types = [piece.type for piece in listed]
    added = {token.id: token for token in model.added}
    lost = []
    for id_, kind in enumerate(types):
        token = added.get(id_)
        if kind != USER_DEFINED or (token is not None and not token.normalized):
            continue
        text = tokens[id_].decode()
        lost.append(LostFeature(f"the way that the user-defined piece {text!r} is found in a text"))
        text = text.replace(SPACE, " ")
        tokens[id_] = text.encode()
        added[id_] = AddedToken(text, id_, special=False, ordinary=True)
    if len(listed) > model.size:  # `pieces` added an unknown token
        text = listed[-1].text.decode()
        added[model.size] = AddedToken(text, model.size)
    scores = [piece.score for piece in listed]
    ready = replace(
        model,
        tokens=tokens,
        scores=scores,
        counts=[],
        added_tokens=tuple(added[id_] for id_ in sorted(added)),
    )
    return (
        ready,
        {
            "tokens": [token.decode() for token in tokens],
            "scores": array("f", scores),
            "token_type": array("i", types),
            **({"unknown_token_id": types.index(UNKNOWN)} if UNKNOWN in types else {}),
        },
        lost,
    )


def _spacing_lost(spaces: sentencepiece.Spaces) -> list[str]:
    """Return what the model does with spaces and no llama.cpp model does."""
    lost = []
    if spaces.dummy == "behind":
        lost.append("that a space is put behind a text and not before it")
    if not spaces.escape:
        lost.append(f"that a space stays one, where it becomes {SPACE}")
    return lost


def _draft_llama(model: Model) -> _Draft:
    fit = sentencepiece.fitted(model)
    ranked, lost = (model, []) if _is_ranked(model) else sentencepiece.ranked(model)
    listed, unknown_lost = sentencepiece.pieces(ranked)
    if not any(piece.type == BYTE for piece in listed):
        raise UnsupportedByFormat(
            "it has no tokens for bytes, and llama.cpp ends the program where a character has none"
        )
    if len(listed) > model.size:
        # Byte tokens cover every text, so nothing is ever unknown.
        listed, unknown_lost = listed[: model.size], []
    ready, keys, more = _pieces(ranked, listed)
    lost = [*lost, *unknown_lost, *more, *fit.losses]
    lost += [LostFeature(what) for what in _spacing_lost(fit.spaces)]
    if fit.rules.blob:
        lost.append(LostFeature(f"the rules {fit.rules.name} for normalizing"))
    if fit.spaces.tidy:
        lost.append(LostFeature("that spaces are removed at the ends of a text, and joined inside"))
    if any(p.kind == "metaspace" and p["prepend"] == "first" for p in model.recipe.pre_tokenizers):
        lost.append(LostFeature("that no space is put before the text behind a special token"))
    keys |= {"add_space_prefix": bool(fit.spaces.dummy), **_surrounding(ready)}
    return _Draft(ready, keys, lost, (*_SETTLED, *_UNKNOWN))


def _is_ranked(model: Model) -> bool:
    """Return whether scores already segment the model as in a read file, equal scores included."""
    recipe = model.recipe
    return recipe.has_ranks and recipe.precision == "single" and bool(model.scores)


#: The fields of a recipe that `sentencepiece.fitted` compares.
_SETTLED = ("normalizers", "pre_tokenizers", "decoders")
#: The fields of a recipe without effect if nothing is ever unknown, or without an unknown token.
_UNKNOWN = ("unk_token", "unknown", "fuse_unknown")


def _draft_t5(model: Model) -> _Draft:
    fit = sentencepiece.fitted(model)
    listed, lost = sentencepiece.pieces(model)
    ready, keys, more = _pieces(model, listed)
    user_defined = [piece.text.decode() for piece in listed if piece.type == USER_DEFINED]
    rules = fit.rules.blob
    read = [charsmap.part_of(rules, _kept(user_defined))] if rules else []
    ways = [(prefix, tidy) for prefix in (True, False) for tidy in (True, False)]
    exact = [
        (prefix, tidy)
        for prefix, tidy in ways
        if (*read, *_spaces(_tidying(tidy), prefix)) == model.recipe.normalizers
    ]
    prefix, tidy = [*exact, (bool(fit.spaces.dummy), fit.spaces.tidy)][0]
    keys |= {
        "add_space_prefix": prefix,
        "remove_extra_whitespaces": tidy,
        **({"precompiled_charsmap": array("B", rules)} if rules else {}),
        **_surrounding(ready),
    }
    lost = [*lost, *more, *_sums_lost(model, listed)]
    idle = _UNKNOWN if model.recipe.unk_token is None else ()
    if exact and model.recipe.decoders == decoders(prefix, falls_back=False):
        return _Draft(ready, keys, lost, idle)
    lost += fit.losses
    lost += map(LostFeature, _spacing_lost(fit.spaces))
    if not exact and tidy and not any(SPACE in loss.what for loss in fit.losses):
        lost.append(LostFeature(f"what it does with a {SPACE} that a text itself has at its ends"))
    if not exact and tidy and not prefix:
        lost.append(LostFeature("that no space is put before a text"))
    if not exact and prefix and not tidy:
        lost.append(LostFeature("that a text of spaces alone gets one more"))
    if rules and read[0]["keep"] != fit.rules.keep:
        lost.append(LostFeature("what its rules for normalizing leave alone"))
    if model.recipe.unk_token not in (None, fit.surface):
        lost.append(LostFeature(f"that {fit.surface!r} stands for an unknown piece"))
    return _Draft(ready, keys, lost, (*_SETTLED, *idle))


def _tidying(tidy: bool) -> dict[str, Any]:
    return {"tokenizer.ggml.remove_extra_whitespaces": tidy}


def _sums_lost(model: Model, listed: list[sentencepiece.Piece]) -> list[LostFeature]:
    """Return the loss of precision: llama.cpp adds single-precision scores in double precision."""
    if model.recipe.precision == "single":
        return [LostFeature("sums in single precision: near-ties can be split otherwise")]
    scores = [piece.score for piece in listed if piece.type == NORMAL]
    try:
        exact = all(struct.unpack("f", struct.pack("f", score))[0] == score for score in scores)
    except OverflowError:
        exact = False
    return (
        []
        if exact
        else [
            LostFeature("log probabilities in double precision: near-ties can be split otherwise")
        ]
    )


# -- writing: WordPiece --------------------------------------------------------------

#: What the normalizer `bert` does differently, apart from code points that later Unicode versions
#: assigned.
_CONTROLS = "that U+000B, U+000C and U+0085 are removed, which are white space there"
_ACCENTS = "that Hangul syllables keep all their letters, and marks that are no accents stay"
_DOTTED = "that \u0130 becomes an i and a dot above it"


def _draft_bert(model: Model) -> _Draft:
    recipe = model.recipe
    if recipe.marker.text != _MARK:
        raise UnsupportedByFormat(
            f"tokens inside words begin with {_MARK} there, and not with {recipe.marker.text!r}"
        )
    if [str(part) for part in recipe.pre_tokenizers] != ["bert"]:
        raise UnsupportedByFormat(
            f"llama.cpp splits WordPiece's text as BERT does, and not by {recipe.splitting}"
        )
    flags, lost = _normalizing(recipe)
    special = set(model.special_ids.values())
    user_defined = {token.id: token.text for token in model.added if not token.special}
    texts = []
    for id_, text in enumerate(model.spelled):
        if id_ in special:
            texts.append(text)
        elif id_ in user_defined:
            texts.append(user_defined[id_])
        else:
            texts.append(text.removeprefix(_MARK) if text.startswith(_MARK) else SPACE + text)
    before, after = _around(model)
    keys = {
        "tokens": texts,
        "token_type": array("i", _types(model)),
        **flags,
        **_roles(model, bos=before or roles_of(model).get("cls_token"), sep=after),
    }
    return _Draft(replace(model, merges=[]), keys, lost, ("normalizers",))


def _normalizing(recipe: Recipe) -> tuple[dict[str, Any], list[LostFeature]]:
    """Return the keys for the normalizer, and what llama.cpp does differently."""
    for lowercase in (True, False):
        for strip in (True, False):
            flags = {"normalizer.lowercase": lowercase, "normalizer.strip_accents": strip}
            keys = {f"tokenizer.ggml.{name}": value for name, value in flags.items()}
            if _normalizers(keys) == recipe.normalizers:
                return flags, []
    part = recipe.normalizers[0] if len(recipe.normalizers) == 1 else None
    if part is None or part.kind != "bert" or not part["clean_text"] or not part["cjk_spacing"]:
        raise UnsupportedByFormat(
            "llama.cpp normalizes WordPiece's text as BERT does, and it has the normalizers "
            f"{', '.join(map(str, recipe.normalizers)) or 'none'}"
        )
    lowercase = part["lowercase"]
    strip = lowercase if part["strip_accents"] is None else part["strip_accents"]
    flags = {"normalizer.lowercase": lowercase, "normalizer.strip_accents": strip}
    what = [_CONTROLS, *([_ACCENTS] if strip else [_DOTTED] if lowercase else [])]
    return flags, [LostFeature(one) for one in what]


_DRAFTS: dict[str, Callable[[Model], _Draft]] = {
    "gpt2": _draft_gpt2,
    "gemma4": _draft_gemma4,
    "llama": _draft_llama,
    "t5": _draft_t5,
    "bert": _draft_bert,
}
