"""`docs/adapt.md` names every way to make a row, every fact, and the measured sizes as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.conftest import shared_file
from tokctl import Tokenizer, adapt
from tokctl.extras.adapt import NEW_ROWS, CarriedMatrix, MovedTokens
from tokctl.formats.holes import MOST_HOLES
from tokctl.idfiles import weights

PAGE = (Path(__file__).parents[2] / "docs" / "adapt.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_rows_and_limits() -> None:
    table = re.findall(r"^\| `(\w+)` \|", section("Embeddings"), flags=re.MULTILINE)
    assert table == list(NEW_ROWS)
    text = " ".join(PAGE.split())
    assert (
        f"{MOST_HOLES:,}" in text and weights._BLOCK_SIZE == 2 << 20 and "a block of 2 MB" in text
    )
    types = [name for name in weights._TYPES if name in section("Embeddings")]
    assert types == list(weights._TYPES)


def test_the_facts_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokctl("train", "-q", "--vocab", "260", "-o", "m.json", stdin=b"abab abc cab bac " * 9)
    line = ("adapt", "m.json", "--special-token", "<s>", "-o", "new.json", "--json")
    part = section("JSON")
    firsts = re.findall(r"^\| (.*?) \|", part, flags=re.MULTILINE)
    listed = [name for first in firsts for name in re.findall(r"`(\w+)`", first)]
    assert listed == list(json.loads(tokctl(*line).out))
    for kind, row in ((CarriedMatrix, "`embeddings`"), (MovedTokens, "`verified`")):
        cells = part.partition(f"| {row} |")[2].partition("\n")[0]
        assert set(re.findall(r"`(\w+)`", cells)) == set(kind.__dataclass_fields__)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "prune", "vocab"),
    [
        ("vocab/gpt2.tokenizer.json", "32K", "34K"),
        ("vocab/cl100k_base.tiktoken", "50K", "52K"),
    ],
)
def test_the_table(tmp_path: Path, model: str, prune: str, vocab: str) -> None:
    books, code = shared_file("corpora/books.txt"), shared_file("corpora/code.txt")
    new = tmp_path / f"new{Path(model).suffix}"
    line = ("adapt", shared_file(model), "--prune", prune, books, "--vocab", vocab)
    done = tokctl(*line, "--new-text", code, "-o", new, "--json")
    said = json.loads(done.out)
    assert said["uses_removed"] == 0
    sizes = []
    for path in (shared_file(model), new):
        row = [said["vocab_size" if path == new else "vocab_size_before"]]
        for text in (books, code):
            counted = tokctl("encode", path, "--count", "--whole", text).out
            row.append(int(counted.split()[0]))
        sizes.append(" | ".join(f"{number:,}" for number in row))
    assert all(f" | {row} |" in PAGE for row in sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "cl100k_base.tiktoken"])
def test_the_table_of_residues(name: str) -> None:
    texts = [shared_file(f"corpora/{text}.txt") for text in ("books", "treasure-island", "code")]
    contents = [text.read_text(encoding="utf-8") for text in texts]
    before = Tokenizer.load(shared_file(f"vocab/{name}"))
    for bits, said in ((2.0, "2 bits"), (float("inf"), "any (`inf`)")):
        found = adapt(before, residues=0.05, residue_entropy=bits, texts=texts[:1])
        assert found.residues is not None and f"{found.residues.judged:,}" in PAGE
        many = len(found.residues.found)
        row = [said, f"{many:,}", f"{100 * many / found.residues.judged:.1f} %"]
        for content in contents:
            now, then = (len(one.encode_ids(content)) for one in (found.tokenizer, before))
            row.append(f"{now:,} (+{float(f'{100 * (now / then - 1):.2g}')} %)")
        assert f" | {' | '.join(row)} |" in PAGE
