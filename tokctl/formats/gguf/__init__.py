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
    TRY_ANOTHER_FILE,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    extra_files_lost,
    lengths_lost,
    training_lost,
    unless_damaged,
)
from tokctl.formats.differences import differences
from tokctl.formats.gguf import metadata, pre_tokenizers
from tokctl.formats.gguf.vocabulary import (
    Vocabulary,
    added_tokens,
    bos_and_eos_ids,
    build_template,
    read_vocabulary,
)
from tokctl.formats.huggingface.folder import parse_object, roles_of
from tokctl.formats.huggingface.models import NO_COLUMNS, merge_ids, store_model, token_ids
from tokctl.formats.registry import TOKENIZER_CONFIG
from tokctl.formats.sentencepiece import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from tokctl.model import ImportedFrom, Marker, Merge, Model, Recipe, byte_level
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import DECODERS, NORMALIZERS, PRE_TOKENIZERS, AddedToken, Part

# -- SentencePiece's BPE (`llm_tokenizer_spm`) ---------------------------------------

SPACE = "▁"
#: Most work for checking how control tokens can be split, in squared characters. No real
#: vocabulary needs more.
_MOST_SPLIT_WORK = 1 << 24
_DEEPEST = 200


def read_llama(vocab: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a SentencePiece BPE vocabulary, and the model's other fields."""
    has_byte_tokens = _has_byte_tokens(vocab)
    reserved = {vocab.ids[token.decode()] for token in BYTE_TOKENS} if has_byte_tokens else set()
    _check_not_mergeable(vocab, sorted(vocab.special | reserved))
    tokens = added_tokens(vocab, [id_ for id_ in vocab.user_defined if SPACE in vocab.texts[id_]])
    special = [token.text for token in tokens if token.special]
    unknown = vocab.id_of("unknown", 0)
    unk_token = vocab.texts[unknown] if unknown in vocab.special and unknown is not None else None
    if unk_token is None and not has_byte_tokens:
        raise Unsupported(
            "it has neither an unknown token nor a token for each byte", TRY_ANOTHER_FILE
        )
    prefix = vocab.keys.get("tokenizer.ggml.add_space_prefix", True)
    bos_eos = bos_and_eos_ids(vocab, adds_bos=True, adds_eos=False, bos=1, eos=2)
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        normalizers=spaces(prefix),
        segmentation="ranks",
        unk_token=unk_token,
        byte_fallback=has_byte_tokens,
        fuse_unknown=True,
        precision="single",
        post_processors=build_template(vocab, tokens, *bos_eos),
        decoders=decoders(prefix, has_byte_tokens),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in vocab.texts],
        "scores": vocab.scores,
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


def _has_byte_tokens(vocab: Vocabulary) -> bool:
    present = sum(token.decode() in vocab.ids for token in BYTE_TOKENS)
    if present not in (0, len(BYTE_TOKENS)):
        raise Unsupported(
            f"it has tokens for {present} of the 256 bytes, and not for all of them",
            TRY_ANOTHER_FILE,
        )
    return present > 0


def _check_not_mergeable(vocab: Vocabulary, ids: list[int]) -> None:
    """Raise TokctlError if merges of ordinary text can make one of the tokens `ids`.

    llama.cpp would make such a token from ordinary text, and tokctl would not.
    """
    mergeable: dict[str, bool] = {}
    work_left = _MOST_SPLIT_WORK

    def is_mergeable(text: str, depth: int = 0) -> bool:
        """Return whether `text` is a character, or a token that consists of two such texts."""
        nonlocal work_left
        if len(text) == 1:
            return True
        if text not in vocab.ids:
            return False
        if text not in mergeable:
            work_left -= len(text) ** 2
            if work_left < 0 or depth > _DEEPEST:
                raise Unsupported(
                    "its tokens can be merged in more ways than tokctl checks", TRY_ANOTHER_FILE
                )
            mergeable[text] = False
            for split in range(1, len(text)):
                if is_mergeable(text[:split], depth + 1) and is_mergeable(text[split:], depth + 1):
                    mergeable[text] = True
                    break
        return mergeable[text]

    for id_ in ids:
        if is_mergeable(vocab.texts[id_]):
            raise Unsupported(
                f"merging ordinary text can make its control token {vocab.texts[id_]!r:.80}",
                TRY_ANOTHER_FILE,
            )


# -- GPT-2's byte-level BPE (`llm_tokenizer_bpe`) ------------------------------------

