"""The commands over the named texts; nothing here uses the network."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.cli.run import error, tokctl
from tokctl.sources import corpora


@pytest.fixture(autouse=True)
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TOKCTL_CACHE", str(folder / "cache"))
    return folder / "cache"


def test_list_is_tab_separated_when_piped() -> None:
    done = tokctl("corpora", "list")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.decode().splitlines()]
    known = corpora.list_corpora()
    assert [row[0] for row in rows] == [corpus.name for corpus in known]
    assert rows == [
        [c.name, c.kind, str(c.bytes), str(c.path) if c.path else "", c.title] for c in known
    ]


def test_list_is_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    plain = tokctl("corpora", "list", stdout_is_terminal=True, environ={"NO_COLOR": "1"})
    lines = plain.out.decode().splitlines()
    assert lines[0].split() == ["name", "bytes", "here", "what", "it", "is"]
    assert lines[1].startswith("sample             42,536  yes    The Lamplighter")
    assert b"\x1b" not in plain.out
    assert b"\x1b[1m" in tokctl("corpora", "list", stdout_is_terminal=True).out


def test_json() -> None:
    done = tokctl("corpora", "list", "--json")
    facts = orjson.loads(done.out)
    assert [entry["name"] for entry in facts] == [c.name for c in corpora.list_corpora()]
    assert tokctl("corpora", "path", "sample", "--json").out == orjson.dumps(facts[0]) + b"\n"
    assert list(facts[0]) == [
        "name", "title", "kind", "path", "address", "bytes", "sha256", "licence"
    ]  # fmt: skip


def test_path() -> None:
    done = tokctl("corpora", "path", "sample")
    assert done == (0, f"{corpora.corpus_path('sample')}\n".encode(), "")
    assert tokctl("corpora", "fetch", "sample") == done


def test_fetch_prints_the_path(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(name: str, *, progress: corpora.Progress) -> Path:
        progress(5, 10)
        progress(10, 10)
        return cache / f"{name}.txt"

    monkeypatch.setattr(corpora, "fetch_corpus", fake)
    done = tokctl("corpora", "fetch", "treasure-island")
    assert done == (0, f"{cache / 'treasure-island.txt'}\n".encode(), "")


def test_errors() -> None:
    unknown = error("no corpus is named 'sampel'", "did you mean sample?")
    for command in ("path", "fetch"):
        assert tokctl("corpora", command, "sampel") == (2, b"", unknown)
    hint = "run `tokctl corpora fetch treasure-island`"
    absent = error("treasure-island: not fetched, or damaged", hint)
    assert tokctl("corpora", "path", "treasure-island") == (2, b"", absent)
    assert tokctl("corpora", "nosuch") == (
        2, b"", error("no such command 'nosuch'", "see: tokctl corpora --help")
    )  # fmt: skip
