"""tokctl's model file: a `tokenizer.json` that Hugging Face `tokenizers` loads unchanged.

Data for which that format has no field is in the object `tokctl` inside `model`, which other
readers ignore. A recipe that the format can't express gets `"version": "tokctl-1"`: other readers
then refuse the file instead of giving other ids. Files without the key `tokctl` come from other
libraries, and `huggingface.document` reads them.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any

from tokctl._native import ModelFile, StoredModel
from tokctl.core.errors import TokctlError, Unsupported
from tokctl.formats.contract import (
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    unless_damaged,
)
from tokctl.formats.huggingface import document as huggingface
from tokctl.formats.huggingface.components import read_lengths
from tokctl.formats.huggingface.models import (
    merge_ids,
    pieces_and_scores,
    store_model,
    tokens_in_order,
)
from tokctl.formats.registry import PRIVATE_VERSION
from tokctl.model import (
    ImportedFrom,
    Merge,
    MergeLog,
    Model,
    ParityRecord,
    Recipe,
    Round,
    TrainingRecord,
    byte_level,
)
from tokctl.model.parts import AddedToken

#: The version of the data under `model.tokctl`. Version 1 had no scores, rounds, counts of tokens
#: or added tokens.
FORMAT_VERSION = 2
_READABLE_VERSIONS = (1, 2)
#: The keys of a merge's counts: of the pair, of its left side and of its right side. The score of a
#: merge depends on all three.
_COUNTS = ("counts", "left_counts", "right_counts")


def losses(_model: Model) -> list[LostFeature]:
    """Return an empty list: the file holds all of a model."""
    return []


def write(model: Model) -> Files:
    """Return the model file: one line of UTF-8, equal for equal models."""
    recipe = model.recipe
    spelled, ambiguous = model.spelled, model.is_ambiguous
    document = _outline(model, ambiguous)
    size = _vocabulary_size(model, document)
    private: dict[str, Any] = {"format": FORMAT_VERSION, "recipe": recipe.to_dict()}
    if model.training:
        private["training"] = model.training.to_dict()
    if model.parity:
        private["parity"] = model.parity.of(range(len(model.merges))).to_dict()
    if model.added_tokens is not None:
        private["added_tokens"] = [_added_token_fields(token) for token in model.added_tokens]
    if model.origin is not None:
        private["origin"] = tuple(model.origin)
    if model.extra_files:
        # The key is part of the file format.
        private["companions"] = model.extra_files
    if model.lengths:
        private["lengths"] = model.lengths
    if model.events is not None:
        private["events"] = model.events.to_dict(is_byte_level=recipe.is_byte_level)
    if model.rounds:
        private["rounds"] = list(map(tuple, model.rounds))
    if model.counts:
        private["token_counts"] = model.counts
    pairs: list[tuple[Any, ...]] = []
    if model.merges:
        lefts, rights, _, *counts = zip(*model.merges, strict=True)
        private.update(zip(_COUNTS, counts, strict=True))
        name = spelled.__getitem__
        pairs = list(zip(map(name, lefts), map(name, rights), strict=True))
    if model.supermerges:
        private["supermerges"] = list(map(tuple, model.supermerges))
    if ambiguous:
        private["merge_ids"], pairs = [merge[:3] for merge in model.merges], []
    model_object = document["model"]
    vocabulary = spelled[:size]
    if model_object.get("type") == "Unigram":
        scores = model.scores or [0.0] * len(spelled)
        model_object["vocab"] = list(
            zip(vocabulary, huggingface.written_scores(scores[:size]), strict=True)
        )
    else:
        model_object["vocab"] = (
            vocabulary if ambiguous else {token: id_ for id_, token in enumerate(vocabulary)}
        )
        if model.scores:
            private["scores"] = model.scores
    if model_object.get("type") == "BPE":
        model_object["merges"] = pairs
    elif pairs:
        private["merges"] = pairs
    model_object["tokctl"] = private
    from tokctl.core import orjson

    return {"": orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)}


def why_not_loadable(recipe_or_model: Recipe | Model) -> str | None:
    """Return why Hugging Face refuses the file, or None if Hugging Face loads it."""
    reason = huggingface.why_not_loadable(recipe_or_model)
    if reason is None and isinstance(recipe_or_model, Model) and recipe_or_model.is_ambiguous:
        return huggingface.AMBIGUOUS
    return reason


def _outline(model: Model, ambiguous: bool) -> dict[str, Any]:
    """Return the document without the vocabulary, the merges and tokctl's own data."""
    if not ambiguous:
        try:
            return huggingface.outline(model)
        except UnsupportedByFormat:
            pass
    return {"version": PRIVATE_VERSION, "model": {}}


