"""Model file formats: one module per format, and the functions that read and write model files.

`contract` describes what the module of a format contains.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tokctl.core.errors import BadModel, BadOption, TokctlError, Unsupported
from tokctl.core.values import did_you_mean, gc_paused
from tokctl.formats.contract import (
    LARGEST_FILE,
    Files,
    LoadOptions,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    damaged,
)
from tokctl.formats.contract import unreadable as _unreadable
from tokctl.formats.registry import FORMATS, Format, detect
from tokctl.model import Model, Recipe

__all__ = [
    "FORMATS",
    "Files",
    "Format",
    "LoadOptions",
    "Loaded",
    "LostFeature",
    "ModelInput",
    "UnsupportedByFormat",
    "format_named",
    "format_of",
    "load",
    "losses",
    "parse",
    "read",
    "serialize",
    "why_not_loadable",
    "write",
]


#: Other names of formats, for the hint after an unknown name.
_ALIASES = {
    "hf": "huggingface",
    "json": "huggingface",
    "tokenizer.json": "huggingface",
    "transformers": "huggingface-folder",
    "spm": "sentencepiece",
    "vocab.json": "vocab-merges",
    "vocab.txt": "bert-vocab",
    "bert": "bert-vocab",
}


def format_named(name: str) -> Format:
    """Return the format called `name`.

    Raises:
        TokctlError: no format has this name; the hint suggests one.
    """
    for form in FORMATS:
        if form.name == name:
            return form
    names = ", ".join(form.name for form in FORMATS if form.writes)
    alias = _ALIASES.get(name)
    suggestion = (
        f"did you mean {alias}? " if alias else did_you_mean(name, (f.name for f in FORMATS))
    )
    raise BadOption(
        f"no format is called {name!r}", f"{suggestion}choose one of: {names}", "unknown-name"
    )


class Loaded(NamedTuple):
    """A model and the format of the file it was read from."""

    model: Model
    format: Format


def load(path: str | Path, hints: LoadOptions | None = None) -> Model:
    """Read the model in a file or a folder.

    Args:
        path: a model file, or a folder that contains one.
        hints: the pattern and the special tokens, for files that do not say them.

    Returns:
        The model, whatever the format of the file.

    Raises:
        TokctlError: the file is missing, unreadable, damaged or of a format that tokctl does not
            read.

    Example:
        >>> model = load("book.json")
        >>> model.recipe.algorithm
        'bpe'
    """
    return read(path, hints).model


def read(path: str | Path, hints: LoadOptions | None = None, *, name: str | None = None) -> Loaded:
    """Read the model in a file or a folder, and return the model with its format.

    Args:
        path: a model file, or a folder that contains one.
        hints: the pattern and the special tokens, for files that do not say them.
        name: the name of the file in messages; by default its path.

    Raises:
        TokctlError: as for `load`.
    """
    path = Path(path)
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(name or str(path), error) from None
    return _read(ModelInput(name or str(path), path=path, hints=hints or LoadOptions()))


def parse(data: bytes, name: str, hints: LoadOptions | None = None) -> Model:
    """Return the model in the bytes `data` of a model file.

    Args:
        data: the content of the file, in any format that is a single file.
        name: the name of the file in messages; the format does not depend on it.
        hints: the pattern and the special tokens, for files that do not say them.
    """
    return _read(ModelInput(name, data=data, hints=hints or LoadOptions())).model


def _read(source: ModelInput) -> Loaded:
    with gc_paused():
        form = detect(source)
        if form is None:
            raise _not_a_model_error(source)
        _check_hints(source, form)
        return Loaded(form.load().read(source), form)


#: Formats that any table of words and numbers resembles: `format_of` ignores these formats.
_TEXT_LIKE = ("word-counts", "sentencepiece-vocab")


def format_of(path: str | Path) -> Format | None:
    """Return the format of the model at `path`, or None if there is no model at `path`.

    The path of a model is a file or a folder. The result is None for texts, for missing files and
    for tables of words with numbers. Only the beginning of a text is read; JSON that may be a model
    is read whole.

    Example:
        >>> format_of("book.json").name
        'tokctl'
    """
    path = Path(path)
    try:
        if not (path.is_file() or path.is_dir()):
            return None
        source = ModelInput(str(path), path=path)
        # A first line that is a whole JSON object means JSON Lines: the file is a text.
        first_line, newline, following = source.head.partition(b"\n")
        if source.is_json and newline and following and _is_json_object(first_line):
            return None
        if source.is_json and source.size > LARGEST_FILE:
            return None
        with gc_paused():
            return detect(
                source, [form for form in FORMATS if form.reads and form.name not in _TEXT_LIKE]
            )
    except (OSError, ValueError, TokctlError):
        return None


def _is_json_object(line: bytes) -> bool:
    from tokctl.core import orjson

    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _check_hints(source: ModelInput, form: Format) -> None:
    """Raise TokctlError if a hint is given for something that the file itself says."""
    for name, value in source.hints._asdict().items():
        if value is not None and name not in form.hints:
            setting = "how text is split" if name == "pattern" else "its special tokens"
            raise BadOption(
                f"{source.name} ({form.title}) already says {setting}",
                f"leave the {'pattern' if name == 'pattern' else 'special tokens'} out",
                "conflict",
            )


def _not_a_model_error(source: ModelInput) -> TokctlError:
    """Return the error for a file or folder that no format recognizes."""
    from tokctl.formats import unread

    if source.is_folder:
        files = [name for name in _COMPLETE_FILES if source.sibling(name)]
        return BadModel(
            f"the folder {source.name} holds no model",
            f"the folder has no tokenizer_config.json: name the file {source.name}/{files[0]}"
            if files
            else "name a folder with a tokenizer.json, or a model file",
            "not-a-model",
        )
    if (unread_error := unread.unread_format_error(source)) is not None:
        return unread_error
    if source.is_json:
        return damaged(source.name, "it has no model in it")
    if not source.head:
        return damaged(source.name, "it is empty")
    return BadModel(
        f"{source.name} is not a model file in a supported format, or it is damaged",
        "list the formats: tokctl convert --list-formats; to train on a text: tokctl train "
        f"{source.name}",
        "not-a-model",
    )


#: Files that can be read by themselves, but in a folder only beside a `tokenizer_config.json`.
_COMPLETE_FILES = ("vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")


def serialize(model: Model) -> bytes:
    """Return the bytes of tokctl's model file, which depend on the model alone."""
    return write(model, "tokctl")[""]


