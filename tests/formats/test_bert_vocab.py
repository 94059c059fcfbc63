"""BERT's vocab.txt, against Hugging Face's reader of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import implementations

from tests.errors import raises_code
from tests.exact.strings import strings
from tests.formats.damage import damaged
from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import UnsupportedByFormat
from tokctl.sources.corpora import corpus_path

LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "##c", "ab", "##bc"]


def trained(name: str) -> Tokenizer:
    return Tokenizer.train([corpus_path("sample")], recipe=RECIPES[name], vocab_size=600)


def assert_same(ours: Tokenizer, path: Path, **options: Any) -> None:
    theirs = implementations.BertWordPieceTokenizer.from_file(str(path), **options)
    for text in strings(200):
        found = theirs.encode(text)
        assert ours.encode(text, special="all", add_special=True).ids == found.ids, text
        assert ours.decode(found.ids) == theirs.decode(found.ids, skip_special_tokens=False), text
        pair = theirs.encode(text, "a b")
        assert ours.encode(text, "a b", special="all", add_special=True).ids == pair.ids


def vocab(tmp_path: Path, lines: list[str], end: str = "\n") -> Path:
    path = tmp_path / "vocab.txt"
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


@pytest.mark.parametrize(("name", "lowercase"), [("bert", True), ("bert-cased", False)])
def test_written_and_read(tmp_path: Path, name: str, lowercase: bool) -> None:
    made = trained(name)
    assert [loss for loss in formats.losses(made.model, "bert-vocab") if not loss.minor] == []
    path = tmp_path / "vocab.txt"
    made.save(path, "bert-vocab")
    ours = Tokenizer.load(path)
    assert ours.format == "bert-vocab" and ours.model.tokens == made.model.tokens
    assert_same(ours, path, lowercase=lowercase)
    assert_same(made, path, lowercase=lowercase)


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"do_lower_case": False}, {"lowercase": False}),
        ({"do_lower_case": True, "strip_accents": False}, {"strip_accents": False}),
        ({"tokenize_chinese_chars": False}, {"handle_chinese_chars": False}),
    ],
)
def test_what_stands_beside_it(
    tmp_path: Path, config: dict[str, bool], options: dict[str, bool]
) -> None:
    path = tmp_path / "vocab.txt"
    trained("bert").save(path, "bert-vocab")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert_same(Tokenizer.load(path), path, **options)


def test_lines(tmp_path: Path) -> None:
    """Line feeds alone end a line, and white space at its end is none of the token."""
    odd = ["x\u2028y", "x\ry", "x\x85y", "a\u3000", "z\x1c", "", "b", "\u3000"]
    for end in ("\n", "\r\n"):
        path = vocab(tmp_path, LINES + odd, end)
        ours = Tokenizer.load(path)
        assert_same(ours, path)
        tokens = ours.model.tokens
        assert tokens[11:14] == ["x\u2028y".encode(), b"x\ry", "x\x85y".encode()]
        # Of equal lines the last counts; the others, are holes.
        assert [ours.model.tokens.index(text) for text in (b"a", b"b")] == [14, 17]
        holes = {id_ for text, id_ in ours.special_ids.items() if "unused" in text}
        assert holes == {5, 6, 16}
        assert tokens[18] == b"" and tokens[15] == b"z\x1c"


def test_without_cls(tmp_path: Path) -> None:
    path = vocab(tmp_path, ["[UNK]", "[PAD]", "a", "##a"])
    ours = Tokenizer.load(path)
    assert ours.encode("aaa", add_special=True).ids == [2, 3, 3]


def test_what_is_none(tmp_path: Path) -> None:
    for lines in (["[UNK]", "[CLS]", "a"], ["[CLS]", "##a"], ["[UNK] x", "[CLS]", "##a"], []):
        with pytest.raises(TokctlError, match="is not a model file"):
            Tokenizer.load(vocab(tmp_path, lines))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gpt2", "WordPiece by the longest match"),
        ("notebook-wordpiece", "WordPiece by the longest match"),
        ("wordpiece", "one of"),
    ],
)
def test_what_has_no_such_file(name: str, why: str) -> None:
    with pytest.raises(UnsupportedByFormat, match=why):
        formats.losses(filled(RECIPES[name]), "bert-vocab")


@pytest.mark.parametrize("text", ["a\nb", "x ", "\u3000", "x\x85", "x\r"])
def test_tokens_that_no_line_holds(text: str) -> None:
    model = filled(RECIPES["bert"])
    model = replace(model, tokens=[*model.tokens, text.encode()], merges=[], training=None)
    with pytest.raises(UnsupportedByFormat, match="a line can't hold the token"):
        formats.write(model, "bert-vocab")


def test_what_is_lost() -> None:
    recipe = replace(RECIPES["bert"], post_processors=(), max_input_chars=7)
    model = replace(filled(recipe), training=None)
    assert [loss.what.split(" (")[0] for loss in formats.losses(model, "bert-vocab")] == [
        "the post-processors none",
        "the longest word in characters: 7",
    ]
    cased = replace(filled(RECIPES["bert-cased"]), training=None)  # no capital letters in it
    (loss,) = formats.losses(cased, "bert-vocab")
    assert loss.what.startswith('the normalizers {"kind": "bert"')


def test_too_many_lines(tmp_path: Path) -> None:
    path = vocab(tmp_path, LINES + [""] * (1 << 20))
    with raises_code("damaged-model", "more than 1048576 lines"):
        Tokenizer.load(path)
    path.write_bytes(path.read_bytes().replace(b"ab\n", b"ab" * (1 << 24) + b"\n"))
    with raises_code("not-a-model"):
        Tokenizer.load(path)


FILE = formats.write(filled(RECIPES["bert"]), "bert-vocab")[""]


@given(st.data())
def test_damaged_files(data: st.DataObject) -> None:
    try:
        model = formats.parse(data.draw(damaged(FILE)), "the file")
    except TokctlError as error:
        assert "the file" in error.message
    else:
        assert formats.parse(formats.serialize(model), "y") == model
