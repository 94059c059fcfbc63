# ruff: noqa: RUF001 (characters that look alike are what it is about)
"""What the Rust tests of `tokenizers` 0.23 say, as facts: a part, what it is given, what it gives.

Those tests call functions that no other language sees, so they can't run with tokctl beside them.
Places are bytes, as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.tools.suites.alone import Json, alone, decoder_alone, ids_of, whole_words, word_level
from tests.tools.suites.record import Untranslatable
from tokctl import TokctlError

Place = tuple[int, int]


class Fact(NamedTuple):
    """One assertion.

    Attributes:
        test: the test that says it.
        kind: what is asked: see `ANSWERS`.
        part: the part of a pipeline, or the model, as `tokenizer.json` has it.
        given: a text, two texts, or tokens.
        expected: the answer.
    """

    test: str
    kind: str
    part: Any
    given: Any
    expected: Any


# -- pre-tokenizers -------------------------------------------------------------------------

HEY_FRIEND = "Hey friend!     How are you?!?"
WORDS_AND_MARKS = [
    *(("Hey", (0, 3)), ("friend", (4, 10)), ("!", (10, 11)), ("How", (16, 19)), ("are", (20, 23))),
    *(("you", (24, 27)), ("?", (27, 28)), ("!", (28, 29)), ("?", (29, 30))),
]
HOW = "How are you doing?"
HELLO = "Hello my friend, how is your day going?"


def _joined(text: str, *pieces: str) -> list[tuple[str, Place]]:
    """Pieces that follow each other without a gap, each as long in the text as it is written."""
    found, at = [], 0
    for piece in pieces:
        found.append((piece, (at, at + len(piece.encode()))))
        at = found[-1][1][1]
    assert at == len(text.encode())
    return found


def _byte_level(**options: bool) -> Json:
    given = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"type": "ByteLevel"} | given | options


def _metaspace(scheme: str = "always", split: bool = True) -> Json:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def _split(behavior: str, pattern: Json, invert: bool = False) -> Json:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


WORDS = {"Regex": r"\w+|[^\w\s]+"}
DIGITS_TEXT = "Hey 123 friend!"


def _pre_tokens() -> Iterator[Fact]:
    def fact(test: str, part: Json, text: str, expected: list[tuple[str, Place]]) -> Fact:
        return Fact(f"pre_tokenizers::{test}", "pre-tokens", part, text, expected)

    white, split_white = {"type": "Whitespace"}, {"type": "WhitespaceSplit"}
    yield fact(
        "whitespace::basic", white, "Hey man!", [("Hey", (0, 3)), ("man", (4, 7)), ("!", (7, 8))]
    )
    found = [
        ("How", (0, 3)),
        ("are", (4, 7)),
        ("you", (8, 11)),
        ("doing", (12, 17)),
        ("?", (17, 18)),
    ]
    yield fact("whitespace::basic", white, HOW, found)
    yield fact("whitespace::basic", white, "\n", [])
    yield fact("split::basic", _split("Removed", WORDS, True), HOW, found)
    pieces = ["How", " ", "are", " ", "you", " ", "doing", "?"]
    yield fact("split::basic", _split("Isolated", WORDS, True), HOW, _joined(HOW, *pieces))
    pieces = ["How ", "are ", "you ", "doing", "?"]
    yield fact(
        "split::basic", _split("MergedWithPrevious", WORDS, True), HOW, _joined(HOW, *pieces)
    )
    pieces = ["How", " are", " you", " doing", "?"]
    yield fact("split::basic", _split("MergedWithNext", WORDS, True), HOW, _joined(HOW, *pieces))
    pieces = ["How", " ", "are", " ", "you", " ", "doing?"]
    yield fact("split::basic", _split("Contiguous", WORDS, True), HOW, _joined(HOW, *pieces))
    found = [("Hey,", (0, 4)), ("man!", (5, 9))]
    for pattern in ({"Regex": r"\s+"}, {"String": " "}):
        yield fact("split::regex_string", _split("Removed", pattern), "Hey, man!", found)
    found = [("Hello", (0, 5)), ("Hello", (6, 11)), ("Hello", (12, 17))]
    for part in (_split("Removed", {"String": " "}), _split("Removed", {"String": "Hello"}, True)):
        yield fact("split::invert", part, "Hello Hello Hello", found)
    found = [("Hey", (0, 3)), ("man!", (4, 8))]
    yield fact("whitespace::whitespace_split", split_white, "Hey man!", found)
    found = [("Hey,", (0, 4)), ("man,", (5, 9)), ("Good?", (10, 15))]
    yield fact("whitespace::whitespace_split", split_white, "Hey, man, Good?", found)

    found = [("▁Hey", (0, 3)), ("▁friend!", (3, 11))]
    yield fact("metaspace::basic", _metaspace(), "Hey friend!", found)
    found = [("▁Hey", (0, 3)), ("▁", (3, 4)), ("▁", (4, 5)), ("▁friend!", (5, 13))]
    yield fact("metaspace::multiple_spaces", _metaspace(), "Hey   friend!", found)
    for text in ("_", "▁"):
        old = {"type": "Metaspace", "replacement": text, "add_prefix_space": True}
        found = [(f"{text}a", (0, 1)), (f"{text}b", (1, 3))]
        yield fact("metaspace::serialization", old, "a b", found)
    isolated = _split("Isolated", {"Regex": "(<s>)"})

    def behind_split(*parts: Json) -> Json:
        return {"type": "Sequence", "pretokenizers": [isolated, *parts]}

    first = behind_split(_metaspace("first", False))
    for text, found in (
        (
            "Hey my friend <s>how▁are you",
            [("▁Hey▁my▁friend▁", (0, 14)), ("<s>", (14, 17)), ("how▁are▁you", (17, 30))],
        ),
        (" Hey <s>how", [("▁Hey▁", (0, 5)), ("<s>", (5, 8)), ("how", (8, 11))]),
        (
            " Hey <s>how <s>are <s> you",
            [
                *(("▁Hey▁", (0, 5)), ("<s>", (5, 8)), ("how▁", (8, 12)), ("<s>", (12, 15))),
                *(("are▁", (15, 19)), ("<s>", (19, 22)), ("▁you", (22, 26))),
            ],
        ),
    ):
        yield fact("metaspace::non_legacy_meta_space", first, text, found)
    twice = behind_split(_metaspace("first", False), _metaspace())
    found = [
        *(("▁Hey", (0, 3)), ("▁my", (3, 6)), ("▁friend", (6, 13)), ("▁", (13, 14))),
        *(("▁<s>", (14, 17)), ("▁how", (17, 20)), ("▁are", (20, 26)), ("▁you", (26, 30))),
    ]
    yield fact("metaspace::non_legacy_meta_space", twice, "Hey my friend <s>how▁are you", found)

    digits = {"type": "Digits", "individual_digits": False}
    found = _joined(DIGITS_TEXT, "Hey ", "123", " friend!")
    yield fact("digits::numbers", digits, DIGITS_TEXT, found)
    digits = {"type": "Digits", "individual_digits": True}
    found = _joined(DIGITS_TEXT, "Hey ", "1", "2", "3", " friend!")
    yield fact("digits::individual_digits", digits, DIGITS_TEXT, found)

    marks: Json = {"type": "Punctuation", "behavior": "Isolated"}
    found = _joined(HEY_FRIEND, "Hey friend", "!", "     How are you", "?", "!", "?")
    yield fact("punctuation::punctuation_basic", marks, HEY_FRIEND, found)
    yield fact("punctuation::deserialization", {"type": "Punctuation"}, HEY_FRIEND, found)
    both = {"type": "Sequence", "pretokenizers": [split_white, marks]}
    yield fact("sequence::sequence_basic", both, HEY_FRIEND, WORDS_AND_MARKS)
    yield fact("bert::basic", {"type": "BertPreTokenizer"}, HEY_FRIEND, WORDS_AND_MARKS)

    fixed = {"type": "FixedLength", "length": 5}
    yield fact(
        "fixed_length::basic", fixed, "Hello world", _joined("Hello world", "Hello", " worl", "d")
    )
    yield fact("fixed_length::basic", fixed, "Short", _joined("Short", "Short"))
    yield fact("fixed_length::basic", fixed, "", [])
    fixed = {"type": "FixedLength", "length": 3}
    found = _joined("Hello world", "Hel", "lo ", "wor", "ld")
    yield fact("fixed_length::custom_length", fixed, "Hello world", found)
    text = "Hello 👋 world"
    yield fact(
        "fixed_length::utf8_characters",
        fixed,
        text,
        _joined(text, "Hel", "lo ", "👋 w", "orl", "d"),
    )

    scripts = {"type": "UnicodeScripts"}
    text = "どこで生れ。Yes"
    yield fact("unicode_scripts::basic", scripts, text, _joined(text, "どこで生れ", "。", "Yes"))
    text = "Apples are りんご 林檎"
    found = _joined(text, "Apples are ", "りんご 林檎")
    yield fact("unicode_scripts::spaces_are_included_in_every_script", scripts, text, found)

    found = [
        *(("Hello", (0, 5)), ("Ġmy", (5, 8)), ("Ġfriend", (8, 15)), (",", (15, 16))),
        *(("Ġhow", (16, 20)), ("Ġis", (20, 23)), ("Ġyour", (23, 28)), ("Ġday", (28, 32))),
        *(("Ġgoing", (32, 38)), ("?", (38, 39))),
    ]
    yield fact("byte_level::pre_tokenization", _byte_level(), HELLO, found)
    whole = _byte_level(add_prefix_space=True, use_regex=False)
    found = [("ĠHelloĠmyĠfriend,ĠhowĠisĠyourĠdayĠgoing?", (0, 39))]
    yield fact("byte_level::pre_tokenization_no_regex", whole, HELLO, found)
    for text, more in ((f" {HELLO}", 1), (HELLO, 0)):
        found = [
            *(("ĠHello", (0, 5)), ("Ġmy", (5, 8)), ("Ġfriend", (8, 15)), (",", (15, 16))),
            *(("Ġhow", (16, 20)), ("Ġis", (20, 23)), ("Ġyour", (23, 28)), ("Ġday", (28, 32))),
            *(("Ġgoing", (32, 38)), ("?", (38, 39))),
        ]
        found = [(piece, (a + more if a else a, b + more)) for piece, (a, b) in found]
        yield fact("byte_level::add_prefix_space", _byte_level(add_prefix_space=True), text, found)
    text = "Hello there\nHello there"
    found = _joined(text, "Hello", " there", "\n", "Hello", " there")
    found = [(p.replace(" ", "Ġ").replace("\n", "Ċ"), place) for p, place in found]
    yield fact("byte_level::handling_of_newlines", _byte_level(), text, found)
    text = "Hello there       dear"
    found = _joined(text, "Hello", " there", "      ", " dear")
    found = [(piece.replace(" ", "Ġ"), place) for piece, place in found]
    yield fact("byte_level::handling_of_multiple_whitespaces", _byte_level(), text, found)
    found = [("i", (0, 1)), ("âŃ¢", (1, 4)), ("j", (4, 5))]
    yield fact("byte_level::offsets_when_char_split_up", _byte_level(), "i⭢j", found)
    for options in ({}, {"use_regex": True}):
        old = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, **options}
        found = [("Ġa", (0, 1)), ("Ġb", (1, 3))]
        yield fact("byte_level::deserialization", old, "a b", found)
    old = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": False}
    yield fact("byte_level::deserialization", old, "a b", [("ĠaĠb", (0, 3))])


# -- normalizers and decoders -----------------------------------------------------------------

VIETNAMESE = (
    "Cụ thể, bạn sẽ tham gia một nhóm các giám đốc điều hành tổ chức, các nhà lãnh đạo doanh"
    " nghiệp, các học giả, chuyên gia phát triển và tình nguyện viên riêng biệt trong lĩnh vực"
    " phi lợi nhuận…"
)
WITHOUT_MARKS = (
    "cu the, ban se tham gia mot nhom cac giam đoc đieu hanh to chuc, cac nha lanh đao doanh"
    " nghiep, cac hoc gia, chuyen gia phat trien va tinh nguyen vien rieng biet trong linh vuc"
    " phi loi nhuan..."
)


def _normalized() -> Iterator[Fact]:
    def fact(test: str, part: Any, text: str, expected: str) -> Fact:
        parts = [{"type": kind} if isinstance(kind, str) else kind for kind in part]
        sequence = {"type": "Sequence", "normalizers": parts}
        return Fact(f"normalizers::{test}", "normalized", sequence, text, expected)

    quotes = {"type": "Replace", "pattern": {"String": "''"}, "content": '"'}
    yield fact("replace::test_replace", [quotes], "This is a ''test''", 'This is a "test"')
    spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    text = "This     is   a         test"
    yield fact("replace::test_replace_regex", [spaces], text, "This is a test")
    for text, expected in (
        ("Me llamó", "Me llamo"),
        ("Me llamo", "Me llamo"),
        ("这很简单", "这很简单"),
    ):
        yield fact("strip::test_strip_accents", ["NFKD", "StripAccents"], text, expected)
    bare = ["NFKD", "StripAccents", "Lowercase"]
    yield fact("strip::test_vietnamese_bug", bare[:2], "ậ…", "a...")
    yield fact("strip::test_vietnamese_bug", bare, "ậ…", "a...")
    yield fact("strip::test_vietnamese_bug", bare, VIETNAMESE, WITHOUT_MARKS)
    yield fact("strip::test_thai_bug", bare, "ำน\u0e49ำ3ลำ", "านา3ลา")
    text = "e\u0304\u0304\u0304o"
    yield fact("strip::test_strip_accents_multiple", ["StripAccents"], text, "eo")
    prepend = {"type": "Prepend", "prepend": "▁"}
    yield fact("prepend::test_prepend", [prepend], "Hello", "▁Hello")
    text, expected = "Hello 我今天能为你做什么", "HelloĠæĪĳä»Ĭå¤©èĥ½ä¸ºä½łåģļä»Ģä¹Ī"
    yield fact("byte_level::test_byte_level_normalize", ["ByteLevel"], text, expected)
    yield fact("unicode::test_nfkc", ["NFKC"], "\ufb01", "fi")


CTC_SAMPLE = "<pad> <pad> h e e l l <pad> l o o o <pad>"


def _decoded() -> Iterator[Fact]:
    def fact(test: str, part: Json, tokens: list[str], expected: str) -> Fact:
        return Fact(f"decoders::{test}", "decoded", part, tokens, expected)

    fallback = {"type": "ByteFallback"}
    for tokens, expected in (
        (["Hey", "friend!"], "Heyfriend!"),
        (["<0x61>"], "a"),
        (["<0xE5>"], "\ufffd"),
        (["<0xE5>", "<0x8f>"], "\ufffd\ufffd"),
        (["<0xE5>", "<0x8f>", "<0xab>"], "叫"),
        (["<0xE5>", "<0x8f>", "<0xab>", "a"], "叫a"),
        (["<0xE5>", "<0x8f>", "a"], "\ufffd\ufffda"),
    ):
        yield fact("byte_fallback::decode", fallback, tokens, expected)
    ctc = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}
    yield fact("ctc::handmade_sample", ctc, CTC_SAMPLE.split(), "hello")
    more = f"{CTC_SAMPLE} <pad> | <pad> w o o o r <pad> <pad> l l d <pad> <pad>"
    yield fact("ctc::handmade_with_delimiter_sample", ctc, more.split(), "hello world")
    sample = "<pad> A | | <pad> M <pad> A <pad> N <pad> | | | <pad> S <pad> A I <pad> D D | | T T"
    yield fact("ctc::librispeech_sample", ctc, sample.split(), "A MAN SAID T")
    sample = "<pad> H <pad> I <pad> S S | | <pad> I N <pad> S <pad> T T <pad> A N C C T <pad> | |"
    yield fact("ctc::another_librispeech_sample", ctc, sample.split(), "HIS INSTANCT ")
    both = {"type": "Sequence", "decoders": [ctc, _metaspace()]}
    yield fact("sequence::sequence_basic", both, [*"▁▁HHii▁you"], "Hi you")
    strip = {"type": "Strip", "content": "H", "start": 1, "stop": 0}
    yield fact("strip::decode", strip, ["Hey", " friend!", "HHH"], "ey friend!HH")
    strip = {"type": "Strip", "content": "y", "start": 0, "stop": 1}
    yield fact("strip::decode", strip, ["Hey", " friend!"], "He friend!")
    pieces = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    tokens = ["##uelo", "Ara", "##új", "##o", "No", "##guera"]
    yield fact("wordpiece::wordpiece_decoder", pieces, tokens, "##uelo Araújo Noguera")
    tokens = ["▁Hey", "▁friend!"]
    yield fact("metaspace::decode", _metaspace(), tokens, "Hey friend!")
    yield fact("metaspace::decode", _metaspace("never"), tokens, " Hey friend!")
    replace = {"type": "Replace", "pattern": {"String": "_"}, "content": " "}
    yield fact("replace::test_replace_decode", replace, ["hello", "_hello"], "hello hello")
    words = ["Hello", "Ġmy", "Ġfriend", ",", "Ġhow", "Ġis"]
    yield fact("byte_level::decoding", _byte_level(), words, "Hello my friend, how is")
    words = ["Hello", "Ġthere", "Ġdear", "Ġfriend!", "Ġ", "[PA D]"]
    expected = "Hello there dear friend! [PA D]"
    yield fact("byte_level::decode_unknown_characters", _byte_level(), words, expected)


# -- models -------------------------------------------------------------------------------------


def _bpe(tokens: list[str], merges: list[str], **options: Any) -> Json:
    pairs = [merge.split() for merge in merges]
    return {"type": "BPE", "vocab": ids_of(tokens), "merges": pairs, **options}


def _named(model: Json, *tokens: str) -> list[tuple[int, str, Place]]:
    """Tokens that follow each other, with their ids."""
    vocabulary = model["vocab"]
    joined = _joined("".join(tokens), *tokens)
    return [(vocabulary[token], token, place) for token, place in joined]


HELL = ["h", "e", "l", "o", "he", "hel", "hell", "hello"]
HELL_MERGES = ["h e", "he l", "hel l", "hell o"]
UNRELATED = ["re", "at", "ed", "un", "ated", "rel", "related", "unrelated"]
UNRELATED_MERGES = ["r e", "a t", "e d", "u n", "at ed", "re l", "rel ated", "un related"]
BEL = [
    *(".:.:", "Ġbelirtilen", ".", ":", "bel", "irtilen", "Ġ", ".:", "belirtilen", ".:.", "be"),
    *("l", "ir", "ti", "en", "irtil", "irti", "i", "r", "t", "b", "e", "n"),
]
BEL_MERGES = [". :", "b e", "be l", "i r", "t i", "ir ti", "e n", "irti l"]
PIECES = [
    *(("<unk>", 0.0), ("ab", 0.0), ("cd", -0.1), ("abc", -0.2), ("a", -0.3), ("b", -0.4)),
    *(("c", -0.5), ("ABC", -0.5), ("abcdabcd", 20.0), ("q", 20.5), ("r", 20.5), ("qr", -0.5)),
]


def _tokens() -> Iterator[Fact]:
    def fact(test: str, model: Json, text: str, *tokens: str) -> Fact:
        return Fact(f"models::{test}", "tokens", model, text, _named(model, *tokens))

    def unknown(test: str, model: Json, text: str, expected: list[tuple[int, str, Place]]) -> Fact:
        return Fact(f"models::{test}", "tokens", model, text, expected)

    merged, bare = _bpe(HELL, HELL_MERGES), _bpe(HELL[:4], [])
    yield fact("bpe::test_cache_is_per_bpe_instance", merged, "hello", "hello")
    yield fact("bpe::test_cache_is_per_bpe_instance", bare, "hello", *"hello")
    for fused, name in ((False, "bpe::test_unk_not_fused"), (True, "bpe::test_unk_get_fused")):
        model = _bpe(["<unk>", "a", "b"], [], unk_token="<unk>", fuse_unk=fused)
        unk = [(0, "<unk>", (0, 2))] if fused else [(0, "<unk>", (0, 1)), (0, "<unk>", (1, 2))]
        yield unknown(name, model, "c", [(0, "<unk>", (0, 1))])
        yield unknown(name, model, "cc", unk)
        middle = [(0, "<unk>", (a + 1, b + 1)) for _, _, (a, b) in unk]
        yield unknown(name, model, "accb", [(1, "a", (0, 1)), *middle, (2, "b", (3, 4))])
    for options in ({}, {"dropout": 0.0}):
        model = _bpe([*"unreltad", *UNRELATED], UNRELATED_MERGES, **options)
        name = "bpe::test_tokenize_with_and_without_dropout"
        yield fact(name, model, "unrelated", "unrelated")
    model = _bpe(["a", "##b", "##c", "ab", "abc"], ["a ##b", "ab ##c"])
    model |= {"unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    for text in ("ab", "abc"):
        yield fact("bpe::test_bpe_with_continuing_subword_prefix", model, text, text)
    for code, name in (("61", "test_bpe_byte_fallback"), ("0A", "test_bpe_byte_fallback_newline")):
        byte = f"<0x{code}>"
        model = _bpe(["<unk>", byte], [], unk_token="<unk>", byte_fallback=True)
        text = bytes.fromhex(code).decode()
        yield unknown(f"bpe::{name}", model, text, [(1, byte, (0, 1))])
        yield unknown(f"bpe::{name}", model, "c", [(0, "<unk>", (0, 1))])
    model = _bpe(BEL, BEL_MERGES, ignore_merges=True)
    for text in (".:.:", "Ġbelirtilen"):
        yield fact("bpe::test_ignore_merges", model, text, text)
    model = _bpe(BEL, BEL_MERGES)
    yield fact("bpe::test_ignore_merges", model, ".:.:", ".:", ".:")
    yield fact("bpe::test_ignore_merges", model, "Ġbelirtilen", "Ġ", "bel", "irtil", "en")

    words = {"type": "WordLevel", "vocab": ids_of(["<unk>", "a", "b"]), "unk_token": "<unk>"}
    yield unknown("wordlevel::test_tokenize_unk", words, "c", [(0, "<unk>", (0, 1))])
    yield fact("wordlevel::test_tokenize_unk", words, "a", "a")

    pieces = [("<unk>", 0.0), *((letter, 0.0) for letter in "abcd"), ("cd", 1.0), ("ab", 2.0)]
    pieces += [("abc", 5.0), ("abcd", 10.0)]
    for vocabulary, text, expected in (
        (pieces, "abcd", ["abcd"]),
        (PIECES, "abc", ["abc"]),
        (PIECES, "AB", ["AB"]),
        (PIECES, "abcd", ["ab", "cd"]),
        (PIECES, "abcc", ["abc", "c"]),
        (PIECES, "xabcabaabcdd", ["x", "abc", "ab", "a", "ab", "cd", "d"]),
        (PIECES, "xyz東京", ["xyz東京"]),
        (PIECES, "ABC", ["ABC"]),
        (PIECES, "abABCcd", ["ab", "ABC", "cd"]),
        (PIECES, "ababcdabcdcd", ["ab", "abcdabcd", "cd"]),
        (PIECES, "abqrcd", ["ab", "q", "r", "cd"]),
    ):
        name = "test_encode" if vocabulary is pieces else "test_encode2"
        model = {"type": "Unigram", "unk_id": 0, "vocab": [list(entry) for entry in vocabulary]}
        known = {piece: id_ for id_, (piece, _) in enumerate(vocabulary)}
        found = [
            (known.get(token, 0), token if token in known else "<unk>", place)
            for token, place in _joined(text, *expected)
        ]
        yield Fact(f"models::unigram::{name}", "tokens", model, text, found)
    bytes_only = [["<unk>", 0.0], ["<0xC3>", -0.01], ["<0xA9>", -0.03]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": bytes_only, "byte_fallback": True}
    found = [(1, "<0xC3>", (0, 2)), (2, "<0xA9>", (0, 2))]
    yield unknown("unigram::test_unigram_bytefallback", model, "é", found)


def _refused() -> Iterator[Fact]:
    words = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "<unk>"}
    yield Fact("models::wordlevel::test_tokenize_missing_unk_token", "refused", words, "c", None)
    model = _bpe(["a", "b", "c", "ab"], ["a b", "a d"])
    yield Fact("models::bpe::test_bpe_from_file_merge_token_oov", "refused", model, "a", None)
    model = _bpe(["a", "b", "c", "ab"], ["a b"])
    model["merges"].append(["c"])
    yield Fact("models::bpe::test_bpe_from_file_bad_merges", "refused", model, "a", None)


# -- added tokens, templates, truncation ------------------------------------------------------


def added(id_: int, content: str, special: bool = False, **options: bool) -> Json:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": not special}
    return {"id": id_, "content": content, "special": special} | plain | options


CLS, SEP = "[CLS]", "[SEP]"
SENTENCE = "[CLS] My name is Anthony [SEP]"
MASKS = "Hi <mask> there\t<mask>\t<mask>\u2000 <pad> <mask><pad><pad>"


def _found() -> Iterator[Fact]:
    def fact(
        test: str, tokens: list[Json], lower: bool, text: str, *found: tuple[str, Any]
    ) -> Fact:
        name = f"added_vocabulary::{test}"
        return Fact(name, "found", {"added": tokens, "lower": lower}, text, list(found))

    ends = [added(2, CLS, True), added(3, SEP, True)]
    yield fact(
        "can_extract_added_tokens",
        [added(0, "my"), added(1, "name"), *ends],
        False,
        SENTENCE,
        *((CLS, 2), (" My ", None), ("name", 1), (" is Anthony ", None), (SEP, 3)),
    )
    ends = [added(3, CLS, True), added(4, SEP, True)]
    mine = added(0, "my", lstrip=True, rstrip=True)
    yield fact(
        "options_use_cases",
        [mine, added(1, "name"), added(2, "ony", single_word=True), *ends],
        True,
        SENTENCE,
        *((CLS, 3), (" my ", 0), ("name", 1), (" is anthony ", None), (SEP, 4)),
    )
    mask = added(0, "<mask>", single_word=True)
    yield fact(
        "test_single_word_is_correct",
        [mask],
        True,
        "<mask> My name <mask> A<mask> <mask>ony <mask>",
        *(("<mask>", 0), (" my name ", None), ("<mask>", 0)),
        *((" a<mask> <mask>ony ", None), ("<mask>", 0)),
    )
    yield fact(
        "test_single_word_is_unicode_correct",
        [mask],
        True,
        "<mask>, <mask>- ◌̰<mask>",
        *(("<mask>", 0), (", ", None), ("<mask>", 0), ("- ◌̰<mask>", None)),
    )
    mask = added(0, "<mask>", lstrip=True, rstrip=True, single_word=True)
    yield fact(
        "test_lstrip_unicode_space",
        [mask],
        True,
        "Hi <mask> there\t<mask>\t<mask>\u2000",
        *(("hi", None), (" <mask> ", 0), ("there", None), ("\t<mask>\t", 0), ("<mask>\u2000", 0)),
    )
    mask = added(0, "<mask>", True, lstrip=True, rstrip=True, single_word=True, normalized=False)
    yield fact(
        "test_encode_special_tokens",
        [mask, added(1, "ask>"), added(2, "<pad>", True)],
        True,
        MASKS,
        *(("hi", None), (" <mask> ", 0), ("there", None), ("\t<mask>\t", 0), ("<mask>\u2000 ", 0)),
        *(("<pad>", 2), (" <mask>", 0), ("<pad>", 2), ("<pad>", 2)),
    )


ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
ROBERTA |= {"trim_offsets": True, "add_prefix_space": True}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
THERE, PAIR = [(12, (0, 5)), (14, (6, 11))], [(15, (0, 4))]


def _processed() -> Iterator[Fact]:
    around = (0, 0)
    first, second = [place for _, place in THERE], [place for _, place in PAIR]
    for name, part, cls, sep in (("roberta", ROBERTA, 0, 2), ("bert", BERT, 101, 102)):
        double = [sep, sep] if name == "roberta" else [sep]
        gap = [around] * len(double)
        for pair, expected in (
            (
                None,
                {
                    "ids": [cls, 12, 14, sep],
                    "offsets": [around, *first, around],
                    "type_ids": [0] * 4,
                    "special_mask": [1, 0, 0, 1],
                    "sequence_ids": [None, 0, 0, None],
                },
            ),
            (
                "pair",
                {
                    "ids": [cls, 12, 14, *double, 15, sep],
                    "offsets": [around, *first, *gap, *second, around],
                    "type_ids": [0] * 7 if name == "roberta" else [0, 0, 0, 0, 1, 1],
                    "special_mask": [1, 0, 0, *([1] * len(double)), 0, 1],
                    "sequence_ids": [None, 0, 0, *([None] * len(double)), 1, None],
                },
            ),
        ):
            given = ("Hello there", pair)
            yield Fact(f"processors::{name}_processing", "processed", part, given, expected)


def _lengths() -> Iterator[Fact]:
    sizes = (0, 2, 4, 8)
    after = {
        (0, 0): (0, 0), (0, 2): (0, 2), (0, 4): (0, 4), (0, 8): (0, 7),
        (2, 0): (2, 0), (2, 2): (2, 2), (2, 4): (2, 4), (2, 8): (2, 5),
        (4, 0): (4, 0), (4, 2): (4, 2), (4, 4): (3, 4), (4, 8): (3, 4),
        (8, 0): (7, 0), (8, 2): (5, 2), (8, 4): (4, 3), (8, 8): (3, 4),
    }  # fmt: skip
    name = "truncation::truncate_encodings_longest_first"
    for first in sizes:
        for second in sizes:
            cut = {"max_length": 7, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
            yield Fact(name, "lengths", cut, (first, second), after[first, second])


LETTERS = "a b c d e f g h i j"


def _windows() -> Iterator[Fact]:
    def fact(test: str, size: int, *given: Any, **options: Any) -> Fact:
        cut = {"max_length": size, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
        *texts, expected = given
        return Fact(f"tokenizer::{test}", "windows", cut | options, texts, expected)

    chunks = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    yield fact("right_truncation_overflow_covers_the_whole_input", 3, LETTERS, chunks)
    yield fact("left_truncation_keeps_tail_tokens", 3, LETTERS, [[7, 8, 9]], direction="Left")
    few = "a b c d e"
    expected = [[0, 1, 2, 0, 1, 2]]
    yield fact("pair_right_truncation_longest_first", 6, LETTERS, few, expected)
    kept = [[0, 1, 2, 3, 4, 0, 1, 2]]
    name = "pair_only_second_does_not_truncate_first"
    yield fact(name, 8, few, LETTERS, kept, strategy="OnlySecond")
    kept = [[0, 1, 2, 0, 1, 2, 3, 4]]
    name = "pair_only_first_does_not_truncate_second"
    yield fact(name, 8, LETTERS, few, kept, strategy="OnlyFirst")


FACTS = [
    *_pre_tokens(), *_normalized(), *_decoded(), *_tokens(), *_refused(), *_found(), *_processed(),
    *_lengths(), *_windows(),
]  # fmt: skip

VERSION = "0.23.3"

#: The other Rust tests: how many, by what they are about.
OTHER_TESTS = {
    "tests of how its own objects are written": 46,
    "tests of caches, lattices, threads and encodings from within": 46,
    "tests of strings that are changed in place": 34,
    "tests that download: the zoo has such files": 30,
    "tests of training: compared in tests/exact": 27,
}

# -- what tokctl answers ------------------------------------------------------------------------


def _answer_pre_tokens(part: Json, text: str, expected: Any) -> Any:
    pieces = [piece for piece, _ in expected]
    model = whole_words(pieces) if "ByteLevel" in str(part) else word_level(pieces)
    encoding = alone(model, pre_tokenizer=part).encode(text)
    return list(zip(encoding.tokens, encoding.byte_offsets, strict=True))


def _answer_normalized(part: Json, text: str, _: Any) -> Any:
    return alone(word_level([]), normalizer=part).pre_tokens(text)[0].decode()


def _answer_decoded(part: Json, tokens: list[str], _: Any) -> Any:
    made = decoder_alone(part, tokens)
    return made.decode([made.vocabulary[token] for token in tokens], errors="replace")


def _answer_tokens(model: Json, text: str, _: Any) -> Any:
    encoding = alone(model).encode(text)
    return list(zip(encoding.ids, encoding.tokens, encoding.byte_offsets, strict=True))


def _answer_refused(model: Json, text: str, _: Any) -> Any:
    try:
        return alone(model).encode(text).ids
    except (TokctlError, Untranslatable):
        return None


def _answer_found(part: Json, text: str, _: Any) -> Any:
    tokens = part["added"]
    model = word_level([token["content"] for token in tokens])
    normalizer = {"type": "Lowercase"} if part["lower"] else None
    made = alone(model, added_tokens=tokens, normalizer=normalizer)
    encoding = made.encode(text, special="all")
    found = []
    for id_, surface in zip(encoding.ids, encoding.surfaces, strict=True):
        kept = id_ < len(tokens) and not tokens[id_]["normalized"]
        stretch = surface.lower() if part["lower"] and not kept else surface
        found.append((stretch, id_ if id_ < len(tokens) else None))
    return found


def _answer_processed(part: Json, given: tuple[str, str | None], expected: Any) -> Any:
    ends = [*part["cls"], *part["sep"]]
    names = {ends[1]: ends[0], ends[3]: ends[2], 12: "Hello", 14: "there", 15: "pair"}
    size = max(names) + 1
    vocabulary = {names.get(id_, f"[{id_}]"): id_ for id_ in range(size)} | {"[UNK]": size}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    specials = [added(ends[1], ends[0], True), added(ends[3], ends[2], True)]
    white = {"type": "Whitespace"}
    made = alone(model, added_tokens=specials, pre_tokenizer=white, post_processor=part)
    encoding = made.encode(*given, add_special=True)
    return {name: getattr(encoding, name) for name in expected}


def _letters(cut: Json) -> Any:
    model = {"type": "WordLevel", "vocab": ids_of([*"abcdefghij", "<unk>"]), "unk_token": "<unk>"}
    return alone(model, pre_tokenizer={"type": "WhitespaceSplit"}, truncation=cut)


def _answer_lengths(cut: Json, given: tuple[int, int], _: Any) -> Any:
    made = _letters(cut)
    first, second = (" ".join("a" * size) for size in given)
    encoding = made.encode(first, second, truncation=made.truncation)
    return encoding.sequence_ids.count(0), encoding.sequence_ids.count(1)


def _answer_windows(cut: Json, texts: list[str], expected: Any) -> Any:
    made = _letters(cut)
    encoding = made.encode(*texts, truncation=made.truncation)
    windows = [encoding, *encoding.overflowing]
    return [window.ids for window in windows[: len(expected)]]


ANSWERS = {
    "pre-tokens": _answer_pre_tokens,
    "normalized": _answer_normalized,
    "decoded": _answer_decoded,
    "tokens": _answer_tokens,
    "refused": _answer_refused,
    "found": _answer_found,
    "processed": _answer_processed,
    "lengths": _answer_lengths,
    "windows": _answer_windows,
}


def answer(fact: Fact) -> Any:
    """What tokctl says to what the fact is given."""
    return ANSWERS[fact.kind](fact.part, fact.given, fact.expected)
