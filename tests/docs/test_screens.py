"""The pictures of tokctl at work are current, small and self-contained, and pages show them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style

from tests import systems
from tests.tools.docs import screens
from tests.tools.docs.tutorial import ROOT

SVG = "{http://www.w3.org/2000/svg}"
EVERY = pytest.mark.parametrize("name", screens.SCREENS)
#: Pages that show pictures, and what their addresses begin with there.
SHOWN_ON = {"README.md": "docs/pictures/", "docs/watch.md": "pictures/"}


@pytest.mark.slow
@EVERY
def test_it_is_current(name: str) -> None:
    systems.unix_module("termios")
    pytest.importorskip("textual", reason="the extra watch is not installed")
    held = (screens.FOLDER / name).read_text(encoding="utf-8")
    assert screens.SCREENS[name]() == held, "python -m tests.tools.docs.screens --write"


@pytest.mark.slow
def test_the_bytes_are_the_same_in_every_process() -> None:
    pytest.importorskip("textual", reason="the extra watch is not installed")
    code = "from tests.tools.docs import screens; print(screens.watch() + screens.word())"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": columns, "NO_COLOR": "1"},
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        for seed, columns in (("1", "40"), ("2", "200"))
    }
    assert len(drawn) == 1


@pytest.fixture
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs the extra `test-page`")
    if screens.BROWSER is None:
        pytest.skip("there is no Chromium on this machine")
    with driver.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=screens.BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.slow
def test_the_photograph_is_current(browser: Any) -> None:
    for needed in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(needed, reason="pages need the extra `report`")
    now, held = screens.photograph(browser), screens.PHOTOGRAPH.read_bytes()
    assert screens.difference(browser, held, now) < screens.ALIKE
    # The measure sees another page.
    opened = browser.new_page(viewport={"width": 1200, "height": 760})
    opened.set_content("<h1>Another page</h1>" + "<p>with other lines of text</p>" * 20)
    other = opened.screenshot(type="jpeg")
    assert screens.difference(browser, held, other) > 2 * screens.ALIKE


@EVERY
def test_it_needs_nothing_else_and_says_what_it_shows(name: str) -> None:
    text = (screens.FOLDER / name).read_text(encoding="utf-8")
    assert len(text.encode()) < 130_000
    assert not re.search(r"<script|href|url\(|@import|@font-face|\bon[a-z]+=|<image", text)
    root = ElementTree.fromstring(text)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text and description is not None
    assert len(description.text or "") > 80
    if "animation" in text:
        assert "prefers-reduced-motion: no-preference" in text


@EVERY
def test_nothing_is_cut_off(name: str) -> None:
    root = ElementTree.parse(screens.FOLDER / name).getroot()
    _, _, width, height = map(float, root.get("viewBox", "").split())
    rows = [group for group in root.iter(f"{SVG}g") if group.get("transform")]
    assert len(rows) > 20
    for row in rows:
        x, y = map(float, re.findall(r"[\d.]+", row.get("transform", "")))
        assert x >= screens.MARGIN and y <= height - 8
        for element in row:
            long = element.get("textLength") or element.get("width") or f"{screens.CELL}"
            assert x + float(element.get("x", "")) + float(long) <= width - 8


def test_the_photograph_is_small() -> None:
    held = screens.PHOTOGRAPH.read_bytes()
    assert held[:4] == b"RIFF" and held[8:12] == b"WEBP"
    assert len(held) < 150_000


def test_pages_show_all_of_them_and_say_what_they_show() -> None:
    shown = set()
    for page, folder in SHOWN_ON.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        for alt, name in re.findall(rf"!\[([^\]]+)\]\({folder}(\S+)\)", text):
            assert len(alt.split()) > 5
            shown.add(name)
    assert shown == {path.name for path in screens.FOLDER.iterdir()}
    assert shown == {*screens.SCREENS, screens.PHOTOGRAPH.name}


def test_a_line_is_drawn_the_same_however_it_was_put_together() -> None:
    bold, behind = Style(bold=True), Style(bgcolor="#112233")
    whole = [Segment(" ab", bold), Segment("cd<", behind)]
    parts = [Segment(" ", bold), Segment("a", bold), Segment("b", bold), Segment("", behind)]
    parts += [Segment("c", behind), Segment("d<", behind)]
    drawn = screens._drawn(whole, 2, screens._Styles("#000000"))
    assert drawn == screens._drawn(parts, 2, screens._Styles("#000000"))
    assert drawn == (
        f'<g transform="translate(16 {screens.TOP + 2 * screens.LINE})">'
        '<rect x="25.2" y="-14" width="25.2" height="19" fill="#112233"/>'
        '<text class="s0" x="8.4" textLength="16.8">ab</text>'
        '<text x="25.2" textLength="25.2">cd&lt;</text></g>'
    )


def test_a_stale_picture_is_named_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screens, "FOLDER", tmp_path / "pictures")
    monkeypatch.setattr(screens, "SCREENS", {"one.svg": lambda: "<svg/>"})
    monkeypatch.setattr(screens, "_write_photograph", lambda _: "")
    assert screens.main([]) == 1
    assert screens.main(["--write"]) == 0
    assert screens.main([]) == 0
    assert capsys.readouterr().out == "one.svg: stale\none.svg: written\n"
    assert (tmp_path / "pictures" / "one.svg").read_text() == "<svg/>"
