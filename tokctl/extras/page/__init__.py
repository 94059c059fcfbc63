"""A comparison or a model as one HTML page that needs only a browser.

The page contains its tables, charts as SVG, a style sheet, a script, and the models with which the
script splits any text (`live`). It fetches nothing, and its Content-Security-Policy forbids
fetching. Text of corpora and models is first made visible (`spelling`, `prose`) and then escaped by
the templates. The script sets such text as text, never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tokctl import __version__
from tokctl.analysis.comparison import Comparison, Cut, ModelSegmentation
from tokctl.analysis.explain import MergeRecord, Summary
from tokctl.analysis.explain.summary import ModelCurves, UseCurves
from tokctl.analysis.explain.tokens import TokenCard, TreeNode
from tokctl.analysis.explain.words import Path
from tokctl.analysis.metrics import HEADLINE, OTHER_WAYS, Metric, MetricValue, Undefined, written
from tokctl.core.humanize import file_names, times
from tokctl.extras.page.live import page_data
from tokctl.extras.suite import Suite
from tokctl.extras.suite.report import sections
from tokctl.report.charts import check_extra
from tokctl.report.charts.converter import Converter
from tokctl.report.charts.drawing import PAGE, Drawing, page_svg
from tokctl.report.compare import (
    MOST_TEXTS,
    difference,
    headline,
    interval_words,
    language_notes,
    language_rows,
    made_of,
    metric_figure,
    metric_named,
    notes,
    opening,
)
from tokctl.report.document import Cell, Figure, Name
from tokctl.report.inspect.model import check_rows, histories, summary_facts
from tokctl.report.inspect.training import language_name, languages_table
from tokctl.report.visible import drawn, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from tokctl.model import Model


#: Figure, difference from the baseline (None for the baseline itself), and interval in words.
MetricCell = tuple[Figure, Figure | None, str]


def compare_page(
    comparison: Comparison,
    cards: Mapping[str, Sequence[TokenCard]],
    uses: Mapping[str, UseCurves],
    suite: Suite | None = None,
    models: Mapping[str, Model] | None = None,
) -> str:
    """Return the page of a comparison; equal results give equal bytes.

    Args:
        comparison: result of `compare`.
        cards: for each model name, the cards of the tokens that open one; other tokens are shown
            without.
        uses: for each model name, how often the texts use its tokens.
        suite: suite of the same models, shown after the metrics; None for no suite.
        models: models by name, with which the page splits any text; None leaves this out.

    Raises:
        TokctlError: the extra `report` is not installed, or the process that draws failed.
    """
    check_extra()
    from tokctl.report.charts.figures import compare_drawings

    names = [model.name for model in comparison.models]
    decks = [TokenCards(index, name, cards.get(name, ())) for index, name in enumerate(names)]
    texts = file_names([text.name for text in comparison.texts])
    # The child loads the drawing library while the rest of the page is built.
    with Converter() as converter:
        return _rendered(
            "compare.html.j2",
            title="Tokenizers compared",
            headline=prose(headline(comparison)),
            opening=[prose(line) for line in opening(comparison) if line != headline(comparison)],
            findings=[*(suite.findings if suite else ()), *comparison.findings],
            suite=list(sections(suite)) if suite else [],
            names=names,
            baseline=comparison.baseline,
            models=comparison.models,
            speeds=_speeds(comparison),
            metrics=metric_rows(comparison),
            notes=notes(comparison),
            samples=sample_rows(comparison, decks),
            words=_words(comparison, decks),
            stories=_stories(comparison, decks),
            texts=_texts(comparison),
            languages=_languages(comparison),
            gini=language_rows(comparison, "parity")[-1:],
            language_notes=language_notes(comparison),
            overlap=_matrix(comparison.overlap),
            agreement=_matrix(comparison.agreement),
            charts=charts(converter, compare_drawings(comparison, uses).values()),
            decks=deck_data(decks, texts),
            made_of=list(made_of(comparison.provenance)) if comparison.provenance else [],
            live=page_data([(prose(name), models[name]) for name in names]) if models else None,
        )


def metric_rows(comparison: Comparison) -> list[tuple[Metric, list[MetricCell]]]:
    """Return each metric with one cell per model."""
    return [
        (
            metric,
            [
                (
                    metric_figure(comparison, model, metric),
                    None
                    if model.name == comparison.baseline
                    else difference(comparison, model, metric),
                    interval_words(model, metric),
                )
                for model in comparison.models
            ],
        )
        for metric in (*HEADLINE, *OTHER_WAYS)
    ]


def sample_rows(comparison: Comparison, decks: Sequence[TokenCards]) -> list[dict[str, Any]]:
    """Return the sample sentences with the tokens of each model."""
    return [
        {"text": sample.text, "cuts": _cuts(sample.segmentations, decks, sample.text)}
        for sample in comparison.samples
    ]


def _cuts(cuts: Sequence[ModelSegmentation], decks: Sequence[TokenCards], text: str) -> list[Any]:
    return [
        (deck.name, len(cut.tokens), deck.segmentation(cut, text))
        for deck, cut in zip(decks, cuts, strict=True)
    ]


def _words(comparison: Comparison, decks: Sequence[TokenCards]) -> list[dict[str, Any]]:
    return [
        {
            "word": entry.word,
            "count": entry.count,
            "cuts": _cuts(entry.segmentations, decks, entry.word),
        }
        for entry in comparison.disagreements
    ]


def _stories(comparison: Comparison, decks: Sequence[TokenCards]) -> list[dict[str, Any]]:
    return [
        {
            "word": story.word,
            "count": story.count,
            "cuts": list(
                zip(
                    _cuts([cut.segmentation for cut in story.cuts], decks, story.word),
                    [_reason(cut) for cut in story.cuts],
                    strict=True,
                )
            ),
        }
        for story in comparison.stories
    ]


def _reason(cut: Cut) -> str:
    """Return why a model splits a word as it does, and the splits at other vocabulary sizes."""
    elsewhere = (
        f"with {size:,} ids: {' '.join(cut_there.shown)}" for size, cut_there in cut.elsewhere
    )
    return "; ".join([cut.reason, *elsewhere])


def _speeds(comparison: Comparison) -> list[tuple[str, str]]:
    """Return encoding and decoding speeds in MB/s; empty if nothing was measured."""
    speeds = [model.speed for model in comparison.models if model.speed]
    return [
        (written(speed.encode_mb_per_s, "speed"), written(speed.decode_mb_per_s, "speed"))
        for speed in speeds
    ]


def _texts(comparison: Comparison) -> list[tuple[str, str, list[str]]]:
    """Return name, size and bytes per token of the first texts; empty for a single text."""
    if len(comparison.texts) < 2:
        return []
    metric = metric_named("bytes_per_token")
    names = file_names([text.name for text in comparison.texts[:MOST_TEXTS]])
    return [
        (
            name,
            f"{text.bytes:,}",
            [metric.written(m.texts[n].figures[metric.name]) for m in comparison.models],
        )
        for n, (name, text) in enumerate(zip(names, comparison.texts, strict=False))
    ]


#: Figures shown for each language, with their labels.
_COSTS = {
    "parity": "parity",
    "tokens_per_line": "tokens per line",
    "fertility": "fertility",
    "bytes_per_token": "bytes per token",
}


def _languages(comparison: Comparison) -> list[tuple[str, int, list[list[tuple[str, str]]]]]:
    """Return each language with its lines and, per model, its figures with their labels."""
    languages = comparison.languages
    return [
        (
            entry.name,
            entry.lines,
            [
                [(written(figure[key], "ratio"), label) for key, label in _COSTS.items()]
                for figure in entry.figures
            ],
        )
        for entry in (languages.languages if languages else ())
    ]


def _matrix(matrix: Sequence[Sequence[MetricValue]]) -> list[list[tuple[str, int]]]:
    """Return figures with their tenths, which set the shade behind them; a dash on the diagonal."""
    return [
        [
            ("\N{EN DASH}", -1)
            if i == j
            else (written(cell, "index"), -1 if isinstance(cell, Undefined) else int(10 * cell))
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(matrix)
    ]


#: Most frequent tokens of the texts that are listed.
_MOST = 40


def inspect_page(
    name: str,
    summary: Summary,
    curves: ModelCurves,
    cards: Sequence[TokenCard],
    texts: Comparison | None = None,
    use: UseCurves | None = None,
    walk: Sequence[int] = (),
    model: Model | None = None,
) -> str:
    """Return the page of a model; equal results give equal bytes.

    Args:
        name: name of the model's file.
        summary: facts about the model.
        curves: merges and scores for the charts.
        cards: cards of the tokens that open one, including the tokens of `walk`.
        texts: measurements of the model on texts; None without texts.
        use: how often these texts use the model's tokens; None without texts.
        walk: ids, spread over the vocabulary, whose tokens are listed.
        model: model with which the page splits any text; None leaves this out.

    Raises:
        TokctlError: the extra `report` is not installed, or the process that draws failed.
    """
    check_extra()
    from tokctl.report.charts.figures import inspect_drawings

    (name,) = file_names([name])
    deck = TokenCards(0, name, cards)
    by_id = {card.id: card.token for card in cards}
    # The child loads the drawing library while the rest of the page is built.
    with Converter() as converter:
        return _rendered(
            "inspect.html.j2",
            title=f"Tokenizer: {deck.name}",
            headline=_headline(summary),
            opening=[],
            read=_read(texts) if texts else "",
            facts=list(summary_facts(summary)),
            checks=list(check_rows(summary.checks, summary)),
            samples=sample_rows(texts, [deck]) if texts else [],
            # NSL is relative to the model itself here, so it is always 1.
            metrics=[row for row in metric_rows(texts) if row[0].name != "nsl"] if texts else [],
            notes=notes(texts) if texts else [],
            names=[deck.name],
            baseline=deck.name,
            frequent=_frequent(deck, cards),
            walk=deck.tokens((by_id[id_] for id_ in walk if id_ in by_id), "tokens by id"),
            longest=_valued(deck, [(t, f"{n:,}") for t, n in summary.longest]),
            unit=summary.unit,
            chosen=[(title, _valued(deck, values)) for title, values in _chosen(summary)],
            merges=[
                (title.capitalize(), _merges(deck, merges)) for title, merges in histories(summary)
            ],
            languages=languages_table(summary.languages) if summary.languages else None,
            rounds=summary.rounds,
            charts=charts(converter, inspect_drawings(summary, curves, use).values()),
            decks=deck_data([deck], file_names([t.name for t in texts.texts]) if texts else []),
            live=page_data([(deck.name, model)]) if model else None,
        )


def _headline(summary: Summary) -> str:
    size = f"{summary.vocab_size:,} ids"
    merges = f", {summary.merges:,} merges" if summary.merges is not None else ""
    algorithm = summary.recipe.traits.title
    return prose(f"{algorithm}, recipe {summary.recipe.name}: {size}{merges}.")


def _read(texts: Comparison) -> str:
    """Return a sentence on the texts that the model was measured on."""
    total = texts.total
    kinds = (
        file_names([texts.texts[0].name])[0]
        if len(texts.texts) == 1
        else f"{len(texts.texts)} texts"
    )
    return prose(f"From {kinds}: {total.characters:,} characters, {total.words:,} words.")


def _frequent(deck: TokenCards, cards: Sequence[TokenCard]) -> list[tuple[Chips, str]]:
    """Return the tokens that the texts use most, with their counts."""
    used = sorted((card for card in cards if card.count), key=lambda card: (-card.count, card.id))
    return _valued(deck, [(card.token, f"{card.count:,}") for card in used[:_MOST]])


def _valued(deck: TokenCards, values: Sequence[tuple[str, str]]) -> list[tuple[Chips, str]]:
    """Return each token beside its number."""
    return [(deck.tokens([token], spelling(token)), value) for token, value in values]


def _chosen(summary: Summary) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield titles, and tokens with the count or score that they were chosen by."""
    if summary.frequent:
        counted = [(token, f"{count:,}") for token, count in summary.frequent]
        yield "Most frequent in training", counted
    for title, pieces in (
        ("Highest scores", summary.highest),
        ("Lowest scores", summary.lowest),
    ):
        if pieces:
            yield title, [(token, f"{score:.4f}") for token, score in pieces]


