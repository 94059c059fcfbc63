"""Files stay short enough to be read."""

from __future__ import annotations

from pathlib import Path

import tokctl

PACKAGE = Path(tokctl.__file__).parent
LONGEST = 400
#: Made by tools/unicode_tables.py.
GENERATED = {"native/core/src/unicode/categories.rs", "native/core/src/unicode/tables.rs"}


def test_no_file_is_long() -> None:
    sources = [
        *(path for path in PACKAGE.rglob("*.py") if "target" not in path.parts),
        *(PACKAGE / "native" / "core").rglob("*.rs"),
        *(PACKAGE / "native" / "python").rglob("*.rs"),
    ]
    assert len(sources) > 100
    lengths = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources
    }
    long = {file for file, lines in lengths.items() if lines > LONGEST}
    assert long - GENERATED == set()
