"""`tokctl.extras.dask`: ids and models of one machine, from processes."""

from __future__ import annotations

from collections.abc import Iterator
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
from tokctl import TokctlError
from tokctl.extras import arrow

dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")

import tokctl.extras.dask  # noqa: E402


@pytest.fixture(autouse=True)
def two_processes() -> Iterator[None]:
    with dask.config.set(scheduler="processes", num_workers=2):
        yield


def frame_of(given: list[str | None], **columns: Any) -> Any:
    made = pd.DataFrame({"text": given, **columns}, index=range(7, len(given) + 7))
    return dd.from_pandas(made, npartitions=5)


def test_ids(tmp_path: Path) -> None:
    path, tokenizer = saved_model(tmp_path)
    given = texts()
    # Arrow has no such objects; nobody asks it to.
    frame = frame_of(given, other=pd.Series([1j] * len(given), index=range(7, len(given) + 7)))
    encoded = tokctl.extras.dask.encode(frame, path)
    assert list(encoded.columns) == ["text", "other", "ids", "count"]
    made = encoded.compute()
    assert made.index.tolist() == list(range(7, len(given) + 7))
    assert made.dtypes.equals(encoded.dtypes)
    column = pa.array(made["ids"])
    assert column.type.value_type == pa.uint32()
    expected = ids_of(tokenizer, given)
    assert column.to_pylist() == expected
    assert pa.array(made["count"]).to_pylist() == [
        None if ids is None else len(ids) for ids in expected
    ]
    again = tokctl.extras.dask.encode(encoded, path, add_special=True, replace=True, count="n")
    assert list(again.columns) == ["text", "other", "ids", "count", "n"]


@pytest.mark.parametrize("name", TRAINED)
def test_models(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokctl.extras.dask, "_FAN_IN", 2)  # a tree
    given = texts()
    counted = tokctl.extras.dask.count(frame_of(given), TRAINED[name][0]).compute()
    assert_one_machines_model(counted, given, name, tmp_path)


def test_files(tmp_path: Path) -> None:
    """Texts are counted where they are read."""
    given = texts(60)
    for number in range(3):
        part = pa.table({"text": given[number * 20 :][:20], "other": range(20)})
        pa.parquet.write_table(part, tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    counted = tokctl.extras.dask.count(frame, "bpe")
    assert len(dict(counted.dask)) == 4
    expected = arrow.count_table({"text": given})
    found = counted.compute(scheduler="threads")
    assert found.select([0, 1]).equals(expected.select([0, 1]))


def test_errors(tmp_path: Path) -> None:
    frame = frame_of(["a", "b", None, "a", "x"] * 5, number=range(25))
    for call, message in (
        (lambda: tokctl.extras.dask.encode(frame, tmp_path / "none.json"), "can't read the model"),
        (lambda: tokctl.extras.dask.encode(frame, without_letters(), "nope"), "has no column nope"),
        (
            lambda: tokctl.extras.dask.encode(frame, without_letters(), "number"),
            "holds int64, not text",
        ),
        (
            lambda: tokctl.extras.dask.encode(frame, without_letters(), ids="text"),
            "a column text already",
        ),
        (lambda: tokctl.extras.dask.count(frame, "bpe", "nope"), "has no column nope"),
    ):
        with pytest.raises(TokctlError, match=message):
            call()
    with pytest.raises(
        TokctlError, match=r"partition [0-4]: a character of row 5 is not"
    ) as caught:
        tokctl.extras.dask.encode(frame, without_letters()).compute()
    assert caught.value.hint
