"""Comparison of models: their metrics on the same texts, and their differences.

`docs/metrics.md` defines every metric, and says when it misleads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from tokctl.analysis.comparison import measuring, samples, stories
from tokctl.analysis.comparison.findings import Condition, check, findings_of
from tokctl.analysis.comparison.measuring import (
    Trained,
    at_equal_sizes,
    languages_of,
    reports_of,
    summary,
    sweep_points,
    train_sizes,
)
from tokctl.analysis.comparison.results import (
    Comparison,
    Cut,
    Digest,
    Disagreement,
    Language,
    Languages,
    MadeFrom,
    Measured,
    ModelReport,
    ModelSegmentation,
    Sample,
    SweepPoint,
    TextSummary,
    TrainedText,
    Training,
    WordDifference,
)
from tokctl.analysis.metrics import WORD_RULES
from tokctl.analysis.texts import Text, read_texts, read_together
from tokctl.core.errors import BadInput, BadOption
from tokctl.formats.saving import contents
from tokctl.sources import Source
from tokctl.tokenizer.model_names import (
    ModelArgument,
    find_baseline,
    name_files,
    named_models,
)
from tokctl.tokenizer.tokenizer import Tokenizer, chosen_threads
from tokctl.training.counting import digest_of

__all__ = [
    "Comparison",
    "Condition",
    "Cut",
    "Digest",
    "Disagreement",
    "Language",
    "Languages",
    "MadeFrom",
    "Measured",
    "ModelReport",
    "ModelSegmentation",
    "Sample",
    "SweepPoint",
    "Text",
    "TextSummary",
    "Trained",
    "TrainedText",
    "Training",
    "WordDifference",
    "at_equal_sizes",
    "check",
    "compare",
    "digest_of_text",
    "find_baseline",
    "name_files",
    "read_texts",
    "read_together",
    "train_sizes",
]


def compare(
    models: Sequence[ModelArgument],
    texts: Sequence[str | Path | Source | Text],
    *,
    baseline: str | None = None,
    sentences: Sequence[str] | None = None,
    words: Sequence[str] | None = None,
    languages: Mapping[str, str | Path | Source | Text] | None = None,
    reference: str | None = None,
    sweep: Trained | None = None,
    training: Training | None = None,
    trained_on: Sequence[Text] | None = None,
    command: str = "",
    date: str = "",
    word_rule: str = "spaces",
    intervals: bool = False,
    speed: bool = False,
    threads: int | None = None,
    errors: str = "strict",
) -> Comparison:
    """Compare models on texts, which are read whole into memory.

    Args:
        models: Tokenizers, paths of model files, or pairs (name, tokenizer). An unnamed tokenizer
            gets the name of its recipe, with a number if several share it; a file gets its own
            name.
        texts: Paths (`-` is stdin), or sources of `tokctl.sources`. Each file of a folder is a
            text. A file of many documents (JSON Lines, a table, an archive) is one text, but no
            token spans two documents; a document with a count is counted that many times.
        baseline: Name of the model that NSL is relative to; by default the first.
        sentences: Sentences to show; by default a few from the texts.
        words: Words to explain; by default some that the models split differently.
        languages: Parallel texts in several languages, by the language's name. They are added to
            the compared texts, after the others; a folder is one text.
        reference: Language that parity is relative to; by default the first.
        sweep: Models of several sizes from `train_sizes`, to be measured as well.
        training: Record of the training, if the models were trained for this comparison; it becomes
            part of the result.
        trained_on: Texts that the models were trained on, if they are not `texts`; words are
            explained with them.
        command: Command line, so that readers can repeat the comparison.
        date: Date to show in the result; empty for none.
        word_rule: Definition of a word: `spaces` (runs of characters that are not white space) or
            `unicode` (UAX #29).
        intervals: Whether to add 95% bootstrap intervals over lines; see `docs/metrics.md`.
        speed: Whether to measure the speed of each model on this machine, the only metric that
            varies between runs.
        threads: Number of threads; None: one per processor that this process may use. Only `speed`
            depends on it.
        errors: `strict` or `replace`, for text that is not UTF-8, if a model is character-level.
            With `replace`, all models get the same text, with U+FFFD in it.

    Raises:
        TokctlError: Models or texts are missing, a file is not a model, two models have the
            same name, the baseline or the reference is unknown, or a text is unreadable or not
            UTF-8 (the message names file, line and byte).

    Example:
        result = compare(["bpe.json", "unigram.json"], ["book.txt"])
        result.models[0].total.figures["fertility"]
    """
    named = named_models(models)
    languages = dict(languages or {})
    _check_choices(named, texts, languages, baseline, reference, word_rule)
    baseline = next(iter(named)) if baseline is None else baseline
    threads = chosen_threads(threads)
    read = _read(named, texts, languages, errors)
    measured = {
        name: [
            measuring.measure_all(
                model, text, threads, words=word_rule, boundaries=len(named) > 1, lines=intervals
            )
            for text in read
        ]
        for name, model in named.items()
    }
    known = _trained_on(named, read) if training is None else {}
    reports = reports_of(
        named, known, read, measured, baseline, threads, with_intervals=intervals, with_speed=speed
    )
    counts = {named[report.name]: report.total.counts for report in reports}
    chosen = _checked(sentences) if sentences is not None else samples.pick_sentences(read)
    shown = tuple(samples.sample(named, sentence) for sentence in chosen)
    picked = stories.pick_words(named, shown, threads) if words is None else _checked(words)
    learned = read if trained_on is None else trained_on
    sweep = sweep or {}
    comparison = Comparison(
        baseline=baseline,
        total=summary(reports[0].total, sum(text.documents for text in read)),
        texts=tuple(map(summary, reports[0].texts, [text.documents for text in read])),
        models=reports,
        samples=shown,
        disagreements=tuple(samples.disagreements(named, read, threads)),
        overlap=measuring.overlaps(list(named.values())),
        agreement=measuring.agreements(list(measured.values())),
        stories=stories.stories(named, picked, learned, threads, sweep),
        languages=_languages(languages, reference, reports),
        sweep=sweep_points(sweep, read, threads, word_rule=word_rule, known=counts),
        training=training,
        provenance=_provenance(named, read, training, command, date),
    )
    return replace(comparison, findings=findings_of(comparison, named))


def _check_choices(
    named: Mapping[str, Tokenizer],
    texts: Sequence[Any],
    languages: Mapping[str, Any],
    baseline: str | None,
    reference: str | None,
    word_rule: str,
) -> None:
    """Raise TokctlError if models or texts are missing, or a chosen name is unknown."""
    if isinstance(texts, (str, bytes, Path)):
        raise BadOption(
            "the texts of a comparison must be a list of paths",
            'write a list, for example ["text.txt"]',
            "bad-value",
        )
    if not named or not (texts or languages):
        raise BadOption(
            "a comparison needs at least one model and one text",
            "name a model with --model, and a text file",
            "missing-option",
        )
    if baseline is not None and baseline not in named:
        raise BadOption(
            f"no model of this comparison is called {baseline!r}",
            f"choose one of: {', '.join(named)}",
            "unknown-name",
        )
    if reference is not None and reference not in languages:
        raise BadOption(
            f"no language of this comparison is called {reference!r}",
            f"choose one of: {', '.join(languages)}" if languages else "name some with --lang",
            "unknown-name",
        )
    if word_rule not in WORD_RULES:
        raise BadOption(
            f"no word rule is called {word_rule!r}",
            f"choose {' or '.join(WORD_RULES)}",
            "unknown-name",
        )


def _read(
    named: Mapping[str, Tokenizer],
    texts: Sequence[str | Path | Source | Text],
    languages: Mapping[str, str | Path | Source | Text],
    errors: str,
) -> list[Text]:
    """Return the compared texts, then one text for each language."""
    characters = any(not model.recipe.is_byte_level for model in named.values())
    read = read_texts(texts, characters=characters, errors=errors)
    read += [
        read_together(name, given, characters=characters, errors=errors)
        for name, given in languages.items()
    ]
    if not read:
        raise BadInput("there are no texts to compare on", "name at least one text")
    return read


def _provenance(
    models: Mapping[str, Tokenizer],
    texts: Sequence[Text],
    training: Training | None,
    command: str,
    date: str,
) -> MadeFrom:
    """Return digests of the texts and models, tokctl's version, the command line and the date."""
    from tokctl import __version__

    origins = [one.whole for one in training.texts] if training else []
    if training is None or training.share is None:
        origins += [digest_of_text(text) for text in texts]
    return MadeFrom(
        __version__,
        command,
        tuple(origins),
        tuple(_digest_of_model(name, model) for name, model in models.items()),
        date,
    )


def digest_of_text(text: Text) -> Digest:
    """Return the name, size and digest that identify a text."""
    return Digest(text.name, text.size, text.digest)


def _digest_of_model(name: str, tokenizer: Tokenizer) -> Digest:
    """Return the name, size and digest of the model's file."""
    (content,) = contents(tokenizer.model, "tokctl").values()
    return Digest(name, len(content), sha256(content).hexdigest())


def _trained_on(models: Mapping[str, Tokenizer], texts: Sequence[Text]) -> dict[str, list[str]]:
    """Return the names of the texts that each model was trained on.

    A model is recognized if it was trained on one of the texts, or on all together.
    """
    digests = {
        name: model.model.training.sha256
        for name, model in models.items()
        if model.model.training is not None
    }
    if not any(digests.values()):
        return {}
    own = [text.digest for text in texts]
    found = {}
    for name, digest in digests.items():
        all_of_them = digest == digest_of(own)
        found[name] = [
            text.name for text, one in zip(texts, own, strict=True) if all_of_them or digest == one
        ]
    return found


def _languages(
    languages: Mapping[str, Any], reference: str | None, reports: Sequence[ModelReport]
) -> Languages | None:
    """Return the metrics of the languages, or None if there are none."""
    if not languages:
        return None
    names = list(languages)
    # The languages' texts come last; an earlier text may have the same name as a language.
    models = [dict(zip(names, report.texts[-len(names) :], strict=True)) for report in reports]
    return languages_of(names, reference or names[0], models)


def _checked(texts: Sequence[str]) -> Sequence[str]:
    """Return texts that are shown, or raise TokctlError if one is not UTF-8."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadInput(
                f"{text!r} is not UTF-8, so it can't be shown",
                "give the text in UTF-8; check the encoding of the terminal or the script",
                "not-utf8",
            ) from None
    return texts
