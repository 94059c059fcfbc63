"""`vocab.json` and `merges.txt`: GPT-2's two files, which many BPE trainers write.

OpenAI called them `encoder.json` and `vocab.bpe`. They hold the tokens with their ids and the
merges in order, but not how a text is split. So the tokens decide:

- The vocabulary is byte-level if it has a token for each of ASCII's visible characters, for the
  space and for each continuation byte of UTF-8. The pattern is then GPT-2's unless the caller names
  one.
- If, in addition, each byte of UTF-8 has a token that ends with `</w>`, the model is read like
  CLIP's.
- If other tokens end with `</w>`, the model is read as Hugging Face's `CharBPETokenizer` reads it:
  BERT's normalizer without lower case, BERT's words, `<unk>`.
- For other vocabularies the caller has to name a pattern.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from typing import Any

from tokctl.core import orjson
from tokctl.core.errors import BadOption, TokctlError
from tokctl.formats import merging
from tokctl.formats.contract import (
    Files,
    LoadOptions,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    extra_files_lost,
    lengths_lost,
    training_lost,
    unless_damaged,
)
from tokctl.formats.differences import differences
from tokctl.formats.huggingface import vocab_files
from tokctl.formats.huggingface.classes import bert_words_bpe, build, known_classes
from tokctl.formats.huggingface.components import Fields, Json, with_ids
from tokctl.formats.huggingface.components import byte_level as byte_level_json
from tokctl.formats.huggingface.document import read_document
from tokctl.formats.registry import (
    MERGES_TXT,
    TOKENIZER_CONFIG,
    TOKENIZER_JSON,
    VOCAB_JSON,
    VOCAB_MERGES_NAMES,
    vocab_and_merges,
)
from tokctl.model import ImportedFrom, Model, byte_level
from tokctl.model.parts import PRE_TOKENIZERS

#: A folder that has one of these files is read as a Hugging Face folder.
CONFLICTING_FILES = (TOKENIZER_JSON, TOKENIZER_CONFIG)
_SUFFIX = "</w>"
#: Brackets around tokens that no merge makes: `<pad>`, `[MASK]`.
_BRACKETS = (("<", ">"), ("[", "]"))
_LONGEST_BRACKETED = 40


def read(source: ModelInput) -> Model:
    """Return the model in the two files.

    Raises:
        TokctlError: a file is damaged, or nothing says how a text is split.
    """
    files = vocab_and_merges(source)
    assert files is not None
    vocab, merges = files
    with unless_damaged(source.name, hinted=True):
        model = build_model(
            vocab_files.vocab_json(vocab), vocab_files.merges_txt(merges), source.hints
        )
        name = source.path.name if source.path and not source.is_folder else ""
        for suffix in chain.from_iterable(VOCAB_MERGES_NAMES):
            name = name.removesuffix(suffix)
        name = name.rstrip("-_.")
        return replace(model, origin=ImportedFrom("vocab-merges", name))


def build_model(vocabulary: dict[str, int], pairs: list[Any], hints: LoadOptions) -> Model:
    """Return the model of a vocabulary and its merges.

    Args:
        vocabulary: the ids of the tokens, by their spelling in the file.
        pairs: the spellings of the two sides of each merge, in order.
        hints: the pattern and the special tokens, if the caller gives them.

    Raises:
        TokctlError: nothing says how a text is split, or a special token has another id.
    """
    model_object: Json = {"type": "BPE", "vocab": vocabulary, "merges": pairs, "unk_token": None}
    document: Json = {"version": "1.0", "model": model_object}
    if is_clip_vocabulary(vocabulary):
        document = _clip_document(vocabulary, pairs)
    elif _is_byte_level(vocabulary):
        document |= {"pre_tokenizer": byte_level_json(), "decoder": byte_level_json()}
    elif any(token.endswith(_SUFFIX) for token in vocabulary):
        document |= {**bert_words_bpe(lowercase=False, strip_accents=None), "model": model_object}
        model_object |= {"end_of_word_suffix": _SUFFIX}
        model_object |= {"unk_token": next((name for name in _UNKNOWN if name in vocabulary), None)}
    elif hints.pattern is None:
        raise BadOption(
            "its vocabulary has neither the bytes of text nor words that end with </w>, so "
            "nothing says how a text is split",
            "tokctl convert --pattern SPLIT says it; or take the tokenizer.json that belongs to it",
            "missing-option",
        )
    document["added_tokens"] = _special_entries(hints, vocabulary, pairs)
    model = read_document(document)
    recipe = replace(model.recipe, name="vocab-merges")
    if hints.pattern is not None:
        recipe = replace(recipe, pre_tokenizers=PRE_TOKENIZERS.steps(hints.pattern))
    return replace(model, recipe=recipe)


def is_clip_vocabulary(vocabulary: Collection[str]) -> bool:
    """Return whether the vocabulary is byte-level and has `BYTE</w>` for each byte of UTF-8."""
    tokens = set(vocabulary)
    return tokens >= _REQUIRED_BYTES and tokens >= {
        character + _SUFFIX for character in _UTF8_BYTES
    }


def _clip_document(vocabulary: dict[str, int], pairs: list[Any]) -> Json:
    """Return the document of a model like CLIP's, with the template of its two special tokens."""
    clip = known_classes()["CLIPTokenizer"]
    document = build(clip, Fields(TOKENIZER_CONFIG, {}), clip.roles, vocabulary, [])
    document["model"] |= {"vocab": vocabulary, "merges": pairs}
    if vocabulary.keys() >= set(clip.roles.values()):
        document["post_processor"] = with_ids(document["post_processor"], vocabulary)
    else:
        document["post_processor"] = document["model"]["unk_token"] = None
    return document


