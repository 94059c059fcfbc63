"""A model as the whole of a `tokenizer.json` without tokctl's key, and what that leaves out."""

from __future__ import annotations

from typing import Any

from tokctl.formats import merging
from tokctl.formats.contract import InexpressibleError, Loss, training_lost
from tokctl.formats.huggingface.nearest import nearest
from tokctl.formats.huggingface.writing import AMBIGUOUS, frame, model_size
from tokctl.model import FilledRecipe


def losses(model: FilledRecipe) -> list[Loss]:
    """What the document leaves out of the model and of what is known of its training."""
    near, found = nearest(merging.by_merges(model))
    _check(near)
    frame(near, lossy=True)
    counted = any(merge[3] for merge in model.merges)
    return [*found, *training_lost(model, model.rounds, model.counts, counted)]


def document(model: FilledRecipe) -> dict[str, Any]:
    """The document of the nearest model. Ranks are written as the merges that they stand
    for."""
    model, _ = nearest(merging.by_merges(model))
    _check(model)
    made = frame(model, lossy=True)
    inner = made["model"]
    own = model.spelled[: model_size(model)]
    if inner["type"] == "Unigram":
        inner["vocab"] = list(zip(own, model.scores, strict=False))
    else:
        inner["vocab"] = {token: id_ for id_, token in enumerate(own)}
    if inner["type"] == "BPE":
        name = model.spelled.__getitem__
        inner["merges"] = [(name(left), name(right)) for left, right, *_ in model.merges]
    return made


def _check(model: FilledRecipe) -> None:
    if model.is_ambiguous:
        raise InexpressibleError(AMBIGUOUS)
