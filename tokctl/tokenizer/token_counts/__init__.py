"""Counting the tokens of files, folders and archives, for one model or for many at once.

    from tokctl import count_tokens

    counts = count_tokens(["a.txt", "b.txt"], "gpt2.tokenizer.json")
    for row in counts.files:
        print(row.tokens[0], row.name)

It is what `tokctl encode --count` shows; see `docs/counting.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl.tokenizer.token_counts.results import Failure, FileCount, TokenCounts
from tokctl.tokenizer.token_counts.settings import Settings

if TYPE_CHECKING:
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.model_names import Model
    from tokctl.tokenizer.token_counts.reading import Progress

__all__ = ["Failure", "FileCount", "Settings", "TokenCounts", "count_tokens", "rows"]


def count_tokens(
    sources: Sequence[str | Path | Source],
    models: Tokenizer | str | Path | Sequence[Model] | Mapping[str, Tokenizer],
    *,
    keep_going: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> TokenCounts:
    """How many tokens each source has, for each model. Every source is read once.

    Args:
        sources: paths, as the command line takes them (files of text, JSON Lines, tables,
            archives, folders; `-` is stdin); sources of `tokctl.sources` are taken, too.
        models: a tokenizer or the path of a model; a list of these, or of pairs (name,
            tokenizer); or tokenizers by name.
        keep_going: a source that can't be counted becomes one of the `failures`, and the others
            are counted; without it, its error is raised.
        progress: called with the phase `count-tokens`, the bytes read so far as they lie there,
            and all of them (None where that is not known).
        settings: fields of `Settings`.

    Raises:
        TokctlError: a source is missing, or can't be counted; no model; settings that do not go
            together.
    """
    from tokctl.sources import opened

    named = _models(models)
    found = TokenCounts(tuple(named), [], [])
    for row in rows(opened(sources), list(named.values()), Settings(**settings), progress):
        if isinstance(row, FileCount):
            found.files.append(row)
        elif keep_going:
            found.failures.append(row)
        else:
            raise row.error
    return found


def rows(
    sources: Sequence[Source],
    tokenizers: Sequence[Tokenizer],
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Iterator[FileCount | Failure]:
    """The rows as they are counted: of each file, and of each member of an archive. Memory does
    not grow with their number.

    Raises:
        TokctlError: settings that do not fit a model, before anything is read.
    """
    from tokctl.tokenizer.token_counts.counters import counter
    from tokctl.tokenizer.token_counts.reading import Reader

    settings = settings or Settings()
    counters = [counter(tokenizer, settings) for tokenizer in tokenizers]
    return Reader(counters, settings.errors, progress or _nobody).rows(sources)


def _nobody(_phase: str, _done: int, _total: int | None) -> None:
    """Nobody looks on."""


def _models(
    models: Tokenizer | str | Path | Sequence[Model] | Mapping[str, Tokenizer],
) -> dict[str, Tokenizer]:
    if isinstance(models, Mapping):
        return dict(models)
    from tokctl.tokenizer.model_names import named_models

    if isinstance(models, (str, Path)) or not isinstance(models, Sequence):
        models = [models]
    return named_models(models)
