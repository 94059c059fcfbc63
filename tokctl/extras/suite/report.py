"""Results of `compare --suite`, for all forms: a row per figure, a column per model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tokctl.analysis.comparison.results import Comparison, Interval
from tokctl.analysis.health.embeddings import EmbeddingFacts
from tokctl.analysis.metrics import MetricValue, Undefined, written
from tokctl.analysis.suite_metrics import DEFINITIONS
from tokctl.core.humanize import file_names, listed, plural, times
from tokctl.extras.suite import (
    MOST_UNKNOWN,
    DomainFigures,
    DomainReport,
    Suite,
    SuiteModel,
    domain_names,
    reads,
)
from tokctl.extras.suite.splits import DIGITS, INDENTATIONS, STYLES, WAYS
from tokctl.report.compare import Row, body, figures, opening
from tokctl.report.document import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Legend,
    Paragraph,
    Report,
)
from tokctl.report.visible import brief, safe


@dataclass(frozen=True)
class Section:
    """Table of the suite.

    Attributes:
        metric: name of the metric shown, as `--explain` takes it.
        title: heading of the table.
        label: name of the first column.
        rows: rows of the table.
        notes: remarks on the figures.
    """

    metric: str
    title: str
    label: str
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()

    @property
    def has_best(self) -> bool:
        """Return whether a figure is the best of its row."""
        return any(
            isinstance(cell, Figure) and cell.verdict == "best"
            for _, cells in self.rows
            for cell in cells
        )


def suite_answer(suite: Suite, comparison: Comparison) -> Report:
    """Return the document of the suite, followed by the ordinary comparison of its models."""

    def data() -> dict[str, Any]:
        return {**comparison.to_dict(), "suite": suite.to_dict()}

    return Report(
        "compare",
        "Suite",
        lambda: _blocks(suite, comparison),
        data,
    )


def _blocks(suite: Suite, comparison: Comparison) -> Iterator[Block]:
    for line in opening(comparison):
        yield Paragraph(safe(line))
    if suite.published:
        yield Paragraph(safe(f"At hand on this machine: {listed(suite.published)}."))
    if suite.findings:
        yield _heading("What the figures say")
        yield Bullets(tuple(map(safe, suite.findings)))
    yield from suite_blocks(suite)
    yield _heading("The ordinary comparison")
    yield Paragraph("On the texts that are named alone, without those of the suite:", "dim")
    yield from body(comparison)


def suite_blocks(suite: Suite) -> Iterator[Block]:
    """Yield the tables of the suite."""
    models = tuple(safe(model.name) for model in suite.models)
    for section in sections(suite):
        yield _heading(section.title)
        rows = ((safe(label), cells) for label, cells in section.rows)
        yield figures(section.label, models, rows)
        if section.has_best:
            yield Legend()
        for note in section.notes:
            yield Paragraph(safe(note), "dim")


def _heading(text: str) -> Heading:
    return Heading(safe(text), "bold underline")


def sections(suite: Suite) -> Iterator[Section]:
    """Yield the sections that have rows, in reading order."""
    parts = (
        *(_domains, _languages, _characters, _numbers, _code),
        *(_stability, _undertrained, _candidates, _morphology),
    )
    return (section for part in parts for section in part(suite) if section.rows)


# -- By domain and language --------------------------------------------------------------------


def _domains(suite: Suite) -> Iterator[Section]:
    names = domain_names(suite)

    def rows(cell: Callable[[DomainReport, DomainFigures], Cell]) -> list[Row]:
        return [
            (name, [cell(domain, model) for model in domain.models])
            for name, domain in zip(names, suite.domains, strict=True)
        ]

    unread = any(not reads(model.figures) for domain in suite.domains for model in domain.models)
    notes = []
    if any(model.within_noise for domain in suite.domains for model in domain.models):
        notes.append(
            "~ as many tokens as the best, or more: the 95% interval of the difference holds 0"
        )
    if unread:
        notes.append(
            f"? over {MOST_UNKNOWN:.0%} of the tokens are unknown: text is lost, not compressed"
        )
    notes.append(
        "compare along a row, not down a column. A model that drops white space writes less: see "
        "which lines come back"
    )
    if len({model.vocab_size for model in suite.models}) > 1:
        sizes = [f"{model.name} {model.vocab_size:,}" for model in suite.models]
        notes.append(f"a larger vocabulary needs fewer tokens: {listed(sizes)} ids")
    yield Section(
        "bytes_per_token", "Bytes per token ↑, by domain", "domain", rows(_size), tuple(notes)
    )
    yield Section(
        "intervals",
        "95% intervals of bytes per token",
        "domain",
        rows(lambda _, model: _interval(model)),
        ("lines drawn anew: each domain has few, so that intervals are wide",),
    )
    if unread:
        yield Section(
            "unk_rate",
            "Tokens that are unknown ↓, by domain",
            "domain",
            rows(lambda _, model: _share(model.figures["unk_rate"])),
        )
    yield Section(
        "strr",
        "Words that are one token (STRR) ↑, by domain",
        "domain",
        rows(lambda _, model: _share(model.figures["strr"])),
    )
    yield Section(
        "round_trip",
        "Lines that come back exactly ↑, by domain",
        "domain",
        rows(lambda _, model: _share(model.figures["round_trip"])),
    )


def _size(domain: DomainReport, model: DomainFigures) -> Figure:
    verdict = ""
    if not reads(model.figures):
        verdict = "unread"
    elif len(domain.models) > 1:  # a single model has no rival
        close = "close" if model.within_noise else ""
        verdict = "best" if model.model == domain.fewest else close
    return Figure(model.figures["bytes_per_token"], "ratio", verdict)


def _interval(model: DomainFigures) -> str:
    found = model.intervals["bytes_per_token"]
    if not isinstance(found, Interval):
        return "n/a"
    return f"{written(found.low, 'ratio')} to {written(found.high, 'ratio')}"


def _languages(suite: Suite) -> Iterator[Section]:
    found = suite.languages
    rows: list[Row] = []
    for language in found.languages:
        cells: list[Cell] = [
            Figure(own["parity"], "ratio", "" if reads(own) else "unread")
            for own in language.figures
        ]
        rows.append((f"{language.name} ({suite.scripts[language.name]})", cells))
    any_lost = not all(reads(own) for language in found.languages for own in language.figures)
    rows.append(("Gini of tokens per line", [Figure(gini, "ratio") for gini in found.gini]))
    lines = found.languages[0].lines
    notes = [f"{plural(lines, 'sentence')} in each language, which say the same"]
    if any_lost:
        notes.append(
            f"? over {MOST_UNKNOWN:.0%} of the tokens are unknown: a language that is not read "
            "looks cheap, and the Gini coefficient fair"
        )
    title = f"Parity ↓: tokens over those of {found.reference}"
    yield Section("parity", title, "language", rows, tuple(notes))


def _characters(suite: Suite) -> Iterator[Section]:
    scripts = list(dict.fromkeys(suite.scripts.values()))
    rows = [
        (script, [_share(model.characters[script].of_non_ascii) for model in suite.models])
        for script in scripts
    ]
    rows.append(
        ("all of them", [_share(model.all_characters.of_non_ascii) for model in suite.models])
    )
    rows.append(
        ("all, ASCII among them", [_share(model.all_characters.of_all) for model in suite.models])
    )
    yield Section(
        "characters_cut",
        "Characters beyond ASCII that are cut into bytes ↓, by script",
        "script",
        rows,
        ("a model that can't read a script cuts none of its characters: see what is unknown",),
    )


# -- Numbers and code --------------------------------------------------------------------------

#: Row labels of `splits.WAYS`.
_WAYS = {
    "unknown": "unknown",
    "whole": "one token",
    "right": "groups of three from the right",
    "left": "groups of three from the left",
    "single": "a token for each digit",
    "other": "cut otherwise",
}


def _numbers(suite: Suite) -> Iterator[Section]:
    models = suite.models
    sizes = [
        (digits, tokens)
        for digits in DIGITS
        for tokens in sorted({k for model in models for k in model.numbers.tokens[digits]})
    ]
    yield Section(
        "number_tokens",
        "Numbers from 1 to 9,999: tokens",
        "",
        [
            (
                f"{plural(digits, 'digit')}: {plural(tokens, 'token')}",
                [_share(model.numbers.tokens[digits].get(tokens, 0.0)) for model in models],
            )
            for digits, tokens in sizes
        ],
    )
    yield Section(
        "number_groups",
        "Numbers from 1 to 9,999: how they are cut",
        "",
        [
            (f"{digits} digits: {_WAYS[way]}", cells)
            for digits in DIGITS[1:]
            for way in WAYS
            if any(model.numbers.ways[digits][way] for model in models)
            for cells in [[_share(model.numbers.ways[digits][way]) for model in models]]
        ],
    )
    yield Section(
        "number_places",
        "Numbers from 1 to 9,999: cuts by place",
        "",
        [
            (
                f"before the last {plural(place, 'digit') if place > 1 else 'digit'}",
                [_share(model.numbers.places[place]) for model in models],
            )
            for place in range(1, DIGITS[-1])
        ],
        ("a share near 0 or 1 is a rule; one half is none",),
    )


def _code(suite: Suite) -> Iterator[Section]:
    def rows(label: str, cell: Callable[[SuiteModel, str], Cell]) -> Iterable[Row]:
        return (
            (f"{label}, {style}", [cell(model, style) for model in suite.models])
            for style in STYLES
        )

    yield Section(
        "identifier_tokens",
        "Names in code",
        "",
        [
            *rows("tokens ↓", lambda m, style: Figure(m.code.identifier_tokens[style], "ratio")),
            *rows("one token", lambda m, style: _share(m.code.identifier_whole[style])),
            *rows("cut at each word", lambda m, style: _share(m.code.identifier_borders[style])),
        ],
    )
    yield Section(
        "indentation_tokens",
        "Tokens of an indentation ↓",
        "",
        [
            (
                plural(length, kind),
                [Figure(model.code.indentation[kind, length]) for model in suite.models],
            )
            for kind, length in INDENTATIONS
        ],
        _reasons(model.code.indentation[INDENTATIONS[0]] for model in suite.models),
    )
    yield Section(
        "operator_tokens",
        "Operators of several characters",
        "",
        [("one token ↑", [_share(model.code.operators) for model in suite.models])],
    )


# -- Stability, training, morphology -----------------------------------------------------------

#: Figures of a variation, and how each is written.
_OF_VARIATIONS = {"changed": "share", "token_ratio": "ratio", "kept": "share"}


def _stability(suite: Suite) -> Iterator[Section]:
    reports = [model.stability for model in suite.models]
    words = plural(len(reports[0].words), "word")
    (text,) = file_names([suite.text])
    for metric, kind in _OF_VARIATIONS.items():
        rows = [
            (
                f"{one.group}: {one.name}",
                [Figure(report.variations[place].figures[metric], kind) for report in reports],
            )
            for place, one in enumerate(reports[0].variations)
        ]
        yield Section(
            metric,
            f"Under typos, case and spaces: {DEFINITIONS[metric].label}",
            "",
            rows,
            (f"{words} of {text}, each with one change",),
        )


def _undertrained(suite: Suite) -> Iterator[Section]:
    reports = [model.undertrained for model in suite.models]
    given = any(report.embeddings is not None for report in reports)
    names = ["unreachable", "never_used", "rarely_used", *(("candidates", "apart") * given)]
    yield Section(
        "never_used",
        "Tokens that are hardly trained",
        "",
        [
            (DEFINITIONS[name].label, [_share(report.figures[name]) for report in reports])
            for name in names
        ],
        (
            f"counted on {suite.counted:,} bytes of text; rarely: fewer than "
            f"{times(reports[0].rare)}. A language model was trained on other text",
            *_reasons(report.figures[name] for name in names for report in reports),
        ),
    )


#: Most candidates that are shown.
_CANDIDATES = 10


def _candidates(suite: Suite) -> Iterator[Section]:
    """Yield a table per model with embeddings: the tokens whose embeddings look untrained."""
    for place, model in enumerate(suite.models):
        facts = model.undertrained.embeddings
        if not isinstance(facts, EmbeddingFacts):
            continue
        yield Section(
            "candidates",
            f"{model.name}: lowest {facts.indicator} of its embeddings",
            "token",
            [
                (
                    f"{one.id} {brief(one.token)}",
                    [
                        Figure(one.value, "index") if n == place else ""
                        for n in range(len(suite.models))
                    ],
                )
                for one in facts.candidates[:_CANDIDATES]
            ],
            (
                f"{facts.tensor}: median {facts.median:.4f}; "
                f"{facts.apart:,} of {facts.of:,} tokens are outliers, below {facts.bound:.4f}",
            ),
        )


def _morphology(suite: Suite) -> Iterator[Section]:
    for name in suite.models[0].morphology:
        reports = [model.morphology[name] for model in suite.models]
        first = reports[0]
        (shown,) = file_names([name])
        yield Section(
            "morphscore_recall",
            f"Boundaries of morphemes, of {shown}",
            "",
            [
                (
                    DEFINITIONS[metric].label,
                    [_share(report.figures[metric]) for report in reports],
                )
                for metric in first.figures
            ],
            (
                f"{plural(first.words, 'word')}, {first.one_morpheme:,} of one morpheme, "
                f"{first.not_surface:,} left out, whose morphemes do not add up to them",
                "reported, and no model is ranked by it: such agreement says little of how good a "
                "language model gets",
            ),
        )


def _share(figure: MetricValue) -> Figure:
    return Figure(figure, "share")


def _reasons(figures: Iterable[MetricValue]) -> tuple[str, ...]:
    """Return the reasons for absent figures, each once."""
    reasons = dict.fromkeys(figure.reason for figure in figures if isinstance(figure, Undefined))
    return tuple(f"n/a: {reason}" for reason in reasons)
