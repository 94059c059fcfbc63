"""Every fast way to ids gives the same ones: SIMD or not, threads, chunks, batches.

They are held against the way that keeps places (`encode`), which the other tests hold against
the libraries, and against Hugging Face directly where that library has the same normalizer.
A day's run has some hundred strings; `TOKCTL_EXAMPLES=1000000` takes an hour.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.exact.fast_ids import CHUNKINGS, add, groups, joined
from tests.exact.pipeline_peers import loaded_there, train
from tests.exact.strings import EXAMPLES
from tokctl import Tokenizer, preset

LEVELS = ("portable", "avx2", "avx512")
#: Loaded by Hugging Face with the same ids for every text.
THERE = ("gpt2", "cl100k", "o200k", "llama3", "qwen", "bert")
MODELS = (*THERE, "llama2", "sentencepiece-bpe", "sentencepiece-unigram", "albert", "t5")


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fast")
    path = folder / f"{request.param}.json"
    train(folder, recipe=preset(request.param), vocab_size=4000).save(path)
    return path


def by_places(tokenizer: Tokenizer) -> tuple[str, str]:
    """Digests of the ids that come with places: of each string, and of the joined texts."""
    alone, whole = hashlib.sha256(), hashlib.sha256()
    for group in groups(EXAMPLES):
        for text in group:
            add(alone, tokenizer.encoder.tokens(text.encode())[0])
        add(whole, tokenizer.encoder.tokens(joined(group))[0])
    return alone.hexdigest(), whole.hexdigest()


def fast(model: Path, level: str) -> dict[str, str]:
    """What a process at this level of SIMD gives, or at the best that there is below it."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.exact.fast_ids", str(model), str(EXAMPLES)],
        env={**os.environ, "TOKCTL_SIMD": level},
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, str] = json.loads(run.stdout)
    return found


@pytest.mark.few(2)
def test_every_way_gives_the_same_ids(model: Path) -> None:
    alone, whole = by_places(Tokenizer.load(model))
    expected = {"alone": alone, "batch": alone, "array of a batch": alone, "forgetful": alone}
    expected["whole, forgetful"] = whole
    expected |= {f"whole, {threads} threads, {chunk}": whole for threads, chunk in CHUNKINGS}
    for level in LEVELS:
        assert fast(model, level) == expected, level


def test_the_ids_are_those_of_hugging_face(model: Path) -> None:
    pytest.importorskip("tokenizers")
    if model.stem not in THERE:
        pytest.skip("its normalizer differs there: see test_pipeline_presets")
    ours = Tokenizer.load(model)
    theirs = loaded_there(ours)
    encode = partial(theirs.encode_batch_fast, add_special_tokens=False)
    for group in groups(EXAMPLES):
        batch = ours.encode_ids(group, threads=2)
        for text, ids, there in zip(group, batch, encode(group), strict=True):
            assert ids == there.ids, text
