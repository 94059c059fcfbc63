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


def _changed(part: dict[str, Any], between: str, prefix: str = "") -> dict[str, str]:
    """Return the characters that a normalizer changes after `prefix`, with the text for both.

    `between` separates the characters. It must be one that the normalizer neither changes nor
    produces, and that does not join its neighbours.
    """
    changed: dict[str, str] = {}
    every = _every_character().replace(between, "")
    for start in range(0, len(every), 1024):
        characters = every[start : start + 1024]
        joined = prefix + (between + prefix).join(characters)
        normalized = _native.normalize([part], joined.encode()).decode()
        if normalized != joined:
            pairs = zip(characters, normalized.split(between), strict=True)
            changed |= {
                char: replacement for char, replacement in pairs if replacement != prefix + char
            }
    return changed


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
    changed = _changed(_SINGLE[name], "!")
    if name == "bert strip_accents":
        changed = {char: made for char, made in changed.items() if not made}
    rows: list[Run] = []
    last_code = 0
    for char, made in sorted(changed.items()):
        # A run holds characters with an equal replacement, or with equal texts around them.
        code, spelled = ord(char), _around(char, made)
        if rows and code == last_code and rows[-1][2:] == spelled:
            rows[-1] = (rows[-1][0], rows[-1][1] + 1, *spelled)
        else:
            rows.append((code - last_code, 1, *spelled))
        last_code = code + 1
    return tuple(rows)


def _around(char: str, normalized: str) -> tuple[str] | tuple[str, str]:
    """Return the replacement of a character, or the texts before and after it if it stays."""
    preceding, separator, following = normalized.partition(char)
    return (preceding, following) if separator else (normalized,)


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
    nfd = {char: form for char, form in forms["nfd"].items() if ord(char) not in hangul}
    nfkd = _changed({"kind": "nfkd"}, "\n") if compatible else {}
    return {
        "nfd": [(ord(char), form) for char, form in nfd.items()],
        "nfkd": [(ord(c), form) for c, form in nfkd.items() if form != forms["nfd"].get(c)],
        "excluded": [ord(char) for char in nfd if char in forms["nfc"]],
        "order": [(ord(char), rank) for char, rank in _order(forms["nfd"]).items()],
    }


def _order(nfd: Mapping[str, str]) -> dict[str, int]:
    """Return each reordered mark with the number of marks in lower combining classes."""
    # U+0345 has the highest class, so a mark of a lower class moves before it.
    last_mark = "\u0345"
    swapped = _changed({"kind": "nfd"}, "\n", prefix=last_mark)
    marks = [last_mark, *(char for char in swapped if char not in nfd)]

    def moved(pairs: list[str]) -> list[bool]:
        normalized = _native.normalize([{"kind": "nfd"}], "\n".join(pairs).encode()).decode()
        return [pair != result for pair, result in zip(pairs, normalized.split("\n"), strict=True)]

    ranks: dict[str, int] = {}
    for mark in marks:
        if mark in ranks:
            continue
        lower = moved([mark + other_mark for other_mark in marks])
        higher = moved([other_mark + mark for other_mark in marks])
        rank = sum(lower)
        for other_mark, is_lower, is_higher in zip(marks, lower, higher, strict=True):
            if not is_lower and not is_higher:
                ranks[other_mark] = rank
    return ranks
