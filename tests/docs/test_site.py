"""The site: it builds without a warning, shows what GitHub shows, and needs no network."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.tools import shells
from tests.tools.docs import site
from tests.tools.docs.screens import BROWSER

needs_zensical = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="the extra site is not installed"
)

TAGS = {"h1", "h2", "h3", "h4", "table", "tr", "th", "td", "ul", "ol", "li", "pre", "img"}
TAGS |= {"blockquote", "hr", "code"}
GITHUB = MarkdownIt("commonmark").enable("table")


class Tags(HTMLParser):
    """How often each tag is there, and all addresses; of a page of the site in its article."""

    def __init__(self, html: str, *, article: bool = False) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.loaded: list[str] = []
        self._counting = not article
        self._article = article
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if self._article and tag == "article":
            self._counting = True
        if self._counting and tag in TAGS:
            self.counts[tag] += 1
        linked = tag == "link" and named.get("rel") not in ("canonical", "next", "prev")
        if address := named.get("src") or (named.get("href") if linked else None):
            self.loaded.append(address)

    def handle_endtag(self, tag: str) -> None:
        if self._article and tag == "article":
            self._counting = False


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert site.build(folder) == []
    return folder


def html_of(built: Path, name: str) -> str:
    bare = re.sub(r"(README|index)?\.md$", "", name)
    return (built / bare / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
@needs_zensical
def test_the_pages_have_the_parts_that_github_shows(built: Path) -> None:
    """Two dialects of Markdown: lists, tables and code must be the same in both."""
    for name, text in site.written().items():
        shown = Tags(html_of(built, name), article=True).counts
        assert shown == Tags(GITHUB.render(text)).counts, name


@pytest.mark.slow
@needs_zensical
def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        loaded = Tags(page.read_text(encoding="utf-8")).loaded
        assert loaded and not [address for address in loaded if "//" in address], page
    for style in built.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import", style.read_text("utf-8")), style


@pytest.mark.slow
@needs_zensical
def test_every_page_is_found_by_the_search(built: Path) -> None:
    items = json.loads((built / "search.json").read_text(encoding="utf-8"))["items"]
    found = {item["location"].partition("#")[0] for item in items}
    pages = {*site.written(), *site.command_pages(), *site.python_pages()}
    assert {re.sub(r"(README|index)?\.md$", "", name).strip("/") for name in pages} == {
        place.strip("/") for place in found
    }
    options = {item["title"] for item in items if item["location"].startswith("python/Tokenizer")}
    assert any("encode_batch" in title for title in options)


@pytest.mark.slow
@needs_zensical
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gone](gone.md)", "does not exist"),
        ("[gone](index.md#gone)", "does not exist"),
    ],
)
def test_a_link_to_nothing_is_an_error(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "written", lambda: {"index.md": f"# One\n\n{text}\n"})
    monkeypatch.setattr(site, "command_pages", dict)
    monkeypatch.setattr(site, "python_pages", dict)
    monkeypatch.setattr(site, "navigation", lambda _: ["index.md"])
    wrong = site.build(tmp_path / "site")
    assert said in "\n".join(wrong)
    assert not (tmp_path / "site").exists()


def test_every_command_and_option_has_its_place() -> None:
    pages = site.command_pages()
    commands = list(shells.command_tree().every())
    assert len(pages) == len(commands) >= 15
    for command in commands:
        page = pages[f"commands/{'-'.join(command.path)}.md"]
        for option in command.options:
            for name in option.names:
                assert f'<a id="{name.lstrip("-")}"></a>`{name}`' in page


def test_a_help_is_text_and_not_markup() -> None:
    given = r"<unk> and [a](b), *x* | a_b in $TMPDIR, \n: see --no-pager, -m; x-y"
    shown = (
        r"&lt;unk&gt; and [a](b), *x* | a_b in $TMPDIR, \n: see <code>--no-pager</code>, "
        "<code>-m</code>; x-y"
    )
    assert GITHUB.renderInline(site._plain(given)) == shown
    markdown = pytest.importorskip("markdown", reason="the extra site is not installed")
    assert markdown.markdown(site._plain(given)) == f"<p>{shown}</p>"


def test_a_page_that_no_section_names_is_there() -> None:
    names = {"index.md", "api.md", "brand-new.md", *site.PROJECT}
    assert {"More pages": ["brand-new.md"]} in site.navigation(names)
    names = {*site.written(), *site.command_pages(), *site.python_pages()}
    sections = json.dumps(site.navigation(names))
    assert all(f'"{name}"' in sections for name in names)


@needs_zensical
def test_a_description_of_two_arguments_is_one_of_each(tmp_path: Path) -> None:
    import griffe

    from tests.tools.docs.shared_descriptions import SharedDescriptions

    (tmp_path / "shared.py").write_text(
        "def f(a: int, b: int) -> None:\n"
        '    """It does.\n\n    Args:\n        a, b: what\n            they are.\n    """\n'
    )
    extensions = griffe.load_extensions(SharedDescriptions)
    docstring = griffe.load("shared.f", search_paths=[tmp_path], extensions=extensions).docstring
    assert docstring is not None
    (arguments,) = [part for part in docstring.parse("google") if part.kind == "parameters"]
    described = [(one.name, one.description) for one in arguments.value]
    assert described == [("a", "what\nthey are."), ("b", "what\nthey are.")]


@needs_zensical
def test_an_example_is_code(tmp_path: Path) -> None:
    import griffe

    from tests.tools.docs.shared_descriptions import SharedDescriptions

    (tmp_path / "example.py").write_text(
        "def f() -> None:\n"
        '    """It does.\n\n    Example:\n        x = f()\n\n        x[0][1]\n    """\n'
    )
    extensions = griffe.load_extensions(SharedDescriptions)
    docstring = griffe.load("example.f", search_paths=[tmp_path], extensions=extensions).docstring
    assert docstring is not None
    (example,) = [part for part in docstring.parse("google") if part.kind == "admonition"]
    assert example.value.contents == "```python\nx = f()\n\nx[0][1]\n```"


class _Served(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
@needs_zensical
def test_in_a_browser_no_page_is_too_wide_or_complains(built: Path) -> None:
    """On a narrow screen: what fits there fits anywhere."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs the extra `test-page`")
    if BROWSER is None:
        pytest.skip("there is no Chromium on this machine")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Served, directory=built))
    address = f"http://127.0.0.1:{server.server_port}/"
    wrong: list[str] = []

    def asked(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            wrong.append(request.url)

    with server, driver.sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 400, "height": 900})
        page.on("request", asked)
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for file in sorted(built.rglob("index.html")):
            page.goto(f"{address}{file.parent.relative_to(built).as_posix()}/")
            wrong += page.evaluate(
                """() => [
                    ...[document.documentElement].filter(e => e.scrollWidth > e.clientWidth + 1),
                    ...[...document.images].filter(e => e.complete && !e.naturalWidth),
                ].map(e => `${location.pathname}: ${e.tagName}`)"""
            )
        browser.close()
        server.shutdown()
    assert wrong == []
