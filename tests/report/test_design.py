"""The page as a whole, in Chromium: scales, sorting, links, paper, narrow screens, and what those
who do not see it are told."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.report.made import hostile
from tests.report.test_browser import BROWSER, Opened, browser, file, opened, page_of
from tests.report.test_page import model_page
from tokctl.extras.page import compare_page

__all__ = ["browser", "file", "opened"]  # fixtures
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

SHEET = (files("tokctl.extras.page") / "templates" / "page.css").read_text(encoding="utf-8")


def test_sizes_and_spaces_are_of_their_scales() -> None:
    screen = SHEET[: SHEET.index("@media print")]
    sizes = [float(n) for n in re.findall(r"--(?:tiny|small|h\d): ([.\d]+)rem", screen)]
    steps = {round((8 / 7) ** n, 3) for n in range(-2, 8)}
    assert len(sizes) >= 5
    assert all(min(abs(size - step) for step in steps) < 0.003 for size in sizes)
    assert set(re.findall(r"font-size: ([^;]+);", screen)) <= {
        *("1rem", "var(--tiny)", "var(--small)", "var(--h1)", "var(--h2)", "var(--h3)"),
    }
    for values in re.findall(r"(?:margin|padding|gap)[a-z-]*: ([^;]+);", screen):
        for value in re.findall(r"([.\d]+)rem", values):
            # .15 and .2 are inside tokens, which stand in lines of text.
            assert float(value) in (0.15, 0.2, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4), values


def test_the_keyboard_sorts_a_table(opened: Opened) -> None:
    table = opened.page.locator("#models table")
    names = table.locator("tbody th")
    before = names.all_inner_texts()
    button = table.get_by_role("button", name="model", exact=True)
    button.focus()
    assert opened.style("#models .sorter", "outline-style") == "solid"
    head = table.locator("thead th").first
    for key, way, wanted in (
        ("Enter", "ascending", sorted(before)),
        ("Space", "descending", sorted(before, reverse=True)),
        ("Enter", None, before),
    ):
        opened.page.keyboard.press(key)
        assert head.get_attribute("aria-sort") == way
        assert names.all_inner_texts() == wanted
        assert button.evaluate("e => e === document.activeElement")


def test_a_metric_sorts_the_models(opened: Opened) -> None:
    """Best first; all rows go with it, and what is no number is last."""
    table = opened.page.locator("table.metrics")

    def columns() -> list[tuple[str, ...]]:
        rows = table.locator("tr").all()
        cells = [row.locator("th, td").all_inner_texts()[1:] for row in rows]
        return list(zip(*(row for row in cells if row), strict=True))

    def row(name: str) -> Any:
        return table.locator("tbody tr").filter(has=opened.page.get_by_role("rowheader", name=name))

    before = columns()
    for name, best in (("tokens", min), ("vocabulary use", max)):
        table.get_by_role("button", name=re.compile(rf"^{name}\b")).press("Enter")
        figures = [
            float(text.split("\n")[0].replace(",", "").replace("★", ""))
            for text in row(name).first.locator("td").all_inner_texts()
        ]
        assert figures[0] == best(figures)
        assert figures == sorted(figures, reverse=best is max)
        assert sorted(columns()) == sorted(before)
        assert table.locator("[aria-sort]").count() == 1
    unknown = table.get_by_role("button", name=re.compile("^UNK rate"))
    cells = row("UNK rate").locator("td")
    assert "n/a" in cells.all_inner_texts()
    for _ in range(2):
        unknown.press("Enter")
        assert cells.last.inner_text() == "n/a"
    unknown.press("Enter")
    assert columns() == before
    assert table.locator("[aria-sort]").count() == 0


def test_every_section_has_a_link_that_leads_to_it(opened: Opened) -> None:
    page = opened.page
    sections = [str(s.get_attribute("id")) for s in page.locator("main > section").all()]
    links = [str(a.get_attribute("href")) for a in page.locator("main .permalink").all()]
    entries = [str(a.get_attribute("href")) for a in page.locator("nav a").all()]
    assert links == entries == [f"#{name}" for name in sections]
    for name in sections:
        page.get_by_label("Link to the section").and_(page.locator(f"[href='#{name}']")).press(
            "Enter"
        )
        assert page.evaluate("location.hash") == f"#{name}"
        box = page.locator(f"#{name} h2").bounding_box()
        assert box is not None and 0 <= box["y"] < 800
    page.goto(page.url.partition("#")[0] + "#words")
    page.wait_for_selector("nav [aria-current][href='#words']")
    assert page.locator("nav [aria-current]").count() == 1


def test_paper_has_all_that_can_be_read_and_nothing_else(opened: Opened) -> None:
    page = opened.page
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 680, "height": 900})
    for gone in ("#try", "#theme", "nav", ".permalink", ".skip", "#panel"):
        assert not any(found.is_visible() for found in page.locator(gone).all()), gone
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.sorter'), '::after').display")
        == "none"
    )
    assert opened.style("body", "color") == "rgb(0, 0, 0)"
    for name in ("t1", "t2", "t3", "t4", "paper"):
        assert opened.style(":root", f"--{name}") == "#fff"
    # No table is wider than the paper, and none is cut into a frame.
    script = """() => [...document.querySelectorAll(".scroll")].filter((e) => e.offsetParent)
        .map((e) => [getComputedStyle(e).overflowX,
            e.firstChild.getBoundingClientRect().right <= innerWidth])"""
    frames = page.evaluate(script)
    assert len(frames) >= 4
    assert all(frame == ["visible", True] for frame in frames)
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.pdf(format="A4").count(b"/Type /Page\n") >= 2


#: Things that stick out of the screen, but for what is inside of a frame or a picture.
OUTSIDE = """() => [...document.querySelectorAll("body *")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !e.closest(".scroll > *, svg, .skip");
}).map((e) => e.outerHTML.slice(0, 90))"""
SCROLLS = """() => [...document.querySelectorAll("body *")].filter((e) =>
    e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
    .map((e) => e.className)"""


def pages(kind: str) -> str:
    if kind == "a model":
        return model_page("default bpe")
    made = hostile()
    if kind == "long names":
        long = {
            name: f"{'a-name-that-somebody-chose-' * 4}{n}" for n, name in enumerate(made.models)
        }
        models = [replace(m, name=long[m.name]) for m in made.comparison.models]
        comparison = replace(
            made.comparison, models=tuple(models), baseline=long[made.comparison.baseline]
        )
        found = {long[name]: one.model for name, one in made.models.items()}
        cards = {long[name]: deck for name, deck in made.cards.items()}
        return compare_page(
            comparison, cards, {long[k]: v for k, v in made.uses.items()}, None, found
        )
    return page_of(made)


@pytest.fixture(params=["hostile", "long names", "a model"])
def any_page(request: Any, tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(pages(request.param), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [320, 400])
def test_only_tables_scroll_sideways(browser: Any, any_page: Path, width: int) -> None:
    found = Opened(browser, any_page, viewport={"width": width, "height": 800})
    found.page.wait_for_selector("#try[data-ready]")
    found.page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert found.page.evaluate(OUTSIDE) == []
    assert set(found.page.evaluate(SCROLLS)) <= {"scroll"}
    # What scrolls can be reached with the keys, has a name, and keeps the names of its rows.
    frames = found.page.locator(".scroll[tabindex]")
    for frame in frames.all():
        assert frame.get_attribute("role") == "region"
        assert frame.get_attribute("aria-label")
    for frame in found.page.locator(".scroll:not([tabindex])").all():
        assert frame.evaluate("e => e.scrollWidth <= e.clientWidth")
    found.context.close()


def test_names_and_roles_are_those_that_a_reader_of_screens_is_told(opened: Opened) -> None:
    opened.page.wait_for_selector("#try[data-ready]")
    client = opened.context.new_cdp_session(opened.page)
    nodes = client.send("Accessibility.getFullAXTree")["nodes"]
    told: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            role = str(node["role"]["value"])
            told.setdefault(role, []).append(str(node.get("name", {}).get("value", "")))
    assert "Text" in told["textbox"]
    assert "Show ids" in told["checkbox"]
    assert "Link that carries this text" in told["link"]
    assert {"Tokens and costs", "Table of the metrics", "Table of the models"} <= set(told["table"])
    assert "" not in told["table"]
    assert [told[role] for role in ("banner", "main", "contentinfo")] == [[""]] * 3
    assert told["navigation"] == ["Sections"]
    assert {"How a word was split", "Metrics", "Try a text"} <= set(told["region"])
    # The arrows that say how a table is sorted are pictures.
    assert not [name for name in told["button"] if set(name) & set("↕⇄")]
    assert "" not in [
        *told["button"],
        *told["link"],
        *told["spinbutton"],
        *told["columnheader"][1:],
    ]
    assert any(re.fullmatch("bpe, [0-9]+ tokens", name) for name in told["group"])


def test_tabs_go_through_the_page_in_its_order(opened: Opened) -> None:
    page = opened.page
    page.wait_for_selector("#try[data-ready]")
    seen: list[tuple[str, float]] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        place = page.evaluate("""() => {
            const e = document.activeElement;
            if (e === document.body || !e.getClientRects().length) return null;
            const style = getComputedStyle(e), all = [...document.querySelectorAll("*")];
            const isSeen = style.outlineStyle === "solid";
            return [all.indexOf(e), isSeen || e.matches("input, textarea"), e.className || e.id];
        }""")
        if place is None:
            break
        assert place[1], place
        seen.append((place[2], place[0]))
    assert len(seen) > 30
    order = [at for _, at in seen]
    assert order == sorted(order)
    assert len(set(order)) == len(order)
    assert page.evaluate("document.getElementById('panel').hidden")


def test_nothing_moves() -> None:
    assert not re.search("transition|animation|scroll-behavior|@keyframes", SHEET)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")]
)
def test_an_audit_of_accessibility_finds_no_fault(
    browser: Any, any_page: Path, width: int, scheme: str
) -> None:
    """axe-core, the rules that Chromium's Lighthouse goes by: WCAG 2.2 A and AA, best practices."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs the extra `test-page`")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    # The policy of the page stops what is not its own, and so this script.
    size = {"width": width, "height": 900}
    found = Opened(browser, any_page, viewport=size, color_scheme=scheme, bypass_csp=True)
    found.page.wait_for_selector("#try[data-ready]")
    found.page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    found.page.locator("#try-rows button.chip").first.focus()
    found.page.locator("#vocabulary button.chip, #sentences button.chip").first.click()
    found.page.evaluate(script)
    faults = found.page.evaluate("""async () => (await axe.run()).violations.map(
        ({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])""")
    assert faults == []
    found.context.close()
