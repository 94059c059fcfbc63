"""Text that must be UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.sources.document import Batch, Document


def check_utf8(document: Document, errors: str) -> Iterator[bytes]:
    """The document's blocks, checked to be UTF-8.

    `errors` is `strict` (TokctlError that names file, line and byte) or `replace`
    (each maximal ill-formed sequence becomes U+FFFD, as the Unicode Standard advises).
    """
    if errors == "replace":
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for block in document.blocks():
            yield decoder.decode(block).encode()
        if rest := decoder.decode(b"", True):
            yield rest.encode()
        return
    check = _native.Utf8Check()
    for block in document.blocks():
        if place := check.feed(block):
            raise invalid_utf8(document.name, *place)
        yield block
    if place := check.end():
        raise invalid_utf8(document.name, *place)


def invalid_utf8(name: str, line: int, byte: int) -> TokctlError:
    """The error for text that a character-level model can't read; `byte` counts from 0."""
    return TokctlError(
        f"{name}: line {line}, byte {byte} is not UTF-8, and this model reads characters",
        "use --errors replace to put U+FFFD in its place, or a byte-level model",
    )


def checked_batch(batch: Batch, name: str, errors: str, unit: str = "line") -> Batch:
    """The batch, its texts checked to be UTF-8; `errors` as `check_utf8` has it."""
    try:
        # A line feed is no part of a character: all together are UTF-8 where each is.
        b"\n".join(batch.texts).decode()
    except UnicodeDecodeError:
        pass
    else:
        return batch
    texts = []
    for number, text in enumerate(batch.texts, batch.first):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            if errors != "replace":
                raise invalid_utf8(f"{name}: {unit} {number}", 1, error.start) from None
            text = text.decode("utf-8", "replace").encode()
        texts.append(text)
    return Batch(texts, batch.counts, batch.first)
