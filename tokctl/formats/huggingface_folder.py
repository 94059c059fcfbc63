"""A folder of `transformers`: `tokenizer.json` or vocabulary files, and what says how they are
used. What AutoTokenizer makes of it is what counts."""

from __future__ import annotations

from dataclasses import replace

import orjson

from tokctl.formats.contract import Files, Loss, Source
from tokctl.formats.huggingface import folder, folder_config
from tokctl.formats.huggingface.components import unless_damaged
from tokctl.formats.huggingface.document import document as document_of
from tokctl.formats.huggingface.document import document_losses, read_document
from tokctl.model import FilledRecipe, Origin

#: It is read where it stands, and never written: its tokens stand in `tokenizer.json`.
NEIGHBOURS = (folder.ADDED,)


def is_one(source: Source) -> bool:
    """Is it a folder with a `tokenizer.json`, or with a configuration and a vocabulary?"""
    if not source.is_folder:
        return False
    if source.beside(folder.TOKENIZER) is not None:
        return True
    return source.beside(folder.CONFIG) is not None and any(
        source.beside(name) is not None for name in folder.VOCABULARIES
    )


def read(source: Source) -> FilledRecipe:
    """The model of a folder; TokctlError that names the file where one is not whole."""
    with unless_damaged(source.name):
        texts = folder.companions(source)
        files = folder.folder(source, texts)
        document, name = folder.document(source, files)
        model = read_document(document)
        return replace(model, origin=Origin("huggingface-folder", name), companions=texts)


def losses(model: FilledRecipe) -> list[Loss]:
    """What the files leave out."""
    found = document_losses(model)
    if left := [name for name in model.companions if not folder.is_carried(name)]:
        found.append(Loss(f"the files that came with it ({', '.join(left)})", minor=True))
    return found


def write(model: FilledRecipe) -> Files:
    """`tokenizer.json`, the configuration, and the chat templates as they came."""
    document = document_of(model)
    texts = {name: text for name, text in model.companions.items() if folder.is_carried(name)}
    texts.pop(folder.ADDED, None)
    texts |= folder_config.write(model, document)
    files = {name: text.encode() for name, text in texts.items()}
    files[folder.TOKENIZER] = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    return files
