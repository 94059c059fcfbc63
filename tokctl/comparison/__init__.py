"""Comparing models: their metrics on the same texts, and where they part.

`docs/metrics.md` says what every figure means, and when it misleads.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokctl.comparison import measuring, samples
from tokctl.comparison.conditions import Condition, check
from tokctl.comparison.models import (
    Model,
    find_baseline,
    name_files,
    named_models,
    split_algorithms,
)
from tokctl.comparison.results import (
    Comparison,
    Disagreement,
    Measured,
    ModelReport,
    Sample,
    Segmentation,
    TextSummary,
)
from tokctl.comparison.texts import read_texts
from tokctl.errors import TokctlError
from tokctl.metrics import METRICS, NOTHING, Counts, range_of
from tokctl.sources import Document
from tokctl.tokenizer import Tokenizer
from tokctl.training import available_threads

__all__ = [
    "Comparison",
    "Condition",
    "Disagreement",
    "Measured",
    "ModelReport",
    "Sample",
    "Segmentation",
    "TextSummary",
    "check",
    "compare",
    "find_baseline",
    "name_files",
    "read_texts",
    "split_algorithms",
]


def compare(
    models: Sequence[Model],
    texts: Sequence[str | Path] | Sequence[Document],
    *,
    baseline: str | None = None,
    sentences: Sequence[str] | None = None,
    threads: int | None = None,
    errors: str = "strict",
) -> Comparison:
    """Compares models on texts, which are read whole into memory.

    Args:
        models: tokenizers, paths of model files, or (name, tokenizer). Without a name a
            tokenizer has that of its recipe, numbered where several have the same; a file
            has its own.
        texts: paths (`-` is stdin), or documents of `tokctl.sources`.
        baseline: the name of the model that NSL is relative to; by default the first.
        sentences: to show; by default a few of the texts.
        threads: None takes the processors that this process may use. The result does
            not depend on it.
        errors: `strict` or `replace`, for text that is not UTF-8, where a model reads
            characters. With `replace` all models get the same text, with U+FFFD in it.

    Raises:
        TokctlError: no models or no texts, a file that holds no model, two models of one
            name, an unknown baseline, unreadable text, text that is not UTF-8 (naming file,
            line and byte).
    """
    named = named_models(models)
    if isinstance(texts, (str, bytes, Path)):
        raise TokctlError("the texts of a comparison are a list", '["text.txt"], for instance')
    if not named or not texts:
        raise TokctlError("a comparison needs a model and a text, at the least")
    baseline = next(iter(named)) if baseline is None else baseline
    if baseline not in named:
        raise TokctlError(
            f"no model of this comparison is called {baseline!r}",
            f"its models are: {', '.join(named)}",
        )
    if threads is not None and threads < 1:
        raise TokctlError(f"threads can't be {threads}", "it is a number from 1 up")
    threads = threads or available_threads()
    characters = any(model.recipe.units == "characters" for model in named.values())
    read = read_texts(texts, characters=characters, errors=errors)
    counts = {
        name: [measuring.measure(model, text.data, threads) for text in read]
        for name, model in named.items()
    }
    chosen = samples.pick_sentences(read) if sentences is None else _checked(sentences)
    tokenizers = list(named.values())
    names = [text.name for text in read]
    return Comparison(
        baseline=baseline,
        total=_summary("", _total(counts[baseline])),
        texts=tuple(map(_summary, names, counts[baseline])),
        models=tuple(
            _report(name, model, names, counts[name], counts[baseline])
            for name, model in named.items()
        ),
        samples=tuple(samples.sample(named, sentence) for sentence in chosen),
        disagreements=tuple(samples.disagreements(named, read, threads)),
        overlap=measuring.overlaps(tokenizers),
        agreement=measuring.agreements(tokenizers, read),
    )


def _checked(sentences: Sequence[str]) -> Sequence[str]:
    for sentence in sentences:
        try:
            sentence.encode()
        except UnicodeEncodeError:
            raise TokctlError(f"the sentence {sentence!r} is not UTF-8") from None
    return sentences


def _total(counts: Sequence[Counts]) -> Counts:
    return sum(counts, NOTHING)


def _summary(name: str, counts: Counts) -> TextSummary:
    return TextSummary(name, counts.bytes, counts.characters, counts.words, counts.lines)


def _report(
    name: str,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    counts: Sequence[Counts],
    baseline: Sequence[Counts],
) -> ModelReport:
    model = tokenizer.model
    reach = range_of(model)

    def measured(text: str, own: Counts, reference: Counts) -> Measured:
        figures = {metric.name: metric.figure(reach, own, reference) for metric in METRICS}
        return Measured(text, own, figures)

    return ModelReport(
        name=name,
        algorithm=model.recipe.algorithm,
        recipe=model.recipe.name,
        vocab_size=tokenizer.vocab_size,
        emittable_ids=reach.emittable,
        exhausted=model.training is not None and model.training.exhausted,
        total=measured("", _total(counts), _total(baseline)),
        texts=tuple(map(measured, texts, counts, baseline)),
    )
