"""The suite: measurements of `compare --suite` by domain, language and kind of problem.

`docs/suite.md` explains every metric, and says when it misleads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tokctl.analysis.comparison.measuring import (
    Measurement,
    intervals,
    languages_of,
    measure,
    measure_all,
    measured_of,
)
from tokctl.analysis.comparison.results import (
    Interval,
    Languages,
    figures_document,
    languages_document,
    number_of,
)
from tokctl.analysis.health.embeddings import EmbeddingFacts
from tokctl.analysis.metrics import Counts, MetricValue, Range, Undefined, range_of
from tokctl.analysis.texts import Text, read_texts
from tokctl.core.errors import BadOption
from tokctl.core.humanize import file_names, listed, percent, plural
from tokctl.extras.suite import splits, stability, undertrained
from tokctl.extras.suite.morphology import GoldWord, MorphologyReport, boundary_agreement
from tokctl.extras.suite.splits import CharacterCuts, CodeSplits, NumberSplits, sum_of_cuts
from tokctl.extras.suite.stability import StabilityReport
from tokctl.extras.suite.texts import (
    REFERENCE,
    Domain,
    ParallelText,
    bundled_domains,
    parallel_texts,
    user_domains,
)
from tokctl.extras.suite.undertrained import UndertrainedReport
from tokctl.sources import Source
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.model_names import ModelArgument, named_models
from tokctl.tokenizer.tokenizer import chosen_threads

# -- Results -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DomainFigures:
    """Metrics of one model on the texts of one domain.

    Attributes:
        figures: Values by metric; NSL is relative to the suite's baseline.
        intervals: 95% intervals over resampled lines, by metric, without NSL.
        within_noise: Whether the model needs at least as many tokens as the model with the fewest,
            but the interval of the difference includes 0.
    """

    model: str
    figures: Mapping[str, MetricValue]
    intervals: Mapping[str, Interval | Undefined]
    within_noise: bool


@dataclass(frozen=True)
class DomainReport:
    """Results of all models on one domain.

    Attributes:
        is_bundled: Whether the domain ships with tokctl.
        fewest: Model with the fewest tokens, of those with tokens of which at most 1 % are unknown;
            empty if no model qualifies.
    """

    name: str
    is_bundled: bool
    bytes: int
    characters: int
    lines: int
    models: tuple[DomainFigures, ...]
    fewest: str


@dataclass(frozen=True)
class SuiteModel:
    """Results of one model that do not depend on a domain or a language.

    Attributes:
        characters: Characters of the bundled sentences that the model splits, by script.
        stability: Stability of the words of the suite's `text` under typos, case and spaces.
        undertrained: Tokens that are probably under-trained; uses are counted in all texts of the
            suite and in the texts that models were trained on for it.
        morphology: Agreement with each gold list, by the list's name.
    """

    name: str
    vocab_size: int
    numbers: NumberSplits
    code: CodeSplits
    characters: Mapping[str, CharacterCuts]
    stability: StabilityReport
    undertrained: UndertrainedReport
    morphology: Mapping[str, MorphologyReport]

    @property
    def all_characters(self) -> CharacterCuts:
        """Return the split characters of all scripts together."""
        return sum_of_cuts(self.characters.values())


@dataclass(frozen=True)
class Suite:
    """Results of the suite. Models are in the order given everywhere.

    Attributes:
        baseline: Name of the model that NSL is relative to.
        domains: Results by domain: first the user's texts, then the bundled ones.
        languages: Results on the same sentences in each language.
        scripts: Script of each language.
        models: Results that do not depend on a domain or a language.
        text: Name of the text whose words are varied for `SuiteModel.stability`.
        counted: Bytes of the texts in which the uses of ids were counted.
        published: Names of the models that were found on this machine and added.
        findings: Sentences that sum up the results.
    """

    baseline: str
    domains: tuple[DomainReport, ...]
    languages: Languages
    scripts: Mapping[str, str]
    models: tuple[SuiteModel, ...]
    text: str
    counted: int
    published: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value of the key `suite` in the JSON document; see `docs/suite.md`."""
        return _document(self)


# -- Measuring ---------------------------------------------------------------------------------

#: A model with a larger share of unknown tokens is not compared by its number of tokens.
MOST_UNKNOWN = 0.01


