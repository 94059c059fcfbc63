"""Models of the Hugging Face Hub: `hf:ORG/NAME`, or `hf:ORG/NAME@REVISION`.

Only the files of a tokenizer are fetched, never weights. They are stored in the cache of
`huggingface_hub`, so that cached files need no network. `HF_HOME` and `HF_HUB_OFFLINE` apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tokctl import formats
from tokctl.core.errors import BadModel, BadOption, TokctlError, Unsupported
from tokctl.formats.registry import FORMATS, detect
from tokctl.model import ImportedFrom

PREFIX = "hf:"
#: The files that are fetched from a repository with a `tokenizer.json`.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "additional_chat_templates/*",
)
#: The files that are fetched from a repository without a `tokenizer.json`.
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

#: A repository with a tokenizer has at least one of these files.
_TOKENIZER_FILES = {*OTHER_FILES} - {*FILES[1:], "merges.txt"}
#: Files that hold a whole tokenizer.
COMPLETE_FILES = ("tokenizer.json", "tekken.json", "*.tiktoken")

_NAME = re.compile(r"hf:((?:[\w.-]+/)?[\w.-]+)(?:@([^@\s]+))?", re.ASCII)


class Repository(NamedTuple):
    """A repository of the Hub.

    Attributes:
        name: `ORG/NAME`, or `NAME` alone.
        revision: a branch, a tag or a commit; None for the main branch.
    """

    name: str
    revision: str | None = None


def is_hub_name(path: str | Path) -> bool:
    """Return whether `path` names a model of the Hub.

    A local file with such a name is spelled `./hf:…`.
    """
    return str(path).startswith(PREFIX)


def parse_repository(name: str) -> Repository:
    """Return the repository that `hf:ORG/NAME@REVISION` names.

    Raises:
        TokctlError: the name has another form.
    """
    match = _NAME.fullmatch(name)
    if not match:
        raise BadOption(
            f"{name!r} is not the name of a repository",
            "spell it hf:ORG/NAME or hf:ORG/NAME@REVISION",
            "bad-value",
        )
    return Repository(match[1], match[2])


def read(name: str, hints: formats.LoadOptions | None = None) -> formats.Loaded:
    """Return the model of `hf:ORG/NAME`, with the commit in its origin.

    Args:
        name: `hf:ORG/NAME` or `hf:ORG/NAME@REVISION`.
        hints: the pattern and the special tokens, for files that do not say them.

    Raises:
        TokctlError: the files can't be fetched, or tokctl can't read any of them.
    """
    repository = parse_repository(name)
    folder = fetch(repository)
    loaded = formats.read(_model_in(folder, name), hints, name=name)
    model = loaded.model
    format_name = model.origin.format if model.origin else loaded.format.name
    origin = ImportedFrom(format_name, f"{PREFIX}{repository.name}@{folder.name}")
    return loaded._replace(model=replace(model, origin=origin))


def _model_in(folder: Path, name: str) -> Path:
    """Return the folder if a folder format reads it, otherwise a file that is complete by itself.

    A `vocab.txt` or a `.model` is not complete by itself: the files beside it change ids.
    """
    if folder.is_dir():
        source = formats.ModelInput(name, path=folder)
        if detect(source, [form for form in FORMATS if form.is_folder and form.reads]):
            return folder
        for pattern in COMPLETE_FILES:
            for file in sorted(folder.glob(pattern)):
                return file
    raise BadModel(
        f"{name} has no tokenizer that tokctl reads",
        "it looks for tokenizer.json first, then for the files of older tokenizers",
        "not-a-model",
    )


def fetch(repository: Repository) -> Path:
    """Fetch a tokenizer's files, and return their folder, which is named after the commit.

    Raises:
        TokctlError: huggingface_hub is not installed, or can't fetch the files.
    """
    try:
        import huggingface_hub
    except ImportError:
        raise Unsupported(
            f"hf:{repository.name}: fetching from the Hugging Face Hub needs huggingface_hub",
            "pip install 'tokctl[hub]'",
            "missing-package",
        ) from None
    with _silence(huggingface_hub):
        folder = _fetch(huggingface_hub, repository, FILES)
        if not (folder / "tokenizer.json").exists():
            # This names the commit, because the branch could have moved since the first fetch.
            folder = _fetch(huggingface_hub, Repository(repository.name, folder.name), OTHER_FILES)
    return folder


def cached() -> dict[str, Path]:
    """Return the folders of the cached repositories that have a tokenizer, by repository name.

    Only main revisions count. The names are in alphabetical order. The network is not used, and the
    result is empty if huggingface_hub is not installed.
    """
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return {}
    found = {}
    for folder in sorted(Path(HF_HUB_CACHE).glob("models--*")):
        # A missing or unreadable `refs/main` means that only another revision was fetched, or that
        # a fetch was interrupted.
        with suppress(OSError, ValueError):
            revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
            snapshot = folder / "snapshots" / revision
            if any(any(snapshot.glob(pattern)) for pattern in _TOKENIZER_FILES):
                found[folder.name.removeprefix("models--").replace("--", "/")] = snapshot
    return found


def _fetch(library: Any, repository: Repository, files: tuple[str, ...]) -> Path:
    try:
        folder = library.snapshot_download(
            repository.name, revision=repository.revision, allow_patterns=list(files)
        )
        return Path(folder)
    except Exception as error:
        # Offline, optional files missing from the cache cause an error. The `tokenizer.json` is
        # enough.
        partial = getattr(error, "snapshot_path", None)
        if partial is not None and Path(partial, "tokenizer.json").exists():
            return Path(partial)
        raise _fetch_error(repository, error) from error


def _fetch_error(repository: Repository, error: Exception) -> TokctlError:
    from huggingface_hub import constants, errors

    name = f"hf:{repository.name}"
    if isinstance(error, errors.GatedRepoError):
        return BadModel(
            f"{name} is gated: its authors say who may fetch it",
            "accept its terms on its page, then log in: hf auth login",
            "unreadable",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return BadModel(
            f"the Hugging Face Hub has no repository {repository.name}, or does not show it to you",
            "check the spelling; for a private one, log in: hf auth login",
            "unreadable",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return BadModel(
            f"{name} has no revision {repository.revision!r}",
            "name a branch, a tag or a commit",
            "unreadable",
        )
    if isinstance(error, errors.LocalEntryNotFoundError):
        if constants.HF_HUB_OFFLINE:
            return BadModel(
                f"{name} is not in the cache, and HF_HUB_OFFLINE says not to fetch it",
                "unset HF_HUB_OFFLINE, or check HF_HOME, where the cache is",
                "unreadable",
            )
        return BadModel(
            f"the Hugging Face Hub can't be reached, and {name} is not in the cache",
            "check the network; what has been fetched once is read without one",
            "unreadable",
        )
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return BadModel(f"can't fetch {name}: {reason}", "check the name and the network", "unreadable")


@contextmanager
def _silence(library: Any) -> Iterator[None]:
    """Suppress the progress bars and warnings that the library writes to stderr."""
    level = library.logging.get_verbosity()
    bars_shown = not library.utils.are_progress_bars_disabled()
    library.logging.set_verbosity_error()
    if bars_shown:
        library.utils.disable_progress_bars()
    try:
        yield
    finally:
        library.logging.set_verbosity(level)
        if bars_shown:
            library.utils.enable_progress_bars()
