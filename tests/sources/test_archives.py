"""Texts in tar: each member as it is read alone."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.memory import ROOT
from tests.sources.made import COMPRESS, all_of, pieces_of, read, text, trickle
from tokctl.core.errors import TokctlError
from tokctl.sources import Archive, Document, ReadOptions, Records, flat, open_sources

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}
FILES = {
    "a.txt": b"first\n" * 300,
    "dir/b.txt": b"",
    "dir/c": b"x" * 512,
    "dir/deep/d.txt": bytes(range(256)) * 9,
    "last": b"no line feed",
}


def tar(files: dict[str, bytes], form: str = "pax") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=FORMATS[form]) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("ending", ["", *COMPRESS])
def test_members_in_order(form: str, ending: str, tmp_path: Path) -> None:
    long = "long/" * 18 + "name.txt" if form == "ustar" else "long/" * 60 + "é.txt"
    files = {**FILES, long: b"long"}
    data = tar(files, form)
    data = COMPRESS[ending](data) if ending else data
    path = tmp_path / "texts"
    path.write_bytes(data)
    (archive,) = open_sources([path])
    assert isinstance(archive, Archive)
    assert (archive.name, archive.size, archive.prompt) == (str(path), len(data), True)
    expected = [(f"{path}/{name}", [content]) for name, content in files.items()]
    for _ in range(2):
        assert all_of([archive]) == expected
        assert archive.tell() == len(data)
    found = read("-", stdin=io.BytesIO(data))
    assert found == [(f"stdin/{name}", [content]) for name, content in files.items()]


@given(
    contents=st.lists(st.binary(max_size=1500), min_size=1, max_size=5),
    cuts=st.lists(st.integers(262, 12_000), max_size=30),
    taken=st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_short_reads_and_members_left(
    contents: list[bytes], cuts: list[int], taken: list[int]
) -> None:
    """Pieces of any size; and some members are read to their end, some not, some not at all."""
    files = {f"{n}.txt": b"\n" + content for n, content in enumerate(contents)}
    pieces = pieces_of(tar(files), cuts)
    (archive,) = open_sources(["-"], stdin=trickle(pieces))
    expected = iter(files.items())
    for member, how in zip(flat([archive]), taken, strict=False):
        name, content = next(expected)
        assert isinstance(member, Document)
        assert (member.name, member.size) == (f"stdin/{name}", len(content))
        blocks = member.blocks()
        found = next(blocks) if how == 1 else b"".join(blocks) if how > 1 else b""
        assert content.startswith(found) and (how < 2 or found == content)
    assert next(expected, None) is None


def test_members_of_every_form(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = io.BytesIO()
    parquet.write_table(pa.table({"text": ["p", "q"]}), table)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": ["r", "s"]}))
    lines = b"".join(json.dumps({"text": word}).encode() + b"\n" for word in "ab")
    files = {
        "a.jsonl": lines,
        "b.jsonl.gz": COMPRESS["gz"](lines),
        "c.bin": COMPRESS["zst"](b"zstd"),
        "d": table.getvalue(),
        "e": COMPRESS["xz"](table.getvalue()),
        "f": stream.getvalue(),
        "g.tar": tar({"h.jsonl": lines, "i": b"inner"}),
        "j.tgz": COMPRESS["gz"](tar({"k": b"inner"})),
        "z": b"end",
    }
    path = tmp_path / "all.tar"
    path.write_bytes(tar(files))
    found = [(name.removeprefix(f"{path}/"), texts) for name, texts in read(path)]
    assert found == [
        ("a.jsonl", [b"a", b"b"]),
        ("b.jsonl.gz", [b"a", b"b"]),
        ("c.bin", [b"zstd"]),
        ("d", [b"p", b"q"]),
        ("e", [b"p", b"q"]),
        ("f", [b"r", b"s"]),
        ("g.tar/h.jsonl", [b"a", b"b"]),
        ("g.tar/i", [b"inner"]),
        ("j.tgz/k", [b"inner"]),
        ("z", [b"end"]),
    ]
    # Left in the middle, whatever it is, the next is not disturbed.
    names = []
    for source in flat(open_sources([path])):
        names.append(source.name.removeprefix(f"{path}/"))
        next(source.batches() if isinstance(source, Records) else source.blocks())
    assert names == [name for name, _ in found]


@systems.gnu_tar
def test_what_is_no_regular_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_bytes(b"a")
    (tmp_path / "folder" / "link").symlink_to("a.txt")
    os.link(tmp_path / "folder" / "a.txt", tmp_path / "folder" / "z-hard")
    os.mkfifo(tmp_path / "folder" / "pipe")
    path = tmp_path / "t.tar"
    subprocess.run(
        ["tar", "--sort=name", "-cf", path, "-C", tmp_path, "./folder"], check=True, timeout=600
    )
    assert read(path) == [(f"{path}/folder/a.txt", [b"a"])]


@systems.gnu_tar
def test_sparse_files(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.seek(3_000_000)
        file.write(b"end of it")
    path = tmp_path / "t.tar"
    subprocess.run(["tar", "-Scf", path, "-C", tmp_path, "sparse"], check=True, timeout=600)
    assert read(path) == [(f"{path}/sparse", [bytes(3_000_000) + b"end of it"])]


def test_names_that_are_hostile(tmp_path: Path) -> None:
    names = ["new\nline", "-dash", os.fsdecode(b"\xff\xfe"), "/absolute", "./dot", "../up"]
    path = tmp_path / "t.tar"
    path.write_bytes(tar(dict.fromkeys(names, b"x"), "gnu"))
    shown = [name.removeprefix(f"{path}/") for name, _ in read(path)]
    assert shown == [*names[:3], "absolute", "dot", "../up"]


@pytest.mark.parametrize("form", FORMATS)
def test_cut_anywhere_is_an_error(form: str, tmp_path: Path) -> None:
    data = tar({**FILES, "n" * 99: b"n"}, form).rstrip(b"\0")
    whole = -len(data) % 512 + len(data)
    path = tmp_path / "cut.tar"
    ends = [*range(262, whole, 97), *range(512, whole + 1, 512)]
    for end in ends:
        path.write_bytes(data.ljust(whole, b"\0")[:end])
        with raises_code("damaged", r"cut\.tar is (cut short|damaged)"):
            read(path)
    path.write_bytes(data.ljust(whole + 512, b"\0"))  # one block of zeros is enough
    assert len(read(path)) == len(FILES) + 1


def test_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.tar"
    data = bytearray(tar(FILES))
    data[tar(FILES).index(b"dir/c") + 120] ^= 1  # in a header: its checksum is wrong
    path.write_bytes(data)
    with raises_code("damaged", r"t\.tar is damaged, or not a tar archive: "):
        read(path)
    path.write_bytes(tar(FILES) + tar(FILES))
    with raises_code("damaged"):
        read(path)
    for data in (b"", b"a text that is no tar\n" * 90):
        path.write_bytes(data)
        with raises_code("damaged", r"t\.tar is "):
            read(path, ReadOptions("tar"))
    path.write_bytes(tar({}))
    assert read(path, ReadOptions("tar")) == []


def test_a_member_names_itself_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "t.tar"
    path.write_bytes(tar({"a.jsonl": b'{"text": 7}', "b": b"b"}))
    with raises_code("bad-record", r"t\.tar/a\.jsonl: line 1: field text is a number"):
        read(path)
    path.write_bytes(tar({"a.gz": COMPRESS["gz"](b"x" * 999)[:-3], "b": b"b"}))
    with raises_code("damaged", r"t\.tar/a\.gz is cut short"):
        read(path)


def test_too_late(tmp_path: Path) -> None:
    path = tmp_path / "t.tar"
    path.write_bytes(tar({"large": bytes(5_000_000), **FILES}))
    first, *_ = flat(open_sources([path]))
    with raises_code("bad-option"):
        text(first)


def test_archives_in_archives_end(tmp_path: Path) -> None:
    data = tar({"a.txt": b"a"})
    for _ in range(12):
        data = tar({"in.tar": data})
    path = tmp_path / "t.tar"
    path.write_bytes(data)
    with raises_code("too-large", "nested more than 8 deep"):
        read(path)


def test_a_header_that_wants_all_memory(tmp_path: Path) -> None:
    member = tarfile.TarInfo("./PaxHeaders/x")
    member.type, member.size = tarfile.XHDTYPE, 6 << 30
    path = tmp_path / "t.tar"
    with path.open("wb") as file:
        file.write(member.tobuf(tarfile.USTAR_FORMAT))
        file.truncate(1 << 30)
    with raises_code("damaged", r"t\.tar is damaged"):
        read(path)


MANY = """
import io, tarfile
from tests.memory import peak
from tokctl.sources import flat, open_sources
class Tar(io.RawIOBase):
    '''An endless-looking archive, made as it is read.'''
    def __init__(self, count): self.left, self.ready = count, b""
    def readable(self): return True
    def read(self, size):
        while len(self.ready) < 60000 and self.left >= 0:
            self.left -= 1
            member = tarfile.TarInfo(f"file{self.left}")
            member.size = 5
            one = member.tobuf() + b"text\\n".ljust(512, b"\\0")
            self.ready += one if self.left >= 0 else bytes(1024)
        data, self.ready = self.ready[:size], self.ready[size:]
        return data
