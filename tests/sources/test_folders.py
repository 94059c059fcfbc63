"""Folders, patterns, and names of any bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.sources.made import COMPRESS, read
from tokctl.core.errors import TokctlError
from tokctl.sources import Document, ReadOptions, open_sources
from tokctl.sources.folders import Pattern

TREE = (
    "b.txt",
    "a.md",
    "A.txt",
    "a/z.txt",
    "a/y.md",
    "a/deep/x.md",
    "a-b.txt",
    "node_modules/c/index.js",
    ".hidden.md",
    ".git/config",
    ".github/workflows/ci.md",
    "a/.env",
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in TREE:
        path = tmp_path / "d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path / "d"


def names(path: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> list[str]:
    """The files that are read, in order; each holds its own name."""
    found = read(path, ReadOptions(include=include, exclude=exclude))
    assert all(name.replace(os.sep, "/").endswith(texts[0].decode()) for name, texts in found)
    return [texts[0].decode() for _, texts in found]


EVERY = ["A.txt", "a-b.txt", "a.md", "a/deep/x.md", "a/y.md", "a/z.txt", "b.txt"]


@pytest.mark.parametrize("path", ["d", "d/", "./d", "d/../d"])
def test_all_that_is_not_hidden(tree: Path, path: str) -> None:
    assert names(path) == [*EVERY, "node_modules/c/index.js"]
    assert names(str(tree)) == names(path)


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("*.md",), (), ["a.md", "a/deep/x.md", "a/y.md"]),
        (("*.md", "*.js"), (), ["a.md", "a/deep/x.md", "a/y.md", "node_modules/c/index.js"]),
        (("a/*.md",), (), ["a/y.md"]),
        (("a/**/*.md",), (), ["a/deep/x.md", "a/y.md"]),
        (("./a/**",), (), ["a/deep/x.md", "a/y.md", "a/z.txt"]),
        (("**/*.md",), (), ["a.md", "a/deep/x.md", "a/y.md"]),
        (("**/deep/**",), (), ["a/deep/x.md"]),
        (("[ab].*",), (), ["a.md", "b.txt"]),
        (("?.txt",), (), ["A.txt", "a/z.txt", "b.txt"]),
        ((".*",), (), [".hidden.md", "a/.env"]),
        ((".env", "b.txt"), (), ["a/.env", "b.txt"]),
        ((".github/**",), (), [".github/workflows/ci.md"]),
        ((".github/**/*.md", "*.js"), (), [".github/workflows/ci.md", "node_modules/c/index.js"]),
        ((), ("node_modules",), EVERY),
        ((), ("node_modules/**",), EVERY),
        ((), ("*.md", "*.js"), ["A.txt", "a-b.txt", "a/z.txt", "b.txt"]),
        ((), ("a/deep",), [n for n in EVERY if "deep" not in n] + ["node_modules/c/index.js"]),
        (("*.md",), ("a/*",), ["a.md"]),
        ((".*",), (".e*",), [".hidden.md"]),
        ((".*",), ("*.md",), ["a/.env"]),
    ],
)
def test_patterns(
    tree: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]
) -> None:
    assert names(str(tree), include, exclude) == expected


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "*", "**", "?", ".a", "a*"]), min_size=2),
    path=st.lists(st.sampled_from(["a", "b", "ab", ".a"]), min_size=1, max_size=6),
    dots=st.booleans(),
)
def test_patterns_against_the_definition(pattern: list[str], path: list[str], dots: bool) -> None:
    def part(one: str, name: str) -> bool:
        if name.startswith(".") and not one.startswith(".") and not dots:
            return False
        if one == "?":
            return len(name) == 1
        return name.startswith(one[:-1]) if one.endswith("*") else one == name

    def fits(rest: list[str], names: list[str]) -> bool:
        if not rest:
            return not names
        if rest[0] == "**":
            free = names and (dots or not names[0].startswith("."))
            return fits(rest[1:], names) or bool(free and fits(rest, names[1:]))
        return bool(names) and part(rest[0], names[0]) and fits(rest[1:], names[1:])

    ours = Pattern("/".join(pattern), dots=dots)
    assert ours.fits(path) == fits(pattern, path)
    if ours.fits(path):
        assert all(ours.may_fit_below(path[:end]) for end in range(1, len(path)))


@pytest.mark.usefixtures("tree")
def test_a_folder_without_files_to_read(tmp_path: Path) -> None:
    with raises_code("bad-input", "d has no file to read: 12 files in it, none of them"):
        names("d", ("*.py",))
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    with raises_code("bad-input"):
        names("empty")
    (tmp_path / "empty" / ".x").touch()
    with raises_code("bad-input", "1 file in it, none of them wanted") as caught:
        names("empty")
    assert "--include" in str(caught.value.hint)


@systems.symlinks
@systems.named_pipes
def test_links_and_loops(tree: Path) -> None:
    (tree / "a" / "loop").symlink_to("..")
    (tree / "link.md").symlink_to("a/y.md")
    os.mkfifo(tree / "pipe")
    found = dict(read("d", ReadOptions(include=("*.md",))))
    assert found["d/link.md"] == [b"a/y.md"]
    assert list(found) == ["d/a.md", "d/a/deep/x.md", "d/a/y.md", "d/link.md"]
    assert [name for name, _ in read("d/**/*.md")] == list(found)
    (tree / "gone.txt").symlink_to("nowhere")
    with raises_code("unreadable", r"can't read d/gone\.txt: No such file"):
        names("d")
    assert names("d", exclude=("gone.*", "link.md", "*.js")) == EVERY


@systems.kept_out
def test_a_folder_that_cannot_be_listed(tree: Path) -> None:
    (tree / "a").chmod(0)
    try:
        with pytest.raises(TokctlError, match="can't read d/a: Permission denied"):
            names("d")
    finally:
        (tree / "a").chmod(0o700)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("d/*.txt", ["A.txt", "a-b.txt", "b.txt"]),
        ("d/**/*.md", ["a.md", "a/deep/x.md", "a/y.md"]),
        ("d/**/deep/*", ["a/deep/x.md"]),
        ("d/a/**", ["a/deep/x.md", "a/y.md", "a/z.txt"]),
        ("**/[xy].md", ["a/deep/x.md", "a/y.md"]),
        ("d/.h*", [".hidden.md"]),
        ("d/.git*/*/*", [".github/workflows/ci.md"]),
        ("d/a/*.md", ["a/y.md"]),
        ("d/?", ["a/deep/x.md", "a/y.md", "a/z.txt"]),
        ("d/**/**/x.md", ["a/deep/x.md"]),
        ("./d/a/../*.md", ["a.md"]),
    ],
)
def test_patterns_that_no_shell_expanded(tree: Path, pattern: str, expected: list[str]) -> None:
    assert names(pattern) == expected
    assert names(f"{tree.parent}/{pattern}") == expected


@systems.any_name
def test_patterns_without_a_match_and_names_like_patterns(tree: Path) -> None:
    for pattern in ("d/*.py", "nowhere/*", "d/**/none*", "d/b.txt/*", "[", "d/[z"):
        with raises_code("unreadable"):
            names(pattern)
    (tree / "what[1]?.txt").write_bytes(b"what[1]?.txt")
    assert names("d/what[1]?.txt") == ["what[1]?.txt"]
    assert names("d/what[[]1]*") == ["what[1]?.txt"]


@systems.any_name
def test_names_of_any_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wild = [b"-dash", b"\xff\xfe.txt", b"new\nline", b"\xc3\xa9", b" space ", b"*", b"a\tb"]
    (tmp_path / "d").mkdir()
    for name in wild:
        (tmp_path / "d" / os.fsdecode(name)).write_bytes(name)
    found = [texts[0] for _, texts in read("d")]
    assert found == sorted(wild)
    for name in wild:
        assert read(f"d/{os.fsdecode(name)}")[0][1] == [name]
    os.chdir("d")
    assert read("-dash") == [("-dash", [b"-dash"])]
    (tmp_path / "d" / os.fsdecode(b"\xff.gz")).write_bytes(COMPRESS["gz"](b"x" * 99)[:-1])
    with raises_code("damaged", r"\\udcff\.gz is cut short"):
        read(os.fsdecode(b"\xff.gz"))


def test_each_file_is_read_as_it_would_be_alone(tree: Path) -> None:
    (tree / "c.jsonl").write_bytes(b'{"text": "one"}\n{"text": "two"}')
    (tree / "d.gz").write_bytes(COMPRESS["gz"](b"gz"))
    found = dict(read("d", ReadOptions(include=("c.*", "d.*"))))
    assert found == {"d/c.jsonl": [b"one", b"two"], "d/d.gz": [b"gz"]}
    raw = dict(read("d", ReadOptions("raw", include=("c.*", "d.*"))))
    assert raw["d/d.gz"] == [(tree / "d.gz").read_bytes()]
    as_lines = read("d/c.jsonl", ReadOptions("text"))
    assert as_lines == [("d/c.jsonl", [(tree / "c.jsonl").read_bytes()])]


@pytest.mark.slow
def test_ten_thousand_files(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for part in range(100):
        (folder / f"{part:02}").mkdir(parents=True)
        for number in range(100):
            (folder / f"{part:02}" / f"{number:02}.txt").write_bytes(b"%d %d\n" % (part, number))
    opened = open_sources([folder])
    assert len(opened) == 10_000
    assert [source.size for source in opened[:3]] == [4, 4, 4]
    assert all(isinstance(source, Document) for source in opened)
    data = b"".join(block for source in opened for block in source.blocks())  # type: ignore[union-attr]
    assert data == b"".join(b"%d %d\n" % (a, b) for a in range(100) for b in range(100))
