"""Sources in parts: together, counted apart, they have what is counted at once."""

from __future__ import annotations

import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises_code
from tokctl.core.errors import TokctlError
from tokctl.model import Recipe
from tokctl.model.parts import NORMALIZERS
from tokctl.model.presets import PRESETS, default_recipe, preset
from tokctl.sources import ReadOptions, Source, open_sources
from tokctl.sources.parts import parts_of
from tokctl.training import counting
from tokctl.training.options import TrainOptions

OPTIONS = TrainOptions(vocab_size=1000)

#: Characters that decide where a text may be cut, of one to four bytes.
CHARACTERS = "aab 1!\n\t\r é語́ \U0001f600\u017f"

RECIPES = {
    **{name: default_recipe(name) for name in ("bpe", "wordpiece", "unigram", "superbpe", "word")},
    **{name: preset(name) for name in PRESETS},
}


def assert_same(source: Source, recipe: Recipe, size: int, options: TrainOptions = OPTIONS) -> int:
    """Counts the source at once, and in parts of that size; the number of parts."""
    counts, read = counting.count([source], recipe, options)
    together: dict[bytes, int] = {}
    documents = length = 0
    parts = parts_of(source, size)
    for part in parts:
        (found,) = counting.count_parts([(part, 1)], recipe, options)
        documents += found.documents
        length += found.bytes
        for word, times in found.counts.items():
            together[word] = together.get(word, 0) + times
        assert (found.digests == [[]]) == bool(part.boundaries)
    assert list(together.items()) == counts.items()
    every = [(part, 1) for part in parts]
    (at_once,) = counting.count_parts(every, recipe, options)
    assert at_once.counts.items() == counts.items()
    rounds: dict[bytes, int] = {}
    for last in counting.count_parts(every, recipe, options, memory_limit=0):
        for word, times in last.counts.items():
            rounds[word] = rounds.get(word, 0) + times
    assert list(rounds.items()) == counts.items()
    assert last[1:] == at_once[1:]
    assert (documents, length) == (read.documents, read.bytes)
    assert counting.digest_of(counting.source_digests(source, recipe, options)) == read.digest
    return len(parts)


def text_file(folder: Path, data: bytes) -> Source:
    path = folder / "a.txt"
    path.write_bytes(data)
    (source,) = open_sources([path])
    return source


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RECIPES)
def test_a_text(name: str, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    if recipe.traits.reads_twice:
        pytest.skip("reads texts twice")
    seeded = random.Random(name)
    words = ["".join(seeded.choices(CHARACTERS, k=seeded.randrange(1, 9))) for _ in range(40)]
    text = "".join(seeded.choice(words) + seeded.choice([" ", "", "\n"]) for _ in range(900))
    for size, length in ((1, 900), (7, 3000), (100, len(text)), (1500, len(text))):
        source = text_file(tmp_path, text[:length].encode())
        assert assert_same(source, recipe, size) > 1


@settings(max_examples=60)
@given(
    st.one_of(st.text(CHARACTERS, max_size=80).map(str.encode), st.binary(max_size=80)),
    st.sampled_from(sorted(RECIPES)),
    st.integers(1, 30),
)
def test_any_text(data: bytes, name: str, size: int) -> None:
    recipe = RECIPES[name]
    options = TrainOptions(vocab_size=1000, errors="replace")
    if recipe.traits.reads_twice or (not recipe.is_byte_level and not _is_utf8(data)):
        return
    with tempfile.TemporaryDirectory() as folder:
        assert_same(text_file(Path(folder), data), recipe, size, options)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.few(15)
@pytest.mark.parametrize("name", ["bpe", "wordpiece"])
@pytest.mark.parametrize("normalizer", [*NORMALIZERS.names(), "several"])
def test_what_is_cut_before_it_is_normalized(name: str, normalizer: str, tmp_path: Path) -> None:
    """It must be cut behind that, too; or not at all."""
    steps = {
        "replace": "replace:w => W",
        "prepend": "prepend:x",
        "several": "nfkc,lowercase,strip,collapse-spaces",
    }
    if normalizer == "precompiled":
        pytest.skip("needs a table")
    found = NORMALIZERS.parse_list(steps.get(normalizer, normalizer))
    recipe = replace(default_recipe(name), normalizers=tuple(found))
    text = "  low low, lower (Löw) low \n low\tlow ﬁ e\u0301 .a" * 60
    assert_same(text_file(tmp_path, text.encode()), recipe, 50)


def test_a_text_without_a_place_to_cut(tmp_path: Path) -> None:
    """One part has it all, and no other reads more than its own place."""
    source = text_file(tmp_path, b"x" * 5000)
    assert assert_same(source, default_recipe("bpe"), 100) == 50


@pytest.mark.parametrize("ending", ["\n", ""])
def test_lines(ending: str, tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"line {n} " + "é\n" * (n % 5)}) for n in range(300)]
    rows[7] = ""
    path = tmp_path / "a.jsonl"
    path.write_text("\ufeff" + "\n".join(rows) + ending, encoding="utf-8")
    (source,) = open_sources([path])
    for size in (1, 40, 1000):
        assert assert_same(source, default_recipe("bpe"), size) > 5
    counted = tmp_path / "a.tsv"
    counted.write_text("low\t3\nlower\t0\n" * 50 + f"newest\t2{ending}")
    (source,) = open_sources([counted], ReadOptions("tsv"))
    assert assert_same(source, default_recipe("bpe"), 20) > 5


def test_row_groups(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    texts = [f"row {n} of many" for n in range(1000)]
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=90)
    (source,) = open_sources([path])
    assert assert_same(source, default_recipe("bpe"), 1) == 12
    assert 1 < assert_same(source, default_recipe("bpe"), path.stat().st_size // 3) < 12


@pytest.mark.parametrize("name", ["a.txt.gz", "folder", "a.arrow"])
def test_others_are_read_as_a_whole(name: str, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "b.txt").write_text("low lower")
    elif name == "a.arrow":
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"text": ["low", "lower"]})
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_bytes(gzip.compress(b"low lower newest " * 99, mtime=0))
    (source,) = open_sources([path])
    assert assert_same(source, default_recipe("bpe"), 1_000_000) == 1
    if name != "folder":
        assert assert_same(source, default_recipe("bpe"), 1) == 1


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_errors_name_the_line_of_the_whole_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    line = b'{"text": "low"}\n' if name == "a.jsonl" else b"low lower newest\n"
    path.write_bytes(line * 500 + (b'{"text": 1}\n' if name == "a.jsonl" else b"\xff\n") + line * 9)
    (source,) = open_sources([path])
    recipe = default_recipe("wordpiece")
    messages = set()
    with pytest.raises(TokctlError) as whole:
        counting.count([source], recipe, OPTIONS)
    for part in parts_of(source, 1000):
        try:
            list(counting.count_parts([(part, 1)], recipe, OPTIONS))
        except TokctlError as error:
            messages.add(str(error))
    assert "line 501" in str(whole.value)
    assert messages == {str(whole.value)}


def test_what_has_no_parts() -> None:
    with raises_code("conflict"):
        counting.check_parts(default_recipe("boundless"), OPTIONS)
    with raises_code("conflict"):
        counting.check_parts(default_recipe("bpe"), TrainOptions(vocab_size=1000, sample=0.5))
