"""The templates, and what is put into the page beside them: style, script, cards, charts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from tokctl import __version__
from tokctl.render.charts.drawing import Drawing
from tokctl.render.charts.look import PAGE
from tokctl.render.charts.svg import page_svg
from tokctl.render.page import shown
from tokctl.render.page.cards import card_data
from tokctl.render.page.chips import Deck

#: Pixels of a chart on wide screens and on narrow ones.
_WIDE, _NARROW = 680, 340
_TEMPLATES = ("base", "parts", "compare", "inspect")


@dataclass(frozen=True)
class Chart:
    """A chart in two widths, of which the style sheet shows one."""

    drawing: Drawing
    wide: Markup
    narrow: Markup


def charts(drawings: Iterable[Drawing]) -> dict[str, Chart]:
    """The charts by name."""
    return {
        drawing.name: Chart(
            drawing,
            # Only shapes and text are left in it, see `page_svg`.
            Markup(page_svg(drawing.draw(_WIDE, PAGE), "wide")),
            Markup(page_svg(drawing.draw(_NARROW, PAGE), "narrow")),
        )
        for drawing in drawings
    }


def deck_data(decks: Sequence[Deck], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The cards of every model, as the script reads them."""
    return [
        {"model": deck.name, "cards": {str(c.id): card_data(c, texts) for c in deck.cards}}
        for deck in decks
    ]


def document(template: str, **data: Any) -> str:
    """The page that a template makes."""
    style, script = Markup(_part("page.css")), Markup(_part("page.js"))
    return (
        _environment()
        .get_template(template)
        .render(
            style=style,
            script=script,
            policy="; ".join(
                [
                    "default-src 'none'",
                    f"script-src {_digest(script)}",
                    f"style-src {_digest(style)}",
                    "base-uri 'none'",
                    "form-action 'none'",
                ]
            ),
            version=__version__,
            **data,
        )
    )


def _digest(part: str) -> str:
    """What a policy calls an inline part by."""
    digest = hashlib.sha256(part.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _part(name: str) -> str:
    folder = files("tokctl.render.page") / "templates"
    # As browsers read it: the digest is of the text with these line ends.
    return (folder / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _environment() -> Environment:
    names = [f"{name}.html.j2" for name in _TEMPLATES]
    environment = Environment(
        loader=DictLoader({name: _part(name) for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = shown.prose
    environment.filters["token"] = shown.token
    return environment
