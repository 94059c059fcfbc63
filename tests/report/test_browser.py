"""The page in Chromium: it asks for nothing, says nothing to the console, and answers to the
pointer and to the keys. Needs `pip install '.[test-page]'` and the system's Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.models import TEXT, document, model
from tests.report.made import EVIL, Made, contrast, hostile, made
from tokctl.analysis.comparison import compare
from tokctl.extras.page import compare_page

pytest.importorskip("altair", reason="pages need the extra `report`")
pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("vl_convert", reason="pages need the extra `report`")
driver = pytest.importorskip(
    "playwright.sync_api", reason="driving a browser needs the extra `test-page`"
)

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driver.sync_playwright() as playwright:
        # Containers have no namespaces for the sandbox; the page is our own.
        found = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def ordinary() -> Made:
    models = {"bpe": model("bpe"), "wordpiece": model("wordpiece"), "unigram": model("unigram")}
    sentence = ["newest lower widest low", "שלום lower"]
    return made(models, compare(list(models.items()), [document(TEXT)], sentences=sentence))


class Opened:
    """A page in the browser, with what it asked for and what it complained about."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(path.as_uri())

    def style(self, selector: str, name: str) -> str:
        script = "([s, n]) => getComputedStyle(document.querySelector(s)).getPropertyValue(n)"
        return str(self.page.evaluate(script, [selector, name]))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = ordinary()
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of(found), encoding="utf-8")
    return path


def page_of(found: Made) -> str:
    models = {name: model.model for name, model in found.models.items()}
    return compare_page(found.comparison, found.cards, found.uses, models=models)


@pytest.fixture
def opened(browser: Any, file: Path) -> Iterator[Opened]:
    found = Opened(browser, file, viewport={"width": 1100, "height": 800})
    yield found
    assert found.complaints == []
    assert found.requests == [file.as_uri()]
    found.context.close()


def chip(opened: Opened, place: int, model: int = 0) -> Any:
    row = opened.page.locator(f"#sentences .chips[data-model='{model}']").first
    return row.locator("button.chip").nth(place)


def test_pointing_at_a_token_shows_its_card(opened: Opened) -> None:
    tip = opened.page.locator("#tip")
    assert not tip.is_visible()
    first = chip(opened, 0)
    first.hover()
    assert tip.is_visible()
    bpe = model("bpe")
    id_ = int(first.get_attribute("data-id"))
    count = ordinary().comparison.models[0].total.counts.id_counts.get(id_, 0)
    said = tip.inner_text().split("\n")
    facts = dict(zip(said[::2], said[1::2], strict=True))
    assert facts["id"] == str(id_)
    assert facts["text"] == bpe.tokens[id_]
    assert facts["bytes"] == bpe.tokens[id_].encode().hex(" ")
    assert facts["in the text"] == {0: "never", 1: "once"}.get(count, f"{count} times")
    assert int(facts["merge"].replace(",", "")) > 0
    opened.page.locator("h1").hover()
    assert not tip.is_visible()


def test_clicking_shows_the_tree_and_escape_closes_it(opened: Opened) -> None:
    panel = opened.page.locator("#panel")
    first = chip(opened, 0)
    first.click()
    assert panel.is_visible()
    assert first.get_attribute("aria-expanded") == "true"
    tokens = panel.locator(".tree code").all_inner_texts()
    assert tokens[0] == first.inner_text()
    letters = [t for t in tokens if len(t) == 1]
    assert "".join(letters) == first.inner_text()
    # The list is as deep as the tree.
    assert panel.locator(".tree ul").count() >= 1
    opened.page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert opened.page.evaluate("document.activeElement.className") == "chip"


def test_pieces_tell_what_would_be_there_without_them(opened: Opened) -> None:
    row = opened.page.locator("#sentences .chips[data-model='2']").first
    longest = max(row.locator("button.chip").all(), key=lambda c: len(c.inner_text()))
    longest.click()
    assert "Best without it: " in opened.page.locator("#panel").inner_text()
    opened.page.locator("#close").click()
    chip(opened, 0, model=1).click()
    assert "Longest match takes it" in opened.page.locator("#panel").inner_text()


def test_keys_reach_everything(opened: Opened) -> None:
    first, second = chip(opened, 0), chip(opened, 1)
    first.focus()
    assert opened.page.locator("#tip").is_visible()
    assert first.get_attribute("aria-describedby") == "tip"
    opened.page.keyboard.press("ArrowRight")
    assert second.evaluate("e => e === document.activeElement")
    opened.page.keyboard.press("End")
    opened.page.keyboard.press("Home")
    assert first.evaluate("e => e === document.activeElement")
    # One stop for each row.
    opened.page.keyboard.press("Tab")
    row = "document.activeElement.closest('.chips').dataset.model"
    assert opened.page.evaluate(row) == "1"
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.activeElement.id") == "panel-title"
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.id") == "close"
    assert opened.style("#close", "outline-style") == "solid"


