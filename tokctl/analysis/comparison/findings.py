"""What the figures of a comparison say, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokctl.analysis.comparison.results import Comparison, SweepPoint
from tokctl.analysis.comparison.samples import is_whole
from tokctl.analysis.metrics import Absent, Figure
from tokctl.tokenizer import Tokenizer
from tokctl.wording import listed, percent, times


def findings_of(comparison: Comparison, models: Mapping[str, Tokenizer]) -> tuple[str, ...]:
    """Which model keeps words whole, which needs more tokens, what is lost, and why."""
    found = [*_whole_words(comparison), *_tokens(comparison)]
    for name in models:
        found += _likelihood(comparison, name, models)
    return (*found, *_lost(comparison), *_unknown(comparison), *_dearest(comparison))


def _whole_words(comparison: Comparison) -> list[str]:
    """One sentence for each size of a sweep, or one for the models."""
    sizes = sorted({point.asked for point in comparison.sweep})
    found = []
    for size in sizes:
        points = [point for point in comparison.sweep if point.asked == size]
        ranked = _ranked({point.model: point.figures["strr"] for point in points})
        if ranked:
            short = {point.model: point for point in points if point.exhausted}
            kept = ", ".join(f"{name} {share}{_only(short.get(name))}" for name, share in ranked)
            found.append(f"Words kept whole at {size:,} ids: {kept}.")
    ranked = _ranked({model.name: model.total.figures["strr"] for model in comparison.models})
    if not sizes and len(ranked) > 1:
        found.append(f"Words kept whole: {_list(ranked)}.")
    return found


def _only(point: SweepPoint | None) -> str:
    return "" if point is None else f" (with {point.vocab_size:,}: the text gave no more)"


def _ranked(figures: Mapping[str, Figure]) -> list[tuple[str, str]]:
    """Names with their shares, the highest first, equal ones in the order given."""
    numbers = {name: f for name, f in figures.items() if not isinstance(f, Absent)}
    names = sorted(numbers, key=lambda name: -numbers[name])
    return [(name, percent(numbers[name])) for name in names]


def _list(entries: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in entries)


def _tokens(comparison: Comparison) -> list[str]:
    """How many more or fewer tokens the others need than the baseline."""
    phrases = []
    for model in comparison.models:
        figure = model.total.figures["nsl"]
        if model.name == comparison.baseline or isinstance(figure, Absent):
            continue
        if figure == 1:
            phrases.append(f"{model.name} as many")
        else:
            more = "more" if figure > 1 else "fewer"
            phrases.append(f"{model.name} {percent(abs(figure - 1))} {more}")
    if not phrases:
        return []
    return [f"Tokens for the same text, against {comparison.baseline}: {', '.join(phrases)}."]


#: A word is frequent if it is at least one of so many.
_FREQUENT = 1000


def _likelihood(comparison: Comparison, name: str, models: Mapping[str, Tokenizer]) -> list[str]:
    """Why a WordPiece model leaves frequent words in pieces, with the weightiest of those
    that another model keeps whole."""
    model = models[name]
    if model.recipe.score != "likelihood" or not model.merges:
        return []
    for word in comparison.disagreements:
        cuts = {cut.model: cut for cut in word.segmentations}
        pieces = cuts[name].shown
        whole = [other for other, cut in cuts.items() if is_whole(models[other], cut)]
        # What the pre-tokenizer cuts, no merge could have joined.
        together = len(set(model.encode(f" {word.word}").word_ids)) == 1
        frequent = word.count > 1 and word.count * _FREQUENT >= comparison.total.words
        if len(pieces) > 1 and whole and together and frequent:
            return [
                f"{name} splits even frequent words: {word.word}, {times(word.count)}, is "
                f"{' '.join(pieces)}, and one token in {listed(whole)}. It merges the pair with "
                "the highest count(ab) / (count(a) × count(b)): symbols that are everywhere "  # noqa: RUF001
                "make that small, so that they merge last."
            ]
    return []


def _lost(comparison: Comparison) -> list[str]:
    lossy = {
        model.name: figure
        for model in comparison.models
        if not isinstance(figure := model.total.figures["round_trip"], Absent) and figure < 1
    }
    if not lossy:
        return []
    exact = [model.name for model in comparison.models if model.name not in lossy]
    rest = f"; {listed(exact)}: all" if exact else ""
    return [f"Lines that come back exactly as they were: {_list(_ranked(lossy))}{rest}."]


def _unknown(comparison: Comparison) -> list[str]:
    unknown = {
        model.name: figure
        for model in comparison.models
        if not isinstance(figure := model.total.figures["unk_rate"], Absent) and figure
    }
    return [f"Tokens that are unknown: {_list(_ranked(unknown))}."] if unknown else []


def _dearest(comparison: Comparison) -> list[str]:
    """The language that costs most in each model."""
    languages = comparison.languages
    if languages is None or len(languages.languages) < 2:
        return []
    phrases = []
    for place, model in enumerate(comparison.models):
        parities = {
            language.name: figure
            for language in languages.languages
            if not isinstance(figure := language.figures[place]["parity"], Absent)
        }
        if parities:
            name = max(parities, key=lambda name: parities[name])
            phrases.append(f"{name} in {model.name} ({parities[name]:.2f} times)")
    if not phrases:
        return []
    return [f"Dearest language, against {languages.reference}: {', '.join(phrases)}."]
