"""The health check of a model: what is wrong with it, what is odd, what a text says of it.

`check_health` makes every check of `CHECKS`, one file per family:

| file | what it looks at |
|---|---|
| `reaching.py` | tokens that no text gives, by the stage that keeps them out |
| `using.py` | tokens that a text uses never or rarely, and what it can't be encoded to |
| `merges.py` | merges that no longer matter |
| `doubles.py` | ids that stand for the same text |
| `holes.py` | ids that the file gave to nothing |
| `specials.py` | special tokens that text can write, or that have no id |
| `alphabets.py` | missing bytes, tokens that are no whole characters |
| `scripts.py` | tokens across scripts, and across digits and letters |
| `characters.py` | damage, control characters, spaces, great lengths |

The table in `docs/health.md` says of each what it is worth and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError
from tokctl.explain.health import (
    alphabets,
    characters,
    doubles,
    holes,
    merges,
    reaching,
    scripts,
    specials,
    using,
)
from tokctl.explain.health.known import CHECKS, Check
from tokctl.explain.health.report import (
    SEVERITIES,
    Example,
    Finding,
    Health,
    NotMade,
    TextFacts,
)
from tokctl.explain.health.subject import Answer, Read, Subject
from tokctl.sources import Document, check_utf8, documents

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

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

_FAMILIES: tuple[Callable[[Subject], Iterator[Answer]], ...] = (
    reaching.check,
    using.check,
    merges.check,
    doubles.check,
    holes.check,
    specials.check,
    alphabets.check,
    scripts.check,
    characters.check,
)


def check_health(
    tokenizer: Tokenizer,
    texts: Sequence[str | Path | Document] | None = None,
    *,
    limit: int | None = EXAMPLES,
    rare: int = RARE,
    errors: str = "strict",
    threads: int | None = None,
) -> Health:
    """Every check that can be made of a model.

    Takes about a second for 100,000 tokens, and the time to encode the texts, which are held
    in memory.

    Args:
        texts: paths, each one text, or documents of `tokctl.sources`; without any, what needs
            a text is not checked.
        limit: examples of each finding; None for all.
        rare: a token that the texts use less often is rare.
        errors: what to do where a text is not UTF-8 and the model reads characters: `strict`
            or `replace`.
        threads: for encoding; by default as many as there are processors. Changes nothing.

    Raises:
        TokctlError: a text can't be read, or is not UTF-8; an argument out of range.
    """
    if errors not in ("strict", "replace"):
        raise TokctlError(f"errors can't be {errors!r}", "choose strict or replace")
    for name, number in (("limit", limit), ("rare", rare)):
        if number is not None and number < 0:
            raise TokctlError(f"{name} can't be {number}", "it is a number from 0 up")
    read = None if texts is None else _read(tokenizer, texts, errors, threads)
    subject = Subject(tokenizer, read, limit=limit, rare=rare)
    answers = [answer for family in _FAMILIES for answer in family(subject)]
    found = [answer for answer in answers if isinstance(answer, Finding)]
    order = list(CHECKS)
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), order.index(one.name)))
    return Health(
        vocab_size=tokenizer.vocab_size,
        texts=None if read is None else _facts(read),
        findings=tuple(finding for finding in found if finding.count),
        passed=tuple(finding for finding in found if not finding.count),
        not_made=tuple(answer for answer in answers if isinstance(answer, NotMade)),
    )


def _read(
    tokenizer: Tokenizer,
    texts: Sequence[str | Path | Document],
    errors: str,
    threads: int | None,
) -> list[Read]:
    """The texts with their ids."""
    from tokctl.training.options import available_threads

    if isinstance(texts, (str, bytes)):
        raise TokctlError("texts are a list of files, not one", f"give [{texts!r}]")
    paths = [text for text in texts if not isinstance(text, Document)]
    opened = iter(documents(paths))  # each is checked before anything is read
    sources = [text if isinstance(text, Document) else next(opened) for text in texts]
    encoder, matcher = tokenizer.encoder, tokenizer.special_matcher("none")
    characters_only = tokenizer.recipe.units == "characters"
    found = []
    for source in sources:
        blocks = check_utf8(source, errors) if characters_only else source.blocks()
        data = b"".join(blocks)
        ids = encoder.array(data, threads or available_threads(), matcher)
        found.append(Read(source.name, data, ids))
    return found


def _facts(texts: Sequence[Read]) -> TextFacts:
    return TextFacts(
        names=tuple(text.name for text in texts),
        bytes=sum(len(text.data) for text in texts),
        tokens=sum(len(text.ids) for text in texts),
    )