def _merges(deck: TokenCards, records: Sequence[MergeRecord]) -> list[dict[str, Any]]:
    return [
        {
            "step": f"{record.step:,}",
            "parts": deck.tokens([record.left, record.right], f"step {record.step}: the pair"),
            "token": deck.tokens([record.token], f"step {record.step}: the token"),
            "count": "\N{EN DASH}" if record.count is None else f"{record.count:,}",
            "score": "" if record.score is None else f"{float(record.score):.4g}",
            "stage": "" if record.stage is None else f"{record.stage}",
            "language": language_name(record.language),
        }
        for record in records
    ]


#: Most texts whose counts a card lists one by one.
_TEXTS = 6

_ALONE = {
    "special": "A special token: text is never split into it.",
    "added": "An added token: it is found in the text before the model splits anything.",
    "byte": "The token of a byte, for characters that the vocabulary lacks.",
    "alphabet": "Part of the alphabet: no merge made it.",
    "character": "A single character.",
    "word": "A word, in the vocabulary for being frequent.",
}


def card_data(card: TokenCard, texts: Sequence[str]) -> dict[str, Any]:
    """Return the data of one card.

    Args:
        card: facts about a token.
        texts: names of the texts, in the order of the card's counts.

    Returns:
        A dict: `title`; `facts`, which the tooltip shows; `more`, further facts for the panel;
        `notes`, sentences; `tree`, rows of depth, token and remark.
    """
    return {
        "title": spelling(card.token),
        "facts": [list(fact) for fact in _facts(card)],
        "more": [list(fact) for fact in _more(card, texts)],
        "notes": list(_notes(card)),
        "tree": [_node(node, card.ranked) for node in card.tree],
    }


