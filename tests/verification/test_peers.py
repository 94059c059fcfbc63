"""`verify` and `bench` against the libraries: equal work, and differences only of ids."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tools.random_pipelines.compare import loaded
from tests.tools.random_pipelines.documents import document, text
from tokctl import TokctlError, Tokenizer, formats, preset
from tokctl.analysis.bench import bench
from tokctl.analysis.verification import verify
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.model import byte_level
from tokctl.model.presets import PRESETS
from tokctl.sources import Document

tokenizers = pytest.importorskip("tokenizers")

TRUNCATION = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}
LENGTHS: list[dict[str, Any]] = [
    {"padding": PADDING},
    {"truncation": TRUNCATION},
    {"truncation": TRUNCATION, "padding": {**PADDING, "strategy": {"Fixed": 9}}},
]


def word_pieces(**lengths: Any) -> bytes:
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokens = [*special, "a", "b", "##b"]
    made = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id_, "content": one, "special": True, **flags} for id_, one in enumerate(special)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: id_ for id_, token in enumerate(tokens)},
        },
    }
    return json.dumps(made | lengths).encode()


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("form", ["tokctl", "huggingface", "huggingface-folder"])
def test_stored_lengths_are_no_difference(
    lengths: dict[str, Any], form: str, tmp_path: Path
) -> None:
    if form == "huggingface-folder":
        pytest.importorskip("transformers")
    model = Tokenizer(formats.parse(word_pieces(**lengths), "m.json"))
    model.save(tmp_path / "m", form)
    found = verify(model, tmp_path / "m", ["a\nab b a b\n"], format=form)
    assert found.same and len(found.readers) > 1, found


@pytest.mark.parametrize("lengths", LENGTHS)
def test_bench_measures_equal_work(lengths: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(word_pieces(**lengths))
    data = b"a\nab b a b\n"
    source = Document("t.txt", len(data), lambda: iter([data]))
    found = bench(path, [source], repeat=1, validate=True)
    assert not found.differences
    assert [speed.ids for speed in found.speeds] == [6] * len(found.speeds)
    assert all(speed.same for speed in found.speeds) and len(found.speeds) > 1


@pytest.mark.few(16)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", [*PRESETS])
def test_lengths_are_lost_where_they_are_not_written(lengths: dict[str, Any], name: str) -> None:
    recipe = preset(name)
    trained = Tokenizer.train({"low": 5, "lower": 2}, vocab_size=600, recipe=recipe)
    model = replace(trained.model, lengths=lengths)
    writable = []
    for form in (one.name for one in formats.FORMATS if one.writes):
        try:
            losses = [loss.what for loss in formats.losses(model, form)]
            files = formats.write(model, form)
        except (TokctlError, UnsupportedByFormat):
            continue
        writable.append(form)
        is_written = any(b'"pad_id"' in data or b'"stride"' in data for data in files.values())
        if form == "huggingface":
            assert is_written
        told = [what for what in losses if what.startswith(("the padding", "the truncation"))]
        assert is_written == (not told), form
    assert "tokctl" in writable


# -- GPT-2's two files: what the class of each kind finds in a text


def two_files(folder: Path, kind: str, draw: random.Random) -> list[str]:
    """Write vocab.json and merges.txt; return the special tokens in them."""
    known = ["<unk>", "[UNK]", "<s>", "<|endoftext|>", "<|startoftext|>"]
    specials = draw.sample(known, draw.randint(0, len(known)))
    if kind == "characters":
        specials = ["<unk>", *(one for one in specials if one != "<unk>")]
    suffix = "" if kind == "bytes" else "</w>"
    letters = list("abc<>unk") if kind == "characters" else list(byte_level.BYTES)
    ends = [letter + suffix for letter in letters] if suffix else []
    vocab, merges = [*specials, *letters, *ends], []
    inner, any_ = list(letters), [one for one in (*letters, *ends) if one.isascii()]
    for _ in range(8):
        left, right = draw.choice(inner), draw.choice(any_)
        if left + right not in vocab:
            vocab.append(left + right)
            any_.append(left + right)
            inner += [] if suffix and right.endswith(suffix) else [left + right]
            merges.append(f"{left} {right}\n")
    ids = {token: id_ for id_, token in enumerate(vocab)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merges), encoding="utf-8")
    return specials


@pytest.mark.parametrize("kind", ["characters", "bytes", "clip"])
@pytest.mark.parametrize("seed", range(6))
def test_two_files_are_verified_by_their_class(kind: str, seed: int, tmp_path: Path) -> None:
    if kind == "clip":
        pytest.importorskip("transformers")
    draw = random.Random(seed)
    specials = two_files(tmp_path, kind, draw)
    model = Tokenizer.load(tmp_path / "vocab.json")
    assert not [loss for loss in model.losses("vocab-merges") if not loss.minor]
    model.save(tmp_path / "again", "vocab-merges")
    words = ["ab", "kun", "<>a", "b", *specials]
    texts = [" ".join(draw.choices(words, k=5)) for _ in range(6)]
    found = verify(model, tmp_path / "again", texts, format="vocab-merges")
    assert found.same and len(found.readers) == 2, found


def test_the_class_of_characters_finds_its_unknown_token(tmp_path: Path) -> None:
    vocab = ["<unk>", *"abunk<>", "a</w>", "b</w>", "k</w>", "<</w>", "></w>", "<s>"]
    ids = {token: id_ for id_, token in enumerate(vocab)}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    model = Tokenizer.load(tmp_path / "vocab.json")
    theirs = tokenizers.CharBPETokenizer.from_file(
        str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    )
    line = "a <unk> b"
    assert theirs.encode(line).ids == model.encode(line, special="all").ids == [8, 0, 9]
    assert verify(model, tmp_path / "vocab.json", [line, "a <s> b"], format="vocab-merges").same


# -- random models: a difference is told exactly where the library gives other ids


def differs_there(data: bytes, ours: Tokenizer, texts: list[str]) -> bool | None:
    """Return whether tokenizers gives other ids for a line, without the lengths that the file
    stores; None if it fails at one."""
    made = json.loads(data) | {"truncation": None, "padding": None}
    try:
        theirs = tokenizers.Tokenizer.from_str(json.dumps(made))
        for line in texts:
            for around in (False, True):
                there = theirs.encode(line, add_special_tokens=around).ids
                if there != ours.encode(line, special="all", add_special=around).ids:
                    return True
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        return None
    return False


@pytest.mark.few(15)
@pytest.mark.parametrize("form", ["tokctl", "huggingface"])
@pytest.mark.parametrize("seed", range(30))
def test_a_difference_is_told_exactly_where_ids_differ(
    form: str, seed: int, tmp_path: Path
) -> None:
    made, specials = document(seed)
    draw = random.Random(seed)
    ours, theirs = loaded(made | draw.choice(LENGTHS))
    if isinstance(ours, str) or theirs is None:
        return
    path = tmp_path / "m.json"
    try:
        ours.save(path, form, lossy=True)
    except TokctlError:
        return
    lines = [line for line in (text(draw, specials) for _ in range(8)) if "\n" not in line]
    expected = differs_there(path.read_bytes(), ours, lines)
    found = verify(ours, path, lines, format=form)
    peers = [one for one in found.differences if one.reader != "tokctl"]
    if expected is not None:
        assert any(one.what == "ids" for one in peers) == expected, (found, found.not_compared)
