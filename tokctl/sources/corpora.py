"""Named corpora of `corpora/manifest.json`: the bundled ones, and books that can be downloaded.

A book is used only if its checksum is the one in the manifest, so a name always means the same
bytes.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tokctl.core.errors import BadInput, BadOption, TokctlError, Unsupported
from tokctl.core.files import WholeFiles

Progress = Callable[[int, int], None]  # arguments: bytes done, bytes expected


@dataclass(frozen=True)
class Corpus:
    """A named text."""

    name: str  # name on the command line
    title: str  # description in one line
    kind: str  # bundled, word-list (word, tab, count on each line), or download
    path: Path | None  # file on this machine; None if missing
    address: str | None  # source of a download; None for a bundled text
    bytes: int  # size of the file
    sha256: str  # digest of the file, in lower-case hexadecimal
    licence: str  # SPDX name, or a short phrase


def cache_folder() -> Path:
    """Return `$TOKCTL_CACHE`, or `$XDG_CACHE_HOME/tokctl`, or `~/.cache/tokctl`.

    The folder may not exist.
    """
    if override := os.environ.get("TOKCTL_CACHE"):
        return Path(override)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the XDG specification says to ignore relative paths
        base = Path("~/.cache")
        with contextlib.suppress(RuntimeError):  # without a home folder, the list must still work
            base = base.expanduser()
    return base / "tokctl"


def list_corpora(*, cache: Path | None = None) -> list[Corpus]:
    """Return every named corpus in the order of the manifest, without using the network.

    Args:
        cache: folder of downloaded books; None: `cache_folder()`.

    Raises:
        TokctlError: the manifest is missing or damaged.
    """
    manifest = _data_folder() / "manifest.json"
    cache = cache or cache_folder()
    try:
        entries = json.loads(manifest.read_text(encoding="utf-8"))["corpora"]
        return [_corpus_of_entry(entry, manifest.parent, cache) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            f"can't read {manifest}: {problem!r}", "reinstall tokctl", "damaged"
        ) from problem


def corpus_path(name: str, *, cache: Path | None = None) -> Path:
    """Return the file of a named corpus on this machine, without using the network.

    Args:
        name: name of the corpus.
        cache: folder of downloaded books; None: `cache_folder()`.

    Raises:
        TokctlError: the name is unknown, or the file is missing or damaged.
    """
    corpus = _find(name, cache)
    if corpus.path is not None:
        return corpus.path
    if corpus.address is None:
        raise BadInput(
            f"{name}: missing from this installation", hint="reinstall tokctl", code="unreadable"
        )
    raise BadInput(
        f"{name}: not fetched, or damaged", f"run `tokctl corpora fetch {name}`", "unreadable"
    )


def fetch_corpus(
    name: str,
    *,
    cache: Path | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the file of a named corpus, after downloading it if it is not on this machine.

    The file appears in the cache complete and with the right checksum, or not at all. For a bundled
    or cached text, the network is not used.

    Args:
        name: name of the corpus.
        cache: folder of downloaded books; None: `cache_folder()`.
        address: http or https address that replaces the one of the manifest, such as a mirror; the
            checksum stays.
        progress: called with the bytes received and the expected total.

    Raises:
        TokctlError: the name is unknown, pooch is missing, the network or the disk fails, or the
            download is not the file of the manifest.
    """
    corpus = _find(name, cache)
    if corpus.path is not None or corpus.address is None:
        return corpus_path(name, cache=cache)
    target = _cached_file(name, cache or cache_folder())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with WholeFiles() as files:
            _run_download(
                _Download(files.open(target), corpus, address or corpus.address, progress)
            )
    except OSError as problem:
        hint = "free some space, or set TOKCTL_CACHE to a folder that you can write to"
        message = f"can't keep {name} in {target.parent}: {problem.strerror or problem}"
        raise BadInput(message, hint, "unreadable") from problem
    return target


@dataclass
class _Download:
    """File that pooch writes to; reports exact progress, where pooch counts whole chunks."""

    out: BinaryIO
    corpus: Corpus
    source: str
    progress: Progress | None
    size: int = 0  # bytes
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, piece: bytes) -> int:
        self.size += len(piece)
        self.digest.update(piece)
        if self.size > 4 * self.corpus.bytes:  # no new edition is this large: don't fill the disk
            raise self.mismatch_error()
        if self.progress is not None:
            self.progress(min(self.size, self.corpus.bytes), self.corpus.bytes)
        return self.out.write(piece)

    def flush(self) -> None:
        self.out.flush()

    def mismatch_error(self) -> TokctlError:
        return BadInput(
            f"{self.source} is not the file that tokctl knows as {self.corpus.name}: expected "
            f"sha256 {self.corpus.sha256} ({self.corpus.bytes} bytes), got "
            f"{self.digest.hexdigest()} ({self.size} bytes); nothing was kept",
            "Project Gutenberg re-issues its files now and then, and a proxy may answer in its "
            "place: try again, update tokctl, or download the book yourself and give its path",
            "damaged",
        )


def _run_download(download: _Download) -> None:
    try:  # requests is a dependency of pooch, which passes its errors on
        pooch, requests = map(importlib.import_module, ("pooch", "requests"))
    except ImportError as problem:
        raise Unsupported(
            "fetching needs pooch", "pip install 'tokctl[fetch]'", "missing-package"
        ) from problem
    responses: list[Any] = []  # pooch doesn't close responses after an error
    hooks = {"response": lambda response, **_: responses.append(response)}
    try:  # chunk_size in bytes; timeout in seconds without data
        http = pooch.HTTPDownloader(chunk_size=1 << 16, timeout=30, hooks=hooks)
        http(download.source, download, None)
    except requests.RequestException as problem:
        reason = f"the connection failed or was cut ({type(problem).__name__})"
        if (failed := problem.response) is not None:
            reason = f"the server answered {failed.status_code} {failed.reason}"
        hint = "check the network and try again, or download the book yourself and give its path"
        raise BadInput(
            f"can't download {download.source}: {reason}", hint, "unreadable"
        ) from problem
    finally:
        for response in responses:
            response.close()
    if download.digest.hexdigest() != download.corpus.sha256:
        raise download.mismatch_error()


def _data_folder() -> Path:
    """Return `corpora/` inside the installed package, or beside the package in a checkout."""
    packaged = Path(__file__).parents[1] / "corpora"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "corpora"


def _cached_file(name: str, cache: Path) -> Path:
    return cache / "corpora" / f"{name}.txt"


def _corpus_of_entry(entry: dict[str, Any], folder: Path, cache: Path) -> Corpus:
    facts = {key: entry[key] for key in ("name", "title", "kind", "bytes", "sha256", "licence")}
    if entry["kind"] != "download":
        file = folder / entry["file"]
        return Corpus(path=file if file.is_file() else None, address=None, **facts)
    file, digest = _cached_file(entry["name"], cache), ""
    with contextlib.suppress(OSError):  # may be missing; summed each time: others can write there
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    path = file if digest == entry["sha256"] else None
    return Corpus(path=path, address=entry["address"], **facts)


def _find(name: str, cache: Path | None) -> Corpus:
    by_name = {corpus.name: corpus for corpus in list_corpora(cache=cache)}
    if name in by_name:
        return by_name[name]
    close = difflib.get_close_matches(name.lower(), by_name, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(by_name)}"
    raise BadOption(f"no corpus is named {name!r}", hint=hint, code="unknown-name")
