"""The health check of a model: mistakes, oddities, and how a text uses the vocabulary.

`check_health` runs every check of `CHECKS`. `vocabulary.py` checks the vocabulary itself, `use.py`
checks reach, use and merges, and `embeddings.py` checks a language model's embeddings. The table
in `docs/health.md` explains each check and how to respond to a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tokctl.analysis.health import embeddings as matrices
from tokctl.analysis.health import use, vocabulary
from tokctl.analysis.health.results import (
    CHECKS,
    SEVERITIES,
    Check,
    CheckResult,
    Example,
    Finding,
    Health,
    SkippedCheck,
    TextFacts,
)
from tokctl.analysis.health.subject import CheckContext, EncodedTexts, encode_texts
from tokctl.core.errors import BadOption
from tokctl.core.values import available_threads
from tokctl.sources import Source, check_errors, open_sources
from tokctl.tokenizer import Tokenizer

__all__ = [
    "CHECKS",
    "SEVERITIES",
    "Check",
    "Example",
    "Finding",
    "Health",
    "SkippedCheck",
    "TextFacts",
    "check_health",
]

#: Default number of examples of each finding.
EXAMPLES = 8
#: Default number of uses below which a token is rare.
RARE = 10

_CHECKS: tuple[Callable[[CheckContext], Iterator[CheckResult]], ...] = (
    use.check_reach,
    use.check_use,
    matrices.check_embeddings,
    use.check_merges,
    vocabulary.check_duplicates,
    vocabulary.check_holes,
    vocabulary.check_specials,
    vocabulary.check_bytes,
    vocabulary.check_scripts,
    vocabulary.check_digits,
    vocabulary.check_characters,
)


def check_health(
    tokenizer: Tokenizer,
    texts: Sequence[str | Path | Source] | None = None,
    *,
    limit: int | None = EXAMPLES,
    rare: int = RARE,
    embeddings: str | Path | None = None,
    tensor: str | None = None,
    errors: str = "strict",
    threads: int | None = None,
) -> Health:
    """Run every check that applies to a model.

    The checks take about a second for 100,000 tokens, plus the time to encode the texts, which are
    held in memory.

    Args:
        tokenizer: tokenizer to check.
        texts: paths, or sources of `tokctl.sources`; each document is encoded separately and counts
            as often as its source says. None skips the checks that need a text.
        limit: most examples of each finding; None for all.
        rare: a token with fewer uses in the texts is rare.
        embeddings: safetensors file with the embeddings of a language model with this vocabulary
            (read with NumPy, see `tokctl.analysis.health.embeddings`); None skips `under-trained`.
        tensor: name of the embeddings in the file; None finds the usual names.
        errors: `strict`, or `replace` to put U+FFFD where text is not UTF-8 and the model reads
            characters.
        threads: threads for encoding; None uses all processors. The result does not depend on them.

    Raises:
        TokctlError: a text can't be read or is not UTF-8; an argument is out of range; the
            embeddings can't be read or belong to another model.

    Example:
        >>> health = check_health(tokenizer, ["book.txt"])
        >>> [finding.name for finding in health.at_least("warning")]
        []
    """
    check_errors(errors)
    if embeddings is None and tensor is not None:
        raise BadOption(
            "a tensor needs embeddings", "also give the file of the embeddings", "missing-option"
        )
    for name, number in (("limit", limit), ("rare", rare)):
        if number is not None and number < 0:
            raise BadOption(
                f"invalid value {number} for {name}", "give a number of at least 0", "bad-value"
            )
    sources = None if texts is None else _sources(texts)
    if embeddings is not None:
        matrices.check_matrix(tokenizer, embeddings, tensor)  # fail before texts are encoded
    encoded = None
    if sources is not None:
        encoded = encode_texts(tokenizer, sources, errors, threads or available_threads())
    subject = CheckContext(
        tokenizer, encoded, limit=limit, rare=rare, embeddings=embeddings, tensor=tensor
    )
    answers = [answer for check in _CHECKS for answer in check(subject)]
    found = [answer for answer in answers if isinstance(answer, Finding)]
    order = list(CHECKS)
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), order.index(one.name)))
    return Health(
        vocab_size=tokenizer.vocab_size,
        texts=None if sources is None or encoded is None else _facts(sources, encoded),
        findings=tuple(finding for finding in found if finding.count),
        passed=tuple(finding for finding in found if not finding.count),
        not_made=tuple(answer for answer in answers if isinstance(answer, SkippedCheck)),
    )


def _sources(texts: Sequence[str | Path | Source]) -> list[Source]:
    """Return the texts as sources; check each before any text is read."""
    if isinstance(texts, (str, bytes)):
        raise BadOption(
            "texts must be a list of files, not one file", f"give [{texts!r}]", "bad-value"
        )
    found: list[Source] = []
    for text in texts:
        found += open_sources([text]) if isinstance(text, (str, Path)) else [text]
    return found


def _facts(sources: Sequence[Source], texts: Sequence[EncodedTexts]) -> TextFacts:
    return TextFacts(
        names=tuple(source.name for source in sources),
        documents=sum(text.number for text in texts),
        bytes=sum(text.bytes for text in texts),
        tokens=sum(text.tokens for text in texts),
    )
