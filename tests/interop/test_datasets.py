"""Data sets of Hugging Face's: mapped by processes, and cached by a fingerprint that stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tokctl import Tokenizer, preset

datasets = pytest.importorskip("datasets")

TEXTS = [f"There is still a lot of treasure {number}" for number in range(200)]


@pytest.fixture
def tokenizer() -> Tokenizer:
    words = {" treasure": 9, " still": 5, " lot": 3}
    return Tokenizer.train(words, recipe=preset("gpt2"), vocab_size=280)


@pytest.mark.parametrize("processes", [None, 2])
def test_a_data_set_is_mapped_in_batches(tokenizer: Tokenizer, processes: int | None) -> None:
    made = datasets.Dataset.from_dict({"text": TEXTS})
    tokenizer.encode_ids(TEXTS, threads=2)
    mapped = made.map(
        lambda batch: {"input_ids": tokenizer.encode_ids(batch["text"])},
        batched=True,
        num_proc=processes,
    )
    assert mapped["input_ids"][:] == tokenizer.encode_ids(TEXTS)


def test_a_transform_encodes_what_is_asked_for(tokenizer: Tokenizer) -> None:
    made = datasets.Dataset.from_dict({"text": TEXTS})
    made.set_transform(lambda batch: {"input_ids": tokenizer.encode_ids(batch["text"])})
    assert made[3:5]["input_ids"] == tokenizer.encode_ids(TEXTS[3:5])
    assert made[7]["input_ids"] == tokenizer.encode_ids(TEXTS[7])


def test_a_column_is_an_iterable_of_texts(tokenizer: Tokenizer) -> None:
    made = datasets.Dataset.from_dict({"text": TEXTS})
    wanted = tokenizer.encode_ids(TEXTS)
    assert tokenizer.encode_ids(made["text"]) == wanted
    assert list(tokenizer.encode_iter(row["text"] for row in made)) == wanted
    assert tokenizer.encode_ids(made.data.column("text")) == wanted


def test_arrays_become_a_column_of_lists(tokenizer: Tokenizer) -> None:
    pa = pytest.importorskip("pyarrow")
    ids, offsets = tokenizer.encode_array(TEXTS)
    lists = pa.LargeListArray.from_arrays(
        pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)]),
        pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)]),
    )
    made = datasets.Dataset(pa.table({"input_ids": lists}))
    assert made["input_ids"][:] == tokenizer.encode_ids(TEXTS)


RUN = """
import json, sys
import datasets
from tokctl import Tokenizer

datasets.disable_progress_bars()
tok = Tokenizer.load(sys.argv[1])
if len(sys.argv) > 4:
    tok.encode_ids(["something to remember"] * 9, threads=2)
ran = []

def encode(batch):
    print("encoding", file=sys.stderr)
    return {"input_ids": tok.encode_ids(batch["text"])}

made = datasets.load_dataset("text", data_files=sys.argv[2], split="train", cache_dir=sys.argv[3])
mapped = made.map(encode, batched=True, num_proc=2)
print(json.dumps([mapped._fingerprint, mapped["input_ids"][:]]))
"""


@pytest.mark.slow
def test_another_process_finds_what_was_mapped_before(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model, text, script = tmp_path / "model.json", tmp_path / "text.txt", tmp_path / "run.py"
    tokenizer.save(model)
    text.write_text("\n".join(TEXTS))
    script.write_text(RUN)

    def run(*more: str) -> tuple[Any, bool]:
        command = [
            sys.executable,
            str(script),
            str(model),
            str(text),
            str(tmp_path / "cache"),
            *more,
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        return json.loads(done.stdout), "encoding" in done.stderr

    first, encoded = run()
    assert encoded and first[1] == tokenizer.encode_ids(TEXTS)
    assert run() == (first, False)
    assert run("after other work") == (first, False)
