"""`tokctl.extras.ray.train` and `train --engine ray`: the model file of one machine."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl as run
from tests.cluster.conftest import dying
from tests.errors import raises_code
from tokctl import TokctlError, Tokenizer
from tokctl.core.errors import ExitCode
from tokctl.extras import arrow

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")

import tokctl.extras.ray  # noqa: E402
from tokctl.extras.ray import Cluster  # noqa: E402
from tokctl.sources import open_sources  # noqa: E402

pytestmark = pytest.mark.usefixtures("cluster")

#: So small that there are many tasks.
SMALL = Cluster(part_size=5000, partitions=3)


def written(tokenizer: Tokenizer, folder: Path) -> bytes:
    path = folder / "m.json"
    tokenizer.save(path)
    return path.read_bytes()


def assert_same(sources: Any, folder: Path, cluster: Cluster = SMALL, **options: Any) -> None:
    asked = {"vocab_size": 700, **options}
    alone = written(Tokenizer.train(sources, **asked), folder)
    assert written(Tokenizer.train(sources, engine=cluster, **asked), folder) == alone


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram", "superbpe", "picky", "word"])
def test_the_model_of_one_machine(algorithm: str, texts: list[Path], tmp_path: Path) -> None:
    assert_same(texts, tmp_path, algorithm=algorithm)


@pytest.mark.parametrize(
    "options",
    [
        {"min_count": 3},
        {"weights": {"WEIGHED": "2.5"}},
        {"memory": 1 << 20},
        {"min_frequency": 4, "max_token_length": 3},
        {"special_tokens": ["<s>"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options(options: dict[str, Any], texts: list[Path], tmp_path: Path) -> None:
    if "weights" in options:
        options = {"weights": {str(texts[0]): "2.5"}}
    assert_same(texts, tmp_path, **options)


def test_parts_and_partitions_do_not_matter(texts: list[Path], tmp_path: Path) -> None:
    for part_size, partitions in ((1 << 30, None), (900, 1), (20_000, 7)):
        assert_same(texts, tmp_path, Cluster(part_size=part_size, partitions=partitions))


def test_a_dataset(texts: list[Path], tmp_path: Path) -> None:
    table = pa.parquet.read_table(texts[3])
    blocks = [table.slice(start, 100) for start in range(0, len(table), 100)]
    dataset = ray.data.from_arrow(blocks)
    alone = Tokenizer.train([texts[3]], vocab_size=500)
    for cluster_ in (SMALL, Cluster()):
        made = tokctl.extras.ray.train(dataset, cluster=cluster_, vocab_size=500)
        assert written(made, tmp_path) == written(alone, tmp_path)


def test_counts_are_those_of_a_table(texts: list[Path]) -> None:
    table = pa.parquet.read_table(texts[3])
    expected = arrow.count_table(table, "wordpiece")
    dataset = ray.data.from_arrow([table.slice(0, 400), table.slice(400)])
    for data in (texts[3], dataset):
        assert tokctl.extras.ray.count(data, "wordpiece", cluster=SMALL).equals(expected)


def test_a_dataset_is_encoded(texts: list[Path]) -> None:
    tokenizer = Tokenizer.train(texts, vocab_size=500)
    table = pa.table({"text": ["low lower", None, ""], "n": [1, 2, 3]})
    encoded = tokctl.extras.ray.encode(ray.data.from_arrow(table), tokenizer)
    rows = {row["n"]: row for row in encoded.take_all()}
    assert list(rows[1]["ids"]) == tokenizer.encode_ids("low lower")
    assert rows[2]["ids"] is None
    assert list(rows[3]["ids"]) == []


def test_a_worker_that_dies(texts: list[Path], tmp_path: Path) -> None:
    alone = written(Tokenizer.train(texts, vocab_size=700), tmp_path)
    with dying(1, times=2) as deaths:
        while deaths() < 2:
            made = Tokenizer.train(texts, vocab_size=700, engine=Cluster(part_size=1000))
            assert written(made, tmp_path) == alone


@pytest.mark.slow
def test_workers_die_at_random(texts: list[Path], tmp_path: Path) -> None:
    alone = written(Tokenizer.train(texts, vocab_size=700), tmp_path)
    for seed in range(12):
        with dying(seed, times=1) as deaths:
            while not deaths():
                made = Tokenizer.train(texts, vocab_size=700, engine=Cluster(part_size=2000))
                assert written(made, tmp_path) == alone


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", b'{"text": "low"}\n' * 700 + b'{"text": 3}\n', "a.jsonl: line 701: field text"),
        ("a.txt", b"low\n" * 3000 + b"\xff\n", "a.txt: line 3001, byte 12000 is not UTF-8"),
        ("a.txt.gz", b"\x1f\x8b\x08\x00 damaged", "a.txt.gz"),
    ],
)
def test_errors_are_those_of_one_machine(
    name: str, text: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(text)
    errors = []
    for engine in (None, SMALL):
        with pytest.raises(TokctlError) as raised:
            Tokenizer.train([path], vocab_size=700, algorithm="wordpiece", engine=engine)
        errors.append(str(raised.value))
    assert message in errors[0]
    assert errors[0] == errors[1]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low " * 5000)
    (source,) = open_sources([path])
    path.unlink()
    with raises_code("unreadable", r"can't read .*a\.txt"):
        Tokenizer.train(source, vocab_size=300, engine=SMALL)


def test_what_a_cluster_refuses() -> None:
    with (
        Path(__file__).open("rb") as file,
        pytest.raises(TokctlError, match="stdin can't be read by the workers of a cluster"),
    ):
        Tokenizer.train(open_sources(["-"], stdin=file), vocab_size=300, engine=SMALL)
    with raises_code("conflict"):
        Tokenizer.train(__file__, vocab_size=300, engine=Cluster("ray://nowhere:1"))
    with raises_code("bad-value", "invalid value 0 for part_size"):
        Cluster(part_size=0)


@pytest.mark.slow
def test_the_command_line(texts: list[Path], tmp_path: Path) -> None:
    names = list(map(str, texts))
    for engine in ([], ["--engine", "ray"]):
        result = run(
            "train", "--vocab", "600", "-o", f"{tmp_path}/{len(engine)}.json", *names, *engine
        )
        assert result.code == 0, result.err
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "2.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "spark", "a.txt"], "invalid value 'spark'"),
        (["--engine", "ray", "--algo", "boundless", "a.txt"], "boundless is trained on one"),
        (["--engine", "ray", "--sample", "0.5", "a.txt"], "a sample is drawn from line to line"),
        (
            ["--engine", "ray", "--word-counts", "a.txt"],
            "--engine can't be used with --word-counts",
        ),
        (["--engine", "ray", "--lang", "fi=a.txt"], "languages are counted on one machine"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("low\t3\n")
    monkeypatch.chdir(tmp_path)
    result = run("train", *options)
    assert result.code == ExitCode.BAD_INPUT
    assert message in result.err


@pytest.mark.slow
def test_nodes_that_die(texts: list[Path], tmp_path: Path) -> None:
    """Several nodes, each with its own objects: what was lost with one is counted again."""
    from ray.cluster_utils import Cluster as Nodes

    ray.shutdown()
    alone = written(Tokenizer.train(texts, vocab_size=700), tmp_path)
    seeded = random.Random(3)
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        ray.init(nodes.address, log_to_driver=False, logging_level=logging.CRITICAL)
        for _ in range(5):
            others = [nodes.add_node(num_cpus=1) for _ in range(2)]
            kill = _Kill(nodes, others.pop(seeded.randrange(2)), seeded.randrange(3000, 90_000))
            cluster = Cluster(part_size=2000)
            made = Tokenizer.train(texts, vocab_size=700, engine=cluster, progress=kill)
            assert kill.victim is None
            assert written(made, tmp_path) == alone
            nodes.remove_node(others[0])
    finally:
        ray.shutdown()
        nodes.shutdown()


class _Kill:
    """Kills a node when so many bytes are done."""

    def __init__(self, nodes: Any, victim: Any, moment: int) -> None:
        self.nodes, self.victim, self.moment = nodes, victim, moment

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        assert phase in {"count", "merge-counts", "collect", "merge"}
        assert total is not None
        if phase == "count" and self.victim is not None and done >= self.moment:
            self.nodes.remove_node(self.victim, allow_graceful=False)
            self.victim = None
