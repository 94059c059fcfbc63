"""The health check of a model: mistakes, oddities, and how a text uses it.

`check_health` makes every check of `CHECKS`; those of the vocabulary itself are in `vocabulary.py`,
those of what it is good for (reach, use, merges) in `use.py`, and what a language model's
embeddings say in `embeddings.py`. The table in `docs/health.md` explains each check and what to do
about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tokctl.analysis.health import embeddings as matrices
from tokctl.analysis.health import use, vocabulary
from tokctl.analysis.health.results import (
    CHECKS,
    SEVERITIES,
    Answer,
    Check,
    Example,
    Finding,
    Health,
    NotMade,
    TextFacts,
)
from tokctl.analysis.health.subject import EncodedTexts, Subject, encode_texts
from tokctl.errors import TokctlError
from tokctl.sources import Source, check_errors, open_sources
from tokctl.tokenizer import Tokenizer
from tokctl.values import available_threads

__all__ = [
    "CHECKS",
    "SEVERITIES",
    "Check",
    "Example",
    "Finding",
    "Health",
    "NotMade",
    "TextFacts",
    "check_health",
]

#: Examples of each finding.
EXAMPLES = 8
#: A token that is used less often is rare.
RARE = 10

_CHECKS: tuple[Callable[[Subject], Iterator[Answer]], ...] = (
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
    """Every check that can be made of a model.

    Takes about a second for 100,000 tokens, and the time to encode the texts, which are held
    in memory.

    Args:
        texts: paths, or sources of `tokctl.sources`, of which each document is encoded by
            itself and counts as often as the source says; without any, what needs a text is not
            checked.
        limit: examples of each finding; None for all.
        rare: a token that the texts use less often is rare.
        embeddings: of a language model with this vocabulary, a safetensors file; without them
            `under-trained` is not checked. tensor: their name in it, where that is not a usual one.
            Reading them needs NumPy; see `tokctl.analysis.health.embeddings`.
        errors: what to do where a text is not UTF-8 and the model reads characters: `strict`
            or `replace`.
        threads: for encoding; by default as many as there are processors. Changes nothing.

    Raises:
        TokctlError: a text can't be read, or is not UTF-8; an argument out of range; embeddings
            can't be read, or are those of another model.
    """
    check_errors(errors)
    if embeddings is None and tensor is not None:
        raise TokctlError("a tensor goes with embeddings", "name the file that it is in")
    for name, number in (("limit", limit), ("rare", rare)):
        if number is not None and number < 0:
            raise TokctlError(f"{name} can't be {number}", "it is a number from 0 up")
    sources = None if texts is None else _sources(texts)
    if embeddings is not None:
        matrices.check_matrix(tokenizer, embeddings, tensor)  # before texts are encoded
    encoded = None
    if sources is not None:
        encoded = encode_texts(tokenizer, sources, errors, threads or available_threads())
    subject = Subject(
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
        not_made=tuple(answer for answer in answers if isinstance(answer, NotMade)),
    )


def _sources(texts: Sequence[str | Path | Source]) -> list[Source]:
    """The texts as sources; each is checked before anything is read."""
    if isinstance(texts, (str, bytes)):
        raise TokctlError("texts are a list of files, not one", f"give [{texts!r}]")
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
