# ruff: noqa: RUF001 (characters that look alike are what it is about)
"""A `tokenizer.json` made at random from a seed: every part that both libraries have."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from unicodedata import normalize

import tokenizers
from tokenizers import pre_tokenizers

Json = dict[str, Any]

#: What texts are made of: words that repeat, and characters that some part treats apart.
WORDS = [
    "the", "The", "THE", "them", "theme", "low", "lower", "lowest", "new", "newest", "don't",
    "I'll", "café", "cafe\u0301", "naïve", "Straße", "İstanbul", "ﬁne", "東京", "日本語", "한국어",
    "\u1112\u1161\u11ab", "नमस्ते", "می\u200cخواهم", "שלום", "Привет", "ไทย", "123", "3.14",
    "1,000",
    "x²", "½", "a_b", "foo(bar)", "==", "://", "😀", "👩\u200d👩\u200d👧", "👍🏽",
    "🇫🇷", "e\u0301\u0327",
]  # fmt: skip
PIECES = [
    *"aabcdeeeiolnrst .,!?'-_#@<>[]()|/\\\"~^`$+=*&%:;", "\n", "\r\n", "\r", "\t", "  ", "    ",
    "\xa0", "\u3000", "\u2003", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\x1f", "\x00", "\x7f",
    "\x9f", "\xad", "\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\ufeff", "\ufffd", "\ufe0f",
    "\u202e", "\u0301", "\u0327", "\u0345", "\u093f", "\u0e33", "\u3099", "²", "½", "Ⅳ", "①", "٣",
    "ª", "ß", "ẞ", "İ", "ı", "ﬁ", "Ǆ", "ς", "Å", "Ａ", "。", "、", "“", "—", "…", "▁", "Ġ", "Ċ",
    "##", "</w>", "§", "ç", "À", "€", "×", "\ue000", "\U000e0001", "\U0001f1e6", "\U00020000", "가",
    "ㄱ", "\u115f", "ｱ", "ﾞ", "∥", "℃", "𝐀", "\u0378", "\uffff", "\U0010ffff",
]  # fmt: skip
SPECIALS = [
    "<unk>", "[UNK]", "<s>", "</s>", "[CLS]", "[SEP]", "<mask>", "<pad>", "the", "low", " new", "é",
    "E\u0301", "<|end|>", "Ġ", "▁", "▁the", "a b", "1", "<S>", "est", "don", "##er", "  ",
    "\n", "²",
    "東", "ﬁ", "lower", "X", "</", ".",
]  # fmt: skip


def text(draw: random.Random, specials: Sequence[str] = (), most: int = 14) -> str:
    """A text, with the added tokens in it at times."""
    found = []
    for _ in range(draw.randrange(most)):
        kind = draw.random()
        if kind < 0.45:
            found.append(draw.choice(WORDS))
            if draw.random() < 0.7:
                found.append(" ")
        elif kind < 0.85 or not specials:
            found.append(draw.choice(PIECES))
        else:
            token = draw.choice(specials)
            how = draw.random()
            token = token.upper() if how < 0.1 else token[1:] if how < 0.15 else token
            found.append(draw.choice(["", " ", ""]) + token + draw.choice(["", " ", "  "]))
    return "".join(found)


# -- parts ----------------------------------------------------------------------------------

REGEXES = [
    r"\s+", r"[\r\n]", r" {2,}", r"\p{L}+", r"\d", r"\p{N}{1,3}", r"[^\s]+", r"e", r"(?i:the)",
    r"\w+", r"\W", r"[a-z]+", r"\p{Lu}",
    r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"[\p{P}\p{S}]", r"\b", r"\w+|[^\w\s]+", r"[[:punct:]]", r"[[:alpha:]]+", r"[[:space:]]",
    r"\A +", r" +\z", r"^", r"$", r"\n|\r\n?", r"(?<=e)r", r"(?=l)", r"o*", r"[^\W\d_]+", r".",
    r"(?:e|é)", r"\p{Han}", r"\p{M}", r"[.,](?=\d)", r"\S", r"\D+", r"(the|low)\w*", r"\p{Latin}+",
]  # fmt: skip
BEHAVIOURS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def pattern(draw: random.Random) -> Json:
    if draw.random() < 0.6:
        return {"Regex": draw.choice(REGEXES)}
    return {"String": draw.choice([" ", "e", "the", "\n", "  ", "▁", "é", ",", "``"])}


def normalizer(draw: random.Random) -> Json:
    kind = draw.choice(
        [
            "NFC",
            "NFD",
            "NFKC",
            "NFKD",
            "Lowercase",
            "StripAccents",
            "Nmt",
            "BertNormalizer",
            "Strip",
            "Prepend",
            "Replace",
            "Replace",
            "Replace",
        ]
    )
    made: Json = {"type": kind}
    if kind == "BertNormalizer":
        made |= {name: draw.random() < 0.5 for name in ("clean_text", "handle_chinese_chars")}
        made |= {
            "strip_accents": draw.choice([None, True, False]),
            "lowercase": draw.random() < 0.5,
        }
    elif kind == "Strip":
        made |= {"strip_left": draw.random() < 0.6, "strip_right": draw.random() < 0.6}
    elif kind == "Prepend":
        made["prepend"] = draw.choice(["▁", " ", "_a", "é"])
    elif kind == "Replace":
        made |= {"pattern": pattern(draw), "content": draw.choice(["", " ", "▁", "_", "ab", "é"])}
    return made


def pre_tokenizer(draw: random.Random) -> Json:
    kind = draw.choice(
        [
            "BertPreTokenizer",
            "Whitespace",
            "WhitespaceSplit",
            "Digits",
            "Punctuation",
            "Metaspace",
            "Metaspace",
            "Split",
            "Split",
            "Split",
            "CharDelimiterSplit",
            "UnicodeScripts",
            "FixedLength",
        ]
    )
    made: Json = {"type": kind}
    if kind == "Digits":
        made["individual_digits"] = draw.random() < 0.5
    elif kind == "Punctuation":
        made["behavior"] = draw.choice(BEHAVIOURS)
    elif kind == "Metaspace":
        made |= metaspace(draw)
    elif kind == "Split":
        made |= {"pattern": pattern(draw), "behavior": draw.choice(BEHAVIOURS)}
        made["invert"] = draw.random() < 0.2
    elif kind == "CharDelimiterSplit":
        made["delimiter"] = draw.choice(["-", "e", " ", "é"])
    elif kind == "FixedLength":
        made["length"] = draw.choice([1, 2, 5])
    return made


def metaspace(draw: random.Random) -> Json:
    return {
        "replacement": draw.choice(["▁", "▁", "▁", "_", " "]),
        "prepend_scheme": draw.choice(["always", "first", "never"]),
        "split": draw.random() < 0.7,
    }


def byte_level(draw: random.Random) -> Json:
    flags = {name: draw.random() < 0.5 for name in ("add_prefix_space", "trim_offsets")}
    return {"type": "ByteLevel", **flags, "use_regex": draw.random() < 0.7}


def decoder(draw: random.Random) -> Json:
    kind = draw.choice(
        [
            "WordPiece",
            "ByteFallback",
            "BPEDecoder",
            "Fuse",
            "Strip",
            "Metaspace",
            "Replace",
            "CTC",
            "ByteLevel",
        ]
    )
    made: Json = {"type": kind}
    if kind == "WordPiece":
        made |= {"prefix": draw.choice(["##", ""]), "cleanup": draw.random() < 0.5}
    elif kind == "BPEDecoder":
        made["suffix"] = draw.choice(["</w>", "_"])
    elif kind == "Strip":
        made |= {"content": draw.choice([" ", "▁", "e"])}
        made |= {"start": draw.randrange(3), "stop": draw.randrange(3)}
    elif kind == "Metaspace":
        made |= metaspace(draw)
    elif kind == "Replace":
        made |= {"pattern": pattern(draw), "content": draw.choice(["", " ", "x"])}
    elif kind == "CTC":
        made |= {"pad_token": draw.choice(["<pad>", "e"]), "cleanup": draw.random() < 0.5}
        made["word_delimiter_token"] = draw.choice(["|", "▁"])
    elif kind == "ByteLevel":
        made = byte_level(draw)
    return made


def sequence(listed: list[Json], key: str) -> Json | None:
    if len(listed) < 2:
        return listed[0] if listed else None
    return {"type": "Sequence", key: listed}


# -- models ---------------------------------------------------------------------------------


def words_of(document: Json, draw: random.Random) -> list[str]:
    """What the pipeline before the model makes of some texts."""
    probe = tokenizers.Tokenizer.from_str(
        json.dumps(document | {"added_tokens": [], "model": {"type": "WordLevel", "vocab": {"?": 0},
                                                             "unk_token": "?"}})
    )  # fmt: skip
    found: list[str] = []
    for _ in range(30):
        made = text(draw)
        try:
            if probe.normalizer is not None:
                made = probe.normalizer.normalize_str(made)
            pieces = [(made, (0, 0))]
            if probe.pre_tokenizer is not None:
                pieces = probe.pre_tokenizer.pre_tokenize_str(made)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            continue
        found += [word for word, _ in pieces]
    return [word for word in found if word] or ["a"]


def parts_of(word: str, draw: random.Random) -> list[str]:
    cuts = sorted(
        {draw.randrange(len(word) + 1) for _ in range(draw.randrange(4))} | {0, len(word)}
    )
    return [word[a:b] for a, b in pairwise(cuts)]


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def model(draw: random.Random, words: list[str], is_byte_level: bool) -> Json:
    kinds = ["BPE"] if is_byte_level else ["BPE", "BPE", "WordPiece", "Unigram", "WordLevel"]
    return _MODELS[draw.choice(kinds)](draw, words, is_byte_level)


def _alphabet(draw: random.Random, words: list[str]) -> list[str]:
    chars = sorted({char for word in words for char in word})
    kept = draw.choice([1.0, 1.0, 0.9, 0.6])
    return [char for char in chars if draw.random() < kept]


def _bpe(draw: random.Random, words: list[str], is_byte_level: bool) -> Json:
    affix = "" if is_byte_level else draw.choice(["", "", "", "suffix", "prefix"])
    prefix = "##" if affix == "prefix" else ""
    suffix = "</w>" if affix == "suffix" else ""
    # With a suffix theirs counts its bytes, too: places lie behind the word, or anywhere.
    falls_back = not is_byte_level and not suffix and draw.random() < 0.4
    unknown = draw.choice([None, "<unk>"])
    vocab: dict[str, int] = {}

    def add(token: str) -> None:
        vocab.setdefault(token, len(vocab))

    if unknown:
        add(unknown)
    if falls_back:
        for byte in BYTES:
            add(byte)
    alphabet = _alphabet(draw, words)
    if is_byte_level:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    for char in alphabet:
        add(char)
        if prefix:
            add(prefix + char)
        if suffix:
            add(char + suffix)
    merges: list[list[str]] = []
    for _ in range(draw.choice([5, 60, 200])):
        word = draw.choice(words)
        symbols = [
            (prefix if at else "") + char + (suffix if at == len(word) - 1 else "")
            for at, char in enumerate(word)
        ]
        for left, right in merges:
            symbols = _merged(symbols, left, right, prefix)
        if len(symbols) < 2:
            continue
        at = draw.randrange(len(symbols) - 1)
        left, right = symbols[at : at + 2]
        if left in vocab and right in vocab and [left, right] not in merges:
            add(left + right.removeprefix(prefix))
            merges.append([left, right])
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "fuse_unk": draw.random() < 0.5,
        "byte_fallback": falls_back,
        "ignore_merges": draw.random() < 0.3,
        "vocab": vocab,
        "merges": merges,
    }


def _merged(symbols: list[str], left: str, right: str, prefix: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(symbols):
        if symbols[at : at + 2] == [left, right]:
            found.append(left + right.removeprefix(prefix))
            at += 2
        else:
            found.append(symbols[at])
            at += 1
    return found


def _wordpiece(draw: random.Random, words: list[str], _: bool) -> Json:
    vocab = {"[UNK]": 0}
    for char in _alphabet(draw, words):
        vocab.setdefault(char, len(vocab))
        vocab.setdefault("##" + char, len(vocab))
    for _ in range(draw.choice([10, 100])):
        for at, part in enumerate(parts_of(draw.choice(words), draw)):
            vocab.setdefault(("##" if at else "") + part, len(vocab))
    return {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": draw.choice([100, 100, 6]),
        "vocab": vocab,
    }


def _unigram(draw: random.Random, words: list[str], _: bool) -> Json:
    falls_back = draw.random() < 0.3
    scores: dict[str, float] = {"<unk>": 0.0}
    if falls_back:
        scores |= dict.fromkeys(BYTES, -9.0)
    for char in _alphabet(draw, words):
        scores.setdefault(char, -draw.choice([7.0, 8.0, draw.uniform(5, 12)]))
    for _ in range(draw.choice([10, 150])):
        for part in parts_of(draw.choice(words), draw):
            scores.setdefault(part, -draw.choice([3.0, 4.0, 5.0, draw.uniform(2, 9)]))
    return {
        "type": "Unigram",
        "unk_id": draw.choice([0, 0, 0, None]),
        "byte_fallback": falls_back,
        "vocab": [list(item) for item in scores.items()],
    }


def _word_level(draw: random.Random, words: list[str], _: bool) -> Json:
    vocab = {"<unk>": 0}
    for word in words:
        if draw.random() < 0.7:
            vocab.setdefault(word, len(vocab))
    return {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}


_MODELS = {"BPE": _bpe, "WordPiece": _wordpiece, "Unigram": _unigram, "WordLevel": _word_level}


# -- what stands around ---------------------------------------------------------------------


#: How bytes are spelled. An added token of these alone is decoded as bytes there, whatever it is
#: spelled as itself; see `test_found.py`.
STAND_INS = {char for char in pre_tokenizers.ByteLevel.alphabet() if not char.isascii()}


def added_tokens(draw: random.Random, vocab: dict[str, int], is_byte_level: bool) -> list[Json]:
    """Tokens with all their flags, new ones and such as the model has already."""
    size = len(vocab)
    listed = []
    contents = draw.sample(SPECIALS, draw.choice([0, 2, 5, 9]))
    contents += draw.sample(sorted(vocab), min(len(vocab), draw.choice([0, 0, 1, 3])))
    if is_byte_level:
        contents = [content for content in contents if not STAND_INS & {*normalize("NFC", content)}]
    for content in dict.fromkeys(contents):
        if content in vocab:
            id_ = vocab[content]
        else:
            id_, size = size, size + 1
        flags = {
            name: draw.random() < often
            for name, often in (
                ("single_word", 0.2), ("lstrip", 0.25), ("rstrip", 0.25), ("normalized", 0.5),
                ("special", 0.5),
            )
        }  # fmt: skip
        listed.append({"id": id_, "content": content, **flags})
    return listed


def post_processor(draw: random.Random, ids: dict[str, int]) -> Json | None:
    kind = draw.choice(["", "", "Bert", "Roberta", "ByteLevel", "Template", "Template", "both"])
    names = [name for name in ids if not any(map(str.isspace, name)) and name]
    if kind == "ByteLevel":
        return byte_level(draw)
    if not kind or not names:
        return None
    first, last = draw.choice(names), draw.choice(names)
    ends = {"sep": [last, ids[last]], "cls": [first, ids[first]]}
    if kind == "Bert":
        return {"type": "BertProcessing", **ends}
    if kind == "Roberta":
        flags = {name: draw.random() < 0.5 for name in ("trim_offsets", "add_prefix_space")}
        return {"type": "RobertaProcessing", **ends, **flags}

    def one(sequences: str) -> list[Json]:
        listed: list[Json] = []
        for place, name in enumerate(sequences):
            if draw.random() < 0.5:
                listed.append({"SpecialToken": {"id": first, "type_id": draw.randrange(2)}})
            listed.append({"Sequence": {"id": name, "type_id": place * draw.randrange(2)}})
            if draw.random() < 0.5:
                listed.append({"SpecialToken": {"id": last, "type_id": draw.randrange(2)}})
        return listed

    template = {
        "type": "TemplateProcessing",
        "single": one("A"),
        "pair": one(draw.choice(["AB", "AB", "BA"])),
        "special_tokens": {
            name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in {first, last}
        },
    }
    if kind == "both":
        return {"type": "Sequence", "processors": [byte_level(draw), template]}
    return template


def document(seed: int) -> tuple[Json, list[str]]:
    """The document of a seed, and the texts of its added tokens."""
    draw = random.Random(seed)
    many = draw.choice([0, 0, 1, 1, 2, 3])
    normalizers = [normalizer(draw) for _ in range(many)]
    splitting = [pre_tokenizer(draw) for _ in range(draw.choice([0, 1, 1, 1, 2]))]
    is_byte_level = draw.random() < 0.3
    if is_byte_level:
        if draw.random() < 0.12 and not splitting:
            normalizers.append({"type": "ByteLevel"})
        else:
            splitting.append(byte_level(draw))
    made: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": sequence(normalizers, "normalizers"),
        "pre_tokenizer": sequence(splitting, "pretokenizers"),
        "post_processor": None,
        "decoder": None,
    }
    inner = model(draw, words_of(made, draw), is_byte_level)
    vocab = inner["vocab"]
    if inner["type"] == "Unigram":
        vocab = {token: id_ for id_, (token, _) in enumerate(vocab)}
    added = added_tokens(draw, vocab, is_byte_level)
    specials = {token["content"]: token["id"] for token in added if token["special"]}
    decoders = [decoder(draw) for _ in range(draw.choice([0, 1, 1, 2]))]
    if is_byte_level and draw.random() < 0.8:
        decoders = [byte_level(draw)]
    made["decoder"] = sequence(decoders, "decoders")
    made["added_tokens"] = added
    made["post_processor"] = post_processor(draw, specials)
    made["model"] = inner
    return made, [token["content"] for token in added]
