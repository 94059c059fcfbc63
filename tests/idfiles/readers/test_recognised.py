"""Which form a file is taken for, by its name and its first bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.errors import raises_code
from tests.idfiles.readers import files
from tests.idfiles.readers.files import IDS, MODEL, TEXTS, lines
from tokctl import TokctlError
from tokctl.idfiles.reader import IdReadOptions, IdSource, _detect_form
from tokctl.sources.blocks import BlockStream

pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")

FLAT = [id_ for ids in IDS for id_ in ids]


@pytest.mark.parametrize("cut", [1, 5, 1000])
@pytest.mark.parametrize(
    ("data", "name", "form"),
    [
        (b"", None, "ids"),
        (b"1 2 3\n", None, "ids"),
        (b"  12", "a.txt", "ids"),
        (b"rubbish", "a.txt", "ids"),
        (b"12345678 12345678 12", "a.bin", "ids"),
        (b"1\0" * 9, "a.bin", "bin"),
        (b"1\0" * 9, "a.bin.gz", "bin"),
        (b"1\0" * 9, None, "ids"),
        (b'{"ids": []}', None, "jsonl"),
        (b'  \n{"ids": []}', "a", "ids"),
        (b"\x93NUMPY\1\0\0\0", None, "npy"),
        (b"\x93NUMPY\1\0\0\0", "a.bin", "npy"),
        (b"PAR1\x15\4", None, "parquet"),
        (b"ARROW1\0\0", None, "arrow"),
        (b"\xff\xff\xff\xff\x80\0\0\0", "a.arrow", "arrow"),
        (b"MMIDIDX\0\0\1", "a", "megatron"),
        (b"\x02\0\0\0\0\0\0\0{}", None, "safetensors"),
        (b'\x40\0\0\0\0\0\0\0{"input_ids"', "a", "safetensors"),
    ],
)
def test_form(data: bytes, name: str | None, form: str, cut: int) -> None:
    stream = BlockStream(iter([data[at : at + cut] for at in range(0, len(data), cut)]))
    assert _detect_form(stream, name) == form
    assert b"".join(stream.rest()) == data


def test_decimal_ids_are_not_waited_for() -> None:
    """Of a pipe whose first byte is a digit no more is read than that."""

    def blocks():  # type: ignore[no-untyped-def]
        yield b"1"
        raise AssertionError("read on")

    assert _detect_form(BlockStream(blocks()), None) == "ids"


class Pipe:
    """stdin, which can be read once, in small pieces."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read1(self, size: int) -> bytes:
        size = min(size, 11)
        block, self.data = self.data[:size], self.data[size:]
        return block

    read = read1

    def fileno(self) -> int:
        raise OSError("no file is behind it")


@pytest.mark.parametrize("name", ["ids.parquet", "ids.arrow", "ids.safetensors"])
def test_forms_that_are_read_at_any_place_come_from_a_pipe_too(tmp_path: Path, name: str) -> None:
    files.WRITERS[name](tmp_path / name)
    source = IdSource("-", IdReadOptions(), Pipe((tmp_path / name).read_bytes()))  # type: ignore[arg-type]
    assert b"".join(source.text(MODEL)) == lines(TEXTS)
    assert source.size is None
    np.save(tmp_path / "a.npy", np.array(FLAT, dtype="<u2"))
    source = IdSource("-", IdReadOptions(), Pipe((tmp_path / "a.npy").read_bytes()))  # type: ignore[arg-type]
    assert b"".join(source.text(MODEL)) == b"".join(TEXTS)


def test_megatron_does_not_come_from_a_pipe(tmp_path: Path) -> None:
    files.mega(tmp_path / "a")
    source = IdSource("-", IdReadOptions(), Pipe((tmp_path / "a.idx").read_bytes()))  # type: ignore[arg-type]
    with raises_code("conflict"):
        b"".join(source.text(MODEL))


def test_a_bin_with_another_index_beside_it_is_bin(tmp_path: Path) -> None:
    np.array(FLAT, dtype="<u2").tofile(tmp_path / "a.bin")
    (tmp_path / "a.idx").write_bytes(b"some other index")
    assert b"".join(IdSource(str(tmp_path / "a.bin"), IdReadOptions()).text(MODEL)) == b"".join(
        TEXTS
    )


def test_what_was_read_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    for name, write in files.WRITERS.items():
        write(tmp_path / name)
        source = IdSource(str(tmp_path / name), IdReadOptions())
        assert source.meter.bytes_read == 0
        assert b"".join(source.text(MODEL))
        assert source.meter.bytes_read > 0


@pytest.mark.parametrize("how", [{"form": "x"}, {"dtype": "x"}, {"form": "npy", "dtype": "int8"}])
def test_what_does_not_go_together(how: dict[str, str]) -> None:
    with pytest.raises(TokctlError):
        IdReadOptions(**how)  # type: ignore[arg-type]


def test_compressed_ids(tmp_path: Path) -> None:
    """Where the sources decompress, compressed ids of every form are read."""
    from tokctl.sources import documents

    (tmp_path / "probe.gz").write_bytes(gzip.compress(b"1"))
    if b"".join(documents([tmp_path / "probe.gz"])[0].blocks()) != b"1":
        pytest.skip("the sources do not decompress yet")
    for name, write in files.WRITERS.items():
        if name == "ids.idx":
            continue
        write(tmp_path / name)
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        assert b"".join(IdSource(str(packed), IdReadOptions()).text(MODEL)) == lines(TEXTS)
    decimal = " ".join(map(str, FLAT)).encode()
    (tmp_path / "ids.gz").write_bytes(gzip.compress(decimal))
    assert b"".join(IdSource(str(tmp_path / "ids.gz"), IdReadOptions()).text(MODEL)) == b"".join(
        TEXTS
    )
