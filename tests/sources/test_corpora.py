"""The named corpora: what ships is what the manifest says, and a fetch keeps all or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tests.sources.made import nobody
from tokctl.core.errors import TokctlError
from tokctl.sources import corpora
from tokctl.sources.corpora import corpus_path, fetch_corpus, list_corpora

BOOK = b"It was a dark and stormy night.\r\n" * 5000
SHA256 = hashlib.sha256(BOOK).hexdigest()
OTHER_SHA256 = hashlib.sha256(BOOK[:-1] + b"!").hexdigest()
SHARED = Path(__file__).parents[2].parent / "shared"


def documents() -> dict[str, Any]:
    """The figures of the documents behind the project."""
    file = SHARED / "golden" / "documents.json"
    if not file.exists():
        pytest.skip("the folder `shared` is not beside this checkout")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def left_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("corpus", list_corpora(), ids=lambda corpus: corpus.name)
def test_manifest_tells_the_truth(corpus: corpora.Corpus) -> None:
    assert corpus.kind in {"bundled", "word-list", "download"}
    assert corpus.title
    assert corpus.licence
    if corpus.kind == "download":
        assert corpus.address is not None
        assert corpus.address.startswith("https://")
        return
    assert corpus.address is None
    data = corpus_path(corpus.name).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (corpus.bytes, corpus.sha256)


def test_every_shipped_file_is_named_once() -> None:
    listed = list_corpora()
    assert len({corpus.name for corpus in listed}) == len(listed)
    folder = corpus_path("sample").parent
    shipped = {path for path in folder.rglob("*") if path.suffix in {".txt", ".tsv"}}
    assert shipped == {corpus.path for corpus in listed if corpus.kind != "download"}


def test_sample_is_a_clean_text() -> None:
    data = corpus_path("sample").read_bytes()
    text = data.decode("utf-8")
    assert len(data) >= 30_000
    assert b"\r" not in data
    assert text.endswith("\n")
    assert not text.startswith("\ufeff")
    assert "�" not in text
    long = [part for part in text.split("\n\n") if len(part) > 80]
    assert len(set(long)) == len(long)  # nothing is repeated to fill the page
    lower = text.lower()
    for family in ("light lighter lamplighter lighthouse unlit", "sail sailor sailmaker mainsail"):
        assert all(word in lower for word in family.split())


@pytest.mark.parametrize(
    ("name", "key"), [("guide-cats", "guide_cats"), ("slides-hug", "slides_hug")]
)
def test_word_lists_are_the_documents(name: str, key: str) -> None:
    expected = documents()[key]["words"]
    lines = corpus_path(name).read_text(encoding="utf-8").splitlines()
    assert [line.split("\t") for line in lines] == [[w, str(n)] for w, n in expected.items()]


def test_one_line_text_is_the_notebook() -> None:
    expected = documents()["notebook_bpe_toy"]["document"]
    assert corpus_path("low-lower-newest").read_bytes() == f"{expected}\n".encode()


def test_the_book_is_the_one_in_the_documents() -> None:
    documents()
    book = (SHARED / "corpora" / "treasure-island.txt").read_bytes()
    listed = {corpus.name: corpus for corpus in list_corpora()}["treasure-island"]
    assert (listed.bytes, listed.sha256) == (len(book), hashlib.sha256(book).hexdigest())


def test_unknown_name() -> None:
    for ask in (corpus_path, fetch_corpus):
        with raises_code("unknown-name", "no corpus is named 'treasure_island'") as caught:
            ask("treasure_island")
        assert caught.value.hint == "did you mean treasure-island?"
        with raises_code("unknown-name") as caught:
            ask("zzzz")
        assert str(caught.value.hint).startswith("known: sample, guide-cats, ")


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path / "home"))
    for name in ("TOKCTL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert corpora.cache_folder() == tmp_path / "home" / ".cache" / "tokctl"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert corpora.cache_folder() == tmp_path / "home" / ".cache" / "tokctl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert corpora.cache_folder() == tmp_path / "xdg" / "tokctl"
    monkeypatch.setenv("TOKCTL_CACHE", str(tmp_path / "own"))
    assert corpora.cache_folder() == tmp_path / "own"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and a manifest that lists one shipped file, one lost, and one book."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "here.txt").write_bytes(b"here\n")
    common = {"title": "t", "licence": "Apache-2.0", "bytes": 5, "sha256": "0" * 64}
    book = {"bytes": len(BOOK), "sha256": SHA256, "address": "http://127.0.0.1:1/nobody-listens"}
    entries = [
        {**common, "name": "here", "kind": "bundled", "file": "here.txt"},
        {**common, "name": "lost", "kind": "bundled", "file": "lost.txt"},
        {**common, "name": "book", "kind": "download", **book},
    ]
    (data / "manifest.json").write_text(json.dumps({"corpora": entries}))
    monkeypatch.setattr(corpora, "_data_folder", lambda: data)
    monkeypatch.setenv("TOKCTL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = BOOK[:-1] + b"!" if self.path == "/other" else BOOK
        self.send_response(404 if self.path == "/missing" else 200)
        if self.path != "/endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # where the client goes away, as it should
            self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)
            while self.path == "/endless":
                self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the tests quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server on this machine."""
    pytest.importorskip("pooch")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_fetch_keeps_the_whole_file(cache: Path, server: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = fetch_corpus("book", address=f"{server}/good", progress=lambda *now: seen.append(now))
    assert path.read_bytes() == BOOK
    assert left_in(cache) == [path]
    assert seen == sorted(seen)
    assert seen[-1] == (len(BOOK), len(BOOK))
    # From here on nothing is asked of the network: nobody listens at the manifest's address.
    assert fetch_corpus("book") == corpus_path("book") == path
    assert [corpus.path for corpus in list_corpora() if corpus.name == "book"] == [path]
    other = fetch_corpus("book", cache=tmp_path / "other", address=f"{server}/good")
    assert left_in(tmp_path / "other") == [other]
    assert corpus_path("book", cache=tmp_path / "other") == other


@pytest.mark.parametrize(
    ("place", "says", "hint"),
    [
        ("/other", f"expected sha256 {SHA256} .* got {OTHER_SHA256} .*nothing was kept", "re-iss"),
        ("/endless", "is not the file that tokctl knows as book", "re-issues its files"),
        ("/missing", "the server answered 404 Not Found", "check the network"),
        ("/cut", "the connection failed or was cut", "check the network"),
    ],
)
def test_a_bad_answer_leaves_nothing(
    cache: Path, server: str, place: str, says: str, hint: str
) -> None:
    with pytest.raises(TokctlError, match=says) as caught:
        fetch_corpus("book", address=server + place)
    assert server + place in caught.value.message
    assert hint in str(caught.value.hint)
    assert left_in(cache) == []


def test_no_server(cache: Path) -> None:
    pytest.importorskip("pooch")
    with nobody() as closed:
        for address in (f"http://{closed}/book.txt", "ftp://127.0.0.1/book.txt", "book.txt"):
            with raises_code("unreadable"):
                fetch_corpus("book", address=address)
    assert left_in(cache) == []


def test_a_damaged_copy_is_replaced_only_by_a_good_one(cache: Path, server: str) -> None:
    path = fetch_corpus("book", address=f"{server}/good")
    path.write_bytes(b"damaged")
    with raises_code("unreadable"):
        corpus_path("book")
    with raises_code("unreadable"):
        fetch_corpus("book", address=f"{server}/cut")
    assert path.read_bytes() == b"damaged"
    assert fetch_corpus("book", address=f"{server}/good").read_bytes() == BOOK
    assert left_in(cache) == [path]


def test_a_stop_in_the_middle_leaves_nothing(cache: Path, server: str) -> None:
    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_corpus("book", address=f"{server}/good", progress=stop)
    assert left_in(cache) == []


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.write_bytes(b"a file where the folder should be")
    with raises_code("unreadable") as caught:
        fetch_corpus("book")
    assert "TOKCTL_CACHE" in str(caught.value.hint)


def test_without_pooch(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with raises_code("missing-package") as caught:
        fetch_corpus("book")
    assert caught.value.hint == "pip install 'tokctl[fetch]'"
    assert left_in(cache) == []


def test_offline(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    here, lost, book = list_corpora()
    assert lost.path is book.path is None
    assert fetch_corpus("here") == corpus_path("here") == here.path
    with pytest.raises(TokctlError) as caught:
        corpus_path("book")
    assert caught.value.hint == "run `tokctl corpora fetch book`"
    for ask in (corpus_path, fetch_corpus):
        with raises_code("unreadable") as caught:
            ask("lost")
        assert caught.value.hint == "reinstall tokctl"
    assert not cache.exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"corpora": [{"name": "x"}]}', '{"corpora": 3}'])
def test_a_damaged_manifest(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(corpora, "_data_folder", lambda: tmp_path)
    (tmp_path / "manifest.json").write_text(text)
    with raises_code("damaged", r"can't read .*manifest\.json"):
        list_corpora()
