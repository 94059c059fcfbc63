"""What users of tokenizer files have stumbled over elsewhere, one test each."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers as hf
from tokenizers import decoders, models, pre_tokenizers

from tests.cli.run import tokctl
from tests.errors import raises_code
from tokctl import Tokenizer, formats, preset
from tokctl.formats import FORMATS, UnsupportedByFormat
from tokctl.formats.saving import save
from tokctl.model import byte_level

COUNTS = {b"low": 5, b" lower": 4, b" newest": 6, "né".encode(): 3, b"\0": 9, b"\0\0a": 7}


def trained(vocab_size: int = 280) -> Tokenizer:
    """Byte-level BPE with tokens that hold NUL, and halves of characters."""
    recipe = replace(preset("gpt2"), special_tokens=("<|end|>",), post_processors=())
    return Tokenizer.train(COUNTS, vocab_size=vocab_size, recipe=recipe)


def everywhere(tokenizer: Tokenizer, folder: Path) -> dict[str, Tokenizer]:
    """The tokenizer out of every format that holds it."""
    found = {}
    for known in FORMATS:
        if not (known.writes and known.reads):
            continue
        try:
            lost = formats.losses(tokenizer.model, known.name)
        except UnsupportedByFormat:
            continue
        if all(loss.minor for loss in lost):
            path = folder / f"{known.name}{known.suffix}"
            save(tokenizer.model, path, known.name)
            found[known.name] = Tokenizer.load(path)
    return found


def byte_document(merges: Any, vocab: dict[str, int]) -> dict[str, Any]:
    """A byte-level `tokenizer.json`."""
    made = hf.Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    document: dict[str, Any] = json.loads(made.to_str())
    document["model"] |= {"vocab": vocab, "merges": merges}
    return document


def bytes_and(*tokens: str) -> dict[str, int]:
    return {token: id_ for id_, token in enumerate([*byte_level.BYTES, *tokens])}


def test_leading_spaces_stay(tmp_path: Path) -> None:
    """A decoder that takes one space too many, or one of every piece of a stream."""
    spm = pytest.importorskip("sentencepiece")
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["low  lower newest", "the lowest   of the low"] * 9),
        model_writer=out,
        model_type="bpe",
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=True,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    theirs = spm.SentencePieceProcessor(model_proto=out.getvalue())
    ours = Tokenizer(formats.parse(out.getvalue(), "m.model"))
    for tokenizer in (ours, *everywhere(ours, tmp_path).values()):
        for text in (" low", "  low", "low  ", "   ", " ", "", "a\n b", " \t low é"):
            ids = tokenizer.encode_ids(text)
            assert ids == theirs.encode(text)
            assert tokenizer.decode(ids) == theirs.decode(ids) == text
            stream = tokenizer.decode_stream()
            assert "".join([*map(stream.push, ids), stream.finish()]) == text


def test_both_encodings_of_merges() -> None:
    """Since 2024 merges are pairs; before, they were texts, in which no token had a space."""
    vocab = bytes_and("lo", "low")
    old = byte_document(["l o", "lo w"], vocab)
    new = byte_document([["l", "o"], ["lo", "w"]], vocab)
    models_ = [formats.parse(json.dumps(one).encode(), "tokenizer.json") for one in (old, new)]
    assert models_[0] == models_[1]
    assert Tokenizer(models_[0]).encode("low").tokens == ["low"]
    spaced = hf.Tokenizer(models.BPE(vocab={"a": 0, " ": 1, "a ": 2}, merges=[("a", " ")]))
    ours = Tokenizer(formats.parse(spaced.to_str().encode(), "tokenizer.json"))
    assert ours.encode_ids("a a") == spaced.encode("a a").ids == [2, 0]


def test_added_tokens_beyond_the_vocabulary(tmp_path: Path) -> None:
    """Ids that a vocabulary's size does not count: they encode, decode and are counted here."""
    document = byte_document([["l", "o"]], bytes_and("lo"))
    theirs = hf.Tokenizer.from_str(json.dumps(document))
    theirs.add_special_tokens(["<|end|>"])
    theirs.add_tokens(["lowest"])
    assert theirs.get_vocab_size(with_added_tokens=False) == 257
    ours = Tokenizer(formats.parse(theirs.to_str().encode(), "tokenizer.json"))
    assert ours.vocab_size == theirs.get_vocab_size() == 259
    text = "low lowest<|end|>"
    ids = theirs.encode(text).ids
    assert ids[-1] == 257 and 258 in ids
    for tokenizer in (ours, *everywhere(ours, tmp_path).values()):
        assert tokenizer.encode_ids(text, special="all") == ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode(ids, skip_special=True) == "low lowest"


def test_a_token_that_is_nul(tmp_path: Path) -> None:
    """Texts that end at a NUL, in tables of C and in vocabularies."""
    ours = trained()
    assert b"\0\0a" in ours.model.tokens
    text = "low\0\0\0a\0 low"
    ids = ours.encode_ids(text)
    assert len(ids) < len(text)
    copies = everywhere(ours, tmp_path)
    assert {"tiktoken", "huggingface"} <= copies.keys()
    for tokenizer in copies.values():
        assert tokenizer.encode_ids(text) == ids
        assert tokenizer.decode(ids) == text
    theirs = hf.Tokenizer.from_file(str(tmp_path / "huggingface.json"))
    assert theirs.encode(text).ids == ids


