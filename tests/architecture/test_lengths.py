"""Files stay short enough to be read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "tokctl" / "native"
LONGEST = 400
#: A table made by tools/unicode_tables.py.
GENERATED = {"tokctl/native/core/src/unicode/categories.rs"}


def test_no_file_is_long() -> None:
    sources = [
        *(path for path in (ROOT / "tokctl").rglob("*.py") if "target" not in path.parts),
        *(path for crate in ("core", "python") for path in (NATIVE / crate).rglob("*.rs")),
        *(ROOT / "tests").rglob("*.py"),
    ]
    assert len(sources) > 500
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources
    }
    long = {file for file, lines in lengths.items() if lines > LONGEST}
    assert long - GENERATED == set()
