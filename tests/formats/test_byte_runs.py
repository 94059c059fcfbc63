"""Runs of byte tokens whose bytes are no UTF-8: each format decodes them as its library does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer, formats
from tokctl.formats import sentencepiece
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import DECODERS, INVALID_BYTES

BYTE, NORMAL, UNKNOWN, CONTROL = 6, 1, 2, 3
PIECES = ["▁", "▁a", "a", "b", "▁b", "é", "x", "x▁"]
#: Bytes of one to four that begin characters, go on with them, or are never there.
ODD = [
    0x0D,
    0x41,
    0x80,
    0x96,
    0x81,
    0xA9,
    0xC3,
    0xE2,
    0xED,
    0xA0,
    0xEF,
    0xBF,
    0xBD,
    0xF0,
    0x9F,
    0xFF,
]
FIRST = 3  # of the bytes


def model(kind: int = 2, pieces: list[str] = PIECES, **options: Any) -> bytes:
    """A `.model` with all byte pieces and these."""
    proto = sentencepiece.new_message()
    for text, type_ in (("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)):
        proto.pieces.add(piece=text.encode(), score=0, type=type_)
    for token in BYTE_TOKENS:
        proto.pieces.add(piece=token, score=0, type=BYTE)
    for number, text in enumerate(pieces):
        proto.pieces.add(piece=text.encode(), score=-number - 1.0, type=NORMAL)
    proto.trainer_spec.model_type = kind
    proto.trainer_spec.byte_fallback = True
    for name, value in options.items():
        setattr(proto.normalizer_spec, name, value)
    return sentencepiece.serialize(proto)


def id_lists(size: int, count: int, seed: int) -> Iterator[list[int]]:
    """Random ids, most of them bytes."""
    draw = random.Random(seed)
    for _ in range(count):
        length = draw.randrange(12)
        yield [
            draw.randrange(size) if draw.random() < 0.3 else FIRST + draw.choice(ODD)
            for _ in range(length)
        ]


def every_way(tokenizer: Tokenizer, ids: list[int]) -> set[str]:
    """The text of ids, decoded at once, among others, and one by one."""
    stream = tokenizer.decode_stream()
    pieces = [stream.push(id_) for id_ in ids]
    return {
        tokenizer.decode(ids),
        tokenizer.decode_batch([[], ids])[1],
        "".join(pieces) + stream.finish(),
    }


@pytest.mark.parametrize("kind", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"add_dummy_prefix": False}])
def test_sentencepiece(kind: int, options: dict[str, Any]) -> None:
    spm = pytest.importorskip("sentencepiece")
    data = model(kind, **options)
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    mark = [FIRST + byte for byte in "▁".encode()]
    for ids in id_lists(ours.vocab_size, 1500, seed=kind):
        if any(ids[at : at + 3] == mark for at in range(len(ids))):
            continue  # a space here, where the mark is a piece
        if ids and ours.tokens[ids[0]] in ("x▁", "▁"):
            continue
        kept = [id_ for id_ in ids if id_ not in (1, 2)]
        assert every_way(ours, kept) == {theirs.decode(kept)}, kept
        if 0 not in ids:
            assert ours.decode(ids, skip_special=True) == theirs.decode(ids), ids


CASES = [
    ([0xC3, 0xA9, 0xB8], "é\ufffd"),
    ([0xE2, 0x0A], "\ufffd\n"),
    ([0xE2, 0x82, 0x41], "\ufffd\ufffdA"),
]


@pytest.mark.parametrize(("bytes_", "text"), CASES)
def test_cases(bytes_: list[int], text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(model())
    ids = [FIRST + byte for byte in bytes_]
    assert every_way(Tokenizer.load(path), ids) == {text}
    result = tokctl("decode", "-m", path, stdin=" ".join(map(str, ids)).encode() + b"\n")
    assert result.out.decode() == text + "\n"


def test_a_control_piece_ends_a_run() -> None:
    spm = pytest.importorskip("sentencepiece")
    theirs = spm.SentencePieceProcessor(model_proto=model())
    ours = Tokenizer(formats.parse(model(), "m"))
    ids = [FIRST + 0xC3, 2, FIRST + 0xA9]
    assert ours.decode(ids, skip_special=True) == theirs.decode(ids) == "\ufffd\ufffd"


def test_a_piece_with_a_mark_inside() -> None:
    """Of the first piece only the mark at the start goes."""
    spm = pytest.importorskip("sentencepiece")
    data = model(pieces=["a", "b", "▁a▁b", "▁▁a", "b▁"], remove_extra_whitespaces=False)
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    for ids in id_lists(ours.vocab_size, 1500, seed=4):
        kept = [id_ for id_ in ids if id_ not in (1, 2)]
        assert every_way(ours, kept) == {theirs.decode(kept)}, kept


def test_tokenizers() -> None:
    """There one invalid byte makes all of the run U+FFFD."""
    hf = pytest.importorskip("tokenizers")
    found = formats.parse(model(), "m")
    losses = formats.losses(found, "huggingface")
    assert [loss.minor for loss in losses if "not UTF-8" in loss.what] == [True]
    data = formats.write(found, "huggingface")[""]
    ours, theirs = Tokenizer(formats.parse(data, "t")), hf.Tokenizer.from_str(data.decode())
    assert any(part == DECODERS.part("byte-fallback") for part in ours.recipe.decoders)
    for ids in id_lists(ours.vocab_size, 1500, seed=5):
        assert every_way(ours, ids) == {theirs.decode(ids, skip_special_tokens=False)}, ids


def test_llama_cpp(tmp_path: Path) -> None:
    """There a byte token is its byte, whatever is around it."""
    pytest.importorskip("gguf")
    found = formats.parse(model(), "m")
    path = tmp_path / "m.gguf"
    path.write_bytes(formats.write(found, "gguf")[""])
    ours = Tokenizer.load(path)
    assert any(
        part == DECODERS.part("byte-fallback", invalid="keep") for part in ours.recipe.decoders
    )
    for ids in id_lists(ours.vocab_size, 300, seed=6):
        bytes_ = [id_ - FIRST for id_ in ids if FIRST <= id_ < FIRST + 256]
        only = [FIRST + byte for byte in bytes_]
        assert ours.decode_bytes(only) == bytes(bytes_).removeprefix(b" ")


@pytest.mark.parametrize("invalid", INVALID_BYTES)
def test_the_rule_is_kept_in_tokctls_file(invalid: str) -> None:
    found = formats.parse(model(), "m")
    decoders = [
        DECODERS.part("byte-fallback", invalid=invalid) if part.kind == "byte-fallback" else part
        for part in found.recipe.decoders
    ]
    changed = replace(found, recipe=replace(found.recipe, decoders=tuple(decoders)))
    again = formats.parse(formats.serialize(changed), "m.json")
    assert again.recipe.decoders == changed.recipe.decoders
