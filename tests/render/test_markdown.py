"""Text of corpora and models in Markdown: it stays text, wherever it stands."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # a dependency of Rich

from tokctl.report.markdown import _code, _plain
from tokctl.report.visible import BAR, drawn, safe

GITHUB = MarkdownIt("gfm-like", {"linkify": False})
SIGNS = st.text(alphabet=" ab19.()[]<>&;:/#*_-+=~|`!\\\n'\"w\u202e", max_size=20)


@given(text=SIGNS)
@example("- item")
@example("1. one")
@example("    code")
@example("&lt;b&gt; &#60;")
@example("---")
@example("<img src=x onerror=alert(1)>")
@example("![a](b) [x]: http://e")
def test_a_paragraph_is_its_text(text: str) -> None:
    quoted = html.escape(safe(text)).replace("&#x27;", "'")
    expected = f"<p>{quoted}</p>" if text else ""
    # Spaces at the ends of a line are not kept.
    assert GITHUB.render(_plain(text)).strip().replace(" ", "") == expected.replace(" ", "")


@given(tokens=st.lists(SIGNS.filter(bool), max_size=4))
def test_a_cell_is_its_tokens(tokens: list[str]) -> None:
    table = f"| a | b |\n| --- | --- |\n| {_code(list(map(drawn, tokens)))} | z |"
    cells = re.findall(r"<td>(.*?)</td>", GITHUB.render(table))
    text = BAR.join(map(drawn, tokens))
    assert cells == [
        f"<code>{html.escape(text, quote=True)}</code>".replace("&#x27;", "'"),
        "z",
    ] or (not tokens and cells == ["", "z"])


@pytest.mark.parametrize("text", ["http://e.example/x", "see www.e.example", "HTTPS://e"])
def test_addresses_are_no_links(text: str) -> None:
    """What GitHub's extension for bare addresses looks for is not in the source."""
    source = _plain(text)
    assert not re.search(r"://|www\.", source, re.IGNORECASE)
    assert GITHUB.render(source).strip() == f"<p>{text}</p>"
