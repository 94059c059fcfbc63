"""`tokctl compare --suite` as a person calls it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.comparing import BOTH, Call, call
from tests.metrics.models import model
from tokctl.formats import hub, tiktoken

__all__ = ["call"]

SHARED = Path(__file__).parents[2].parent / "shared"
HEADINGS = [
    "What the figures say",
    "Bytes per token ↑, by domain",
    "95% intervals of bytes per token",
    "Tokens that are unknown ↓, by domain",
    "Words that are one token (STRR) ↑, by domain",
    "Lines that come back exactly ↑, by domain",
    "Parity ↓: tokens over those of English",
    "Characters beyond ASCII that are cut into bytes ↓, by script",
    "Numbers from 1 to 9,999: tokens",
    "Numbers from 1 to 9,999: how they are cut",
    "Numbers from 1 to 9,999: cuts by place",
    "Names in code",
    "Tokens of an indentation ↓",
    "Operators of several characters",
    "Under typos, case and spaces: words with another number of tokens",
    "Under typos, case and spaces: tokens of the variant per token",
    "Under typos, case and spaces: boundaries kept",
    "Tokens that are hardly trained",
    "The ordinary comparison",
    "Metrics",
]


@pytest.fixture(autouse=True)
def no_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No published vocabulary is at hand but what a test puts there."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setattr(hub, "cached", dict)


@pytest.mark.slow
def test_all_parts_in_their_order(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gold.tsv").write_text("lowest\tlow est\nnewer\tnew er\n")
    found = call(*BOTH, "--suite", "--gold", "gold.tsv")
    assert (found.code, found.err) == (0, "")
    places = [found.out.index(f"\n{heading}\n") for heading in HEADINGS]
    assert places == sorted(places)
    assert found.out.count("\n• ") >= 4
    assert "\nBoundaries of morphemes, of gold.tsv\n" in found.out
    lines = found.out.splitlines()
    domains = lines[lines.index("Bytes per token ↑, by domain") + 1 :][:8]
    assert [line.split("  ")[0] for line in domains[1:]] == [
        *("low.txt", "prose", "code", "mark-up", "names", "numbers", "many scripts")
    ]
    assert all(line.count("*") == 1 for line in domains[1:])
    morphemes = found.out.partition("Boundaries of morphemes")[2].partition("The ordinary")[0]
    assert "boundary recall" in morphemes and "*" not in morphemes
    monkeypatch.setenv("COLUMNS", "60")
    narrow = call(*BOTH, "--suite", "--gold", "gold.tsv")
    assert max(map(cell_len, narrow.out.splitlines())) <= 60


def test_other_forms(call: Call) -> None:
    found = call(*BOTH, "--suite", "--json")
    document = json.loads(found.out)
    plain = json.loads(call(*BOTH, "--json").out)
    suite = document.pop("suite")
    document["provenance"].pop("command")
    plain["provenance"].pop("command")
    assert document == plain
    assert [model["name"] for model in suite["models"]] == ["b", "w"]
    assert [domain["name"] for domain in suite["domains"]][:2] == ["low.txt", "prose"]
    markdown = call(*BOTH, "--suite", "--markdown").out
    assert markdown.startswith("# Suite\n") and "\n## Names in code\n" in markdown
    latex = call(*BOTH, "--suite", "--latex").out
    assert "\\section" in latex and "Names in code" in latex


def test_models_are_trained_where_none_is_named(call: Call) -> None:
    Path("text.txt").write_text("".join(f"low lower newest {n} widest\n\n" for n in range(300)))
    found = call("--suite", "--algo", "bpe,char", "--vocab", "300", "--json", "text.txt")
    assert found.code == 0
    suite = json.loads(found.out)["suite"]
    assert [model["name"] for model in suite["models"]] == ["bpe", "char"]
    # A tenth is measured; ids are counted on the rest, too.
    own, *rest = suite["domains"]
    whole = Path("text.txt").stat().st_size
    assert 0.05 * whole < own["bytes"] < 0.15 * whole
    assert suite["counted_bytes"] == whole + sum(domain["bytes"] for domain in rest)


@pytest.mark.slow
def test_published_vocabularies(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    none = call(*BOTH, "--suite", "--published", "--json")
    assert none.code == 0
    assert none.err == (
        "note: no published vocabulary is in the caches of this machine; "
        "-m hf:ORG/NAME fetches one (-m hf:gpt2)\n"
    )
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    model("qwen").save(snapshot / "tokenizer.json")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "tokenizer.json").write_text("{}")
    there = {"a/damaged": tmp_path / "damaged", "b/small": snapshot}
    there |= {f"c/{n}": snapshot for n in range(6)}
    monkeypatch.setattr(hub, "cached", lambda: there)
    found = call(*BOTH, "--suite", "--published", "--json")
    assert found.code == 0
    notes = found.err.splitlines()
    assert notes[0].startswith("note: a/damaged is left out: ")
    assert notes[1:] == [
        "note: of the published vocabularies these are left out: c/4 and c/5",
        "published vocabularies at hand: b/small, c/0, c/1, c/2 and c/3",
    ]
    suite = json.loads(found.out)["suite"]
    assert suite["published"] == ["b/small", "c/0", "c/1", "c/2", "c/3"]
    assert [model["name"] for model in suite["models"]] == ["b", "w", *suite["published"]]


def test_embeddings_of_a_model_that_is_not_there(call: Call) -> None:
    found = call(*BOTH, "--suite", "--embeddings", "x=x.safetensors")
    assert (found.code, found.err.splitlines()) == (
        2,
        [
            "error: --embeddings: no model of this comparison is called 'x'",
            "hint: choose one of: b, w",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--published"], "--published needs --suite"),
        (["--gold", "g.tsv"], "--gold needs --suite"),
        (["--embeddings", "b=x"], "--embeddings needs --suite"),
        (["--tensor", "x"], "--tensor needs --embeddings"),
        (["--suite", "--gold", "g.tsv"], "can't read g.tsv: No such file or directory"),
        (["--suite", "--embeddings", "b"], "invalid value 'b' for --embeddings"),
        (["--suite", "--embeddings", "b=x", "--embeddings", "b=y"], "--embeddings names b twice"),
        (["--suite", "--tensor", "x"], "--tensor needs --embeddings"),
        (["--suite", "--plot", "x.svg"], "--plot draws the comparison, not the suite"),
    ],
)
def test_what_can_not_be_done(call: Call, arguments: list[str], error: str) -> None:
    found = call(*BOTH, *arguments)
    assert (found.code, found.out) == (2, "")
    first, second = found.err.splitlines()
    assert first == f"error: {error}"
    assert second.startswith("hint: ")


def test_its_metrics_are_explained(call: Call) -> None:
    found = call("--explain", "number_groups")
    assert found.out.startswith("number_groups  groups of digits\n")
    assert "Singh and Strouse 2024, arXiv 2402.14903" in found.out
    names = [
        one["name"] for one in json.loads(call("--explain", "all", "--json").out)["definitions"]
    ]
    assert {"tokens", "gini", "characters_cut", "kept", "apart", "morphscore_recall"} <= set(names)
    assert "did you mean characters_cut?" in call("--explain", "character_cut").err


@pytest.mark.slow
def test_the_page_has_the_suite(call: Call) -> None:
    pytest.importorskip("altair")
    assert call(*BOTH, "--suite", "--html", "x.html").code == 0
    page = Path("x.html").read_text()
    assert '<section id="suite"' in page and "Numbers from 1 to 9,999: cuts by place" in page


# -- What is at hand ---------------------------------------------------------------------------


def test_the_cache_of_tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "encodings"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    assert tiktoken.cached() == {}
    known = tiktoken.ENCODINGS["gpt2"]
    monkeypatch.setitem(tiktoken.PUBLISHED, hashlib.sha256(b"ranks").hexdigest(), known)
    for name in ("a" * 40, "b" * 39, "not-a-digest"):
        (folder / name).write_bytes(b"ranks")
    (folder / ("c" * 40)).write_bytes(b"another")
    (folder / ("d" * 40)).mkdir()
    assert tiktoken.cached() == {"gpt2": folder / ("a" * 40)}
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(folder))
    assert tiktoken.cached() == {"gpt2": folder / ("a" * 40)}


def test_the_cache_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    assert hub.cached() == {}

    def put(name: str, file: str, revision: str = "abc") -> Path:
        folder = tmp_path / "hub" / f"models--{name}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(f"{revision}\n")
        (folder / "snapshots" / "abc").mkdir(parents=True)
        (folder / "snapshots" / "abc" / file).write_text("{}")
        return folder / "snapshots" / "abc"

    second = put("org--name", "tokenizer.json")
    first = put("gpt2", "vocab.json")
    put("org--weights", "model.safetensors")
    put("org--another-revision", "tokenizer.json", "def")
    shutil.rmtree(put("org--interrupted", "tokenizer.json").parents[1] / "refs")
    damaged = put("org--damaged", "tokenizer.json").parents[1] / "refs" / "main"
    damaged.write_bytes(b"\xff\0")
    assert hub.cached() == {"gpt2": first, "org/name": second}