_UTF8_BYTES = frozenset(range(256)) - byte_level.NEVER_IN_UTF8
#: Texts that can be one pre-token: no pattern keeps other characters together.
_ONE_PRE_TOKEN = regex.compile(r"\P{L}?\p{L}+|[^\p{L}\p{N}]+|\p{N}+")


def read_gpt2(vocab: Vocabulary, pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a byte-level BPE vocabulary, and the other fields of the model."""
    if vocab.keys.get("tokenizer.ggml.pre") in _GEMMA4_NAMES and pattern is None:
        return read_gemma4(vocab, None)
    splitting = pre_tokenizers.splitting_named(vocab.keys.get("tokenizer.ggml.pre", ""), pattern)
    pairs = _pairs(vocab.keys.get("tokenizer.ggml.merges"))
    # llama.cpp silently drops a byte without a token. tokctl raises an error, as for other models.
    has_every_byte = byte_level.BYTES.keys() <= vocab.ids.keys() - {
        vocab.texts[id_] for id_ in vocab.special
    }
    lefts, rights, merged = _merge_columns(vocab, pairs)
    tokens = added_tokens(vocab, merged)
    _check_control_tokens(
        vocab, [token.id for token in tokens if not token.ordinary], splitting.whole_words
    )
    default_bos = 11 if splitting.has_default_bos else None
    bos_eos = bos_and_eos_ids(
        vocab, adds_bos=splitting.adds_bos, adds_eos=False, bos=default_bos, eos=11
    )
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        pre_tokenizers=splitting.parts,
        units="bytes",
        alphabet="bytes" if has_every_byte else "seen",
        whole_words=splitting.whole_words,
        post_processors=build_template(vocab, tokens, *bos_eos),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    return recipe, _merge_fields(vocab, recipe, (lefts, rights, merged), tokens)


def _merge_fields(
    vocab: Vocabulary,
    recipe: Recipe,
    merges: tuple[list[int], list[int], list[int]],
    tokens: list[AddedToken],
) -> dict[str, Any]:
    """Return the fields of a model by merges, apart from its recipe."""
    lists = ModelFile.of(
        list(vocab.texts), list(merges), scores=[], scored=False, columns=NO_COLUMNS
    )
    core = store_model(lists, recipe, tokens)
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


def _merge_columns(
    vocab: Vocabulary, pairs: list[list[str]]
) -> tuple[list[int], list[int], list[int]]:
    lefts, rights = merge_ids(vocab.ids, pairs)
    return lefts, rights, token_ids(vocab.ids, ["".join(pair) for pair in pairs])


def _check_control_tokens(vocab: Vocabulary, ids: list[int], whole_words: bool) -> None:
    """Raise TokctlError if llama.cpp finds one of these tokens in ordinary text.

    Such a token is one byte, or a control token that can be a whole pre-token and is looked up.
    """
    for id_ in ids:
        text = vocab.texts[id_]
        looked_up = whole_words and text.isascii() and _ONE_PRE_TOKEN.fullmatch(text)
        is_byte = byte_level.BYTES.get(text) in _UTF8_BYTES
        if is_byte or (looked_up and id_ in vocab.special):
            raise Unsupported(
                f"its control token {text!r:.80} is found in ordinary text, too, as llama.cpp "
                "looks words up",
                TRY_ANOTHER_FILE,
            )


# -- Gemma 4's BPE over characters (`llm_tokenizer_bpe`, too) -------------------------

#: The values of `tokenizer.ggml.pre` for this model.
_GEMMA4_NAMES = ("gemma4", "granite-embed-multi-311m")


def read_gemma4(vocab: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a vocabulary like Gemma 4's, and the other fields of the model.

    In llama.cpp, a run of line feeds that is a token is always one token, so it is an added token
    here. (A run that is not a token makes llama.cpp abort.)
    """
    if not _has_byte_tokens(vocab):
        raise Unsupported(
            "it has no tokens for bytes, and llama.cpp drops text that has no token",
            TRY_ANOTHER_FILE,
        )
    pairs = _pairs(vocab.keys.get("tokenizer.ggml.merges"))
    lefts, rights, merged = _merge_columns(vocab, pairs)
    reserved = {vocab.ids[token.decode()] for token in BYTE_TOKENS}
    line_feeds = {id_ for text, id_ in vocab.ids.items() if not text.strip("\n")}
    characters = {id_ for text, id_ in vocab.ids.items() if len(text) == 1}
    tokens = added_tokens(vocab, {*merged, *characters} - vocab.special, found_first=line_feeds)
    for id_ in [*reserved, *(token.id for token in tokens if token.special)]:
        if id_ in characters or id_ in merged:
            raise Unsupported(
                f"ordinary text can become its control token {vocab.texts[id_]!r:.80}",
                TRY_ANOTHER_FILE,
            )
    bos_eos = bos_and_eos_ids(vocab, adds_bos=True, adds_eos=False, bos=None, eos=None)
    # llama.cpp begins a text with this token whatever the file says.
    bos_eos = (vocab.id_of("bos"), bos_eos[1])
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        normalizers=spaces(prefix=False),
        pre_tokenizers=(_LINE_FEEDS,),
        byte_fallback=True,
        fuse_unknown=True,
        post_processors=build_template(vocab, tokens, *bos_eos),
        decoders=decoders(prefix=False, falls_back=True),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    return recipe, _merge_fields(vocab, recipe, (lefts, rights, merged), tokens)


_LINE_FEEDS = PRE_TOKENIZERS.part("split", pattern=r"\n+", regex=True, behaviour="isolated")


# -- WordPiece (`llm_tokenizer_wpm`) -------------------------------------------------

_MARK = "##"
_ONE_WORD = regex.compile(r"[^\s\p{P}$+<=>^`|~]+")
#: Hangul syllables are ordered by their first letter (Unicode, 3.12).
_FIRST_SYLLABLE, _SYLLABLES_PER_LETTER, _LETTER_COUNT, _FIRST_LETTER = 0xAC00, 588, 19, 0x1100


def read_bert(vocab: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a WordPiece vocabulary, and the other fields of the model."""
    if SPACE in vocab.ids:
        raise Unsupported(
            f"it has a token {SPACE!r}, which llama.cpp finds at the start of words that it does "
            "not know",
            TRY_ANOTHER_FILE,
        )
    # User-defined tokens can also start or continue ordinary words.
    tokens = added_tokens(vocab, vocab.user_defined)
    for token in tokens:
        if token.special and _ONE_WORD.fullmatch(token.text):
            raise Unsupported(
                f"its control token {token.text!r:.80} goes on ordinary words, too",
                TRY_ANOTHER_FILE,
            )
    unknown = vocab.id_of("unknown", 100)
    if unknown is None or unknown not in vocab.special:
        raise Unsupported("it has no unknown token that is a control token", TRY_ANOTHER_FILE)
    bos, eos = vocab.id_of("bos", 101), vocab.id_of("seperator", 102)
    recipe = Recipe(
        name="gguf",
        algorithm="wordpiece",
        normalizers=_normalizers(vocab.keys),
        pre_tokenizers=("bert",),  # type: ignore[arg-type]
        marker=Marker("continuation", _MARK),
        segmentation="longest-match",
        unk_token=vocab.texts[unknown],
        post_processors=build_template(vocab, tokens, bos, eos),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    special = {token.id for token in tokens if token.special}
    spelled = [
        text if id_ in special else text[1:] if text.startswith(SPACE) else _MARK + text
        for id_, text in enumerate(vocab.texts)
    ]
    if len(set(spelled)) != len(spelled):
        raise Unsupported(
            "two of its tokens are spelled alike as BERT spells them", TRY_ANOTHER_FILE
        )
    parts = {"tokens": [text.encode() for text in spelled], "added_tokens": tuple(tokens)}
    return recipe, parts


def _normalizers(keys: dict[str, Any]) -> tuple[Part, ...]:
    lowercase = keys.get("tokenizer.ggml.normalizer.lowercase", True)
    strip = keys.get("tokenizer.ggml.normalizer.strip_accents", lowercase)

    def replace(pattern: str, content: str) -> Part:
        return NORMALIZERS.part("replace", pattern=pattern, content=content, regex=True)

    parts = []
    if strip:
        for letter in range(_LETTER_COUNT):
            start = _FIRST_SYLLABLE + letter * _SYLLABLES_PER_LETTER
            pattern = f"[{chr(start)}-{chr(start + _SYLLABLES_PER_LETTER - 1)}]"
            parts.append(replace(pattern, chr(_FIRST_LETTER + letter)))
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


def read_t5(vocab: Vocabulary, _pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe of a Unigram vocabulary, and the other fields of the model."""
    if BYTE in vocab.types:
        raise Unsupported(
            "it is a Unigram model with tokens for bytes, which llama.cpp leaves unused",
            TRY_ANOTHER_FILE,
        )
    if any(vocab.types[id_] in (NORMAL, UNUSED) for id_ in vocab.special):
        raise Unsupported(
            "one of its ordinary tokens is spelled as a control token", TRY_ANOTHER_FILE
        )
    user_defined = set(vocab.user_defined)
    tokens = added_tokens(vocab, user_defined)
    special = [token.text for token in tokens if token.special]
    unknown = vocab.id_of("unknown", 2)
    if unknown is None or unknown not in vocab.special:
        raise Unsupported("it has no unknown token that is a control token", TRY_ANOTHER_FILE)
    scores = [0.0 if id_ in user_defined else score for id_, score in enumerate(vocab.scores)]
    normal = [score for score, kind in zip(scores, vocab.types, strict=True) if kind == NORMAL]
    if not normal:
        raise ValueError("it has no tokens but special ones")
    unused = [score for score, kind in zip(scores, vocab.types, strict=True) if kind == UNUSED]
    if min(normal) > min([*unused, *[0.0 for _ in user_defined]], default=min(normal)):
        raise Unsupported(
            "its lowest score belongs to a token that llama.cpp does not count", TRY_ANOTHER_FILE
        )
    # The cost of an unknown character does not depend on the scores of control tokens.
    control_score = max(0.0, min(normal))
    scores = [control_score if id_ in vocab.special else score for id_, score in enumerate(scores)]
    prefix = vocab.keys.get("tokenizer.ggml.add_space_prefix", False)
    bos_eos = bos_and_eos_ids(vocab, adds_bos=False, adds_eos=True, bos=None, eos=1)
    recipe = Recipe(
        name="gguf",
        algorithm="unigram",
        normalizers=(*_rules(vocab), *_spaces(vocab.keys, prefix)),
        segmentation="viterbi",
        unk_token=vocab.texts[unknown],
        fuse_unknown=True,
        post_processors=build_template(vocab, tokens, *bos_eos),
        decoders=decoders(prefix, falls_back=False),
        special_tokens=tuple(special),
    )
    parts = {
        "tokens": [text.encode() for text in vocab.texts],
        "scores": scores,
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def _rules(vocab: Vocabulary) -> list[Part]:
    """Return the normalizer with the file's rules, if it has any."""
    blob = vocab.keys.get("tokenizer.ggml.precompiled_charsmap")
    keep = _unchanged_prefixes([vocab.texts[id_] for id_ in vocab.user_defined])
    if blob is None:
        return []
    if getattr(blob, "typecode", " ") not in "bB":
        raise ValueError("its rules for normalizing are not a list of bytes")
    return [charsmap.read_rules(blob.tobytes(), keep)]


def _unchanged_prefixes(texts: list[str]) -> list[str]:
    """Return the texts that the rules leave unchanged: all prefixes of user-defined tokens.

    llama.cpp skips a text that begins like a user-defined token, byte by byte, even if the text
    does not continue like the token.
    """
    if not all(map(str.isascii, texts)):
        not_ascii = next(text for text in texts if not text.isascii())
        raise Unsupported(
            f"it has the user-defined token {not_ascii!r:.80}, and llama.cpp splits characters "
            "that begin with the same byte",
            TRY_ANOTHER_FILE,
        )
    if sum(len(text) ** 2 for text in texts) > _MOST_KEPT:
        raise Unsupported(
            "its user-defined tokens are longer in total than tokctl reads", TRY_ANOTHER_FILE
        )
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
_READERS = {
    "llama": read_llama,
    "gpt2": read_gpt2,
    "gemma4": read_gemma4,
    "bert": read_bert,
    "t5": read_t5,
}
_UNREAD_MODELS = {
    "no_vocab": "the file holds none",
    "none": "the file holds none",
    "rwkv": "RWKV's matches the longest token of a trie of bytes",
    "plamo2": "PLaMo 2's chooses by scores of suffixes",
    "hybriddna": "it cuts DNA into stretches of fixed length",
    "whitespace": "it looks whole words up, and merges the others",
}
_TEMPLATE_KEY = "tokenizer.chat_template"
_TEMPLATE_FILE = "chat_template.jinja"
_TEXT_KEYS = {
    *("general.name", "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"),
    _TEMPLATE_KEY,
}
_BOOLEAN_KEYS = {
    f"tokenizer.ggml.{name}"
    for name in (
        *("add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix"),
        *("remove_extra_whitespaces", "normalizer.lowercase", "normalizer.strip_accents"),
    )
}
_READ_KEYS = frozenset(
    {
        *_TEXT_KEYS,
        *_BOOLEAN_KEYS,
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
    with unless_damaged(source.name, hinted=source.hints.any_given):
        keys = metadata.read(source, _READ_KEYS)
        _check_types(keys)
        return _build_model(keys, source.hints.pattern)


def _check_types(keys: dict[str, Any]) -> None:
    """Raise ValueError if a value has a wrong type."""
    for key, value in keys.items():
        kind = str if key in _TEXT_KEYS else bool if key in _BOOLEAN_KEYS else None
        if kind is not None and type(value) is not kind:
            raise ValueError(f"the value of {key!r} is {value!r:.40}")
    if "tokenizer.ggml.model" not in keys:
        raise ValueError("it holds no vocabulary")


def _build_model(keys: dict[str, Any], pattern: str | None) -> Model:
    kind = keys["tokenizer.ggml.model"]
    if kind not in _READERS:
        raise Unsupported(
            f"its tokenizer is {kind!r:.80}: {_UNREAD_MODELS.get(kind, 'tokctl does not know it')}",
            f"tokctl reads {', '.join(_READERS)}",
        )
    vocab = read_vocabulary(keys)
    recipe, parts = _READERS[kind](vocab, pattern)
    title, pre = keys.get("general.name", ""), keys.get("tokenizer.ggml.pre", "")
    origin = f"{title} ({pre})" if title and pre else title or pre
    return Model(
        recipe,
        **parts,
        origin=ImportedFrom("gguf", origin),
        extra_files={_TEMPLATE_FILE: keys[_TEMPLATE_KEY]} if _TEMPLATE_KEY in keys else {},
    )


# -- writing -------------------------------------------------------------------------


class _Draft(NamedTuple):
    """A model prepared for writing.

    Attributes:
        model: the model that reading the file should return.
        keys: the values under `tokenizer.ggml`.
        losses: what the keys can't hold.
        covered: the fields of the recipe whose differences `losses` already covers.
    """

    model: Model
    keys: dict[str, Any]
    losses: list[LostFeature]
    covered: tuple[str, ...] = ()


def losses(model: Model) -> list[LostFeature]:
    """Return what the file can't hold, and what llama.cpp does differently.

    Raises:
        UnsupportedByFormat: llama.cpp can't run a model of this kind.
    """
    return _build_file(model)[1]


def write(model: Model) -> Files:
    """Return the file, whose bytes depend on the model alone.

    Raises:
        UnsupportedByFormat: llama.cpp can't run a model of this kind.
    """
    return {"": _build_file(model)[0]}


def _build_file(model: Model) -> tuple[bytes, list[LostFeature]]:
    """Return the file, and the losses: the differences after reading it again."""
    kind = _model_name(model.recipe)
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
        **({_TEMPLATE_KEY: template} if template else {}),
    }
    data = metadata.serialize(keys)
    try:
        read_keys = metadata.read(ModelInput("", data=data), _READ_KEYS)
        _check_types(read_keys)
        read_back = _build_model(read_keys, None)
    except (TokctlError, ValueError) as error:
        raise UnsupportedByFormat(str(error)) from None
    expected = draft.model
    if read_back.tokens != expected.tokens or _merge_triples(read_back) != _merge_triples(expected):
        raise UnsupportedByFormat("llama.cpp would make other tokens of its spellings")
    covered = {name: getattr(read_back.recipe, name) for name in draft.covered}
    try:
        expected = replace(expected, recipe=replace(expected.recipe, **covered))
    except TokctlError as error:  # the unknown token is spelled like another token
        raise UnsupportedByFormat(f"llama.cpp reads it otherwise: {error.message}") from None
    expected, pairs = _with_pair_template_of(expected, read_back)
    other_files = {name: text for name, text in model.extra_files.items() if name != _TEMPLATE_FILE}
    return data, [
        *draft.losses,
        *_spelling_losses(read_keys, draft.keys["token_type"]),
        *pairs,
        *differences(expected, read_back),
        *training_lost(model, model.rounds),
        *lengths_lost(model),
        *extra_files_lost(replace(model, extra_files=other_files)),
    ]


def _spelling_losses(keys: dict[str, Any], types: array[int]) -> list[LostFeature]:
    """Return the losses of ordinary tokens that llama.cpp takes for control tokens by spelling.

    If special tokens are allowed, llama.cpp finds them in a text before merging.
    """
    vocab = read_vocabulary(keys)
    changed = sorted(id_ for id_ in vocab.special if types[id_] not in (CONTROL, UNKNOWN))
    return [LostFeature(f"that {vocab.texts[id_]!r} is an ordinary token") for id_ in changed]


def _merge_triples(model: Model) -> list[tuple[int, ...]]:
    return [merge[:3] for merge in model.merges]


def _model_name(recipe: Recipe) -> str:
    """Return llama.cpp's name for a model of this kind; the draft checks the details."""
    if recipe.traits.is_plain_bpe:
        if recipe.marker.text:
            raise UnsupportedByFormat(
                "its words have a marker, which llama.cpp's BPE can't express"
            )
        if recipe.is_byte_level:
            return "gpt2"
        return "gemma4" if recipe.pre_tokenizers == (_LINE_FEEDS,) else "llama"
    if recipe.maximizes_probability:
        return "t5"
    if recipe.matches_longest:
        return "bert"
    description = f"{recipe.traits.title} (segmentation: {recipe.segmentation})"
    raise UnsupportedByFormat(f"llama.cpp does not know {description}")


def _chat_template(model: Model) -> str | None:
    """Return the model's chat template, from its own file or the configuration, or None."""
    template = model.extra_files.get(_TEMPLATE_FILE)
    if template is None and TOKENIZER_CONFIG in model.extra_files:
        template = parse_object(model.extra_files[TOKENIZER_CONFIG], TOKENIZER_CONFIG).get(
            "chat_template"
        )
    return template if isinstance(template, str) else None


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
    texts = {role.removesuffix("_token"): text for role, text in roles_of(model).items()}
    if "eos" in texts:
        # As in GPT-2, the end token is also the beginning token. Without the key, llama.cpp would
        # treat the beginning token as an ordinary one.
        texts.setdefault("bos", texts["eos"])
    texts |= {role: text for role, text in more.items() if text is not None}
    return {
        f"{key}_token_id": model.special_ids[texts[role]]
        for role, key in _ROLES.items()
        if texts.get(role) in model.special_ids
    }


def _template_ends(model: Model) -> tuple[str | None, str | None]:
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


def _end_keys(model: Model) -> dict[str, Any]:
    """Return the keys for the special tokens around a text."""
    before, after = _template_ends(model)
    flags = {"add_bos_token": before is not None, "add_eos_token": after is not None}
    return {**_roles(model, bos=before, eos=after), **flags}


def _with_pair_template_of(model: Model, read_back: Model) -> tuple[Model, list[LostFeature]]:
    """Return the model with the template that was read, and a loss, if only pairs of texts differ.

    llama.cpp never joins two texts. In all other cases the model is returned unchanged.
    """
    ends, read_ends = _template_ends(model), _template_ends(read_back)
    part_kinds = {part.kind for part in model.recipe.post_processors} - {"trim-offsets"}
    if ends == (None, None) or ends != read_ends or part_kinds != {"template"}:
        return model, []
    parts = [
        read_back.recipe.post_processors[0] if part.kind == "template" else part
        for part in model.recipe.post_processors
    ]
    if parts == list(model.recipe.post_processors):
        return model, []
    recipe = replace(model.recipe, post_processors=tuple(parts))
    return replace(model, recipe=recipe), [LostFeature("how it puts two texts together")]


def _token_types(model: Model) -> list[int]:
    types = [NORMAL] * model.size
    for token in model.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
        if token.special and token.text == model.recipe.unk_token:
            types[token.id] = UNKNOWN
    return types


# -- writing: BPE by merges ----------------------------------------------------------


def _draft_gpt2(model: Model) -> _Draft:
    name = pre_tokenizers.nearest_name(model.recipe.pre_tokenizers, model.recipe.whole_words)
    if name is None:
        raise UnsupportedByFormat(
            "llama.cpp knows pre-tokenizers by name, and none of its names means "
            f"{model.recipe.splitting}"
        )
    prepared, keys = _merge_keys(model)
    lost = [LostFeature(what) for what in name.losses]
    if model.recipe.drops_unknown and not model.recipe.has_every_byte:
        lost.append(LostFeature("that what has no token is left out"))
    covered = ["pre_tokenizers"] if lost else []
    if _merges_make_every_token(prepared):
        covered.append("whole_words")
    return _Draft(prepared, {"pre": name.name, **keys, **_end_keys(model)}, lost, tuple(covered))


def _draft_gemma4(model: Model) -> _Draft:
    prepared, keys = _merge_keys(model)
    types = array("i", keys["token_type"])
    for id_, token in enumerate(model.tokens):
        if token in BYTE_TOKENS:
            types[id_] = BYTE
    end_keys = _end_keys(model)
    if not end_keys["add_bos_token"]:
        end_keys.pop("bos_token_id", None)  # llama.cpp would put it before each text
    return _Draft(prepared, {**keys, "token_type": types, **end_keys}, [])


def _merge_keys(model: Model) -> tuple[Model, dict[str, Any]]:
    """Return the model segmented by merges, and the keys for its tokens and merges."""
    prepared = merging.with_merges(model)
    if prepared.recipe.replays_merges:
        raise UnsupportedByFormat("it replays its merges in the order in which they were learned")
    names = prepared.spelled
    if prepared.is_ambiguous:
        raise UnsupportedByFormat("it knows tokens by their spelling, and two are spelled alike")
    with_space = next(
        (id_ for merge in prepared.merges for id_ in merge[:2] if " " in names[id_]), None
    )
    if with_space is not None:
        raise UnsupportedByFormat(
            f"a merge takes {names[with_space]!r}, and a space is between the two"
        )
    return prepared, {
        "tokens": list(names),
        "token_type": array("i", _token_types(prepared)),
        "merges": [f"{names[left]} {names[right]}" for left, right, *_ in prepared.merges],
    }


def _merges_make_every_token(model: Model) -> bool:
    """Return whether merging makes each token from its own text.

    Looking up whole pre-tokens before merging then changes nothing.
    """
    merged = {token for *_, token in merging.ranked_merges(model)}
    ordinary = set(range(model.size)) - merged - model.reserved_ids
    return all(model.recipe.is_initial_symbol(model.tokens[id_]) for id_ in ordinary)


# -- writing: SentencePiece's models -------------------------------------------------


def _piece_keys(
    model: Model, pieces: list[sentencepiece.Piece]
) -> tuple[Model, dict[str, Any], list[LostFeature]]:
    """Return the model with the given pieces as tokens, their keys, and the losses.

    llama.cpp finds user-defined pieces in the text before normalization, which is a loss.
    """
    tokens = [piece.text for piece in pieces]
    types = [piece.type for piece in pieces]
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
    if len(pieces) > model.size:  # `pieces` added an unknown token
        text = pieces[-1].text.decode()
        added[model.size] = AddedToken(text, model.size)
    scores = [piece.score for piece in pieces]
    prepared = replace(
        model,
        tokens=tokens,
        scores=scores,
        counts=[],
        added_tokens=tuple(added[id_] for id_ in sorted(added)),
    )
    return (
        prepared,
        {
            "tokens": [token.decode() for token in tokens],
            "scores": array("f", scores),
            "token_type": array("i", types),
            **({"unknown_token_id": types.index(UNKNOWN)} if UNKNOWN in types else {}),
        },
        lost,
    )


def _space_losses(spaces: sentencepiece.SpaceOptions) -> list[str]:
    """Return what the model does with spaces and no llama.cpp model does."""
    lost = []
    if spaces.dummy == "behind":
        lost.append("that a space is put behind a text and not before it")
    if not spaces.escape:
        lost.append(f"that a space stays one, where it becomes {SPACE}")
    return lost


def _draft_llama(model: Model) -> _Draft:
    options = sentencepiece.nearest_options(model)
    ranked, lost = (
        (model, []) if _has_single_scores(model) else sentencepiece.with_merge_scores(model)
    )
    pieces, unknown_lost = sentencepiece.model_pieces(ranked)
    if not any(piece.type == BYTE for piece in pieces):
        raise UnsupportedByFormat(
            "it has no tokens for bytes, and llama.cpp ends the program where a character has none"
        )
    if len(pieces) > model.size:
        # Byte tokens cover every text, so nothing is ever unknown.
        pieces, unknown_lost = pieces[: model.size], []
    prepared, keys, piece_losses = _piece_keys(ranked, pieces)
    lost = [*lost, *unknown_lost, *piece_losses, *options.losses]
    lost += [LostFeature(what) for what in _space_losses(options.spaces)]
    if options.rules.blob:
        lost.append(LostFeature(f"the rules {options.rules.name} for normalizing"))
    if options.spaces.remove_extra:
        lost.append(LostFeature("that spaces are removed at the ends of a text, and joined inside"))
    if any(p.kind == "metaspace" and p["prepend"] == "first" for p in model.recipe.pre_tokenizers):
        lost.append(LostFeature("that no space is put before the text behind a special token"))
    keys |= {"add_space_prefix": bool(options.spaces.dummy), **_end_keys(prepared)}
    return _Draft(prepared, keys, lost, (*_COVERED, *_UNKNOWN_FIELDS))


def _has_single_scores(model: Model) -> bool:
    """Return whether scores already segment the model as in a read file, equal scores included."""
    recipe = model.recipe
    return recipe.has_ranks and recipe.precision == "single" and bool(model.scores)


#: The fields of a recipe that `sentencepiece.nearest_options` compares.
_COVERED = ("normalizers", "pre_tokenizers", "decoders")
#: The fields of a recipe without effect if nothing is ever unknown, or without an unknown token.
_UNKNOWN_FIELDS = ("unk_token", "unknown", "fuse_unknown")


def _draft_t5(model: Model) -> _Draft:
    options = sentencepiece.nearest_options(model)
    pieces, lost = sentencepiece.model_pieces(model)
    prepared, keys, piece_losses = _piece_keys(model, pieces)
    user_defined = [piece.text.decode() for piece in pieces if piece.type == USER_DEFINED]
    rules = options.rules.blob
    read = [charsmap.read_rules(rules, _unchanged_prefixes(user_defined))] if rules else []
    combinations = [
        (prefix, remove_extra) for prefix in (True, False) for remove_extra in (True, False)
    ]
    exact = [
        (prefix, remove_extra)
        for prefix, remove_extra in combinations
        if (*read, *_spaces(_extra_spaces_key(remove_extra), prefix)) == model.recipe.normalizers
    ]
    prefix, remove_extra = [*exact, (bool(options.spaces.dummy), options.spaces.remove_extra)][0]
    keys |= {
        "add_space_prefix": prefix,
        "remove_extra_whitespaces": remove_extra,
        **({"precompiled_charsmap": array("B", rules)} if rules else {}),
        **_end_keys(prepared),
    }
    lost = [*lost, *piece_losses, *_precision_losses(model, pieces)]
    unused = _UNKNOWN_FIELDS if model.recipe.unk_token is None else ()
    if exact and model.recipe.decoders == decoders(prefix, falls_back=False):
        return _Draft(prepared, keys, lost, unused)
    lost += options.losses
    lost += map(LostFeature, _space_losses(options.spaces))
    if not exact and remove_extra and not any(SPACE in loss.what for loss in options.losses):
        lost.append(LostFeature(f"what it does with a {SPACE} that a text itself has at its ends"))
    if not exact and remove_extra and not prefix:
        lost.append(LostFeature("that no space is put before a text"))
    if not exact and prefix and not remove_extra:
        lost.append(LostFeature("that a text of spaces alone gets one more"))
    if rules and read[0]["keep"] != options.rules.keep:
        lost.append(LostFeature("what its rules for normalizing leave alone"))
    if model.recipe.unk_token not in (None, options.surface):
        lost.append(LostFeature(f"that {options.surface!r} stands for an unknown piece"))
    return _Draft(prepared, keys, lost, (*_COVERED, *unused))


def _extra_spaces_key(remove_extra: bool) -> dict[str, Any]:
    return {"tokenizer.ggml.remove_extra_whitespaces": remove_extra}


def _precision_losses(model: Model, pieces: list[sentencepiece.Piece]) -> list[LostFeature]:
    """Return the loss of precision: llama.cpp adds single-precision scores in double precision."""
    if model.recipe.precision == "single":
        return [LostFeature("sums in single precision: near-ties can be split otherwise")]
    scores = [piece.score for piece in pieces if piece.type == NORMAL]
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
_CONTROLS_LOST = "that U+000B, U+000C and U+0085 are removed, which are white space there"
_ACCENTS_LOST = "that Hangul syllables keep all their letters, and marks that are not accents stay"
_DOTTED_LOST = "that \u0130 becomes an i and a dot above it"


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
    flags, lost = _normalizer_keys(recipe)
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
    before, after = _template_ends(model)
    keys = {
        "tokens": texts,
        "token_type": array("i", _token_types(model)),
        **flags,
        **_roles(model, bos=before or roles_of(model).get("cls_token"), sep=after),
    }
    return _Draft(replace(model, merges=[]), keys, lost, ("normalizers",))


def _normalizer_keys(recipe: Recipe) -> tuple[dict[str, Any], list[LostFeature]]:
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
    what = [_CONTROLS_LOST, *([_ACCENTS_LOST] if strip else [_DOTTED_LOST] if lowercase else [])]
    return flags, [LostFeature(text) for text in what]


_DRAFTS: dict[str, Callable[[Model], _Draft]] = {
    "gpt2": _draft_gpt2,
    "gemma4": _draft_gemma4,
    "llama": _draft_llama,
    "t5": _draft_t5,
    "bert": _draft_bert,
}