def _facts(card: TokenCard) -> Iterator[tuple[str, str]]:
    text = text_of(card.text)
    spelled = spelling(card.token)
    yield "id", str(card.id)
    if spelled != text:
        yield "token", spelled
    yield "text", text or "none: it is a marker alone"
    yield "bytes", hexadecimal(card.text) or "none"
    if card.step is not None:
        yield ("rank" if card.ranked else "merge"), f"{card.step:,}"
    if card.score is not None:
        yield "score", f"{card.score:.4f}"
    if card.counts:
        yield "in the text" + ("s" if len(card.counts) > 1 else ""), times(card.count)


def _more(card: TokenCard, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "kind", card.kind
    if card.merged is not None:
        yield "its pair occurred", times(card.merged) + " before the merge"
    if card.stage is not None:
        yield "stage", f"{card.stage}"
    if card.language is not None:
        yield "chosen for", language_name(card.language)
    if card.trained is not None:
        yield "in training", times(card.trained)
    if card.place is not None:
        by = "score" if card.score is not None else "count"
        yield f"place by {by}", f"{card.place:,} of {card.of:,}"
    if 1 < len(card.counts) <= _TEXTS:
        for name, count in zip(texts, card.counts, strict=True):
            yield f"in {prose(name)}", times(count)


def _notes(card: TokenCard) -> Iterator[str]:
    if card.instead is not None and card.gain is not None:
        gain = f"it scores {card.gain:.4f} more than that"
        if card.gain < 0:
            gain = f"it scores {-card.gain:.4f} less than that, and is never taken"
        yield f"Best without it: {_path(card.instead)}, with {card.instead.score:.4f}; {gain}."
    elif card.kind in _ALONE:
        yield _ALONE[card.kind]
    if card.longer_count is not None:
        yield _longest_match(card)
    if card.cut:
        yield f"Its tree is larger: the first {len(card.tree)} tokens of it are shown."


def _longest_match(card: TokenCard) -> str:
    if not card.longer_count:
        return "Longest match takes it wherever a word has it: no longer token begins with it."
    some = " ".join(map(spelling, card.longer))
    not_listed = card.longer_count - len(card.longer)
    rest_note = f" and {not_listed:,} more" if not_listed else ""
    return (
        "Longest match takes it where none of the longer tokens that begin with it fits: "
        f"{some}{rest_note}."
    )


def _path(path: Path) -> str:
    return " │ ".join(spelling(piece.token or piece.text) for piece in path.pieces)


def _node(node: TreeNode, ranked: bool) -> list[Any]:
    origin = "" if node.step is None else f"{'rank' if ranked else 'merge'} {node.step:,}"
    return [node.depth, spelling(node.token), origin or f"id {node.id}"]


#: Most tokens shown of one sentence.
MOST = 400


@dataclass(frozen=True)
class TokenLink:
    """Token in a row; `id` is the id of its card, or None without a card."""

    text: str
    id: int | None


@dataclass(frozen=True)
class Chips:
    """Row of tokens.

    Attributes:
        model: index of the model to whose deck the cards belong.
        name: description of the row for screen readers.
        direction: `ltr` or `rtl`.
        chips: tokens that are shown.
        more: number of tokens left out.
    """

    model: int
    name: str
    direction: str
    chips: tuple[TokenLink, ...]
    more: int = 0


class TokenCards:
    """Cards of one model, by id and by token."""

    def __init__(self, model: int, name: str, cards: Sequence[TokenCard]) -> None:
        self.model = model
        self.name = prose(name)
        self.cards = cards
        self.ids = {card.id for card in cards}
        self.by_token = {card.token: card.id for card in cards}

    def segmentation(self, cut: ModelSegmentation, text: str) -> Chips:
        """Return the model's segmentation of `text` as a row of tokens."""
        pairs = zip(cut.shown[:MOST], cut.ids[:MOST], strict=True)
        chips = (self._chip(token, id_) for token, id_ in pairs)
        not_shown = max(0, len(cut.shown) - MOST)
        name = f"{self.name}, {len(cut.tokens):,} tokens"
        return Chips(self.model, name, direction(text), tuple(chips), not_shown)

    def tokens(self, tokens: Iterable[str], name: str) -> Chips:
        """Return tokens, given by their spelling, as a row called `name`."""
        chips = tuple(self._chip(token, self.by_token.get(token)) for token in tokens)
        return Chips(self.model, name, "ltr", chips)

    def _chip(self, token: str, id_: int | None) -> TokenLink:
        return TokenLink(spelling(token), id_ if id_ in self.ids else None)


#: Widths of a chart in pixels: on wide and on narrow screens.
_WIDE, _NARROW = 760, 340
_TEMPLATES = ("base", "parts", "compare", "inspect")


@dataclass(frozen=True)
class Chart:
    """Chart in two widths; the style sheet shows one of them."""

    drawing: Drawing
    wide: Markup
    narrow: Markup


def charts(converter: Converter, drawings: Iterable[Drawing]) -> dict[str, Chart]:
    """Return the drawn charts by name."""
    from markupsafe import Markup

    return {
        drawing.name: Chart(
            drawing,
            # The SVG is safe to insert: `page_svg` leaves only shapes and escaped text.
            Markup(page_svg(converter, drawing.draw(_WIDE, PAGE), "wide")),
            Markup(page_svg(converter, drawing.draw(_NARROW, PAGE), "narrow")),
        )
        for drawing in drawings
    }


def deck_data(decks: Sequence[TokenCards], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cards of every model in the form that the script reads."""
    return [
        {"model": deck.name, "cards": {str(c.id): card_data(c, texts) for c in deck.cards}}
        for deck in decks
    ]


def _rendered(template: str, **data: Any) -> str:
    """Return the page that a template makes from `data`."""
    from markupsafe import Markup

    style = Markup(_part("page.css"))
    script = Markup("".join(map(_part, ("segment.js", "page.js", "live.js"))))
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
    """Return the source expression that allows an inline script or style in a policy."""
    digest = hashlib.sha256(part.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _part(name: str) -> str:
    folder = files("tokctl.extras.page") / "templates"
    text = (folder / name).read_text(encoding="utf-8")
    # The digest must be of the text with the line ends that browsers see. Indentation is dropped to
    # save space.
    return re.sub(r"\r?\n[ ]*", "\n", text)


@cache
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    names = [f"{name}.html.j2" for name in _TEMPLATES]
    environment = Environment(
        loader=DictLoader({name: _part(name) for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    environment.filters["token"] = spelling
    environment.filters["figure"] = _figure
    return environment


def _figure(cell: Cell | Name) -> str:
    if isinstance(cell, Name):
        return cell.span.text
    return cell.said if isinstance(cell, Figure) else cell


#: Longest token shown whole, in characters; a token can be as long as a book.
LONGEST_TOKEN = 120
#: Longest sentence or name shown whole, in characters.
LONGEST_TEXT = 2_000


def spelling(text: str) -> str:
    """Return a token for the page, with spaces drawn and unprintable characters escaped.

    So no character of a token can reverse the page around it (U+202E) or end an element. A
    combining mark at its start stands on a dotted circle, not on the token before.
    """
    return _cut(text, LONGEST_TOKEN, drawn)


def prose(text: str) -> str:
    """Return a sentence or a name for the page; spaces stay spaces."""
    return _cut(text, LONGEST_TEXT, lambda part: " ".join(map(visible, part.split(" "))))


def _cut(text: str, longest: int, display: Callable[[str], str]) -> str:
    if len(text) <= longest:
        return display(text)
    return f"{display(text[:longest])}… ({len(text):,} characters)"


def direction(text: str) -> str:
    """Return `rtl` if the first letter with a direction runs from right to left, else `ltr`.

    This is the rule of `dir="auto"`, which ignores tokens because they have a `dir` of their own.
    """
    for char in text[:LONGEST_TEXT]:
        kind = unicodedata.bidirectional(char)
        if kind in ("R", "AL"):
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"


def hexadecimal(data: bytes) -> str:
    """Return bytes as pairs of hexadecimal digits; only the first 48 of many."""
    limit = 48
    if len(data) <= limit:
        return data.hex(" ")
    return f"{data[:limit].hex(' ')} … ({len(data):,} bytes)"


def text_of(data: bytes) -> str:
    r"""Return bytes as text for the page, with bytes that are not UTF-8 written as `\xe2`."""
    return spelling(data.decode("utf-8", "backslashreplace"))
