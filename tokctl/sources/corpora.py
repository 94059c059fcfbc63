"""The named corpora of `corpora/manifest.json`: what ships, and the books that can be fetched.

A book is used only while its checksum is the manifest's: a name is the same bytes everywhere.
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

from tokctl.errors import TokctlError
from tokctl.files import WholeFiles

Progress = Callable[[int, int], None]  # progress(done, expected), in bytes


@dataclass(frozen=True)
class Corpus:
    """One named text."""

    name: str  # what a person types
    title: str  # one line for people
    kind: str  # bundled, word-list (word, tab, count on each line), or download
    path: Path | None  # the file on this machine; None when it is not here
    address: str | None  # where a download comes from; None for what ships
    bytes: int  # the size of the file
    sha256: str  # of the file, in lower-case hexadecimal
    licence: str  # an SPDX name, or a short phrase where there is none


def cache_folder() -> Path:
    """`$TOKCTL_CACHE`, else `$XDG_CACHE_HOME/tokctl`, else `~/.cache/tokctl`; may not exist."""
    if own := os.environ.get("TOKCTL_CACHE"):
        return Path(own)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not shared.is_absolute():  # which the XDG specification says to ignore
        shared = Path("~/.cache")
        with contextlib.suppress(RuntimeError):  # no home: the list must still work
            shared = shared.expanduser()
    return shared / "tokctl"


def list_corpora(*, cache: Path | None = None) -> list[Corpus]:
    """Every named corpus, in the manifest's order; never uses the network.

    `cache` is `cache_folder()` when None, here and below. Raises a TokctlError when the
    manifest is missing or damaged.
    """
    manifest = _data_folder() / "manifest.json"
    cache = cache or cache_folder()
    try:
        entries = json.loads(manifest.read_text(encoding="utf-8"))["corpora"]
        return [_corpus(entry, manifest.parent, cache) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise TokctlError(f"cannot read {manifest}: {problem!r}", "reinstall tokctl") from problem


def corpus_path(name: str, *, cache: Path | None = None) -> Path:
    """The file of a named corpus on this machine; never uses the network.

    Raises a TokctlError for an unknown name, and for a file that is missing or damaged.
    """
    corpus = _find(name, cache)
    if corpus.path is not None:
        return corpus.path
    if corpus.address is None:
        raise TokctlError(f"{name}: missing from this installation", hint="reinstall tokctl")
    raise TokctlError(f"{name}: not fetched, or damaged", f"run `tokctl corpora fetch {name}`")


def fetch_corpus(
    name: str,
    *,
    cache: Path | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download a named corpus if it is not here yet; its path on this machine.

    The file appears in the cache whole and with the right checksum, or not at all. What
    ships, and what is cached already, is returned without using the network. `address`
    (http or https, a mirror's say) replaces the manifest's; the checksum stays.
    Raises a TokctlError for an unknown name, without pooch, when the network or the disk
    fails, and when what comes is not the file of the manifest.
    """
    corpus = _find(name, cache)
    if corpus.path is not None or corpus.address is None:
        return corpus_path(name, cache=cache)
    target = _cached_file(name, cache or cache_folder())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with WholeFiles() as whole:
            _download(_Received(whole.open(target), corpus, address or corpus.address, progress))
    except OSError as problem:
        hint = "free some space, or set TOKCTL_CACHE to a folder that you can write to"
        message = f"cannot keep {name} in {target.parent}: {problem.strerror or problem}"
        raise TokctlError(message, hint) from problem
    return target


@dataclass
class _Received:
    """The file that pooch writes to: progress is exact, where pooch's own counts pieces."""

    out: BinaryIO
    corpus: Corpus
    source: str
    progress: Progress | None
    size: int = 0  # bytes
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, piece: bytes) -> int:
        self.size += len(piece)
        self.digest.update(piece)
        if self.size > 4 * self.corpus.bytes:  # no new edition is: don't fill the disk
            raise self.wrong()
        if self.progress is not None:
            self.progress(min(self.size, self.corpus.bytes), self.corpus.bytes)
        return self.out.write(piece)

    def flush(self) -> None:
        self.out.flush()

    def wrong(self) -> TokctlError:
        return TokctlError(
            f"{self.source} is not the file that tokctl knows as {self.corpus.name}: expected "
            f"sha256 {self.corpus.sha256} ({self.corpus.bytes} bytes), got "
            f"{self.digest.hexdigest()} ({self.size} bytes); nothing was kept",
            "Project Gutenberg re-issues its files now and then, and a proxy may answer in its "
            "place: try again, update tokctl, or download the book yourself and give its path",
        )


def _download(received: _Received) -> None:
    try:  # requests comes with pooch, which lets its errors through
        pooch, requests = map(importlib.import_module, ("pooch", "requests"))
    except ImportError as problem:
        raise TokctlError("fetching needs pooch", "pip install 'tokctl[fetch]'") from problem
    answers: list[Any] = []  # pooch doesn't close them when something fails
    hooks = {"response": lambda answer, **_: answers.append(answer)}
    try:  # bytes; seconds of silence
        http = pooch.HTTPDownloader(chunk_size=1 << 16, timeout=30, hooks=hooks)
        http(received.source, received, None)
    except requests.RequestException as problem:
        reason = f"the connection failed or was cut ({type(problem).__name__})"
        if (bad := problem.response) is not None:
            reason = f"the server answered {bad.status_code} {bad.reason}"
        hint = "check the network and try again, or download the book yourself and give its path"
        raise TokctlError(f"cannot download {received.source}: {reason}", hint) from problem
    finally:
        for answer in answers:
            answer.close()
    if received.digest.hexdigest() != received.corpus.sha256:
        raise received.wrong()


def _data_folder() -> Path:
    """`corpora/` inside the installed package, else beside the package in a checkout."""
    inside = Path(__file__).parents[1] / "corpora"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "corpora"


def _cached_file(name: str, cache: Path) -> Path:
    return cache / "corpora" / f"{name}.txt"


def _corpus(entry: dict[str, Any], folder: Path, cache: Path) -> Corpus:
    facts = {key: entry[key] for key in ("name", "title", "kind", "bytes", "sha256", "licence")}
    if entry["kind"] != "download":
        file = folder / entry["file"]
        return Corpus(path=file if file.is_file() else None, address=None, **facts)
    file, digest = _cached_file(entry["name"], cache), ""
    with contextlib.suppress(OSError):  # absent; summed each time, since others can write there
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    whole = file if digest == entry["sha256"] else None
    return Corpus(path=whole, address=entry["address"], **facts)


def _find(name: str, cache: Path | None) -> Corpus:
    known = {corpus.name: corpus for corpus in list_corpora(cache=cache)}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name.lower(), known, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
    raise TokctlError(f"no corpus is named {name!r}", hint=hint)
