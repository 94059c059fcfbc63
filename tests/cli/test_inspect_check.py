"""`tokctl inspect --check`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Models
from tests.cli.inspecting import inspect, printed, refused, told
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
    assert lines[0] == f"Health of {healthy}"
    assert lines[-2].startswith("Verdict: ✓ passed; 0 errors, 0 warnings, 0 notes, ")
    data = told(healthy, "--check")
    passed = {one["name"]: one for one in data["passed"]}
    assert passed["unreachable-by-encoding"]["count"] == 0
    assert passed["unreachable-by-encoding"]["of"] == 5
    not_made = {one["name"]: one["reason"] for one in data["not_made"]}
    assert not_made["never-used"] == "it needs a text"
    assert sorted([*passed, *not_made]) == sorted(CHECKS)


def test_a_sick_model(sick: str) -> None:
    ran = inspect(sick, "--check")
    assert (ran.code, ran.err) == (0, "")
    heads = [line for line in ran.out.splitlines() if line.startswith(("✗", "!", "·"))]
    assert heads == [
        "✗ error     no-unknown-token  1 of 1 models",
        "! warning   unreachable-by-pre-tokenizer  1 of 6 tokens",
        "! warning   merges-without-effect  1 of 2 merges",
    ]
    findings = told(sick, "--check")["findings"]
    assert [one["examples"] for one in findings[1:]] == [
        [{"id": 5, "token": "12", "bytes": "3132", "note": ""}],
        [{"id": 5, "token": "12", "bytes": "3132", "note": "step 2: 1 + 2"}],
    ]


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
    assert lines[1] == "on 1 text: 4 bytes, 2 tokens"
    assert "· info      never-used  4 of 5 tokens" in lines
    piped = printed(healthy, "--check", "a.txt", "-", stdin=b"abc").splitlines()
    assert piped[1] == "on 2 texts: 7 bytes, 3 tokens"
    # Nothing is read that is not named.
    assert told(healthy, "--check", stdin=b"abc")["texts"] is None
    Path("b.txt").write_text("xyab")
    shown = printed("-m", healthy, "--check", "b.txt")
    assert "! warning   unknown-in-text  2 of 3 " in shown


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
    few = told(model, "--check", "--limit", "2")["findings"]
    assert max(len(one["examples"]) for one in few) == 2
    all_ = json.loads(printed(model, "--check", "--json", "--limit", "1000"))
    assert all(len(one["examples"]) == one["count"] for one in all_["findings"])


def test_embeddings(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    from safetensors.numpy import save_file

    words = [first + second for first in "abcdefghij" for second in "abcdefghij"]
    tokenizer = byte_level_model(words)
    tokenizer.save(model := str(tmp_path / "model.json"))
    reason = "it needs the embeddings of a language model (--embeddings)"
    assert f"under-trained: {reason}\n" in printed(model, "--check")
    numbers = numpy.random.default_rng(1)
    rows = numbers.normal(size=(2, tokenizer.vocab_size, 32)).astype("f4")
    file = str(tmp_path / "model.safetensors")
    save_file({"wte.weight": rows[0], "lm_head.weight": rows[1]}, file)
    data = told(model, "--check", "--embeddings", file)
    (passed,) = [one for one in data["passed"] if one["name"] == "under-trained"]
    assert (passed["count"], passed["of"]) == (0, 100)
    id_ = tokenizer.token_to_id("ef")
    rows[0, id_] = 0
    save_file({"in": rows[0], "lm_head.weight": rows[1]}, file)
    ran = inspect(model, "--check", "--embeddings", file, "--tensor", "in", "--fail-on", "warning")
    assert (ran.code, ran.err) == (
        1,
        "error: --fail-on warning: warning under-trained (1)\n"
        "hint: --fail-on says how serious a finding has to be\n",
    )
    assert "! warning   under-trained  1 of 100 tokens" in ran.out.splitlines()
    assert f"#{id_} ef (0)" in ran.out
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
def test_a_terminal(sick: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = inspect(sick, "--check", terminal=True)
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= columns
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


def test_bytes_are_shown_where_the_spelling_hides_them(tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    byte_level_model(["é"]).save(path)
    shown = inspect(str(path), "--check", "--limit", "300", terminal=True).out
    assert "À (c0)" in shown


def test_the_summary_tells_of_it(healthy: str) -> None:
    shown = printed(healthy).splitlines()[-1]
    assert shown == "more checks         --check, with a text or without"
