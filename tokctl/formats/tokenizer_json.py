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
from tokctl.formats.huggingface.models import fill, merge_ids, ordered, scored
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
FORMAT = 2
_READ = (1, 2)
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
    document = _frame(model, ambiguous)
    size = _vocabulary_size(model, document)
    private: dict[str, Any] = {"format": FORMAT, "recipe": recipe.to_dict()}
    if model.training:
        private["training"] = model.training.to_dict()
    if model.parity:
        private["parity"] = model.parity.of(range(len(model.merges))).to_dict()
    if model.added_tokens is not None:
        private["added_tokens"] = [_row(token) for token in model.added_tokens]
    if model.origin is not None:
        private["origin"] = tuple(model.origin)
    if model.companions:
        private["companions"] = model.companions
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
    inner = document["model"]
    own = spelled[:size]
    if inner.get("type") == "Unigram":
        scores = model.scores or [0.0] * len(spelled)
        inner["vocab"] = list(zip(own, huggingface.written_scores(scores[:size]), strict=True))
    else:
        inner["vocab"] = own if ambiguous else {token: id_ for id_, token in enumerate(own)}
        if model.scores:
            private["scores"] = model.scores
    if inner.get("type") == "BPE":
        inner["merges"] = pairs
    elif pairs:
        private["merges"] = pairs
    inner["tokctl"] = private
    from tokctl.core import orjson

    return {"": orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)}


def obstacle(given: Recipe | Model) -> str | None:
    """Return why Hugging Face refuses the file, or None if Hugging Face loads it."""
    reason = huggingface.obstacle(given)
    if reason is None and isinstance(given, Model) and given.is_ambiguous:
        return huggingface.AMBIGUOUS
    return reason


def _frame(model: Model, ambiguous: bool) -> dict[str, Any]:
    """Return the document without the vocabulary, the merges and tokctl's own data."""
    if not ambiguous:
        try:
            return huggingface.frame(model)
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
            filled = _filled(document["model"], source.lists)
        except TokctlError as error:
            raise ValueError(error.message) from None
        _check_frame(document, filled)
    return filled


def _check_format(model: dict[str, Any], name: str) -> None:
    found = model["tokctl"].get("format", FORMAT)
    if found not in _READ or type(found) is not int:
        raise Unsupported(
            f"{name} has format {found!r:.40}, and this tokctl reads {FORMAT}",
            "the file is of another version of tokctl: install that version, or a newer one",
        )


def _check_frame(document: dict[str, Any], filled: Model) -> None:
    """Raise ValueError if the fields that other libraries read do not match the recipe."""
    private = document["model"]["tokctl"]
    frame = _frame(filled, "merge_ids" in private)
    model = frame.pop("model")
    found = {key: value for key, value in document.items() if key != "model"}
    inner = {key: document["model"].get(key) for key in model}
    for expected, given in ((frame, found), (model, inner)):
        for key in expected | given:
            if expected.get(key, given) != given.get(key, expected):
                raise ValueError(
                    f"its {key!r} is not that of its recipe (it was changed by hand, or by a "
                    "library that does not know the recipe)"
                )


def _filled(model: dict[str, Any], lists: ModelFile | None) -> Model:
    """Return the model of a document.

    Args:
        model: the object `model` of the document.
        lists: the long lists of the document, if the core has read them.
    """
    private = model["tokctl"]
    recipe = Recipe.from_dict(private["recipe"])
    added = _added(private)
    is_scored = model.get("type") == "Unigram"
    if lists is None:
        lists = _lists(model, private, is_scored=is_scored)
    elif lists.is_scored != is_scored:
        if is_scored:
            raise ValueError("the vocabulary is not a list")
        raise TypeError("vocab")
    if added is None:
        first = range(min(len(recipe.special_tokens), len(lists)))
        if tuple(map(lists.spelled, first)) != recipe.special_tokens:
            raise ValueError("the special tokens do not have the lowest ids")
    if recipe.has_every_byte and None in map(lists.id, byte_level.BYTES):
        raise ValueError("not every byte has a token")
    training = private.get("training")
    # Without a list of added tokens, the recipe's special tokens have the lowest ids.
    apart = [AddedToken(text, id_) for id_, text in enumerate(recipe.special_tokens)]
    core = fill(lists, recipe, apart if added is None else added)
    for name, length in zip(_COUNTS, core.lengths["counts"], strict=True):
        if length != core.lengths["merges"]:
            raise ValueError(f"there is not one of the {name} for each merge")
    return Model.of_core(
        recipe,
        core,
        TrainingRecord.from_dict(training) if training else None,
        rounds=_rounds(private.get("rounds", [])),
        added_tokens=added,
        origin=_origin(private),
        companions=_companions(private),
        lengths=read_lengths(private.get("lengths", {})),
        parity=_parity(private, core.lengths["merges"]),
        events=_events(private, recipe),
        supermerges=_supermerges(private, recipe, core),
    )


