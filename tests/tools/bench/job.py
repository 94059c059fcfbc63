"""What the driver asks of a worker, and what it gets back: plain data that travels as JSON."""

from __future__ import annotations

import hashlib
import re
import sys
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

#: The pattern of GPT-2, for the peers that take one.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
#: That of cl100k_base, as `tiktoken_ext.openai_public` has it.
CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
#: That of o200k_base.
O200K_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
SPECIAL = "<|endoftext|>"
#: Characters of a piece, for the libraries that share pieces out among threads.
CHUNK = 1 << 16
_CUT = re.compile(r"(?<=\S\n)(?=\S)")
#: Encoded before the clock starts, for what a library imports when it is first called.
WARM_UP = "a"


@dataclass(frozen=True)
class Job:
    """One contender in one round.

    Attributes:
        peer, task: the function `task` of `tests.tools.bench.peers.<peer>`.
        text: path of the text; of a folder, where each language has a text of its own.
        threads: that the peer may use.
        again: passes behind the first, in the same process; fewer where they take long.
        vocab: ids wanted in all, for a training.
        model: path of a model file, for encoding and decoding: in tokctl's own format, or in
            that of the library which defines the model.
        ids: path of the ids to decode, 32 bits each.
        folder: for what the job writes; its own, empty.
        score: a training says how well its model fits the text, too (see `likelihood`).
    """

    peer: str
    task: str
    text: str
    folder: str
    threads: int = 1
    again: int = 0
    vocab: int = 0
    model: str = ""
    ids: str = ""
    score: bool = False

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def read_bytes(self) -> bytes:
        return Path(self.text).read_bytes()

    def read_lines(self) -> list[str]:
        """The lines, without their line feeds."""
        return self.read_text().removesuffix("\n").split("\n")

    def read_chunks(self, size: int = CHUNK) -> list[str]:
        """The text in pieces of at least `size` characters. It is cut behind a line feed
        between two characters that are no spaces, where every pattern here cuts, too: the
        pre-tokens of the pieces are those of the text."""
        text, chunks, start = self.read_text(), [], 0
        while start < len(text):
            cut = _CUT.search(text, min(start + size, len(text)))
            end = cut.start() if cut else len(text)
            chunks.append(text[start:end])
            start = end
        return chunks

    def languages(self) -> dict[str, Path]:
        """The file of each language."""
        return {path.stem: path for path in sorted(Path(self.text).iterdir())}

    def read_ids(self) -> array[int]:
        return ids_from_bytes(Path(self.ids).read_bytes())


class Outcome(NamedTuple):
    """What a pass came to.

    digest: of the result; empty where there is nothing comparable.
    tokens: a trained vocabulary without special tokens, each as bytes; None elsewhere.
    memory: peak of a process that the pass started, in bytes; None where it started none.
    bits: per character of the text under a trained Unigram model; see `likelihood`.
    """

    digest: str
    tokens: list[bytes] | None = None
    memory: int | None = None
    bits: float | None = None


class Task(NamedTuple):
    """Something ready to be timed.

    run: the timed part; what it returns goes to `outcome`, outside the timed part.
    """

    run: Callable[[], Any]
    outcome: Callable[[Any], Outcome]


@dataclass(frozen=True)
class Sample:
    """What one worker measured.

    Attributes:
        first: seconds of the first pass.
        again: seconds of the passes behind it.
        cpu: seconds of all threads in each pass, the first and those behind it; the processes
            that a pass starts included.
        memory: peak resident memory when the first pass was done, in bytes: the
            interpreter, the library, text and result included.
        digests: of each pass that was looked at.
        bits: see `Outcome`.
        error: why there is nothing else, or None.
    """

    first: float = 0.0
    again: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    memory: int = 0
    digests: tuple[str, ...] = ()
    tokens: frozenset[str] | None = None
    bits: float | None = None
    error: str | None = None


def short(data: Any) -> str:
    """The digest of a buffer that the tables show: 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def ids_to_bytes(ids: Iterable[int]) -> bytes:
    """32 bits each, little-endian."""
    numbers = array("I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def ids_from_bytes(data: bytes) -> array[int]:
    numbers = array("I")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def ids_outcome(ids: Iterable[int]) -> Outcome:
    return Outcome(short(ids_to_bytes(ids)))


def lines_outcome(lines: Iterable[Iterable[int]]) -> Outcome:
    """Of the ids of each line; those of one line behind those of the line before."""
    return ids_outcome(id_ for ids in lines for id_ in ids)


def buffer_outcome(ids: Any) -> Outcome:
    """Of ids as 32-bit little-endian numbers in one buffer."""
    return Outcome(short(ids))


def array_outcome(ids: Any) -> Outcome:
    """Of a NumPy array of 32-bit ids."""
    return Outcome(short(ids.astype("<u4", copy=False)))


def text_outcome(text: str | bytes) -> Outcome:
    return Outcome(short(text.encode() if isinstance(text, str) else text))


def merges_outcome(merges: Iterable[tuple[bytes, bytes]], alphabet: Iterable[bytes]) -> Outcome:
    """Of a byte-level merge list; the alphabet counts for the vocabulary alone."""
    pairs = list(merges)
    lines = "".join(f"{left.hex()} {right.hex()}\n" for left, right in pairs)
    return Outcome(short(lines.encode()), [*alphabet, *(left + right for left, right in pairs)])
