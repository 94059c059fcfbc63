"""Model files: one module per format on disk, each with read() and write()."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokctl.errors import TokctlError
from tokctl.recipe import FilledRecipe, Recipe

#: No vocabulary comes near this; a larger file is read by mistake.
LARGEST_FILE = 1 << 30


def load(path: str | Path) -> FilledRecipe:
    """Reads a model file.

    Raises:
        TokctlError: the file is missing, unreadable, damaged or of a format that
            tokctl does not read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise TokctlError(f"{path} is a folder, not a model file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = (
            "train one first: tokctl train book.txt"
            if isinstance(error, FileNotFoundError)
            else None
        )
        raise TokctlError(f"can't read the model {path}: {reason}", hint) from None
    if len(data) > LARGEST_FILE:
        raise TokctlError(f"{path} is too large for a model file")
    return parse(data, str(path))


def parse(data: bytes, name: str) -> FilledRecipe:
    """The model in `data`, which came from the file `name`: a `tokenizer.json`, or a model
    of SentencePiece's or ranks of tiktoken's, whatever the file is called."""
    with _no_garbage():
        return _parse(data, name)


def _parse(data: bytes, name: str) -> FilledRecipe:
    if _SENTENCEPIECE.match(data):
        from tokctl.formats import sentencepiece_model

        return sentencepiece_model.read(data, name)
    if _RANKS.match(data):
        from tokctl.formats import tiktoken_ranks

        return tiktoken_ranks.read(data, name)
    from tokctl.formats import tokenizer_json

    return tokenizer_json.read(data, name)


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


#: The first field of the message is a piece, whose first field is its text.
_SENTENCEPIECE = re.compile(rb"\n(?:[\x00-\x7f]|[\x80-\xff]{1,4}[\x00-\x7f])\n")
#: A token in base64 and its rank.
_RANKS = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def serialize(model: FilledRecipe) -> bytes:
    """The bytes of the model file; they depend on the model alone."""
    from tokctl.formats import tokenizer_json

    with _no_garbage():
        return tokenizer_json.write(model)


def obstacle(given: Recipe | FilledRecipe) -> str | None:
    """Why Hugging Face refuses the model file of this recipe, or of this model; None where
    it loads it."""
    from tokctl.formats import tokenizer_json

    return tokenizer_json.obstacle(given)
