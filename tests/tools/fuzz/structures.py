"""Changes of structure: of JSON and its lines, of protobuf, GGUF, tables, archives, and of what is
compressed. A case is taken apart by what its first bytes say, changed in one place, and written
again as a whole that its reader gets far into."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import random
import struct
import sys
import tarfile
import zlib
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Changes what is inside: a member of an archive, a string of bytes.
Inside = Callable[[bytes, random.Random], bytes]

#: Values that a field may be made.
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 255, 2**31, 2**32, 2**53 + 1, 2**64, -(2**63), 1e308, 0.5, "", "a",
    "\0", "▁", "##", "\ud7ff", " ", "</w>", "<unk>", "a" * 300, [], [[]], {}, {"type": "Sequence"},
    [1, 2], ["a", "b"], "BPE", "WordPiece", "Unigram", "WordLevel", "(", "[", "\\p{L}+", "(a*)*",
]  # fmt: skip
NUMBERS = (0, 1, 2, 7, 127, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1)

#: More than a case has when it is unpacked is not changed, nor made.
MOST = 1 << 20


def changed(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    """The data with one change of its structure; None where it has none that is known."""
    for begins, change in _KINDS:
        if begins(data):
            return change(data, draw, inside)
    return None


# JSON


def _json(data: bytes, draw: random.Random, _inside: Inside) -> bytes | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _lines(data, draw, _inside)
    _change(document, draw)
    return json.dumps(document).encode("utf-8", "replace")


def _lines(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    """JSON Lines: one line is changed, doubled or lost."""
    lines = data.split(b"\n")
    if len(lines) < 2:
        return None
    at = draw.randrange(len(lines))
    what = draw.randrange(6)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[at])
    else:
        lines[at] = inside(lines[at], draw)
    return draw.choice((b"\n", b"\n", b"\r\n")).join(lines)


def _change(document: Any, draw: random.Random) -> None:
    """Something is another value, or gone, or there twice."""
    inner = document
    while isinstance(inner, (dict, list)) and inner:
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        key = draw.choice(keys)
        if not isinstance(inner[key], (dict, list)) or not inner[key] or draw.random() < 0.25:
            break
        inner = inner[key]
    else:
        return
    what = draw.randrange(6)
    if what == 0:
        del inner[key]
    elif what == 1:
        other = draw.choice(keys)
        inner[key], inner[other] = inner[other], inner[key]
    elif what == 2 and isinstance(inner, list):
        inner.append(inner[key])
    elif what == 2:
        inner[draw.choice(("x", "type", "id", "", str(key) * 2))] = inner.pop(key)
    elif what == 3:
        # What stands elsewhere fits more often than what is odd everywhere.
        inner[key] = json.loads(json.dumps(_anywhere(document, draw)))
    else:
        inner[key] = draw.choice(ODD)


def _anywhere(document: Any, draw: random.Random) -> Any:
    inner = document
    while isinstance(inner, (dict, list)) and inner and draw.random() < 0.8:
        inner = draw.choice(list(inner.values()) if isinstance(inner, dict) else inner)
    return inner


# Protobuf: fields as they stand on the wire, https://protobuf.dev/programming-guides/encoding

#: Number, wire type, and the value: a number, or bytes.
_Field = tuple[int, int, Any]


def _fields(data: bytes) -> list[_Field] | None:
    """The fields of a message; None where it is none."""
    found: list[_Field] = []
    at = 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            kind = key & 7
            value: Any
            if kind == 0:
                value, at = _varint(data, at)
            elif kind == 2:
                size, at = _varint(data, at)
                value, at = data[at : at + size], at + size
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                value, at = data[at : at + size], at + size
            else:
                return None
            found.append((key >> 3, kind, value))
    except IndexError:
        return None
    return found if at == len(data) and found and all(number for number, *_ in found) else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > 63:
            return value, at


def _as_varint(value: int) -> bytes:
    written = bytearray()
    value &= 2**64 - 1
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _message(fields: list[_Field]) -> bytes:
    parts = []
    for number, kind, value in fields:
        parts.append(_as_varint(number << 3 | kind))
        if kind == 2:
            parts.append(_as_varint(len(value)))
        parts.append(_as_varint(value) if kind == 0 else value)
    return b"".join(parts)


def _protobuf(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    fields = _fields(data)
    if fields is None:
        return None
    at = draw.randrange(len(fields))
    if draw.random() < 0.3:
        # Of many pieces and few settings, the settings are what decides.
        at = draw.choice(
            [place for place, field in enumerate(fields) if field[0] != fields[0][0]] or [at]
        )
    number, kind, value = fields[at]
    what = draw.randrange(8)
    if what == 0:
        del fields[at]
    elif what == 1:
        fields.insert(draw.randrange(len(fields) + 1), fields[at])
    elif what == 2:
        fields[at] = (draw.choice((number + 1, 1, 2, 15, 40, 2**28)), kind, value)
    elif kind == 0:
        fields[at] = (number, kind, draw.choice(NUMBERS))
    elif kind == 2:
        inner = _protobuf(value, draw, inside) if draw.random() < 0.7 else None
        fields[at] = (number, kind, inside(value, draw) if inner is None else inner)
    else:
        odd = [0.0, -0.0, 1e30, -1e30, float("nan"), float("inf"), -float("inf"), 1e-45]
        written = struct.pack("<d" if kind == 1 else "<f", draw.choice(odd))
        fields[at] = (number, kind, written)
    return _message(fields)


# GGUF, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9


class _Gguf:
    """Its metadata taken apart; values stay the bytes that they are."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 4
        self.version, self.tensors, count = struct.unpack("<IQQ", self.take(20))
        self.entries: list[list[Any]] = []
        for _ in range(min(count, 10_000)):
            key, (kind,) = self.string(), struct.unpack("<I", self.take(4))
            self.entries.append([key, kind, self.value(kind)])
        self.rest = data[self.at :]

    def take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise ValueError("cut short")
        self.at += size
        return part

    def string(self) -> bytes:
        return self.take(struct.unpack("<Q", self.take(8))[0])

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner, count = struct.unpack("<IQ", self.take(12))
            if inner == _ARRAY or count > MOST:
                raise ValueError("not changed")
            return inner, [self.value(inner) for _ in range(count)]
        if kind not in _WIDTHS:
            raise ValueError("no such type")
        return self.take(_WIDTHS[kind])

    def written(self, more: int) -> bytes:
        """With `more` entries, or strings of an array, said to be there than there are."""
        head = struct.pack("<IQQ", self.version, self.tensors, max(0, len(self.entries) + more))
        return b"".join([b"GGUF", head, *map(self._entry, self.entries), self.rest])

    def _entry(self, entry: list[Any]) -> bytes:
        key, kind, value = entry
        return self._written(_STRING, key) + struct.pack("<I", kind) + self._written(kind, value)

    def _written(self, kind: int, value: Any) -> bytes:
        if isinstance(value, tuple):
            inner, items = value
            return struct.pack("<IQ", inner, len(items)) + b"".join(
                self._written(inner, item) for item in items
            )
        return struct.pack("<Q", len(value)) + bytes(value) if kind == _STRING else bytes(value)


