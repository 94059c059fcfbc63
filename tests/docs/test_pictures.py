"""The tutorial's pictures are what the code gives now, can be read by everybody, and are shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tools.docs import pictures
from tests.tools.docs.tutorial import BOOK, FOLDER, PAGES, ROOT

SVG = "{http://www.w3.org/2000/svg}"
EVERY = pytest.mark.parametrize("name", pictures.PICTURES)


def root_of(name: str) -> ElementTree.Element:
    return ElementTree.parse(pictures.path_of(name)).getroot()


@pytest.mark.few(5)
@EVERY
def test_it_is_current(name: str) -> None:
    if name in pictures.OF_THE_BOOK and not BOOK.exists():
        pytest.skip(f"{BOOK.name} is not here: it lies beside the project's own checkouts only")
    held = pictures.path_of(name).read_text(encoding="utf-8")
    assert pictures.PICTURES[name]() == held, "python -m tests.tools.docs.pictures --write"


def test_the_bytes_are_the_same_in_every_process() -> None:
    code = (
        "from hashlib import sha256\nfrom tests.tools.docs.pictures import *\n"
        "drawn = [draw() for name, draw in PICTURES.items() if name not in OF_THE_BOOK]\n"
        "print(sha256(''.join(drawn).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@EVERY
def test_it_needs_nothing_else_and_says_what_it_shows(name: str) -> None:
    text = pictures.path_of(name).read_text(encoding="utf-8")
    assert len(text.encode()) < 40_000
    assert not re.search(r"<script|href|url\(|@import|\bon[a-z]+=|<image|<foreignObject", text)
    assert "prefers-color-scheme: dark" in text
    root = root_of(name)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and description is not None
    assert title.text and description.text and len(description.text) > 80
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    if "animation" in text:
        assert "prefers-reduced-motion: no-preference" in text


@EVERY
def test_nothing_is_cut_off(name: str) -> None:
    """Each box and each text is on the card, by the widths that fonts have at most."""
    root = root_of(name)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert width == pictures.WIDTH
    card = root.find(f"{SVG}rect")
    assert card is not None
    in_boxes = {text for group in root.iter(f"{SVG}g") if "b" in looks(group) for text in group}
    texts = [text for text in root.iter(f"{SVG}text") if text not in in_boxes]
    assert len(texts) > 5
    for element in texts:
        x, y = float(element.get("x", "")), float(element.get("y", ""))
        look = looks(element)
        size = 17 if "h" in look else 13 if "q" in look else 14
        long = pictures.wide(element.text or "", size)
        long *= 1 if "m" in look else 0.87  # proportional fonts take no more than that
        left = x - long if "e" in look else x - long / 2 if "c" in look else x
        assert left >= 8 and left + long <= width - 8, element.text
        assert 16 <= y <= height - 8, element.text
    for box in root.iter(f"{SVG}rect"):
        if box is not card:
            x, y = float(box.get("x", "")), float(box.get("y", ""))
            assert x >= 8 and x + float(box.get("width", "")) <= width - 8
            assert y >= 8 and y + float(box.get("height", "")) <= height - 8


def looks(element: ElementTree.Element) -> list[str]:
    return element.get("class", "").split()


@EVERY
def test_a_token_fits_into_its_box(name: str) -> None:
    for group in root_of(name).iter(f"{SVG}g"):
        if "b" in looks(group):
            (box,) = group.findall(f"{SVG}rect")
            size = 12 if "small" in looks(group) else 16 if "big" in looks(group) else 14
            for text in group.findall(f"{SVG}text"):
                shown = text.text or ""
                long = pictures.wide(shown, 13 if "q" in looks(text) else size)
                assert long <= float(box.get("width", "")) + len(shown) / 4, shown


def test_each_page_shows_its_picture_near_the_top() -> None:
    shown = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for alt, path in re.findall(r"^!\[(.+)\]\((.+\.svg)\)$", text, flags=re.MULTILINE):
            shown[page.stem] = path
            assert len(alt) > 20
            assert text[: text.index(path)].count("\n") < 15
            assert (FOLDER / path).is_file()
    numbered = [page.stem for page in PAGES if page.stem[0].isdigit()]
    assert shown == {name: f"pictures/{name}.svg" for name in numbered}
    assert set(numbered) <= set(pictures.PICTURES)
    held = {path.stem for path in (FOLDER / "pictures").iterdir()}
    assert held == set(pictures.PICTURES)


def test_a_stale_picture_is_named_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "PICTURES_FOLDER", tmp_path / "pictures")
    monkeypatch.setattr(pictures, "PICTURES", {"9-patterns": pictures.patterns})
    assert pictures.main([]) == 1
    assert not (tmp_path / "pictures").exists()
    assert pictures.main(["--write"]) == 0
    assert pictures.main([]) == 0
    assert capsys.readouterr().out == "9-patterns: stale\n9-patterns: drawn\n"
