"""Every answer in its three forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tokctl.analysis.explain import (
    Explanation,
    FileFacts,
    MergeRecord,
    PairCounts,
    PreTokenState,
    Summary,
    TextUse,
    TokenHistory,
    TokenPattern,
    TokenUse,
)
from tokctl.analysis.health import Health
from tokctl.model import FilledRecipe, Round
from tokctl.render.inspect import as_json
from tokctl.render.inspect.health import health_lines, show_health
from tokctl.render.inspect.merges import merges_lines, show_merges
from tokctl.render.inspect.pairs import pairs_lines, show_pairs
from tokctl.render.inspect.plain import as_lines
from tokctl.render.inspect.recipe import facts_table, whole_recipe
from tokctl.render.inspect.rounds import rounds_lines, show_rounds
from tokctl.render.inspect.state import show_state, state_lines
from tokctl.render.inspect.summary import show_summary, summary_lines
from tokctl.render.inspect.token import show_token, token_lines
from tokctl.render.inspect.uses import FEW, show_use, use_lines
from tokctl.render.inspect.word import show_word, word_lines

#: Lines that a terminal is shown of a corpus state or of a token's uses.
FITTING = 30


@dataclass(frozen=True)
class Forms:
    """An answer: on a terminal, as lines for a pipe, and as data for JSON."""

    show: Callable[[Console], None]
    lines: Callable[[], str]
    data: Callable[[], dict[str, Any]]


def merges(
    records: Sequence[MergeRecord], total: int, wanted: TokenPattern | None, limit: int | None
) -> Forms:
    """Merges of a history of `total` steps; `wanted` are the tokens that were asked for."""
    return Forms(
        lambda console: show_merges(console, records, total, wanted, limit),
        lambda: merges_lines(records[:limit]),
        lambda: as_json.merges(records[:limit]),
    )


def pairs(found: PairCounts, merged: MergeRecord | None, limit: int | None) -> Forms:
    """The pairs of a corpus state; `merged` is the merge that the model makes next."""
    return Forms(
        lambda console: show_pairs(console, found, merged, limit or FITTING),
        lambda: pairs_lines(found, limit),
        lambda: as_json.pairs(found, limit),
    )


def state(
    step: int, merge: MergeRecord | None, words: Sequence[PreTokenState], limit: int | None
) -> Forms:
    """A corpus state; `merge` is the step that led there. `limit` counts words."""
    return Forms(
        lambda console: show_state(console, words, merge, limit or FITTING),
        lambda: state_lines(words[:limit]),
        lambda: as_json.state(step, merge, words[:limit]),
    )


def word(explanation: Explanation) -> Forms:
    return Forms(
        lambda console: show_word(console, explanation),
        lambda: word_lines(explanation),
        lambda: as_json.word(explanation),
    )


def token(history: TokenHistory, limit: int | None, use: TokenUse | None = None) -> Forms:
    """A token's past and future, and what a text makes of it; `limit` counts the tokens made
    with it, and the words that use it."""
    return Forms(
        lambda console: show_token(console, history, limit or FITTING, use),
        lambda: token_lines(history, limit, use),
        lambda: as_json.token(history, limit, use),
    )


def use(found: TextUse, limit: int | None) -> Forms:
    """Which tokens a text uses; `limit` counts those of each list on a terminal."""
    return Forms(
        lambda console: show_use(console, found, limit or FEW),
        lambda: use_lines(found),
        lambda: as_json.use(found),
    )


def rounds(records: Sequence[Round]) -> Forms:
    """The rounds of a Unigram training."""
    return Forms(
        lambda console: show_rounds(console, records),
        lambda: rounds_lines(records),
        lambda: as_json.rounds(records),
    )


def recipe(model: FilledRecipe, source: FileFacts) -> Forms:
    """A model's recipe, stage by stage; as JSON, every field of it."""
    return Forms(
        lambda console: console.print(facts_table(whole_recipe(model, source))),
        lambda: as_lines(whole_recipe(model, source)),
        lambda: model.recipe.to_dict() | as_json.source(source),
    )


def health(name: str, report: Health) -> Forms:
    """The health of the model of the file `name`."""
    return Forms(
        lambda console: show_health(console, name, report),
        lambda: health_lines(name, report),
        report.to_dict,
    )


def summary(name: str, facts: Summary) -> Forms:
    """The model of the file `name` at a glance."""
    return Forms(
        lambda console: show_summary(console, name, facts),
        lambda: summary_lines(name, facts),
        lambda: as_json.summary(facts),
    )
