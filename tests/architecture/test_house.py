"""Which folder may import which, and which names are unique: read off the code by `house.py`."""

from __future__ import annotations

import ast

import pytest

from tests.tools.house import (
    ROOT,
    circles,
    class_names,
    folder,
    folder_edges,
    graph,
    modules,
    names_defined_twice,
)

#: From the bottom up. A folder imports what stands before it, never what stands behind it;
#: imports inside functions and for types alone count.
ROOMS = (
    *("core", "_native", "model", "sources", "formats", "training", "tokenizer", "idfiles"),
    *("analysis", "report"),
    "extras",
    *("extras.arrow", "extras.dask", "extras.datatrove", "extras.ray", "extras.spark"),
    *("extras.chat", "extras.compat", "extras.adapt", "extras.course", "extras.recommend"),
    *("extras.suite", "extras.page", "extras.watch"),
    "cli",
)


def test_every_folder_has_its_place() -> None:
    assert {folder(name) for name in modules()} - {"", "__main__"} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_down(room: str) -> None:
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    against = {
        f"{name} -> {other}"
        for name, others in graph().items()
        if folder(name) == room
        for other in others
        if folder(other) in above
    }
    assert not against


def test_folders_form_no_circle() -> None:
    assert circles(folder_edges()) == []


def test_class_names_are_unique() -> None:
    repeated = {name for name, count in class_names().items() if count > 1}
    assert not repeated


def test_every_test_can_be_imported_on_every_system() -> None:
    """What needs a system is skipped there: a module of Unix alone is imported by who uses it."""
    of_unix = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
    found = {
        f"{path.relative_to(ROOT)}: {each.name}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.Import)
        for each in node.names
        if each.name in of_unix
    }
    assert found == set()


def test_a_module_gives_a_name_once() -> None:
    assert names_defined_twice() == []
