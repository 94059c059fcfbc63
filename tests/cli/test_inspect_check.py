"""`tokctl inspect --check`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Models
from tests.cli.inspecting import inspect, printed, refused
from tests.explain.health.sick import CHARACTERS, byte_level_model, merging
from tokctl import Tokenizer
from tokctl.analysis.health import CHECKS
from tokctl.model import Model


@pytest.fixture
def healthy(tmp_path: Path) -> str:
    path = tmp_path / "healthy.json"
    merging(["ab", "abc"]).save(path)
    return str(path)


@pytest.fixture
def sick(tmp_path: Path) -> str:
    """Without an unknown token, with a token that the pre-tokenizer cuts."""
    path = tmp_path / "sick.json"
    recipe = replace(
        CHARACTERS, unk_token=None, special_tokens=(), pre_tokenizers="digits-individual"
    )
    merging(["ab", "12"], recipe).save(path)
    return str(path)


def test_a_healthy_model(healthy: str) -> None:
    lines = printed(healthy, "--check", "--fail-on", "info").splitlines()
    assert lines[0] == f"model\t{healthy}\t6"
    assert lines[-1].startswith("verdict\tpassed\t0 errors, 0 warnings, 0 notes, ")
    assert "passed\tunreachable-by-encoding\t0\t5\ttokens\t0" in lines
    assert "not made\tnever-used\tit needs a text" in lines
    names = [line.split("\t")[1] for line in lines[1:-1]]
    assert sorted(names) == sorted(CHECKS)


def test_a_sick_model(sick: str) -> None:
    ran = inspect(sick, "--check")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[1] == "error\tno-unknown-token\t1\t1\tmodels\t0"
    assert lines[2] == "warning\tunreachable-by-pre-tokenizer\t1\t6\ttokens\t0"
    assert lines[3] == "example\tunreachable-by-pre-tokenizer\t5\t12\t3132\t"
    assert lines[4] == "warning\tmerges-without-effect\t1\t2\tmerges\t0"
    assert lines[5] == "example\tmerges-without-effect\t5\t12\t3132\tstep 2: 1 + 2"


@pytest.mark.parametrize(
    ("fail_on", "code"), [("info", 1), ("warning", 1), ("error", 1), (None, 0)]
)
def test_fail_on(sick: str, fail_on: str | None, code: int) -> None:
    ran = inspect(sick, "--check", *(["--fail-on", fail_on] if fail_on else []))
    assert ran.code == code
    assert ran.out == inspect(sick, "--check").out
    if fail_on == "error":
        assert ran.err.startswith("error: --fail-on error: error no-unknown-token (1)\nhint: ")
    elif fail_on:
        assert ran.err.startswith(f"error: --fail-on {fail_on}: error no-unknown-token (1), warn")


def test_fail_on_what_is_less_bad(models: Models) -> None:
    # Partial UTF-8 is worth knowing in a byte-level model, and nothing worse is found.
    assert inspect(str(models["bytes"]), "--check", "--fail-on", "warning").code == 0
    assert inspect(str(models["bytes"]), "--check", "--fail-on", "info").code == 1


def test_a_text(healthy: str) -> None:
    Path("a.txt").write_text("abab")
    lines = printed(healthy, "--check", "a.txt").splitlines()
    assert lines[1] == "texts\t1\t4\t2"
    assert "info\tnever-used\t4\t5\ttokens\t0" in lines
    piped = printed(healthy, "--check", "a.txt", "-", stdin=b"abc").splitlines()
    assert piped[1] == "texts\t2\t7\t3"
    # Nothing is read that is not named.
    assert "texts" not in printed(healthy, "--check", stdin=b"abc")
    Path("b.txt").write_text("xyab")
    assert "warning\tunknown-in-text\t2\t3\t" in printed("-m", healthy, "--check", "b.txt")


def test_json(sick: str) -> None:
    data = json.loads(printed(sick, "--check", "--json", "--limit", "1"))
    assert data["verdict"] == "error"
    assert data["texts"] is None
    assert data["findings"][1]["examples"] == [
        {"id": 5, "token": "12", "bytes": "3132", "note": ""}
    ]
    ran = inspect(sick, "--check", "--json", "--fail-on", "error")
    assert ran.code == 1
    assert json.loads(ran.out)["verdict"] == "error"


def test_limit(models: Models) -> None:
    model = str(models["bytes"])
    few = printed(model, "--check", "--limit", "2").splitlines()
    examples = [line.split("\t")[1] for line in few if line.startswith("example")]
    assert max(map(examples.count, examples)) == 2
    all_ = json.loads(printed(model, "--check", "--json", "--limit", "1000"))
    assert all(len(one["examples"]) == one["count"] for one in all_["findings"])


def test_embeddings(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    from safetensors.numpy import save_file

    words = [first + second for first in "abcdefghij" for second in "abcdefghij"]
    tokenizer = byte_level_model(words)
    tokenizer.save(model := str(tmp_path / "model.json"))
    lines = printed(model, "--check").splitlines()
    reason = "it needs the embeddings of a language model (--embeddings)"
    assert f"not made\tunder-trained\t{reason}" in lines
    numbers = numpy.random.default_rng(1)
    rows = numbers.normal(size=(2, tokenizer.vocab_size, 32)).astype("f4")
    file = str(tmp_path / "model.safetensors")
    save_file({"wte.weight": rows[0], "lm_head.weight": rows[1]}, file)
    lines = printed(model, "--check", "--embeddings", file).splitlines()
    assert "passed\tunder-trained\t0\t100\ttokens\t0" in lines
    id_ = tokenizer.token_to_id("ef")
    rows[0, id_] = 0
    save_file({"in": rows[0], "lm_head.weight": rows[1]}, file)
    ran = inspect(model, "--check", "--embeddings", file, "--tensor", "in", "--fail-on", "warning")
    assert (ran.code, ran.err) == (
        1,
        "error: --fail-on warning: warning under-trained (1)\n"
        "hint: --fail-on says how serious a finding has to be\n",
    )
    assert "warning\tunder-trained\t1\t100\ttokens\t0" in ran.out.splitlines()
    assert f"example\tunder-trained\t{id_}\tef\t6566\t0" in ran.out.splitlines()
    data = json.loads(printed(model, "--check", "--embeddings", file, "--tensor", "in", "--json"))
    assert data["findings"][0]["detail"].startswith("L2 norm in in below ")
    assert "has no tensor 'x'" in refused(model, "--check", "--embeddings", file, "--tensor", "x")
    # Before a text is read.
    assert "can't read none" in refused(model, "--check", "none.txt", "--embeddings", "none")


def test_errors(models: Models) -> None:
    Path("bad.txt").write_bytes(b"low\xff")
    assert "is not UTF-8" in refused(str(models["characters"]), "--check", "bad.txt")
    printed(str(models["characters"]), "--check", "bad.txt", "--errors", "replace")
    printed(str(models["bytes"]), "--check", "bad.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--embeddings", "x"], "--embeddings needs --check"),
        (["--word", "a", "--tensor", "x"], "--tensor needs --embeddings"),
        (["--check", "--tensor", "x"], "--tensor needs --embeddings"),
        (["--fail-on", "error"], "--fail-on needs --check"),
        (["--check", "--fail-on", "bad"], "invalid value 'bad' for --fail-on"),
        (["--check", "--rounds"], "can't be asked together"),
        (["--check", "none.txt"], "can't read none.txt"),
        (["--check", "--limit", "0"], "0"),
        (["--check", "-", "-"], "stdin (-) is named twice"),
    ],
)
def test_what_is_refused(healthy: str, arguments: list[str], message: str) -> None:
    err = refused(healthy, *arguments)
    assert message in err
    assert "hint: " in err


@pytest.mark.parametrize("columns", [40, 60, 100, 160])
def test_a_terminal(sick: str, columns: int) -> None:
    ran = inspect(sick, "--check", terminal=True, environ={"COLUMNS": str(columns)})
    assert (ran.code, ran.err) == (0, "")
    assert "✗ error" in ran.out and "! warning" in ran.out and "✓ passed" in ran.out
    assert "#5 12" in ran.out
    assert "Verdict: ✗ error; 1 error, 2 warnings, 0 notes" in " ".join(ran.out.split())


def test_hostile_tokens_are_shown_safely(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e\t[bold]\n"
    recipe = CHARACTERS
    letters = sorted({c.encode() for c in evil})
    tokens = [b"[UNK]", *letters, evil.encode()]
    path = tmp_path / "evil.json"
    Tokenizer(Model(recipe, tokens)).save(path)
    for terminal in (True, False):
        ran = inspect(str(path), "--check", "--limit", "99", terminal=terminal)
        assert ran.code == 0
        assert not {"\x1b", "\u202e"} & set(ran.out)
        assert "[bold]" in ran.out
    assert all(1 < line.count("\t") < 7 for line in ran.out.splitlines())


def test_bytes_are_shown_where_the_spelling_hides_them(tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    byte_level_model(["é"]).save(path)
    shown = inspect(str(path), "--check", "--limit", "300", terminal=True).out
    assert "À (c0)" in shown


def test_the_summary_tells_of_it(healthy: str) -> None:
    assert printed(healthy).splitlines()[-1] == "more checks\t--check, with a text or without"
