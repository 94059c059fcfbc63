"""From ids to text, as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokctl._native import CoreError, DecodeStream
from tokctl.errors import TokctlError
from tokctl.idfiles.readers.lines import known_ids

if TYPE_CHECKING:
    from tokctl.idfiles.readers.contract import Part
    from tokctl.tokenizer.decodes import Decodes

#: Bytes of text that are gathered from small documents.
_PORTION = 1 << 18


def text_of(
    tokenizer: Decodes,
    parts: Iterable[Part],
    *,
    skip_special: bool = False,
    separator: bytes | None = None,
) -> Iterator[bytes]:
    """The text of each document, one behind the other.

    Args:
        separator: stands behind each document; None: a line feed, where the document does not
            end with one. Nothing stands behind ids that no document's end follows.

    Raises:
        TokctlError: names the place of an id that the model does not have.
    """
    # A token's neighbours can decide about its text; a stream holds back what they can.
    stream: DecodeStream | None = None  # of a document that is not all there
    gathered: list[bytes] = []
    size = 0
    last = b""  # byte of the document, so far
    for part in parts:
        if part.ends and stream is None:
            text = _decoded(tokenizer, part, skip_special=skip_special)
        else:
            stream = stream or DecodeStream(tokenizer.decoder, skip_special)
            text = _pushed(tokenizer, stream, part)
            if part.ends:
                text += stream.finish()
                stream = None
        gathered.append(text)
        size += len(text)
        last = text[-1:] or last
        if part.ends:
            if separator is not None:
                gathered.append(separator)
            elif last != b"\n":
                gathered.append(b"\n")
            last = b""
        if size >= _PORTION or not part.ends:
            yield b"".join(gathered)
            gathered.clear()
            size = 0
    if stream is not None:
        gathered.append(stream.finish())
    yield b"".join(gathered)


def _decoded(tokenizer: Decodes, part: Part, *, skip_special: bool) -> bytes:
    try:
        return tokenizer.decoder.decode(part.ids, skip_special)
    except (CoreError, OverflowError) as error:
        if not _is_outside(error):
            raise
        raise _outside(tokenizer, part) from None


def _pushed(tokenizer: Decodes, stream: DecodeStream, part: Part) -> bytes:
    try:
        return stream.push(part.ids)
    except (CoreError, OverflowError) as error:
        if not _is_outside(error):
            raise
        raise _outside(tokenizer, part) from None


def _is_outside(error: CoreError | OverflowError) -> bool:
    """Is it about an id that is none? A number that no id can be is told by OverflowError."""
    return isinstance(error, OverflowError) or error.args[1] == "unknown-id"


def _outside(tokenizer: Decodes, part: Part) -> TokctlError:
    """The error for the first number of a part that is no id of the model."""
    size = tokenizer.vocab_size
    place, id_ = next((at, id_) for at, id_ in enumerate(part.ids) if not 0 <= id_ < size)
    return TokctlError(
        f"{part.place(place)}: id {id_} is outside the vocabulary", known_ids(tokenizer)
    )
