"""`tokctl.extras.datatrove`: files equal datatrove's own, models equal one machine's."""

from __future__ import annotations

import json
import struct
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.engines.made import (
    TRAINED,
    assert_one_machines_model,
    parquet,
    saved_model,
    texts,
    without_letters,
)
from tests.errors import raises_code
from tokctl import TokctlError, Tokenizer

pytest.importorskip("datatrove")
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline import tokens
from datatrove.pipeline.readers import JsonlReader

from tokctl.extras.datatrove import DocumentTokenizer, PreTokenCounter

TASKS = 2


def corpus(folder: Path) -> list[str | None]:
    """Four files; their texts in the order in which two tasks read them. The reader leaves empty
    ones out."""
    (folder / "corpus").mkdir()
    files = []
    for number in range(4):
        given = texts(60, seed=number)
        lines = [json.dumps({"text": text}) + "\n" for text in given]
        (folder / "corpus" / f"{number}.jsonl").write_text("".join(lines))
        files.append([text for text in given if text])
    return [text for task in range(TASKS) for some in files[task::TASKS] for text in some]


def run(folder: Path, *steps: Any, workers: int = TASKS) -> None:
    pipeline = [JsonlReader(str(folder / "corpus")), *steps]
    logs = str(folder / "logs" / str(len(list(folder.rglob("*")))))
    LocalPipelineExecutor(pipeline, tasks=TASKS, workers=workers, logging_dir=logs).run()


def files(folder: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert found
    return found


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle_documents": False, "eos_token": "<end>"},
        {"seed": 3, "eos_token": "<end>", "max_tokens_per_file": 300},
        {"seed": 3, "shuffle_chunk_size": 64, "save_filename": "x", "save_index": False},
    ],
    ids=lambda options: list(options)[-1],
)
def test_the_files_of_datatrove(options: dict[str, Any], tmp_path: Path) -> None:
    corpus(tmp_path)
    _, tokenizer = saved_model(tmp_path)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path, format="huggingface")
    for name, step in (("theirs", tokens.DocumentTokenizer), ("ours", DocumentTokenizer)):
        working = {"local_working_dir": str(tmp_path / f"{name}-work")}
        given = {**options, **(working if "seed" in options else {})}
        run(tmp_path, step(str(tmp_path / name), str(path), batch_size=7, **given))
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")


def test_what_is_merged(tmp_path: Path) -> None:
    given = corpus(tmp_path)
    path, tokenizer = saved_model(tmp_path)
    options = {"eos_token": "<end>", "shuffle_documents": False}
    run(tmp_path, DocumentTokenizer(str(tmp_path / "ids"), path, **options))
    merger = tokens.DocumentTokenizerMerger(
        str(tmp_path / "ids"), str(tmp_path / "merged"), "all", shuffle=False, progress=False
    )
    merger.run()
    written = (tmp_path / "merged" / "000_all.ds").read_bytes()
    end = tokenizer.special_ids["<end>"]
    expected = [[*tokenizer.encode_ids(text), end] for text in given if text is not None]
    assert struct.unpack(f"<{len(written) // 2}H", written) == tuple(chain.from_iterable(expected))
    index = (tmp_path / "merged" / "000_all.ds.index").read_bytes()
    ends = struct.unpack(f"<{len(index) // 8}Q", index)
    assert [end - start for start, end in zip((0, *ends), ends)] == list(map(len, expected))  # noqa: B905


def test_empty_documents_and_special_tokens(tmp_path: Path) -> None:
    """Documents stay, of whatever length; a text spells a special token where that is asked for."""
    path, tokenizer = saved_model(tmp_path)
    given = ["ab <end>", "", None, "c"]
    for special in ("none", "all"):
        step = DocumentTokenizer(
            str(tmp_path / special), path, shuffle_documents=False, special=special, batch_size=3
        )
        list(step.run(iter([Document(text, str(n)) for n, text in enumerate(given)])) or ())  # type: ignore[arg-type]
        lengths = [len(tokenizer.encode_ids(text or "", special=special)) for text in given]
        index = (tmp_path / special / "00000_unshuffled.ds.index").read_bytes()
        ends = struct.unpack("<4Q", index)
        assert [end - start for start, end in zip((0, *ends), ends)] == lengths  # noqa: B905


def test_wide_ids(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    base = [f"w{number}" for number in range(66_000)]
    wide = Tokenizer.train(dict.fromkeys(base, 1), algorithm="word", vocab_size=65_900)
    wide.save(path)
    step = DocumentTokenizer(str(tmp_path / "ids"), path, shuffle_documents=False)
    step.run(iter([Document("w65000 w3", "0")]))
    written = (tmp_path / "ids" / "00000_unshuffled.ds").read_bytes()
    assert list(struct.unpack(f"<{len(written) // 4}I", written)) == wide.encode_ids("w65000 w3")


@pytest.mark.parametrize("name", TRAINED)
def test_models(name: str, tmp_path: Path) -> None:
    given = corpus(tmp_path)
    run(tmp_path, PreTokenCounter(str(tmp_path / "counts"), TRAINED[name][0], batch_size=20))
    counted = parquet.read_table(tmp_path / "counts")
    assert set(counted["source"].to_pylist()) == {0, 1}
    assert_one_machines_model(counted, given, name, tmp_path)


def test_errors(tmp_path: Path) -> None:
    corpus(tmp_path)  # read in this process: a pool of workers can hang when one of them fails
    letters = tmp_path / "letters.json"
    without_letters().save(letters)
    ids = str(tmp_path / "ids")
    with raises_code("unsupported"):
        DocumentTokenizer(ids, letters, save_loss_metadata=True)
    for path, message in (
        (letters, "document 1"),
        (tmp_path / "none.json", "can't read the model"),
    ):
        with pytest.raises(TokctlError, match=message) as caught:
            run(tmp_path, DocumentTokenizer(ids, path), workers=1)
        assert caught.value.hint
    saved, _ = saved_model(tmp_path)
    with raises_code("unknown-name"):
        run(tmp_path, DocumentTokenizer(ids, saved, eos_token="nope"), workers=1)
    with raises_code("unreadable"):
        run(tmp_path, PreTokenCounter(ids, "no-such-recipe"), workers=1)
