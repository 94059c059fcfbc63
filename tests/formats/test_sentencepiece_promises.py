"""What SentencePiece does otherwise, in corners: it is done so here, told as a loss, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tokctl import Tokenizer, formats
from tokctl.formats import sentencepiece
from tokctl.formats.sentencepiece import (
    BYTE,
    MARK,
    NORMAL,
    UNKNOWN,
    WORDS,
    SpaceOptions,
    decoders,
    normalizers,
)
from tokctl.model import Merge, Model, Recipe
from tokctl.model.parts import DECODERS, NORMALIZERS, AddedToken

spm = pytest.importorskip("sentencepiece")

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
BPE, WORD = 2, 3
PLAIN = SpaceOptions("before", False, True)


def file(kind: int, pieces: dict[str, int], **trained: Any) -> bytes:
    """A model of these pieces and their types; the scores are 0, -1, -2, …"""
    proto = sentencepiece.new_message()
    for at, (text, type_) in enumerate(pieces.items()):
        proto.pieces.add(piece=text.encode(), score=-at, type=type_)
    proto.trainer_spec.model_type = kind
    for name, value in trained.items():
        setattr(proto.trainer_spec, name, value)
    return sentencepiece.serialize(proto)


def model(tokens: list[str], algorithm: str, segmentation: str, **options: Any) -> Model:
    """A model as SentencePiece would have it, but for the options; 0 is unknown."""
    more = {name: options.pop(name) for name in ("scores", "merges") if name in options}
    fallback = options.get("byte_fallback", False)
    recipe = Recipe(
        **{
            "name": "m",
            "algorithm": algorithm,
            "normalizers": normalizers(PLAIN, rules=False),
            "segmentation": segmentation,
            "unk_token": tokens[0],
            "fuse_unknown": True,
            "precision": "single",
            "decoders": decoders(PLAIN, tokens, tokens[0], byte_fallback=fallback),
            "special_tokens": (tokens[0],),
            **options,
        }
    )
    return Model(
        recipe, [t.encode() for t in tokens], added_tokens=(AddedToken(tokens[0], 0),), **more
    )


def lost(one: Model, name: str = "sentencepiece") -> list[str]:
    return [loss.what for loss in formats.losses(one, name) if not loss.minor]


def both(one: Model) -> tuple[Tokenizer, Any]:
    """The model read back, and as SentencePiece reads it."""
    data = formats.write(one, "sentencepiece")[""]
    return Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)


# -- reading --------------------------------------------------------------------------


def test_a_piece_of_a_character_without_one() -> None:
    pieces = {"<unk>": UNKNOWN, MARK: NORMAL, "b": NORMAL, "bc": NORMAL}
    data = file(BPE, pieces)
    theirs = spm.SentencePieceProcessor(model_proto=data)
    assert theirs.encode("bc") == [1, 3]
    assert Tokenizer(formats.parse(data, "m.model")).encode_ids("bc") == [1, 3]
    data = file(BPE, {**pieces, "c": NORMAL, "xyz": NORMAL})
    theirs, ours = spm.SentencePieceProcessor(model_proto=data), formats.parse(data, "m.model")
    for text in ("bc", "xyz", "bxyzc"):
        assert Tokenizer(ours).encode_ids(text) == theirs.encode(text)


def test_the_mark_of_an_unknown_word_stays_among_its_bytes() -> None:
    pieces = {"<unk>": UNKNOWN, **dict.fromkeys(BYTES, BYTE), MARK: NORMAL, "▁a": NORMAL}
    data = file(WORD, pieces, byte_fallback=True)
    theirs, ours = spm.SentencePieceProcessor(model_proto=data), Tokenizer(formats.parse(data, "m"))
    for text in ("b", "a b", "a b a", "a"):
        ids = theirs.encode(text)
        assert ours.encode_ids(text) == ids
        assert ours.decode(ids) == theirs.decode(ids), text


# -- losses ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sentencepiece", "sentencepiece-vocab"])
def test_a_mark_in_what_stands_for_unknown_pieces(name: str) -> None:
    one = model(["▁u", MARK, "a"], "char", "symbols")
    told = "that '▁u' stands for an unknown piece, its ▁ as a space"
    assert told not in lost(one, name)
    tokens = [token.decode() for token in one.tokens]
    marked = decoders(PLAIN, tokens, "▁u", "▁u", byte_fallback=False)
    one = model(tokens, "char", "symbols", decoders=marked)
    assert told in lost(one, name)
    ours, theirs = both(one)
    ids = theirs.encode("a?")
    assert ours.decode(ids) == theirs.decode(ids) == Tokenizer(one).decode(ids) == "a u"


def test_what_rules_leave_alone_is_found_first() -> None:
    tokens, scores = ["<unk>", "a", MARK, "▁a"], [0.0, -2.0, -2.0, -9.0]
    rules = NORMALIZERS.part("nmt_nfkc", keep=["▁a"])
    one = model(
        tokens,
        "unigram",
        "viterbi",
        scores=scores,
        normalizers=(rules, *normalizers(PLAIN, rules=True)),
    )
    assert "that its rules leave alone '▁a'" in lost(one)
    ours, theirs = both(one)
    assert Tokenizer(one).encode_ids("a") == ours.encode_ids("a") == theirs.encode("a") == [2, 1]


def test_words_of_unknown_characters_are_joined_there() -> None:
    space = NORMALIZERS.steps("replace: =>▁")
    options = {"normalizers": space, "decoders": ("replace:<unk>=>?", "fuse", "replace:▁=> ")}
    split = model(["<unk>", "a"], "char", "symbols", pre_tokenizers=("metaspace:never",), **options)
    assert lost(split) == ["that words are split: ▁ has no token, and is one with its neighbours"]
    assert (Tokenizer(split).encode_ids("  "), both(split)[1].encode("  ")) == ([0, 0], [0])
    assert lost(model(["<unk>", "a"], "char", "symbols", **options)) == []


def test_a_word_that_reads_as_the_token_of_a_byte() -> None:
    tokens = ["<unk>", "▁a", *BYTES]
    spaces = normalizers(SpaceOptions("", False, True), rules=False)
    decoding = decoders(
        SpaceOptions("", False, True), tokens, "<unk>", byte_fallback=True, words=True
    )
    options = {
        "byte_fallback": True,
        "pre_tokenizers": WORDS,
        "normalizers": spaces,
        "decoders": decoding,
    }
    double = model(tokens, "word", "lookup", precision="double", **options)
    assert lost(double) == ["that the text <0x41> becomes the token of that byte"]
    single = model(tokens, "word", "lookup", **options)
    assert lost(single) == []
    ids = Tokenizer(single).encode_ids("<0x41>")
    assert (
        Tokenizer(double).encode_ids("<0x41>")
        == [2 + 0x41]
        != ids
        == both(single)[1].encode("<0x41>")
    )


@pytest.mark.parametrize(
    ("spaces", "steps"),
    [
        # A mark among the bytes becomes a space.
        (SpaceOptions("", False, True), ("byte-fallback", "replace:▁=> ")),
        # No token is left that is a byte, or the first.
        (SpaceOptions("", False, True), ("replace:▁=> ", "fuse", "byte-fallback")),
        (PLAIN, ("byte-fallback", "fuse", "metaspace:always")),
    ],
)
def test_decoders_in_another_order(spaces: SpaceOptions, steps: tuple[str, ...]) -> None:
    tokens = ["<unk>", "a", *BYTES, *([MARK] if spaces.dummy else [])]
    one = model(
        tokens,
        "char",
        "symbols",
        byte_fallback=True,
        normalizers=normalizers(spaces, rules=False),
        decoders=DECODERS.steps(steps),
    )
    assert any("the decoders " in what for what in lost(one))
    ids = Tokenizer(one).encode_ids("a a é")
    assert Tokenizer(one).decode(ids) != both(one)[1].decode(ids)


def test_tokens_that_nothing_makes_are_noted() -> None:
    tokens = ["<unk>", MARK, "a", "b", "ab", "ba"]
    one = model(tokens, "bpe", "merges", merges=[Merge(2, 3, 4, 0, 0, 0)])
    notes = [loss for loss in formats.losses(one, "sentencepiece") if "control" in loss.what]
    assert [(loss.what, loss.minor) for loss in notes] == [
        ("tokens that no text is split into, except as control pieces ('ba')", True)
    ]
    ours, theirs = both(one)
    for text in ("ab", "ba", "abab", "baba"):
        assert Tokenizer(one).encode_ids(text) == ours.encode_ids(text) == theirs.encode(text)


def test_tokens_that_scores_would_make_there() -> None:
    """Of a character without a token: here nothing makes them, and there they are controls."""
    one = model(["<unk>", MARK, "b", "bc"], "bpe", "ranks", scores=[0.0, -1.0, -2.0, -3.0])
    assert lost(one) == []
    ours, theirs = both(one)
    assert Tokenizer(one).encode_ids("bc") == ours.encode_ids("bc") == theirs.encode("bc")
