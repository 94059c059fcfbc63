"""Numbers of bytes, as people write them."""

from __future__ import annotations

import re

from tokctl.errors import TokctlError

#: Powers of 1024, as `sort -S` and `ulimit` have them.
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_FORM = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?([KMGT]?)(?:iB)?", re.IGNORECASE)


def size_of(option: str, text: str, least: int = 1) -> int:
    """Bytes: a number, with K, M, G or T (or KiB and so on) behind it, powers of 1024.

    Raises:
        TokctlError: it is none, or less than `least`; it names the option.
    """
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise TokctlError(
            f"{option} can't be {text!r}",
            "it is a number of bytes, or one with K, M, G or T behind it (powers of 1024): 500M",
        )
    whole, part, unit = match.groups(default="")
    scale = 1 << 10 * _UNITS[unit.upper()]
    bytes_: int = int(whole) * scale + int(part or 0) * scale // 10 ** len(part)
    if bytes_ < least:
        raise TokctlError(f"{option} can't be less than {spoken(least)}", f"say {spoken(least)}")
    return bytes_


def spoken(bytes_: int) -> str:
    """A number of bytes, short: 1536M is 1.5G."""
    for unit in ("T", "G", "M", "K"):
        scale = 1 << 10 * _UNITS[unit]
        if bytes_ >= scale:
            part = f"{bytes_ / scale:.3g}" if bytes_ < 1000 * scale else str(bytes_ // scale)
            return part + unit
    return str(bytes_)
