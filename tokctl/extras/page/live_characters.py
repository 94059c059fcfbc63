"""Effects of normalizers on single characters, for a page.

They are taken from the core, so that the Unicode version of the browser does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tokctl import _native

#: Run of code points that change alike: the gap since the last run, the length, and the replacement
#: of each; with four fields, the texts put before and after each.
Run = tuple[int, int, str] | tuple[int, int, str, str]


@cache
def _every_character() -> str:
    """Return all characters except surrogates, which no text contains."""
    return "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)


def _changed(part: dict[str, Any], between: str, before: str = "") -> dict[str, str]:
    """Return the characters that a normalizer changes after `before`, with the text for both.

    `between` separates the characters. It must be one that the normalizer neither changes nor
    produces, and that does not join its neighbours.
    """
    found: dict[str, str] = {}
    every = _every_character().replace(between, "")
    for start in range(0, len(every), 1024):
        characters = every[start : start + 1024]
        joined = before + (between + before).join(characters)
        made = _native.normalize([part], joined.encode()).decode()
        if made != joined:
            pairs = zip(characters, made.split(between), strict=True)
            found |= {char: after for char, after in pairs if after != before + char}
    return found


_BERT = ("clean_text", "cjk_spacing", "strip_accents", "lowercase")
#: Normalizers that work on one character at a time, by their names in the page's tables.
_SINGLE: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in ("lowercase", "strip-accents", "nmt", "delete-newlines")},
    **{
        f"bert {step}": {"kind": "bert", **{other: other == step for other in _BERT}}
        for step in _BERT
    },
}


@cache
def changes(name: str) -> tuple[Run, ...]:
    """Return the changes that a normalizer of `_SINGLE` makes, as runs.

    For `bert strip_accents` only removed characters count; decomposing is a step of its own (NFD).
    """
    found = _changed(_SINGLE[name], "!")
    if name == "bert strip_accents":
        found = {char: made for char, made in found.items() if not made}
    rows: list[Run] = []
    last = 0
    for char, made in sorted(found.items()):
        # A run holds characters with an equal replacement, or with equal texts around them.
        code, spelled = ord(char), _around(char, made)
        if rows and code == last and rows[-1][2:] == spelled:
            rows[-1] = (rows[-1][0], rows[-1][1] + 1, *spelled)
        else:
            rows.append((code - last, 1, *spelled))
        last = code + 1
    return tuple(rows)


def _around(char: str, made: str) -> tuple[str] | tuple[str, str]:
    """Return the replacement of a character, or the texts before and after it if it stays."""
    before, found, behind = made.partition(char)
    return (before, behind) if found else (made,)


@cache
def normal_forms(*, compatible: bool) -> dict[str, Any]:
    """Return the tables for Unicode's normal forms.

    Args:
        compatible: whether NFKC and NFKD are needed, too.

    Returns:
        A dict: `nfd`, pairs of a code point and its full decomposition, without Hangul; `nfkd`,
        such pairs where they differ from NFD; `excluded`, the code points of `nfd` that nothing
        composes to; `order`, pairs of a mark and the rank of its combining class.
    """
    hangul = range(0xAC00, 0xAC00 + 11172)
    forms = {form: _changed({"kind": form}, "\n") for form in ("nfd", "nfc")}
    nfd = {char: made for char, made in forms["nfd"].items() if ord(char) not in hangul}
    nfkd = _changed({"kind": "nfkd"}, "\n") if compatible else {}
    return {
        "nfd": [(ord(char), made) for char, made in nfd.items()],
        "nfkd": [(ord(c), made) for c, made in nfkd.items() if made != forms["nfd"].get(c)],
        "excluded": [ord(char) for char in nfd if char in forms["nfc"]],
        "order": [(ord(char), place) for char, place in _order(forms["nfd"]).items()],
    }


def _order(nfd: Mapping[str, str]) -> dict[str, int]:
    """Return each reordered mark with the number of marks in lower combining classes."""
    # U+0345 has the highest class, so a mark of a lower class moves before it.
    last = "\u0345"
    swapped = _changed({"kind": "nfd"}, "\n", before=last)
    marks = [last, *(char for char in swapped if char not in nfd)]

    def moved(pairs: list[str]) -> list[bool]:
        made = _native.normalize([{"kind": "nfd"}], "\n".join(pairs).encode()).decode()
        return [one != two for one, two in zip(pairs, made.split("\n"), strict=True)]

    found: dict[str, int] = {}
    for mark in marks:
        if mark in found:
            continue
        lower = moved([mark + other for other in marks])
        higher = moved([other + mark for other in marks])
        place = sum(lower)
        for other, is_lower, is_higher in zip(marks, lower, higher, strict=True):
            if not is_lower and not is_higher:
                found[other] = place
    return found
