"""Small models for all tests of files of ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.idfiles import made
from tokctl import Tokenizer


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model files."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def models(models_folder: Path) -> dict[str, Tokenizer]:
    """Models by their names; their files are `models_folder/NAME.json`."""
    return made.models(models_folder)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, and a test's own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("TOKCTL_MODEL", raising=False)
    return here