def _lists(model: dict[str, Any], private: dict[str, Any], *, is_scored: bool) -> ModelFile:
    """Return the long lists of a document.

    Raises:
        ValueError: an entry of a list has a wrong value.
        TypeError: a list or an entry has a wrong type.
    """
    vocab = model["vocab"]
    scores: list[float] = []
    if is_scored:
        spelled, scores = scored(vocab)
    elif isinstance(vocab, list):
        spelled = vocab
        if set(map(type, vocab)) - {str}:
            raise TypeError("vocab")
    else:
        spelled = ordered(vocab)
    is_scored = bool(scores)
    if not is_scored:
        scores = _scores(private)
    return ModelFile.of(
        list(spelled),
        _merges(spelled, model, private),
        scores=scores,
        scored=is_scored,
        columns=tuple(
            _column(private[name], name) if name in private else None
            for name in (*_COUNTS, "token_counts")
        ),
    )


def _merges(spelled: list[str], model: dict[str, Any], private: dict[str, Any]) -> list[list[int]]:
    """Return the columns of the merges: the ids of the two sides, or of all three tokens."""
    if "merge_ids" not in private:
        pairs = private["merges"] if "merges" in private else model.get("merges", [])
        return merge_ids({token: id_ for id_, token in enumerate(spelled)}, pairs)
    triples = private["merge_ids"]
    columns = [_column(list(column), "merge_ids") for column in zip(*triples, strict=True)]
    highest = max(map(max, columns), default=0)
    if (triples and len(columns) != 3) or highest >= len(spelled):
        raise ValueError("one of the merges names no token")
    return columns


def _events(private: dict[str, Any], recipe: Recipe) -> MergeLog | None:
    if "events" not in private:
        return None
    return MergeLog.from_dict(private["events"], is_byte_level=recipe.is_byte_level)


def _supermerges(private: dict[str, Any], recipe: Recipe, core: StoredModel) -> list[Merge]:
    rows = private.get("supermerges", [])
    if rows and not recipe.traits.learns_superwords:
        raise ValueError(f"{recipe.algorithm} has no supermerges")
    for row in rows:
        if len(_column(row, "supermerges")) != len(Merge._fields):
            raise ValueError("one of the supermerges is not whole")
        if max(row[:3]) >= len(core):
            raise ValueError("one of the supermerges names no token")
    if rows:
        core.check_supermerges([tuple(row[:3]) for row in rows])
    return list(starmap(Merge, rows))


def _origin(private: dict[str, Any]) -> ImportedFrom | None:
    if "origin" not in private:
        return None
    format_name, name = private["origin"]
    if not isinstance(format_name, str) or not isinstance(name, str):
        raise TypeError("origin")
    return ImportedFrom(format_name, name)


def _parity(private: dict[str, Any], merges: int) -> ParityRecord | None:
    if "parity" not in private:
        return None
    if not isinstance(private["parity"], dict):
        raise TypeError("parity")
    return ParityRecord.from_dict(private["parity"], merges)


def _companions(private: dict[str, Any]) -> dict[str, str]:
    companions: dict[str, str] = private.get("companions", {})
    if {*map(type, companions), *map(type, companions.values())} - {str}:
        raise TypeError("companions")
    return companions


def _added(private: dict[str, Any]) -> tuple[AddedToken, ...] | None:
    if "added_tokens" not in private:
        return None
    return tuple(starmap(AddedToken, private["added_tokens"]))


def _row(token: AddedToken) -> tuple[Any, ...]:
    """Return the fields of an added token, without default values at the end."""
    row = list(token)
    for default in reversed(_LATER):
        if row[-1] != default:
            break
        row.pop()
    return tuple(row)


#: The default values of the fields that older files lack.
_LATER = AddedToken("", 0)[8:]


def _scores(private: dict[str, Any]) -> list[float]:
    scores = private.get("scores", [])
    if not isinstance(scores, list) or set(map(type, scores)) - {float, int}:
        raise ValueError("one of the scores is not a number")
    return list(map(float, scores))


def _rounds(entries: Any) -> list[Round]:
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


def _column(column: Any, name: str) -> list[int]:
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
