"""How fast a model's file encodes here, and in the other libraries that load it; same ids?

All libraries work in one process, on the same texts, in turns, so that what else the machine does
falls on all of them. What is timed gives lists of ids of a list of texts. Importing a library and
loading the file is not timed, nor is the first text of one letter, at which some make their tables.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tokctl.analysis.verification import (
    PEERS,
    Difference,
    LoadedTokenizer,
    Peer,
    first_differences,
    reason,
    text_blocks,
)
from tokctl.errors import TokctlError
from tokctl.formats import hub

if TYPE_CHECKING:
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.tokenizer import Special

#: Libraries in the order in which they are shown: the module, and the format that each defines. A
#: model that comes in another one is converted to it, even where that loses something: the digests
#: show whether it did.
LIBRARIES = {
    "tokenizers": ("tokenizers", "huggingface"),
    "transformers": ("transformers", "huggingface-folder"),
    "tiktoken": ("tiktoken", "tiktoken"),
    "sentencepiece": ("sentencepiece", "sentencepiece"),
    "llama-cpp-python": ("llama_cpp", "gguf"),
}

#: Stands behind a format that can't hold all of the model.
LOSSY = ", lossy"

#: No further passes of a library whose passes have taken so long, in seconds.
ENOUGH = 30.0

#: What is told of progress: the phase `passes`, passes done, and passes in all.
Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True)
class LibrarySpeed:
    """What one library did.

    Attributes:
        name: of the library, with its version.
        file: `own`: the model's; or the format that it was converted to for this library, `lossy`
            where that can't hold all of the model.
        seconds: of each pass: the first, with empty caches, and those after it.
        ids: of all texts.
        digest: the first 16 hexadecimal digits of the SHA-256 of the ids as 32-bit little-endian
            numbers, and of the lengths of the texts in ids after them, 64-bit.
        same: are the ids those of tokctl?
    """

    name: str
    file: str
    seconds: tuple[float, ...]
    ids: int
    digest: str
    same: bool

    @property
    def again(self) -> tuple[float, ...]:
        """The passes after the first; the first if there is no other."""
        return self.seconds[1:] or self.seconds


@dataclass(frozen=True)
class Bench:
    """A model file measured in several libraries.

    Attributes:
        texts, bytes: what was encoded: lines, or records.
        speeds: tokctl first.
        not_measured: libraries that were not, with the reason.
        validated: were the ids compared text by text?
        differences: where a library gives other ids than tokctl, if they were compared.
    """

    model: str
    texts: int
    bytes: int
    threads: int
    speeds: tuple[LibrarySpeed, ...]
    not_measured: tuple[tuple[str, str], ...]
    validated: bool = False
    differences: tuple[Difference, ...] = ()

    @property
    def failed(self) -> bool:
        """Does a library give other ids, though its file holds all of the model?"""
        whole = {speed.name for speed in self.speeds if not speed.file.endswith(LOSSY)}
        return any(each.reader in whole for each in self.differences)

    def rate(self, seconds: float) -> float:
        """Megabytes (10^6) of text in a second."""
        return self.bytes / 1e6 / max(seconds, 1e-9)

    def ratio(self, speed: LibrarySpeed) -> float:
        """How many times as long as tokctl a library takes, in the median of later passes."""
        return median(speed.again) / max(median(self.speeds[0].again), 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it; rates are in megabytes (10^6) per second."""
        rows = [
            {
                **asdict(speed),
                "first": self.rate(speed.seconds[0]),
                "again": self.rate(median(speed.again)),
                "slowest": self.rate(max(speed.again)),
                "fastest": self.rate(min(speed.again)),
                "ratio": self.ratio(speed),
            }
            for speed in self.speeds
        ]
        missing = [{"name": name, "reason": why} for name, why in self.not_measured]
        return {
            "model": self.model,
            "texts": self.texts,
            "bytes": self.bytes,
            "threads": self.threads,
            "speeds": rows,
            "not_measured": missing,
            "validated": self.validated,
            "differences": [asdict(each) for each in self.differences],
        }


