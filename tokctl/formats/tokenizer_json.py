"""tokctl's model file: a `tokenizer.json` that Hugging Face `tokenizers` loads as it is.

What that format has no place for stands under the key `tokctl` inside `model`, which its
readers ignore. A recipe that the format can't express gets `"version": "tokctl-1"`, so
that they refuse the file instead of giving other ids.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from tokctl import byte_level
from tokctl.errors import TokctlError
from tokctl.formats import huggingface
from tokctl.recipe import FilledRecipe, Merge, Recipe, TrainingRecord

#: Version of what stands under `model.tokctl`.
FORMAT = 1
PRIVATE_VERSION = "tokctl-1"
#: The name of a token's count in a merge history; `score` needs all three.
_COUNTS = ("counts", "left_counts", "right_counts")


def write(model: FilledRecipe) -> bytes:
    """The model file's bytes: UTF-8, one line, the same for the same model."""
    recipe = model.recipe
    spelled = [_spell(recipe, id_, token) for id_, token in enumerate(model.tokens)]
    private: dict[str, Any] = {"format": FORMAT, "recipe": recipe.to_dict()}
    if model.training:
        private["training"] = asdict(model.training)
    columns = zip(*(merge[3:] for merge in model.merges), strict=True)
    private.update(zip(_COUNTS, columns, strict=False))
    pairs = [(spelled[merge.left], spelled[merge.right]) for merge in model.merges]
    document = _frame(recipe)
    document["model"]["vocab"] = {token: id_ for id_, token in enumerate(spelled)}
    if document["model"].get("type") == "BPE":
        document["model"]["merges"] = pairs
    else:
        private["merges"] = pairs
    document["model"]["tokctl"] = private
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _frame(recipe: Recipe) -> dict[str, Any]:
    """The document but for the vocabulary, the merges and what is tokctl's own."""
    if huggingface.obstacle(recipe) is None:
        return huggingface.frame(recipe)
    return {"version": PRIVATE_VERSION, "model": {}}


def read(data: bytes, name: str) -> FilledRecipe:
    """The model in `data`; TokctlError that names the file where it is not whole."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _damaged(name, f"it is no JSON ({error})") from None
    model = document.get("model") if isinstance(document, dict) else None
    if not isinstance(model, dict):
        raise _damaged(name, "it has no model in it")
    if "tokctl" not in model:
        raise TokctlError(
            f"{name} was not written by tokctl",
            "reading tokenizers of other libraries is not built yet; train one with tokctl train",
        )
    if isinstance(model["tokctl"], dict) and model["tokctl"].get("format", FORMAT) != FORMAT:
        raise TokctlError(
            f"{name} has format {model['tokctl']['format']!r}, and this tokctl reads {FORMAT}",
            "it was written by another version of tokctl: install that one, or a newer one",
        )
    try:
        filled = _filled(model)
        _check_frame(document, filled.recipe)
    except KeyError as error:
        raise _damaged(name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise _damaged(name, "a field is of another type than it should be") from None
    except (ValueError, OverflowError) as error:
        raise _damaged(name, str(error)) from None
    except TokctlError as error:
        raise _damaged(name, error.message) from None
    return filled


def _check_frame(document: dict[str, Any], recipe: Recipe) -> None:
    """ValueError where what other libraries read and the recipe are not the same."""
    frame = _frame(recipe)
    model = frame.pop("model")
    found = {key: value for key, value in document.items() if key != "model"}
    inner = {key: document["model"].get(key) for key in model}
    for expected, given in ((frame, found), (model, inner)):
        for key in expected.keys() | given.keys():
            if expected.get(key, given) != given.get(key, expected):
                raise ValueError(
                    f"its {key!r} is not that of its recipe (it was changed by hand, or by a "
                    "library that does not know the recipe)"
                )


def _filled(model: dict[str, Any]) -> FilledRecipe:
    private = model["tokctl"]
    recipe = Recipe.from_dict(private["recipe"])
    vocabulary = model["vocab"]
    spelled = sorted(vocabulary, key=vocabulary.__getitem__)
    numbers = [vocabulary[token] for token in spelled]
    if numbers != list(range(len(spelled))) or set(map(type, numbers)) - {int}:
        raise ValueError("the ids of the vocabulary are not 0, 1, 2, …")
    if tuple(spelled[: len(recipe.special_tokens)]) != recipe.special_tokens:
        raise ValueError("the special tokens do not have the lowest ids")
    if recipe.units == "bytes" and not byte_level.BYTES.keys() <= vocabulary.keys():
        raise ValueError("not every byte has a token")
    pairs = private["merges"] if "merges" in private else model["merges"]
    merges = _merges(recipe, vocabulary, pairs, private)
    training = private.get("training")
    return FilledRecipe(
        recipe,
        _unspell(recipe, spelled),
        merges,
        TrainingRecord.from_dict(training) if training else None,
    )


def _merges(
    recipe: Recipe, vocabulary: dict[str, int], pairs: list[Any], private: dict[str, Any]
) -> list[Merge]:
    # Comprehensions over whole columns: a command that encodes one line waits for this.
    mark = recipe.marker.text if recipe.marker.kind == "continuation" else ""
    lefts = [left for left, _ in pairs]
    rights = [right for _, right in pairs]
    tails = [right.removeprefix(mark) for right in rights] if mark else rights
    joined = [left + tail for left, tail in zip(lefts, tails, strict=True)]
    columns = []
    for names in (lefts, rights, joined):
        ids = [vocabulary.get(name) for name in names]
        if None in ids:
            step = ids.index(None)
            raise ValueError(f"merge {step + 1} names {names[step]!r}, which is no token")
        columns.append(ids)
    for name in _COUNTS:
        column = private.get(name, [])
        if not isinstance(column, list) or len(column) != len(pairs):
            raise ValueError(f"there is not one of the {name} for each merge")
        if set(map(type, column)) - {int} or min(column, default=0) < 0:
            raise ValueError(f"one of the {name} is no count")
        if max(column, default=0) >= 2**64:
            raise ValueError(f"one of the {name} does not fit 64 bits")
        columns.append(column)
    return list(map(Merge._make, zip(*columns, strict=True)))


def _spell(recipe: Recipe, id_: int, token: bytes) -> str:
    """The token as text; a byte-level one in GPT-2's stand-ins, special tokens as they are."""
    if recipe.units == "bytes" and id_ >= len(recipe.special_tokens):
        return byte_level.spell(token)
    return token.decode()


def _unspell(recipe: Recipe, spelled: list[str]) -> list[bytes]:
    if recipe.units != "bytes":
        return [token.encode() for token in spelled]
    special = len(recipe.special_tokens)
    return [token.encode() for token in spelled[:special]] + byte_level.unspell_all(
        spelled[special:]
    )


def _damaged(name: str, why: str) -> TokctlError:
    return TokctlError(
        f"{name} is no model file, or a damaged one: {why}",
        "train it again, or copy it again from where it came",
    )
