"""One small document for each class of fault `python -m tests.tools.random_pipelines` found."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenizers

from tests.tools.random_pipelines.compare import both, faulty, loaded
from tests.tools.random_pipelines.documents import Json
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats.contract import lengths_lost


def word_level(*words: str) -> Json:
    return {
        "type": "WordLevel",
        "unk_token": "[UNK]",
        "vocab": {word: id_ for id_, word in enumerate(["[UNK]", *words])},
    }


def bpe(**fields: Any) -> Json:
    vocab = ["<unk>", *"abcdehlortw", "he", "th", "the"]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {token: id_ for id_, token in enumerate(vocab)},
        "merges": [["h", "e"], ["t", "h"], ["t", "he"]],
        **fields,
    }


def unigram(*pieces: tuple[str, float], **fields: Any) -> Json:
    vocab = [["<unk>", 0.0], *map(list, pieces)]
    return {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": vocab, **fields}


def wordpiece(*pieces: str) -> Json:
    vocab = {piece: id_ for id_, piece in enumerate(["[UNK]", *pieces])}
    prefix = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return {"type": "WordPiece", "unk_token": "[UNK]", **prefix, "vocab": vocab}


def added(content: str, id_: int, *flags: str) -> Json:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id_, "content": content, **{name: name in flags for name in names}}


def document(model: Json, *tokens: Json, **parts: Any) -> Json:
    frame = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer"))
    frame |= dict.fromkeys(("post_processor", "decoder"))
    return {"version": "1.0", **frame, "added_tokens": [*tokens], "model": model, **parts}


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPLIT = {"type": "WhitespaceSplit"}
TRIMMED = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FIRST = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
LETTERS = [(letter, -float(at)) for at, letter in enumerate("▁abcdehlortw", 1)]

FOUND: dict[str, tuple[Json, list[str]]] = {
    # A special token of the model's own vocabulary is made of text that it is not found in.
    "a word that is special, single": (
        document(word_level("the", "low"), added("the", 1, "special", "single_word"),
                 pre_tokenizer={"type": "FixedLength", "length": 3}),
        ["thethe", "the low", "lowthe"],
    ),
    "a word that is special, normalized": (
        document(word_level("the", "<s>"), added("<s>", 2, "special"),
                 normalizer={"type": "Lowercase"}, pre_tokenizer=SPLIT),
        ["<S> the <s> <s>the", "<S>"],
    ),
    "a piece of WordPiece that is special": (
        document(wordpiece("low", "##er", "the"), added("##er", 2, "special"), pre_tokenizer=SPLIT),
        ["lower the##er", "low er"],
    ),
    "a token that merges make": (
        document(bpe(), added("the", 14, "special", "single_word")),
        ["there the th", "The"],
    ),
    "a piece of Unigram that is special": (
        document(unigram(*LETTERS, ("the", -0.5)), added("the", 13, "special", "single_word")),
        ["there the th"],
    ),
    # The unknown token, or one of a template, that the file does not list, or not as special.
    "an unknown token that is not listed": (
        document(word_level("the"), pre_tokenizer=SPLIT),
        ["the [UNK] it", "[UNK]the"],
    ),
    "an unknown piece that is not listed": (document(unigram(*LETTERS)), ["a<unk>b", "<unk>"]),
    "an unknown token that is listed as any other": (
        document(bpe(), added("<unk>", 0, "normalized")),
        ["the<unk>low", "xy<unk>"],
    ),
    # Trimmed offsets of tokens that take white space along.
    "trimmed offsets": (
        document(bpe(), added("<mask>", 15, "special", "lstrip"), added("<r>", 16, "rstrip"),
                 post_processor=TRIMMED),
        ["the  <mask> low<r> \n<r>", " <mask>"],
    ),
    # Every byte of an unknown stretch has the place of the whole.
    "bytes of Unigram": (
        document(unigram(*((byte, -9.0) for byte in BYTES), *LETTERS, byte_fallback=True)),
        ["aéüb東", "é", "ab"],
    ),
    # Metaspace asks where a piece stood before the normalizers removed what was before it.
    "first behind a normalizer that removes": (
        document(unigram(*LETTERS, ("▁the", -1.0)), normalizer={"type": "StripAccents"},
                 pre_tokenizer=FIRST),
        ["\u0301the the", "the", "t\u0301he", "\u0301\u0301 the"],
    ),
    # A special token that comes out otherwise is none where special tokens are left out.
    "a special token that is decoded otherwise": (
        document(bpe(), added("The", 15, "special", "normalized"),
                 normalizer={"type": "Replace", "pattern": {"String": "T"}, "content": "t"}),
        ["The the", "low"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    made, texts = FOUND[name]
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None, ours
    special = [token["content"] for token in made["added_tokens"] if token["special"]]
    for text in texts:
        for what, found, expected in both(ours, theirs, text, None, True, special):
            assert found == expected, (text, what)
    # A copy, and what Hugging Face makes of ours, are the same.
    again = Tokenizer(formats.parse(formats.serialize(ours.model), "again"))
    assert again.model == ours.model
    for text in texts:
        assert again.encode(text, special="all") == ours.encode(text, special="all")
    if ours.obstacle is None:
        back = tokenizers.Tokenizer.from_str(formats.serialize(ours.model).decode())
        for text in texts:
            assert back.encode(text).ids == theirs.encode(text).ids


def test_special_tokens_stay_out_of_reach_unless_they_are_allowed() -> None:
    made, _ = FOUND["a word that is special, normalized"]
    ours, _ = loaded(made)
    assert isinstance(ours, Tokenizer)
    assert ours.encode_ids("<s> the") == ours.encode_ids("<S> the") == [0, 1]
    assert ours.encode_ids("<S> the", special="all") == [2, 1]
    ours.cache_memory = 1 << 20
    assert ours.encode_ids(["<S>", "<s>"], special=["<s>"]) == [[2], [2]]


def test_stand_ins_for_bytes_in_added_tokens_are_decoded_as_they_are_spelled() -> None:
    """There the added token é becomes the byte E9, which is no text: listed, not imitated."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = document(
        bpe(vocab={char: id_ for id_, char in enumerate(alphabet)}, merges=[], unk_token=None),
        added("éa", 256, "special"),
        pre_tokenizer=TRIMMED,
        decoder=TRIMMED,
    )
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    assert json.dumps(ours.decode([256])) == r'"\u00e9a"'
    assert theirs.decode([256], skip_special_tokens=False) == "\ufffda"


