"""The ids of llama.cpp itself, for GGUF vocabularies of every kind that tokctl reads.

Skipped where `llama-cpp-python` is not installed: building it takes ten minutes. What it gave
for a few texts stands in `tests/golden/gguf.json` and is compared everywhere.
"""

from __future__ import annotations

import ctypes
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from tests.exact.spilled import document
from tests.exact.strings import SYMBOLS, WHOLE, strings
from tests.formats.test_sentencepiece_model import sentences
from tokctl import Tokenizer, formats, preset
from tokctl.model.presets import DEFAULTS

llama_cpp = pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")

from tests.formats import gguf_files as files  # noqa: E402

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gguf.json").read_text())
#: Are the tokens around a text put there; are special tokens found in it.
MODES = ((False, False), (False, True), (True, True))


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, ctypes.c_void_p())
    yield


@lru_cache(maxsize=1)
def texts() -> tuple[str, ...]:
    """Generated texts, slices of the corpora, and what parts the two libraries' ways."""
    found = [*strings(), *GOLDEN["texts"], *(t for m in GOLDEN["models"].values() for t in m)]
    draw = random.Random(3)
    for name in ("multilingual.txt", "code.txt"):
        path = SHARED / "corpora" / name
        if path.exists():
            corpus = path.read_text(encoding="utf-8")
            places = range(0, len(corpus), 400)
            chosen = places if WHOLE else draw.sample(places, min(150, len(places)))
            found += [corpus[at : at + 400] for at in chosen]
    return tuple(found)


def compare(values: dict[str, Any], folder: Path, mark: str = "") -> None:
    """Texts with `mark` in them are left out."""
    path = folder / "x.gguf"
    path.write_bytes(files.written(values))
    ours = Tokenizer(formats.load(path))
    theirs = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    ids = 0
    for text in texts():
        if mark and mark in text:
            continue
        for around, special in MODES:
            found = ours.encode(text, special="all" if special else "none", add_special=around)
            wanted = theirs.tokenize(text.encode(), add_bos=around, special=special)
            assert list(found.ids) == wanted, text
            ids += len(wanted)
    print(f"{ids} ids")


@pytest.mark.parametrize("pre", GOLDEN["splits"])
def test_pre_tokenizers(pre: str, tmp_path: Path) -> None:
    compare(files.pairs(pre), tmp_path)


@pytest.mark.parametrize("name", GOLDEN["models"])
def test_golden(name: str, tmp_path: Path) -> None:
    """The golden ids are its ids still."""
    from tests.formats.test_gguf import golden_values

    path = tmp_path / "x.gguf"
    path.write_bytes(files.written(golden_values(name)))
    theirs = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    for text, wanted in GOLDEN["models"][name].items():
        found = [
            theirs.tokenize(text.encode(), add_bos=around, special=special)
            for around, special in MODES
        ]
        assert found == wanted, text


BPE: dict[str, dict[str, Any]] = {
    "plain": {},
    "bare": {"add_dummy_prefix": False, "user_defined_symbols": ["<sep>", "▁▁", "\t\t", "lamp"]},
    "across words": {"split_by_whitespace": False},
}


@pytest.mark.parametrize("name", BPE)
def test_sentencepiece_bpe(name: str, tmp_path: Path) -> None:
    data = files.trained(
        sentences(), model_type="bpe", vocab_size=400, byte_fallback=True, **BPE[name]
    )
    compare(files.of_sentencepiece(data), tmp_path)


def test_phi_3(tmp_path: Path) -> None:
    data = files.trained(
        sentences(),
        model_type="bpe",
        vocab_size=400,
        byte_fallback=True,
        user_defined_symbols=["<sep>", "[MASK]", "##"],
        control_symbols=["<|endoftext|>"],
    )
    compare({**files.of_sentencepiece(data), "general.name": "Phi-3"}, tmp_path, mark="\u3000")


UNIGRAM: dict[str, dict[str, Any]] = {
    "plain": {},
    "every space": {"remove_extra_whitespaces": False},
    "bare": {"remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "identity": {"normalization_rule_name": "identity"},
    "user-defined": {"user_defined_symbols": ["<sep>", "<x_1>", "ab"]},
}


@pytest.mark.parametrize("name", UNIGRAM)
def test_sentencepiece_unigram(name: str, tmp_path: Path) -> None:
    data = files.trained(sentences(), model_type="unigram", vocab_size=80, **UNIGRAM[name])
    compare(files.of_sentencepiece(data), tmp_path)


CASES: dict[str, dict[str, Any]] = {
    "uncased": {},
    "cased": {"normalizer.lowercase": False},
    "with accents": {"normalizer.strip_accents": False},
    "cased, without accents": {"normalizer.lowercase": False, "normalizer.strip_accents": True},
}


@pytest.mark.parametrize("name", CASES)
def test_wordpiece(name: str, tmp_path: Path) -> None:
    words = {word: 3 for text in [*sentences(), *strings(300, seed=9)] for word in text.split()}
    words = {word: count for word, count in words.items() if word.isalnum()}
    words |= dict.fromkeys(SYMBOLS, 3)
    trained = Tokenizer.train(words, vocab_size=1500, recipe=preset("bert"))
    # A word with ▁ inside is the one that tokctl does otherwise.
    compare(files.of_wordpiece(trained, **CASES[name]), tmp_path, mark="▁")


WRITTEN = (
    *("gpt2", "llama3", "cl100k", "qwen", "o200k", "llama2", "t5", "sentencepiece-unigram"),
    "superbpe",
)


@pytest.mark.parametrize("name", WRITTEN)
def test_files_that_tokctl_writes(name: str, tmp_path: Path) -> None:
    """Losses or not: what the reader makes of a written file is what llama.cpp makes of it."""
    path = tmp_path / "x.gguf"
    if name == "superbpe":
        recipe = replace(DEFAULTS[name], pre_tokenizers=("digits", "digit-cuts"))
        # A learned `</s>` would be a control token there: a loss of its own.
        words = "\n".join([*texts(), "1234567 of the sea"] * 2).replace("</s>", "")
        given = [document("texts", words.encode())]
        trained = Tokenizer.train(given, vocab_size=2500, recipe=recipe)
    else:
        counts = {word: 3 for text in sentences() for word in text.split()}
        counts |= dict.fromkeys(SYMBOLS, 3)
        trained = Tokenizer.train(counts, vocab_size=2500, recipe=preset(name))
    trained.save(path, "gguf", lossy=True)
    ours = Tokenizer.load(path)
    theirs = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    for text in texts():
        for around, special in MODES:
            found = ours.encode(text, special="all" if special else "none", add_special=around)
            wanted = theirs.tokenize(text.encode(), add_bos=around, special=special)
            assert list(found.ids) == wanted, text
