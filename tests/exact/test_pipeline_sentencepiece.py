"""Models that SentencePiece trains, loaded here: the same ids and the same text. And our
Unigram's objective beside theirs."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest

from tests.exact.pipeline_peers import corpus, loaded_there, texts, training_text
from tests.exact.strings import WHOLE
from tokctl import Tokenizer, formats, preset

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
MODELS = {
    **{
        f"{kind}, {name}": {"model_type": kind, **options}
        for kind in ("unigram", "bpe")
        for name, options in VARIANTS.items()
    },
    **{
        f"char, {name}": {"model_type": "char", **VARIANTS[name]}
        for name in ("as it comes", "identity", "nfkc_cf", "symbols", "no prefix")
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


@pytest.mark.parametrize("name", MODELS)
def test_ids_and_text(name: str) -> None:
    data = trained(**MODELS[name])
    ours = Tokenizer(formats.parse(data, "m.model"))
    theirs = spm.SentencePieceProcessor(model_proto=data)
    count, differences = [], []
    for text in texts(seed=2):
        ids = theirs.encode(text)
        count.append(len(ids))
        # A ▁ of the text's own at its start: `tests/formats` has the difference.
        other_text = "▁▁" in ours.vocabulary and theirs.normalize(text).startswith("▁▁")
        if ours.encode_ids(text) != ids:
            differences.append(f"ids of {text[:300]!r}")
        elif not other_text and ours.decode(ids) != theirs.decode(ids):
            differences.append(f"text of {text[:300]!r}")
    print(f"{len(count):,} texts, {sum(count):,} ids, {len(differences)} differences")
    assert not differences, "\n".join(differences[:5])


def bits_per_character(tokenizer: Tokenizer, lines: list[str]) -> float:
    """Of the best segmentations of the lines, by the model's own probabilities."""
    scores = tokenizer.model.scores
    total = 0.0
    for ids in tokenizer.encode_batch(lines):
        assert tokenizer.unk_id not in ids
        total -= sum(scores[id_] for id_ in ids)
    return total / math.log(2) / sum(map(len, lines))


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
        assert ours.encode_batch(lines, special="all") == ids
