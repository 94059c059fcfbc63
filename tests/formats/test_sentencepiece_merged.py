"""BPE models whose pieces are made of characters that are no pieces, as in vocabularies that were
merged: the ids of SentencePiece."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.errors import raises_code
from tests.formats.test_byte_runs import BYTE, CONTROL, NORMAL, UNKNOWN
from tokctl import Tokenizer, formats
from tokctl.formats import UnsupportedByFormat, sentencepiece
from tokctl.model.byte_level import BYTE_TOKENS

spm = pytest.importorskip("sentencepiece")

CHARACTERS = "abxyz▁é山椂𝒳\u0327"
UNUSED, USER_DEFINED = 5, 4


def made(
    pieces: list[tuple[str, int]], *, kind: int = 2, falls_back: bool, **options: Any
) -> bytes:
    proto = sentencepiece.new_message()
    proto.pieces.add(piece=b"<unk>", score=0, type=UNKNOWN)
    proto.pieces.add(piece=b"<s>", score=0, type=CONTROL)
    for token in BYTE_TOKENS if falls_back else ():
        proto.pieces.add(piece=token, score=0, type=BYTE)
    for number, (text, type_) in enumerate(pieces):
        proto.pieces.add(piece=text.encode(), score=-float(number), type=type_)
    proto.trainer_spec.model_type = kind
    proto.trainer_spec.byte_fallback = falls_back
    for name, value in options.items():
        setattr(proto.normalizer_spec, name, value)
    return sentencepiece.serialize(proto)


def generated(draw: random.Random) -> bytes:
    known = [one for one in CHARACTERS if draw.random() < 0.5]
    texts = known + ["".join(draw.choices(CHARACTERS, k=draw.randrange(1, 4))) for _ in range(15)]
    texts += [draw.choice(texts) + draw.choice(texts) for _ in range(25)]
    texts = list(dict.fromkeys(texts))
    draw.shuffle(texts)
    return made(
        [(text, NORMAL) for text in texts],
        falls_back=draw.random() < 0.6,
        add_dummy_prefix=draw.random() < 0.6,
        remove_extra_whitespaces=draw.random() < 0.6,
    )


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(40))
def test_generated_models(seed: int) -> None:
    draw = random.Random(seed)
    data = generated(draw)
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    again = Tokenizer(formats.parse(formats.serialize(ours.model), "m.json"))
    lengths = [*(draw.randrange(12) for _ in range(80)), *(draw.randrange(300) for _ in range(8))]
    for length in lengths:
        text = "".join(draw.choices(CHARACTERS + " q\0", k=length))
        ids = theirs.encode(text)
        assert ours.encode_ids(text) == ids, text
        assert again.encode_ids(text) == ids, text
        offsets = ours.encode(text).offsets
        assert len(offsets) == len(ids)
        assert list(ours.encode_batch([text, text])[1].ids) == ids
    long = "".join(draw.choices(CHARACTERS + " q", k=30_000))
    assert ours.encode_ids(long) == theirs.encode(long)


def test_one_model() -> None:
    pieces = ["a", "▁", "▁a", "▁\u0327", "b", "山椂"]
    data = made([(text, NORMAL) for text in pieces], falls_back=True)
    ours = Tokenizer(formats.parse(data, "m"))
    assert ours.encode("a \u0327b").tokens == ["▁a", "▁\u0327", "b"]
    assert ours.encode("山椂").tokens == ["▁", "山椂"]
    assert ours.encode("椂").tokens == ["▁", *(f"<0x{byte:02X}>" for byte in "椂".encode())]
    # Such a piece is written again, and merges can't make it.
    assert formats.write(ours.model, "sentencepiece")[""]
    with pytest.raises(UnsupportedByFormat, match="which has no token"):
        formats.losses(ours.model, "huggingface")


def test_the_same_in_gguf() -> None:
    """llama.cpp merges as SentencePiece does."""
    pytest.importorskip("gguf")
    data = made([(text, NORMAL) for text in ("▁", "ab", "abc", "c")], falls_back=True)
    ours = Tokenizer(formats.parse(data, "m"))
    there = Tokenizer(formats.parse(formats.write(ours.model, "gguf")[""], "m.gguf"))
    for text in ("ab", "abc", "cab", "aabbc"):
        assert there.encode(text).tokens == ours.encode(text).tokens


@pytest.mark.parametrize("kind", [1, 2, 4])
@pytest.mark.parametrize("type_", [NORMAL, CONTROL, USER_DEFINED, UNUSED])
def test_a_piece_of_one_nul(kind: int, type_: int) -> None:
    pieces = [(text, NORMAL) for text in ("▁", "▁a", "a", "b", "ab")]
    data = made([*pieces, ("\0", type_)], kind=kind, falls_back=True)
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    assert ours.vocab_size == theirs.vocab_size()
    last = ours.vocab_size - 1
    for text in ("a\0b", "\0", "ab \0\0 a"):
        assert ours.encode_ids(text) == theirs.encode(text)
    assert ours.decode([last, last - 1]) == theirs.decode([last, last - 1])
    again = formats.write(ours.model, "sentencepiece")[""]
    assert formats.parse(again, "m").tokens == ours.model.tokens
    assert not any("NUL" in loss.what for loss in formats.losses(ours.model, "sentencepiece"))


@pytest.mark.parametrize(("text", "falls_back"), [("\0", False), ("\0a", True), ("a\0", True)])
def test_other_nuls_are_refused_there_too(text: str, falls_back: bool) -> None:
    data = made([("▁", NORMAL), (text, NORMAL)], falls_back=falls_back)
    with pytest.raises(RuntimeError):
        spm.SentencePieceProcessor(model_proto=data)
    with raises_code("damaged-model"):
        formats.parse(data, "m.model")
