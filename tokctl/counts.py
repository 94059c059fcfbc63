r"""Word counts: pre-tokens with how often each was seen, and their files.

A file has one `word<TAB>count` per line, in UTF-8, in the order in which the pre-tokens were
first seen. In a word, `\n`, `\r`, `\t` and `\\` are escapes, and so is `\xff` for the byte
FF where the bytes are not UTF-8, so that any pre-token comes back as it was. Counts of a word
that comes more than once add up; a count is a whole number below 2^63.

    from tokctl import Tokenizer, counts

    words = counts.read("words.tsv")
    tokenizer = Tokenizer.train_on_counts(words, vocab_size=10_000)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.files import whole_file
from tokctl.sources import Document, documents
from tokctl.training.counting import check_count, counted_lines, counts_to_lines, finish

if TYPE_CHECKING:
    from tokctl.recipe import Recipe

__all__ = ["count", "read", "write"]


def read(source: str | Path | Document) -> dict[bytes, int]:
    """The words of a file with their counts, in the order of the lines; `-` is stdin.

    Raises:
        TokctlError: it can't be read; the line that is no word and its count is named.
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
                raise TokctlError(f"the word {word!r} is not UTF-8") from None
    save(path, counts_to_lines(words))


def save(path: str | Path, lines: bytes | _native.Counts) -> None:
    """Writes counted pre-tokens, or the lines of some."""
    data = lines if isinstance(lines, bytes) else lines.to_lines()
    with whole_file(path) as file:
        file.write(data)


def count(
    sources: Sequence[str | Path | Document], recipe: Recipe, **options: Any
) -> dict[bytes, int]:
    """The pre-tokens of texts, split as the recipe says, with their counts, in the order in
    which they are first seen.

    options: `min_count`, `threads`, `errors`, `sample`, `seed`: see `tokctl.training.Options`.
    """
    from tokctl.training import Options
    from tokctl.training import count as counted

    if isinstance(sources, (str, Path, Document)):
        sources = [sources]
    opened = iter(documents([s for s in sources if not isinstance(s, Document)]))
    texts = [s if isinstance(s, Document) else next(opened) for s in sources]
    found, _ = counted(texts, recipe, Options(vocab_size=1, **options))
    return dict(found.items())