def test_arrows_follow_the_direction_of_the_text(opened: Opened) -> None:
    row = opened.page.locator("#sentences .sample").nth(1).locator(".chips").first
    assert row.get_attribute("dir") == "rtl"
    chips = row.locator("button.chip")
    left, right = chips.nth(1).bounding_box(), chips.nth(0).bounding_box()
    assert left["x"] < right["x"]
    chips.nth(0).focus()
    opened.page.keyboard.press("ArrowLeft")
    assert chips.nth(1).evaluate("e => e === document.activeElement")


def test_marks_of_charts_say_what_they_are(opened: Opened) -> None:
    mark = opened.page.locator("svg.wide [data-tip]").nth(3)
    mark.hover()
    assert opened.page.locator("#tip").inner_text() == mark.get_attribute("data-tip")


def test_the_theme_is_the_readers(opened: Opened) -> None:
    button = opened.page.locator("#theme")
    light = opened.style("body", "background-color")
    opened.page.emulate_media(color_scheme="dark")
    dark = opened.style("body", "background-color")
    assert light != dark
    button.click()
    assert (button.inner_text(), opened.style("body", "background-color")) == (
        "Theme: light",
        light,
    )
    opened.page.emulate_media(color_scheme="light")
    button.click()
    assert (button.inner_text(), opened.style("body", "background-color")) == ("Theme: dark", dark)
    # On paper it is light all the same, and without buttons; the charts stay.
    opened.page.emulate_media(media="print")
    assert opened.style("body", "background-color") == "rgb(255, 255, 255)"
    assert not button.is_visible()
    assert opened.page.locator("svg.wide").first.is_visible()


def hexadecimal(color: str) -> str:
    parts = color[color.index("(") + 1 : -1].split(",")
    return "#" + "".join(f"{int(part):02x}" for part in parts[:3])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(opened: Opened, scheme: str) -> None:
    """WCAG AA: 4.5 for text, 3 for what charts and borders are drawn with."""
    opened.page.emulate_media(color_scheme=scheme)
    script = """names => {
        const probe = document.body.appendChild(document.createElement("i"));
        return names.map((name) => {
            probe.style.color = `var(--${name})`;
            return getComputedStyle(probe).color;
        });
    }"""
    names = ["paper", "card", "ink", "quiet", "link", "good", "bad", "mark", "edge"]
    names += [f"t{n}" for n in range(1, 5)] + [f"s{n}" for n in range(1, 9)]
    found = opened.page.evaluate(script, names)
    colors = {name: hexadecimal(color) for name, color in zip(names, found, strict=True)}
    for behind in ("paper", "card"):
        for text in ("ink", "quiet", "link", "good", "bad"):
            assert contrast(colors[text], colors[behind]) >= 4.5, (text, behind)
        for line in ("edge", *(f"s{n}" for n in range(1, 9))):
            assert contrast(colors[line], colors[behind]) >= 3, (line, behind)
    for behind in ("mark", *(f"t{n}" for n in range(1, 5))):
        assert contrast(colors["ink"], colors[behind]) >= 7, behind


@pytest.mark.parametrize("width", [320, 400, 768, 1600])
def test_nothing_sticks_out(browser: Any, file: Path, width: int) -> None:
    found = Opened(browser, file, viewport={"width": width, "height": 800})
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    kind = "narrow" if width < 640 else "wide"
    assert found.page.locator(f"svg.{kind}").first.is_visible()
    found.context.close()


def test_a_hostile_corpus_does_nothing(browser: Any, tmp_path: Path) -> None:
    source = hostile()
    path = tmp_path / "hostile.html"
    path.write_text(page_of(source), encoding="utf-8")
    found = Opened(browser, path, viewport={"width": 500, "height": 800})
    assert found.page.locator("script").count() == 3
    assert found.page.locator("img, iframe, object, embed, link, base, svg script").count() == 0
    text = found.page.locator("main").inner_text()
    assert "alert(1)" in text
    assert EVIL[5] in text
    chips = found.page.locator("#sentences button.chip")
    for place in range(0, chips.count(), 9):
        chips.nth(place).evaluate("e => { e.focus(); e.click(); }")
        assert found.page.locator("#panel").is_visible()
    assert found.page.locator("#panel script, #panel img").count() == 0
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 500
    assert (found.complaints, found.requests) == ([], [path.as_uri()])
    found.context.close()


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Any, file: Path) -> None:
    """Were something to slip through, the policy would stop it."""
    found = Opened(browser, file)
    found.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.slipped = true";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='slipped = true'>");
        }"""
    )
    for _ in range(6000):
        found.page.wait_for_timeout(100)
        if any("Content Security Policy" in complaint for complaint in found.complaints):
            break
    assert found.page.evaluate("window.slipped") is None
    assert any("Content Security Policy" in complaint for complaint in found.complaints)
    found.context.close()
