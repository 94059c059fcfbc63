"""Files that change while they are read, pipes, and what is asked for twice."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import systems
from tests.errors import raises_code
from tests.sources.made import COMPRESS, all_of, read, records, text, trickle
from tokctl.core.errors import TokctlError
from tokctl.sources import (
    BLOCK_SIZE,
    Archive,
    Document,
    ReadOptions,
    documents,
    open_sources,
    total_size,
)

TEXT = b"It was a dark and stormy night.\n" * 200_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize("read_as", ["text", "gz", "jsonl"])
def test_what_shrinks_while_it_is_read(path: Path, read_as: str) -> None:
    if read_as == "gz":
        path.write_bytes(COMPRESS["gz"](os.urandom(8_000_000)))
    if read_as == "jsonl":
        path.write_bytes(b'{"text": "a b c"}\n' * 500_000)
    (source,) = open_sources([path], ReadOptions("jsonl" if read_as == "jsonl" else "auto"))
    blocks: Iterator[object]
    blocks = source.blocks() if isinstance(source, Document) else source.batches()  # type: ignore[union-attr]
    next(blocks)
    os.truncate(path, BLOCK_SIZE + 18 * 1000 + 7)
    with pytest.raises(
        TokctlError, match=r"a\.txt (became shorter|is cut short|is damaged)|a\.txt: line"
    ):
        for _ in blocks:
            pass


def test_what_shrinks_before_it_is_read(path: Path) -> None:
    (source,) = open_sources([path])
    os.truncate(path, 1000)
    with pytest.raises(TokctlError) as caught:
        text(source)
    assert caught.value.message == (
        f"{path} became shorter while it was read: 1000 of {len(TEXT)} bytes came"
    )


def test_what_vanishes_or_becomes_a_folder(path: Path) -> None:
    (one,) = documents([path])
    (other,) = open_sources([path])
    path.unlink()
    for source in (one, other):
        with raises_code("unreadable", r"can't read .*a\.txt: No such file or directory"):
            text(source)
    path.mkdir()
    with raises_code("unreadable", r"a\.txt"):
        text(one)


def test_what_grows_is_read_to_its_end_as_it_is_then(path: Path) -> None:
    (source,) = open_sources([path])
    with path.open("ab") as file:
        file.write(b"more")
    assert text(source) == TEXT + b"more"


@systems.linux
def test_special_files_without_a_size() -> None:
    assert text(open_sources(["/proc/self/status"])[0]).startswith(b"Name:")


def pipe(path: Path, data: bytes) -> threading.Thread:
    """A named pipe, and the thread that writes to it."""
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(data))
    thread.start()
    return thread


@systems.named_pipes
def test_pipes_are_opened_when_it_is_their_turn(tmp_path: Path) -> None:
    """One writer for two pipes, one after the other, as a script has them."""
    paths = [tmp_path / "one", tmp_path / "two.jsonl"]
    for path in paths:
        os.mkfifo(path)

    def write() -> None:
        paths[0].write_bytes(COMPRESS["gz"](TEXT))
        paths[1].write_bytes(b'{"text": "two"}\n')

    thread = threading.Thread(target=write)
    thread.start()
    opened = open_sources(paths)
    assert total_size(opened) is None
    assert [source.prompt for source in opened] == [False, False]
    assert all_of(opened) == [(str(paths[0]), [TEXT]), (str(paths[1]), [b"two"])]
    thread.join()


@systems.named_pipes
def test_a_pipe_of_another_form(tmp_path: Path) -> None:
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    thread = pipe(tmp_path / "p", out.getvalue())
    (source,) = open_sources([tmp_path / "p"])
    with raises_code("bad-input") as caught:
        text(source)
    assert "--format tar" in str(caught.value.hint)
    thread.join()
    thread = pipe(tmp_path / "q", out.getvalue())
    assert read(tmp_path / "q", ReadOptions("tar")) == [(f"{tmp_path}/q/empty", [b""])]
    thread.join()
    thread = pipe(tmp_path / "r", b'{"a": {"b": "x"}}')
    (source,) = open_sources([tmp_path / "r"], ReadOptions(text_field="a.b"))
    assert records(source) == [b"x"]
    thread.join()


@pytest.mark.parametrize("size", [1, 7, 99, 101, 255, 300])
def test_a_tar_that_comes_in_small_pieces_is_never_a_text(size: int) -> None:
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("name.txt")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    data = out.getvalue()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    if size < len(b"name.txt"):
        with raises_code("bad-input"):
            read("-", stdin=trickle(pieces))
    else:
        assert read("-", stdin=trickle(pieces)) == [("stdin/name.txt", [b"text"])]
    as_tar = read("-", ReadOptions("tar"), stdin=trickle(pieces))
    assert as_tar == [("stdin/name.txt", [b"text"])]


def test_parquet_through_a_pipe(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(pa.table({"text": ["a", "b"]}), out)
    thread = pipe(tmp_path / "p", out.getvalue())
    (source,) = open_sources([tmp_path / "p"], ReadOptions("parquet"))
    assert records(source) == [b"a", b"b"]
    thread.join()


def test_stdin_once() -> None:
    for both in (documents, open_sources):
        with raises_code("bad-option"):
            both(["-", "-"], stdin=io.BytesIO())  # type: ignore[operator]
    (source,) = open_sources(["-"], stdin=io.BytesIO(b"once"))
    assert (source.name, source.size, source.prompt) == ("stdin", None, False)
    assert text(source) == b"once"
    assert source.tell is not None and source.tell() == 4


def test_stdin_that_fails() -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def read(self, _size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with raises_code("unreadable"):
        open_sources(["-"], stdin=Broken())  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\xff\xff\xff\xff", b"PAR", b"ARROW1", b"a\0\0"])
def test_beginnings_of_other_forms_are_texts(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    assert read(path) == [(str(path), [data])]
    assert read("-", stdin=io.BytesIO(data)) == [("stdin", [data])]
    assert read("-", stdin=trickle([data[n : n + 1] for n in range(len(data))])) == [
        ("stdin", [data])
    ]


def test_sizes_add_up(path: Path, tmp_path: Path) -> None:
    (tmp_path / "b.gz").write_bytes(COMPRESS["gz"](TEXT))
    opened = open_sources([path, tmp_path / "b.gz"])
    assert total_size(opened) == len(TEXT) + (tmp_path / "b.gz").stat().st_size
    tells = []
    for source in opened:
        assert not isinstance(source, Archive)
        for _ in source.blocks():  # type: ignore[union-attr]
            tells.append(source.tell() if source.tell else 0)
        assert source.tell is not None and source.tell() == source.size
    assert len(tells) > 4


@pytest.mark.parametrize("text", [b"PAR1", b"PAR1\n", b"PAR1 is a word", b"PAR1\xc3\xa9"])
def test_a_text_that_begins_like_parquet(text: bytes, tmp_path: Path) -> None:
    """Behind the magic number of a table stands what no text has."""
    path = tmp_path / "a.txt"
    path.write_bytes(text)
    for stdin in (None, io.BytesIO(text)):
        (source,) = open_sources(["-" if stdin else path], stdin=stdin)
        assert isinstance(source, Document)
        assert b"".join(source.blocks()) == text
