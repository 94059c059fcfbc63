"""What Windows and macOS do differently, as far as it shows on another system."""

from __future__ import annotations

import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from tokctl.core import files, systems
from tokctl.core import humanize as wording


def test_names_of_one_file_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = "Caf\u00e9.JSON", "cafe\u0301.json"
    if sys.platform == "linux":
        assert systems.real_path(one) != systems.real_path(other)
        monkeypatch.setattr(sys, "platform", "darwin")
    assert systems.real_path(other[:3].upper() + other[3:]) == systems.real_path(other)
    if sys.platform == "darwin":
        assert systems.real_path(one) == systems.real_path(other)
    assert systems.real_path("a.json") != systems.real_path("b.json")


@pytest.mark.parametrize(
    "name", ["..\\x", "C:x", "C:\\x", "a\\b", "a:b", "x/y", "..", ".", "", "\0"]
)
def test_no_way_out_of_a_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of files, such as a manifest, may come from anybody."""
    monkeypatch.setattr(files, "Path", PureWindowsPath)
    assert not files.is_plain_name(name)
    assert files.is_plain_name("shard-00000.bin")


def test_pages_name_no_folder_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "os", SimpleNamespace(sep="\\"))
    paths = ["C:\\Users\\me\\a.txt", "C:/Users/me/b\\c.txt", "hf:org/name"]
    assert wording.file_names(paths) == ["a.txt", "c.txt", "hf:org/name"]


def test_a_reader_that_has_gone_is_known_by_the_error_alone() -> None:
    assert systems.is_closed_pipe(BrokenPipeError())
    assert not systems.is_closed_pipe(FileNotFoundError(2, "none", str(Path("a"))))
