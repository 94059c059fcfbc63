"""A comparison or a model as one page of HTML that needs nothing but a browser.

The page holds everything: tables, charts as SVG, a style sheet, one small script. It fetches
nothing, and its Content-Security-Policy forbids it to. The text of corpora and models is made
visible first (`shown`), and then escaped by the templates; the script makes text of what it
shows, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.analysis.comparison import Comparison
    from tokctl.analysis.explain import Summary
    from tokctl.analysis.explain.cards import TokenCard
    from tokctl.analysis.explain.summary import ModelCurves, UseCurves

__all__ = ["compare_page", "inspect_page"]


def compare_page(
    comparison: Comparison,
    cards: Mapping[str, Sequence[TokenCard]],
    uses: Mapping[str, UseCurves],
) -> str:
    """The page of a comparison. The same results give the same bytes.

    Args:
        cards: by the model's name, those of the tokens that can be pointed at; a token
            without a card is shown all the same.
        uses: by the model's name, how the texts use its tokens.

    Raises:
        TokctlError: the extra `report` is not installed.
    """
    from tokctl.render.charts import extra

    extra.check()
    from tokctl.render.page.compare import page

    return page(comparison, cards, uses)


def inspect_page(
    name: str,
    summary: Summary,
    curves: ModelCurves,
    cards: Sequence[TokenCard],
    texts: Comparison | None = None,
    use: UseCurves | None = None,
    walk: Sequence[int] = (),
) -> str:
    """The page of a model. The same results give the same bytes.

    Args:
        name: of the model's file.
        cards: of the tokens that can be pointed at, and of those of `walk`.
        texts: the model alone, measured on texts.
        use: how these use its tokens.
        walk: ids to show, from the whole vocabulary.

    Raises:
        TokctlError: the extra `report` is not installed.
    """
    from tokctl.render.charts import extra

    extra.check()
    from tokctl.render.page.inspect import page

    return page(name, summary, curves, cards, texts, use, walk)
