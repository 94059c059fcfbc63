"""The metadata of a GGUF file: keys and values, read and written without tensors.

The format follows GGUF's specification (`docs/gguf.md` of ggml): `GGUF`, a version, the number of
tensors, the number of pairs, and the pairs of a key, a type and a value. Texts have a 64-bit
length, lists have a type and a length. Version 3 may be big-endian throughout.

The package `gguf` has its own reader, but it makes a NumPy array of every text: 8.5 s and 390 MB
for 128,256 tokens and 100,000 merges, where the reader here takes 0.1 s and 26 MB. It also keeps
reading a list that claims 2^60 numbers, and recurses as deep as lists are nested. So only the tests
use it, for comparison. The reader here checks each length against the file's size and against the
limits of real vocabularies before it reads.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

from tokctl.formats.contract import ModelInput
from tokctl.formats.registry import GGUF_MAGIC

#: Most texts in one list. The largest vocabularies have 260,000 tokens and 600,000 merges.
MOST_TEXTS = 1 << 20
#: Limits in bytes: of all values that are kept, and of one text in a list.
MOST_KEPT = 1 << 25
_LONGEST_ENTRY = 1 << 12
_MOST_PAIRS = 1 << 14
_LONGEST_KEY = (1 << 16) - 1
#: The number of bytes that one read asks for.
_BLOCK = 1 << 18

_TEXT, _LIST = 8, 9


class _Number(NamedTuple):
    code: str
    width: int


#: The types of numbers, by their code in the file. 7 is a boolean.
_NUMBERS = {
    0: _Number("B", 1),
    1: _Number("b", 1),
    2: _Number("H", 2),
    3: _Number("h", 2),
    4: _Number("I", 4),
    5: _Number("i", 4),
    6: _Number("f", 4),
    7: _Number("?", 1),
    10: _Number("Q", 8),
    11: _Number("q", 8),
    12: _Number("d", 8),
}


class _BlockReader:
    """A file that is read in blocks; reading beyond the end raises ValueError."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file = file
        self.remaining = size  # bytes after those taken
        self.block = b""
        self.offset = 0
        self.kept_size = 0

    def check(self, count: int) -> None:
        """Raise ValueError unless `count` bytes follow."""
        if count > self.remaining:
            raise ValueError(f"it ends where {count} more bytes should be")

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        self.check(count)
        self.fill(count)
        taken = self.block[self.offset : self.offset + count]
        self.offset += count
        self.remaining -= count
        return taken

    def fill(self, count: int) -> None:
        """Read more if the block does not hold the next `count` bytes."""
        buffered = len(self.block) - self.offset
        if buffered >= count:
            return
        self.block = self.block[self.offset :] + self.file.read(max(_BLOCK, count - buffered))
        self.offset = 0
        if len(self.block) < count:
            raise ValueError("it ends too early")

    def skip(self, count: int) -> None:
        """Skip `count` bytes."""
        self.check(count)
        buffered = len(self.block) - self.offset
        if count <= buffered:
            self.offset += count
        else:
            self.file.seek(count - buffered, 1)
            self.block, self.offset = b"", 0
        self.remaining -= count

    def count_kept(self, count: int) -> None:
        """Count `count` bytes as kept; raise ValueError above the limit of a vocabulary."""
        self.kept_size += count
        if self.kept_size > MOST_KEPT:
            raise ValueError(f"its vocabulary has more than {MOST_KEPT >> 20} MiB")


def read(source: ModelInput, wanted: frozenset[str]) -> dict[str, Any]:
    """Return the values of the keys in `wanted` that the file has.

    A text is a `str`, a list of texts is a `list`, and a list of numbers is an `array`.

    Args:
        source: the GGUF file.
        wanted: the keys to return; other values are skipped.

    Raises:
        ValueError: the file is damaged.
    """
    with source.open() as file:
        return _MetadataReader(_BlockReader(file, source.size)).read_pairs(wanted)


