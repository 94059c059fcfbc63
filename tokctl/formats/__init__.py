"""Model files: one module per format on disk; `contract` says what each of them has."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import Files, Hints, InexpressibleError, Loss, Source, damaged
from tokctl.formats.contract import unreadable as _unreadable
from tokctl.formats.known import FORMATS, Format, named
from tokctl.recipe import FilledRecipe, Recipe

__all__ = [
    "FORMATS",
    "Files",
    "Format",
    "Hints",
    "InexpressibleError",
    "Loaded",
    "Loss",
    "Source",
    "load",
    "losses",
    "named",
    "obstacle",
    "parse",
    "read",
    "serialize",
    "write",
]


class Loaded(NamedTuple):
    """A model, and the format of the file that it was read from."""

    model: FilledRecipe
    format: Format


def load(path: str | Path, hints: Hints | None = None) -> FilledRecipe:
    """Reads a model file, or a folder that holds one.

    Raises:
        TokctlError: the file is missing, unreadable, damaged or of a format that
            tokctl does not read.
    """
    return read(path, hints).model


def read(path: str | Path, hints: Hints | None = None, *, name: str | None = None) -> Loaded:
    """As `load`, with the format. Messages call the file `name`, by default its path."""
    path = Path(path)
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(name or str(path), error) from None
    return _read(Source(name or str(path), path=path, hints=hints or Hints()))


def parse(data: bytes, name: str, hints: Hints | None = None) -> FilledRecipe:
    """The model in `data`, which came from the file `name`, whatever that is called."""
    return _read(Source(name, data=data, hints=hints or Hints())).model


def _read(source: Source) -> Loaded:
    with _no_garbage():
        for known in FORMATS:
            if known.load().is_one(source):
                return Loaded(known.load().read(source), known)
    if source.is_folder:
        raise TokctlError(
            f"the folder {source.name} holds no model",
            "name a folder with a tokenizer.json, or a model file",
        )
    why = "it is no JSON" if not source.is_json else "it has no model in it"
    if source.is_json:
        _ = source.document  # a file that is cut off is told so, with the place
    raise damaged(source.name, why)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Reading makes hundreds of thousands of objects that stay. Python's collector would walk
    them again and again for cycles that are not there: up to half of the time of loading."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def serialize(model: FilledRecipe) -> bytes:
    """The bytes of tokctl's model file; they depend on the model alone."""
    return write(model, "tokctl")[""]


def losses(model: FilledRecipe, format_name: str) -> list[Loss]:
    """What a format can't hold of a model, the most important first.

    Raises:
        InexpressibleError: it has nothing like the model.
        TokctlError: no format that tokctl writes is called so.
    """
    with _no_garbage():
        found: list[Loss] = _writer(format_name).losses(model)
    return sorted(found, key=lambda loss: loss.minor)


def write(model: FilledRecipe, format_name: str) -> Files:
    """The files of a format; they depend on the model alone. What the format can't hold
    (`losses`) is left out.

    Raises:
        InexpressibleError: the format has nothing like the model.
        TokctlError: no format that tokctl writes is called so.
    """
    with _no_garbage():
        files: Files = _writer(format_name).write(model)
    return files


def _writer(name: str) -> Any:
    known = named(name)
    if not known.writes:
        raise TokctlError(
            f"tokctl reads {known.title}, and does not write it",
            f"choose one of: {', '.join(one.name for one in FORMATS if one.writes)}",
        )
    return known.load()


def obstacle(given: Recipe | FilledRecipe) -> str | None:
    """Why Hugging Face refuses the model file of this recipe, or of this model; None where
    it loads it."""
    from tokctl.formats import tokenizer_json

    return tokenizer_json.obstacle(given)
