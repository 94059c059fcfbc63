"""Strings for differential tests: made from a seed, by the hundred thousand, without Hypothesis.

Each is a few pieces that tokenizers are known to stumble over: combining marks in and out of
order, emoji sequences, text that runs both ways, controls and NUL, every kind of space, long
runs, the markers' and the special tokens' own characters. No lone surrogates: these are no
text, and are refused here.
"""

from __future__ import annotations

import os
import random
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

#: How many strings a day's run compares; the full run has `TOKCTL_EXAMPLES=100000` of them.
EXAMPLES = int(os.environ.get("TOKCTL_EXAMPLES", "600"))
#: Compare whole corpora, not a slice of each?
WHOLE = bool(os.environ.get("TOKCTL_WHOLE_TEXTS"))


def _range(*bounds: tuple[int, int]) -> str:
    return "".join(chr(code) for first, last in bounds for code in range(first, last + 1))


MARKS = _range((0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x64B, 0x65F), (0x1AB0, 0x1ABE))
MARKS += _range((0x93E, 0x94D), (0xE31, 0xE31), (0xE34, 0xE3A), (0x20D0, 0x20F0), (0x3099, 0x309A))
BASES = "aeiouAEIOUnNcCyzßæøÅåéêÊ가각ㄱ ᄀ ᅡ ᆨかハは字東ﬁﬀİıſΣσςΩ"
SPACES = " \t\n\r\v\f\x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
SPACES += "\u200b\u200c\u2060\ufeff\u2581"
BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CONTROLS = _range((0, 0x1F), (0x7F, 0x9F)) + "\xad\ufffc\ufffd\ufdd0\uffff\U0001fffe"
EMOJI = (
    "👩\u200d👩\u200d👧\u200d👦",
    "👍🏽",
    "🏳\ufe0f\u200d🌈",
    "🇩🇪🇫🇷🇯",
    "1\ufe0f\u20e3",
    "❤\ufe0f\u200d🔥",
    "🧑🏿\u200d🚀",
    "🏴\U000e0067\U000e0062\U000e007f",
    "☺",
    "🙂",
)
WORDS = (
    "the", "The", "THE", "don't", "I'LL", "it's", "naïve", "café", "cafe\u0301", "straße", "Ǆur",
    "1,234.56", "42", "007", "٣٤٥", "½", "Ⅷ", "x²", "foo_bar", "CamelCase", "e.g.", "a-b",
    "https://example.org/?q=1&r=2", "for (int i = 0; i < n; i++) {", "東京都", "日本語の文章",
    "안녕하세요", "नमस्ते", "ภาษาไทย", "שלום", "مرحبا", "Привет", "Ελληνικά", "ﷺ", "㎏", "``", "''",
    "\uff46\uff55\uff4c\uff4c \uff57\uff49\uff44\uff54\uff48", "\uff5e",
)  # fmt: skip
OWN = (
    "##", "##a", "</w>", "▁", "▁▁a", "Ġ", "Ċ", "<unk>", "<s>", "</s>", "[UNK]", "[CLS]", "[SEP]",
    "<pad>", "<|endoftext|>", "<|im_start|>", "<|begin_of_text|>", "<0x41>", "<0x0A>", "[MASK]",
)  # fmt: skip
SYMBOLS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡§«»¿\u2013—\u2018\u2019“”…€™→∑√≠。、「」\uff01\uff1f"


@lru_cache(maxsize=1)
def settled() -> str:
    """The characters of Unicode 3.2 that are today what they were then: every library's tables
    have them, however old these are. (What newer characters are is compared in
    `test_pipeline_faults`.)"""
    old = unicodedata.ucd_3_2_0
    return "".join(
        char
        for char in map(chr, range(0xE000))
        if (kind := unicodedata.category(char)) not in ("Cn", "Cs", "Co")
        and kind == old.category(char)
    )


def strings(count: int = EXAMPLES, seed: int = 0) -> Iterator[str]:
    """`count` strings; the same ones for the same seed."""
    draw = random.Random(seed)
    makers = _makers(draw)
    for _ in range(count):
        pieces = [draw.choice(makers)() for _ in range(draw.randint(1, 8))]
        yield draw.choice(("", "", " ")).join(pieces)


def _makers(draw: random.Random) -> list[Callable[[], str]]:
    def some(alphabet: str, most: int) -> str:
        return "".join(draw.choices(alphabet, k=draw.randint(1, most)))

    def marked() -> str:
        return draw.choice(BASES) + some(MARKS, 4)

    def run() -> str:
        one = draw.choice(
            (" ", "a", "A", "\n", "1", "!", "é", "字", "\u0301", "🙂", "ab", "\0", "▁")
        )
        return one * draw.choice((2, 3, 5, 17, 64, 130))

    return [
        lambda: draw.choice(WORDS),
        lambda: draw.choice(WORDS),
        lambda: draw.choice(WORDS),
        marked,
        lambda: some(BASES, 5) + some(MARKS, 2),
        lambda: draw.choice(EMOJI),
        lambda: some(BIDI, 2) + draw.choice(("שלום", "مرحبا", "abc", "12")) + some(BIDI, 2),
        lambda: some(CONTROLS, 3),
        lambda: some(SPACES, 4),
        lambda: draw.choice(OWN),
        lambda: some(SYMBOLS, 4),
        lambda: some("abcdefghijklmnopqrstuvwxyz", 12),
        lambda: some("aaab \n", 20),
        lambda: some(settled(), 4),
        run,
    ]
