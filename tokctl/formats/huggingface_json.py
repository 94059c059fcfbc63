"""Hugging Face's `tokenizer.json` without tokctl's key: what any of its readers knows."""

from __future__ import annotations

from typing import Any

import orjson

from tokctl.errors import TokctlError
from tokctl.formats import huggingface, merging
from tokctl.formats.contract import Files, InexpressibleError, Loss, Source, damaged
from tokctl.formats.huggingface import reading
from tokctl.recipe import FilledRecipe


def is_one(source: Source) -> bool:
    """Is it a document with a model in it?"""
    if source.is_folder or not source.is_json:
        return False
    return isinstance(source.document.get("model"), dict)


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names the file where it is not whole."""
    try:
        return reading.read(source.document)
    except KeyError as error:
        raise damaged(source.name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(source.name, "a field is of another type than it should be") from None
    except (ValueError, OverflowError) as error:
        raise damaged(source.name, str(error)) from None
    except TokctlError as error:
        message = f"tokctl can't use {source.name}: {error.message}"
        raise TokctlError(message, error.hint) from None


def losses(model: FilledRecipe) -> list[Loss]:
    """What the file leaves out: what tokctl knows of a training, and what came along."""
    _document(model)
    found = []
    if model.training is not None:
        found.append(Loss("what is known of its training", minor=True))
    if model.companions:
        found.append(Loss(f"the files that came with it ({', '.join(model.companions)})", True))
    return found


def write(model: FilledRecipe) -> Files:
    """The file, on one line. Ranks are written as the merges that they stand for."""
    return {"": orjson.dumps(_document(model), option=orjson.OPT_APPEND_NEWLINE)}


def _document(model: FilledRecipe) -> dict[str, Any]:
    model = merging.by_merges(model)
    if model.is_ambiguous:
        raise InexpressibleError(huggingface.AMBIGUOUS)
    document = huggingface.frame(model)
    inner = document["model"]
    own = model.spelled[: huggingface.model_size(model)]
    if inner["type"] == "Unigram":
        inner["vocab"] = list(zip(own, model.scores, strict=False))
    else:
        inner["vocab"] = {token: id_ for id_, token in enumerate(own)}
    if inner["type"] == "BPE":
        name = model.spelled.__getitem__
        inner["merges"] = [(name(left), name(right)) for left, right, *_ in model.merges]
    return document
