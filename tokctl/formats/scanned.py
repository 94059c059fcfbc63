"""Vocabularies and merges that the core reads from JSON, without an object for each of them.

The short way to a model, for files that are as they should be. Where anything is the matter
there is None, and whoever asked reads the whole document, which also tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Recipe
from tokctl.model.parts import AddedToken


class Scanned(NamedTuple):
    """A `tokenizer.json`: its long lists, and the document with null in their places."""

    file: _native.ModelFile
    outline: dict[str, Any]


def scan(data: bytes) -> Scanned | None:
    """The file, where its lists are what they should be."""
    file = _native.ModelFile.scan(data)
    if file is None:
        return None
    import orjson

    try:
        return Scanned(file, orjson.loads(file.rest))
    except orjson.JSONDecodeError:
        return None


class LongWayError(Exception):
    """Only the whole document can tell of this file."""


class Vocabulary(Mapping[str, int]):
    """The ids of a file's tokens, by text."""

    def __init__(self, file: _native.ModelFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return len(self.file)

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self.file.id(token) is not None

    def __getitem__(self, token: str) -> int:
        id_ = self.file.id(token)
        if id_ is None:
            raise KeyError(token)
        return id_

    def __iter__(self) -> Iterator[str]:
        return map(self.file.spelled, range(len(self)))


def attempt(read: Callable[[], FilledRecipe | None]) -> FilledRecipe | None:
    """What `read` gives; None for its errors, which the other way to read will have, too."""
    try:
        return read()
    except (
        LongWayError,
        TokctlError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
    ):
        return None


def fill(
    file: _native.ModelFile, recipe: Recipe, added: Sequence[AddedToken]
) -> _native.StoredModel | None:
    """Tokens and merges; see `huggingface.reading.tokens_of` and `merge_ids`."""
    size = max([len(file), *(token.id + 1 for token in added)])
    if size > len(file) + len(added):
        return None
    return file.fill(
        byte_level=recipe.is_byte_level,
        mark=recipe.marker.text if recipe.marker.is_continuation else "",
        size=size,
        apart=[(token.text, token.id) for token in added if not token.ordinary],
    )