def run(count):
    members = flat(open_sources(["-"], stdin=Tar(count)))
    assert sum(len(b"".join(member.blocks())) for member in members) == 5 * count
    return peak()
before = run(500)
print(run(15000) - before)
"""


@systems.linux
def test_many_members_take_no_memory() -> None:
    command = [sys.executable, "-c", MANY]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(shown.stdout) < 6000


@pytest.mark.parametrize("name", ["a.tar", "A.TAR.gz"])
def test_an_archive_without_members_is_no_text_of_zeros(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with tarfile.open(path, "w:gz" if name.endswith("gz") else "w"):
        pass
    (source,) = open_sources([path])
    assert isinstance(source, Archive)
    assert list(source.members()) == []
    (source,) = open_sources([path], ReadOptions(format="text"))
    assert isinstance(source, Document)
    other = tmp_path / "zeros"
    other.write_bytes(bytes(10240))
    (source,) = open_sources([other])
    assert isinstance(source, Document)


def test_a_size_below_zero(tmp_path: Path) -> None:
    """It would be taken for `all that comes`, at once."""
    header = bytearray(tarfile.TarInfo("a").tobuf(format=tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 11 + b"\xf0"  # -16
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(header) + b"x" * 512 + bytes(1024))
    (source,) = open_sources([path])
    assert isinstance(source, Archive)
    with pytest.raises(
        TokctlError, match=r"a\.tar is damaged, or not a tar archive: a file of -16 bytes"
    ):
        list(source.members())
