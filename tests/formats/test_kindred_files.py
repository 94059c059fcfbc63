"""Files that are like those that are read, but for a detail; and what is said of files that are not
read."""

from __future__ import annotations

import base64
import codecs
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tests.explain import every, models
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import FORMATS, LoadOptions, UnsupportedByFormat
from tokctl.formats.saving import save

hf = pytest.importorskip("tokenizers")

# -- files with other names, or with a mark in front ------------------------------------


def test_ranks_behind_a_byte_order_mark(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = [bytes([byte]) for byte in range(256)] + [b"lo", b"low"]
    lines = (base64.b64encode(token) + b" %d" % at for at, token in enumerate(ranks))
    data = codecs.BOM_UTF8 + b"\n".join(lines) + b"\n"
    pattern = r"\p{L}+|\s|\P{L}+"
    theirs = tiktoken.Encoding(
        "x",
        pat_str=pattern,
        special_tokens={},
        mergeable_ranks={token: at for at, token in enumerate(ranks)},
    )
    for content in (data, data.replace(b"\n", b"\r\n")):
        path = tmp_path / "bom.tiktoken"
        path.write_bytes(content)
        assert formats.format_of(path) is not None
        ours = Tokenizer(formats.load(path, LoadOptions(pattern=f"regex:{pattern}")))
        assert ours.encode_ids("low ow") == theirs.encode("low ow") == [257, 32, 111, 119]


@pytest.mark.parametrize("prefix", ["", "gpt2-"])
def test_the_names_that_openai_gave(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "new"
    save(every.model("gpt2").model, path, "vocab-merges", lossy=True)
    wanted = Tokenizer.load(path)
    (path / "vocab.json").rename(path / f"{prefix}encoder.json")
    (path / "merges.txt").rename(path / f"{prefix}vocab.bpe")
    names = ["encoder.json", "vocab.bpe"] + ([""] if not prefix else [])
    for name in names:
        read = formats.read(path / f"{prefix}{name}" if name else path)
        assert read.format.name == "vocab-merges"
        assert read.model.tokens == wanted.model.tokens
        assert read.model.merges == wanted.model.merges


# -- parts of a tokenizer.json ----------------------------------------------------------


def both(made: Any) -> Tokenizer:
    return Tokenizer(formats.parse(made.to_str().encode(), "tokenizer.json"))


def test_a_decoder_of_bytes_behind_a_model_of_characters() -> None:
    """A token that is made of stand-ins for bytes becomes these bytes; others are their text."""
    tokens = ["[unknown]", " ", ".", "1", "4", "e", "N", "f", "3", " N", "1.", "e4", " e4"]
    tokens += ["é", "Ã", "©", "Ã©", "日", "Ġ", "Ġe"]
    merges = [(" ", "N"), ("1", "."), ("e", "4"), (" ", "e4"), ("Ã", "©"), ("Ġ", "e")]
    ids = {token: at for at, token in enumerate(tokens)}
    made = hf.Tokenizer(hf.models.BPE(ids, merges, unk_token="[unknown]", fuse_unk=True))
    made.decoder = hf.decoders.ByteLevel()
    ours = both(made)
    assert ours.encode_ids("1. e4 Nf3") == [10, 12, 9, 7, 8]
    assert ours.decode([10, 12, 9, 7, 8]) == "1. e4 Nf3"
    draw = random.Random(2)
    for _ in range(2000):
        row = [draw.randrange(len(tokens)) for _ in range(draw.randrange(8))]
        assert ours.decode(row, errors="replace") == made.decode(row, skip_special_tokens=False)
    assert hf.Tokenizer.from_str(formats.write(ours.model, "huggingface")[""].decode())


def test_no_new_model_has_such_a_decoder(tmp_path: Path) -> None:
    book = tmp_path / "b.txt"
    book.write_text("low lower")
    made = tokctl("train", "--algo", "wordpiece", "--decoder", "byte-level", book)
    assert made.code == 2
    assert "the decoder byte-level does not fit" in made.err


@pytest.mark.parametrize("seed", range(30))
def test_wordpiece_with_any_prefix_and_limit(seed: int) -> None:
    draw = random.Random(seed)
    letters, prefix = "abcé山", ["", "", "##", "a"][seed % 4]
    words = ["".join(draw.choices(letters, k=draw.randrange(1, 4))) for _ in range(40)]
    tokens = ["[UNK]", *dict.fromkeys([*words[:20], *(prefix + word for word in words[20:])])]
    made = hf.Tokenizer(
        hf.models.WordPiece(
            {token: at for at, token in enumerate(tokens)},
            unk_token="[UNK]",
            max_input_chars_per_word=draw.choice([0, 1, 3, 100, 300]),
            continuing_subword_prefix=prefix,
        )
    )
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    made.decoder = hf.decoders.WordPiece(prefix)
    ours = both(made)
    again = hf.Tokenizer.from_str(formats.write(ours.model, "huggingface")[""].decode())
    stored = Tokenizer(formats.parse(formats.serialize(ours.model), "m.json"))
    for _ in range(150):
        text = "".join(draw.choices(letters + "  ", k=draw.randrange(12)))
        wanted, found = made.encode(text), ours.encode(text)
        assert list(found.ids) == wanted.ids == again.encode(text).ids == stored.encode_ids(text)
        assert list(map(tuple, found.offsets)) == wanted.offsets
        row = [draw.randrange(len(tokens)) for _ in range(5)]
        assert ours.decode(row) == made.decode(row, skip_special_tokens=False)


@pytest.mark.parametrize("content", ["", "-"])
@pytest.mark.parametrize("pattern", ["", hf.Regex("")])
def test_a_replacement_of_nothing(pattern: Any, content: str) -> None:
    """It is found before every character and at the end, and never in an empty text."""
    made = hf.Tokenizer(hf.models.WordLevel({"[UNK]": 0, "-a-b-é-": 1, "abé": 2}, "[UNK]"))
    made.normalizer = hf.normalizers.Replace(pattern, content)
    made.decoder = hf.decoders.Replace(pattern, content)
    ours = both(made)
    again = hf.Tokenizer.from_str(formats.write(ours.model, "huggingface")[""].decode())
    for text in ("abé", "", "ab"):
        ids = made.encode(text).ids
        assert ours.encode_ids(text) == ids == again.encode(text).ids
        assert list(map(tuple, ours.encode(text).offsets)) == made.encode(text).offsets
    for row in ([1, 2], [], [2, 2, 1]):
        assert ours.decode(row) == made.decode(row) == again.decode(row)


# -- files that are not read --------------------------------------------------------------

MIDITOK = {"config": {"pitch_range": [21, 109]}, "tokenization": "REMI", "miditok_version": "3.0"}
UNREAD = {
    "rwkv": (b"1 '\\x00' 1\n2 'a' 1\n3 b'\\xe4' 1\n4 \"'\" 1\n5 ' 1 ' 3\n", "vocabulary of RWKV"),
    "fastbpe": (b"e n</w> 34\nt h 20\nth e</w> 19\n", "codes of fastBPE"),
    "keras": (
        json.dumps({"class_name": "Tokenizer", "config": {"word_index": "{}"}}).encode(),
        "a tokenizer of Keras",
    ),
    "miditok": (json.dumps(MIDITOK).encode(), "a tokenizer of MidiTok"),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_is_named(name: str, tmp_path: Path) -> None:
    data, what = UNREAD[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    found = tokctl("encode", "-m", path, stdin=b"a")
    assert (found.code, found.out) == (2, b"")
    assert what in found.err
    assert "hint: " in found.err
    with pytest.raises(TokctlError, match=what):
        formats.load(path)


@pytest.mark.parametrize("data", [b"low lower\n", b"a b 1\n", b"1 a 1\n", b"{}", b'{"config": {}}'])
def test_what_is_only_alike_is_not_named(data: bytes) -> None:
    with pytest.raises(TokctlError) as caught:
        formats.parse(data, "file")
    assert not any(what in caught.value.message for _, what in UNREAD.values())


# -- what is written is read ----------------------------------------------------------------

MODELS = {
    **{f"recipe {name}": (every.model, name) for name in every.NAMES},
    **{f"toy {name}": (models.model, name) for name in models.RECIPES},
}


@pytest.mark.few(12)
@pytest.mark.parametrize("name", MODELS)
def test_a_lossy_file_is_read_again(name: str, tmp_path: Path) -> None:
    make, which = MODELS[name]
    model = make(which).model
    for known in FORMATS:
        if not (known.writes and known.reads):
            continue
        path = tmp_path / f"{known.name}{known.suffix}"
        try:
            assert formats.losses(model, known.name) is not None
            save(model, path, known.name, lossy=True)
        except (UnsupportedByFormat, TokctlError):
            assert not path.exists()
            continue
        assert formats.read(path).format.name in (known.name, "huggingface", "tokctl")
        assert Tokenizer.load(path).encode("low lower ab")


def test_the_reason_of_a_model_without_marks() -> None:
    """XTTS's kind: BPE of characters behind a splitting at words, with added tokens."""
    tokens = ["[STOP]", "[UNK]", "[SPACE]", "a", "b", "h", "t", "th", "[en]"]
    ids = {token: at for at, token in enumerate(tokens)}
    made = hf.Tokenizer(hf.models.BPE(ids, [("t", "h")], unk_token="[UNK]"))
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[STOP]", "[UNK]", "[SPACE]", "[en]"])
    model = both(made).model
    with pytest.raises(UnsupportedByFormat, match="do not say how a text is split"):
        formats.losses(model, "vocab-merges")
