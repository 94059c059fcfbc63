"""The same documents in every form that tokctl reads: each gives the arguments that name them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest


class Given(NamedTuple):
    """What a command gets: arguments, and stdin where it comes from there."""

    arguments: list[str]
    stdin: bytes | None = None


Form = Callable[[Path, Sequence[str]], Given]


def _files(
    folder: Path, documents: Sequence[str], pack: Callable[[bytes], bytes] = bytes, end: str = ""
) -> list[str]:
    names = []
    for number, text in enumerate(documents):
        path = folder / f"{number:04}.txt{end}"
        path.write_bytes(pack(text.encode()))
        names.append(str(path))
    return names


def files(folder: Path, documents: Sequence[str]) -> Given:
    return Given(_files(folder, documents))


def _zstd(data: bytes) -> bytes:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from backports import zstd
    packed: bytes = zstd.compress(data)
    return packed


#: By magic bytes, not by name: the files are called otherwise.
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": _zstd,
}


def packed(name: str) -> Form:
    def form(folder: Path, documents: Sequence[str]) -> Given:
        return Given(_files(folder, documents, PACKERS[name]))

    return form


def folder_of_files(folder: Path, documents: Sequence[str]) -> Given:
    """With folders in it, whose order is that of their names; and files to leave out."""
    for number, text in enumerate(documents):
        path = folder / f"part-{number // 10}" / f"{number:04}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    (folder / "part-0" / "0000.png").write_bytes(b"\x89PNG\xff")
    (folder / ".hidden.txt").write_text("never read")
    return Given([str(folder), "--include", "*.txt", "--include", "*.md", "--exclude", "*.png"])


def pattern(folder: Path, documents: Sequence[str]) -> Given:
    _files(folder, documents)
    return Given([f"{folder}/[0-9]*.txt"])


def files_from(folder: Path, documents: Sequence[str]) -> Given:
    names = _files(folder, documents)
    (folder / "list").write_text("".join(f"{name}\n" for name in names))
    return Given(["--files-from", str(folder / "list")])


def files0_from_stdin(folder: Path, documents: Sequence[str]) -> Given:
    names = _files(folder, documents)
    return Given(["--files0-from", "-"], "".join(f"{name}\0" for name in names).encode())


def tar(mode: str) -> Form:
    def form(folder: Path, documents: Sequence[str]) -> Given:
        path = folder / "texts.archive"
        with tarfile.open(path, f"w:{mode}") as archive:
            for number, text in enumerate(documents):
                member = tarfile.TarInfo(f"texts/{number:04}.txt")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        return Given([str(path)])

    return form


def tar_from_stdin(folder: Path, documents: Sequence[str]) -> Given:
    (path,) = tar("gz")(folder, documents).arguments
    return Given(["-"], Path(path).read_bytes())


def _json_lines(documents: Sequence[str], field: str) -> bytes:
    rows = [{"id": number, field: text} for number, text in enumerate(documents)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def json_lines(folder: Path, documents: Sequence[str]) -> Given:
    (folder / "texts.jsonl").write_bytes(_json_lines(documents, "text"))
    return Given([str(folder / "texts.jsonl")])


def json_lines_zstd(folder: Path, documents: Sequence[str]) -> Given:
    (folder / "texts.jsonl.zst").write_bytes(_zstd(_json_lines(documents, "body")))
    return Given([str(folder / "texts.jsonl.zst"), "--text-field", "body"])


def json_lines_stdin(_: Path, documents: Sequence[str]) -> Given:
    return Given(["--text-field", "body"], gzip.compress(_json_lines(documents, "body")))


def parquet(folder: Path, documents: Sequence[str]) -> Given:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"id": list(range(len(documents))), "text": list(documents)})
    pq.write_table(table, folder / "texts.table", row_group_size=7)
    return Given([str(folder / "texts.table")])


def parquet_stdin(folder: Path, documents: Sequence[str]) -> Given:
    (path,) = parquet(folder, documents).arguments
    return Given(["--format", "parquet"], Path(path).read_bytes())


def arrow(kind: str) -> Form:
    def form(folder: Path, documents: Sequence[str]) -> Given:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"body": pa.array(documents, pa.large_string())})
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with new(folder / "texts.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=9)
        return Given([str(folder / "texts.arrow"), "--text-field", "body"])

    return form


def dataset(folder: Path, documents: Sequence[str]) -> Given:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"text": list(documents)})
    made.save_to_disk(folder / "dataset", num_shards=3)
    return Given([str(folder / "dataset")])


def tsv(folder: Path, documents: Sequence[str]) -> Given:
    """Only for documents without line feeds."""
    lines = "".join(f"{text}\t1\n" for text in documents)
    (folder / "texts.tsv").write_text(lines, encoding="utf-8", newline="")
    return Given([str(folder / "texts.tsv"), "--format", "tsv"])


FORMS: dict[str, Form] = {
    "files": files,
    **{name: packed(name) for name in PACKERS},
    "folder": folder_of_files,
    "glob": pattern,
    "files-from": files_from,
    "files0-from, stdin": files0_from_stdin,
    "tar": tar(""),
    "tar.gz": tar("gz"),
    "tar.xz": tar("xz"),
    "tar, stdin": tar_from_stdin,
    "JSON Lines": json_lines,
    "JSON Lines, zstd": json_lines_zstd,
    "JSON Lines, stdin": json_lines_stdin,
    "Parquet": parquet,
    "Parquet, stdin": parquet_stdin,
    "Arrow file": arrow("file"),
    "Arrow stream": arrow("stream"),
    "Hugging Face dataset": dataset,
}
