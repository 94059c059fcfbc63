"""A model against what is read from its file: blocks, readers, differences."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tokctl import Tokenizer, default_recipe, preset
from tokctl.analysis import verification
from tokctl.analysis.verification import PEERS, text_blocks, verify
from tokctl.model.parts import DECODERS, NORMALIZERS
from tokctl.model.patterns import PATTERNS
from tokctl.sources import Document

WORDS = {"low": 5, "lower": 2, " newest": 6, " widest": 3, "東京": 2}
TEXTS = ("low lower newest widest\n東京 low\n\n", "widest", "")


@pytest.fixture
def model() -> Tokenizer:
    return Tokenizer.train(WORDS, vocab_size=272)


def document(data: bytes, step: int) -> Document:
    parts = [data[at : at + step] for at in range(0, len(data), step)]
    return Document("a text", len(data), lambda: iter(parts))


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"bc\n", "東".encode(), b" " * 9])).map(b"".join),
    st.integers(1, 12),
    st.integers(1, 20),
)
def test_blocks_are_the_text_in_whole_lines(data: bytes, step: int, size: int) -> None:
    found = list(text_blocks(document(data, step), size))
    assert "".join(block.text for block in found) == data.decode()
    assert all(block.text.endswith("\n") for block in found[:-1])
    assert all(len(block.text.encode()) <= size or len(block.lines) == 1 for block in found)
    line = 1
    for block in found:
        assert block.line == line
        line += block.text.count("\n")
    lines = [line for block in found for line in block.lines]
    assert lines == (data.decode().removesuffix("\n").split("\n") if data else [])


@pytest.mark.parametrize("step", [1, 2, 100])
def test_what_is_not_utf8_is_named_with_its_line(step: int) -> None:
    with raises_code("not-utf8", r"^a text: line 3 is not UTF-8\n"):
        list(text_blocks(document(b"a\nb\n\xe6\x9d\nc\n", step), 3))


def test_the_same(model: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    model.save(path)
    text = tmp_path / "text.txt"
    text.write_text(TEXTS[0], encoding="utf-8")
    found = verify(model, path, [*TEXTS, text])
    assert found.same and not found.left_out
    ids = sum(len(model.encode_ids(line)) for line in (*TEXTS[0].split("\n") * 2, TEXTS[1]))
    assert (found.lines, found.ids) == (7, ids)
    assert found.readers[0] == "tokctl"
    assert str(found) == f"the same {ids} ids in 7 lines: {', '.join(found.readers)}"
    assert verify(model, Tokenizer.load(path), TEXTS).readers == ("tokctl",)


def test_other_ids_are_found_where_they_are(model: Tokenizer) -> None:
    other = Tokenizer.train({**WORDS, "lower": 1, "low": 9}, vocab_size=270)
    found = verify(model, other, ["no\nno\nof the newest low 東京"])
    (difference,) = found.differences
    assert (difference.reader, difference.what) == ("tokctl", "ids")
    assert difference.line == 3
    line = "of the newest low 東京"
    ours, theirs = model.encode(line), other.encode(line)
    pairs = enumerate(zip(ours.ids, theirs.ids, strict=False))
    at = next(at for at, (one, two) in pairs if one != two)
    assert difference.column == ours.offsets[at][0] + 1
    assert (ours.ids[at], ours.tokens[at]) in difference.before
    assert (theirs.ids[at], theirs.tokens[at]) in difference.found


def test_a_difference_that_only_line_feeds_show(model: Tokenizer) -> None:
    from tokctl.model.parts import NORMALIZERS

    recipe = replace(model.recipe, normalizers=NORMALIZERS.steps("replace:\n=> "))
    other = Tokenizer(replace(model.model, recipe=recipe))
    (difference,) = verify(model, other, ["low\nlow lower\nlow"]).differences
    assert (difference.what, difference.line, difference.column) == ("ids", 1, 4)


def test_a_difference_in_what_is_put_around() -> None:
    from tokctl.model.parts import POST_PROCESSORS

    around = POST_PROCESSORS.steps("template:<s> $A")
    recipe = replace(default_recipe("bpe"), special_tokens=("<s>",), post_processors=around)
    model = Tokenizer.train(WORDS, vocab_size=272, recipe=recipe)
    other = Tokenizer(replace(model.model, recipe=replace(recipe, post_processors=())))
    (difference,) = verify(model, other, ["low"]).differences
    assert (difference.what, difference.column) == ("ids", 1)
    assert difference.before[0] == (0, "<s>") and difference.found[0] != (0, "<s>")


def test_tokens_that_only_others_put_around() -> None:
    from tokctl.model.parts import POST_PROCESSORS

    recipe = replace(default_recipe("bpe"), special_tokens=("<s>",))
    model = Tokenizer.train(WORDS, vocab_size=272, recipe=recipe)
    around = replace(recipe, post_processors=POST_PROCESSORS.steps("template:<s> $A"))
    other = Tokenizer(replace(model.model, recipe=around))
    (difference,) = verify(model, other, ["low\nlower"]).differences
    assert (difference.what, difference.line, difference.column) == ("ids", 1, 1)
    assert difference.found[0] == (0, "<s>")


def test_the_end_of_a_single_line() -> None:
    recipe = default_recipe("bpe")
    model = Tokenizer.train(WORDS, vocab_size=272, recipe=recipe)
    spaces = NORMALIZERS.part("replace", pattern="\n", content=" ")
    other = Tokenizer(replace(model.model, recipe=replace(recipe, normalizers=(spaces,))))
    (difference,) = verify(model, other, ["low\n"]).differences
    assert (difference.line, difference.column) == (1, 4)


def test_another_text_for_the_same_ids() -> None:
    recipe = default_recipe("wordpiece")
    model = Tokenizer.train({"low": 3, "er": 1}, vocab_size=20, recipe=recipe)
    other = Tokenizer(replace(model.model, recipe=replace(recipe, decoders=DECODERS.steps("fuse"))))
    (difference,) = verify(model, other, ["er\nlow er"]).differences
    assert (difference.what, difference.line, difference.column) == ("text", 2, 4)
    assert [said[:3] for said in difference.said] == ["low"] * 2


def test_a_file_that_is_none(model: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"{}")
    found = verify(model, path, TEXTS)
    (difference,) = found.differences
    assert (found.same, difference.reader, difference.what) == (False, "tokctl", "error")
    assert str(difference).startswith(f"tokctl can't load it: {path} is not a model file")


def test_lines_that_have_no_ids_are_counted() -> None:
    recipe = preset("notebook-bpe")
    model = Tokenizer.train({"low": 3}, vocab_size=20, recipe=recipe)
    found = verify(model, model, ["low\nhigh\nlow"])
    assert (found.same, found.lines, found.left_out) == (True, 3, 1)


# -- the libraries ------------------------------------------------------------------------


def test_every_loader_is_of_a_format_with_a_name() -> None:
    assert {"tokctl", "huggingface", "tiktoken", "sentencepiece"} <= PEERS.keys()


def agree(
    model: Tokenizer,
    reader: verification.LoadedTokenizer,
    texts: Sequence[str],
    around: bool = False,
) -> None:
    ids = model.encode_ids(texts, special=reader.special, add_special=around)
    assert reader.encode(texts, around) == ids
    assert list(map(reader.decode, ids)) == [model.decode(row) for row in ids]


def test_sentencepiece(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "t.txt").write_text("low lower newest widest sea chest\n" * 30)
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "t.txt"), model_prefix=str(tmp_path / "sp"), vocab_size=28,
        model_type="bpe", minloglevel=9,
    )  # fmt: skip
    path = tmp_path / "sp.model"
    found = verify(Tokenizer.load(path), path, ["low lower\n東京 chest\n  a  "])
    assert (found.same, found.readers) == (
        True,
        ("tokctl", f"sentencepiece {sentencepiece.__version__}"),
    )


def test_tiktoken_with_what_lies_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    path = tmp_path / "m.tiktoken"
    recipe = replace(default_recipe("bpe"), special_tokens=())
    model = Tokenizer.train(WORDS, vocab_size=272, recipe=recipe)
    tokens = enumerate(model.model.tokens)
    path.write_bytes(b"".join(b"%b %d\n" % (b64encode(token), id_) for id_, token in tokens))
    facts = {"name": "m", "pat_str": PATTERNS["gpt2"], "special_tokens": {"<|end|>": 272}}
    Path(f"{path}.json").write_text(json.dumps(facts))
    reader = verification.tiktoken_ranks(path, model.model)
    agree(model, reader, TEXTS)
    assert reader.token(model.vocabulary["lo"]) == "lo"


def test_bert(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    model = Tokenizer.train(WORDS, vocab_size=60, recipe=preset("bert"))
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in model.tokens), encoding="utf-8")
    texts = ["Low LOWER newest", "東京 wide"]
    for where in (path, tmp_path):
        reader = verification.bert_vocab(where, model.model)
        agree(model, reader, texts)
        agree(model, reader, texts, around=True)


def test_vocab_and_merges(model: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    (tmp_path / "vocab.json").write_text(json.dumps(model.vocabulary))
    names = model.tokens
    merges = "".join(f"{names[merge.left]} {names[merge.right]}\n" for merge in model.merges)
    (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}")
    agree(model, verification.vocab_merges(tmp_path, model.model), TEXTS)


def test_vocab_and_merges_of_characters(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.CharBPETokenizer()
    theirs.train_from_iterator(["low lower newest widest"] * 9, vocab_size=60, show_progress=False)
    theirs.save_model(str(tmp_path))
    theirs.save(str(tmp_path / "tokenizer.json"))
    model = Tokenizer.load(tmp_path / "tokenizer.json")
    agree(model, verification.vocab_merges(tmp_path, model.model), ["low newest", "wide lost"])


def test_a_folder(model: Tokenizer, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model.save(tmp_path / "tokenizer.json", "huggingface")
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for load in (verification.auto_tokenizer, verification.tokenizer_json):
        agree(model, load(tmp_path, model.model), TEXTS)


def test_a_panic_is_a_difference(
    model: Tokenizer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Panic(BaseException):
        """As PyO3 raises it."""

    def load(_path: Path, _model: Any) -> verification.LoadedTokenizer:
        def encode(_texts: Sequence[str], _around: bool) -> list[list[int]]:
            raise Panic("at the disco")

        return verification.LoadedTokenizer("panicky", encode, str, str)

    monkeypatch.setitem(PEERS, "tokctl", (verification.Peer("panicky", load),))
    model.save(tmp_path / "m.json")
    (difference,) = verify(model, tmp_path / "m.json", TEXTS).differences
    assert str(difference) == "panicky fails at text 1, line 1: at the disco"
    monkeypatch.setitem(PEERS, "tokctl", (verification.Peer("stopped", _interrupted),))
    with pytest.raises(KeyboardInterrupt):
        verify(model, tmp_path / "m.json", TEXTS)


def _interrupted(_path: Path, _model: Any) -> verification.LoadedTokenizer:
    raise KeyboardInterrupt
