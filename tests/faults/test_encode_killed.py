"""Sharded encoding that is killed at random moments and goes on: the same bytes in the end."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import process
from tests.faults.killing import Moments, digests, hidden, stopped, timed
from tokctl import Tokenizer

pytestmark = pytest.mark.slow

#: Kills of each campaign. The moments come from the seed, which a failure shows.
KILLS = 25
SEED = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample: str) -> Path:
    """A model, and three sources: a plain text, JSON Lines, and a compressed text."""
    folder = tmp_path_factory.mktemp("killed")
    lines = sample.splitlines(keepends=True)
    Tokenizer.train(dict.fromkeys(sample.split(), 1), vocab_size=600).save(folder / "model.json")
    (folder / "plain.txt").write_text(sample * 2, encoding="utf-8")
    records = [json.dumps({"text": "".join(lines[at : at + 3])}) for at in range(0, len(lines), 3)]
    (folder / "records.jsonl").write_text("\n".join(records) + "\n", encoding="utf-8")
    (folder / "packed.gz").write_bytes(gzip.compress(sample.encode()))
    return folder


def encoding(form: str, target: str, *more: str) -> list[str]:
    sources = ["plain.txt", "records.jsonl", "packed.gz"]
    how = ["--as", form, "--shard-size", "1K", "--eos", "the", "-m", "model.json"]
    return ["encode", *how, "-o", target, *more, *sources]


@pytest.mark.parametrize(
    ("form", "number"),
    [("bin", systems.KILL), *(("megatron", number) for number in systems.ENDING[:1])],
)
def test_a_killed_encoding_goes_on(folder: Path, form: str, number: int) -> None:
    seconds = max(timed(encoding(form, f"whole-{form}"), folder), 0.1)
    expected = digests(folder / f"whole-{form}")
    assert len([name for name in expected if "shard" in name]) > 20
    moments = Moments(random.Random(SEED), seconds)
    target = folder / f"killed-{form}"
    kills = 0
    for run in range(10 * KILLS):
        moment = moments.next()
        where = f"seed {SEED}, run {run}, after {moment:.3f} s"
        ended = stopped(encoding(form, target.name, "--resume"), folder, moment, number)
        moments.heard(in_time=ended.killed)
        if ended.killed:
            kills += 1
            # Before the handler of SIGTERM stands, the signal's own end; then ours.
            assert ended.code in (systems.KILLED, -number, 128 + number), (where, ended)
        if target.exists():
            left = digests(target)
            shards = {name: digest for name, digest in left.items() if "shard" in name}
            assert shards.items() <= expected.items(), where
        if not ended.killed:
            assert digests(target) == expected, where
            assert hidden(target) == [], where
            shutil.rmtree(target)
        if kills == KILLS:
            break
    assert kills == KILLS
    ended = process(*encoding(form, target.name, "--resume"), cwd=folder)
    assert ended.code == 0, ended
    assert digests(target) == expected
