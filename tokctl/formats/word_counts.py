r"""Word counts: the input of a training, not a model; one `word<TAB>count` per line.

In a word, `\n`, `\r`, `\t` and `\\` are escapes, and `\xff` is the byte FF if the bytes are not
UTF-8 (`native/core/src/count/lines.rs`). `training/counts.py` reads and writes such files. A model
of words or characters that has counts for its tokens can be written in this format.
"""

from __future__ import annotations

from tokctl import _native
from tokctl.core.errors import BadModel, CoreError
from tokctl.formats.contract import (
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    extra_files_lost,
    lengths_lost,
    training_lost,
)
from tokctl.model import Model


def read(source: ModelInput) -> Model:
    """Raise TokctlError, because the file contains counts and no model."""
    raise BadModel(
        f"{source.name} holds word counts, not a model",
        f"train a model on these counts: tokctl train --word-counts {source.name}",
        "not-a-model",
    )


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: everything except the tokens and their counts.

    Raises:
        UnsupportedByFormat: the model has no counts of its tokens.
    """
    _check(model)
    found = [
        LostFeature("the recipe: which text becomes which tokens"),
        LostFeature("the ids of the tokens"),
    ]
    if model.added:
        names = ", ".join(token.text for token in model.added[:3])
        more = len(model.added) - 3
        found.append(
            LostFeature(f"the added tokens {names}{f' and {more} more' if more > 0 else ''}")
        )
    return [*found, *training_lost(model), *lengths_lost(model), *extra_files_lost(model)]


def write(model: Model) -> Files:
    """Return the tokens with their counts as lines, in id order, without added tokens.

    Raises:
        UnsupportedByFormat: the model has no counts of its tokens.
    """
    _check(model)
    added_ids = {token.id for token in model.added}
    counter = _native.Counter("none", [], 1)
    for id_, (token, count) in enumerate(zip(model.tokens, model.counts, strict=True)):
        if id_ not in added_ids:
            counter.add(token, count)
    try:
        return {"": counter.finish(0).to_lines()}
    except CoreError as error:
        raise error.reworded() from None


def _check(model: Model) -> None:
    """Raise UnsupportedByFormat if the model has no counts of its tokens."""
    if not model.counts:
        raise UnsupportedByFormat(
            "only models of words or characters know how often each token was seen"
        )