def run_suite(
    models: Sequence[ModelArgument],
    texts: Sequence[str | Path | Source | Text] = (),
    *,
    baseline: str | None = None,
    trained_on: Sequence[Text] = (),
    gold: Mapping[str, Sequence[GoldWord]] | None = None,
    embeddings: Mapping[str, str | Path] | None = None,
    tensor: str | None = None,
    seed: int = 0,
    published: Sequence[str] = (),
    threads: int | None = None,
    errors: str = "strict",
) -> Suite:
    """Measure models on the bundled domains and on the user's texts, which are domains as well.

    Args:
        models: Models as in `tokctl.compare`.
        texts: The user's texts, which may be missing. Each is a domain; more than `MOST_TEXTS` are
            one domain together.
        baseline: Name of the model that NSL is relative to; by default the first.
        trained_on: Texts that models were trained on for the suite; uses of ids are counted in
            them, too.
        gold: Gold lists of words with their morphemes, by name; see `morphology.read_gold`.
        embeddings: Safetensors file with the embeddings of a model, by the model's name.
        tensor: Name of the embedding matrix in these files, if it can't be detected.
        seed: Seed of the typos and of the choice of words.
        published: Names of the models that were added because they are on this machine.
        threads: Number of threads; None: the number of processors that this process may use. No
            result depends on it.
        errors: `strict` or `replace`, for text that is not UTF-8, if a model reads characters.

    Raises:
        TokctlError: There is no model, the baseline is unknown, a text or embeddings can't be read,
            or embeddings belong to an unknown model.

    Example:
        suite = run_suite(["bpe.json", "unigram.json"], ["book.txt"])
        suite.findings
    """
    named = named_models(models)
    gold, embeddings = dict(gold or {}), dict(embeddings or {})
    _check_names(named, baseline, embeddings)
    baseline = next(iter(named)) if baseline is None else baseline
    threads = chosen_threads(threads)
    characters = any(not model.recipe.is_byte_level for model in named.values())
    own_texts = read_texts(list(texts), characters=characters, errors=errors)
    parallel = parallel_texts()
    domains = [*user_domains(own_texts), *bundled_domains(parallel)]
    ranges = {name: range_of(model.model) for name, model in named.items()}
    measured = {
        name: [
            [measure_all(model, text, threads, lines=True) for text in domain.texts]
            for domain in domains
        ]
        for name, model in named.items()
    }
    reports = tuple(
        _domain(domain, {name: measured[name][index] for name in named}, ranges, baseline, threads)
        for index, domain in enumerate(domains)
    )
    # The last domain holds the sentences in all languages.
    by_language = {
        name: dict(zip(parallel, by_domain[-1], strict=True))
        for name, by_domain in measured.items()
    }
    words = (own_texts or [domain.texts[0] for domain in domains])[0]

    def id_counts(name: str) -> Mapping[int, int]:
        counted = [text_counts.counts for texts in measured[name] for text_counts in texts]
        counted += [measure(named[name], text, threads) for text in trained_on]
        return Counts.total(counted).id_counts

    suite = Suite(
        baseline,
        reports,
        _languages(by_language, ranges, baseline),
        {one.language: one.script for one in parallel},
        tuple(
            SuiteModel(
                name,
                tokenizer.vocab_size,
                splits.number_splits(tokenizer),
                splits.code_splits(tokenizer),
                _characters(tokenizer, parallel),
                stability.stability(tokenizer, words, seed=seed),
                undertrained.undertrained(
                    tokenizer,
                    id_counts(name),
                    embeddings=embeddings.get(name),
                    tensor=tensor if name in embeddings else None,
                ),
                {path: boundary_agreement(tokenizer, entries) for path, entries in gold.items()},
            )
            for name, tokenizer in named.items()
        ),
        words.name,
        sum(domain.bytes for domain in reports) + sum(text.size for text in trained_on),
        tuple(published),
    )
    return replace(suite, findings=_findings(suite))


def _check_names(
    named: Mapping[str, Tokenizer], baseline: str | None, embeddings: Mapping[str, str | Path]
) -> None:
    """Raise TokctlError if there is no model, or an option names an unknown one."""
    if not named:
        raise BadOption(
            "the suite needs a model", "name one, or a text to train some on", "missing-option"
        )
    for name in (*([] if baseline is None else [baseline]), *embeddings):
        if name not in named:
            raise BadOption(
                f"no model of the suite is called {name!r}",
                f"choose one of: {', '.join(named)}",
                "unknown-name",
            )


