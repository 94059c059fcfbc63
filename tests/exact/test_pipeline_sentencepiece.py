"""Models that SentencePiece trains, loaded here: the same ids and the same text. And our
Unigram's objective beside theirs."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.exact.pipeline_peers import corpus, loaded_there, texts, train, training_text
from tests.exact.strings import WHOLE
from tokctl import Tokenizer, formats, preset
from tokctl.formats import sentencepiece
from tokctl.model.presets import DEFAULTS

spm = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

SYMBOLS = ["<sep>", "the", "▁▁", "日本", "🙂", "1", "##", "don't"]
VARIANTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "bytes": {"byte_fallback": True},
    "identity": {"normalization_rule_name": "identity"},
    "identity, bytes": {"normalization_rule_name": "identity", "byte_fallback": True},
    "nfkc_cf": {"normalization_rule_name": "nfkc_cf"},
    "nmt_nfkc_cf, bytes": {"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True},
    # Some of them would be changed by the rules, or be put together with what follows.
    "symbols": {
        "user_defined_symbols": [*SYMBOLS, "①", "ﬁ", "e", "a\u3000b"],
        "control_symbols": ["<2en>"],
    },
    "symbols, identity, bytes": {
        "user_defined_symbols": SYMBOLS,
        "normalization_rule_name": "identity",
        "byte_fallback": True,
    },
    "no prefix": {"add_dummy_prefix": False},
    "digits": {"split_digits": True, "byte_fallback": True},
    "as Llama trains": {
        "normalization_rule_name": "identity",
        "byte_fallback": True,
        "split_digits": True,
        "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True,
        "character_coverage": 0.999,
    },
    "as Gemma trains": {
        "normalization_rule_name": "identity",
        "byte_fallback": True,
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["▁▁", "▁▁▁", "\t", "<b>"],
    },
    "across words": {"split_by_whitespace": False, "split_by_unicode_script": False},
}
#: Spaces behind words; pieces and roles of other sorts.
SUFFIXES: dict[str, dict[str, Any]] = {
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix, spaces kept": {
        "treat_whitespace_as_suffix": True,
        "remove_extra_whitespaces": False,
    },
    "spaces kept": {"remove_extra_whitespaces": False},
    "pieces with spaces": {"user_defined_symbols": [" a", "x ", "a b", "\t"]},
    "required": {"required_chars": "ʘ🜁", "character_coverage": 0.99},
    "roles": {
        "pad_id": 3,
        "bos_id": -1,
        "eos_id": 0,
        "unk_id": 1,
        "unk_surface": "? ",
        "control_symbols": ["<2en>", "<2de>"],
    },
}
MODELS = {
    **{
        f"{kind}, {name}": {"model_type": kind, **options}
        for kind in ("unigram", "bpe")
        for name, options in VARIANTS.items()
    },
    **{
        f"char, {name}": {"model_type": "char", **VARIANTS[name]}
        for name in ("as it comes", "bytes", "identity", "nfkc_cf", "symbols", "no prefix")
    },
    **{
        f"word, {name}": {"model_type": "word", **VARIANTS[name]}
        for name in ("as it comes", "bytes", "identity", "nfkc_cf", "symbols", "no prefix")
    },
    **{
        f"{kind}, {name}": {"model_type": kind, **options}
        for kind in ("unigram", "bpe", "char")
        for name, options in SUFFIXES.items()
    },
}


def trained(**options: Any) -> bytes:
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(
        model_writer=out,
        minloglevel=2,
        hard_vocab_limit=False,
        num_threads=1,
        **{
            "sentence_iterator": iter(training_text().split("\n")),
            "vocab_size": 4000,
            **options,
        },
    )
    return out.getvalue()


#: Texts that rules leave nothing of, or spaces alone, and ▁ where spaces are removed.
BARE = ["", " ", "\x01", "\x01 ", " \x01", "  ", "\u3000", "\u3000\x01", "▁", "▁ ", "a▁", "<0x41>"]
#: What of a model file decides anything.
TRAINER = [
    "model_type",
    "vocab_size",
    "treat_whitespace_as_suffix",
    "byte_fallback",
    "unk_surface",
    "unk_id",
    "bos_id",
    "eos_id",
    "pad_id",
]
NORMALIZER = [
    "name",
    "precompiled_charsmap",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "escape_whitespaces",
]


def known(data: bytes) -> tuple[Any, ...]:
    """All that tokctl knows of a model file."""
    proto = sentencepiece.parse(data)
    return (
        [(piece.piece, piece.score, piece.type) for piece in proto.pieces],
        [getattr(proto.trainer_spec, name) for name in TRAINER],
        [getattr(proto.normalizer_spec, name) for name in NORMALIZER],
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MODELS)
def test_ids_and_text(name: str) -> None:
    """Here, and there with the file that is written here: it says the same as theirs."""
    data = trained(**MODELS[name])
    model = formats.parse(data, "m.model")
    ours = Tokenizer(model)
    theirs = spm.SentencePieceProcessor(model_proto=data)
    assert formats.losses(model, "sentencepiece") == []
    written = formats.write(model, "sentencepiece")[""]
    assert known(written) == known(data)
    assert formats.parse(written, "m.model") == model
    again = spm.SentencePieceProcessor(model_proto=written)
    count, differences = [], []
    for text in [*texts(seed=2), *BARE]:
        ids = theirs.encode(text)
        assert again.encode(text) == ids
        assert again.decode(ids) == theirs.decode(ids)
        count.append(len(ids))
        # A ▁ of the text's own at its start: `tests/formats` has the difference.
        other_text = "▁▁" in ours.vocabulary and theirs.normalize(text).startswith("▁▁")
        if ours.encode_ids(text) != ids:
            differences.append(f"ids of {text[:300]!r}")
        elif not other_text and ours.decode(ids) != theirs.decode(ids):
            differences.append(f"text of {text[:300]!r}")
    print(f"{len(count):,} texts, {sum(count):,} ids, {len(differences)} differences")
    assert not differences, "\n".join(differences[:5])


#: Recipes of ours that SentencePiece can run as they are.
OURS: dict[str, dict[str, Any]] = {
    "llama2": {
        "normalizers": ("prepend:▁", "replace: =>▁"),
        "pre_tokenizers": (),
        "post_processors": (),
    },
    "llama2, words apart": {
        "normalizers": ("prepend:▁",),
        "pre_tokenizers": ("metaspace:never",),
        "post_processors": (),
    },
    "sentencepiece-bpe": {
        "normalizers": ("nmt_nfkc", "dummy-space", "replace: =>▁"),
        "pre_tokenizers": (),
        "decoders": ("fuse", {"kind": "strip", "content": "▁", "start": 1}, "replace:▁=> "),
    },
    "char": {"fuse_unknown": True},
    "char, bytes": {"byte_fallback": True, "decoders": ("byte-fallback", "fuse")},
    "word": {
        "normalizers": ("sp_nfkc", "dummy-space", "replace: =>▁"),
        "pre_tokenizers": ("split:▁=>merged-with-next",),
        "decoders": ("metaspace",),
        "fuse_unknown": True,
    },
    "unigram": {
        "normalizers": ("replace:é=>e", "replace:e=>ə", "dummy-space", "replace: =>▁"),
        "pre_tokenizers": (),
        "precision": "single",
        "decoders": ("fuse", {"kind": "strip", "content": "▁", "start": 1}, "replace:▁=> "),
    },
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", OURS)
def test_ours_there(name: str, tmp_path: Path) -> None:
    """Trained here and run there: the same ids and texts, where nothing is told to be lost."""
    base = name.split(",")[0]
    recipe = DEFAULTS[base] if base in DEFAULTS else preset(base)
    ours = train(tmp_path, recipe=replace(recipe, **OURS[name]), vocab_size=3000)
    lost = formats.losses(ours.model, "sentencepiece")
    assert [loss for loss in lost if not loss.minor] == []
    written = formats.write(ours.model, "sentencepiece")[""]
    theirs = spm.SentencePieceProcessor(model_proto=written)
    here = Tokenizer(formats.parse(written, "m.model"))
    for text in [*texts(seed=4), *BARE]:
        ids = theirs.encode(text)
        assert ours.encode_ids(text) == here.encode_ids(text) == ids, text
        assert ours.decode(ids) == theirs.decode(ids)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("sentencepiece-unigram", ["own ▁", "double precision"]),
        ("unigram", ["starts with a space", "double precision"]),
        ("sentencepiece-bpe", ["starts with a space"]),
        ("llama2", ["starts with a space", "template"]),
        ("t5", ["at the end", "own ▁", "double precision", "template"]),
    ],
)
def test_what_is_lost_is_told(name: str, lost: list[str], tmp_path: Path) -> None:
    """The recipes that split at spaces: the same ids for a text that begins with a letter."""
    recipe = DEFAULTS[name] if name in DEFAULTS else preset(name)
    ours = train(tmp_path, recipe=recipe, vocab_size=3000)
    told = [loss.what for loss in formats.losses(ours.model, "sentencepiece") if not loss.minor]
    assert len(told) == len(lost)
    for part in lost:
        assert any(part.replace("own ▁", "▁ that a text itself") in what for what in told), part
    written = formats.write(ours.model, "sentencepiece")[""]
    theirs = spm.SentencePieceProcessor(model_proto=written)
    for text in texts(seed=4):
        plain = f"x{' '.join(text.split())}x".replace("▁", "")
        ids = theirs.encode(plain)
        # Near-ties: the same tokens, but in another order.
        assert sorted(ours.encode_ids(plain)) == sorted(ids) or any(
            "double" in what for what in told
        )
        assert len(ours.encode_ids(plain)) == len(ids)
        assert ours.decode(ids) == theirs.decode(ids)


def bits_per_character(tokenizer: Tokenizer, lines: list[str]) -> float:
    """Of the best segmentations of the lines, by the model's own probabilities."""
    scores = tokenizer.model.scores
    total = 0.0
    for ids in tokenizer.encode_ids(lines):
        assert tokenizer.unk_id not in ids
        total -= sum(scores[id_] for id_ in ids)
    return total / math.log(2) / sum(map(len, lines))


