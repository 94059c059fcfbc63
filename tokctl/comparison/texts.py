"""The texts of a comparison, whole in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.sources import Document, check_utf8, documents


@dataclass(frozen=True)
class Text:
    """One text in memory."""

    name: str
    data: bytes

    def document(self) -> Document:
        """The text as a source of training."""
        return Document(self.name, len(self.data), lambda: iter([self.data]))


def count_words(texts: Sequence[Text], pre_tokenizer: str, threads: int) -> dict[bytes, int]:
    """How often the texts have each word, in first-seen order; words are what a named
    pre-tokenizer makes of them, and end where a text ends."""
    counter = _native.Counter(pre_tokenizer, [], threads)
    for text in texts:
        counter.feed(text.data)
        counter.end_document()
    return dict(counter.finish(1).items())


def read_texts(
    sources: Sequence[str | Path] | Sequence[Document], *, characters: bool, errors: str
) -> list[Text]:
    """Reads files and documents, each once.

    Args:
        characters: some model reads characters, so that the texts must be UTF-8.
        errors: `strict`, or `replace`: then all models get the same text, with U+FFFD.

    Raises:
        TokctlError: unreadable text; text that is not UTF-8, naming file, line and byte.
    """
    if errors not in ("strict", "replace"):
        raise TokctlError(f"errors can't be {errors!r}", "choose strict or replace")
    paths = [source for source in sources if not isinstance(source, Document)]
    opened = iter(documents(paths))
    texts = []
    for given in sources:
        source = given if isinstance(given, Document) else next(opened)
        blocks = check_utf8(source, errors) if characters else source.blocks()
        texts.append(Text(source.name, b"".join(blocks)))
    return texts
