r"""What stands for one character in a pattern that Python and Rust read alike.

Escapes, and what a class holds. The general categories and the larger scripts are called the
same in both; `[`, `--`, `~~` and `||` in a class are not read alike.
"""

from __future__ import annotations

import re

from tokctl.formats.contract import InexpressibleError

_CATEGORIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp "
    "C Cc Cf Co Cn"
)
_SCRIPTS = (
    "Arabic Armenian Bengali Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin "
    "Tamil Thai"
)
_PROPERTIES = frozenset(f"{_CATEGORIES} {_SCRIPTS}".split())
_PROPERTY = re.compile(r"\\[pP](?:\{(\w+)\}|([LMNPSZC]))")
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")

_CONTROLS = "rntfv"
_SETS = "sSdDwW"


class Characters:
    """A place in a pattern, and what can be read there.

    at: how many characters are read.
    any_case, any_dot: inside `(?i:` and `(?s:`, how many deep.
    """

    def __init__(self, pattern: str, rust: bool) -> None:
        self.pattern = pattern
        self.rust = rust
        self.at = 0
        #: Inside `(?i:` and `(?s:`, how many deep.
        self.any_case = 0
        self.any_dot = 0

    def unlike(self, what: str | None = None) -> InexpressibleError:
        shown = what or self.pattern[self.at : self.at + 12]
        place = f"at character {self.at + 1} of its pattern"
        return InexpressibleError(f"{shown!r} {place} is not read alike by Python and Rust")

    def ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def fits_case(self, sign: str) -> bool:
        """Outside `(?i:` anything does; inside it, what both compare alike."""
        return not self.any_case or (sign.isascii() and sign not in "iI")

    def one_escape(self) -> str:
        r"""An escape that stands for one character, in a class or out of it."""
        if match := _PROPERTY.match(self.pattern, self.at):
            name = match[1] or match[2]
            if name not in _PROPERTIES or self.any_case:
                raise self.unlike()
            self.at = match.end()
            return f"\\{match[0][1]}{{{name}}}"
        if match := _CODE.match(self.pattern, self.at):
            character = chr(int(match[1] or match[2], 16))
            if not self.fits_case(character) or "\ud800" <= character <= "\udfff":
                raise self.unlike()
            self.at = match.end()
            return f"\\u{ord(character):04x}"
        sign = self.pattern[self.at + 1 : self.at + 2]
        punctuation = sign and sign.isascii() and sign.isprintable() and not sign.isalnum()
        if sign and (sign in _CONTROLS + _SETS or (punctuation and sign not in " <>'\"`,;:@!%/=_")):
            self.at += 2
            return f"\\{sign}"
        if punctuation and sign not in "<>":
            # Rust knows no escapes of these; they stand for themselves.
            self.at += 2
            return sign
        raise self.unlike()

    def members(self) -> str:
        """What stands in a class, up to its end or to `&&`."""
        start = self.at
        self.at += 1
        found = ""
        if self.ahead("^"):
            found = "^"
            self.at += 1
        empty = True
        while not self.ahead("]"):
            if self.ahead("&&") and not empty:
                return found
            if self.at >= len(self.pattern):
                raise InexpressibleError("a class of its pattern has no end")
            found += self.member()
            empty = False
        if empty:
            self.at = start
            raise self.unlike()
        return found

    def member(self) -> str:
        first, is_one = self.character()
        last_one = self.pattern[self.at + 1 : self.at + 2] == "]"
        if not self.ahead("-") or last_one:
            return first
        self.at += 1
        last, is_last = self.character()
        if not is_one or not is_last or self.any_case:
            raise self.unlike()
        return f"{first}-{last}"

    def character(self) -> tuple[str, bool]:
        """A member of a class; and is it one character, not a set?"""
        sign = self.pattern[self.at : self.at + 1]
        if sign == "\\":
            text = self.one_escape()
            return text, text[1:2] not in ("p", "P", *_SETS)
        if sign in ("", "[", "]") or not self.fits_case(sign):
            raise self.unlike()
        if self.pattern[self.at : self.at + 2] in ("&&", "--", "~~", "||"):
            raise self.unlike()
        self.at += 1
        return (r"\-" if sign == "-" else sign), True
