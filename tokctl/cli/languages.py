"""The languages of `train --lang`: their texts, and how they take turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tokctl.cli.options.declaring import choose
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.options.train import LanguageOptions
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, printable

if TYPE_CHECKING:
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.model import Model, Recipe
    from tokctl.model.filled import ParityRecord
    from tokctl.sources import Source
    from tokctl.training import Timing, TrainOptions
    from tokctl.training.parity import CountedLanguages, ParityOptions


@dataclass(frozen=True)
class LanguageTexts:
    """Paths of the texts to train on, by language.

    Attributes:
        train: the paths of each language.
        dev: the paths of each language's development texts; empty: costs are measured on `train`.
        parity: how the languages take turns.
    """

    train: dict[str, list[str]]
    dev: dict[str, list[str]]
    parity: "ParityOptions"

    @property
    def paths(self) -> list[str]:
        """The paths of all texts, training texts first."""
        return [
            path for texts in (self.train, self.dev) for paths in texts.values() for path in paths
        ]

    @property
    def turns(self) -> dict[str, Any]:
        """How the languages take turns, in the form of `turns_of`."""
        parity = self.parity
        window = (parity.window, Fraction(parity.limit)) if parity.variant == "window" else None
        targets = [Fraction(parity.targets.get(name, 1)) for name in self.train]
        return {
            "languages": list(self.train),
            "variant": parity.variant,
            "window": window,
            "targets": targets,
            "dev": bool(self.dev),
        }

    def check_against(self, recipe: "Recipe", options: "TrainOptions") -> None:
        """Raise TokctlError for options that conflict, before any text is read."""
        from tokctl.training.parity import check_parity

        check_parity(list(self.train), recipe, options, self.parity)

    def open(self, world: Console, given: ListedTexts) -> "OpenLanguages":
        """Open the texts of each language: paths are checked, and nothing is read yet."""
        from tokctl import sources

        if self.paths.count(sources.STDIN) > 1:
            raise BadOption("stdin (-) is named twice", "it can be read only once", "conflict")

        def opened(texts: Mapping[str, list[str]]) -> "dict[str, list[Source]]":
            return {
                name: sources.open_sources(paths, given.reading, stdin=world.stdin)
                for name, paths in texts.items()
            }

        return OpenLanguages(opened(self.train), opened(self.dev))

    def fill(
        self,
        counted: "CountedLanguages",
        recipe: "Recipe",
        options: "TrainOptions",
        bars: "ProgressDisplay",
        timing: "Timing",
    ) -> "Model":
        """Return the recipe filled with the vocabulary that the counted texts give.

        Args:
            counted: the pre-tokens of each language with their counts.
            recipe: the recipe to train.
            options: the training options.
            bars: shows the progress.
            timing: gets the seconds of each phase.
        """
        from tokctl.training.parity import fill_by_language

        return fill_by_language(counted, recipe, options, self.parity, bars, timing)


def turns_of(record: "ParityRecord") -> dict[str, Any]:
    """Return how the languages of a trained model took turns, as `LanguageTexts.turns` does."""
    limit = Fraction(record.limit or 0)
    targets = record.targets or ["1"] * len(record.languages)
    return {
        "languages": list(record.languages),
        "variant": record.variant,
        "window": None if record.window is None else (record.window, limit),
        "targets": list(map(Fraction, targets)),
        "dev": bool(record.dev),
    }


@dataclass(frozen=True)
class OpenLanguages:
    """Opened texts, by language.

    Attributes:
        train: the sources to train on.
        dev: the sources to measure costs on; empty: `train`.
    """

    train: "dict[str, list[Source]]"
    dev: "dict[str, list[Source]]"

    @property
    def all(self) -> "list[Source]":
        """Every source, training texts first."""
        return [
            one for texts in (self.train, self.dev) for found in texts.values() for one in found
        ]

    def count(
        self, recipe: "Recipe", options: "TrainOptions", bars: "ProgressDisplay"
    ) -> "CountedLanguages":
        """Count the pre-tokens of each language separately."""
        from tokctl.training.parity import count_languages

        return count_languages(self.train, self.dev or None, recipe, options, bars)


def languages_of(chosen: LanguageOptions, *, has_texts: bool) -> LanguageTexts | None:
    """Return the texts and the settings of `--lang`, or None if no language is named.

    Args:
        chosen: the options of languages.
        has_texts: whether a text is named without a language.

    Raises:
        TokctlError: an option has an invalid value.
    """
    if not chosen.lang:
        return None
    if has_texts:
        raise BadOption(
            "a text without a name can't be used with --lang: each text there is a language's",
            "leave one of them out",
            "conflict",
        )
    from tokctl.training.parity import MEASURES, USUAL_LIMIT, USUAL_WINDOW, VARIANTS, ParityOptions

    variant = choose("--parity", chosen.parity or "base", VARIANTS)
    for name in ("parity_window", "parity_limit"):
        if variant != "window" and getattr(chosen, name) is not None:
            raise BadOption(
                f"--{name.replace('_', '-')} is for the window", "add --parity window", "conflict"
            )
    if (measure := chosen.parity_measure) is not None:
        choose("--parity-measure", measure, MEASURES)
    merges = chosen.global_merges or "0"
    dev = dict(_named("--lang-dev", chosen.lang_dev))
    parity = ParityOptions(
        dev=dev or None,
        variant=variant,
        global_merges=int(merges) if merges.isascii() and merges.isdigit() else merges,
        measure=measure,
        window=chosen.parity_window or USUAL_WINDOW,
        limit=USUAL_LIMIT if chosen.parity_limit is None else chosen.parity_limit,
        targets={
            name: numbers[-1] for name, numbers in _named("--parity-target", chosen.parity_target)
        },
    )
    return LanguageTexts(dict(_named("--lang", chosen.lang)), dev, parity)


def _named(option: str, given: Sequence[str] | None) -> list[tuple[str, list[str]]]:
    """Collect `NAME=VALUE` values by name, in the order in which names first occur."""
    found: dict[str, list[str]] = {}
    for entry in given or ():
        name, sign, value = entry.partition("=")
        if not (name and sign and value):
            what = "2.5" if option == "--parity-target" else "fi.txt"
            raise BadOption(
                f"invalid value {entry!r} for {option}",
                f"write it as {option} fi={what}",
                "bad-value",
            )
        found.setdefault(printable(name), []).append(value)
    return list(found.items())
