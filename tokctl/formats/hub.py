"""Models of the Hugging Face Hub: `hf:ORG/NAME`, or `hf:ORG/NAME@REVISION`.

Files of tokenizers are fetched, and never weights. They are kept in that library's cache,
so that what is there needs no network; `HF_HOME` and `HF_HUB_OFFLINE` are honoured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tokctl import formats
from tokctl.errors import TokctlError
from tokctl.model import Origin

PREFIX = "hf:"
#: Of a repository that has `tokenizer.json`, these are all that is needed.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "additional_chat_templates/*",
)
#: Of a repository without it.
OTHER_FILES = (
    *FILES,
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
    "*.tiktoken",
)

#: Files without which there is no tokenizer.
_WHOLE = {*OTHER_FILES} - {*FILES[1:], "merges.txt"}
#: Files that hold a whole tokenizer.
ALONE = ("tokenizer.json", "tekken.json", "*.tiktoken")

_NAME = re.compile(r"hf:((?:[\w.-]+/)?[\w.-]+)(?:@([^@\s]+))?", re.ASCII)


class Repository(NamedTuple):
    """A repository of the Hub. `revision` is a branch, a tag or a commit; None: its main one."""

    name: str
    revision: str | None = None


def is_name(path: str | Path) -> bool:
    """Does it name a model of the Hub? (A file that is called so is `./hf:…`.)"""
    return str(path).startswith(PREFIX)


def repository(name: str) -> Repository:
    """What `hf:ORG/NAME@REVISION` names; TokctlError if it is spelled otherwise."""
    found = _NAME.fullmatch(name)
    if not found:
        raise TokctlError(
            f"{name!r} names no repository", "spell it hf:ORG/NAME or hf:ORG/NAME@REVISION"
        )
    return Repository(found[1], found[2])


def read(name: str, hints: formats.Hints | None = None) -> formats.Loaded:
    """The model of `hf:ORG/NAME`. Its origin says the commit.

    Raises:
        TokctlError: it can't be fetched, or holds nothing that tokctl reads.
    """
    asked = repository(name)
    folder = fetch(asked)
    loaded = formats.read(_model_in(folder, name), hints, name=name)
    model = loaded.model
    own = model.origin.format if model.origin else loaded.format.name
    origin = Origin(own, f"{PREFIX}{asked.name}@{folder.name}")
    return loaded._replace(model=replace(model, origin=origin))


def _model_in(folder: Path, name: str) -> Path:
    """The folder, where that is a format that tokctl reads; else the one file that says all
    by itself. (A `vocab.txt` or a `.model` does not: what stands beside it changes ids.)"""
    if folder.is_dir():
        source = formats.Source(name, path=folder)
        for known in formats.FORMATS:
            if known.is_folder and known.reads and known.load().is_one(source):
                return folder
        for pattern in ALONE:
            for file in sorted(folder.glob(pattern)):
                return file
    raise TokctlError(
        f"{name} has no tokenizer that tokctl reads",
        "it looks for tokenizer.json first, then for the files of older tokenizers",
    )


def fetch(asked: Repository) -> Path:
    """The folder with a tokenizer's files, which is called by its commit.

    Raises:
        TokctlError: huggingface_hub is not installed, or can't get them.
    """
    try:
        import huggingface_hub
    except ImportError:
        raise TokctlError(
            f"hf:{asked.name}: fetching from the Hugging Face Hub needs huggingface_hub",
            "pip install 'tokctl[hub]'",
        ) from None
    with _silence(huggingface_hub):
        folder = _fetch(huggingface_hub, asked, FILES)
        if not (folder / "tokenizer.json").exists():
            # By its commit: the branch could have gone on since.
            folder = _fetch(huggingface_hub, Repository(asked.name, folder.name), OTHER_FILES)
    return folder


def cached() -> dict[str, Path]:
    """The repositories in the cache whose main revision has a file of a tokenizer: the folder of
    each by its name, in alphabetical order. It looks at this machine alone."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return {}
    found = {}
    for folder in sorted(Path(HF_HUB_CACHE).glob("models--*")):
        # Without `refs/main`, or with nothing readable in it, it is another revision, or an
        # interrupted fetch.
        with suppress(OSError, ValueError):
            revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
            snapshot = folder / "snapshots" / revision
            if any(any(snapshot.glob(pattern)) for pattern in _WHOLE):
                found[folder.name.removeprefix("models--").replace("--", "/")] = snapshot
    return found


def _fetch(library: Any, asked: Repository, files: tuple[str, ...]) -> Path:
    try:
        found = library.snapshot_download(
            asked.name, revision=asked.revision, allow_patterns=list(files)
        )
        return Path(found)
    except Exception as error:
        # Without a network, files that are known to be missing are no reason to give up,
        # where the one that says it all is there.
        partial = getattr(error, "snapshot_path", None)
        if partial is not None and Path(partial, "tokenizer.json").exists():
            return Path(partial)
        raise _explained(asked, error) from error


def _explained(asked: Repository, error: Exception) -> TokctlError:
    from huggingface_hub import constants, errors

    name = f"hf:{asked.name}"
    if isinstance(error, errors.GatedRepoError):
        return TokctlError(
            f"{name} is gated: its authors say who may fetch it",
            "accept its terms on its page, then log in: hf auth login",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return TokctlError(
            f"the Hugging Face Hub has no repository {asked.name}, or does not show it to you",
            "check the spelling; for a private one, log in: hf auth login",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return TokctlError(
            f"{name} has no revision {asked.revision!r}", "name a branch, a tag or a commit"
        )
    if isinstance(error, errors.LocalEntryNotFoundError):
        if constants.HF_HUB_OFFLINE:
            return TokctlError(
                f"{name} is not in the cache, and HF_HUB_OFFLINE says not to fetch it",
                "unset HF_HUB_OFFLINE, or check HF_HOME, where the cache is",
            )
        return TokctlError(
            f"the Hugging Face Hub can't be reached, and {name} is not in the cache",
            "check the network; what has been fetched once is read without one",
        )
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return TokctlError(f"can't fetch {name}: {reason}", "check the name and the network")


@contextmanager
def _silence(library: Any) -> Iterator[None]:
    """Without the progress bars and warnings that the library writes to stderr."""
    level = library.logging.get_verbosity()
    shown = not library.utils.are_progress_bars_disabled()
    library.logging.set_verbosity_error()
    if shown:
        library.utils.disable_progress_bars()
    try:
        yield
    finally:
        library.logging.set_verbosity(level)
        if shown:
            library.utils.enable_progress_bars()