def bench(
    model: str | Path,
    texts: Sequence[Source],
    *,
    tokenizer: Tokenizer | None = None,
    threads: int = 1,
    repeat: int = 5,
    validate: bool = False,
    progress: Progress | None = None,
) -> Bench:
    """Measures a model file.

    Args:
        model: a file or a folder, or `hf:ORG/NAME`.
        texts: their lines, or their records, are the texts that are encoded. They are kept in
            memory.
        tokenizer: the model, where it was loaded already.
        threads: that each library may use, if it can share texts out.
        repeat: passes of each library.
        validate: also compares the ids of each text, and of some lines at once.

    Raises:
        TokctlError: the model or a text can't be read, or a text has a character without an id.
    """
    from tokctl.tokenizer import Tokenizer

    for what, number in (("threads", threads), ("repeat", repeat)):
        if type(number) is not int or number < 1:
            raise TokctlError(f"{what} can't be {number!r}", "it is a number from 1 up")
    tokenizer = tokenizer or Tokenizer.load(model)
    blocks = [block for source in texts for block in text_blocks(source)]
    lines = [line for block in blocks for line in block.lines]
    size = sum(len(line.encode()) for line in lines)
    if not size:
        raise TokctlError("there is no text to encode", "name files that are not empty")
    with TemporaryDirectory() as folder, _threads_of_others(threads):
        found = list(_loaded(tokenizer, model, Path(folder)))
        readers = [(file, reader) for file, reader, _ in found if reader is not None]
        left_out = [(file, why) for file, reader, why in found if reader is None]
        # The special tokens that the others find, if they find any.
        found_by = {reader.special for _, reader in readers} - {"none"}
        special: Special = "all" if "all" in found_by else next(iter(found_by), "none")
        own = _own(tokenizer, special)
        runs = [_Passes("own", own), *(_Passes(file, reader) for file, reader in readers)]
        for number in range(repeat):
            for place, run in enumerate(list(runs)):
                if progress is not None:
                    progress("passes", number * len(runs) + place, repeat * len(runs))
                try:
                    run.measure(lines, threads)
                except BaseException as error:
                    if run.reader is own:
                        raise
                    left_out.append((run.reader.name, f"fails: {reason(error)}"))
                    runs.remove(run)
        speeds = tuple(run.speed(runs[0].digest) for run in runs)
        differences = (
            first_differences(tokenizer, [run.reader for run in runs[1:]], blocks)
            if validate
            else []
        )
    order = list(LIBRARIES)
    left_out.sort(key=lambda one: order.index(one[0].split()[0]))
    return Bench(
        str(model),
        len(lines),
        size,
        threads,
        speeds,
        tuple(left_out),
        validate,
        tuple(differences),
    )


class _Passes:
    """The passes of one library."""

    def __init__(self, file: str, reader: LoadedTokenizer) -> None:
        self.file = file
        self.reader = reader
        self.seconds: list[float] = []
        self.digest = ""
        self.ids = 0

    def measure(self, texts: list[str], threads: int) -> None:
        """One more pass, unless they have taken long enough."""
        if sum(self.seconds) > ENOUGH:
            return
        batch = self.reader.batch or (lambda texts, _: self.reader.encode(texts, False))
        if not self.seconds:
            batch(["a"], threads)
        gc.collect()
        start = perf_counter()
        rows = batch(texts, threads)
        self.seconds.append(perf_counter() - start)
        if not self.digest:
            self.ids = sum(map(len, rows))
            self.digest = _digest(rows)

    def speed(self, digest: str) -> LibrarySpeed:
        same = self.digest == digest
        name, seconds = self.reader.name, tuple(self.seconds)
        return LibrarySpeed(name, self.file, seconds, self.ids, self.digest, same)


def _digest(rows: Sequence[Sequence[int]]) -> str:
    found = hashlib.sha256()
    for numbers in (*(array("I", row) for row in rows), array("Q", map(len, rows))):
        if sys.byteorder == "big":
            numbers.byteswap()
        found.update(numbers)
    return found.hexdigest()[:16]


def _own(tokenizer: Tokenizer, special: Special) -> LoadedTokenizer:
    def encode(texts: Sequence[str], _around: bool) -> list[list[int]]:
        return tokenizer.encode_ids(texts, special=special)

    def batch(texts: list[str], threads: int) -> list[list[int]]:
        return tokenizer.encode_ids(texts, threads=threads, special=special)

    names = tokenizer.tokens
    return LoadedTokenizer(
        f"tokctl {_version()}", encode, tokenizer.decode, names.__getitem__, special, batch=batch
    )


def _version() -> str:
    from tokctl import __version__

    return __version__


def _loaded(
    tokenizer: Tokenizer, model: str | Path, folder: Path
) -> Iterator[tuple[str, LoadedTokenizer | None, str]]:
    """For each library: where its model comes from (the library itself, if it has none), the model
    as it has loaded it, and why there is none."""
    path = Path(model)
    if hub.is_name(model):
        path = hub.fetch(hub.repository(str(model)))
    for package, (module, format_name) in LIBRARIES.items():
        if find_spec(module) is None:
            yield package, None, "is not installed"
            continue
        why = ""
        own = _peer(package, tokenizer.format)
        if own is not None and tokenizer.format != "tokctl":
            reader, why = _load(own, path, tokenizer)
            if reader is not None:
                yield "own", reader, ""
                continue
        target = folder / package / "model"
        target.parent.mkdir()
        file = format_name
        try:
            if any(not loss.minor for loss in tokenizer.losses(format_name)):
                file += LOSSY
            tokenizer.save(target, format_name, lossy=True)
        except TokctlError as error:
            yield package, None, why or error.message
            continue
        peer = _peer(package, format_name)
        assert peer is not None
        reader, said = _load(peer, target, tokenizer)
        yield (package if reader is None else file), reader, why or said


def _peer(package: str, format_name: str | None) -> Peer | None:
    found = PEERS.get(format_name or "", ())
    return next((peer for peer in found if peer.package == package), None)


def _load(peer: Peer, path: Path, tokenizer: Tokenizer) -> tuple[LoadedTokenizer | None, str]:
    try:
        return peer.load(path, tokenizer.model), ""
    except BaseException as error:
        return None, f"can't load it: {reason(error)}"


@contextmanager
def _threads_of_others(threads: int) -> Iterator[None]:
    """tokenizers takes its number of threads from the environment, when it first uses them."""
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
    if threads > 1:
        os.environ["RAYON_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TOKENIZERS_PARALLELISM")
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = before
