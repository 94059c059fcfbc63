"""BERT's `vocab.txt`: a WordPiece vocabulary with one token per line, in id order.

The `tokenizer_config.json` beside the file says how text is normalized (`do_lower_case`,
`strip_accents`, `tokenize_chinese_chars`). Without that file, a vocabulary is taken as cased if one
of the letters A to Z is a token, and as uncased otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from tokctl.formats.contract import (
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
from tokctl.formats.huggingface import vocab_files
from tokctl.formats.huggingface.classes import build, known_classes
from tokctl.formats.huggingface.components import Fields, Json, with_ids
from tokctl.formats.huggingface.document import read_document
from tokctl.formats.huggingface.folder import parse_object
from tokctl.formats.registry import TOKENIZER_CONFIG, is_bert_vocab
from tokctl.model import ImportedFrom, Model

_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged; the message names the file.
    """
    with unless_damaged(source.name):
        vocabulary = vocab_files.vocab_txt(source)
        sibling = source.sibling(TOKENIZER_CONFIG)
        config = (
            parse_object(sibling.data.decode(errors="replace"), sibling.name) if sibling else {}
        )
        return replace(_build_model(vocabulary, config), origin=ImportedFrom("bert-vocab"))


def _build_model(vocabulary: dict[str, int], config: Json) -> Model:
    cased = any(letter in vocabulary for letter in _LETTERS)
    bert = known_classes()["BertTokenizer"]
    roles = {name: text for name, text in bert.roles.items() if text in vocabulary}
    fields = Fields(TOKENIZER_CONFIG, {"do_lower_case": not cased} | config)
    document = build(bert, fields, bert.roles, vocabulary, [])
    document["model"]["vocab"] = vocabulary
    if {"cls_token", "sep_token"} <= roles.keys():
        document["post_processor"] = with_ids(document["post_processor"], vocabulary)
    else:
        document["post_processor"] = None
    document["added_tokens"] = [
        {"id": vocabulary[text], "content": text, "special": True, "normalized": False}
        for text in roles.values()
    ]
    model = read_document(document)
    return replace(model, recipe=replace(model.recipe, name="bert-vocab"))


# -- writing --------------------------------------------------------------------------


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: what a reader of `vocab.txt` alone would not restore."""
    write(model)
    vocabulary = {token: id_ for id_, token in enumerate(_tokens(model))}
    found = differences(model, _build_model(vocabulary, {}))
    return [*found, *training_lost(model), *lengths_lost(model), *extra_files_lost(model)]


def write(model: Model) -> Files:
    """Return the bytes of `vocab.txt` under the name "".

    Raises:
        UnsupportedByFormat: the model is not WordPiece by longest match with the prefix `##`, or a
            token does not fit on a line.
    """
    try:
        data = vocab_files.write_vocab_txt(_tokens(model))
    except ValueError as error:
        raise UnsupportedByFormat(f"a line can't hold {error}") from None
    if not is_bert_vocab(ModelInput("", data=data)):
        raise UnsupportedByFormat(
            "its files have [UNK], [CLS], [SEP] and [PAD], or one of these and tokens that begin "
            "with ##"
        )
    return {"": data}


def _tokens(model: Model) -> list[str]:
    recipe = model.recipe
    if not recipe.matches_longest:
        raise UnsupportedByFormat("it holds WordPiece by the longest match only")
    if recipe.marker.text != "##":
        raise UnsupportedByFormat(f"tokens inside words begin with ## there, not {recipe.marker}")
    tokens = model.spelled
    if len(set(tokens)) != len(tokens):
        raise UnsupportedByFormat("it knows tokens by their spelling, and two are spelled alike")
    return tokens
