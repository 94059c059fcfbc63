"""Regular expressions: theirs are Oniguruma's, ours those of the `regex` package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError
from tokctl.model.patterns import (
    DEEPSEEK_V3,
    KNOWN_PATTERNS,
    KNOWN_SEQUENCES,
    PATTERNS,
    check_size,
    compile_pattern,
)

#: tiktoken's pattern in Oniguruma's terms: there `$` also matches before a line feed, and
#: `{1,3}+` is no possessive quantifier.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"
)


def spelled(kind: str) -> tuple[str, ...]:
    """The patterns of a native scanner, each of which isolates its matches (or keeps only
    these), one after the other."""
    if kind == "cl100k":
        return (_CL100K,)
    if kind == "deepseek-v3":
        return DEEPSEEK_V3
    return (PATTERNS[kind],)


def scanner(pattern: str, behaviour: str, invert: bool) -> str | None:
    """The native scanner that splits as a `Split` at this regular expression, if any."""
    if (behaviour, invert) in (("isolated", False), ("removed", True)):
        if pattern == _CL100K:
            return "cl100k"
        if pattern in KNOWN_PATTERNS:
            return KNOWN_PATTERNS[pattern]
    if (behaviour, invert) == ("removed", True):
        for kind in ("bert", "gpt2-words"):
            if pattern == PATTERNS[kind]:
                return kind
    return None


def known_sequence(patterns: Iterable[str | None]) -> str | None:
    """The native scanner that splits as a sequence of isolating `Split`s, if any."""
    listed = tuple(patterns)
    return None if None in listed else KNOWN_SEQUENCES.get(listed)  # type: ignore[arg-type]


def native(pattern: str) -> str:
    """A pattern of theirs for the `regex` package; TokctlError where that reads another
    meaning into it. (Oniguruma with its Ruby syntax is what they compile it with.)"""
    import regex

    check_size(pattern)
    if not _is_portable(pattern):
        pieces = regex.findall(_THEIR_PIECES, pattern, regex.VERBOSE)
        for piece in pieces:
            if reason := _FOREIGN.get(piece) or _in_class(piece):
                raise TokctlError(
                    f"its pattern {_short(pattern)} has {reason}, which the regex package "
                    "reads differently",
                    "write the pattern without it, and it can be read",
                )
        pattern = "".join(_TRANSLATED.get(piece) or _code_points(piece) for piece in pieces)
    compile_pattern(pattern)
    return pattern


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else pattern[:60] + "…")


#: One escape, one class, one group's opening or one character at a time. A class without an
#: end goes on to the end: else each `[` would look for one.
_THEIR_PIECES = (
    r"\\[pP]\{\^?\w+\} | \\x\{[0-9A-Fa-f]{1,8}\} | \\. | \[(?:\\.|\[:\^?\w+:\]|[^\]\\])+(?:\]|\Z)"
    r"| \(\?[a-z-]+[:)] | \{\d+(?:,\d*)?\}\+ | (?s:.)"
)
#: In Ruby's syntax these match at every line, as they do here with the flag.
_TRANSLATED = {"^": "(?m:^)", "$": "(?m:$)", r"\z": r"\Z", r"\Z": r"(?=\n?\Z)"}
_FOREIGN = {
    r"\h": "\\h (a hexadecimal digit)",
    r"\H": "\\H (no hexadecimal digit)",
    r"\R": "\\R (a line break)",
    r"\K": "\\K",
    r"\G": "\\G",
    "(?m:": "(?m:…)",
    "(?m)": "(?m)",
}


def _code_points(piece: str) -> str:
    r"""The piece with its `\x{61C}` as the `regex` package spells them."""
    import regex

    def translated(found: Any) -> str:
        return f"\\U{int(found[1], 16):08X}" if found[1] else str(found[0])

    return str(regex.sub(r"\\x\{([0-9A-Fa-f]{1,8})\}|\\.", translated, piece))


def _in_class(piece: str) -> str | None:
    import regex

    if len(piece) > 2 and piece[0] == "[":
        inside = regex.sub(r"\\.|\[:\^?\w+:\]", "", piece[1:-1])
        if "[" in inside or "&&" in inside:
            return "a class inside a class"
    if piece[0] == "{" and piece.endswith("+"):
        return f"the quantifier {piece}"
    return None


def portable(pattern: str) -> str:
    """The pattern, where both engines split alike by it; otherwise `InexpressibleError`."""
    import regex

    pattern = regex.sub(r"\\U([0-9A-Fa-f]{8})|\\.", _character, pattern)
    if not _is_portable(pattern):
        raise InexpressibleError("its regular expressions may read the pattern differently")
    return pattern


def _character(found: Any) -> str:
    r"""The character of a `\U0000061C`, which Oniguruma does not know; other escapes stay."""
    code = int(found[1], 16) if found[1] else 0xD800
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return str(found[0])
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\{char}"


# Constructs that mean the same in the `regex` package and in Oniguruma, which Hugging
# Face uses. Left out, because they differ: ^ $ \w \b (?i) (?m) (?s), nested and combined
# classes, a possessive interval, back references and named groups.
_PORTABLE = r"""
    (?: \\[pP]\{(?:L|Lu|Ll|Lt|Lm|Lo|M|Mn|Mc|N|Nd|Nl|No|P|S|Z|Zs)\}
      | \\[sSdnrt]
      | \\[^A-Za-z0-9]
      | \[\^? (?: \\[pP]\{(?:L|Lu|Ll|Lt|Lm|Lo|M|Mn|Mc|N|Nd|Nl|No|P|S|Z|Zs)\}
              | \\[sSdnrt] | \\[^A-Za-z0-9]
              | (?!&&|--|\|\||~~) [^\]\[\\^]
              )+ \]
      | \( (?: \?[:=!] | (?!\?) )
      | \) | \|
      | [^\\\[\](){}*+?^$|]
      | [*+?] [+?]?
      | \{\d+(?:,\d*)?\} \??+ (?!\+)
    )*+
    """


def _is_portable(pattern: str) -> bool:
    import regex

    if regex.compile(_PORTABLE, regex.VERBOSE).fullmatch(pattern) is None:
        return False
    # Behind an empty match the two engines go on differently.
    return _least_width(regex.findall(_PIECES, pattern, regex.VERBOSE)) > 0


_PIECES = (
    r"\\[pP]\{\w+\} | \\. | \[(?:\\.|[^\]\\])+\] | \(\?[:=!] | \{\d+[^}]*\}[?+]? | [*+?][?+]? | ."
)


def _least_width(pieces: list[str]) -> int:
    """Characters that the shortest match of a portable pattern has."""
    # A frame for each open group: its kind, its finished alternatives, and the one under
    # way in two parts: what a quantifier can't reach any more, and the last item.
    frames: list[tuple[str, list[int], list[int]]] = [("", [], [0, 0])]
    for piece in [*pieces, ")"]:
        kind, done, now = frames[-1]
        if piece[0] == "(":
            frames.append((piece, [], [0, 0]))
        elif piece == "|":
            done.append(sum(now))
            now[:] = [0, 0]
        elif piece == ")":
            width = min([*done, sum(now)])
            frames.pop()
            if not frames:
                return width
            outer = frames[-1][2]
            outer[:] = [sum(outer), 0 if kind in ("(?=", "(?!") else width]
        elif piece[0] in "*?":
            now[1] = 0
        elif piece[0] == "{":
            now[1] *= int(piece[1:].split(",")[0].rstrip("}?+"))
        elif piece[0] != "+":
            now[:] = [sum(now), 1]
    return 0