class _MetadataReader:
    def __init__(self, data: _BlockReader) -> None:
        self.data = data
        self.texts = 0
        head = data.take(8)
        if head[:4] != GGUF_MAGIC:
            raise ValueError("it does not begin with GGUF")
        # Versions are at most 65535, so two zero bytes in front mean big-endian.
        self.byte_order = "<" if head[4:6] != b"\0\0" else ">"
        version = struct.unpack(self.byte_order + "I", head[4:])[0]
        if version not in (2, 3):
            raise ValueError(f"it is GGUF version {version}, and tokctl reads 2 and 3")
        self.length = struct.Struct(self.byte_order + "Q")
        self.read_number(10)  # the number of tensors

    def read_number(self, kind: int) -> Any:
        code, width = _NUMBERS[kind]
        return struct.unpack(self.byte_order + code, self.data.take(width))[0]

    def read_count(self, width: int, limit: int) -> int:
        """Return the next length, checked: at most `limit` items of at least `width` bytes each."""
        length: int = self.read_number(10)
        if length > limit:
            raise ValueError(f"a length in it is {length}, and at most {limit} is allowed")
        self.data.check(length * width)
        return length

    def read_pairs(self, wanted: frozenset[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        keys = set()
        for _ in range(self.read_count(13, _MOST_PAIRS)):
            key = self.data.take(self.read_count(1, _LONGEST_KEY))
            if key in keys:
                raise ValueError(f"the key {key.decode(errors='replace')!r:.80} occurs twice")
            keys.add(key)
            name = key.decode(errors="replace")
            kind = self.read_number(4)
            if name in wanted:
                values[name] = self.read_value(kind, name)
            else:
                self.skip_value(kind, name)
        return values

    def read_value(self, kind: int, name: str) -> Any:
        if kind in _NUMBERS:
            return self.read_number(kind)
        if kind == _TEXT:
            size = self.read_count(1, MOST_KEPT)
            self.data.count_kept(size)
            return _decode([self.data.take(size)], name)[0]
        if kind != _LIST:
            raise _unsupported_value(kind, name)
        kind = self.read_number(4)
        if kind == _TEXT:
            return _decode(self.read_texts(self.read_text_count()), name)
        width = _number_width(kind, name)
        count = self.read_count(width, MOST_KEPT)
        self.data.count_kept(count * width)
        code = "B" if kind == 7 else _NUMBERS[kind].code
        # The widths of `array`'s C types depend on the machine.
        code = next(c for c in (code, {"I": "L", "i": "l"}.get(code, code)) if _has_width(c, width))
        numbers = array(code, self.data.take(count * width))
        if (sys.byteorder == "little") != (self.byte_order == "<"):
            numbers.byteswap()
        return numbers

    def skip_value(self, kind: int, name: str) -> None:
        if kind in _NUMBERS:
            self.data.skip(_NUMBERS[kind].width)
        elif kind == _TEXT:
            self.data.skip(self.read_number(10))
        elif kind == _LIST:
            kind = self.read_number(4)
            if kind == _TEXT:
                self.read_texts(self.read_text_count(), keep=False)
            else:
                self.data.skip(self.read_number(10) * _number_width(kind, name))
        else:
            raise _unsupported_value(kind, name)

    def read_text_count(self) -> int:
        count = self.read_count(8, MOST_TEXTS)
        self.texts += count
        if self.texts > MOST_TEXTS * 2:
            raise ValueError(f"its lists hold more than {MOST_TEXTS * 2} texts")
        return count

    def read_texts(self, count: int, keep: bool = True) -> list[bytes]:
        """Return the texts of a list; this loop takes almost all the time of reading."""
        data, unpack = self.data, self.length.unpack_from
        texts: list[bytes] = []
        add = texts.append
        while count:
            data.check(8)
            data.fill(8)
            block, offset = data.block, data.offset
            start, end = offset, len(block) - 8
            before = len(texts)
            size = 0
            while count and offset <= end:
                (size,) = unpack(block, offset)
                stop = offset + 8 + size
                if stop > end + 8:
                    break
                if keep:
                    add(block[offset + 8 : stop])
                offset = stop
                count -= 1
            else:
                size = 0
            data.offset = offset
            data.remaining -= offset - start
            if data.remaining < 0:
                raise ValueError("it ends inside a list")
            if keep:
                data.count_kept(offset - start - 8 * (len(texts) - before))
            if size > (_LONGEST_ENTRY if keep else data.remaining):
                raise ValueError(f"a text in one of its lists has {size} bytes")
            if size and keep:
                data.check(8 + size)
                data.fill(8 + size)
            elif size:
                data.skip(8 + size)
                count -= 1
        return texts


def _has_width(code: str, width: int) -> bool:
    return array(code).itemsize == width


def _number_width(kind: int, name: str) -> int:
    if kind not in _NUMBERS:
        raise _unsupported_value(kind, name)
    return _NUMBERS[kind].width


def _unsupported_value(kind: int, name: str) -> ValueError:
    what = "a list of lists" if kind == _LIST else f"of the unknown type {kind}"
    return ValueError(f"the value of {name!r:.80} is {what}")


def _decode(texts: list[bytes], name: str) -> list[str]:
    try:
        return [text.decode() for text in texts]
    except UnicodeDecodeError:
        for index, text in enumerate(texts):
            try:
                text.decode()
            except UnicodeDecodeError:
                raise ValueError(f"text {index} of {name!r} is not UTF-8") from None
        raise


# -- writing -------------------------------------------------------------------------

_VERSION = 3
#: The type codes for Python's `bool` and `int`.
_BOOLEAN, _COUNT = 7, 4
#: Padding to the position where tensors would begin: readers look there even if there are none.
_ALIGNMENT = 32


def serialize(values: Mapping[str, Any]) -> bytes:
    """Return a file with the given keys, in their order, and no tensors.

    A value is a text, a boolean, a number from 0 to 2^32 - 1, a list of texts, or an `array`. The
    items of an array are bytes, 32-bit integers (`i`) or single-precision numbers (`f`).
    """
    parts = [GGUF_MAGIC, struct.pack("<IQQ", _VERSION, 0, len(values))]
    for key, value in values.items():
        parts.append(_encode_text(key))
        if isinstance(value, array):
            kind = next(kind for kind, (code, _) in _NUMBERS.items() if code == value.typecode)
            parts.append(struct.pack("<IIQ", _LIST, kind, len(value)))
            numbers = array(value.typecode, value)
            if sys.byteorder == "big":
                numbers.byteswap()
            parts.append(numbers.tobytes())
        elif isinstance(value, list):
            parts.append(struct.pack("<IIQ", _LIST, _TEXT, len(value)))
            parts += map(_encode_text, value)
        elif isinstance(value, str):
            parts += (struct.pack("<I", _TEXT), _encode_text(value))
        elif isinstance(value, bool):
            parts.append(struct.pack("<I?", _BOOLEAN, value))
        else:
            parts.append(struct.pack("<II", _COUNT, value))
    data = b"".join(parts)
    return data + bytes(-len(data) % _ALIGNMENT)


def _encode_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
