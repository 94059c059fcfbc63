"""`datasets.map` with the functions of `tokctl.extras.arrow`: ids and models of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engines.made import (
    TRAINED,
    assert_one_machines_model,
    ids_of,
    pa,
    saved_model,
    texts,
    without_letters,
)
from tests.errors import raises_code
from tokctl import Recipe
from tokctl.extras import arrow

datasets = pytest.importorskip("datasets")


def dataset_of(given: list[str | None], folder: Path) -> Any:
    """From a file, as most are."""
    pa.parquet.write_table(pa.table({"text": given}), folder / "given.parquet")
    return datasets.Dataset.from_parquet(
        str(folder / "given.parquet"), cache_dir=str(folder / "cache")
    ).with_format("arrow")


def counted(batch: Any, rows: list[int], recipe: Recipe) -> Any:
    return arrow.count_table(batch, recipe, source=rows[0])


def test_ids(tmp_path: Path) -> None:
    path, tokenizer = saved_model(tmp_path)
    given = texts()
    dataset = dataset_of(given, tmp_path)
    made = dataset.map(
        arrow.encode_table, batched=True, batch_size=70, num_proc=2, fn_kwargs={"model": str(path)}
    )
    assert made.data["ids"].to_pylist() == ids_of(tokenizer, given)
    assert made.data["text"].to_pylist() == given


@pytest.mark.parametrize("name", TRAINED)
def test_models(name: str, tmp_path: Path) -> None:
    given = texts()
    found = dataset_of(given, tmp_path).map(
        counted,
        with_indices=True,
        batched=True,
        batch_size=70,
        num_proc=2,
        remove_columns="text",
        fn_kwargs={"recipe": TRAINED[name][0]},
    )
    assert_one_machines_model(found[:], given, name, tmp_path)


def test_errors(tmp_path: Path) -> None:
    dataset = dataset_of(["a", "b", None, "x"] * 5, tmp_path)
    with raises_code("no-id", "row 4"):
        dataset.map(arrow.encode_table, batched=True, fn_kwargs={"model": without_letters()})
