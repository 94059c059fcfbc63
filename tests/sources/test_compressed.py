"""Compressed text: the same as the text itself, whole or an error."""

from __future__ import annotations

import functools
import gzip
import io
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.memory import ROOT
from tests.sources.made import COMPRESS, SKIPPED, pieces_of, text, trickle
from tokctl.core.errors import TokctlError
from tokctl.sources import BLOCK_SIZE, ReadOptions, documents, open_sources
from tokctl.sources.compressed import decompressed

KINDS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bz2"}
TEXT = b"".join(b"%d bottles of rum, %d men\n" % (n, n * n) for n in range(4000))


@functools.cache
def compressed_text(ending: str) -> bytes:
    return COMPRESS[ending](TEXT)


def both(path: Path | str) -> list[bytes]:
    """The text as documents() reads it, and as open_sources() does."""
    (one,) = documents([path])
    (other,) = open_sources([path])
    assert other.size == one.size == Path(path).stat().st_size
    found = [text(one), text(other), text(other)]  # it can be read again
    assert other.tell is not None and one.tell is not None
    assert other.tell() == one.tell() == one.size
    assert one.prompt and other.prompt
    return found


@pytest.mark.parametrize("ending", COMPRESS)
def test_content_counts_and_not_the_name(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_bytes(COMPRESS[ending](TEXT))
    assert both(path) == [TEXT] * 3
    misnamed = tmp_path / f"text.{ending}"
    misnamed.write_bytes(TEXT)
    assert both(misnamed) == [TEXT] * 3
    (raw,) = open_sources([path], ReadOptions("raw"))
    assert text(raw) == path.read_bytes() == text(documents([path], raw=True)[0])


@pytest.mark.few(2)
@pytest.mark.parametrize("ending", COMPRESS)
@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    cuts=st.lists(st.integers(0, 1500), max_size=12),
    size=st.sampled_from([1, 7, 1000, BLOCK_SIZE]),
)
def test_members_pieces_and_sizes(
    ending: str, parts: list[bytes], cuts: list[int], size: int
) -> None:
    data = b"".join(map(COMPRESS[ending], parts))
    blocks = list(decompressed(pieces_of(data, cuts), KINDS[ending], "x", size))
    assert b"".join(blocks) == b"".join(parts)
    assert all(0 < len(block) <= size for block in blocks)
    (opened,) = documents(["-"], stdin=trickle(pieces_of(data, cuts)))
    assert (opened.name, text(opened)) == ("stdin", b"".join(parts))
    (found,) = open_sources(["-"], ReadOptions("text"), stdin=trickle(pieces_of(data, cuts)))
    assert text(found) == b"".join(parts)


@pytest.mark.parametrize("ending", COMPRESS)
def test_cut_anywhere_is_an_error(ending: str, tmp_path: Path) -> None:
    data = COMPRESS[ending](random.Random(1).randbytes(3000) + TEXT[:9000])
    path = tmp_path / "cut"
    tried = 0
    for end in [*range(97, len(data), 97), 2, 3, 9, 11, len(data) - 1, len(data) - 4]:
        if ending == "bz2" and end < 7:
            continue  # that few letters are a text
        path.write_bytes(data[:end])
        for read in (documents, open_sources):
            with raises_code("damaged") as caught:
                text(read([path])[0])
            assert f"{path} is " in caught.value.message
            tried += 1
    assert tried > 60


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_second_member_that_is_cut(ending: str, tmp_path: Path) -> None:
    one, two = COMPRESS[ending](TEXT), COMPRESS[ending](b"and the end of it\n" * 50)
    path = tmp_path / "cut"
    for end in range(1, len(two), 5):
        path.write_bytes(one + two[:end])
        with raises_code("damaged"):
            text(documents([path])[0])


@pytest.mark.parametrize("ending", COMPRESS)
@given(place=st.integers(30, 4000), change=st.integers(1, 255))
def test_a_changed_byte_never_changes_the_text(ending: str, place: int, change: int) -> None:
    data = bytearray(compressed_text(ending))
    data[place % len(data)] ^= change
    try:
        found = b"".join(decompressed([bytes(data)], KINDS[ending], "x"))
    except TokctlError:
        return
    # zstd's own frames have no checksum unless asked for; a header may have room for changes.
    assert found == TEXT or ending == "zst"