def test_merges_longer_than_any_token(tmp_path: Path) -> None:
    """A merge that makes what the vocabulary lacks is an error that names it, in each format
    that has merges."""
    vocab = bytes_and("lo")
    merges = [["l", "o"], ["lo", "w"]]
    document = json.dumps(byte_document(merges, vocab)).encode()
    with raises_code("damaged-model", "merge 2 names 'low', which is not a token"):
        formats.parse(document, "tokenizer.json")
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nl o\nlo w\n")
    with raises_code("damaged-model", "merge 2 names 'low', which is not a token"):
        Tokenizer.load(tmp_path)
    with raises_code("damaged-model", "merge 2 names 'low'"):
        formats.parse(gguf(tmp_path, list(vocab), ["l o", "lo w"]), "x.gguf")


def gguf(folder: Path, tokens: list[str], merges: list[str]) -> bytes:
    gguf = pytest.importorskip("gguf")
    path = folder / "x.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * len(tokens))
    writer.add_token_merges(merges)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path.read_bytes()


def test_ranks_that_are_no_priorities(tmp_path: Path) -> None:
    """Ids that are not in the order of the merges: ranks can't say that, and it is told."""
    vocab = bytes_and("wer", "er", "lo", "low")
    merges = [["l", "o"], ["e", "r"], ["lo", "w"], ["w", "er"]]
    data = json.dumps(byte_document(merges, vocab)).encode()
    ours = Tokenizer(formats.parse(data, "tokenizer.json"))
    theirs = hf.Tokenizer.from_str(data.decode())
    assert ours.encode_ids("lower wer") == theirs.encode("lower wer").ids
    with pytest.raises(UnsupportedByFormat):
        formats.losses(ours.model, "tiktoken")
    # And ranks that begin behind the special tokens are still ranks.
    tokens = [bytes([byte]) for byte in range(256)] + [b"lo", b"low"]
    lines = b"".join(base64.b64encode(t) + b" %d\n" % (7 + at) for at, t in enumerate(tokens))
    path = tmp_path / "x.tiktoken"
    path.write_bytes(lines)
    shifted = Tokenizer.load(path, pattern="cl100k", special_tokens={"<s>": 0})
    tiktoken = pytest.importorskip("tiktoken")
    there = tiktoken.Encoding(
        "x",
        pat_str=r"\p{L}+|[\s\S]",
        mergeable_ranks={token: 7 + at for at, token in enumerate(tokens)},
        special_tokens={"<s>": 0},
    )
    assert shifted.encode_ids("low<s>", special="all") == there.encode(
        "low<s>", allowed_special="all"
    )


def test_special_tokens_that_take_spaces_along(tmp_path: Path) -> None:
    """RoBERTa's `<mask>` takes the space before it along."""
    document = byte_document([["l", "o"]], bytes_and("lo"))
    theirs = hf.Tokenizer.from_str(json.dumps(document))
    theirs.add_special_tokens(
        [hf.AddedToken("<mask>", lstrip=True), hf.AddedToken("<sep>", rstrip=True)]
    )
    ours = Tokenizer(formats.parse(theirs.to_str().encode(), "tokenizer.json"))
    copies = everywhere(ours, tmp_path)
    assert "huggingface-folder" in copies and "tiktoken" not in copies
    for tokenizer in (ours, *copies.values()):
        for text in ("a  <mask> lo", "<sep>  lo \n<mask>", " <mask><sep> "):
            assert tokenizer.encode_ids(text, special="all") == theirs.encode(text).ids


def test_tokens_that_are_no_utf_8(tmp_path: Path) -> None:
    """Halves of characters come through every format, and are shown, not replaced, in JSON."""
    half = "é".encode()[1:] + "ê".encode()[:1]
    ours = Tokenizer.train({"éê".encode(): 1, half: 99}, vocab_size=257)
    assert ours.model.tokens[256] == half
    for tokenizer in (ours, *everywhere(ours, tmp_path).values()):
        ids = tokenizer.encode_ids("éê")
        assert 256 in ids
        assert tokenizer.decode(ids) == "éê"
        assert tokenizer.decode_bytes([256]) == half
    ours.save(tmp_path / "m.json")
    done = tokctl("encode", "-m", str(tmp_path / "m.json"), "--as", "pieces", stdin="éê".encode())
    assert done.code == 0
    assert {"bytes": base64.b64encode(half).decode()} in json.loads(done.out)


def test_a_special_token_that_is_a_byte(tmp_path: Path) -> None:
    """Some models pad with `!`: it is the byte's only token, and text has that byte, too."""
    document = byte_document([["l", "o"], ["o", "!"]], bytes_and("lo", "o!"))
    theirs = hf.Tokenizer.from_str(json.dumps(document))
    theirs.add_special_tokens(["!"])
    ours = Tokenizer(formats.parse(theirs.to_str().encode(), "tokenizer.json"))
    assert ours.special_ids == {"!": 0}
    for tokenizer in (ours, *everywhere(ours, tmp_path).values()):
        for text in ("lo!", "!", "a!! lo"):
            ids = tokenizer.encode_ids(text, special="all")
            assert ids == theirs.encode(text).ids
            assert tokenizer.decode(tokenizer.encode_ids(text)) == text
