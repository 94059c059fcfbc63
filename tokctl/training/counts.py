r"""Word counts: pre-tokens with how often each was seen, and their files.

A file has one `word<TAB>count` per line, in UTF-8, in the order in which the pre-tokens were
first seen. In a word, `\n`, `\r`, `\t` and `\\` are escapes, and so is `\xff` for the byte
FF where the bytes are not UTF-8, so that any pre-token comes back as it was. Counts of a word
that comes more than once add up; a count is a whole number below 2^63. A file whose name ends in
`.gz` is written compressed.

    from tokctl import Tokenizer, counts

    words = counts.read("words.tsv")
    tokenizer = Tokenizer.train_on_counts(words, vocab_size=10_000)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.files import whole_file
from tokctl.sources import AUTO, Document, Reading, Source, documents, opened
from tokctl.training import counting
from tokctl.training.counting import (
    LINES_AT_ONCE,
    check_count,
    counted_lines,
    counts_to_lines,
    finish,
)
from tokctl.training.options import Options

if TYPE_CHECKING:
    from tokctl.model import Recipe

__all__ = ["count", "read", "write"]


def read(source: str | Path | Document) -> dict[bytes, int]:
    """The words of a file with their counts, in the order of the lines; `-` is stdin.

    Raises:
        TokctlError: it can't be read; the line that is not a word and its count is named.
    """
    document = source if isinstance(source, Document) else documents([source])[0]
    counter, _ = counted_lines(document, characters=False)
    return dict(finish(counter, 0).items())


def write(path: str | Path, words: Mapping[str, int] | Mapping[bytes, int]) -> None:
    """Writes words with their counts, whole or not at all.

    Raises:
        TokctlError: a word is empty or no text, or a count is none; it can't be written.
    """
    for word, times in words.items():
        check_count(word, times)
        if isinstance(word, str):
            try:
                word.encode()
            except UnicodeEncodeError:
                raise TokctlError(
                    f"the word {word!r} is not UTF-8",
                    "write the counts in UTF-8, or train a model of bytes",
                ) from None
    save(path, counts_to_lines(words))


def save(path: str | Path, lines: bytes | _native.Counts) -> None:
    """Writes counted pre-tokens, or the lines of some, whole or not at all; compressed where
    the name ends in `.gz`. The same counts give the same bytes."""
    with whole_file(path) as file, _packed(file, path) as packed:
        if isinstance(lines, bytes):
            packed.write(lines)
            return
        for start in range(0, len(lines), LINES_AT_ONCE):
            packed.write(lines.to_lines(start, start + LINES_AT_ONCE))


@contextlib.contextmanager
def _packed(file: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    if Path(path).suffix.lower() != ".gz":
        yield file
        return
    import gzip

    # Neither the name nor the time: what is written depends on the counts alone.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield cast("BinaryIO", packed)


def count(
    sources: str | Path | Source | Sequence[str | Path | Source],
    recipe: Recipe,
    *,
    reading: Reading = AUTO,
    **options: Any,
) -> dict[bytes, int]:
    """The pre-tokens of texts, split as the recipe says, with their counts, in the order in
    which they are first seen.

    Args:
        sources: as `Tokenizer.train` takes them.
        reading: how paths are read; see `tokctl.sources.Reading`.
        options: `min_count`, `threads`, `errors`, `sample`, `seed`, `memory`, `temporary`: see
            `tokctl.training.Options`.
    """
    found, _ = counting.count(opened(sources, reading), recipe, Options(vocab_size=1, **options))
    return dict(found.items())
