"""Texts of odd shapes, each of at least so many bytes, the same in every process."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from importlib.resources import files

STORY = files("tokctl").joinpath("corpora", "the-lamplighters-atlas.txt").read_bytes()


def repeated(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit) + 1)


def prose(size: int) -> bytes:
    """The bundled story again and again. Each time a quarter of its longer words are new, as in a
    text that goes on."""
    parts, length = [], 0
    while length < size:
        part = re.sub(rb"[a-z]{4,}", lambda found: _renewed(found[0], len(parts)), STORY)
        parts.append(part)
        length += len(part)
    return b"".join(parts)


def _renewed(word: bytes, time: int) -> bytes:
    chosen = time > 0 and (len(word) * 7 + word[0] + time) % 4 == 0
    return word + b"%c" % (97 + time % 26) if chosen else word


def one_line(size: int) -> bytes:
    return prose(size).replace(b"\r", b"").replace(b"\n", b" ")


def no_spaces(size: int) -> bytes:
    return bytes(random.Random(1).choices(b"etaoinshrdlu", k=size))


def emoji(size: int) -> bytes:
    codes = random.Random(2).choices(range(0x1F600, 0x1F650), k=size // 4 + 1)
    return "".join(map(chr, codes)).encode()


def distinct_words(size: int) -> bytes:
    """A million of them at ten megabytes."""
    return b" ".join(
        f"w{number * 7919 % 1_000_003:06}x".encode() for number in range(size // 9 + 1)
    )


def chinese(size: int) -> bytes:
    codes = random.Random(3).choices(range(0x4E00, 0x6000), k=size // 3 + 1)
    return "".join(map(chr, codes)).encode()


SHAPES: dict[str, Callable[[int], bytes]] = {
    "one repeated letter": lambda size: repeated(b"a", size),
    "one repeated syllable": lambda size: repeated(b"ab", size),
    "spaces": lambda size: repeated(b" ", size),
    "line breaks": lambda size: repeated(b"\r\n", size),
    "apostrophes": lambda size: repeated(b"'s", size),
    "digits": lambda size: repeated(b"1234567890", size),
    "no spaces": no_spaces,
    "all emoji": emoji,
    "combining marks": lambda size: repeated("\u0301".encode(), size),
    "one line": one_line,
    "random bytes": lambda size: random.Random(4).randbytes(size),
    "a million distinct words": distinct_words,
    "random Chinese": chinese,
}
