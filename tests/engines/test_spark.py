"""`tokctl.extras.spark`: ids and models of one machine, from Spark's workers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.made import (
    TRAINED,
    assert_one_machines_model,
    ids_of,
    saved_model,
    texts,
    without_letters,
)
from tokctl import TokctlError

sql = pytest.importorskip("pyspark.sql")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import tokctl.extras.spark  # noqa: E402

SCHEMA = "text string, number int"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        # Several batches in a partition.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def frame_of(spark: Any, given: list[str | None]) -> Any:
    """In several partitions, in their order."""
    frame = spark.createDataFrame([(text, n) for n, text in enumerate(given)], SCHEMA)
    return frame.repartitionByRange(4, "number").sortWithinPartitions("number")


def test_ids(spark: Any, tmp_path: Path) -> None:
    path, tokenizer = saved_model(tmp_path)
    given = texts()
    frame = frame_of(spark, given)
    encoded = tokctl.extras.spark.encode(frame, path)
    assert frame.columns == ["text", "number"]
    assert dict(encoded.dtypes) == {
        **dict(frame.dtypes),
        "ids": "array<int>",
        "count": "bigint",
    }
    rows = sorted(encoded.collect(), key=lambda row: row.number)
    expected = ids_of(tokenizer, given)
    assert [row.text for row in rows] == given
    assert [row.ids for row in rows] == expected
    assert [row["count"] for row in rows] == [None if ids is None else len(ids) for ids in expected]
    again = tokctl.extras.spark.encode(encoded, tokenizer, ids="number", count="n", replace=True)
    assert again.columns == ["text", "number", "ids", "count", "n"]
    assert again.filter("text is not null and number != ids").count() == 0


@pytest.mark.parametrize("name", TRAINED)
def test_models(name: str, spark: Any, tmp_path: Path) -> None:
    given = texts()
    frame = frame_of(spark, given)
    assert frame.rdd.getNumPartitions() == 4
    counted = tokctl.extras.spark.count(frame, TRAINED[name][0], partitions=5)
    assert_one_machines_model(counted.toArrow(), given, name, tmp_path)


def test_errors(spark: Any, tmp_path: Path) -> None:
    letters = without_letters()
    frame = frame_of(spark, ["a", "b", None, "a"] * 60 + ["x"])
    for call, message in (
        (lambda: tokctl.extras.spark.encode(frame, tmp_path / "none.json"), "can't read the model"),
        (lambda: tokctl.extras.spark.encode(frame, letters, "nope"), "has no column nope"),
        (lambda: tokctl.extras.spark.encode(frame, letters, "number"), "holds int32, not text"),
        (lambda: tokctl.extras.spark.encode(frame, letters, ids="text"), "a column text already"),
        (lambda: tokctl.extras.spark.count(frame, "bpe", "nope"), "has no column nope"),
        (lambda: tokctl.extras.spark.count(frame, partitions=0), "invalid value 0 for partitions"),
    ):
        with pytest.raises(TokctlError, match=message):
            call()
    with pytest.raises(
        Exception, match="BadInput: partition 3, behind 50 rows: a character of row "
    ) as caught:
        tokctl.extras.spark.encode(frame, letters).collect()
    assert "hint: " in str(caught.value)