def _gguf(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    try:
        file = _Gguf(data)
    except (ValueError, struct.error):
        return None
    what = draw.randrange(10)
    if not file.entries or what == 0:
        file.version = draw.choice((0, 1, 2, 3, 4, 2**24))
        return file.written(draw.choice((-1, 1, 2**62)))
    entry = draw.choice(file.entries)
    if what == 1:
        file.entries.remove(entry)
    elif what == 2:
        file.entries.append(list(entry))
    elif what == 3:
        entry[0] = inside(entry[0], draw)
    elif what == 4:
        entry[1], entry[2] = 4, struct.pack("<I", draw.choice(NUMBERS) & 2**32 - 1)
    elif what == 5:
        entry[1:] = draw.choice(file.entries)[1:]
    elif isinstance(entry[2], tuple):
        _change_array(entry, draw, inside)
    elif entry[1] == _STRING:
        names = (
            b"gpt2",
            b"llama",
            b"bert",
            b"t5",
            b"rwkv",
            b"plamo2",
            b"no",
            b"qwen2",
            b"llama-bpe",
        )
        entry[2] = draw.choice(names) if draw.random() < 0.5 else inside(entry[2], draw)
    else:
        number = draw.choice(NUMBERS) & 2 ** (8 * len(entry[2])) - 1
        entry[2] = number.to_bytes(len(entry[2]), "little")
    return file.written(0)


def _change_array(entry: list[Any], draw: random.Random, inside: Inside) -> None:
    kind, items = entry[2]
    items = list(items)
    at = draw.randrange(len(items)) if items else 0
    what = draw.randrange(6)
    if not items or what == 0:
        entry[2] = (draw.choice((0, 4, 5, 6, 8, 12, 99)), [])
        return
    if what == 1:
        del items[at : at + draw.choice((1, 1, 3, 1000))]
    elif what == 2:
        items.insert(draw.randrange(len(items)), items[at])
    elif what == 3:
        other = draw.randrange(len(items))
        items[at], items[other] = items[other], items[at]
    elif kind == _STRING:
        items[at] = inside(items[at], draw)
    else:
        items[at] = (draw.choice(NUMBERS) & 2 ** (8 * len(items[at])) - 1).to_bytes(
            len(items[at]), "little"
        )
    entry[2] = (kind, items)


# Tables


def table(draw: random.Random) -> bytes:
    """A table of any layout that holds text, or nearly."""
    import pyarrow as pa

    count = draw.choice((0, 1, 2, 9, 70))
    words = ["low", "", "naïve 東京", "a\nb", "x" * 300, "\0", None]
    texts = [draw.choice(words[: -1 if draw.random() < 0.7 else None]) for _ in range(count)]
    kinds = ["string", "large_string", "binary", "large_binary", "string_view", "binary_view"]
    column = pa.array(texts, getattr(pa, draw.choice(kinds))())
    how = draw.randrange(7)
    if how == 0:
        with contextlib.suppress(pa.ArrowException):
            column = column.dictionary_encode()
    elif how == 1:
        column = pa.StructArray.from_arrays([column, column], ["text", draw.choice(("text", "b"))])
    elif how == 2:
        column = pa.array([[text] for text in texts], pa.list_(pa.string()))
    elif how == 3:
        column = pa.array(
            [number % 251 for number in range(count)],
            draw.choice((pa.int8(), pa.uint32(), pa.float64())),
        )
    elif how == 4:
        column = column.slice(min(1, count))
    names = draw.choice((["text", "id"], ["id", "text"], ["text", "text"], ["input_ids", "text"]))
    rows = pa.table([column, pa.array(range(len(column)), pa.int64())], names=names)
    return _table_written(rows, draw)


def _table_written(rows: Any, draw: random.Random) -> bytes:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    out = io.BytesIO()
    form = draw.choice(("parquet", "parquet", "file", "stream"))
    try:
        if form == "parquet":
            parquet.write_table(
                rows,
                out,
                row_group_size=draw.choice((1, 2, 100)),
                compression=draw.choice(("none", "snappy", "gzip", "zstd", "lz4", "brotli")),
                use_dictionary=draw.random() < 0.5,
                data_page_version=draw.choice(("1.0", "2.0")),
                data_page_size=draw.choice((1, 64, 1 << 20)),
                version=draw.choice(("1.0", "2.6")),
                write_page_checksum=draw.random() < 0.5,
            )
            return out.getvalue()
        options = ipc.IpcWriteOptions(compression=draw.choice((None, "lz4", "zstd")))
        new = ipc.new_file if form == "file" else ipc.new_stream
        with new(out, rows.schema, options=options) as writer:
            writer.write_table(rows, max_chunksize=draw.choice((1, 3, 1000)))
    except pa.ArrowException:
        return b"PAR1"
    return out.getvalue()


def _table(_data: bytes, draw: random.Random, _inside: Inside) -> bytes | None:
    if draw.random() < 0.5:
        return None  # its bytes are changed: most of what can be wrong is there
    return table(draw)


# Archives


def _tar(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    members: list[tuple[tarfile.TarInfo, bytes]] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as file:
            for member in file:
                if member.size > MOST or len(members) > 50:
                    return None
                content = file.extractfile(member) if member.isreg() else None
                members.append((member, content.read(MOST) if content else b""))
    except (tarfile.TarError, OSError, ValueError, EOFError, IndexError, OverflowError):
        return None
    if not members:
        return None
    at = draw.randrange(len(members))
    about, content = members[at]
    what = draw.randrange(8)
    if what == 0:
        del members[at]
    elif what == 1:
        members.insert(draw.randrange(len(members) + 1), members[at])
    elif what == 2:
        about.type = draw.choice(b"01234567gxLKSD").to_bytes(1, "big")
        about.linkname = draw.choice(("", "a", "../a", "/etc/passwd"))
    elif what == 3:
        names = (
            "../a",
            "/etc/passwd",
            "a" * 120,
            "é/" * 90,
            "",
            ".",
            ".hidden",
            "a.jsonl",
            "b.tar",
        )
        about.name = draw.choice(names)
    elif what == 4:
        headers = ("path", "size", "linkpath", "GNU.sparse.major", "GNU.sparse.map", "hdrcharset")
        about.pax_headers[draw.choice(headers)] = draw.choice(("", "1", "-1", "99999999999", "a"))
    else:
        members[at] = (about, inside(content, draw))
    out = io.BytesIO()
    form = draw.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    try:
        with tarfile.open(fileobj=out, mode="w", format=form) as file:
            for about, content in members:
                about.size = len(content)
                file.addfile(about, io.BytesIO(content))
    except (ValueError, tarfile.TarError, OSError, UnicodeError):
        return None
    return out.getvalue()


#: How what is compressed begins, what unpacks it, what packs it.
_PACKED: dict[bytes, tuple[Callable[[], Any], Callable[[bytes], bytes]]] = {
    b"\x1f\x8b\x08": (lambda: zlib.decompressobj(31), gzip.compress),
    b"\x28\xb5\x2f\xfd": (lambda: zstd.ZstdDecompressor(), zstd.compress),
    b"\xfd7zXZ\0": (lambda: lzma.LZMADecompressor(), lzma.compress),
    b"BZh": (lambda: bz2.BZ2Decompressor(), bz2.compress),
}


def _packed(data: bytes, draw: random.Random, inside: Inside) -> bytes | None:
    unpack = next(unpack for magic, (unpack, _) in _PACKED.items() if data.startswith(magic))
    try:
        content = unpack().decompress(data, MOST)
    except (zlib.error, zstd.ZstdError, lzma.LZMAError, OSError, EOFError, ValueError):
        return None
    _, pack = draw.choice(list(_PACKED.values()))
    what = draw.randrange(8)
    if what == 0:
        return data + draw.choice((b"\0" * 9, data, data[:5], b"x", pack(b""), pack(content)))
    if what == 1:
        return pack(data)
    if what == 2 and content:
        half = draw.randrange(len(content))
        return pack(content[:half]) + pack(content[half:])
    return pack(inside(content, draw))


def _is_tar(data: bytes) -> bool:
    return data[257:262] == b"ustar"


#: How each kind begins, and what changes it.
_KINDS: tuple[tuple[Callable[[bytes], bool], Callable[..., bytes | None]], ...] = (
    (lambda data: data[:4] == b"GGUF", _gguf),
    (_is_tar, _tar),
    (lambda data: data[:1] in (b"{", b"["), _json),
    (lambda data: data.startswith(tuple(_PACKED)), _packed),
    (lambda data: data.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")), _table),
    (lambda data: data[:1] == b"\n", _protobuf),
)
