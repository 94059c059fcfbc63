"""Texts that are made: long ones out of short ones, and those with odd shapes. The same bytes
in every run: each comes from a generator with a seed of its own.

A long text is the real one in blocks, and then copies of it in which rare words are spelled
anew: each takes the end of another word of its script. How many decides Heaps' law: where the
distinct words of the first n bytes of the real text grow as n^b, they go on growing so.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

#: Code points of a block, which no copy cuts but at line feeds.
BLOCK = 1 << 16
#: A word is spelled anew where it has so many letters (ideographs: 2).
LETTERS = 4
#: Letters of an end at most.
END = 6
_IDEOGRAPHS = 0x2E80
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_ODD = 0x9E3779B97F4A7C15

Array = np.ndarray[Any, Any]


def varied(data: bytes, size: int) -> Iterator[bytes]:
    """`size` bytes out of a real text, cut behind a line feed, in pieces."""
    left = size
    for piece in _endless(data):
        if len(piece) >= left:
            yield piece[: piece.rfind(b"\n", 0, left) + 1] or piece[:left]
            return
        yield piece
        left -= len(piece)


def _endless(data: bytes) -> Iterator[bytes]:
    """The blocks of a text in an order of their own, so that each part has a bit of all; then
    those of its varied copies."""
    codes = _codes(data)
    blocks = _blocks(codes)
    order = np.random.default_rng(0).permutation(len(blocks))
    codes = np.concatenate([codes[slice(*blocks[at])] for at in order])
    blocks = _blocks(codes)
    yield from _written(codes, blocks)
    starts, ends = words(codes)
    found, first, types, counts = np.unique(
        hashes(codes, starts, ends), return_index=True, return_inverse=True, return_counts=True
    )
    exponent = slope([(n, int((ends[first] <= n).sum())) for n in _halves(len(codes))])
    starts, ends_of = starts[first], ends[first]
    lengths = ends_of - starts
    wide = codes[starts] >= _IDEOGRAPHS
    able = np.flatnonzero(lengths >= np.where(wide, 2, LETTERS))
    # By script (128 code points are one, or a part of one): partners are neighbours.
    scripts = codes[ends_of[able] - 1] >> 7
    able = able[np.argsort(scripts, kind="stable")]
    scripts = np.sort(scripts)
    low, high = (np.searchsorted(scripts, scripts, side) for side in ("left", "right"))
    known, fruitful, number = found, 1.0, 0
    while True:
        number += 1
        source = np.random.default_rng(number)
        wanted = len(found) * (number + 1) ** exponent - len(known)
        # The rarest, in another order in each copy.
        rank = counts[able] + source.random(len(able))
        chosen = np.argsort(rank)[: max(0, int(wanted / fruitful))]
        mates = able[(low + source.random(len(able)) * (high - low)).astype(np.int64)]
        letters = np.zeros(len(found), np.int64)
        letters[able[chosen]] = np.clip(
            np.minimum(lengths[able], lengths[mates])[chosen] // 2, 1, END
        )
        mate = np.zeros(len(found), np.int64)
        mate[able[chosen]] = mates[chosen]
        copy = codes.copy()
        places = np.flatnonzero(letters[types])
        which, behind = types[places], ends[places]
        for back in range(1, END + 1):
            here = letters[which] >= back
            copy[behind[here] - back] = codes[ends_of[mate[which[here]]] - back]
        anew = able[chosen]
        anew = anew[np.argsort(starts[anew])]
        new = np.setdiff1d(hashes(copy, starts[anew], ends_of[anew]), known)
        known = np.union1d(known, new)
        fruitful = min(1.0, max(0.2, len(new) / max(1, len(chosen))))
        yield from _written(copy, source.permutation(blocks))


def _codes(data: bytes) -> Array:
    return np.frombuffer(data.decode("utf-8", "replace").encode("utf-32-le"), "<u4")


def _written(codes: Array, blocks: Array) -> Iterator[bytes]:
    for start, end in blocks:
        yield codes[start:end].tobytes().decode("utf-32-le").encode()


def _blocks(codes: Array) -> Array:
    """Where blocks begin and end: behind line feeds."""
    feeds = np.flatnonzero(codes == 10) + 1
    size = max(1 << 10, min(BLOCK, len(codes) // 64))
    near = np.searchsorted(feeds, np.arange(size, len(codes), size))
    edges = [0, *feeds[near[near < len(feeds)]].tolist(), len(codes)]
    edges = sorted(set(edges))
    return np.array(list(pairwise(edges)))


# -- words -----------------------------------------------------------------------------------


@cache
def _is_letter() -> Array:
    """For each code point: is it a letter, or a mark on one?"""
    return np.fromiter(
        (chr(c).isalpha() or unicodedata.category(chr(c))[0] == "M" for c in range(0x110000)),
        dtype=bool,
    )


def words(codes: Array) -> tuple[Array, Array]:
    """Where the runs of letters begin and end."""
    inside = np.zeros(len(codes) + 2, np.int8)
    inside[1:-1] = _is_letter()[codes]
    edges = np.diff(inside)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def hashes(codes: Array, starts: Array, ends: Array) -> Array:
    """Of the words there, which follow each other: 64 bits each, a polynomial."""
    parts = [np.zeros(0, np.uint64)]
    begin = 0
    while begin < len(starts):
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + (1 << 20))))
        base, top = int(starts[begin]), int(ends[end - 1])
        powers, inverse = _powers(1 << (top - base).bit_length())
        sums = np.zeros(top - base + 1, np.uint64)
        np.cumsum(codes[base:top].astype(np.uint64) * powers[: top - base], out=sums[1:])
        at, to = starts[begin:end] - base, ends[begin:end] - base
        found = (sums[to] - sums[at]) * inverse[at]
        parts.append(found ^ (found >> np.uint64(29)))
        begin = end
    return np.concatenate(parts)


@cache
def _powers(number: int) -> tuple[Array, Array]:
    """The powers of an odd number modulo 2^64, and of its inverse."""
    one, other = np.full(number, _ODD, np.uint64), np.full(number, pow(_ODD, -1, 1 << 64))
    one[0] = other[0] = 1
    return np.cumprod(one), np.cumprod(other.astype(np.uint64))


def _halves(size: int) -> list[int]:
    return [size >> shift for shift in (4, 3, 2, 1, 0)]


def slope(points: list[tuple[int, int]]) -> float:
    """Heaps' exponent: of the line through sizes and distinct words, both as logarithms."""
    if min(found for _, found in points) < 2:
        return 1.0
    return float(np.polyfit(*np.log(np.array(points, float)).T, 1)[0])


