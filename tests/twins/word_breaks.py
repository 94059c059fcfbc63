"""Word boundaries of Unicode Standard Annex #29 (default rules), one rule after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import regex

_CLASSES = [
    *("CR", "LF", "Newline", "Extend", "ZWJ", "Regional_Indicator", "Format", "Katakana"),
    *("Hebrew_Letter", "ALetter", "Single_Quote", "Double_Quote", "MidNumLet", "MidLetter"),
    *("MidNum", "Numeric", "ExtendNumLet", "WSegSpace"),
]
_PATTERNS = {name: regex.compile(rf"\p{{Word_Break={name}}}") for name in _CLASSES}
_PICTOGRAPHIC = regex.compile(r"\p{Extended_Pictographic}")
_ALPHANUMERIC = regex.compile(r"[\p{Alphabetic}\p{Nd}\p{Nl}\p{No}]")

_BREAKS = {"CR", "LF", "Newline"}
_IGNORED = {"Extend", "Format", "ZWJ"}
_LETTER = {"ALetter", "Hebrew_Letter"}
_QUOTED = {"MidNumLet", "Single_Quote"}


@cache
def _class(character: str) -> str:
    return next((name for name, p in _PATTERNS.items() if p.match(character)), "Other")


def _joined(before: Sequence[str], after: Sequence[str]) -> bool:
    """Do the rules from WB5 on forbid a boundary? `before` and `after` are the classes on both
    sides, without those that WB4 passes over."""
    left, right = before[-1], after[0]
    further_left = before[-2] if len(before) > 1 else ""
    further_right = after[1] if len(after) > 1 else ""
    middle = {"MidLetter"} | _QUOTED
    number = {"MidNum"} | _QUOTED
    if left in _LETTER and right in _LETTER:  # WB5
        return True
    if left in _LETTER and right in middle and further_right in _LETTER:  # WB6
        return True
    if further_left in _LETTER and left in middle and right in _LETTER:  # WB7
        return True
    if left == "Hebrew_Letter" and right == "Single_Quote":  # WB7a
        return True
    hebrew = "Hebrew_Letter"
    if (left, right, further_right) == (hebrew, "Double_Quote", hebrew):  # WB7b
        return True
    if (further_left, left, right) == (hebrew, "Double_Quote", hebrew):  # WB7c
        return True
    if left == "Numeric" and right == "Numeric":  # WB8
        return True
    if left in _LETTER and right == "Numeric":  # WB9
        return True
    if left == "Numeric" and right in _LETTER:  # WB10
        return True
    if further_left == "Numeric" and left in number and right == "Numeric":  # WB11
        return True
    if left == "Numeric" and right in number and further_right == "Numeric":  # WB12
        return True
    if left == "Katakana" and right == "Katakana":  # WB13
        return True
    extended = {*_LETTER, "Numeric", "Katakana", "ExtendNumLet"}
    if left in extended and right == "ExtendNumLet":  # WB13a
        return True
    if left == "ExtendNumLet" and right in extended:  # WB13b
        return True
    if left == right == "Regional_Indicator":  # WB15, WB16
        indicators = 0
        for name in reversed(before):
            if name != "Regional_Indicator":
                break
            indicators += 1
        return indicators % 2 == 1
    return False


def boundaries(text: str) -> list[int]:
    """Where a text may be cut, its start and its end among them."""
    classes = [_class(character) for character in text]
    found = [0] if text else []
    for at in range(1, len(text)):
        left, right = classes[at - 1], classes[at]
        if (left, right) == ("CR", "LF"):  # WB3
            continue
        if left in _BREAKS or right in _BREAKS:  # WB3a, WB3b
            found.append(at)
            continue
        if left == "ZWJ" and _PICTOGRAPHIC.match(text[at]):  # WB3c
            continue
        if left == right == "WSegSpace":  # WB3d
            continue
        if right in _IGNORED:  # WB4
            continue
        if not _joined(_passed(classes[:at]), _passed(classes[at:])):
            found.append(at)
    return [*found, len(text)] if text else []


def _passed(classes: Sequence[str]) -> list[str]:
    """WB4: what is passed over, which is not where a line begins."""
    kept: list[str] = []
    for place, name in enumerate(classes):
        follows = place > 0 and classes[place - 1] not in _BREAKS
        if name not in _IGNORED or not (follows and kept):
            kept.append(name)
    return kept


def words(text: str) -> list[tuple[int, int]]:
    """The segments between boundaries that hold an alphanumeric character."""
    cuts = boundaries(text)
    between = pairwise(cuts)
    return [(start, end) for start, end in between if _ALPHANUMERIC.search(text[start:end])]