def _domain(
    domain: Domain,
    measured: Mapping[str, Sequence[Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
    threads: int,
) -> DomainReport:
    """Return the results of all models on one domain."""
    counts = {
        name: Counts.total(text.counts for text in measured_texts)
        for name, measured_texts in measured.items()
    }
    figures = {
        name: measured_of(domain.name, ranges[name], own, counts[baseline]).figures
        for name, own in counts.items()
    }
    # A model that drops all characters makes no tokens that could be unknown, so it must have some.
    reading = [name for name, own in counts.items() if own.tokens and reads(figures[name])]
    fewest = min(reading, key=lambda name: counts[name].tokens, default="")
    model_intervals = intervals(measured, ranges, fewest or baseline, threads)
    models = []
    for name in counts:
        difference = model_intervals[name].differences.get("tokens")
        noise = isinstance(difference, Interval) and not difference.excludes_zero
        own = model_intervals[name].figures
        without_nsl = {metric: interval for metric, interval in own.items() if metric != "nsl"}
        noise = noise and bool(fewest) and name in reading
        models.append(DomainFigures(name, figures[name], without_nsl, noise))
    size = counts[baseline]
    return DomainReport(
        domain.name,
        domain.is_bundled,
        size.bytes,
        size.characters,
        size.lines,
        tuple(models),
        fewest,
    )


def reads(figures: Mapping[str, MetricValue]) -> bool:
    """Return whether a model with these values reads the text, so that tokens are comparable."""
    unknown = figures["unk_rate"]
    return isinstance(unknown, Undefined) or unknown <= MOST_UNKNOWN


def _languages(
    measured: Mapping[str, Mapping[ParallelText, Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
) -> Languages:
    """Return the results of the parallel texts."""
    baseline_texts = measured[baseline]
    models = [
        {
            one.language: measured_of(
                one.language, ranges[name], own[one].counts, baseline_texts[one].counts
            )
            for one in own
        }
        for name, own in measured.items()
    ]
    return languages_of([one.language for one in baseline_texts], REFERENCE, models)


def _characters(tokenizer: Tokenizer, parallel: Sequence[ParallelText]) -> dict[str, CharacterCuts]:
    """Return the characters that a model splits, by script."""
    scripts: dict[str, CharacterCuts] = {}
    for text in parallel:
        cuts = splits.character_cuts(tokenizer, text.text.data)
        scripts[text.script] = scripts.get(text.script, CharacterCuts()) + cuts
    return scripts


# -- Findings ----------------------------------------------------------------------------------

#: Maximum number of findings.
MOST_FINDINGS = 6


def _findings(suite: Suite) -> tuple[str, ...]:
    """Return the findings. Morphology is left out, because nothing can be concluded from it."""
    parts = (_fewest, _unread, _dearest, _numbers, _cut_characters, _hardly_trained, _code)
    return tuple(sentence for part in parts if (sentence := part(suite)))[:MOST_FINDINGS]


def domain_names(suite: Suite) -> list[str]:
    """Return the displayed names of the domains; the user's are named after their files."""
    names = file_names([domain.name for domain in suite.domains if not domain.is_bundled])
    return [*names, *(domain.name for domain in suite.domains if domain.is_bundled)]


def _fewest(suite: Suite) -> str:
    """Return a sentence on the model with the fewest tokens in each domain.

    For a single model, the sentence names the domains with the most and the fewest bytes per token.
    """
    if len(suite.models) == 1:
        sizes = {
            name: figure
            for name, domain in zip(domain_names(suite), suite.domains, strict=True)
            if reads(domain.models[0].figures)
            and not isinstance(figure := domain.models[0].figures["bytes_per_token"], Undefined)
        }
        if len(sizes) < 2:
            return ""
        largest, smallest = max(sizes, key=lambda n: sizes[n]), min(sizes, key=lambda n: sizes[n])
        return (
            f"A token of {suite.models[0].name} carries {sizes[largest]:.2f} bytes of {largest}, "
            f"and {sizes[smallest]:.2f} of {smallest}."
        )
    by_model: dict[str, list[str]] = {}
    close: dict[str, list[str]] = {}
    for name, domain in zip(domain_names(suite), suite.domains, strict=True):
        if domain.fewest:
            by_model.setdefault(domain.fewest, []).append(name)
        for model in domain.models:
            if model.within_noise:
                close.setdefault(model.model, []).append(name)
    if not by_model:
        return ""
    sizes = {model.name: model.vocab_size for model in suite.models}
    differ = len(set(sizes.values())) > 1
    shares = "; ".join(
        f"{name}{f' (with {sizes[name]:,} ids)' if differ else ''} on "
        f"{listed(domains) if len(domains) < len(suite.domains) else 'every domain'}"
        for name, domains in by_model.items()
    )
    noise = "; ".join(
        f"{name} on {listed(domains) if len(domains) < len(suite.domains) else 'every domain'}"
        for name, domains in close.items()
    )
    noise_note = f" As few, or more but not beyond noise: {noise}." if noise else ""
    return f"Fewest tokens: {shares}.{noise_note}"


def _unread(suite: Suite) -> str:
    """Return a sentence on domains in which many tokens are unknown.

    Other values mean little in these domains.
    """
    phrases = []
    for index, model in enumerate(suite.models):
        shares = {
            name: figure
            for name, domain in zip(domain_names(suite), suite.domains, strict=True)
            if not isinstance(figure := domain.models[index].figures["unk_rate"], Undefined)
            and figure > MOST_UNKNOWN
        }
        if shares:
            worst = max(shares, key=lambda name: shares[name])
            phrases.append(
                f"{model.name} in {len(shares)} of {len(suite.domains)} domains, most in {worst} "
                f"({percent(shares[worst])})"
            )
    if not phrases:
        return ""
    return f"Over {MOST_UNKNOWN:.0%} of the tokens are unknown: {'; '.join(phrases)}."


def _dearest(suite: Suite) -> str:
    """Return a sentence on the most expensive language of those that each model reads."""
    languages = suite.languages.languages
    phrases = []
    for index, model in enumerate(suite.models):
        read = {
            language.name: parity
            for language in languages
            if reads(language.figures[index])
            and not isinstance(parity := language.figures[index]["parity"], Undefined)
        }
        if len(read) < 2:
            phrases.append(f"{model.name} reads {'English alone' if read else 'none of them'}")
            continue
        name = max(read, key=lambda name: read[name])
        gini = suite.languages.gini[index]
        unread = len(languages) - len(read)
        unread_note = f"; {plural(unread, 'language')} unread" if unread else ""
        unread_note += (
            f"; Gini {gini:.2f}" if not unread and not isinstance(gini, Undefined) else ""
        )
        phrases.append(f"{name} in {model.name} ({read[name]:.1f} times{unread_note})")
    return (
        f"Dearest of {len(languages)} languages, against {suite.languages.reference}: "
        f"{', '.join(phrases)}."
    )


#: Phrases for `splits.WAYS` in a sentence.
_WAYS = {
    "unknown": "unknown",
    "whole": "one token",
    "right": "groups from the right",
    "left": "groups from the left",
    "single": "a token for each digit",
    "other": "irregular",
}


def _numbers(suite: Suite) -> str:
    """Return a sentence on how most numbers of four digits are split."""
    phrases = []
    for model in suite.models:
        split_shares = model.numbers.ways[splits.DIGITS[-1]]
        commonest = max(split_shares, key=lambda commonest: split_shares[commonest])
        phrases.append(f"{_WAYS[commonest]} in {model.name} ({percent(split_shares[commonest])})")
    return f"The most frequent cut of a number of four digits: {', '.join(phrases)}."


def _cut_characters(suite: Suite) -> str:
    """Return a sentence on the share of characters that are split inside their UTF-8 form."""
    shares = {
        model.name: share
        for model in suite.models
        if not isinstance(share := model.all_characters.of_non_ascii, Undefined) and share
    }
    if not shares:
        return ""
    shares_text = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    scripts = len(set(suite.scripts.values()))
    return f"Characters beyond ASCII, of {scripts} scripts, that are cut into bytes: {shares_text}."


def _hardly_trained(suite: Suite) -> str:
    """Return a sentence on tokens that no text gives or that the texts did not use."""
    phrases = []
    for model in suite.models:
        never = model.undertrained.figures["never_used"]
        if isinstance(never, Undefined):
            continue
        cause_note = ""
        if model.undertrained.unreachable:
            cause_note = f", {len(model.undertrained.unreachable):,} tokens unreachable"
        facts = model.undertrained.embeddings
        if isinstance(facts, EmbeddingFacts):
            cause_note += f", {facts.apart:,} apart by their embeddings"
        phrases.append(f"{model.name} {percent(never)}{cause_note}")
    if not phrases:
        return ""
    return f"Vocabulary that {suite.counted:,} bytes of text never used: {'; '.join(phrases)}."


def _code(suite: Suite) -> str:
    """Return a sentence on the number of tokens of names in code."""
    figures = ", ".join(
        f"{model.name} {model.code.identifier_tokens['snake_case']:.2f} and "
        f"{model.code.identifier_tokens['camelCase']:.2f}"
        for model in suite.models
    )
    return f"Tokens of a name in code, with underscores and in camel case: {figures}."


# -- As JSON -----------------------------------------------------------------------------------


def _document(suite: Suite) -> dict[str, Any]:
    names = [model.name for model in suite.models]
    languages = languages_document(suite.languages, names)
    for language in languages["languages"]:
        language["script"] = suite.scripts[language["name"]]
    return {
        "baseline": suite.baseline,
        "published": list(suite.published),
        "words_of": suite.text,
        "counted_bytes": suite.counted,
        "findings": list(suite.findings),
        "domains": [_domain_document(domain) for domain in suite.domains],
        "languages": languages,
        "models": [_model_document(model) for model in suite.models],
    }


def _domain_document(domain: DomainReport) -> dict[str, Any]:
    return {
        "name": domain.name,
        "bundled": domain.is_bundled,
        "bytes": domain.bytes,
        "characters": domain.characters,
        "lines": domain.lines,
        "fewest": domain.fewest or None,
        "models": [
            {
                "name": model.model,
                **figures_document(model.figures),
                "intervals": {
                    name: [one.low, one.high] if isinstance(one, Interval) else None
                    for name, one in model.intervals.items()
                },
                "within_noise": model.within_noise,
            }
            for model in domain.models
        ],
    }


def _model_document(model: SuiteModel) -> dict[str, Any]:
    numbers, code = model.numbers, model.code
    return {
        "name": model.name,
        "vocab_size": model.vocab_size,
        "numbers": {
            "tokens": [
                {"digits": digits, "tokens": tokens, "share": share}
                for digits, shares in numbers.tokens.items()
                for tokens, share in shares.items()
            ],
            "ways": [{"digits": digits, **ways} for digits, ways in numbers.ways.items()],
            "places": [{"place": p, "share": share} for p, share in numbers.places.items()],
        },
        "code": {
            "identifiers": [
                {
                    "style": style,
                    "tokens": code.identifier_tokens[style],
                    "whole": code.identifier_whole[style],
                    "borders": code.identifier_borders[style],
                }
                for style in splits.STYLES
            ],
            "indentation": [
                {"of": kind, "length": length, "tokens": number_of(figure)}
                for (kind, length), figure in code.indentation.items()
            ],
            "operators": {"share": code.operators, "cut": list(code.cut_operators)},
        },
        "characters": [
            {"script": script, **asdict(cuts), "share": number_of(cuts.of_non_ascii)}
            for script, cuts in model.characters.items()
        ],
        "stability": {
            "words": len(model.stability.words),
            "distinct": model.stability.distinct,
            "seed": model.stability.seed,
            "variations": [
                {
                    "name": one.name,
                    "group": one.group,
                    "words": one.words,
                    **figures_document(one.figures),
                }
                for one in model.stability.variations
            ],
        },
        "undertrained": _undertrained_document(model.undertrained),
        "morphology": [
            {
                "list": name,
                **{key: value for key, value in vars(report).items() if key != "figures"},
                **figures_document(report.figures),
            }
            for name, report in model.morphology.items()
        ],
    }


#: Maximum number of ids of one kind in a list.
_MOST_IDS = 100


def _undertrained_document(report: UndertrainedReport) -> dict[str, Any]:
    facts = report.embeddings
    return {
        "of": report.of,
        "undecided": report.undecided,
        "rare": report.rare,
        "unreachable": _ids(report.unreachable),
        "never_used": _ids(report.never_used),
        "rarely_used": _ids(report.rarely_used),
        "embeddings": None
        if not isinstance(facts, EmbeddingFacts)
        else {
            "indicator": facts.indicator,
            "tensor": facts.tensor,
            "of": facts.of,
            "median": facts.median,
            "threshold": facts.threshold,
            "bound": facts.bound,
            "apart": facts.apart,
            "candidates": [asdict(one) for one in facts.candidates[:_MOST_IDS]],
        },
        **figures_document(report.figures),
    }


def _ids(ids: Sequence[int]) -> dict[str, Any]:
    return {"count": len(ids), "first": list(ids[:_MOST_IDS])}