_UNKNOWN = ("<unk>", "[UNK]")

#: The bytes that occur in UTF-8, as the vocabulary spells them.
_UTF8_BYTES = {
    one for one, byte in byte_level.BYTES.items() if byte not in byte_level.NEVER_IN_UTF8
}
#: A byte-level vocabulary has at least these bytes. Some of them (SmolLM's) lack control characters
#: and bytes that begin the characters of few scripts.
_REQUIRED_BYTES = {
    one for one, byte in byte_level.BYTES.items() if 0x20 <= byte < 0x7F or byte >> 6 == 2
}


def _is_byte_level(vocabulary: dict[str, int]) -> bool:
    return vocabulary.keys() >= _REQUIRED_BYTES


def _special_entries(
    hints: LoadOptions, vocabulary: dict[str, int], pairs: list[Any]
) -> list[Json]:
    """Return the entries of the special tokens.

    They are the tokens that the caller names. Otherwise they are the tokens of 3 to 40 characters
    in angle or square brackets that no merge makes. In a byte-level vocabulary, tokens
    that no merge makes and that do not spell bytes are special, too.
    """
    named = hints.special
    if named is not None:
        for text, id_ in named.items():
            if vocabulary.get(text, id_) != id_:
                raise BadOption(
                    f"{text!r} has the id {vocabulary[text]} in the vocabulary, not {id_}",
                    "give each special token its id in the vocabulary, or leave it out",
                    "conflict",
                )
        special = sorted(named.items(), key=lambda item: item[1])
        return [_entry(text, id_) for text, id_ in special]
    merged = {"".join(pair) for pair in pairs}
    is_bytes = _is_byte_level(vocabulary)
    found = [
        text
        for text in vocabulary
        if text not in merged
        and (_is_bracketed(text) or (is_bytes and not byte_level.BYTES.keys() >= set(text)))
    ]
    return [_entry(text, vocabulary[text]) for text in found]


def _is_bracketed(text: str) -> bool:
    bracketed = 2 < len(text) <= _LONGEST_BRACKETED and (text[0], text[-1]) in _BRACKETS
    return bracketed and not text.endswith(_SUFFIX)  # a `<` at the end of a word is not a mark


def _entry(text: str, id_: int) -> Json:
    return {"id": id_, "content": text, "special": True, "normalized": False}


# -- writing --------------------------------------------------------------------------


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: what a reader of the two files would not restore.

    Raises:
        UnsupportedByFormat: the model is not BPE by merges or ranks, or a reader could not split
            texts.
    """
    written = _with_written_merges(model)
    write(written)
    vocabulary, pairs = _vocab_and_pairs(written)
    try:
        read_back = build_model(vocabulary, pairs, LoadOptions())
    except TokctlError as error:
        raise UnsupportedByFormat(f"of the two files alone, {error.message}") from None
    return [
        *differences(written, read_back),
        *training_lost(model, any(merge[3] for merge in model.merges)),
        *lengths_lost(model),
        *extra_files_lost(model),
    ]


def write(model: Model) -> Files:
    """Return the two files; a model with ranks is written with the equivalent merges.

    Raises:
        UnsupportedByFormat: the model is not BPE by merges or ranks, or a token does not fit on a
            line.
    """
    vocabulary, pairs = _vocab_and_pairs(_with_written_merges(model))
    try:
        merges = vocab_files.write_merges(pairs)
    except ValueError as error:
        raise UnsupportedByFormat(f"merges.txt has no place for {error}") from None
    return {VOCAB_JSON: orjson.dumps(vocabulary), MERGES_TXT: merges}


def _vocab_and_pairs(model: Model) -> tuple[dict[str, int], list[tuple[str, str]]]:
    spelled = model.spelled
    pairs = [(spelled[left], spelled[right]) for left, right, *_ in model.merges]
    return {token: id_ for id_, token in enumerate(spelled)}, pairs


def _with_written_merges(model: Model) -> Model:
    """Return the model with merges; raise UnsupportedByFormat if the files can't hold it."""
    recipe = model.recipe
    if not recipe.traits.is_plain_bpe:
        raise UnsupportedByFormat(f"it holds merges, and this is a {recipe.algorithm} model")
    if recipe.replays_merges:
        raise UnsupportedByFormat("it merges by rank, and this model replays its merges")
    writable = merging.with_merges(model)
    if writable.is_ambiguous:
        raise UnsupportedByFormat("it knows tokens by their spelling, and two are spelled alike")
    if not recipe.is_byte_level and not recipe.marker.text:
        raise UnsupportedByFormat(
            "the two files do not say how a text is split, and no </w> in its tokens shows it"
        )
    has_end_marker = recipe.marker.is_end_fused and recipe.marker.text == _SUFFIX
    if not recipe.is_byte_level and not has_end_marker:
        raise UnsupportedByFormat(
            f"words are marked by </w> at the end of tokens there, not by {recipe.marker}"
        )
    return writable
