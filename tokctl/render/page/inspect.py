"""What the page of a model says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tokctl.analysis.comparison import Comparison
from tokctl.analysis.explain import MergeRecord, Summary
from tokctl.analysis.explain.cards import TokenCard
from tokctl.analysis.explain.summary import ModelCurves, UseCurves
from tokctl.render.charts.every import inspect_drawings
from tokctl.render.compare import rows
from tokctl.render.inspect.summary import ALGORITHM_NAMES, check_rows, summary_facts
from tokctl.render.page import shown
from tokctl.render.page.chips import Chips, Deck
from tokctl.render.page.compare import metric_rows, sample_rows
from tokctl.render.page.document import charts, deck_data, document

#: Of the tokens that texts have most often, those that are listed.
_MOST = 40


def page(
    name: str,
    summary: Summary,
    curves: ModelCurves,
    cards: Sequence[TokenCard],
    texts: Comparison | None,
    use: UseCurves | None,
    walk: Sequence[int],
) -> str:
    """The whole page."""
    deck = Deck(0, name, cards)
    by_id = {card.id: card.token for card in cards}
    names = [model.name for model in texts.models] if texts else []
    return document(
        "inspect.html.j2",
        title=f"Tokenizer: {deck.name}",
        headline=_headline(summary),
        read=_read(texts) if texts else "",
        facts=list(summary_facts(summary)),
        checks=list(check_rows(summary.checks, summary)),
        samples=sample_rows(texts, [deck]) if texts else [],
        # Relative to itself it is 1.
        metrics=[row for row in metric_rows(texts) if row[0].name != "nsl"] if texts else [],
        notes=rows.notes(texts) if texts else [],
        names=names,
        baseline=texts.baseline if texts else "",
        frequent=_frequent(deck, cards),
        walk=deck.tokens((by_id[id_] for id_ in walk if id_ in by_id), "tokens by id"),
        longest=_valued(deck, [(t, f"{n:,}") for t, n in summary.longest]),
        unit=summary.unit,
        chosen=[(title, _valued(deck, values)) for title, values in _chosen(summary)],
        merges=[(title, _merges(deck, records)) for title, records in _histories(summary)],
        rounds=summary.rounds,
        charts=charts(inspect_drawings(summary, curves, use).values()),
        decks=deck_data([deck], [text.name for text in texts.texts] if texts else []),
    )


def _headline(summary: Summary) -> str:
    size = f"{summary.vocab_size:,} ids"
    merges = f", {summary.merges:,} merges" if summary.merges is not None else ""
    algorithm = ALGORITHM_NAMES[summary.recipe.algorithm]
    return shown.prose(f"{algorithm}, recipe {summary.recipe.name}: {size}{merges}.")


def _read(texts: Comparison) -> str:
    """Which texts the model was measured on."""
    total = texts.total
    what = texts.texts[0].name if len(texts.texts) == 1 else f"{len(texts.texts)} texts"
    return shown.prose(f"From {what}: {total.characters:,} characters, {total.words:,} words.")


def _frequent(deck: Deck, cards: Sequence[TokenCard]) -> list[tuple[Chips, str]]:
    """The tokens that the texts have most often."""
    used = sorted((card for card in cards if card.count), key=lambda card: (-card.count, card.id))
    return _valued(deck, [(card.token, f"{card.count:,}") for card in used[:_MOST]])


def _valued(deck: Deck, values: Sequence[tuple[str, str]]) -> list[tuple[Chips, str]]:
    """Tokens, each beside its number."""
    return [(deck.tokens([token], shown.token(token)), value) for token, value in values]


def _chosen(summary: Summary) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Tokens with what they were chosen by."""
    if summary.frequent:
        counted = [(token, f"{count:,}") for token, count in summary.frequent]
        yield "Most frequent in training", counted
    for title, pieces in (
        ("Highest scores", summary.highest),
        ("Lowest scores", summary.lowest),
    ):
        if pieces:
            yield title, [(token, f"{score:.4f}") for token, score in pieces]


def _histories(summary: Summary) -> Iterator[tuple[str, tuple[MergeRecord, ...]]]:
    if summary.first_merges:
        yield "First merges", summary.first_merges
    if summary.last_merges:
        yield "Last merges", summary.last_merges


def _merges(deck: Deck, records: Sequence[MergeRecord]) -> list[dict[str, Any]]:
    return [
        {
            "step": f"{record.step:,}",
            "parts": deck.tokens([record.left, record.right], f"step {record.step}: the pair"),
            "token": deck.tokens([record.token], f"step {record.step}: the token"),
            "count": "\N{EN DASH}" if record.count is None else f"{record.count:,}",
            "score": "" if record.score is None else f"{float(record.score):.4g}",
        }
        for record in records
    ]
