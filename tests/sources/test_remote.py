"""Texts at addresses: `memory://`, and a server on this machine."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.errors import raises_code
from tests.sources.made import COMPRESS, nobody, read, records
from tokctl.core.errors import TokctlError
from tokctl.sources import ReadOptions, flat, open_sources
from tokctl.sources.remote import is_address, without_secrets

fsspec = pytest.importorskip("fsspec")

TEXT = b"".join(b"%d bottles of rum\n" % n for n in range(100_000))
LINES = b"".join(json.dumps({"text": str(n)}).encode() + b"\n" for n in range(10))


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    files = {
        "/d/b.txt": TEXT,
        "/d/a.jsonl.zst": COMPRESS["zst"](LINES),
        "/d/deep/c.gz": COMPRESS["gz"](TEXT),
        "/d/deep/.hidden": b"hidden",
        "/d/z[1].md": b"z",
    }
    for name, data in files.items():
        system.pipe_file(name, data)
    yield system
    system.rm("/d", recursive=True)


def found(address: str, reading: ReadOptions | None = None) -> dict[str, int]:
    return {name: len(texts) for name, texts in read(address, reading or ReadOptions())}


@pytest.mark.usefixtures("memory")
def test_files_folders_and_patterns() -> None:
    assert read("memory://d/b.txt") == [("memory://d/b.txt", [TEXT])]
    (source,) = open_sources(["memory://d/deep/c.gz"])
    for _ in range(2):
        assert b"".join(source.blocks()) == TEXT  # type: ignore[union-attr]
    assert source.tell is not None and source.tell() == source.size == len(COMPRESS["gz"](TEXT))
    assert not source.prompt
    names = ["memory:///d/a.jsonl.zst", "memory:///d/b.txt", "memory:///d/deep/c.gz"]
    every = found("memory://d")
    assert [name.replace(":///", "://") for name in every] == [
        name.replace(":///", "://") for name in [*names, "memory:///d/z[1].md"]
    ]
    assert list(every.values()) == [10, 1, 1, 1]
    assert len(found("memory://d/", ReadOptions(include=("*.gz", ".hid*")))) == 2
    assert len(found("memory://d", ReadOptions(exclude=("deep",)))) == 3
    assert list(found("memory://d/*.txt")) == [n for n in every if n.endswith("b.txt")]
    assert len(found("memory://d/**/*.gz")) == 1
    assert len(found("memory://d/**")) == 5  # a pattern says itself what is hidden
    assert len(found("memory://d/z[1].md")) == 1


def test_what_is_wrong(memory: Any) -> None:
    with raises_code("unreadable"):
        open_sources(["memory://d/none"])
    with raises_code("unreadable", r"no file matches memory://d/\*\.py"):
        open_sources(["memory://d/*.py"])
    with raises_code("bad-input", "memory://d has no file to read: 5 files in it"):
        open_sources(["memory://d"], ReadOptions(include=("*.py",)))
    with raises_code("unreadable"):
        open_sources(["no://x"])
    memory.pipe_file("/d/cut.gz", COMPRESS["gz"](TEXT)[:-5])
    (source,) = open_sources(["memory://d/cut.gz"])
    with raises_code("damaged", r"memory://d/cut\.gz is cut short"):
        list(source.blocks())  # type: ignore[union-attr]
    memory.rm("/d/cut.gz")
    with raises_code("unreadable", r"cut\.gz: there is no such file"):
        list(source.blocks())  # type: ignore[union-attr]


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for address, package in (("s3://bucket/a", "s3fs"), ("gs://bucket/a", "gcsfs")):
        with pytest.raises(TokctlError, match=f"{address}: fsspec needs a package") as caught:
            open_sources([address])
        assert caught.value.hint == f"pip install {package}"
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with raises_code("missing-package") as caught:
        open_sources(["s3://bucket/a"])
    assert caught.value.hint == "pip install 'tokctl[remote]'"


def test_addresses_and_what_is_shown_of_them() -> None:
    assert is_address("s3://a") and is_address("HTTPS://a") and is_address("simplecache::s3://a")
    for name in ("a.txt", "./s3://a", "/s3://", "a b://c", "://", "1a://"):
        assert not is_address(name)
    assert without_secrets("https://me:secret@host/a.txt?token=secret#x") == "https://host/a.txt"
    assert without_secrets("s3://key:se/cret@bucket/a") == "s3://key:se/cret@bucket/a"
    assert "secret" not in without_secrets(
        "401, url='https://u:secret@h/a?k=secret', (s3://h?secret)"
    )


class _Answer(BaseHTTPRequestHandler):
    files: dict[str, bytes] = {}  # noqa: RUF012

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        data = TEXT if path == "/cut.txt" else self.files.get(path)
        status = 403 if path == "/forbidden" else 404 if data is None else 200
        self.send_response(status)
        data = data or b"nothing here"
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            self.send_header("Content-Encoding", "gzip")
            data = COMPRESS["gz"](data)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            with contextlib.suppress(OSError):
                self.wfile.write(data[: len(data) // 2] if path == "/cut.txt" else data)

    def log_message(self, *args: object) -> None:
        """Keep the tests quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server on this machine."""
    pytest.importorskip("aiohttp")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    files = {"/a.txt": TEXT, "/b.jsonl": LINES, "/c": COMPRESS["xz"](TEXT), "/b.jsonl.gz": b""}
    files["/b.jsonl.gz"] = COMPRESS["gz"](LINES)
    files["/d/"] = b'<a href="two.txt">2</a> <a href="one.txt">1</a> <a href="x.md">x</a>'
    files |= {"/d/one.txt": b"one", "/d/two.txt": b"two", "/d/x.md": b"x"}
    monkeypatch.setattr(_Answer, "files", files)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_http(server: str) -> None:
    address = f"http://{server}"
    assert read(f"{address}/a.txt") == [(f"{address}/a.txt", [TEXT])]
    assert read(f"{address}/c") == [(f"{address}/c", [TEXT])]
    for name in ("b.jsonl", "b.jsonl.gz"):
        (source,) = open_sources([f"{address}/{name}"])
        assert records(source) == [b"%d" % n for n in range(10)]
        assert source.tell() == source.size  # type: ignore[misc]
    assert read(f"{address}/a.txt?v=1&key=secret") == [(f"{address}/a.txt", [TEXT])]
    expected = [(f"{address}/d/{name}.txt", [name.encode()]) for name in ("one", "two")]
    assert read(f"{address}/d/*.txt") == expected
    with raises_code("unreadable"):
        read(f"{address}/d/*.py")
    assert read(f"{address}/d/") == [(f"{address}/d/", [_Answer.files["/d/"]])]
    assert len(list(flat(open_sources([f"{address}/a.txt", f"{address}/b.jsonl"])))) == 2


def test_http_errors_name_the_address_and_no_secret(server: str) -> None:
    secret = f"http://me:pass-word@{server}"
    for path in ("/none", "/forbidden"):
        with pytest.raises(TokctlError) as caught:
            read(f"{secret}{path}?key=to-ken")
        assert f"http://{server}{path}" in caught.value.message
        assert "pass-word" not in str(caught.value) and "to-ken" not in str(caught.value)
    with pytest.raises(TokctlError, match=rf"http://{server}/cut\.txt") as caught:
        read(f"{secret}/cut.txt?key=to-ken")
    assert "pass-word" not in str(caught.value) and "to-ken" not in str(caught.value)
    with nobody() as closed, pytest.raises(TokctlError, match=f"can't read http://{closed}/a"):
        read(f"http://{closed}/a")


def test_a_table_at_an_address(memory: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(pa.table({"text": ["a", "b"]}), out)
    memory.pipe_file("/d/t", out.getvalue())
    (source,) = open_sources(["memory://d/t"])
    assert [records(source) for _ in range(2)] == [[b"a", b"b"]] * 2
