"""`tokctl inspect --watch` before anything is drawn, and once on a real terminal."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.inspecting import refused
from tests.cli.run import command, error, tokctl
from tests.explain import models
from tokctl import Tokenizer
from tokctl.cli import watching
from tokctl.cli.world import Console
from tokctl.model.presets import DEFAULTS

INSTEAD = (
    "without a terminal, --state STEP shows a step, tokctl train --show-steps N the first steps"
)


def watched(*arguments: str, **world: object) -> str:
    """What stderr holds, of a run on a terminal that can't begin."""
    streams = {
        "stdin_is_terminal": True,
        "stdout_is_terminal": True,
        "stderr_is_terminal": True,
        "environ": {"NO_COLOR": "1", "TERM": "xterm"},
    }
    code, out, err = tokctl("inspect", *arguments, "--watch", **{**streams, **world})  # type: ignore[arg-type]
    assert (code, out) == (2, b"")
    return err


def test_without_a_terminal(bpe: str, toy: str) -> None:
    for name in ("stdout", "stderr", "stdin"):
        err = watched(bpe, toy, **{f"{name}_is_terminal": False})
        if name == "stdin":
            message = "--watch reads keys from stdin, which is not a terminal"
            assert err == error(message, "to read the text from stdin, name it: -")
        else:
            assert err == error(f"--watch needs a terminal, and {name} is not one", INSTEAD)
    message = "--watch can't draw on this terminal (TERM=dumb)"
    assert watched(bpe, toy, environ={"TERM": "dumb"}) == error(message, INSTEAD)
    assert refused(bpe, "--watch", toy).startswith("error: --watch needs a terminal")
    assert watched(bpe, "-").startswith("error: can't read the text from stdin (-), the terminal")


def test_models_without_steps(tmp_path: Path, toy: str) -> None:
    pytest.importorskip("textual", reason="the extra watch is not installed")
    path = str(tmp_path / "model.json")
    for algorithm in ("word", "char"):
        Tokenizer.train({"low": 2}, vocab_size=9, recipe=DEFAULTS[algorithm]).save(path)
        err = watched(path, toy)
        assert err.startswith(f"error: a {algorithm} model has no merges: its tokens are chosen")
        assert "\nhint: see how often a token was counted: --token TOKEN" in err
    forgotten = replace(models.model("longest-match").model, merges=[], training=None)
    Tokenizer(forgotten).save(path)
    err = watched(path, toy)
    assert err.startswith("error: there are no steps to watch: this model's file holds no merges")


def test_texts(bpe: str, tmp_path: Path) -> None:
    pytest.importorskip("textual", reason="the extra watch is not installed")
    assert watched(bpe, str(tmp_path / "none")).startswith("error: can't read ")
    empty = tmp_path / "empty"
    empty.write_bytes(b" \n")
    err = watched(bpe, str(empty))
    assert err == error("there is nothing to watch: the text is empty", "name another text")
    err = watched(bpe, "--merges", "1")
    assert err.startswith("error: --merges and --watch can't be asked together")
    assert watched(bpe, "--json").startswith("error: --watch can't be combined with JSON")
    assert watched(bpe, "--limit", "3").startswith("error: --limit needs --merges, ")


def test_textual_is_an_extra(bpe: str, toy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("textual", "tokctl.extras.watch"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    err = watched(bpe, toy)
    assert err == error("watching a training needs textual", "pip install 'tokctl[watch]'")


def test_light_terminals_say_so() -> None:
    for value, light in (("15;0", False), ("0;15", True), ("0;default;7", True), ("", False)):
        world = Console(io.BytesIO(), io.BytesIO(), io.StringIO(), environ={"COLORFGBG": value})
        assert watching.is_light(world) is light


@pytest.mark.parametrize("text", ["named", "piped", "none"])
def test_on_a_terminal(bpe: str, toy: str, text: str) -> None:
    pytest.importorskip("textual", reason="the extra watch is not installed")
    from tests.cli.terminals import on_a_terminal

    pipe = f"cat {toy} | " if text == "piped" else ""
    named = {"named": [toy], "piped": ["-"], "none": []}[text]
    line = pipe + "exec " * (not pipe) + " ".join(command("inspect", bpe, "--watch", *named))
    with on_a_terminal(["sh", "-c", line], columns=90, env={"TERM": "xterm-256color"}) as shell:
        shell.until(b"vocabulary 12")
        shell.type(b"n")
        shell.until(b"vocabulary 13")
        shell.type(b"q")
        assert shell.end() == 0
    assert (b"the bundled sample (no text was named)" in shell.shown) == (text == "none")
