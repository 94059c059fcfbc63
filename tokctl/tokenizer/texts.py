"""A text as the bytes that the native encoder reads, and as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokctl.errors import TokctlError


def as_bytes(text: str | bytes, *, byte_level: bool) -> bytes:
    """The bytes of a text; TokctlError where a recipe can't read them that is, or is not,
    byte-level.

    In a str for bytes, lone surrogates stand for bytes that are not UTF-8 (Python's
    `surrogateescape`).
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    if isinstance(text, bytes):
        if not byte_level:
            _check_utf8(text)
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if byte_level:
            try:
                return text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                pass
        raise TokctlError(
            f"character {error.start} of the text is a lone surrogate, which UTF-8 can't hold"
        ) from None


def _check_utf8(text: bytes) -> None:
    from tokctl.sources import invalid_utf8

    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise invalid_utf8("the text", line, error.start) from None


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks, cut so that each but the last ends behind a line feed.

    A line over many blocks is joined once: the time is linear however long it is.
    """
    waiting: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end == 0:
            waiting.append(block)
            continue
        yield b"".join((*waiting, block[:end])) if waiting or end < len(block) else block
        waiting = [block[end:]] if end < len(block) else []
    if waiting:
        yield b"".join(waiting)
