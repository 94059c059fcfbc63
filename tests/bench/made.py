"""Texts that are made: long ones out of short ones, and those with odd shapes. The same bytes
in every run: each comes from a generator with a seed of its own."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

#: Of the distinct words of a copy, this share is written with another letter.
VARIED = 0.2
_PARTS = re.compile(rb"[A-Za-z_]{4,}|[A-Za-z_]+|[^A-Za-z_]+")
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def varied(data: bytes, size: int) -> bytes:
    """`data` repeated to `size` bytes, cut behind a line feed. In every copy but the first a
    share of the words (identifiers, in code) is spelled differently, all over that copy: so
    the number of distinct words grows with the text, as it does in nature."""
    pieces = [data[:size]]
    length = len(pieces[0])
    if length < size:
        parts = _PARTS.findall(data)
        distinct = list(dict.fromkeys(parts))
        for number in _numbers():
            spelled = dict(zip(distinct, _spellings(distinct, number), strict=True))
            pieces.append(b"".join(map(spelled.__getitem__, parts)))
            length += len(pieces[-1])
            if length >= size:
                break
    text = b"".join(pieces)[:size]
    return text[: text.rfind(b"\n") + 1] or text


def _numbers() -> Iterator[int]:
    number = 1
    while True:
        yield number
        number += 1


def _spellings(words: list[bytes], seed: int) -> Iterator[bytes]:
    source = random.Random(seed)
    for word in words:
        # Only what the first alternative matched is a word; spaces stay.
        if len(word) < 4 or not word[:1].isalpha() or source.random() >= VARIED:
            yield word
            continue
        place = source.randrange(1, len(word))
        yield word[:place] + bytes([source.choice(_LETTERS)]) + word[place + 1 :]


def dna(size: int) -> bytes:
    """Letters without a space."""
    return "".join(random.Random(1).choices("ACGT", k=size)).encode()


def _no_spaces(books: bytes, size: int) -> bytes:
    return re.sub(rb"\s+", b"", varied(books, 2 * size))[:size].decode(errors="ignore").encode()


def _one_line(books: bytes, size: int) -> bytes:
    return re.sub(rb"[\r\n]+", b" ", varied(books, size))


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
    "english": varied,
    "one repeated letter": lambda _, size: b"a" * size,
    "no spaces": _no_spaces,
    "all emoji": _emoji,
    "one line": _one_line,
    "random bytes": _random_bytes,
    "distinct words": _distinct_words,
}
