"""Records that are lines: JSON Lines, and texts with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, NoReturn

from tokctl.core import orjson
from tokctl.core.errors import BadInput
from tokctl.sources.blocks import whole_lines
from tokctl.sources.document import Batch

#: Characters shown of a line that can't be read.
_MAX_SHOWN = 60
_MAX_COUNT = (1 << 63) - 1
#: A number with fewer digits is below `_MAX_COUNT`.
_SAFE_DIGITS = 19
_COUNT_HINT = "each line is a text, a tab and a whole number from 0 to 2^63 - 1"
_BOM = b"\xef\xbb\xbf"


def jsonl(blocks: Iterable[bytes], name: str, field: str, *, opens: bool = True) -> Iterator[Batch]:
    """Yield the texts of JSON Lines (https://jsonlines.org): one field of the object in each line.

    Empty lines are skipped.

    Args:
        blocks: the bytes of the lines.
        name: name of the file in messages.
        field: a key, or a path `a.b`; an object that has the key "a.b" itself is read by that key.
        opens: whether the blocks begin the file, so that a byte order mark may come first.

    Raises:
        TokctlError: a line is not UTF-8, not an object, or has no string in the field. The message
            names the line.
    """
    get: Callable[[Any], Any] = itemgetter(field)
    if "." in field:
        parts = field.split(".")

        def get(document: Any) -> Any:
            return document[field] if field in document else _nested_value(document, parts)

    number = 1
    for lines in _line_lists(blocks):
        if opens and number == 1 and lines[0].startswith(_BOM):
            lines[0] = lines[0][len(_BOM) :]
        try:
            texts = list(map(str.encode, map(get, map(orjson.loads, lines))))
        except (orjson.JSONDecodeError, LookupError, TypeError, UnicodeError):
            yield from _texts_one_by_one(lines, number, name, field, get)
        else:
            yield Batch(texts, first=number)
        number += len(lines)


def tsv(blocks: Iterable[bytes], name: str) -> Iterator[Batch]:
    """Yield the texts of lines `text<TAB>count`, with their counts.

    The last tab of a line is the separator; the text before it is taken unchanged.

    Args:
        blocks: the bytes of the lines.
        name: name of the file in messages.

    Raises:
        TokctlError: a line has no count, a whole number from 0 to 2^63 - 1. The message names the
            line.
    """
    number = 1
    for lines in _line_lists(blocks):
        tabs = [line.rfind(b"\t") for line in lines]
        texts = [line[:tab] for line, tab in zip(lines, tabs, strict=True)]
        ends = [line[tab + 1 :] for line, tab in zip(lines, tabs, strict=True)]
        is_simple = (
            min(tabs) >= 0 and all(map(bytes.isdigit, ends)) and max(map(len, ends)) < _SAFE_DIGITS
        )
        counts = list(map(int, ends)) if is_simple else _parse_counts(lines, number, name)
        yield Batch(texts, counts, number)
        number += len(lines)


def _line_lists(blocks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of each block, including empty ones."""
    for block in whole_lines(blocks):
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield lines


def _parse_counts(lines: list[bytes], number: int, name: str) -> list[int]:
    """Return the counts of lines if one is unusual: large, with leading zeros, or before CR."""
    counts: list[int] = []
    for line_number, line in enumerate(lines, number):
        _, tab, end = line.rpartition(b"\t")
        digits = end.removesuffix(b"\r")
        # Python's int() refuses numbers of thousands of digits.
        is_number = tab and digits.isdigit() and len(digits.lstrip(b"0")) < 20
        count = int(digits.lstrip(b"0") or b"0") if is_number else -1
        if not 0 <= count <= _MAX_COUNT:
            shown = end[:_MAX_SHOWN].decode("utf-8", "replace")
            problem = f"{shown!r} is not a count" if tab else "has no tab and no count"
            _refuse(name, line_number, problem, _COUNT_HINT)
        counts.append(count)
    return counts


def _nested_value(document: Any, parts: list[str]) -> Any:
    for part in parts:
        if not isinstance(document, dict):
            raise KeyError(part)
        document = document[part]
    return document


def _texts_one_by_one(
    lines: list[bytes], number: int, name: str, field: str, get: Callable[[Any], Any]
) -> Iterator[Batch]:
    """Yield the texts of lines of which one can't be read or is blank.

    After a blank line a new batch begins, because the texts of a batch have consecutive line
    numbers.
    """
    texts: list[bytes] = []
    for line_number, line in enumerate(lines, number):
        if not line.strip(b" \t\r"):
            if texts:
                yield Batch(texts, first=line_number - len(texts))
                texts = []
            continue
        texts.append(_parse_text(line, line_number, name, field, get))
    if texts:
        yield Batch(texts, first=number + len(lines) - len(texts))


def _parse_text(
    line: bytes, line_number: int, name: str, field: str, get: Callable[[Any], Any]
) -> bytes:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = str(error).partition(": line 1 column")[0]
        where = f" (character {error.pos + 1})" if error.pos else ""
        _refuse(name, line_number, f"is not valid JSON: {reason}{where}", _line_hint(line))
    if not isinstance(document, dict):
        _refuse(name, line_number, "is not a JSON object", _line_hint(line))
    try:
        text = get(document)
    except LookupError:
        keys = ", ".join(list(document)[:20]) or "none"
        _refuse(
            name, line_number, f"has no field {field}", f"--text-field names it; there is: {keys}"
        )
    if not isinstance(text, str):
        kind = _KINDS.get(type(text), "an object")
        _refuse(name, line_number, f"field {field} is {kind}, not a string", "leave such lines out")
    return text.encode()


_KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "an array",
}


def _line_hint(line: bytes) -> str:
    text = line.strip()[: 4 * _MAX_SHOWN].decode("utf-8", "replace")
    return (
        f"each line is one JSON object; here: {text[:_MAX_SHOWN]}{'…' if text[_MAX_SHOWN:] else ''}"
    )


def _refuse(name: str, line: int, problem: str, hint: str) -> NoReturn:
    raise BadInput(f"{name}: line {line}: {problem}", hint, "bad-record")
