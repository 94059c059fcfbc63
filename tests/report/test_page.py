"""The page: what is in it, and that nothing in it comes alive."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import slow_but
from tests.explain import every
from tests.report.made import EVIL, NAMES, bytes_only, hostile
from tokctl.analysis.explain import summarize
from tokctl.analysis.explain.summary import model_curves
from tokctl.analysis.explain.tokens import token_cards
from tokctl.analysis.metrics import HEADLINE, METRICS, OTHER_WAYS
from tokctl.extras import page as shown
from tokctl.extras.page import compare_page, inspect_page

pytest.importorskip("altair", reason="pages need the extra `report`")
pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("vl_convert", reason="pages need the extra `report`")

#: Elements without an end.
_VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Every element with its attributes, and the text, apart from scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.comments: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.raw:
            self.raw[tag].append("")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag, f"</{tag}> ends another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]][-1] += data
        else:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def page(made: Any) -> str:
    models = {name: model.model for name, model in made.models.items()}
    return compare_page(made.comparison, made.cards, made.uses, models=models)


def model_page(name: str, texts: Any = None) -> str:
    model = every.model(name)
    cards = token_cards(model, range(model.vocab_size))
    ids = range(model.vocab_size)
    curves = model_curves(model)
    summary = summarize(model)
    return inspect_page(NAMES[0], summary, curves, cards, texts, None, ids, model.model)


def check(text: str) -> Reader:
    """Everything that any page must be."""
    reader = Reader(text)
    assert reader.open == []
    assert reader.comments == []
    names = [name for name, _ in reader.elements]
    allowed = "html head meta title style body a header h1 h2 h3 p button nav ul li main noscript "
    allowed += (
        "section table thead tbody tr th td div span small details summary figure figcaption "
    )
    allowed += "dl dt dd b code bdi footer script svg g path rect line text "
    allowed += "label textarea input"
    assert set(names) <= set(allowed.split())
    assert names.count("style") == 1
    scripts = [attributes for name, attributes in reader.elements if name == "script"]
    data = [{"type": "application/json", "id": name} for name in ("cards", "live")]
    assert scripts in ([*data, {}], [data[0], {}])
    for name, attributes in reader.elements:
        assert not [key for key in attributes if key.startswith("on") or key == "style"], name
        assert not {"src", "srcset", "action", "formaction", "xlink:href", "data"} & set(attributes)
        if "href" in attributes:
            assert name == "a"
            assert re.fullmatch("#[a-z]+", attributes["href"] or "")
    policy = next(a["content"] for n, a in reader.elements if n == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for part in reader.raw["script"][:-1]:
        json.loads(part)
    for part in (reader.raw["script"][-1], *reader.raw["style"]):
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|innerHTML|eval|Function", part)
    # A browser may see another end of a line, or none, and a reader another direction.
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]", text)
    text.encode()
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(ids) == len(set(ids))
    _headings_in_order(names)
    return reader


def _headings_in_order(names: list[str]) -> None:
    levels = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_hostile_corpus_stays_text() -> None:
    reader = check(page(hostile()))
    text = "".join(reader.text)
    for sentence in EVIL:
        assert shown.prose(sentence) in text
    for name in NAMES:
        assert shown.prose(name) in text
    cards = json.loads(reader.raw["script"][0])
    assert [deck["model"] for deck in cards] == [shown.prose(name) for name in NAMES]


@pytest.mark.slow
def test_bytes_that_are_no_text() -> None:
    reader = check(page(bytes_only()))
    titles = {card["title"] for card in json.loads(reader.raw["script"][0])[0]["cards"].values()}
    assert "Ġ" in titles
    assert any("\\xff" in "".join(dict(card["facts"])["text"]) for card in _cards(reader))


def _cards(reader: Reader) -> list[dict[str, Any]]:
    return [card for deck in json.loads(reader.raw["script"][0]) for card in deck["cards"].values()]


def test_every_figure_of_the_metrics_is_on_it() -> None:
    found = hostile()
    text = page(found)
    table = text[text.index('<table aria-label="Table of the metrics"') :]
    rows = table[: table.index("</table>")].split("<tr>")[2:]
    assert len(rows) == len(METRICS)
    for metric, row in zip((*HEADLINE, *OTHER_WAYS), rows, strict=True):
        reader = Reader(f"<table>{'<tr>' + row.partition('</tbody>')[0]}</table>")
        said = "".join(reader.text)
        assert said.startswith(metric.label)
        cells = re.findall(r'<td class="number[^>]*>([^<]*)', row)
        written = [metric.written(m.total.figures[metric.name]) for m in found.comparison.models]
        assert [
            re.sub("&[lg]t;", lambda m: {"&lt;": "<", "&gt;": ">"}[m[0]], c) for c in cells
        ] == (written)
        starred = row.count('class="star"')
        assert starred == len(found.comparison.best(metric))


@pytest.mark.slow
def test_tokens_have_cards_and_say_what_the_models_say() -> None:
    found = hostile()
    reader = check(page(found))
    cards = json.loads(reader.raw["script"][0])
    for place, name in enumerate(NAMES):
        model = found.models[name]
        assert len(cards[place]["cards"]) == model.vocab_size
        for id_ in range(0, model.vocab_size, 7):
            card = cards[place]["cards"][str(id_)]
            facts = dict(card["facts"])
            assert card["title"] == shown.spelling(model.tokens[id_])
            assert facts["id"] == str(id_)
            text = bytes.fromhex(facts["bytes"]) if facts["bytes"] != "none" else b""
            assert shown.text_of(text) == facts["text"] or not text


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(every.NAMES, "bert", "default unigram", "notebook-bpe"))
def test_the_page_of_every_kind_of_model(name: str) -> None:
    check(model_page(name))


@pytest.mark.slow
def test_one_model_and_one_text() -> None:
    check(page(bytes_only()))
    text = page(bytes_only())
    assert "the baseline<" not in text
    assert 'id="alike"' not in text


CODE = """
from tests.report.made import hostile
from tests.report.test_page import model_page, page
from tokctl.report.charts.figures import compare_drawings
from tokctl.report.charts.drawing import ENDINGS, chart_bytes
from hashlib import sha256
made = hostile()
parts = [page(made).encode(), model_page("default unigram").encode()]
drawing = compare_drawings(made.comparison, made.uses)["lengths"]
parts += [chart_bytes(drawing, ending) for ending in ENDINGS if ending != ".pdf"]
print([sha256(part).hexdigest() for part in parts])
"""


@pytest.mark.slow
def test_the_same_bytes_in_every_process() -> None:
    root = Path(__file__).parents[2]
    shows = [
        subprocess.run(
            [sys.executable, "-c", CODE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            cwd=root,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shows[0] == shows[1] != b""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("مرحبا (hello)", "rtl"),
        ("hello مرحبا", "ltr"),
        ("42 שלום", "rtl"),
        ("…", "ltr"),
        ("", "ltr"),
    ],
)
def test_the_direction_of_a_sentence(text: str, expected: str) -> None:
    assert shown.direction(text) == expected


def test_a_mark_does_not_join_the_token_before() -> None:
    assert shown.spelling("\u0301x") == "\u25cc\u0301x"
    assert shown.spelling("e\u0301 \u0301") == "e\u0301␣\u25cc\u0301"


def test_long_texts_are_cut() -> None:
    assert shown.spelling("x" * 10_000).endswith("… (10,000 characters)")
    assert len(shown.prose("\x00" * 100_000)) < 9_000
    assert shown.hexadecimal(b"\x00" * 1000).endswith("(1,000 bytes)")