@pytest.mark.parametrize("direction", ["Right", "Left"])
@pytest.mark.parametrize("strategy", ["LongestFirst", "OnlyFirst"])
@pytest.mark.parametrize("length", ["BatchLongest", {"Fixed": 6}])
def test_stored_truncation_and_padding(direction: str, strategy: str, length: Any) -> None:
    """They are kept in every file, and a call that asks for them does what Hugging Face does."""
    made = document(
        bpe(),
        added("<pad>", 15, "special"),
        truncation={
            "direction": direction, "max_length": 5, "strategy": strategy, "stride": 1
        },
        padding={
            "strategy": length, "direction": direction, "pad_to_multiple_of": 4,
            "pad_id": 15, "pad_type_id": 1, "pad_token": "<pad>",
        },
    )  # fmt: skip
    read, theirs = loaded(made)
    assert isinstance(read, Tokenizer) and theirs is not None
    copied = Tokenizer(formats.parse(formats.serialize(read.model), "again"))
    assert copied.model == read.model
    for ours in (read, copied):
        for text in ("the lot", "low", "the low theat lower", ""):
            b = theirs.encode(text)
            a = ours.encode(
                text, add_special=True, truncation=ours.truncation, padding=ours.padding
            )
            assert (a.ids, a.type_ids, a.offsets) == (b.ids, b.type_ids, b.offsets)
            assert a.attention_mask == b.attention_mask
            assert [one.ids for one in a.overflowing] == [one.ids for one in b.overflowing]
            assert ours.encode_ids(text) == theirs_plain(made).encode(text).ids
    files = formats.write(read.model, "huggingface")
    written = json.loads(files[""])
    assert (written["truncation"], written["padding"]) == (made["truncation"], made["padding"])
    losses = [loss.what for loss in lengths_lost(read.model)]
    assert "the truncation and the padding that came with it" in losses


def theirs_plain(made: Json) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps(made | {"truncation": None, "padding": None}))


@pytest.mark.parametrize("damaged", [{"truncation": 3}, {"padding": {"strategy": "No"}}])
def test_damaged_lengths_are_told(damaged: Json) -> None:
    with pytest.raises(TokctlError):
        formats.parse(json.dumps(document(bpe()) | damaged).encode(), "damaged.json")


