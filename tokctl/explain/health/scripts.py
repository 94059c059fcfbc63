"""Tokens across scripts, and across digits and letters.

A character's script is Unicode's property Script (UAX #24), as the package `regex` has it.
Common (digits, punctuation, most signs) and Inherited (combining marks) fit with every script, and
so do characters of scripts newer than Unicode 15.1. Scripts that are written together are one, as
in UTS #39: Han, Hiragana and Katakana (Japanese), Han and Bopomofo, Han and Hangul (Korean).

A token has **lookalikes** if Latin, Greek and Cyrillic letters, of two of these at least, stand
in it with nothing but letters and marks between them; any other mix of scripts is **mixed**.
Digits are decimal digits of any script (Nd).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from tokctl.explain.health.subject import Answer, Subject

#: Digits in a row that are not yet a long number.
SHORT = 3

#: The scripts of Unicode 15.1 that have characters of their own, the most frequent first.
SCRIPTS = """
Latin Greek Cyrillic Han Hiragana Katakana Hangul Bopomofo Arabic Hebrew Thai Devanagari Adlam
Ahom Anatolian_Hieroglyphs Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham
Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan Deseret Dives_Akuru Dogra Duployan
Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Gujarati
Gunjala_Gondi Gurmukhi Hanifi_Rohingya Hanunoo Hatran Imperial_Aramaic Inscriptional_Pahlavi
Inscriptional_Parthian Javanese Kaithi Kannada Kawi Kayah_Li Kharoshthi Khitan_Small_Script
Khmer Khojki Khudawadi Lao Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar
Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean
Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki
Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian
Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau
Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog
Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Tibetan Tifinagh
Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
""".split()  # noqa: SIM905 (a list of 161 strings would be as many lines)

#: Scripts that are written together.
_TOGETHER = (
    frozenset(("Han", "Hiragana", "Katakana")),
    frozenset(("Han", "Bopomofo")),
    frozenset(("Han", "Hangul")),
)
_ALIKE = frozenset(("Latin", "Greek", "Cyrillic"))

_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_NUMBER = re.compile(rf"\d{{{SHORT + 1},}}")
_LETTERS = re.compile(r"[^\W\d_]+")


def check(subject: Subject) -> Iterator[Answer]:
    texts = subject.texts_of
    alike: list[int] = []
    mixed: list[int] = []
    notes: dict[int, str] = {}
    for id_, text in texts.items():
        if text.isascii() or fits(scripts := scripts_of(text)):
            continue
        notes[id_] = " + ".join(scripts)
        (alike if has_lookalikes(text) else mixed).append(id_)
    yield subject.found("lookalike-scripts", alike, len(texts), notes=notes.__getitem__)
    yield subject.found("mixed-scripts", mixed, len(texts), notes=notes.__getitem__)
    yield from _digits(subject)


def _digits(subject: Subject) -> Iterator[Answer]:
    texts = subject.texts_of
    numbers = {id_: text for id_, text in texts.items() if _DIGIT.search(text)}
    both = [id_ for id_, text in numbers.items() if _LETTER.search(text)]
    yield subject.found("digits-with-letters", both, len(texts))
    runs = {
        id_: max(map(len, _LONG_NUMBER.findall(text)), default=0) for id_, text in numbers.items()
    }
    long = [id_ for id_, run in runs.items() if run]
    by_length = sorted(Counter(run for run in runs.values() if run).items())
    detail = ", ".join(f"{count:,} of {run:,} digits" for run, count in by_length) + "."
    yield subject.found("long-numbers", long, len(texts), detail=detail)


@cache
def _script_of() -> Callable[[str], str | None]:
    """What tells the script of a character; None for what fits with every script."""
    import regex  # takes long to import, and few questions need it

    names = "|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in SCRIPTS)
    match = regex.compile(names).match

    @cache
    def script_of(char: str) -> str | None:
        found = match(char)
        return found.lastgroup if found else None

    return script_of


def scripts_of(text: str) -> tuple[str, ...]:
    """The scripts of a text by name, sorted, without what fits with every script."""
    return tuple(sorted({script for char in set(text) if (script := _script_of()(char))}))


def fits(scripts: tuple[str, ...]) -> bool:
    """Are these scripts written together?"""
    return len(scripts) < 2 or any(together.issuperset(scripts) for together in _TOGETHER)


def has_lookalikes(text: str) -> bool:
    """Do Latin, Greek and Cyrillic letters stand side by side?"""
    return any(len(_ALIKE.intersection(scripts_of(run))) > 1 for run in _LETTERS.findall(text))
