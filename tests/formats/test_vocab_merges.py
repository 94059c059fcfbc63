"""vocab.json and merges.txt, against Hugging Face's readers of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import implementations

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.exact.strings import strings
from tests.formats.damage import damaged
from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import UnsupportedByFormat
from tokctl.formats.vocab_merges import MERGES_TXT, VOCAB_JSON
from tokctl.model import byte_level
from tokctl.sources.corpora import corpus_path


def trained(name: str, **changes: Any) -> Tokenizer:
    recipe = replace(RECIPES[name], **changes)
    return Tokenizer.train([corpus_path("sample")], recipe=recipe, vocab_size=600)


def assert_same(ours: Tokenizer, theirs: Any) -> None:
    for text in strings(200):
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode_ids(text) == ids, text
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), text


def kinds(model: Any, name: str) -> list[str]:
    return [loss.what for loss in formats.losses(model, name) if not loss.minor]


def test_gpt2(tmp_path: Path) -> None:
    made = Tokenizer.load(shared_file("vocab/gpt2.tokenizer.json"))
    assert formats.losses(made.model, "vocab-merges") == []
    made.save(tmp_path / "x", "vocab-merges")
    ours = Tokenizer.load(tmp_path / "x")
    assert (ours.format, ours.recipe.splitting) == ("vocab-merges", "gpt2")
    assert ours.model.tokens == made.model.tokens and ours.model.merges == made.model.merges
    assert ours.special_ids == {"<|endoftext|>": 50256}
    files = [str(tmp_path / "x" / name) for name in (VOCAB_JSON, MERGES_TXT)]
    assert_same(ours, implementations.ByteLevelBPETokenizer.from_file(*files))


@pytest.mark.slow
def test_ranks_are_written_as_merges(tmp_path: Path) -> None:
    made = Tokenizer.load(shared_file("vocab/cl100k_base.tiktoken"))
    lost = kinds(made.model, "vocab-merges")
    assert lost == [
        "the pattern cl100k (it is read with gpt2)",
        "tokens that stay whole whatever merges say",
    ]
    made.save(tmp_path / "x", "vocab-merges", lossy=True)
    ours = Tokenizer.load(tmp_path / "x", pattern="cl100k", special_tokens=made.special_ids)
    for text in strings(100):
        assert ours.encode_ids(text) == made.encode_ids(text)


def test_words_with_a_suffix(tmp_path: Path) -> None:
    bert = {"kind": "bert", "lowercase": False, "strip_accents": False}
    made = trained("char-bpe", normalizers=(bert,))
    assert kinds(made.model, "vocab-merges") == []
    made.save(tmp_path / "x", "vocab-merges")
    ours = Tokenizer.load(tmp_path / "x")
    files = [str(tmp_path / "x" / name) for name in (VOCAB_JSON, MERGES_TXT)]
    theirs = implementations.CharBPETokenizer.from_file(*files, unk_token="<unk>", suffix="</w>")
    theirs._tokenizer.encode_special_tokens = True
    assert_same(ours, theirs)
    assert_same(made, theirs)


def clip() -> tuple[dict[str, int], list[tuple[str, str]]]:
    letters = sorted(byte_level.BYTES)
    tokens = [*letters, *(f"{one}</w>" for one in letters), "lo", "low</w>"]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return {token: id_ for id_, token in enumerate(tokens)}, [("l", "o"), ("lo", "w</w>")]


def test_bytes_with_a_suffix_are_those_of_clip(tmp_path: Path) -> None:
    vocabulary, merges = clip()
    (tmp_path / VOCAB_JSON).write_text(json.dumps(vocabulary), encoding="utf-8")
    (tmp_path / MERGES_TXT).write_text("\n".join(map(" ".join, merges)), encoding="utf-8")
    ours = Tokenizer.load(tmp_path / VOCAB_JSON)
    end = "<|endoftext|>"
    made = hf.Tokenizer(hf.models.BPE(vocabulary, merges, unk_token=end, end_of_word_suffix="</w>"))
    made.normalizer = hf.normalizers.Sequence([
        hf.normalizers.NFC(),
        hf.normalizers.Replace(hf.Regex(r"\s+"), " "),
        hf.normalizers.Lowercase(),
    ])  # fmt: skip
    pattern = r"<\|startoftext\|>|<\|endoftext\|>|"
    pattern += r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    made.pre_tokenizer = hf.pre_tokenizers.Sequence([
        hf.pre_tokenizers.Split(hf.Regex(pattern), "removed", invert=True),
        hf.pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])  # fmt: skip
    made.decoder = hf.decoders.ByteLevel()
    for text in [*strings(200), "\x1e a\x1f", "\x1c\x85 \x1d"]:
        ids = made.encode(text).ids
        assert ours.encode_ids(text) == ids, text
        # As their class does, behind its decoder.
        assert ours.decode(ids) == made.decode(ids).replace("</w>", " ").strip(), text
    around = ours.encode("Low <low>", add_special=True)
    assert around.tokens == ["<|startoftext|>", "low</w>", "<</w>", "low</w>", "></w>", end]
    assert ours.decode(around.ids, skip_special=True) == "low < low >"


def test_other_ways_to_name_the_files(tmp_path: Path) -> None:
    made = trained("gpt2")
    files = formats.write(made.model, "vocab-merges")
    for before in ("", "my-", "gpt2_"):
        for name, data in files.items():
            (tmp_path / f"{before}{name}").write_bytes(data)
        for name in files:
            ours = Tokenizer.load(tmp_path / f"{before}{name}")
            assert ours.model.tokens == made.model.tokens
            assert ours.model.origin == ("vocab-merges", before[:-1])
    (tmp_path / "merges.txt").unlink()
    with raises_code("damaged-model", r"vocab\.json is not a model file"):
        Tokenizer.load(tmp_path / "vocab.json")


def test_what_is_lost() -> None:
    losses = {name: kinds(filled(RECIPES[name]), "vocab-merges") for name in ("gpt2", "llama3")}
    assert losses["gpt2"] == []
    pattern, template, whole = losses["llama3"]
    assert pattern == "the pattern llama3 (it is read with gpt2)"
    assert template.startswith("the post-processors template:<|begin_of_text|> $A")
    assert whole == "tokens that stay whole whatever merges say"
    qwen = kinds(filled(RECIPES["qwen"]), "vocab-merges")
    assert qwen[0] == "the normalizers nfc (it is read with none)"
    odd = filled(replace(RECIPES["gpt2"], special_tokens=("END",)))
    assert kinds(odd, "vocab-merges") == ["the added token 'END' as it is found in text"]


@pytest.mark.parametrize("text", ["▁", "x y", "東京"])
def test_special_tokens_that_spell_no_bytes(text: str, tmp_path: Path) -> None:
    model = filled(replace(RECIPES["gpt2"], special_tokens=(text,)))
    assert kinds(model, "vocab-merges") == []
    Tokenizer(model).save(tmp_path / "x", "vocab-merges")
    again = Tokenizer.load(tmp_path / "x")
    assert again.special_ids == {text: 0}
    assert again.encode_ids(f"abc{text}", special="all") == [len(model.tokens) - 1, 0]


def test_not_into_a_folder_of_another_format(tmp_path: Path) -> None:
    """There `tokenizer.json` would be read, and not what is written."""
    model = Tokenizer(filled(RECIPES["gpt2"]))
    model.save(tmp_path / "x", "huggingface-folder")
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    with raises_code("output-taken", r"holds tokenizer\.json, which would also become part"):
        model.save(tmp_path / "x", "vocab-merges")
    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()} == before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("bert", "this is a wordpiece model"),
        ("unigram", "this is a unigram model"),
        ("llama2", "do not say how a text is split"),
        ("end marker", "words are marked by </w>"),
    ],
)
def test_what_has_no_such_files(name: str, why: str) -> None:
    with pytest.raises(UnsupportedByFormat, match=why):
        formats.losses(filled(RECIPES[name]), "vocab-merges")


def test_a_space_in_a_token() -> None:
    bert = RECIPES["char-bpe"]
    model = filled(replace(bert, pre_tokenizers=("split:x",)))
    tokens = [b" " if token == b"a" else token.replace(b"a", b" ") for token in model.tokens]
    with pytest.raises(UnsupportedByFormat, match=r"no place for the merge of ' ' and 'b'"):
        formats.write(replace(model, tokens=tokens), "vocab-merges")


def pair(tmp_path: Path, vocab: Any, merges: str) -> Path:
    (tmp_path / VOCAB_JSON).write_text(json.dumps(vocab))
    (tmp_path / MERGES_TXT).write_text(merges, newline="")
    return tmp_path


BYTES = {character: place for place, character in enumerate(sorted(byte_level.BYTES))}


def test_the_order_of_merges_and_the_lines(tmp_path: Path) -> None:
    vocab = BYTES | {"bc": 256, "ab": 257, "<s>": 258, "[x]": 259, "<>": 260}
    folder = pair(tmp_path, vocab, "#version: 0.2\r\na b\r\nb c\r\n#version again\n")
    ours = Tokenizer.load(folder)
    assert [merge[:3] for merge in ours.model.merges] == [
        (BYTES["a"], BYTES["b"], 257),
        (BYTES["b"], BYTES["c"], 256),
    ]
    assert ours.encode_ids("abc") == [257, BYTES["c"]]
    assert ours.special_ids == {"<s>": 258, "[x]": 259}
    theirs = implementations.ByteLevelBPETokenizer.from_file(
        str(folder / VOCAB_JSON), str(folder / MERGES_TXT)
    )
    assert theirs.encode("abc").ids == [257, BYTES["c"]]
    hints = Tokenizer.load(folder, special_tokens={"<>": 260, "<end>": 261})
    assert hints.special_ids == {"<>": 260, "<end>": 261}
    with raises_code("conflict", "'<>' has the id 260 in the vocabulary, not 1"):
        Tokenizer.load(folder, special_tokens={"<>": 1})


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ({"a": 0, "b": 1, "ab": 2}, "a b\n", "so nothing says how a text is split"),
        (BYTES, "a b\n", "merge 1 names 'ab', which is not a token"),
        (BYTES, "a b c\n", "merge 1 is not a pair"),
        (BYTES, "a\n", "merge 1 is not a pair"),
        (BYTES, "\n", "merge 1 is not a pair"),
        (BYTES | {"x": 1.5}, "", "not a whole number"),
        (BYTES | {"xx": 1 << 40}, "", "only 257 have a token"),
        (BYTES | {"xx": 3}, "", "two tokens of the vocabulary have the id 3"),
    ],
)
def test_wrong_files(tmp_path: Path, vocab: Any, merges: str, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        Tokenizer.load(pair(tmp_path, vocab, merges))
    assert str(tmp_path) in caught.value.message


def test_a_pattern_for_what_has_none(tmp_path: Path) -> None:
    folder = pair(tmp_path, {"a": 0, "b": 1, "ab": 2, "<unk>": 3}, "a b\n")
    ours = Tokenizer.load(folder, pattern="whitespace")
    assert ours.encode_ids("ab ba") == [2, 1, 0]


FILES = formats.write(filled(RECIPES["gpt2"]), "vocab-merges")


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_damaged_files(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    for other, content in FILES.items():
        (folder / other).write_bytes(content)
    (folder / name).write_bytes(data.draw(damaged(FILES[name])))
    try:
        model = formats.load(folder)
    except TokctlError as error:
        assert str(folder) in error.message
    else:
        assert formats.parse(formats.serialize(model), "y") == model


def test_bytes_that_are_missing(tmp_path: Path) -> None:
    """Those that UTF-8 never has are no loss; others are dropped, as there; without those that any
    text has, nothing says how it is split."""
    needed = [one for one, byte in byte_level.BYTES.items() if byte not in byte_level.NEVER_IN_UTF8]
    vocab = {one: id_ for id_, one in enumerate([*sorted(needed), "lo"])}
    folder = pair(tmp_path, vocab, "l o\n")
    ours = Tokenizer.load(folder)
    assert_same(
        ours,
        implementations.ByteLevelBPETokenizer.from_file(
            str(folder / VOCAB_JSON), str(folder / MERGES_TXT)
        ),
    )
    assert kinds(ours.model, "vocab-merges") == []
    absent = {byte_level.CHARACTERS[byte] for byte in (0x04, 0x0B, 0x1D, 0xF1)}
    vocab = {one: id_ for id_, one in enumerate(one for one in vocab if one not in absent)}
    (tmp_path / "fewer").mkdir()
    folder = pair(tmp_path / "fewer", vocab, "l o\n")
    lacking = Tokenizer.load(folder)
    files = [str(folder / name) for name in (VOCAB_JSON, MERGES_TXT)]
    theirs = implementations.ByteLevelBPETokenizer.from_file(*files)
    assert_same(lacking, theirs)
    for text in ("a\x04\x0b b", "\x1d", "lo\U00040000lo"):
        assert lacking.encode_ids(text) == theirs.encode(text).ids
    document = json.loads(formats.write(ours.model, "huggingface")[""])
    document["model"]["vocab"] = {"<|q|>": vocab["q"], **vocab}
    del document["model"]["vocab"]["q"]
    fewer = formats.parse(json.dumps(document).encode(), "fewer")
    with pytest.raises(UnsupportedByFormat, match="nothing says how a text is split"):
        formats.losses(fewer, "vocab-merges")