def _vocabulary_size(model: Model, document: dict[str, Any]) -> int:
    """Return the number of tokens in the vocabulary; the other tokens are added tokens only."""
    foreign = document["version"] != PRIVATE_VERSION
    return huggingface.model_size(model) if foreign else model.size


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged; the message names the file.
    """
    document, name = source.outline, source.name
    with unless_damaged(name):
        _check_format(document["model"], name)
        try:
            model = _build_model(document["model"], source.lists)
        except TokctlError as error:
            raise ValueError(error.message) from None
        _check_outline(document, model)
    return model


def _check_format(model: dict[str, Any], name: str) -> None:
    version = model["tokctl"].get("format", FORMAT_VERSION)
    if version not in _READABLE_VERSIONS or type(version) is not int:
        raise Unsupported(
            f"{name} has format {version!r:.40}, and this tokctl reads {FORMAT_VERSION}",
            "the file is of another version of tokctl: install that version, or a newer one",
        )


def _check_outline(document: dict[str, Any], model: Model) -> None:
    """Raise ValueError if the fields that other libraries read do not match the recipe."""
    private = document["model"]["tokctl"]
    expected_outline = _outline(model, "merge_ids" in private)
    expected_model = expected_outline.pop("model")
    outer = {key: value for key, value in document.items() if key != "model"}
    model_fields = {key: document["model"].get(key) for key in expected_model}
    for wanted, value in ((expected_outline, outer), (expected_model, model_fields)):
        for key in wanted | value:
            if wanted.get(key, value) != value.get(key, wanted):
                raise ValueError(
                    f"its {key!r} is not that of its recipe (it was changed by hand, or by a "
                    "library that does not know the recipe)"
                )


def _build_model(model: dict[str, Any], lists: ModelFile | None) -> Model:
    """Return the model of a document.

    Args:
        model: the object `model` of the document.
        lists: the long lists of the document, if the core has read them.
    """
    private = model["tokctl"]
    recipe = Recipe.from_dict(private["recipe"])
    added = _read_added_tokens(private)
    is_scored = model.get("type") == "Unigram"
    if lists is None:
        lists = _read_lists(model, private, is_scored=is_scored)
    elif lists.is_scored != is_scored:
        if is_scored:
            raise ValueError("the vocabulary is not a list")
        raise TypeError("vocab")
    if added is None:
        lowest_ids = range(min(len(recipe.special_tokens), len(lists)))
        if tuple(map(lists.spelled, lowest_ids)) != recipe.special_tokens:
            raise ValueError("the special tokens do not have the lowest ids")
    if recipe.has_every_byte and None in map(lists.id, byte_level.BYTES):
        raise ValueError("not every byte has a token")
    training = private.get("training")
    # Without a list of added tokens, the recipe's special tokens have the lowest ids.
    special = [AddedToken(text, id_) for id_, text in enumerate(recipe.special_tokens)]
    core = store_model(lists, recipe, special if added is None else added)
    for name, length in zip(_COUNTS, core.lengths["counts"], strict=True):
        if length != core.lengths["merges"]:
            raise ValueError(f"there is not one of the {name} for each merge")
    return Model.of_core(
        recipe,
        core,
        TrainingRecord.from_dict(training) if training else None,
        rounds=_read_rounds(private.get("rounds", [])),
        added_tokens=added,
        origin=_read_origin(private),
        extra_files=_read_extra_files(private),
        lengths=read_lengths(private.get("lengths", {})),
        parity=_read_parity(private, core.lengths["merges"]),
        events=_read_events(private, recipe),
        supermerges=_read_supermerges(private, recipe, core),
    )


def _read_lists(model: dict[str, Any], private: dict[str, Any], *, is_scored: bool) -> ModelFile:
    """Return the long lists of a document.

    Raises:
        ValueError: an entry of a list has a wrong value.
        TypeError: a list or an entry has a wrong type.
    """
    vocab = model["vocab"]
    scores: list[float] = []
    if is_scored:
        spelled, scores = pieces_and_scores(vocab)
    elif isinstance(vocab, list):
        spelled = vocab
        if set(map(type, vocab)) - {str}:
            raise TypeError("vocab")
    else:
        spelled = tokens_in_order(vocab)
    is_scored = bool(scores)
    if not is_scored:
        scores = _read_scores(private)
    return ModelFile.of(
        list(spelled),
        _read_merges(spelled, model, private),
        scores=scores,
        scored=is_scored,
        columns=tuple(
            _checked_counts(private[name], name) if name in private else None
            for name in (*_COUNTS, "token_counts")
        ),
    )


def _read_merges(
    spelled: list[str], model: dict[str, Any], private: dict[str, Any]
) -> list[list[int]]:
    """Return the columns of the merges: the ids of the two sides, or of all three tokens."""
    if "merge_ids" not in private:
        pairs = private["merges"] if "merges" in private else model.get("merges", [])
        return merge_ids({token: id_ for id_, token in enumerate(spelled)}, pairs)
    triples = private["merge_ids"]
    columns = [_checked_counts(list(column), "merge_ids") for column in zip(*triples, strict=True)]
    highest = max(map(max, columns), default=0)
    if (triples and len(columns) != 3) or highest >= len(spelled):
        raise ValueError("one of the merges names no token")
    return columns


def _read_events(private: dict[str, Any], recipe: Recipe) -> MergeLog | None:
    if "events" not in private:
        return None
    return MergeLog.from_dict(private["events"], is_byte_level=recipe.is_byte_level)


def _read_supermerges(private: dict[str, Any], recipe: Recipe, core: StoredModel) -> list[Merge]:
    rows = private.get("supermerges", [])
    if rows and "superword" not in recipe.traits.token_kinds:
        raise ValueError(f"{recipe.algorithm} has no supermerges")
    for row in rows:
        if len(_checked_counts(row, "supermerges")) != len(Merge._fields):
            raise ValueError("one of the supermerges is not whole")
        if max(row[:3]) >= len(core):
            raise ValueError("one of the supermerges names no token")
    if rows:
        core.check_supermerges([tuple(row[:3]) for row in rows])
    return list(starmap(Merge, rows))


def _read_origin(private: dict[str, Any]) -> ImportedFrom | None:
    if "origin" not in private:
        return None
    format_name, name = private["origin"]
    if not isinstance(format_name, str) or not isinstance(name, str):
        raise TypeError("origin")
    return ImportedFrom(format_name, name)


def _read_parity(private: dict[str, Any], merges: int) -> ParityRecord | None:
    if "parity" not in private:
        return None
    if not isinstance(private["parity"], dict):
        raise TypeError("parity")
    return ParityRecord.from_dict(private["parity"], merges)


def _read_extra_files(private: dict[str, Any]) -> dict[str, str]:
    extra_files: dict[str, str] = private.get("companions", {})
    if {*map(type, extra_files), *map(type, extra_files.values())} - {str}:
        raise TypeError("companions")
    return extra_files


def _read_added_tokens(private: dict[str, Any]) -> tuple[AddedToken, ...] | None:
    if "added_tokens" not in private:
        return None
    return tuple(starmap(AddedToken, private["added_tokens"]))


def _added_token_fields(token: AddedToken) -> tuple[Any, ...]:
    """Return the fields of an added token, without default values at the end."""
    fields = list(token)
    for default in reversed(_NEW_FIELD_DEFAULTS):
        if fields[-1] != default:
            break
        fields.pop()
    return tuple(fields)


#: The default values of the fields that older files lack.
_NEW_FIELD_DEFAULTS = AddedToken("", 0)[8:]


def _read_scores(private: dict[str, Any]) -> list[float]:
    scores = private.get("scores", [])
    if not isinstance(scores, list) or set(map(type, scores)) - {float, int}:
        raise ValueError("one of the scores is not a number")
    return list(map(float, scores))


def _read_rounds(entries: Any) -> list[Round]:
    rounds = []
    for *numbers, examples in entries:
        shown = tuple((piece, loss) for piece, loss in examples)
        found = Round._make([*numbers, shown])
        losses = [found.objective, *(loss for _, loss in shown if loss is not None)]
        counts = (found.pieces, found.tokens, found.unused, found.dropped)
        if (set(map(type, counts)), set(map(type, losses))) != ({int}, {float}):
            raise TypeError("rounds")
        if set(map(type, (piece for piece, _ in shown))) - {str}:
            raise TypeError("rounds")
        rounds.append(found)
    return rounds


def _checked_counts(column: Any, name: str) -> list[int]:
    """Return `column`, after checking that it is a list of 64-bit counts.

    Raises:
        ValueError: an entry is not a count.
    """
    if not isinstance(column, list) or set(map(type, column)) - {int}:
        raise ValueError(f"one of the {name} is not a count")
    if min(column, default=0) < 0:
        raise ValueError(f"one of the {name} is not a count")
    if max(column, default=0) >= 2**64:
        raise ValueError(f"one of the {name} does not fit 64 bits")
    return column
