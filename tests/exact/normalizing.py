"""Texts that normalizers change much, and normalizers of every kind."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from tests.exact import newer_unicode
from tokctl import _native

Places = list[tuple[int, int]]

#: Marks in and out of order, jamo of both widths, ligatures, full-width and half-width
#: forms, emoji sequences, bidi controls, NUL and other controls, every kind of space.
TURNING = (
    "aAbeK12 .\n\r\t\0\x01\x0b\x7f\x85\x9f\xa0é\u0301\u0323\u0327\u0345\u0344\u0334"
    "ßİ\u0131Σ\u0391\u0399ǅ\u0390\u1e69\u212b\u2126ﬁﬀ①½²\u1100\u1112\u1161\u11a8\u11ab"
    "\uffa1\uffc2\uac00각한ｶﾞﾊﾟか\u3099\uff21\uff22\uff01\uff5e"
    "\u2581\u3000\u200b\u200d\u200e\u202e\ufeff\ufffd\u2028\u0627\u0653\ufdfa\ufefb\u0621"
    "\u0651\u064bक\u093c\u094dष\u09c7\u09be\u0e33\u037a\u0d4e\u0600字漢\uf900\U0002f800"
    "\U0002b830\U0002b930\U0001f468\u200d\U0001f469\U0001f3fd\ufe0f\U0001d157\U0001d165"
    "\U0001f600\ue000\u0378"
)

NEWER = frozenset(
    itertools.chain.from_iterable(
        value for name, value in vars(newer_unicode).items() if name.isupper()
    )
)

#: Text from before the Unicode versions that the libraries differ in.
texts = st.one_of(
    st.text(alphabet=TURNING, max_size=30),
    st.text(st.characters(exclude_categories=["Cs", "Cn"]).filter(lambda c: ord(c) not in NEWER)),
)

HARD = (
    "",
    " ",
    "Thís is  áN ExaMPlé     sÉnteNCE",
    "  \t e\u0301\u0323 \u0301\u0301a\u0323\u0301  ",
    "\u0301",
    "\x01\x02ab\x01",
    "\x01",
    "a\x01\u0390\x9f\uffa1",
    "한국어 \u1112\u1161\u11ab \uffbe\uffc2\uffa4",
    "漢字と仮名ｶﾞｷﾞ\uff01",
    "ﬁancé №１２③ ﷺ \ufefb",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd",
    "\u202eabc\u202c\x00\ufffd",
    "\r\n\r\r\n",
    "e" + "\u0301\u0323" * 40,
)


def places_there(normalizer: Any, text: str) -> Places:
    """The places of the normalized characters: a token of each, and its offsets."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return tokenizer.encode(text).offsets


def ours(parts: list[Any], text: str) -> tuple[str, Places]:
    """The normalized text, and the places of its characters, in characters."""
    data = text.encode()
    normalized, places = _native.normalize_aligned(parts, data)
    assert normalized == _native.normalize(parts, data)
    lengths = [len(char.encode()) for char in text]
    numbers = {at: number for number, at in enumerate(itertools.accumulate(lengths, initial=0))}
    result, at = [], 0
    for char in normalized.decode():
        length = len(char.encode())
        (place,) = set(places[at : at + length])
        result.append((numbers[place[0]], numbers[place[1]]))
        at += length
    assert at == len(places)
    return normalized.decode(), result


def rules(name: str, graphemes: bool = False) -> dict[str, Any]:
    return {"kind": "chars-map", "name": name, "graphemes": graphemes}


def code_points() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
