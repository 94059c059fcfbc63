"""SentencePiece's `.vocab`: as it writes it, and what such a file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tests.formats.test_sentencepiece_model import sentences, texts
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import LoadOptions
from tokctl.model import Model

spm = pytest.importorskip("sentencepiece")

MODELS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "char": {"model_type": "char"},
    "word": {"model_type": "word"},
    "bpe, bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 320},
    "unigram, bytes": {"byte_fallback": True, "vocab_size": 320, "pad_id": 3},
    "symbols": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "\t"]},
    "controls": {"control_symbols": ["<2en>"]},
    "identity": {"model_type": "bpe", "normalization_rule_name": "identity"},
}


def files(folder: Path, **options: Any) -> tuple[bytes, bytes]:
    """The `.model` and the `.vocab` of a training."""
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_prefix=str(folder / "m"),
        minloglevel=2,
        hard_vocab_limit=False,
        **{"vocab_size": 60, **options},
    )
    return (folder / "m.model").read_bytes(), (folder / "m.vocab").read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_the_file_that_training_writes(name: str, tmp_path: Path) -> None:
    """But for models whose file leaves open what a piece is: tokctl reads what it writes."""
    model, vocab = files(tmp_path, **MODELS[name])
    written = formats.write(formats.parse(model, "m"), "sentencepiece-vocab")
    assert (written == {"": vocab}) == (name not in ("symbols", "controls"))
    again = formats.parse(written[""], "m.vocab")
    assert again.tokens == formats.parse(model, "m").tokens


def lost(model: Model) -> list[str]:
    return [loss.what for loss in formats.losses(model, "sentencepiece-vocab") if not loss.minor]


@pytest.mark.parametrize("name", ["bpe", "char", "word", "bpe, bytes"])
def test_what_it_says_is_enough(name: str, tmp_path: Path) -> None:
    """Models as they are trained by default, whose scores are whole or decide nothing."""
    data, vocab = files(tmp_path, **MODELS[name])
    model = formats.parse(data, "m")
    assert lost(model) == []
    read = formats.read(tmp_path / "m.vocab")
    assert read.format.name == "sentencepiece-vocab"
    assert read.model.origin == ("sentencepiece-vocab", "")
    assert (read.model.recipe, read.model.tokens) == (model.recipe, model.tokens)
    ours, theirs = Tokenizer(read.model), spm.SentencePieceProcessor(model_proto=data)
    for text in texts():
        ids = theirs.encode(text)
        assert ours.encode_ids(text) == ids
    assert formats.write(read.model, "sentencepiece-vocab") == {"": vocab}


def test_a_unigram_has_six_digits(tmp_path: Path) -> None:
    data, vocab = files(tmp_path)
    model = formats.parse(data, "m")
    assert lost(model) == ["more than six digits of a score"]
    read = formats.parse(vocab, "m.vocab")
    assert read.recipe == model.recipe
    assert [f"{score:.6g}" for score in model.scores] == [f"{score:.6g}" for score in read.scores]
    assert lost(read) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("symbols", "what type each piece is"),
        ("controls", "what type each piece is"),
        ("identity", "the normalizers"),
    ],
)
def test_what_it_leaves_open_is_lost(name: str, message: str, tmp_path: Path) -> None:
    model = formats.parse(files(tmp_path, **MODELS[name])[0], "m")
    assert any(message in what for what in lost(model))


def test_what_it_leaves_open_is_asked(tmp_path: Path) -> None:
    _, vocab = files(tmp_path, **MODELS["controls"])
    with raises_code("bad-model", "its piece '<2en>' has the score 0") as caught:
        formats.parse(vocab, "m.vocab")
    assert "read the .model" in str(caught.value.hint)
    read = formats.parse(vocab, "m.vocab", LoadOptions(special={"<2en>": 3}))
    assert read.special_ids["<2en>"] == 3


def test_without_an_unknown_piece(tmp_path: Path) -> None:
    _, vocab = files(tmp_path, unk_piece="[UNK]")
    with raises_code("bad-model", "it has no piece <unk>"):
        formats.parse(vocab, "m.vocab")


def test_lossy_models_are_written_all_the_same() -> None:
    model = Tokenizer.train({"ab": 2, "c": 1}, algorithm="char", vocab_size=9).model
    assert "that its unknown piece is called '[UNK]': it is <unk> there" in lost(model)
    data = formats.write(model, "sentencepiece-vocab")[""]
    assert data.splitlines()[0] == b"<unk>\t0"
    assert data.count(b"\n") == len(model.tokens)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<unk>\t0\na\t-1\nb", "its last line has no end"),
        (b"<unk>\t0\na\t-1e999\n", "the score of line 2 is too large"),
        (b"<unk>\t0\na\t-1\na\t-2\n", "the piece 'a' occurs twice"),
        (b"<unk>\t0\na\xff\t-1\n", "piece 1 is not UTF-8"),
        (b"<unk>\t0\n\t-1\n", "is not a piece|holds|has the score"),
    ],
)
def test_damaged_files(data: bytes, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        formats.parse(data, "m.vocab")
    assert "m.vocab" in caught.value.message
