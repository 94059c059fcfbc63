"""Encoding speed of a model file here and in other libraries, and whether their ids are equal.

All libraries run in one process, on the same texts, in turns, so that other load on the machine
affects all of them. The timed call turns a list of texts into lists of ids. Importing a library and
loading the file are not timed, nor is a first one-letter text, at which some libraries build their
tables.
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
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.formats import hub

if TYPE_CHECKING:
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.tokenizer import Special

#: Libraries in display order, each with its module and the format that it defines. A model in
#: another format is converted, even if that loses something: the digests show whether it did.
LIBRARIES = {
    "tokenizers": ("tokenizers", "huggingface"),
    "transformers": ("transformers", "huggingface-folder"),
    "tiktoken": ("tiktoken", "tiktoken"),
    "sentencepiece": ("sentencepiece", "sentencepiece"),
    "llama-cpp-python": ("llama_cpp", "gguf"),
}

#: Suffix of a format that can't hold the whole model.
LOSSY = ", lossy"

#: A library whose passes have taken this many seconds gets no further passes.
MOST_SECONDS = 30.0

#: Called with the phase `passes`, the number of finished passes, and the number of all passes.
Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True)
class LibrarySpeed:
    """Measured speed of one library.

    Attributes:
        name: Library with its version.
        file: `own`: the model's own file; otherwise the format to which it was converted for this
            library, with `, lossy` if that can't hold the whole model.
        seconds: Seconds of each pass: first the pass with empty caches, then the others.
        ids: Number of ids of all texts.
        digest: First 16 hexadecimal digits of the SHA-256 of all ids as 32-bit little-endian
            numbers, followed by the lengths of the texts in ids as 64-bit ones.
        same: Whether the ids are equal to tokctl's.
    """

    name: str
    file: str
    seconds: tuple[float, ...]
    ids: int
    digest: str
    same: bool

    @property
    def again(self) -> tuple[float, ...]:
        """Return the seconds of the passes after the first, or of the only pass."""
        return self.seconds[1:] or self.seconds


@dataclass(frozen=True)
class Bench:
    """Speeds of a model file in several libraries.

    Attributes:
        model: Path or name of the model file.
        texts: Number of encoded lines or records.
        bytes: Size of the encoded texts in bytes.
        threads: Number of threads that each library could use.
        speeds: Speed of each library; tokctl is first.
        not_measured: Libraries that were not measured, with the reason.
        validated: Whether the ids were compared text by text.
        differences: First difference of each library whose ids differ from tokctl's, if the ids
            were compared.
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
        """Return whether a library gives other ids although its file holds the whole model."""
        lossless = {speed.name for speed in self.speeds if not speed.file.endswith(LOSSY)}
        return any(difference.reader in lossless for difference in self.differences)

    def rate(self, seconds: float) -> float:
        """Return the speed in megabytes (10^6 bytes) per second."""
        return self.bytes / 1e6 / max(seconds, 1e-9)

    def ratio(self, speed: LibrarySpeed) -> float:
        """Return a library's median time relative to tokctl's, without the first pass."""
        return median(speed.again) / max(median(self.speeds[0].again), 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data; rates are in megabytes (10^6 bytes) per second."""
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
        missing = [{"name": name, "reason": reason} for name, reason in self.not_measured]
        return {
            "model": self.model,
            "texts": self.texts,
            "bytes": self.bytes,
            "threads": self.threads,
            "speeds": rows,
            "not_measured": missing,
            "validated": self.validated,
            "differences": [asdict(difference) for difference in self.differences],
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
    """Measure the encoding speed of a model file.

    Args:
        model: A file or a folder, or `hf:ORG/NAME`.
        texts: Sources whose lines or records are encoded. They are kept in memory.
        tokenizer: The model, if it is loaded already.
        threads: Number of threads that each library may use, if it can.
        repeat: Number of passes of each library.
        validate: Whether to compare the ids of each text, too, and of some lines together.
        progress: Called before each pass; see `Progress`.

    Raises:
        TokctlError: The model or a text can't be read, or a text has a character without an id.

    Example:
        result = bench("book.json", open_sources(["book.txt"]), repeat=3)
        result.ratio(result.speeds[-1])
    """
    from tokctl.tokenizer import Tokenizer

    for option, number in (("threads", threads), ("repeat", repeat)):
        if type(number) is not int or number < 1:
            raise BadOption(
                f"invalid value {number!r} for {option}",
                "give a whole number of at least 1",
                "bad-value",
            )
    tokenizer = tokenizer or Tokenizer.load(model)
    blocks = [block for source in texts for block in text_blocks(source)]
    lines = [line for block in blocks for line in block.lines]
    size = sum(len(line.encode()) for line in lines)
    if not size:
        raise BadInput("there is no text to encode", "name files that are not empty")
    with TemporaryDirectory() as folder, _thread_settings(threads):
        loaded = list(_load_in_libraries(tokenizer, model, Path(folder)))
        readers = [(file, reader) for file, reader, _ in loaded if reader is not None]
        not_measured = [(file, problem) for file, reader, problem in loaded if reader is None]
        # Special tokens that the other libraries recognize in a text; tokctl gets the same setting.
        special_settings = {reader.special for _, reader in readers} - {"none"}
        special: Special = (
            "all" if "all" in special_settings else next(iter(special_settings), "none")
        )
        own_reader = _own_reader(tokenizer, special)
        all_passes = [
            _Passes("own", own_reader),
            *(_Passes(file, reader) for file, reader in readers),
        ]
        for number in range(repeat):
            for index, passes in enumerate(list(all_passes)):
                if progress is not None:
                    progress("passes", number * len(all_passes) + index, repeat * len(all_passes))
                try:
                    passes.measure(lines, threads)
                except BaseException as error:
                    if passes.reader is own_reader:
                        raise
                    not_measured.append((passes.reader.name, f"fails: {reason(error)}"))
                    all_passes.remove(passes)
        speeds = tuple(passes.speed(all_passes[0].digest) for passes in all_passes)
        differences = (
            first_differences(tokenizer, [passes.reader for passes in all_passes[1:]], blocks)
            if validate
            else []
        )
    order = list(LIBRARIES)
    not_measured.sort(key=lambda entry: order.index(entry[0].split()[0]))
    return Bench(
        str(model),
        len(lines),
        size,
        threads,
        speeds,
        tuple(not_measured),
        validate,
        tuple(differences),
    )


class _Passes:
    """Timed passes of one library."""

    def __init__(self, file: str, reader: LoadedTokenizer) -> None:
        self.file = file
        self.reader = reader
        self.seconds: list[float] = []
        self.digest = ""
        self.ids = 0

    def measure(self, texts: list[str], threads: int) -> None:
        """Run and time one more pass, unless the passes so far took over `MOST_SECONDS` seconds."""
        if sum(self.seconds) > MOST_SECONDS:
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
        """Return the measured speed; `digest` is the digest of tokctl's ids."""
        same = self.digest == digest
        name, seconds = self.reader.name, tuple(self.seconds)
        return LibrarySpeed(name, self.file, seconds, self.ids, self.digest, same)


def _digest(rows: Sequence[Sequence[int]]) -> str:
    """Return the digest of lists of ids; see `LibrarySpeed.digest`."""
    digest = hashlib.sha256()
    for numbers in (*(array("I", row) for row in rows), array("Q", map(len, rows))):
        if sys.byteorder == "big":
            numbers.byteswap()
        digest.update(numbers)
    return digest.hexdigest()[:16]


def _own_reader(tokenizer: Tokenizer, special: Special) -> LoadedTokenizer:
    """Return tokctl itself as a reader."""

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


def _load_in_libraries(
    tokenizer: Tokenizer, model: str | Path, folder: Path
) -> Iterator[tuple[str, LoadedTokenizer | None, str]]:
    """Yield the model as each library has loaded it.

    Each result has three parts: the origin of the library's file (or the library's name, if it was
    not loaded), the reader or None, and the reason for None.
    """
    path = Path(model)
    if hub.is_hub_name(model):
        path = hub.fetch(hub.parse_repository(str(model)))
    for package, (module, format_name) in LIBRARIES.items():
        if find_spec(module) is None:
            yield package, None, "is not installed"
            continue
        problem = ""
        own_peer = _peer(package, tokenizer.format)
        if own_peer is not None and tokenizer.format != "tokctl":
            reader, problem = _load(own_peer, path, tokenizer)
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
            yield package, None, problem or error.message
            continue
        peer = _peer(package, format_name)
        assert peer is not None
        reader, load_error = _load(peer, target, tokenizer)
        yield (package if reader is None else file), reader, problem or load_error


def _peer(package: str, format_name: str | None) -> Peer | None:
    """Return the loader of a library for a format, if it has one."""
    peers = PEERS.get(format_name or "", ())
    return next((peer for peer in peers if peer.package == package), None)


def _load(peer: Peer, path: Path, tokenizer: Tokenizer) -> tuple[LoadedTokenizer | None, str]:
    """Return the reader of a file, or None and the reason why the library can't load it."""
    try:
        return peer.load(path, tokenizer.model), ""
    except BaseException as error:
        return None, f"can't load it: {reason(error)}"


@contextmanager
def _thread_settings(threads: int) -> Iterator[None]:
    """Set the number of threads of `tokenizers` through the environment.

    The library reads the environment when it first starts its threads.
    """
    old_values = {
        "TOKENIZERS_PARALLELISM": os.environ.get("TOKENIZERS_PARALLELISM"),
        "RAYON_NUM_THREADS": os.environ.get("RAYON_NUM_THREADS"),
    }
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"
    if threads > 1:
        os.environ["RAYON_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        os.environ.pop("TOKENIZERS_PARALLELISM", None)
        os.environ.pop("RAYON_NUM_THREADS", None)
        os.environ.update({name: value for name, value in old_values.items() if value is not None})