def byte_bpe() -> Json:
    """A vocabulary of the characters that bytes are spelled with."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    return bpe(vocab={char: id_ for id_, char in enumerate(alphabet)}, merges=[], unk_token=None)


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}


def test_a_piece_that_was_inserted_is_there_twice() -> None:
    """A piece of nothing but inserted text, behind ByteLevel: spelled, and once more as it was."""
    inserting = {"type": "Replace", "pattern": {"Regex": "^"}, "content": "é"}
    splitting = {**BYTE_LEVEL, "use_regex": True}
    made = document(byte_bpe(), normalizer=inserting, pre_tokenizer=splitting, decoder=splitting)
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    assert theirs.encode(", a").tokens == ["Ã", "©", "é", ",", "Ġ", "a"]
    assert ours.encode(", a").tokens == ["Ã", "©", ",", "Ġ", "a"]
    fault = "what was inserted is there twice after ByteLevel, Strip, NFC or NFKC"
    assert faulty(made, theirs) == fault
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    both = {"type": "Sequence", "normalizers": [inserting, strip]}
    made = document(byte_bpe(), normalizer=both)
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    assert theirs.normalizer.normalize_str(" ") == "éé" and ours.encode(" ").tokens == ["é"]
    assert faulty(made, theirs) == fault
    for form in ("NFC", "NFKC"):
        both = {"type": "Sequence", "normalizers": [inserting, {"type": form}]}
        made = document(word_level("éo\u0301" * 3), normalizer=both)
        ours, theirs = loaded(made)
        assert isinstance(ours, Tokenizer) and theirs is not None
        assert theirs.normalizer.normalize_str("o\u0301" * 3) == "ééóóó"
        assert ours.pre_tokens("o\u0301" * 3)[0].decode() == "éóóó"
        assert faulty(made, theirs) == fault


def test_normalized_added_tokens_are_found_among_spelled_bytes() -> None:
    """Where a normalizer spells bytes, there is no white space for them to take along."""
    spelling = {**BYTE_LEVEL, "use_regex": False}

    def made(*flags: str, decoder: Json | None = spelling) -> Json:
        token = added("<x>", 256, "normalized", *flags)
        return document(byte_bpe(), token, normalizer={"type": "ByteLevel"}, decoder=decoder)

    for flags in ((), ("lstrip",), ("rstrip",), ("lstrip", "rstrip", "special")):
        ours, theirs = loaded(made(*flags))
        assert isinstance(ours, Tokenizer) and theirs is not None
        for text in (" <x> a", "a\n<x>\n", "<x>", "é  <x>é"):
            found, expected = ours.encode(text, special="all"), theirs.encode(text)
            assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
            assert ours.decode(found.ids) == theirs.decode(found.ids, skip_special_tokens=False)
    for refused in (made("single_word"), made(decoder=None)):
        ours, _ = loaded(refused)
        assert isinstance(ours, str) and "ByteLevel" in ours


def test_offsets_are_trimmed_by_what_a_token_is_called() -> None:
    """Added tokens, and Unigram's unknown stretches, are called what they are in the text. Where
    it is normalized, the library goes by the new text, and is off in the old one."""
    made = document(
        unigram(*LETTERS),
        added("the", 20, "normalized"),
        added("<s>", 21, "lstrip", "special"),
        normalizer={"type": "Lowercase"},
        post_processor=TRIMMED,
    )
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    for text in ("a\tb", "a \t", "\u3000", "a THE  <s>b", "the the", "x\u2003"):
        there = theirs.encode(text)
        here = ours.encode(text, special="all")
        assert (here.ids, here.offsets) == (there.ids, there.offsets)
    assert theirs.encode("aĠ").offsets == [(0, 1), (1, 2)]
    assert ours.encode("aĠ").offsets == [(0, 1), (2, 2)]


def test_a_special_token_that_is_a_whole_word_of_the_model() -> None:
    """With ignore_merges the model finds it where, as a single word, it is not looked for."""
    vocab = {**byte_bpe()["vocab"], "<s>": 256}
    made = document(
        byte_bpe() | {"vocab": vocab, "ignore_merges": True},
        added("<s>", 256, "single_word", "special"),
        added("H", 257, "special"),
        pre_tokenizer=BYTE_LEVEL | {"use_regex": False},
        decoder=BYTE_LEVEL,
    )
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    for text in ("H<s>", "a<s>", "<s>", "H<s>H", "<s> H"):
        assert ours.encode_ids(text, special="all") == theirs.encode(text).ids
    assert ours.encode_ids("<s>") == [vocab[char] for char in "<s>"]


def test_an_added_token_that_is_normalized_to_spaces() -> None:
    """Where the model makes it, too, tokctl does not tell the two apart by their id."""
    made = document(
        wordpiece("low") | {"max_input_chars_per_word": 2},
        added("[UNK]", 0, "normalized"),
        normalizer={"type": "Replace", "pattern": {"Regex": r"[\[\]UNK]"}, "content": " "},
        post_processor=TRIMMED,
    )
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    for text, here, there in (("low", [(0, 3)], [(0, 3)]), (" " * 5, [(0, 5)], [(5, 5)])):
        assert ours.encode(text).ids == theirs.encode(text).ids
        assert (ours.encode(text).offsets, theirs.encode(text).offsets) == (here, there)


def test_a_second_decoder_of_bytes_reads_the_text_of_the_first() -> None:
    """What is spelled with stand-ins for bytes alone becomes bytes once more."""
    made = document(
        byte_bpe(),
        pre_tokenizer=BYTE_LEVEL,
        decoder={"type": "Sequence", "decoders": [BYTE_LEVEL, BYTE_LEVEL]},
    )
    ours, theirs = loaded(made)
    assert isinstance(ours, Tokenizer) and theirs is not None
    for text in ("À", "é", "Ã©", "日", "a", "a é", "ÀĠ"):
        ids = theirs.encode(text).ids
        assert ours.encode_ids(text) == ids
        decoded = theirs.decode(ids, skip_special_tokens=False)
        assert ours.decode(ids, errors="replace") == decoded, text
