"""docs/watch.md tells of every key, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.explain import models
from tokctl.extras.watch.keys import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "watch.md").read_text(encoding="utf-8")


def test_the_page_has_the_keys_that_there_are() -> None:
    table = re.findall(r"^\| (`.*) \| (.*) \|$", PAGE, flags=re.MULTILINE)
    shown = [(keys.replace("`", ""), what) for keys, what in table]
    assert shown == [(key.shown, key.what) for key in KEYS]


def test_every_key_does_something_of_its_own() -> None:
    pytest.importorskip("textual", reason="the extra watch is not installed")
    from tokctl.extras.watch.app import WatchApp

    keys = [name for key in KEYS for name in key.keys.split(",")]
    assert len(set(keys)) == len(keys)
    bound = [(binding.key, binding.action) for binding in WatchApp.BINDINGS]  # type: ignore[union-attr]
    assert bound == [(key.keys, key.action) for key in KEYS]
    for key in KEYS:
        name = key.action.partition("(")[0]
        assert callable(getattr(WatchApp, f"action_{name}"))


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = models.model("end")
    model.save(tmp_path / "book.json")
    (tmp_path / "book.txt").write_text(models.TEXT, encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(example.replace("goto(120)", "goto(12)"), names)
    frame = names["frame"]
    assert frame.step == 12  # type: ignore[attr-defined]
    assert frame.merge.token == model.tokens[model.merges[11].token]  # type: ignore[attr-defined]
