"""What bytes are, told by the first of them: never by a name."""

from __future__ import annotations

#: No form needs more to be known.
HEAD = 512

#: For each place of a magic number, the bytes that can stand there. Enough of them that no
#: text, and hardly any row of numbers, looks the same: RFC 1952 (gzip: deflate, and no
#: reserved flag), RFC 8878 (zstd: a frame, or one to be skipped), the descriptions of .xz
#: and bzip2 (a first block, or the end of nothing).
_COMPRESSED: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("gzip", (b"\x1f", b"\x8b", b"\x08", bytes(range(32)))),
    ("zstd", (b"\x28", b"\xb5", b"\x2f", b"\xfd")),
    ("zstd", (bytes(range(0x50, 0x60)), b"\x2a", b"\x4d", b"\x18")),
    ("xz", (b"\xfd", b"7", b"z", b"X", b"Z", b"\0")),
    ("bz2", (b"B", b"Z", b"h", b"123456789", b"1", b"A", b"Y", b"&", b"S", b"Y")),
    ("bz2", (b"B", b"Z", b"h", b"123456789", b"\x17", b"r", b"E", b"8", b"P", b"\x90")),
)
_ARROW_FILE = b"ARROW1\0\0"
_PARQUET = b"PAR1"
#: What no text has behind its first word: Parquet goes on with a structure of Thrift.
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_CONTINUES = b"\xff\xff\xff\xff"
_FIRST = frozenset(byte for _, magic in _COMPRESSED for byte in magic[0])
_FIRST_OF_FORMS = frozenset((_ARROW_FILE[0], _PARQUET[0], _CONTINUES[0]))


def compression(head: bytes) -> str | None:
    """`gzip`, `zstd`, `xz` or `bz2`; None for what is not compressed.

    Where so few bytes are all there are that a magic number is not whole, they are taken for
    one that was cut if they can't be text.
    """
    if not head or head[0] not in _FIRST:
        return None
    for name, magic in _COMPRESSED:
        if _fits(head, magic) and (len(head) >= len(magic) or _is_cut(head)):
            return name
    return None


def may_be_compressed(head: bytes) -> bool:
    """Must more be read to know the compression?"""
    return not head or (
        head[0] in _FIRST
        and any(len(head) < len(magic) and _fits(head, magic) for _, magic in _COMPRESSED)
    )


def form(head: bytes) -> str | None:
    """`parquet`, `arrow` or `tar`; None for what is none of them."""
    if head.startswith(_PARQUET) and len(head) > 4 and head[4] in _NO_TEXT:
        return "parquet"
    if head.startswith(_ARROW_FILE) or (len(head) >= 8 and _may_be_arrow_stream(head)):
        return "arrow"
    return "tar" if head[257:262] == b"ustar" else None


def is_arrow_file(head: bytes) -> bool:
    """A file with a footer (Feather's, too), and not a stream?"""
    return head.startswith(_ARROW_FILE[:6])


def undecided(head: bytes) -> bool:
    """Must more be read to know the form?"""
    if not head:
        return True
    if head[0] in _FIRST_OF_FORMS and (
        _ARROW_FILE.startswith(head)
        or _PARQUET.startswith(head)
        or (len(head) < 8 and _may_be_arrow_stream(head))
    ):
        return True
    return len(head) < 262 and _may_be_tar(head)


def _fits(head: bytes, magic: tuple[bytes, ...]) -> bool:
    return all(byte in allowed for byte, allowed in zip(head, magic, strict=False))


def _is_cut(head: bytes) -> bool:
    return len(head) >= 7 or (len(head) >= 2 and not head.isascii())


def _may_be_arrow_stream(head: bytes) -> bool:
    """The mark of a message, and a length that the description of a schema can have."""
    if not _CONTINUES.startswith(head[:4]):
        return False
    length = int.from_bytes(head[4:8], "little")
    return len(head) < 8 or (0 < length < 1 << 28 and length % 8 == 0)


def _may_be_tar(head: bytes) -> bool:
    """The start of a header: a name filled up with NULs, and a mode in octal digits.

    A name alone could be any text, which must not wait for more: writers of tar write whole
    headers, so that the NULs are there.
    """
    name, filling, _ = head[:100].partition(b"\0")
    if not name or (not filling and len(head) < 100):
        return False
    return not head[len(name) : 100].strip(b"\0") and not head[100:108].strip(b"01234567 \0")