@pytest.mark.parametrize("ending", COMPRESS)
def test_what_stands_behind(ending: str, tmp_path: Path) -> None:
    data = COMPRESS[ending](TEXT)
    path = tmp_path / "text"
    for rest in (b"x", b"garbage", b"\0\0\0\0x", b"\n"):
        path.write_bytes(data + rest)
        with raises_code("damaged"):
            text(documents([path])[0])
    path.write_bytes(data + b"\0" * 3000)  # as tapes and blocks leave them
    if ending in ("gz", "xz"):
        assert text(documents([path])[0]) == TEXT
    else:
        with raises_code("damaged"):
            text(documents([path])[0])


def test_frames_that_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "text"
    frame = COMPRESS["zst"](TEXT)
    path.write_bytes(SKIPPED + frame + SKIPPED + frame + SKIPPED)
    assert both(path) == [TEXT * 2] * 3


@pytest.mark.parametrize("outer", COMPRESS)
@pytest.mark.parametrize("inner", COMPRESS)
def test_text_that_was_compressed_twice_is_no_text(tmp_path: Path, outer: str, inner: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESS[outer](compressed_text(inner)))
    says = f"text is compressed twice: its {KINDS[outer]} data holds {KINDS[inner]} data"
    (one,) = documents([path])
    with pytest.raises(TokctlError, match=says):
        text(one)
    with pytest.raises(TokctlError, match=says):
        open_sources([path])
    # As the hint says: what unpacks it once leaves something to read.
    (found,) = open_sources(["-"], stdin=io.BytesIO(compressed_text(inner)))
    assert text(found) == TEXT


def test_many_tiny_members() -> None:
    empty, one = gzip.compress(b""), gzip.compress(b"x")
    for count in (5_000, 40_000):
        data = (empty + one) * count
        assert b"".join(decompressed([data], "gzip", "x")) == b"x" * count


@pytest.mark.parametrize("first", [b"h", b"\x1f", b"BZ", b"P", b"hello\n", b"\xff", b"\x28"])
def test_what_comes_first_comes_through_first(first: bytes) -> None:
    """A slow writer: nothing waits for a second line, or for more than a magic number."""
    reader, writer = os.pipe()
    waits = first != b"hello\n" and first != b"h"
    release = threading.Event()

    def write() -> None:
        os.write(writer, first)
        release.wait(600)
        os.write(writer, b" and more")
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reader, "rb") as stream:
        if waits:
            release.set()
        (source,) = open_sources(["-"], stdin=stream)
        blocks = source.blocks()  # type: ignore[union-attr]
        begun = next(blocks)
        assert waits or (begun == first and not release.is_set())
        release.set()
        assert begun + b"".join(blocks) == first + b" and more"
    thread.join()


def test_a_compressed_stream_is_not_held_back() -> None:
    import zlib

    packer = zlib.compressobj(wbits=31)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream:
        os.write(writer, packer.compress(b"first\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        (source,) = open_sources(["-"], stdin=stream)
        blocks = source.blocks()  # type: ignore[union-attr]
        assert next(blocks) == b"first\n"
        os.write(writer, packer.compress(b"second\n") + packer.flush())
        os.close(writer)
        assert b"".join(blocks) == b"second\n"


BOMB = """
import sys
from tests.memory import peak
from tokctl.sources import documents, open_sources
(source,) = (documents if sys.argv[2] == "documents" else open_sources)([sys.argv[1]])
before = peak()
size = sum(len(block) for block in source.blocks())
print(size, peak() - before)
"""


@pytest.mark.few(2)
@systems.linux
@pytest.mark.parametrize("ending", COMPRESS)
def test_a_bomb_streams(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    size = 200_000_000
    path.write_bytes(COMPRESS[ending](bytes(size // 10)) * 10)
    asked = "documents" if ending in ("gz", "xz") else "open_sources"
    command = [sys.executable, "-c", BOMB, str(path), asked]
    shown = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert int(shown[0]) == size
    assert int(shown[1]) < 40_000


def test_without_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "compression" if sys.version_info >= (3, 14) else "backports"
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / "a.zst"
    path.write_bytes(COMPRESS["zst"](TEXT))
    with raises_code("missing-package") as caught:
        text(documents([path])[0])
    assert "backports.zstd" in str(caught.value.hint)
