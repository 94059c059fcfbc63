"""A pickled tokenizer is its model's file: data alone, the same bytes each time."""

from __future__ import annotations

import copy
import os
import pickle
import pickletools
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import shared_file
from tests.exact.ids_in_and_out import byte_level, outcome
from tests.formats import ranks, theirs
from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, formats
from tokctl.core.errors import CoreError, OutOfMemoryError

TEXTS = ["abc ab cab a", "a<unk>b", "", "hello there", "für 中文"]


def of_ranks() -> Tokenizer:
    data, end = ranks.rank_file(ranks.tokens()), len(ranks.tokens())
    return Tokenizer(
        formats.parse(data, "ranks.tiktoken", formats.LoadOptions("cl100k", {"<|end|>": end}))
    )


def shared(name: str) -> Tokenizer:
    return Tokenizer.load(shared_file(name))


MODELS: dict[str, Callable[[], Tokenizer]] = {
    **{name: partial(lambda recipe: Tokenizer(filled(recipe)), RECIPES[name]) for name in RECIPES},
    "of Hugging Face's": lambda: Tokenizer(theirs.read(theirs.tokenizer())),
    "of ranks": of_ranks,
    "gpt2 of Hugging Face's": partial(shared, "vocab/gpt2.tokenizer.json"),
    "a model of SentencePiece's": partial(shared, "vocab/sentencepiece-unigram-en.model"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", MODELS)
def test_a_pickle_gives_the_same_tokenizer_and_the_same_pickle(name: str) -> None:
    tokenizer = MODELS[name]()
    fresh = pickle.dumps(tokenizer)
    ids = [tokenizer.encode(text).raw_ids for text in TEXTS]
    tokenizer.encode(TEXTS[0], add_special=True)
    outcome(lambda: tokenizer.encode_ids(TEXTS, threads=2))
    assert pickle.dumps(tokenizer) == fresh  # what it remembers is no part of it
    again = pickle.loads(fresh)
    assert type(again) is Tokenizer
    assert pickle.dumps(again) == fresh
    assert [again.encode(text).raw_ids for text in TEXTS] == ids
    assert again.tokens == tokenizer.tokens and again.recipe == tokenizer.recipe
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        made = pickle.loads(pickle.dumps(tokenizer, protocol))
        assert pickle.dumps(made) == fresh


@pytest.mark.parametrize("name", ["gpt2", "of ranks", "of Hugging Face's", "unigram"])
def test_a_pickle_holds_a_function_and_bytes(name: str) -> None:
    tokenizer = MODELS[name]()
    operations = [
        (code.name, value) for code, value, _ in pickletools.genops(pickle.dumps(tokenizer))
    ]
    strings = [value for code, value in operations if "UNICODE" in code]
    assert strings == ["tokctl.tokenizer", "_from_bytes"]
    data = [value for code, value in operations if "BINBYTES" in code]
    assert data == [formats.serialize(tokenizer.model)]
    others = {code for code, _ in operations if "UNICODE" not in code and "BINBYTES" not in code}
    assert others <= {"PROTO", "FRAME", "MEMOIZE", "STACK_GLOBAL", "TUPLE1", "REDUCE", "STOP"}


MAKE = """
import hashlib, pickle, sys
from tests.api.test_pickles import MODELS
for name in ("gpt2", "bert", "t5", "of ranks", "of Hugging Face's"):
    print(hashlib.sha256(pickle.dumps(MODELS[name]())).hexdigest())
"""


@pytest.mark.slow
def test_every_process_makes_the_same_pickle() -> None:
    root = Path(__file__).resolve().parents[2]
    made = set()
    for seed in ("0", "1", "77"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", MAKE]
        done = subprocess.run(
            run, cwd=root, env=environ, capture_output=True, text=True, check=True
        )
        made.add(done.stdout)
    assert len(made) == 1 and len(made.pop().split()) == 5


@pytest.mark.parametrize("damage", ["cut", "empty", "not JSON", "another file", "a number"])
def test_damaged_data_is_an_error_for_people(damage: str) -> None:
    make, (data,) = byte_level().__reduce__()
    damaged = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "not JSON": b"\x00\xff" * 100,
        "another file": b'{"name": "something else"}',
        "a number": data.replace(b'"vocab"', b'"vocabulary"', 1),
    }[damage]
    stored = pickle.dumps(Pickled(make, damaged))
    with pytest.raises(TokctlError) as caught:
        pickle.loads(stored)
    assert "a pickled tokenizer" in str(caught.value)


class Pickled:
    """Something that is pickled as a call."""

    def __init__(self, make: Callable[[bytes], Tokenizer], data: bytes) -> None:
        self.call = make, (data,)

    def __reduce__(self) -> tuple[Callable[[bytes], Tokenizer], tuple[bytes]]:
        return self.call


def test_a_copy_is_the_tokenizer_itself() -> None:
    tokenizer = byte_level()
    assert copy.copy(tokenizer) is copy.deepcopy(tokenizer) is tokenizer
    held = copy.deepcopy({"tokenizer": tokenizer, "more": [tokenizer]})
    assert held["tokenizer"] is tokenizer
    ids = tokenizer.encode_array("hello")
    assert copy.copy(ids) is copy.deepcopy(ids) is ids


def test_an_error_reaches_another_process() -> None:
    """Whatever raised it: what a person sees is the same."""
    for raised in (
        TokctlError("a", "b", exit_code=1),
        CoreError("a", "too-large", (1, 2, 3)),
        OutOfMemoryError(),
    ):
        found = pickle.loads(pickle.dumps(raised))
        assert isinstance(found, TokctlError)
        assert (str(found), found.exit_code) == (str(raised), raised.exit_code)
