"""Write core/src/unicode/{tables,categories,scripts}.rs from the `regex` package.

The native scanners must agree with `regex`, so their tables are read from that package, one code
point at a time. Run the script from `tokctl/native` after `regex` moves to a new Unicode version:

    python tools/unicode_tables.py > core/src/unicode/tables.rs
    python tools/unicode_tables.py categories > core/src/unicode/categories.rs
    python tools/unicode_tables.py scripts > core/src/unicode/scripts.rs
"""

from __future__ import annotations

import sys
import unicodedata
from importlib.metadata import version

import regex
from regex._regex_core import PROPERTIES

CLASSES = {
    "LETTER": r"\p{L}",
    "NUMBER": r"\p{N}",
    "SPACE": r"\s",
    # BERT's punctuation: general category P and all ASCII symbols.
    "PUNCTUATION": r"[\p{P}$+<=>^`|~]",
    "WORD": r"\w",
}


#: General categories in the order of `unicode::Category`. Code points in no range are Cn
#: (unassigned).
CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co"
).split()


def ranges(pattern: str) -> list[tuple[int, int]]:
    """Return the inclusive ranges of code points that match `pattern`, surrogates excluded."""
    matcher = regex.compile(pattern)
    found: list[tuple[int, int]] = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or not matcher.match(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def print_rows(head: str, found: list[tuple[int, int, int]]) -> None:
    """Print a Rust array of ranges with numbers; `head` is its declaration up to the length."""
    print("#[rustfmt::skip]")
    print(f"{head}; {len(found)}] = [")
    for start in range(0, len(found), 6):
        row = ", ".join(f"(0x{a:X}, 0x{b:X}, {n})" for a, b, n in found[start : start + 6])
        print(f"    {row},")
    print("];")


EVERYTHING = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)

#: Names of scripts with their spaces, for scripts without a character whose name begins with the
#: script's name, in the Unicode version of this Python.
SPACED = {
    name.replace(" ", ""): name
    for name in (
        "ANATOLIAN HIEROGLYPHS",
        "BERIA ERFE",
        "CANADIAN ABORIGINAL",
        "CYPRO MINOAN",
        "EGYPTIAN HIEROGLYPHS",
        "GURUNG KHEMA",
        "KATAKANA OR HIRAGANA",
        "KIRAT RAI",
        "MEROITIC HIEROGLYPHS",
        "NAG MUNDARI",
        "OL ONAL",
        "PHAGS PA",
        "PROTO CUNEIFORM",
        "TAI YO",
        "TOLONG SIKI",
        "TULU TIGALARI",
    )
}

#: Scripts that the scanners ask for by name.
NAMED_SCRIPTS = ("UNKNOWN", "COMMON", "INHERITED", "HAN", "HIRAGANA", "KATAKANA")


def scripts() -> None:
    """Print scripts.rs."""
    numbers = PROPERTIES["SCRIPT"][1]
    found = []
    for name in sorted({number: name for name, number in numbers.items()}.values()):
        if numbers[name] == numbers["UNKNOWN"]:
            continue
        for run in regex.finditer(rf"\p{{Script={name}}}+", EVERYTHING):
            found.append((ord(run[0][0]), ord(run[0][-1]), numbers[name]))
    found.sort()
    print("//! Code point ranges of the scripts, one number each.")
    print("//!")
    print("//! Written by `tools/unicode_tables.py`; do not edit by hand.")
    print()
    for name in NAMED_SCRIPTS:
        print(f"pub const {name}: u8 = {numbers[name]};")
    print()
    names = [_long_name(numbers, number) for number in range(max(numbers.values()) + 1)]
    print("/// The scripts' names by number.")
    print("#[rustfmt::skip]")
    print(f"pub static NAMES: [&str; {len(names)}] = [")
    for start in range(0, len(names), 8):
        print("    " + " ".join(f'"{name}",' for name in names[start : start + 8]))
    print("];")
    print()
    print("/// (first, last, number of the script), inclusive, ascending; the rest is UNKNOWN.")
    print_rows("pub static SCRIPTS: [(u32, u32, u8)", found)


def _long_name(numbers: dict[str, int], number: int) -> str:
    """Return the long name of a script in title case, with spaces.

    `regex` lists the long name first, then abbreviations, all without spaces. The spaces are taken
    from the name of a character: `OLD ITALIC LETTER A` gives `Old Italic`.
    """
    squeezed = next(name for name, other in numbers.items() if other == number)
    if squeezed in SPACED:
        return SPACED[squeezed].title()
    for found in regex.finditer(rf"\p{{Script={squeezed}}}", EVERYTHING):
        words = unicodedata.name(found[0], "").split()
        for end in range(1, len(words)):
            if "".join(words[:end]) == squeezed:
                return " ".join(words[:end]).title()
    return squeezed.title()


def categories() -> None:
    """Print categories.rs."""
    print("//! Code point ranges of the general categories, one number each.")
    print("//!")
    print("//! Written by `tools/unicode_tables.py`; do not edit by hand.")
    print()
    print("/// (first, last, number of the category), inclusive, ascending.")
    found = sorted(
        (first, last, number)
        for number, name in enumerate(CATEGORIES)
        for first, last in ranges(rf"\p{{{name}}}")
    )
    print_rows("pub static CATEGORIES: [(u32, u32, u8)", found)


def main() -> None:
    """Print tables.rs."""
    print("//! Code point ranges of the classes that the scanners ask for.")
    print("//!")
    print("//! Written by `tools/unicode_tables.py`; do not edit by hand.")
    print()
    print("/// The release of the `regex` package that these tables were read off.")
    print(f'pub const REGEX_RELEASE: &str = "{version("regex")}";')
    for name, pattern in CLASSES.items():
        found = ranges(pattern)
        print(f"\n/// `{pattern}`: inclusive ranges, ascending.")
        print("#[rustfmt::skip]")
        print(f"pub const {name}: [(u32, u32); {len(found)}] = [")
        for start in range(0, len(found), 6):
            row = ", ".join(f"(0x{a:X}, 0x{b:X})" for a, b in found[start : start + 6])
            print(f"    {row},")
        print("];")


if __name__ == "__main__":
    {"categories": categories, "scripts": scripts}.get("".join(sys.argv[1:]), main)()