def losses(model: Model, format_name: str) -> list[LostFeature]:
    """Return what a format can't hold of a model; losses that change ids or texts come first.

    Args:
        model: the model that is to be written.
        format_name: the name of the format, as `--to` takes it.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind at all.
        TokctlError: tokctl writes no format with this name.

    Example:
        >>> [loss.what for loss in losses(load("book.json"), "tiktoken")]
        ['the record of its training']
    """
    with gc_paused():
        found: list[LostFeature] = _writer(format_name, model).losses(model)
    return sorted(found, key=lambda loss: loss.minor)


def write(model: Model, format_name: str) -> Files:
    """Return the files of a model in a format; their bytes depend on the model alone.

    `losses` lists what the format can't hold; these things are left out.

    Args:
        model: the model to write.
        format_name: the name of the format, as `--to` takes it.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind at all.
        TokctlError: tokctl writes no format with this name.

    Example:
        >>> list(write(load("book.json"), "vocab-merges"))
        ['vocab.json', 'merges.txt']
    """
    with gc_paused():
        files: Files = _writer(format_name, model).write(model)
    return files


def _writer(name: str, model: Model) -> Any:
    form = format_named(name)
    if model.recipe.removal == "residue" and name != "tokctl":
        raise UnsupportedByFormat("residues were removed, and it can't split these again")
    if not form.writes:
        raise Unsupported(
            f"tokctl reads {form.title}, and does not write it",
            f"choose one of: {', '.join(other.name for other in FORMATS if other.writes)}",
        )
    return form.load()


def why_not_loadable(recipe_or_model: Recipe | Model) -> str | None:
    """Return why Hugging Face can't load tokctl's model file, or None if it can."""
    from tokctl.formats import tokenizer_json

    return tokenizer_json.why_not_loadable(recipe_or_model)
