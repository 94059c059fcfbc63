"""Numbers and sizes as the command line spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokctl.core.errors import BadOption

_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[+-]?[0-9]+(?:_[0-9]+)+")


def without_separators(text: str) -> str:
    """Return a number without thousands separators: `20,000` and `20_000` become `20000`."""
    text = text.strip()
    if found := _GROUPED.match(text):
        return re.sub("[,_]", "", found[0]) + text[found.end() :]
    return text


_WHOLE = re.compile(r"([+-]?[0-9]+)([KMG]?)", re.IGNORECASE)

_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def whole_number(text: str) -> int:
    """Parse a number of things other than bytes: `10000`, or `10K` with powers of 1000 (K, M, G).

    Raises:
        ValueError: the text is not such a number.
    """
    if not (found := _WHOLE.fullmatch(without_separators(text))):
        raise ValueError(text)
    return int(found[1]) * _SCALES[found[2].upper()]


def count_of(option: str, text: str, below: int, hint: str) -> int:
    """Parse a whole number from 1 up for an option.

    Args:
        option: the option, for the message.
        text: the number, as `whole_number` takes it.
        below: the number must be less.
        hint: the hint of the error.

    Raises:
        TokctlError: the text is not a number, or is out of range.
    """
    try:
        found = whole_number(text)
    except ValueError:
        found = 0
    if not 0 < found < below:
        raise BadOption(f"invalid value {text!r} for {option}", hint, "bad-value")
    return found


def vocab_sizes(values: Sequence[str]) -> list[int]:
    """Return the sizes of a `--vocab` that may be repeated and may hold commas, in order."""
    words = [word for value in values for word in value.split(",")]
    for value in values:
        if re.search(r",0[0-9]{2}\b", value) and (one := without_separators(value)) != value:
            hint = f"write {one}; a comma stands between sizes: 8K,16K,32K"
            raise BadOption(f"invalid value {value!r} for --vocab", hint, "bad-value")
    return [
        count_of("--vocab", word.strip(), 2**32, "give a size, or several: 8K,16K,32K")
        for word in words
    ]


def held_out_share(value: str) -> float | None:
    """Parse the share of a `--held-out`; return None if the value is the path of a text.

    Raises:
        TokctlError: the value is a number, but not a share.
    """
    from tokctl.analysis.held_out import check_share

    try:
        share = float(value)
    except ValueError:
        return None
    check_share(share)
    return share


#: Exponents of 1024 by unit; `sort -S` and `ulimit` count in powers of 1024, too.
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

_FORM = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?([KMGT]?)(?:iB)?", re.IGNORECASE)


def size_of(option: str, text: str, least: int = 1) -> int:
    """Parse a number of bytes: digits, and then K, M, G or T (or KiB and so on), powers of 1024.

    Args:
        option: the option, for the message.
        text: the size, such as `500M` or `1.5G`.
        least: the smallest size that is allowed.

    Raises:
        TokctlError: the text is not a size, or the size is too small.
    """
    match = _FORM.fullmatch(without_separators(text))
    if not match:
        raise BadOption(
            f"invalid value {text!r} for {option}",
            "give a number of bytes, or one with K, M, G or T after it (powers of 1024): 500M",
            "bad-value",
        )
    whole, part, unit = match.groups(default="")
    scale = 1 << 10 * _UNITS[unit.upper()]
    bytes_: int = int(whole) * scale + int(part or 0) * scale // 10 ** len(part)
    if bytes_ < least:
        raise BadOption(
            f"invalid value {text!r} for {option}", f"give at least {spoken(least)}", "bad-value"
        )
    return bytes_


def spoken(bytes_: int) -> str:
    """Return a number of bytes as a short text: `1.5G` for 1536 MiB."""
    for unit in ("T", "G", "M", "K"):
        scale = 1 << 10 * _UNITS[unit]
        if bytes_ >= scale:
            part = f"{bytes_ / scale:.3g}" if bytes_ < 1000 * scale else str(bytes_ // scale)
            return part + unit
    return str(bytes_)
