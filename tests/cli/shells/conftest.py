"""The tree of commands, and the scripts made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import shells


@pytest.fixture(scope="session")
def root() -> shells.ShellCommand:
    return shells.command_tree()


@pytest.fixture(scope="session")
def files() -> dict[str, str]:
    """All that an installation has for shells, by its path."""
    return shells.files()


@pytest.fixture(scope="session")
def prefix(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    made = tmp_path_factory.mktemp("prefix")
    for name, text in files.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text, encoding="utf-8")
    return made
