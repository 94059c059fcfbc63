"""Reports of compare and inspect: `--html`, `--plot` and `--chart`.

Options are checked before the work, and the files are written after it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl.cli import streams
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, printable

if TYPE_CHECKING:
    from tokctl.analysis.comparison import Comparison
    from tokctl.analysis.explain.summary import UseCurves
    from tokctl.analysis.explain.tokens import TokenCard
    from tokctl.extras.suite import Suite
    from tokctl.report.charts.drawing import Drawing
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer

#: Tokens of a model that a page has cards for, at most.
_CARDS = 3_000
#: Tokens on a model's page that are spread evenly over the vocabulary.
_WALK = 120
#: Most frequent tokens of the texts that a model's page has cards for.
_FREQUENT = 40


@dataclass(frozen=True)
class RequestedFiles:
    """Requested files: a page, a chart or both.

    Attributes:
        html: the path of the page; None: no page.
        plot: the path of the chart; None: no chart.
        chart: the name of the chart; None: the first one.
    """

    html: str | None = None
    plot: str | None = None
    chart: str | None = None

    def __bool__(self) -> bool:
        return self.html is not None or self.plot is not None


def requested_report(
    world: Console,
    command: str,
    *,
    html: str | None,
    plot: str | None,
    chart: str | None,
    others: Sequence[str] = (),
) -> RequestedFiles | None:
    """Return the requested files, or None if `--chart list` has been answered.

    Args:
        world: the streams, and the inputs of the command.
        command: `compare` or `inspect`.
        html: the path of the page.
        plot: the path of the chart.
        chart: the name of the chart, or `list`.
        others: options of the command line that ask for another kind of output.

    Raises:
        TokctlError: there is no such chart, a file can't be written, another output is requested
            as well, or the extra `report` is not installed.
    """
    from tokctl.report import charts

    names = charts.COMPARE if command == "compare" else charts.INSPECT
    if chart == "list":
        lines = "".join(f"{name}\t{what}\n" for name, what in names.items())
        world.stdout.write(lines.encode())
        world.stdout.flush()
        return None
    if chart is not None and plot is None:
        raise BadOption(
            "--chart needs --plot", "name the chart's file: --plot FILE.svg", "missing-option"
        )
    if chart is not None and chart not in names:
        raise BadOption(
            f"no chart of tokctl {command} is called {chart!r}",
            f"choose one of: {', '.join(names)}",
            "unknown-name",
        )
    report = RequestedFiles(html, plot, chart)
    if not report:
        return report
    written = "--html" if html is not None else "--plot"
    if others:
        raise BadOption(
            f"{written} and {others[0]} are two outputs", "choose one of them", "conflict"
        )

    charts.check_extra()
    for option, path in (("--html", html), ("--plot", plot)):
        if path is not None:
            _check(world, option, path)
    if plot is not None:
        from tokctl.report.charts.drawing import ending_of

        ending_of(plot)
    return report


def _check(world: Console, option: str, path: str) -> None:
    if path == "-":
        raise BadOption(f"{option} can't go to stdout", f"name a file: {option} FILE", "bad-value")
    with streams.named(option):
        streams.check_output(world, path)


def write_comparison(
    world: Console,
    report: RequestedFiles,
    comparison: Comparison,
    models: Mapping[str, Tokenizer],
    suite: Suite | None = None,
) -> None:
    """Write the page or the chart of a comparison.

    Args:
        world: where the paths are printed.
        report: the files to write.
        comparison: the results.
        models: the compared models by name.
        suite: the results of the suite, for the page; None: no suite.
    """
    from tokctl.analysis.explain.summary import use_curves

    uses: dict[str, UseCurves] = {}
    cards: dict[str, Sequence[TokenCard]] = {}
    for place, found in enumerate(comparison.models):
        tokenizer = models[found.name]
        uses[found.name] = use_curves(tokenizer, found.total.counts.id_counts)
        if report.html is not None:
            cards[found.name] = _cards(tokenizer, comparison, place)
    if report.html is not None:
        from tokctl.extras.page import compare_page

        filled = {name: tokenizer.model for name, tokenizer in models.items()}
        page = compare_page(comparison, cards, uses, suite, filled)
        _write(world, "--html", report.html, page.encode())
    if report.plot is not None:
        from tokctl.report.charts.figures import compare_drawings

        _plot(world, report, compare_drawings(comparison, uses))


def _cards(
    tokenizer: Tokenizer, comparison: Comparison, place: int, first: Sequence[int] = ()
) -> tuple[TokenCard, ...]:
    """Return the cards of the tokens that a page of this comparison shows, at most `_CARDS`.

    The ids of `first` come before the others.
    """
    from tokctl.analysis.explain.tokens import token_cards

    cuts = [sample.segmentations[place] for sample in comparison.samples]
    cuts += [word.segmentations[place] for word in comparison.disagreements]
    # Only this model's segmentation: models of other sizes have other ids.
    cuts += [story.cuts[place].segmentation for story in comparison.stories]
    ids = dict.fromkeys(first)
    ids.update((id_, None) for cut in cuts for id_ in cut.ids if id_ is not None)
    counts = [text.counts.id_counts for text in comparison.models[place].texts]
    return token_cards(tokenizer, list(ids)[:_CARDS], counts)


def write_model(
    world: Console,
    report: RequestedFiles,
    name: str,
    tokenizer: Tokenizer,
    texts: Sequence[Source] | None,
    errors: str,
) -> None:
    """Write the page or the chart of one model.

    Args:
        world: where the paths are printed.
        report: the files to write.
        name: the name of the model on the page.
        tokenizer: the model.
        texts: texts to measure the model on; None: only the model itself.
        errors: `strict` or `replace`, for texts that are not UTF-8.
    """
    from tokctl.analysis.comparison import compare
    from tokctl.analysis.explain import summarize
    from tokctl.analysis.explain.summary import model_curves, use_curves
    from tokctl.analysis.explain.tokens import token_cards

    summary = summarize(tokenizer)
    curves = model_curves(tokenizer)
    measured, use = None, None
    if texts is not None:
        texts = [text._replace(name=printable(text.name)) for text in texts]
        measured = compare([(printable(name), tokenizer)], texts, errors=errors)
        use = use_curves(tokenizer, measured.models[0].total.counts.id_counts)
    if report.html is not None:
        from tokctl.extras.page import inspect_page

        size = tokenizer.vocab_size
        walk = [(step * size) // _WALK for step in range(_WALK)] if size > _WALK else range(size)
        spelled = {token: id_ for id_, token in enumerate(tokenizer.tokens)}
        named = [token for token, _ in summary.longest + summary.frequent]
        named += [token for token, _ in summary.highest + summary.lowest]
        for merge in summary.first_merges + summary.last_merges:
            named += [merge.left, merge.right, merge.token]
        ids = [*walk, *(spelled[token] for token in named if token in spelled)]
        if measured:
            total = measured.models[0].total.counts.id_counts
            ids += sorted(total, key=lambda id_: (-total[id_], id_))[:_FREQUENT]
            cards = _cards(tokenizer, measured, 0, ids)
        else:
            cards = token_cards(tokenizer, ids)
        page = inspect_page(name, summary, curves, cards, measured, use, walk, tokenizer.model)
        _write(world, "--html", report.html, page.encode())
    if report.plot is not None:
        from tokctl.report.charts.figures import inspect_drawings

        _plot(world, report, inspect_drawings(summary, curves, use))


def _plot(world: Console, report: RequestedFiles, drawings: Mapping[str, Drawing]) -> None:
    from tokctl.report.charts.drawing import chart_bytes, ending_of

    assert report.plot is not None
    name = report.chart or next(iter(drawings), "")
    if name not in drawings:
        there = f"there are: {', '.join(drawings)}" if drawings else "there are none"
        raise BadOption(
            f"this result has no chart {name!r}: nothing to draw", there, "unknown-name"
        )
    _write(world, "--plot", report.plot, chart_bytes(drawings[name], ending_of(report.plot)))


def _write(world: Console, option: str, path: str, data: bytes) -> None:
    """Write a file, whole or not at all, and print its path on stdout."""
    from tokctl.core.files import whole_file

    with streams.named(option), whole_file(path) as file:
        file.write(data)
    if not streams.is_same_file(world.stdout, path):  # else stdout is the file
        world.stdout.write(os.fsencode(path) + b"\n")
        world.stdout.flush()
