"""Parity-aware BPE: the language with the worst compression chooses the next merge.

Foroutan et al. 2025 (arXiv 2508.04796); `docs/parity.md` has the definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, CoreError
from tokctl.core.values import brief
from tokctl.model import Model, ParityRecord, Recipe
from tokctl.sources import AUTO, Named, ReadOptions, Source, opened
from tokctl.training.counting import Progress, TextStats, count, digest_of
from tokctl.training.options import MOST, Number, Timing, TrainOptions, exact
from tokctl.training.training import core_settings, record_of, with_hint

VARIANTS = ("base", "window")
MEASURES = ("tokens", "bytes", "characters")

#: Defaults of the paper's code and of Hugging Face's trainer.
USUAL_WINDOW = 100
USUAL_LIMIT = 2

#: Texts by language: paths or open sources.
Languages = Mapping[str, "Named | Sequence[Named]"]


@dataclass(frozen=True)
class ParityOptions:
    """Options of parity-aware training: how languages take turns.

    Attributes:
        dev: Development texts in the same languages, on which compression is measured, best the
            same sentences in all of them. None: the training texts are measured.
        variant: `base`: the language with the highest cost chooses the next merge. `window`: the
            same, but a language that chose more than its share of the last merges is passed over.
        global_merges: Number of first merges that all training texts choose together; or a share of
            all merges, such as `"50%"`.
        measure: The cost of a language: its tokens (`tokens`: the texts have the same content in
            each language), or its tokens per byte (`bytes`) or per character (`characters`). None:
            `tokens` with development texts, `bytes` without.
        window: Number of last merges that the window holds.
        limit: Multiple of its equal share of the window that a language may have; the paper's
            alpha.
        targets: The compression wanted for a language relative to the others, by name; 1 by
            default. The language's cost is multiplied by it.
    """

    dev: Languages | None = None
    variant: str = "base"
    global_merges: int | str = 0
    measure: str | None = None
    window: int = USUAL_WINDOW
    limit: Number = USUAL_LIMIT
    targets: Mapping[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.dev, Mapping | None):
            raise BadOption(
                f"invalid value {brief(self.dev)} for the development texts",
                "give a dict of texts by language, for example {'fi': 'fi.txt', 'sw': 'sw.txt'}",
                "bad-value",
            )
        measures = (None, *MEASURES)
        for what, value, allowed in (
            ("variant of parity", self.variant, VARIANTS),
            ("measure of parity", self.measure, measures),
        ):
            if value not in allowed:
                raise BadOption(
                    f"no {what} is called {value!r}",
                    f"choose one of: {', '.join(filter(None, allowed))}",
                    "unknown-name",
                )
        if type(self.window) is not int or not 0 < self.window < MOST:
            raise BadOption(
                f"invalid value {self.window!r} for the window",
                "give a number of merges of at least 1",
                "bad-value",
            )
        exact("the window's limit", self.limit)
        self.first_merges()
        if not isinstance(self.targets, Mapping):
            raise BadOption(
                f"invalid value {brief(self.targets)} for the targets",
                "give a dict by the names of the languages, for example {'hi': 2.5}",
                "bad-value",
            )

    def first_merges(self) -> tuple[int, int | None]:
        """Return the merges that all texts choose together, as a number or as a share.

        Returns:
            The number and None, or the share as (numerator, denominator).
        """
        value = self.global_merges
        if type(value) is int and 0 <= value < MOST:
            return value, None
        try:
            number, percent, rest = value.partition("%")  # type: ignore[union-attr]
            share = Fraction(number) / 100
            if percent and not rest and 0 <= share <= 1 and share.denominator < MOST:
                return _as_fraction(share)
        except (AttributeError, ValueError, ZeroDivisionError):
            pass
        raise BadOption(
            f"invalid value {brief(value)} for the merges that all languages choose together",
            "give their number, or a share: 50%",
            "bad-value",
        )


@dataclass(frozen=True)
class CountedLanguages:
    """Counts of the texts of each language.

    Attributes:
        train: Counts of the training texts, by language.
        dev: Counts of the development texts, in the same order; None: the training texts are
            measured.
        read: Statistics of the training texts.
        dev_read: Statistics of the development texts, if there are any.
    """

    train: dict[str, _native.Counts]
    dev: dict[str, _native.Counts] | None
    read: TextStats
    dev_read: TextStats | None

    def __len__(self) -> int:
        """Return the number of distinct pre-tokens, summed over the texts of all languages."""
        return sum(map(len, (*self.train.values(), *(self.dev or {}).values())))

    def memory(self) -> int:
        """Return the size of the counts in bytes."""
        all_counts = (*self.train.values(), *(self.dev or {}).values())
        return sum(counts.memory() for counts in all_counts)

    def items(self) -> list[tuple[bytes, int]]:
        """Return the pre-tokens of all training texts with their counts, in first-seen order."""
        words: dict[bytes, int] = {}
        for counts in self.train.values():
            for word, occurrences in counts.items():
                words[word] = words.get(word, 0) + occurrences
        return list(words.items())


def train_by_language(
    languages: Languages,
    recipe: Recipe,
    options: TrainOptions,
    parity: ParityOptions,
    progress: Progress | None = None,
    timing: Timing | None = None,
    reading: ReadOptions = AUTO,
) -> Model:
    """Train on one text per language, so that the texts of all languages cost about the same.

    Args:
        languages: Training texts, by language.
        recipe: A BPE recipe, or WordPiece with `score` set to `count`.
        options: As for `tokctl.training.train`, but without weights, initial tokens and a model to
            extend.
        parity: How the languages take turns.
        progress: As for `tokctl.training.train`.
        timing: As for `tokctl.training.train`.
        reading: As for `tokctl.training.train`.

    Raises:
        TokctlError: As for `tokctl.training.train`; a language has no text, or options conflict.
    """
    timing = timing or Timing()
    check_parity(list(languages), recipe, options, parity)
    dev = parity.dev
    counted = count_languages(
        {name: opened(texts, reading) for name, texts in languages.items()},
        None if dev is None else {name: opened(texts, reading) for name, texts in dev.items()},
        recipe,
        options,
        progress,
    )
    timing.lap("count")
    return fill_by_language(counted, recipe, options, parity, progress, timing)


def check_parity(
    languages: Sequence[str],
    recipe: Recipe,
    options: TrainOptions,
    parity: ParityOptions,
) -> None:
    """Raise TokctlError for options that conflict, before any text is read."""
    options.check_against(recipe)
    if recipe.traits.learns != "merges" or recipe.merges_by_likelihood:
        why = "by likelihood" if recipe.merges_by_likelihood else "without merges"
        raise BadOption(
            f"parity-aware training chooses merges by count, and {recipe.algorithm} is trained "
            f"{why}",
            "take --algo bpe" + (", or --score count" if recipe.merges_by_likelihood else ""),
            "conflict",
        )
    if recipe.removal or recipe.traits.reads_twice:
        what = "removes tokens" if recipe.removal else "merges neighbouring words"
        raise BadOption(
            f"parity-aware training only merges pairs within words, and {recipe.algorithm} also "
            f"{what}",
            "take --algo bpe",
            "conflict",
        )
    if recipe.stages:
        raise BadOption(
            "parity-aware training has neither stages nor limits of words",
            "take --algo bpe, without --max-words and --forbid",
            "conflict",
        )
    if options.initial_tokens:
        raise BadOption(
            "parity-aware training can't have initial tokens", "leave them out", "conflict"
        )
    if options.extended:
        raise BadOption(
            "parity-aware training starts anew, and can't extend a model",
            "leave the model to extend out; a finished model can be extended by ordinary training",
            "conflict",
        )
    if options.weights:
        raise BadOption(
            "parity-aware training takes no weights: a language is served when it costs most, "
            "however long its text",
            "leave the weights out; targets say how languages shall differ",
            "conflict",
        )
    if len(languages) < 2:
        raise BadOption(
            "parity-aware training needs two languages or more",
            "name a text for each: --lang fi=fi.txt --lang sw=sw.txt",
            "missing-option",
        )
    dev = parity.dev
    language_names = set(languages)
    for what, names in (("development text", dev or ()), ("target", parity.targets)):
        if unknown := [name for name in names if name not in language_names]:
            raise BadOption(
                f"there is a {what} for {unknown[0]}, and no text to train on",
                f"the languages are {', '.join(languages)}",
                "unknown-name",
            )
    if dev is not None and (missing := [name for name in languages if name not in dev]):
        raise BadOption(
            f"{missing[0]} has no development text",
            "give one for each language, or for none: then the training texts are measured",
            "missing-option",
        )
    for name, target in parity.targets.items():
        exact(f"the target of {name}", target)


def count_languages(
    languages: Mapping[str, Sequence[Source]],
    dev: Mapping[str, Sequence[Source]] | None,
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None = None,
) -> CountedLanguages:
    """Count the texts of each language separately.

    `min_count` and the sample apply to each training text; development texts are read whole.

    Raises:
        TokctlError: As for `count`; a language has no pre-token.
    """
    dev_options = replace(options, min_count=1, sample=None)
    train, stats = _count_each(languages, recipe, options, progress, "text")
    if dev is None:
        return CountedLanguages(train, None, stats, None)
    dev_in_order = {name: dev[name] for name in languages}
    dev_counts, dev_read = _count_each(
        dev_in_order, recipe, dev_options, progress, "development text"
    )
    return CountedLanguages(train, dev_counts, stats, dev_read)


def _count_each(
    languages: Mapping[str, Sequence[Source]],
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None,
    text_kind: str,
) -> tuple[dict[str, _native.Counts], TextStats]:
    """Return the counts of each language, and the statistics of all texts together."""
    counts: dict[str, _native.Counts] = {}
    stats_list: list[TextStats] = []
    for name, sources in languages.items():
        counts[name], stats = count(sources, recipe, options, progress)
        if len(counts[name]) == 0:
            raise BadInput(
                f"the {text_kind} of {name} has no pre-token",
                "name a text with words, or lower --min-count",
            )
        stats_list.append(stats)
    return counts, TextStats(
        sum(stats.documents for stats in stats_list),
        sum(stats.bytes for stats in stats_list),
        digest_of([stats.digest for stats in stats_list]),
    )


def fill_by_language(
    counted: CountedLanguages,
    recipe: Recipe,
    options: TrainOptions,
    parity: ParityOptions,
    progress: Progress | None = None,
    timing: Timing | None = None,
) -> Model:
    """Return the recipe filled with the vocabulary that the counted texts give.

    Raises:
        TokctlError: The vocabulary is too small, or a count is too large.
    """
    languages = list(counted.train)
    measure = parity.measure or ("tokens" if counted.dev else "bytes")
    targets = [exact(name, parity.targets.get(name, 1)) for name in languages]
    limit = exact("the window's limit", parity.limit)
    has_window = parity.variant == "window"
    special = recipe.first_tokens
    report = (lambda size: progress("merge", size, options.vocab_size)) if progress else None
    try:
        trained = _native.train_parity(
            list(counted.train.values()),
            list(counted.dev.values()) if counted.dev else None,
            core_settings(recipe, options, options.vocab_size, special),
            global_merges=parity.first_merges(),
            window=(parity.window, _as_fraction(limit)) if has_window else None,
            measure=measure,
            targets=list(map(_as_fraction, targets)),
            progress=report,
        )
    except CoreError as error:
        raise with_hint(error, recipe, options) from None
    if timing:
        timing.lap("merge")
    training = record_of(
        counted.read,
        options,
        pre_tokens=sum(counts.total() for counts in counted.train.values()),
        distinct_pre_tokens=trained.pre_tokens,
        alphabet_size=trained.training.alphabet_end - len(special),
        exhausted=trained.training.exhausted,
    )
    record = ParityRecord(
        languages=tuple(languages),
        variant=parity.variant,
        measure=measure,
        dev=counted.dev_read.digest if counted.dev_read else "",
        global_merges=trained.global_merges,
        chosen=tuple(trained.chosen),
        before=tuple(trained.before),
        after=tuple(trained.after),
        lengths=tuple(trained.lengths),
        window=parity.window if has_window else None,
        limit=str(limit) if has_window else "",
        targets=tuple(map(str, targets)) if parity.targets else (),
    )
    return Model.of_core(recipe, trained.training.model, training, parity=record)


def _as_fraction(number: Fraction) -> tuple[int, int]:
    """Return the numerator and the denominator."""
    return number.numerator, number.denominator
