"""HTML for notebooks (`_repr_html_`) of a tokenizer, an encoding and a comparison."""

from __future__ import annotations

from functools import singledispatch
from html import escape
from typing import Any

from tokctl.analysis.comparison import Comparison
from tokctl.report.compare import comparison_answer
from tokctl.report.document import Report, facts
from tokctl.report.inspect.model import recipe_facts, training_facts
from tokctl.report.markdown import markdown
from tokctl.report.visible import BACKGROUNDS, brief, names
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.encoding import Encoding

#: Shown at most: tokens of an encoding, special tokens of a tokenizer.
_TOKENS, _SPECIAL = 500, 20

_CHIP = "color:#fff;background:{};border-radius:3px;padding:1px 2px;margin:1px;white-space:pre"
_QUIET = "opacity:.7;font-size:85%"


@singledispatch
def to_html(shown: Any) -> str:
    """Return HTML that a notebook shows for a tokenizer, an encoding or a comparison.

    A tokenizer becomes a table of facts, an encoding coloured tokens, and a comparison its tables.
    The HTML needs no style sheet and no script.

    Raises:
        TypeError: `shown` has another type.
    """
    raise TypeError(
        f"a Tokenizer, an Encoding or a Comparison is shown, not {type(shown).__name__}"
    )


@to_html.register
def _tokenizer(shown: Tokenizer) -> str:
    special = list(shown.special_ids)
    more = f" and {len(special) - _SPECIAL:,} more" if len(special) > _SPECIAL else ""
    pairs = [("vocabulary", f"{shown.vocab_size:,} tokens")]
    pairs += [("special tokens", names(special[:_SPECIAL]) + more)] if special else []
    pairs += recipe_facts(shown.recipe)
    if shown.model.training is not None:
        pairs += training_facts(shown.recipe, shown.model.training, shown.model.parity)
    return _page(Report("inspect", f"Tokenizer {shown.recipe.name}", lambda: [facts(pairs)]))


@to_html.register
def _comparison(shown: Comparison) -> str:
    return _page(comparison_answer(shown))


@to_html.register
def _encoding(shown: Encoding) -> str:
    columns = zip(shown.tokens, shown.surfaces, shown.raw_ids, range(_TOKENS), strict=False)
    chips = [
        f'<span style="{_CHIP.format(BACKGROUNDS[place % len(BACKGROUNDS)])}" '
        f'title="{escape(brief(token))} · {id_}">{escape(brief(surface or token))}</span>'
        for token, surface, id_, place in columns
    ]
    more = f" … {len(shown) - _TOKENS:,} more" if len(shown) > _TOKENS else ""
    # `<wbr>` allows a line break after each token and is not copied with the text.
    tokens = "<wbr>".join(chips)
    size = f'<div style="{_QUIET}">{len(shown):,} tokens</div>'
    return f'<div style="line-height:1.9">{tokens}{more}</div>{size}'


def _page(answer: Report) -> str:
    """Return the document as HTML, by way of Markdown: its escapes keep text from becoming tags."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown(answer)))
