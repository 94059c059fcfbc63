"""Training histories as documents: merges, corpus states, pairs, languages and Unigram rounds."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tokctl.analysis.explain import (
    MATCHES,
    MergeRecord,
    PairCount,
    PreTokenState,
    StatePairs,
    TokenPattern,
)
from tokctl.analysis.explain.languages import LanguageShares
from tokctl.analysis.metrics import MetricValue, Undefined
from tokctl.core.humanize import plural
from tokctl.model import Round
from tokctl.report.document import (
    Block,
    Column,
    Content,
    Curve,
    Figure,
    Gap,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    Tokens,
)
from tokctl.report.visible import brief

#: Lines of a corpus state or of its pairs that a terminal shows unless `--limit` says otherwise.
FITTING = 30
#: Most tokens of one word on a terminal.
_LONGEST = 60


def scored(score: float) -> str:
    """Return a natural log probability with four decimals."""
    return f"{score:.4f}"


def language_name(language: str | None) -> str:
    """Return the name of the language that chose a merge; "all" if all chose together."""
    return "" if language is None else brief(language) if language else "all"


def told_of(merge: MergeRecord, score: str) -> Iterator[str]:
    """Yield the known facts of a merge, for people.

    The facts are the count, `score` if the merge has one, the stage unless it is the first, and the
    language that chose the merge.
    """
    if merge.count is not None:
        yield f"count {merge.count:,}"
    if merge.score is not None:
        yield f"score {score}"
    if merge.stage is not None and merge.stage > 1:
        yield f"stage {merge.stage}"
    if merge.language is not None:
        yield f"chosen for {language_name(merge.language)}"


def decimal(merge: MergeRecord) -> str:
    """Return the score with four significant digits; empty without a score."""
    return "" if merge.score is None else f"{float(merge.score):.4g}"


# Merges.


def merges(
    records: Sequence[MergeRecord], total: int, wanted: TokenPattern | None, limit: int | None
) -> Report:
    """Return the document of a list of merges.

    Args:
        records: merges that were asked for.
        total: number of steps in the model's history.
        wanted: tokens that the merges were selected by; None for all merges.
        limit: most merges to show; None shows all.
    """
    shown = records[:limit]

    def blocks() -> Iterator[Block]:
        if shown:
            yield merges_table(shown, wanted.names if wanted else ())
        notes = [] if len(shown) == total else [f"{plural(len(shown), 'step')} of {total:,}"]
        if len(shown) < len(records):
            notes.append(f"--limit {len(records)} shows all {len(records):,} that were asked for")
        if wanted and wanted.how == "is":
            notes.append(f"in which {brief(wanted.text)} is left, right or made")
        elif wanted:
            known = plural(len(wanted.names), "token")
            how = MATCHES[wanted.how].removeprefix("the ")
            notes.append(f"of {known} whose {how} {brief(wanted.text)}")
        if notes:
            yield Paragraph("; ".join(notes), "dim")

    return Report(
        "inspect",
        "Merges",
        blocks,
        lambda: {"merges": list(map(merge_data, shown))},
    )


def merge_data(merge: MergeRecord) -> dict[str, Any]:
    """Return a merge for JSON, with its score as a decimal and exactly, as a fraction."""
    data = asdict(merge)
    if merge.language is None:
        del data["language"]
    score = data.pop("score")
    if merge.stage is None:
        del data["stage"]
    if score is not None:
        data |= {"score": float(score), "exact_score": str(score)}
    return data


#: Longest exact score, in characters, beside which the decimals always fit.
_SHORT = 4
#: Columns of the table besides its exact scores: steps, tokens, counts, decimals.
_BESIDE = 60


def merges_table(records: Sequence[MergeRecord], wanted: Container[str] = ()) -> Table:
    """Return a table of merges; tokens in `wanted` are underlined.

    If exact scores are long, a narrow terminal gets no decimals.
    """
    counted = any(merge.count is not None for merge in records)
    has_scores = any(merge.score is not None for merge in records)
    stages = any(merge.stage is not None for merge in records)
    longest = max((len(str(merge.score)) for merge in records), default=0)
    columns = [
        Column("step", right=True),
        Column("left", right=True, fold=True),
        Column("right", fold=True),
        Column("token", fold=True, style="bold"),
    ]
    if counted:
        columns.append(Column("count", right=True))
    if has_scores:
        least = 0 if longest <= _SHORT else _BESIDE + longest
        columns += [
            Column("score", right=True),
            Column("≈", right=True, least=least, field="decimal score"),
        ]
    if stages:
        columns.append(Column("stage", right=True))
    by_language = any(merge.language is not None for merge in records)
    if by_language:
        columns.append(Column("chosen for", fold=True))
    rows: list[list[Content]] = []
    for merge in records:
        row: list[Content] = [Figure(merge.step)]
        for token in (merge.left, merge.right, merge.token):
            row.append(Name(token, "underline" if token in wanted else ""))
        row += [Figure(merge.count)] if counted else []
        row += _score_cells(merge.score) if has_scores else []
        row += [Figure(merge.stage)] if stages else []
        row += (
            [Name(merge.language) if merge.language else language_name(merge.language)]
            if by_language
            else []
        )
        rows.append(row)
    return Table(tuple(columns), rows, has_head=True)


def _score_cells(score: Fraction | None) -> list[Content]:
    """Return a score exactly and as a decimal; two empty cells without a score."""
    return ["", ""] if score is None else [Figure(score, "exact"), Figure(score, "decimal")]


# Corpus states.


def state(
    step: int, merge: MergeRecord | None, words: Sequence[PreTokenState], limit: int | None
) -> Report:
    """Return the document of a corpus state, which marks the words that the last step changed.

    Args:
        step: number of the last step.
        merge: merge of this step; None before the first merge.
        words: pre-tokens of the state.
        limit: most words to show; None shows all in JSON, and a screenful elsewhere.
    """
    return Report(
        "inspect",
        "Corpus state",
        lambda: _state_blocks(merge, words, limit or FITTING),
        lambda: {"step": step, "merge": merge and merge_data(merge), "words": words[:limit]},
    )


def _state_blocks(
    merge: MergeRecord | None, words: Sequence[PreTokenState], limit: int
) -> Iterator[Block]:
    if merge is None:
        yield Paragraph("Before the first merge", "bold")
    else:
        pair = f"{brief(merge.left)} + {brief(merge.right)} → {brief(merge.token)}"
        yield Paragraph(f"After step {merge.step:,}: {pair}", "bold")
    columns = (
        Column(width=1, field="changed"),
        Column(right=True, field="count"),
        Column(fold=True, field="tokens"),
        Column(fold=True, field="before"),
    )
    places = _fitting(words, limit)
    rows: list[list[Content]] = []
    remarks = []
    for before, place in pairwise([-1, *places, len(words)]):
        if place - before > 1:
            remarks.append(len(rows))
            rows.append(["", "", Span(f"… {plural(place - before - 1, 'word')}", "dim"), ""])
        if place < len(words):
            rows.append(_state_cells(words[place]))
    yield Table(columns, rows, gap=1, remarks=remarks)
    notes = [plural(len(words), "word")]
    if merge:
        changed = sum(word.changed for word in words)
        marks = ", marked * and [ ]"
        notes.append(f"{changed:,} changed by this step" + (marks if changed else ""))
    if len(places) < len(words):
        notes.append(f"--limit {len(words)} shows all")
    yield Paragraph("; ".join(notes), "dim")


def _state_cells(word: PreTokenState) -> list[Content]:
    mark = Span("*", "bold green") if word.changed else ""
    tokens = Tokens(word.tokens, word.places, _LONGEST)
    if word.before is None:
        return [mark, Figure(word.count), tokens, ""]
    return [
        mark,
        Figure(word.count),
        tokens,
        [Span("was ", "dim"), Tokens(word.before, (), _LONGEST)],
    ]


def _fitting(words: Sequence[PreTokenState], limit: int) -> list[int]:
    """Return the indices of the words to show, in order.

    They are the first words, but up to half of the lines are kept for words that the step changed:
    the tie rule may have put them at the end.
    """
    if len(words) <= limit:
        return list(range(len(words)))
    changed = [place for place, word in enumerate(words) if word.changed][: limit // 2]
    first = [place for place in range(limit) if place not in changed][: limit - len(changed)]
    return sorted([*first, *changed])


# Pairs of a corpus state.

_REFUSED = {
    "rare": "rarer than the training allows",
    "long": "longer than the training allows",
    "words": "of more words than the training allows",
    "forbidden": "with a text that the training forbids",
    "special": "a special token",
    "cut": "cuts a character",
}
#: Columns from which a terminal shows the counts of both symbols in columns of their own.
_WIDE = 92


def pairs(found: StatePairs, merged: MergeRecord | None, limit: int | None) -> Report:
    """Return the document of a corpus state's pairs, with the values that the training compares.

    Args:
        found: pairs of the state.
        merged: merge that the model makes next; None after the last one.
        limit: most pairs to show; None shows all in JSON, and a screenful elsewhere.
    """
    return Report(
        "inspect",
        "Pairs",
        lambda: _pairs_blocks(found, merged, limit or FITTING),
        lambda: {
            "step": found.step,
            "pairs": list(map(_pair_data, found.pairs[:limit])),
            "unknown": found.unknown,
            "known": found.known,
        },
    )


def _pair_data(pair: PairCount) -> dict[str, Any]:
    data = asdict(pair)
    score = pair.score
    if data.pop("by_score") and score is not None:
        data |= {"score": float(score), "exact_score": str(score)}
    return data


def _pairs_blocks(found: StatePairs, merged: MergeRecord | None, limit: int) -> Iterator[Block]:
    after = f"after step {found.step:,}" if found.step else "before the first merge"
    yield Paragraph(f"Pairs {after}", "bold")
    shown = found.pairs[:limit]
    if shown:
        yield _pairs_table(shown)
    notes = [plural(len(found.pairs), "pair")]
    if any(pair.wins for pair in shown):
        notes.append("the one that would be merged next marked *")
    if len(shown) < len(found.pairs):
        notes.append(f"--limit {len(found.pairs)} shows all")
    yield Paragraph("; ".join(notes), "dim")
    if found.unknown:
        count = plural(found.unknown, "pair")
        yield Paragraph(f"{count} of symbols that the model does not know left out", "dim")
    for refusal, why in _REFUSED.items():
        refused = sum(pair.refused == refusal for pair in found.pairs)
        if refused:
            yield Paragraph(f"{plural(refused, 'pair')} not merged: {why}, marked -", "dim")
    if found.pairs and found.by_language:
        yield Paragraph(
            "Each language chose by its own text, and this one does not tell which came next: "
            "pairs are shown by count."
        )
    elif found.pairs and not found.known:
        yield Paragraph(
            "The file does not say by what its training chose: pairs are shown by count."
        )
    winner = next((pair for pair in found.pairs if pair.wins), None)
    if winner and merged and winner.step != merged.step:
        other = f"{brief(merged.left)} + {brief(merged.right)}"
        at = f"at step {merged.step:,}"
        yield Paragraph(f"The model merged {other} {at}: its own text was another.")


def _pairs_table(shown: Sequence[PairCount]) -> Table:
    by_score = shown[0].by_score
    columns = [
        Column(field="mark"),
        Column("left", right=True, fold=True),
        Column("right", fold=True),
    ]
    columns.append(Column("count", right=True, least=_WIDE if by_score else 0))
    if by_score:
        # On a narrow terminal the counts are part of the fraction instead.
        columns += [Column(name, right=True, least=_WIDE) for name in ("of left", "of right")]
        columns.append(Column("score", right=True, fold=True, least=_WIDE))
        columns.append(Column("score", right=True, fold=True, most=_WIDE - 1))
        columns.append(Column("≈", right=True, field="decimal score"))
    columns.append(Column("merged at", right=True))
    rows: list[list[Content]] = []
    for pair in shown:
        mark: Content = Span("*", "bold green") if pair.wins else "-" if pair.refused else ""
        row = [mark, Name(pair.left), Name(pair.right), Figure(pair.count)]
        if (score := pair.score) is not None:
            whole = f"{pair.count}/({pair.left_count}·{pair.right_count})"
            row += [
                Figure(pair.left_count),
                Figure(pair.right_count),
                Figure(score, "exact"),
                whole,
            ]
            row.append(Figure(score, "decimal"))
        row.append("never" if pair.step is None else Figure(pair.step))
        rows.append(row)
    strong = {place for place, pair in enumerate(shown) if pair.wins}
    return Table(tuple(columns), rows, has_head=True, strong=strong)


# Languages of a parity-aware training.


def cost_name(measure: str) -> str:
    """Return the unit of a language's cost under `measure`."""
    return "tokens" if measure == "tokens" else f"tokens per {measure.removesuffix('s')}"


