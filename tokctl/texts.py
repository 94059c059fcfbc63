"""A text as the bytes that the native encoder reads."""

from __future__ import annotations

from tokctl.errors import TokctlError


def as_bytes(text: str | bytes, units: str) -> bytes:
    """The bytes of a text; TokctlError where a recipe with these units can't read them.

    In a str for bytes, lone surrogates stand for bytes that are not UTF-8 (Python's
    `surrogateescape`).
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    if isinstance(text, bytes):
        if units == "characters":
            _check_utf8(text)
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if units == "bytes":
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
