"""`decode` of files that hold numbers: options, messages, output that is whole or absent."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from tests.cli.run import error, tokctl
from tokctl import Tokenizer

Models = dict[str, Path]

KNOWN = "this model's ids are 0 to 279"


@pytest.fixture
def ids(models: Models) -> list[int]:
    """Of `low lower`, and behind each word the special token."""
    model = Tokenizer.load(models["bytes"])
    return [*model.encode_ids("low"), 0, *model.encode_ids(" lower"), 0]


def test_forms_are_recognised_file_by_file(models: Models, ids: list[int]) -> None:
    np.save("a.npy", np.array(ids, dtype=">i8"))
    np.array(ids, dtype="<u2").tofile("b.bin")
    Path("c").write_bytes(b"71 71\n")
    Path("d").write_bytes(b'{"ids":[71]}\n')
    low = Tokenizer.load(models["bytes"]).decode_bytes([71])
    done = tokctl("decode", "-m", models["bytes"], "--skip-special", "a.npy", "b.bin", "c", "d")
    assert done == (0, b"low lower" * 2 + low * 2 + b"\n" + low + b"\n", "")
    piped = tokctl("decode", "-m", models["bytes"], stdin=Path("a.npy").read_bytes())
    assert piped == (0, b"low<|end|> lower<|end|>", "")


def test_documents_and_separators(models: Models, ids: list[int]) -> None:
    np.array(ids, dtype="<i4").tofile("a.bin")
    given = ("decode", "-m", models["bytes"], "--dtype", "int32", "--eos", "<|end|>", "a.bin")
    assert tokctl(*given).out == b"low\n lower\n"
    for spelled, meant in (
        ("", b""),
        ("--", b"--"),
        (r"\0\n", b"\0\n"),
        (r"\\n", rb"\n"),
        ("é", "é".encode()),
    ):
        done = tokctl(*given, "--separator", spelled)
        assert done == (0, b"low" + meant + b" lower" + meant, "")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ("--from", "x"),
            "invalid value 'x' for --from",
            "choose one of: auto, ids, jsonl, bin, npy, parquet, arrow, megatron, safetensors",
        ),
        (
            ("--dtype", "float32"),
            "invalid value 'float32' for --dtype",
            "choose one of: uint8, int8, uint16, int16, uint32, int32, uint64, int64",
        ),
        (
            ("--from", "npy", "--dtype", "int8"),
            "--dtype is for bin, and --from is npy",
            "leave one of them out",
        ),
        (
            ("--eos", "<x>"),
            "--eos: '<x>' is not a token of this model",
            "its special tokens are: <|end|>",
        ),
        (("-", "-"), "stdin (-) is named twice", "it can be read only once"),
        (("--from", "npy"), "stdin is not a .npy file", "name its form with --from"),
    ],
)
def test_bad_usage(models: Models, arguments: tuple[str, ...], message: str, hint: str) -> None:
    done = tokctl("decode", "-m", models["bytes"], *arguments, stdin=b"rubbish")
    assert done == (2, b"", error(message, hint))


def test_output_is_whole_or_absent(models: Models, ids: list[int]) -> None:
    np.save("a.npy", np.array([*ids, 999], dtype="<u4"))
    done = tokctl("decode", "-m", models["bytes"], "-o", "out", "a.npy")
    place = f"byte {128 + 4 * len(ids)}"
    assert done == (2, b"", error(f"a.npy: {place}: id 999 is outside the vocabulary", KNOWN))
    assert not Path("out").exists()


def test_a_folder_is_one_of_shards(models: Models) -> None:
    Path("f").mkdir()
    done = tokctl("decode", "-m", models["bytes"], "f")
    assert done == (2, b"", error("f is a folder without manifest.json", "name the files in it"))


def test_names_that_are_not_utf8(models: Models, ids: list[int]) -> None:
    name = b"odd-\xff.npy".decode("utf-8", "surrogateescape")
    try:
        with Path(name).open("wb") as file:
            np.save(file, np.array([*ids, 999]))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    done = tokctl("decode", "-m", models["bytes"], name)
    assert done.code == 2
    assert done.err.startswith(r"error: odd-\udcff.npy: byte ")


def test_pyarrow_is_an_extra(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = tokctl("decode", "-m", models["bytes"], stdin=b"PAR1" + bytes(20))
    message = "reading stdin needs the package pyarrow"
    assert done == (2, b"", error(message, "pip install 'tokctl[parquet]'"))


def test_numbers_in_binary_from_a_pipe(models: Models, ids: list[int]) -> None:
    """Nothing says what they are: the hint does."""
    data = np.array(ids, dtype="<u2").tobytes()
    done = tokctl("decode", "-m", models["bytes"], stdin=data)
    assert done.code == 2
    assert done.err.startswith("error: stdin: line 1, column 1: ")
    assert done.err.splitlines()[-1].endswith("--from bin (and --dtype)")
    assert tokctl("decode", "-m", models["bytes"], "--from", "bin", stdin=data).code == 0


@pytest.mark.parametrize(
    ("option", "meant"),
    [("--as", "--from names"), ("--format", "--from names"), ("--text-field", "--ids-field names")],
)
def test_options_of_encode(models: Models, option: str, meant: str) -> None:
    done = tokctl("decode", "-m", models["bytes"], option, "bin", stdin=b"1")
    assert done.code == 2
    assert done.err.startswith(f"error: no such option: {option}")
    assert f"hint: {meant}" in done.err


def test_a_full_disk_for_what_comes_through_a_pipe(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is about that file, not about stdout."""
    pyarrow.parquet.write_table(pyarrow.table({"input_ids": [[71]]}), "a.parquet")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    done = tokctl("decode", "-m", models["bytes"], stdin=Path("a.parquet").read_bytes())
    message = "can't copy stdin to a temporary file: No space left on device"
    hint = "give a file, or set TMPDIR to a larger disk: the data is read from its end"
    assert done == (2, b"", error(message, hint))
