"""Hugging Face's `tokenizer.json` without tokctl's key: what any of its readers knows."""

from __future__ import annotations

from tokctl.formats.contract import Files, Loss, Source, companions_lost
from tokctl.formats.huggingface import reading
from tokctl.formats.huggingface.component import unless_damaged
from tokctl.formats.scanned import attempt
from tokctl.model import FilledRecipe


def is_one(source: Source) -> bool:
    """Is it a document with a model in it?"""
    if source.is_folder or not source.is_json:
        return False
    return isinstance(source.outline.get("model"), dict)


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names the file where it is not whole."""
    scanned = source.scanned
    if scanned and (model := attempt(lambda: reading.read(scanned.outline, scanned.file))):
        return model
    with unless_damaged(source.name):
        return reading.read(source.document)


def losses(model: FilledRecipe) -> list[Loss]:
    """What the file leaves out: what no `tokenizer.json` holds, and what came along."""
    from tokctl.formats.huggingface.document import losses

    return [*losses(model), *companions_lost(model)]


def write(model: FilledRecipe) -> Files:
    """The file, on one line."""
    import orjson

    from tokctl.formats.huggingface.document import document

    return {"": orjson.dumps(document(model), option=orjson.OPT_APPEND_NEWLINE)}
