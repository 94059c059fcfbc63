"""BERT's `vocab.txt`: a WordPiece vocabulary, one token to a line, the line's number its id.

How text is normalized stands in the `tokenizer_config.json` beside it, if there is one
(`do_lower_case`, `strip_accents`, `tokenize_chinese_chars`). Without it, a vocabulary with one of
the letters A to Z as a token is cased, any other uncased.
"""

from __future__ import annotations

from dataclasses import replace

from tokctl.formats.contract import (
    LARGEST_VOCABULARY,
    Files,
    InexpressibleError,
    Loss,
    Source,
    companions_lost,
    lengths_lost,
    training_lost,
    unless_damaged,
)
from tokctl.formats.differences import differences
from tokctl.formats.huggingface import vocab_files
from tokctl.formats.huggingface.classes import CLASSES, build
from tokctl.formats.huggingface.components import Fields, Json, with_ids
from tokctl.formats.huggingface.document import read_document
from tokctl.formats.huggingface.folder import CONFIG, parsed
from tokctl.model import FilledRecipe, Origin

_BERT = CLASSES["BertTokenizer"]
_ENDS = ("[CLS]", "[SEP]", "[PAD]")
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_one(source: Source) -> bool:
    """Are its lines tokens, [UNK], [CLS], [SEP] and [PAD] among them, or [UNK], one of the others
    and some that begin with ##?"""
    if source.is_folder or source.is_json or b"\0" in source.head or b"\n" not in source.head:
        return False
    if source.size > LARGEST_VOCABULARY:
        return False
    # No token has a space in it; the last line of the head may be cut off.
    if any(b" " in line.strip() for line in source.head.splitlines()[:-1]):
        return False
    data = b"\n" + source.data
    ends = [f"\n{token}".encode() in data for token in _ENDS]
    return b"\n[UNK]" in data and (all(ends) or (any(ends) and b"\n##" in data))


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where it is not whole."""
    with unless_damaged(source.name):
        vocabulary = vocab_files.vocab_txt(source)
        beside = source.beside(CONFIG)
        config = parsed(beside.data.decode(errors="replace"), beside.name) if beside else {}
        return replace(_model(vocabulary, config), origin=Origin("bert-vocab"))


def _model(vocabulary: dict[str, int], config: Json) -> FilledRecipe:
    cased = any(letter in vocabulary for letter in _LETTERS)
    known = {name: text for name, text in _BERT.roles.items() if text in vocabulary}
    fields = Fields(CONFIG, {"do_lower_case": not cased} | config)
    built = build(_BERT, fields, _BERT.roles, vocabulary, [])
    built["model"]["vocab"] = vocabulary
    if {"cls_token", "sep_token"} <= known.keys():
        built["post_processor"] = with_ids(built["post_processor"], vocabulary)
    else:
        built["post_processor"] = None
    built["added_tokens"] = [
        {"id": vocabulary[text], "content": text, "special": True, "normalized": False}
        for text in known.values()
    ]
    model = read_document(built)
    return replace(model, recipe=replace(model.recipe, name="bert-vocab"))


# -- writing --------------------------------------------------------------------------


def losses(model: FilledRecipe) -> list[Loss]:
    """What is not in the file, and is not assumed of it either."""
    write(model)
    vocabulary = {token: id_ for id_, token in enumerate(_tokens(model))}
    found = differences(model, _model(vocabulary, {}))
    return [*found, *training_lost(model), *lengths_lost(model), *companions_lost(model)]


def write(model: FilledRecipe) -> Files:
    """The file."""
    try:
        data = vocab_files.write_vocab_txt(_tokens(model))
    except ValueError as error:
        raise InexpressibleError(f"a line can't hold {error}") from None
    if not is_one(Source("", data=data)):
        raise InexpressibleError(
            "its files have [UNK], [CLS], [SEP] and [PAD], or one of these and tokens that begin "
            "with ##"
        )
    return {"": data}


def _tokens(model: FilledRecipe) -> list[str]:
    recipe = model.recipe
    if not recipe.matches_longest:
        raise InexpressibleError("it holds WordPiece by the longest match only")
    if recipe.marker.text != "##":
        raise InexpressibleError(f"tokens inside words begin with ## there, not {recipe.marker}")
    tokens = model.spelled
    if len(set(tokens)) != len(tokens):
        raise InexpressibleError("it knows tokens by their spelling, and two are spelled alike")
    return tokens
