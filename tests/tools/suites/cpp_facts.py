# ruff: noqa: RUF001 (characters that look alike are what it is about)
"""What SentencePiece's C++ tests say of models and rules, as facts, as `rust_facts.py` has them.

Their models take text that is normalized already, and give each unknown character alone; the
processor makes one of those side by side, as tokctl does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tokctl import Tokenizer, formats

VERSION = "0.2.3"

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4

Piece = tuple[str, float, int]


class Fact(NamedTuple):
    """One assertion.

    Attributes:
        test: the test that says it.
        model: its type and pieces; or the options of its normalizer.
        text: what it is given.
        expected: pieces, or the normalized text.
    """

    test: str
    model: Any
    text: str
    expected: list[str] | str


BASE: list[Piece] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
AB_CD = [("ab", 0.0), ("cd", -0.1), ("abc", -0.2), ("a", -0.3), ("b", -0.4), ("c", -0.5)]
OWN = ["ABC", "abcdabcd", "q", "r"]
FALLING = [("abcd", 10.0), ("abc", 5.0), ("ab", 2.0), ("cd", 1.0), *((c, 0.0) for c in "abcd")]
SYMBOLS = [(c, -1.0) for c in "<s>"] + [("<s", 0.0)]
SYMBOLS += [(c, -1.0) for c in "unk"] + [("<u", 0.0), ("nk>", 0.0)]
BYTES: list[Piece] = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def normal(pieces: list[tuple[str, float]], unused: str = "") -> list[Piece]:
    return [
        (piece, score, UNUSED if piece in unused.split() else NORMAL) for piece, score in pieces
    ]


def _segmented() -> Iterator[Fact]:
    own: list[Piece] = [(piece, -0.5, USER_DEFINED) for piece in OWN]
    pieces = [*BASE, *normal(AB_CD), *own, ("qr", -0.5, NORMAL)]
    for kind, name in ((UNIGRAM, "unigram_model::EncodeTest"), (BPE, "bpe_model::EncodeTest")):
        for text, expected in (
            ("", []),
            ("abc", ["abc"]),
            ("AB", ["A", "B"]),
            ("abcd", ["ab", "cd"]),
            ("abcc", ["abc", "c"]),
            ("xabcabaabcdd", ["x", "abc", "ab", "a", "ab", "cd", "d"]),
            ("xyz東京", [*"xyz東京"]),
            ("ABC", ["ABC"]),
            ("abABCcd", ["ab", "ABC", "cd"]),
            ("ababcdabcdcd", ["ab", "abcdabcd", "cd"]),
            ("abqrcd", ["ab", "q", "r", "cd"]),
        ):
            yield Fact(name, (kind, pieces), text, expected)
    tied = [("aa", -0.1), ("bb", -0.2), ("ab", -0.3), ("a", -0.4), ("b", -0.5)]
    for text, found in (
        ("aaa", "aa a"),
        ("aabb", "aa bb"),
        ("aaabbb", "aa a bb b"),
        ("aaaba", "aa ab a"),
    ):
        model = (BPE, [*BASE, *normal(tied)])
        yield Fact("bpe_model::EncodeAmbiguousTest", model, text, found.split())
    for unused, found in (
        ("", "abcd"),
        ("abcd", "abc d"),
        ("abcd ab", "abc d"),
        ("abcd abc", "ab cd"),
    ):
        model = (UNIGRAM, [*BASE, *normal(FALLING, unused)])
        yield Fact("unigram_model::EncodeWithUnusedTest", model, "abcd", found.split())
    yield Fact(
        "bpe_model::EncodeWithUnusedTest", (BPE, [*BASE, *normal(FALLING)]), "abcd", ["abcd"]
    )
    for kind, name in ((UNIGRAM, "unigram_model"), (BPE, "bpe_model")):
        pieces = [*BASE, *normal(SYMBOLS)] + ([("nk", 0.0, NORMAL)] if kind == BPE else [])
        test = "ControlSymbolsNoSegmentTest" if kind == UNIGRAM else "ControlSymbolsNoMergeTest"
        yield Fact(f"{name}::{test}", (kind, pieces), "<s>", ["<s", ">"])
        yield Fact(f"{name}::{test}", (kind, pieces), "<unk>", ["<u", "nk>"])
        few = [*BASE, *normal(SYMBOLS[:4])]
        yield Fact(f"{name}::ControlTokenMergeTest", (kind, few), "<s>", ["<s", ">"])
    letters = [(c, -1.0) for c in "abc"] + [("abc", 0.0)]
    more = [("<s", 0.0), ("<u", 0.0), ("nk", 0.0), *((c, -1.0) for c in "<unks>0xA")]
    pieces = [
        *BASE,
        *BYTES,
        *normal([*letters, *more, ("<0", 0.0), ("x0", 0.0), ("A>", 0.0)], "abc"),
    ]
    name = "unigram_model::SpecialSymbolsNoSegmentTest"
    yield Fact(name, (UNIGRAM, pieces), "<s>", ["<s", ">"])
    yield Fact(name, (UNIGRAM, pieces), "abc", ["a", "b", "c"])
    yield Fact(name, (UNIGRAM, pieces), "<0x0A>", ["<0", "x0", "A>"])

    words = [("▁ab", 0.0), ("▁cd", 0.0), ("▁abc", 0.0), *((f"▁{c}", 0.1) for c in "abcd")]
    model = (WORD, [*BASE, *normal(words)])
    for text in ("", "▁a▁b▁c", "▁ab▁cd▁abc"):
        expected = [f"▁{word}" for word in text.split("▁")[1:]]
        yield Fact("word_model::EncodeTest", model, text, expected)
    letters = [("▁", 0.0), *((c, 0.1) for c in "abcd")]
    model = (CHAR, [*BASE, *normal(letters), ("ABC", 0.4, USER_DEFINED)])
    for text in ("", "▁a▁b▁c", "▁ab▁cd▁abc"):
        yield Fact("char_model::EncodeTest", model, text, [*text])
    yield Fact("char_model::EncodeTest", model, "▁abABCcd", ["▁", "a", "b", "ABC", "c", "d"])
    held: list[Piece] = [("a", 0.1, NORMAL), ("x", 0.0, CONTROL), ("y", 0.0, UNUSED)]
    model = (CHAR, [*BASE, *held])
    yield Fact("char_model::EncodeReservedAndUnusedTest", model, "axy", ["a", "x", "y"])
    held = [("▁a", 0.1, NORMAL), ("▁<s>", 0.0, CONTROL), ("▁unused", 0.0, UNUSED)]
    name, text = "word_model::EncodeReservedAndUnusedTest", "▁a▁<s>▁unused"
    yield Fact(name, (WORD, [*BASE, *held]), text, ["▁a", "▁<s>", "▁unused"])


def _normalized() -> Iterator[Fact]:
    def fact(test: str, text: str, expected: str, **options: bool) -> Fact:
        return Fact(f"normalizer::{test}", options, text, expected.replace("_", "▁"))

    name = "NormalizeTest"
    for text, expected in (
        *(("", ""), ("      ", ""), ("　", ""), ("ABC", "_ABC"), (" ABC ", "_ABC")),
        *((" A  B  C ", "_A_B_C"), ("   ABC   ", "_ABC"), ("   ＡＢＣ   ", "_ABC")),
        *(("　　ABC", "_ABC"), ("　　ABC　　", "_ABC"), ("①②③", "_123"), ("㍿", "_株式会社")),
        *((" ｸﾞｰｸﾞﾙ ", "_グーグル"), (" I  saw a　 　girl　　", "_I_saw_a_girl")),
        *((chr(code), "") for code in (0x7F, 0x8F, 0x9F, 0x0B, *range(0x10, 0x20))),
    ):
        yield fact(name, text, expected)
    for text, expected in (
        *(("", ""), ("      ", ""), ("　", ""), ("ABC", "ABC"), (" ABC ", "ABC")),
        *((" A  B  C ", "A_B_C"), ("   ABC   ", "ABC"), ("   ＡＢＣ   ", "ABC")),
        *(("　　ABC", "ABC"), ("　　ABC　　", "ABC")),
    ):
        yield fact("NormalizeWithoutDummyPrefixTest", text, expected, add_dummy_prefix=False)
    for text, expected in (
        *(("", ""), ("      ", ""), ("　", ""), ("ABC", "ABC_"), (" ABC ", "ABC_")),
        *((" A  B  C ", "A_B_C_"), ("   ABC   ", "ABC_")),
    ):
        suffix = "treat_whitespace_as_suffix"
        yield fact("NormalizeTreatWSAsSuffixTest", text, expected, **{suffix: True})
    for text, expected in (
        *(("", ""), ("      ", "_______"), ("　", "__"), ("ABC", "_ABC"), (" ABC ", "__ABC_")),
        *(("  A  B  C  ", "___A__B__C__"),),
    ):
        keeps = {"remove_extra_whitespaces": False}
        yield fact("NormalizeWithoutRemoveExtraWhitespacesTest", text, expected, **keeps)
    for text, expected in (
        *(("", ""), ("      ", ""), ("　", ""), ("ABC", "ABC"), (" ABC ", "ABC")),
        *(("  A  B  C  ", "A B C"), ("A　 B　 C", "A B C")),
    ):
        bare = {"add_dummy_prefix": False, "escape_whitespaces": False}
        yield fact("NormalizeWithoutEscapeWhitespacesTest", text, expected, **bare)
    yield fact("NormalizeFullTest", "I saw a girl", "_I_saw_a_girl")


FACTS = [*_segmented(), *_normalized()]


def _model(kind: int, pieces: list[Piece], rules: bytes = b"", **options: bool) -> bytes:
    made = sentencepiece_model_pb2.ModelProto()
    made.trainer_spec.model_type = kind
    made.trainer_spec.byte_fallback = any(piece[2] == BYTE for piece in pieces)
    made.normalizer_spec.precompiled_charsmap = rules
    for name, value in options.items():
        whole = made.trainer_spec if name == "treat_whitespace_as_suffix" else made.normalizer_spec
        setattr(whole, name, value)
    for piece, score, type_ in pieces:
        made.pieces.add(piece=piece, score=score, type=type_)
    return bytes(made.SerializeToString())


@functools.cache
def _rules() -> bytes:
    """Those of `nmt_nfkc`, as that library has them."""
    spec = sentencepiece_model_pb2.NormalizerSpec()
    made = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    spec.ParseFromString(made.serialized_normalizer_spec())
    return bytes(spec.precompiled_charsmap)


def answer(fact: Fact) -> Any:
    """What tokctl says to what the fact is given."""
    if isinstance(fact.expected, str):
        data = _model(UNIGRAM, [*BASE, ("a", 0.0, NORMAL)], _rules(), **fact.model)
        return Tokenizer(formats.parse(data, "rules.model")).pre_tokens(fact.text)[0].decode()
    plain = dict.fromkeys(
        ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"), False
    )
    made = Tokenizer(formats.parse(_model(*fact.model, **plain), "pieces.model"))
    return made.encode(fact.text).surfaces


def expected(fact: Fact) -> Any:
    """What the processor makes of it: unknown pieces side by side are one."""
    if isinstance(fact.expected, str):
        return fact.expected
    known = {piece for piece, _, type_ in fact.model[1] if type_ in (NORMAL, USER_DEFINED)}
    found: list[str] = []
    for is_known, pieces in groupby(fact.expected, known.__contains__):
        some = list(pieces)
        found += some if is_known else ["".join(some)]
    return found


#: The other C++ tests of models and rules: how many, by what they are about.
OTHER_TESTS = {
    "tests of lattices, agendas, tries and scores from within": 26,
    "tests of sampling, and of models that have none": 6,
    "tests of unused pieces in BPE, which tokctl refuses": 2,
    "tests of bytes that are not UTF-8": 1,
}