def languages_table(found: LanguageShares) -> Table:
    """Return a row per language with the merges that it chose and its tokens before and after."""
    columns = [
        Column("language", fold=True, style="bold"),
        Column("merges chosen", right=True),
        Column("tokens before", right=True),
        Column("after", right=True),
    ]
    divides = found.measure != "tokens"
    if divides:
        columns.append(Column(cost_name(found.measure), right=True))
    rows: list[list[Content]] = []
    for one in found.languages:
        row: list[Content] = [Name(one.name), *map(Figure, (one.merges, one.before, one.after))]
        rows.append([*row, _figure(one.cost_after)])
    if found.together:
        rows.append(["all together", Figure(found.together), "", "", ""])
    rows.append(["Gini", "", _figure(found.gini_before), _figure(found.gini_after), ""])
    rows = [row[: len(columns)] for row in rows]
    return Table(tuple(columns), rows, has_head=True)


def languages_data(found: LanguageShares) -> dict[str, Any]:
    """Return the languages of a training for JSON."""
    return {
        "measure": found.measure,
        "together": found.together,
        "languages": {
            one.name: {"merges": one.merges, "before": one.before, "after": one.after}
            for one in found.languages
        },
        "gini": [
            None if isinstance(g, Undefined) else g for g in (found.gini_before, found.gini_after)
        ],
    }


