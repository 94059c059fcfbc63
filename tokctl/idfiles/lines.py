"""Ids as lines of text: decimal numbers (`ids`), or objects in JSON (`jsonl`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from tokctl.core.errors import BadInput
from tokctl.sources.blocks import whole_lines

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Default name of the JSON field that holds the ids of a line.
FIELD = "ids"


def from_decimal(
    tokenizer: Tokenizer, name: str, blocks: Iterable[bytes], *, skip_special: bool
) -> Iterator[bytes]:
    """Yield a line of text for each line of ids, as blocks of whole lines.

    Args:
        tokenizer: model of the ids.
        name: name of the file in messages.
        blocks: the bytes of the file.
        skip_special: whether to leave special tokens out of the text.

    Raises:
        TokctlError: something is not an id of the model. The message names its line and column.
    """
    from tokctl.core.errors import CoreError

    line = 1
    for block in whole_lines(blocks):
        try:
            yield _decode_lines(tokenizer, block, line, skip_special)
        except CoreError as error:
            if error.kind not in ("id-outside", "not-an-id"):
                raise
            hint = id_range_hint(tokenizer)
            if error.kind == "not-an-id" and b"\0" in block:
                hint = "ids in decimal are expected; for binary ids use --from bin (and --dtype)"
            elif error.kind == "not-an-id":
                hint += "; from text to ids: tokctl encode"
            raise BadInput(f"{name}: {error.message}", hint, "bad-ids") from None
        line += block.count(b"\n")


#: An id. 007 is not one: `20,000` in a text with digit groups must not be read as the ids 20 and 0.
_ID = rb"(?:0|[1-9][0-9]*)"
#: A line of ids as Python or a spreadsheet writes it: between brackets, or with commas.
_LIST_LINE = re.compile(
    rb"^([ \t]*)(?:"
    rb"\[[ \t]*(?:ID(?:[ \t]*,[ \t]*ID)*|ID(?:[ \t]+ID)*)?[ \t]*\]|ID(?:[ \t]*,[ \t]*ID)+"
    rb")[ \t]*\r?$".replace(b"ID", _ID),
    re.MULTILINE,
)
_MARKS_TO_SPACES = bytes.maketrans(b"[,]", b"   ")


def _decode_lines(tokenizer: Tokenizer, block: bytes, line: int, skip_special: bool) -> bytes:
    """Return the texts of lines of ids.

    Brackets and commas are replaced by spaces only if a line holds more than numbers. Lengths stay,
    so errors name the right column.
    """
    from tokctl.core.errors import CoreError

    try:
        return tokenizer.decoder.lines(block, line, skip_special)
    except CoreError as error:
        if error.kind != "not-an-id":
            raise
        plain = _LIST_LINE.sub(lambda match: match[0].translate(_MARKS_TO_SPACES), block)
        if plain == block:
            raise
    return tokenizer.decoder.lines(plain, line, skip_special)


def from_jsonl(
    tokenizer: Tokenizer,
    name: str,
    blocks: Iterable[bytes],
    field: str | None,
    *,
    skip_special: bool,
) -> Iterator[bytes]:
    """Yield a line of text for each JSON object, as blocks of whole lines.

    Args:
        tokenizer: model of the ids.
        name: name of the file in messages.
        blocks: the bytes of the file.
        field: field that holds the ids; None: `FIELD`.
        skip_special: whether to leave special tokens out of the text.

    Raises:
        TokctlError: a line has no list of ids, or an id is not one of the model. The message names
            the line and the position of the id in the list.
    """
    number = 0
    for block in whole_lines(blocks):
        decoded = []
        for line in BytesIO(block):  # splits at line feeds only, unlike splitlines
            number += 1
            location = f"{name}: line {number}"
            decoded.append(_decode_object(tokenizer, location, line, field or FIELD, skip_special))
            decoded.append(b"\n" if line.endswith(b"\n") else b"")
        yield b"".join(decoded)


def _decode_object(
    tokenizer: Tokenizer, location: str, line: bytes, field: str, skip_special: bool
) -> bytes:
    from tokctl.core import orjson

    hint = f'each line is an object with {field}: {{"{field}": [1, 2]}}'
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{location} is not valid JSON: {error}", hint, "bad-record") from None
    ids = document.get(field) if isinstance(document, dict) else None
    if not isinstance(ids, list):
        raise BadInput(f'{location} has no list of "{field}"', hint, "bad-record")
    for position, id_ in enumerate(ids, 1):
        if type(id_) is not int or not 0 <= id_ < tokenizer.vocab_size:
            problem = (
                f"{id_!r} is not an id of this model"
                if type(id_) is int
                else f"{id_!r} is not an id"
            )
            raise BadInput(
                f"{location}, number {position}: {problem}", id_range_hint(tokenizer), "bad-ids"
            )
    return tokenizer.decode_bytes(ids, skip_special=skip_special)


def id_range_hint(tokenizer: Tokenizer) -> str:
    """Return the range of a model's ids, as a hint for an error."""
    return f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