def heaps(path: Path) -> tuple[int, float]:
    """The distinct words of a text, and Heaps' exponent of its last four doublings: counted,
    not taken from the generator."""
    known, points, done = np.zeros(0, np.uint64), [], 0
    marks = _halves(path.stat().st_size)
    with path.open("rb") as file:
        while lines := file.readlines(max(1, min(1 << 24, marks[0] - done))):
            data = b"".join(lines)
            done += len(data)
            codes = _codes(data)
            known = np.union1d(known, hashes(codes, *words(codes)))
            if done >= marks[0]:
                points.append((done, len(known)))
                marks = marks[1:] or [1 << 62]
    return len(known), slope(points)


# -- lines and languages ---------------------------------------------------------------------


def spans(data: bytes, size: int) -> Iterator[bytes]:
    """`size` bytes of lines, each of them 8 to 23 words from a random place of a text, so that
    hardly one occurs twice."""
    found = data.split()
    text, places = b" ".join(found), np.cumsum([0, *(len(word) + 1 for word in found)])
    source, left = np.random.default_rng(5), size
    while left:
        first = source.integers(0, max(1, len(found) - 22), 1 << 16)
        behind = np.minimum(first + source.integers(8, 24, 1 << 16), len(found))
        ends = zip(places[first].tolist(), (places[behind] - 1).tolist(), strict=True)
        piece = b"".join(b"%b\n" % text[start:end] for start, end in ends)
        if len(piece) >= left:
            yield piece[: piece.rfind(b"\n", 0, left) + 1] or piece[:left]
            return
        yield piece
        left -= len(piece)


_KANA = re.compile("[\u3041-\u30ff]")
#: The letters of the other languages in the text of many scripts; of Vietnamese those of its own.
_ALPHABETS = re.compile(
    "(?P<zh>[\u4e00-\u9fff])|(?P<ko>[\uac00-\ud7a3])|(?P<el>[\u0370-\u03ff])|"
    "(?P<hi>[\u0900-\u097f])|(?P<km>[\u1780-\u17ff])|(?P<ru>[\u0400-\u04ff])|"
    "(?P<vi>[\u0102\u0103\u0110\u0111\u01a0\u01a1\u01af\u01b0\u1ea0-\u1ef9])"
)


def languages(data: bytes) -> dict[str, bytes]:
    """The lines of each language in the text of many scripts, by the letters in them; a line
    without any belongs to the language before it."""
    found: dict[str, list[str]] = {}
    language = ""
    for line in data.decode().splitlines(keepends=True):
        if letter := _ALPHABETS.search(line):
            language = letter.lastgroup or ""
        if _KANA.search(line):
            language = "ja"
        if language:
            found.setdefault(language, []).append(line)
    return {name: "".join(lines).encode() for name, lines in sorted(found.items())}


# -- odd shapes ------------------------------------------------------------------------------


def dna(size: int) -> bytes:
    """Letters without a space."""
    return "".join(random.Random(1).choices("ACGT", k=size)).encode()


def _english(books: bytes, size: int) -> bytes:
    return b"".join(varied(books, size))


def _no_spaces(books: bytes, size: int) -> bytes:
    return re.sub(rb"\s+", b"", _english(books, 2 * size))[:size].decode(errors="ignore").encode()


def _one_line(books: bytes, size: int) -> bytes:
    return re.sub(rb"[\r\n]+", b" ", _english(books, size))


def _emoji(_: bytes, size: int) -> bytes:
    source = random.Random(2)
    return "".join(chr(source.randrange(0x1F600, 0x1F650)) for _ in range(size // 4)).encode()


def _random_bytes(_: bytes, size: int) -> bytes:
    return random.Random(3).randbytes(size)


def _distinct_words(_: bytes, size: int) -> bytes:
    """A million words in 8 MB, each of them once."""
    order = list(range(size // 8))
    random.Random(4).shuffle(order)
    return b" ".join(_word(number * 11) for number in order)


def _word(number: int) -> bytes:
    """Seven letters, all of them different for different numbers below 26^5."""
    letters = bytearray(b"ab")
    for _ in range(5):
        number, letter = divmod(number, 26)
        letters.append(_LETTERS[letter])
    return bytes(letters)


#: By name: from the books and a size in bytes to a text.
SHAPES: dict[str, Callable[[bytes, int], bytes]] = {
    "english": _english,
    "one repeated letter": lambda _, size: b"a" * size,
    "no spaces": _no_spaces,
    "all emoji": _emoji,
    "one line": _one_line,
    "random bytes": _random_bytes,
    "distinct words": _distinct_words,
}
