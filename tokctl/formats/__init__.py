"""Model files: one module per format on disk; `contract` says what each of them has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import (
    LARGEST_FILE,
    Files,
    Hints,
    InexpressibleError,
    Loss,
    Source,
    damaged,
)
from tokctl.formats.contract import unreadable as _unreadable
from tokctl.model import FilledRecipe, Recipe
from tokctl.values import did_you_mean, no_garbage

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
    "recognized",
    "serialize",
    "write",
]


class Format(NamedTuple):
    """A format on disk.

    Attributes:
        name: as `--to` takes it.
        title: what people call it.
        module: in `tokctl.formats`; see `contract` for what it has.
        suffix: of a new file; empty if the format is a folder.
        writes: does tokctl write it?
        reads: does tokctl read a model from it?
        hints: what of `Hints` it may leave open.
    """

    name: str
    title: str
    module: str
    suffix: str
    writes: bool = True
    reads: bool = True
    hints: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Are its files written into a folder?"""
        return not self.suffix

    def load(self) -> Any:
        """The module, imported when it is needed: a start pays for none but its own."""
        return import_module(f"tokctl.formats.{self.module}")


_BOTH = ("pattern", "special")
FORMATS = (
    Format("tokctl", "tokctl model file", "tokenizer_json", ".json"),
    Format("huggingface", "Hugging Face tokenizer.json", "huggingface.document", ".json"),
    Format("huggingface-folder", "Hugging Face folder", "huggingface.folder", ""),
    Format("vocab-merges", "vocab.json and merges.txt", "vocab_merges", "", hints=_BOTH),
    Format("clip-merges", "CLIP's merges", "clip_merges", ".txt.gz", writes=False, hints=_BOTH),
    Format("subword-nmt", "codes of subword-nmt", "subword_nmt", ".codes", writes=False),
    Format("bert-vocab", "BERT vocab.txt", "bert_vocab", ".txt"),
    Format("sentencepiece", "SentencePiece .model", "sentencepiece", ".model"),
    Format("word-counts", "word counts", "word_counts", ".tsv", reads=False),
    Format(
        "sentencepiece-vocab",
        "SentencePiece .vocab",
        "sentencepiece_vocab",
        ".vocab",
        hints=("special",),
    ),
    Format("gguf", "GGUF file of llama.cpp", "gguf", ".gguf", hints=("pattern",)),
    Format("tiktoken", "tiktoken ranks", "tiktoken", ".tiktoken", hints=_BOTH),
    Format("tekken", "Mistral tekken.json", "tekken", ".json", writes=False),
)


#: What formats are called elsewhere.
_CALLED = {
    "hf": "huggingface",
    "json": "huggingface",
    "tokenizer.json": "huggingface",
    "transformers": "huggingface-folder",
    "spm": "sentencepiece",
    "vocab.json": "vocab-merges",
    "vocab.txt": "bert-vocab",
    "bert": "bert-vocab",
}


def named(name: str) -> Format:
    """The format of that name; TokctlError if there is none."""
    for one in FORMATS:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in FORMATS if one.writes)
    called = _CALLED.get(name)
    near = f"did you mean {called}? " if called else did_you_mean(name, (f.name for f in FORMATS))
    raise TokctlError(f"no format is called {name!r}", f"{near}choose one of: {names}")


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
    with no_garbage():
        for known in FORMATS:
            if known.load().is_one(source):
                _check_hints(source, known)
                return Loaded(known.load().read(source), known)
    raise _no_model(source)


#: What else looks like these: tables of words with numbers.
_LIKE_TEXT = ("word-counts", "sentencepiece-vocab")


def recognized(path: str | Path) -> Format | None:
    """The format of a model, where a path names one: a file, or a folder that holds one. None for
    texts, for what is not there, and for tables of words with numbers.

    Of a text only the beginning is read; JSON that may be a model is read whole.
    """
    path = Path(path)
    try:
        if not (path.is_file() or path.is_dir()):
            return None
        source = Source(str(path), path=path)
        # A line that is a whole object is the first one of many, in JSON Lines.
        first, end, rest = source.head.partition(b"\n")
        if source.is_json and end and rest and _is_object(first):
            return None
        if source.is_json and source.size > LARGEST_FILE:
            return None
        readers = (known for known in FORMATS if known.reads and known.name not in _LIKE_TEXT)
        with no_garbage():
            return next((known for known in readers if known.load().is_one(source)), None)
    except (OSError, ValueError, TokctlError):
        return None


def _is_object(line: bytes) -> bool:
    from tokctl import orjson

    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _check_hints(source: Source, known: Format) -> None:
    """TokctlError if the caller says what the file says itself."""
    for name, value in source.hints._asdict().items():
        if value is not None and name not in known.hints:
            what = "how text is split" if name == "pattern" else "its special tokens"
            raise TokctlError(
                f"{source.name} ({known.title}) says itself {what}",
                f"leave the {'pattern' if name == 'pattern' else 'special tokens'} out",
            )


def _no_model(source: Source) -> TokctlError:
    """The error for what no format knows."""
    from tokctl.formats import unread

    if source.is_folder:
        files = [name for name in _ALONE if source.beside(name)]
        return TokctlError(
            f"the folder {source.name} holds no model",
            f"without a tokenizer_config.json, name the file: {source.name}/{files[0]}"
            if files
            else "name a folder with a tokenizer.json, or a model file",
        )
    if (found := unread.named(source)) is not None:
        return found
    if source.is_json:
        return damaged(source.name, "it has no model in it")
    if not source.head:
        return damaged(source.name, "it is empty")
    return TokctlError(
        f"{source.name} is no model file, or a damaged one: it begins like none of the formats "
        "that tokctl reads",
        f"tokctl convert --list-formats shows them; of a text: tokctl train {source.name}",
    )


#: Files that are read where they are named, and in a folder only where it says more of them.
_ALONE = ("vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")


def serialize(model: FilledRecipe) -> bytes:
    """The bytes of tokctl's model file; they depend on the model alone."""
    return write(model, "tokctl")[""]


def losses(model: FilledRecipe, format_name: str) -> list[Loss]:
    """What a format can't hold of a model, the most important first.

    Raises:
        InexpressibleError: it has nothing like the model.
        TokctlError: no format that tokctl writes is called so.
    """
    with no_garbage():
        found: list[Loss] = _writer(format_name, model).losses(model)
    return sorted(found, key=lambda loss: loss.minor)


def write(model: FilledRecipe, format_name: str) -> Files:
    """The files of a format; they depend on the model alone. What the format can't hold
    (`losses`) is left out.

    Raises:
        InexpressibleError: the format has nothing like the model.
        TokctlError: no format that tokctl writes is called so.
    """
    with no_garbage():
        files: Files = _writer(format_name, model).write(model)
    return files


def _writer(name: str, model: FilledRecipe) -> Any:
    known = named(name)
    if model.recipe.removal == "residue" and name != "tokctl":
        raise InexpressibleError(
            "residues were taken away, and it has nothing that takes these apart and merges again"
        )
    if not known.writes:
        raise TokctlError(
            f"tokctl reads {known.title}, and does not write it",
            f"choose one of: {', '.join(one.name for one in FORMATS if one.writes)}",
        )
    return known.load()


def obstacle(given: Recipe | FilledRecipe) -> str | None:
    """Why Hugging Face refuses the model file of this recipe, or of this model; None if
    it loads it."""
    from tokctl.formats import tokenizer_json

    return tokenizer_json.obstacle(given)