def _figure(value: MetricValue) -> Figure:
    return Figure(None if isinstance(value, Undefined) else value, "index")


# Rounds of a Unigram training.

#: Dropped pieces per round on a terminal.
_EXAMPLES = 8


def rounds(records: Sequence[Round]) -> Report:
    """Return the document of the rounds of a Unigram training."""
    return Report(
        "inspect",
        "Rounds of the training",
        lambda: _rounds_blocks(records),
        lambda: {"rounds": rounds_data(records)},
    )


def rounds_data(records: Sequence[Round]) -> list[dict[str, Any]]:
    """Return the rounds for JSON."""
    return [
        record._asdict()
        | {"examples": [{"piece": piece, "loss": loss} for piece, loss in record.examples]}
        for record in records
    ]


def rounds_table(records: Sequence[Round]) -> Table:
    """Return a table with the figures of each round."""
    names = ("round", "pieces", "objective", "tokens", "unused", "dropped")
    rows = [
        [
            *map(Figure, (place, found.pieces)),
            Figure(found.objective, "score"),
            *map(Figure, (found.tokens, found.unused, found.dropped)),
        ]
        for place, found in enumerate(records, 1)
    ]
    return Table(tuple(Column(name, right=True, cut=True) for name in names), rows, has_head=True)


def _rounds_blocks(records: Sequence[Round]) -> Iterator[Block]:
    """Yield the loss curve, the table with an explanation, and examples of dropped pieces."""
    yield _loss_curve(records)
    yield rounds_table(records)
    for line in (
        "objective: mean negative log-likelihood of a pre-token, in nats; tokens: expected, "
        "of the whole text",
        "unused: expected less than half a time; dropped: by the loss without them, in the "
        "last round by their score",
    ):
        yield Paragraph(line, "dim")
    for place, found in enumerate(records, 1):
        if not found.examples:
            continue
        yield Gap()
        by_loss = any(loss is not None for _, loss in found.examples)
        title = f"Dropped in round {place:,}" + (", with their loss" if by_loss else "")
        yield Paragraph(title, "bold")
        pieces = [
            brief(piece) + ("" if loss is None else f" ({loss:.4g})")
            for piece, loss in found.examples[:_EXAMPLES]
        ]
        more = found.dropped - len(pieces)
        left_out = [Span(f", … {more:,} more", "dim")] if more > 0 else []
        yield Paragraph([", ".join(pieces), *left_out])


def _loss_curve(records: Sequence[Round]) -> Curve:
    """Return the curve of the rounds: a bar for the pieces and a dot for the objective.

    Bars start at 0; dots span the lowest to the highest objective.
    """
    lowest, highest = (fit(found.objective for found in records) for fit in (min, max))
    most = max(found.pieces for found in records) or 1
    points = tuple(
        (
            f"{place:,}",
            f"{found.pieces:,}",
            found.pieces / most,
            scored(found.objective),
            (found.objective - lowest) / (highest - lowest) if highest > lowest else 0.0,
        )
        for place, found in enumerate(records, 1)
    )
    return Curve(("round", "pieces", "objective"), points, (f"{lowest:.2f}", f"{highest:.2f}"))