@pytest.mark.slow
@pytest.mark.parametrize("vocab_size", [8000, 32_000] if WHOLE else [8000])
@pytest.mark.parametrize("pieces", ["as it comes", "as free as ours"])
def test_unigram_is_no_worse_than_theirs(vocab_size: int, pieces: str, tmp_path: Path) -> None:
    """Bits per character; and our file gives the same ids by Hugging Face's encoder."""
    text = corpus("books.txt", -1 if WHOLE else 1_500_000)
    path = tmp_path / "books.txt"
    path.write_bytes(text.encode())
    ours = Tokenizer.train([path], recipe=preset("sentencepiece-unigram"), vocab_size=vocab_size)
    free = {"split_by_unicode_script": False, "split_by_number": False}
    lines = [line for line in text.split("\n") if line.strip()]
    data = trained(
        sentence_iterator=iter(lines),
        vocab_size=vocab_size,
        character_coverage=1.0,
        **({} if pieces == "as it comes" else free),
    )
    theirs = Tokenizer(formats.parse(data, "m.model"))
    assert ours.vocab_size == theirs.vocab_size == vocab_size
    here, there = bits_per_character(ours, lines), bits_per_character(theirs, lines)
    print(f"{vocab_size:,}, {pieces}: {here:.4f} bits per character here, {there:.4f} there")
    assert here <= there
    total = sum(math.exp(score) for score in ours.model.scores if score)
    assert total <= 1 + 1e-9
    if pieces == "as it comes":
        loaded = loaded_there(ours)
        ids = [encoding.ids for encoding in loaded.encode_batch(lines)]
        assert ours.encode_ids(lines, special="all") == ids
