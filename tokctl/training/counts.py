r"""Word counts: pre-tokens with their numbers of occurrences, and the files that hold them.

A file has one `word<TAB>count` per line, in UTF-8, in first-seen order. In a word, `\n`, `\r`, `\t`
and `\\` are escapes, and `\xff` stands for a byte FF that is not part of valid UTF-8, so that every
pre-token can be read back exactly. If a word is listed more than once, its counts add up. A count
is a whole number below 2^63. A file whose name ends in `.gz` is compressed with gzip.

Example:
    from tokctl import Tokenizer
    from tokctl.training import counts

    words = counts.read("words.tsv")
    tokenizer = Tokenizer.train(words, vocab_size=10_000)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tokctl import _native
from tokctl.core.errors import BadInput
from tokctl.core.files import whole_file
from tokctl.sources import AUTO, Document, ReadOptions, Source, documents, opened
from tokctl.training import counting
from tokctl.training.counting import (
    LINES_AT_ONCE,
    check_count,
    counts_to_lines,
    finish_counts,
    read_count_lines,
)
from tokctl.training.options import TrainOptions

if TYPE_CHECKING:
    from tokctl.model import Recipe

__all__ = ["count", "read", "write"]


def read(source: str | Path | Document) -> dict[bytes, int]:
    """Return the words of a file with their counts, in the order of the lines.

    Args:
        source: A path, or `-` for stdin.

    Raises:
        TokctlError: The file can't be read, or a line is not a word and its count (the message
            names the line).

    Example:
        counts.write("words.tsv", {"low": 5, "lower": 2})
        counts.read("words.tsv")  # {b'low': 5, b'lower': 2}
    """
    document = source if isinstance(source, Document) else documents([source])[0]
    counter, _ = read_count_lines(document, characters=False)
    return dict(finish_counts(counter, 0).items())


def write(path: str | Path, words: Mapping[str, int] | Mapping[bytes, int]) -> None:
    """Write words with their counts to a file, which is complete or not created at all.

    Args:
        path: The file to write; compressed if the name ends in `.gz`.
        words: Words in the order of the lines, with counts from 0 to 2^63 - 1.

    Raises:
        TokctlError: A word is empty or not UTF-8, a count is out of range, or the file can't be
            written.

    Example:
        counts.write("words.tsv.gz", {"low": 5, "lower": 2})
    """
    for word, occurrences in words.items():
        check_count(word, occurrences)
        if isinstance(word, str):
            try:
                word.encode()
            except UnicodeEncodeError:
                raise BadInput(
                    f"the word {word!r} is not UTF-8",
                    "write the counts in UTF-8, or train a model of bytes",
                    "not-utf8",
                ) from None
    save(path, counts_to_lines(words))


def save(path: str | Path, lines: bytes | _native.Counts) -> None:
    """Write counted pre-tokens, or lines made of them, to a file, whole or not at all.

    The file is compressed if its name ends in `.gz`. The same counts give the same bytes.
    """
    with whole_file(path) as file, _maybe_gzip(file, path) as packed:
        if isinstance(lines, bytes):
            packed.write(lines)
            return
        for start in range(0, len(lines), LINES_AT_ONCE):
            packed.write(lines.to_lines(start, start + LINES_AT_ONCE))


@contextlib.contextmanager
def _maybe_gzip(file: BinaryIO, path: str | Path) -> Iterator[BinaryIO]:
    """Yield `file` itself, or a gzip writer around it if the name of `path` ends in `.gz`."""
    if Path(path).suffix.lower() != ".gz":
        yield file
        return
    import gzip

    # No file name and no time stamp, so that the bytes depend on the counts alone.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield cast("BinaryIO", packed)


def count(
    sources: str | Path | Source | Sequence[str | Path | Source],
    recipe: Recipe,
    *,
    reading: ReadOptions = AUTO,
    **options: Any,
) -> dict[bytes, int]:
    """Count the pre-tokens of texts, split by the recipe, in first-seen order.

    Args:
        sources: Paths, folders, archives or open sources, as in `Tokenizer.train`.
        recipe: Its normalizers and pre-tokenizers split the texts.
        reading: How paths are read; see `tokctl.sources.ReadOptions`.
        options: `min_count`, `threads`, `errors`, `sample`, `seed`, `memory`, `temporary`; see
            `tokctl.training.TrainOptions`.

    Example:
        words = counts.count("book.txt", default_recipe("bpe"), min_count=2)
        words[b" treasure"]  # 100
    """
    counts, _ = counting.count(
        opened(sources, reading), recipe, TrainOptions(vocab_size=1, **options)
    )
    return dict(counts.items())
