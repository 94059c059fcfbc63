"""Long answers of `tokctl inspect` on a real terminal: the pager, and how it is left."""

from __future__ import annotations

import contextlib
import os
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.inspecting import printed
from tests.cli.run import command
from tests.cli.terminals import Terminal, on_a_terminal
from tests.explain import models
from tokctl import Tokenizer


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model of more merges than a screen has lines."""
    for name in ("LESS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "many.json"
    word = "".join(map(chr, range(0x4E00, 0x4E00 + 80)))
    Tokenizer.train({word: 1}, vocab_size=500, recipe=models.CHARACTERS).save(path)
    return str(path)


def pager(*arguments: str, **environ: str) -> AbstractContextManager[Terminal]:
    """The command on a terminal; its stderr is a pipe."""
    words = command("inspect", *arguments)
    return on_a_terminal(words, env=environ, stderr=subprocess.PIPE)


def ended(run: Terminal) -> tuple[int, str]:
    """The exit code and what stderr got."""
    code = run.end()
    assert run.process.stderr is not None
    return code, run.process.stderr.read().decode()


def shown(*arguments: str, **environ: str) -> str:
    """All that is shown where nobody has to press a key."""
    with pager(*arguments, **environ) as run:
        assert ended(run) == (0, "")
    return run.shown.decode(errors="replace").replace("\r\n", "\n")


def test_what_fits_on_the_screen_needs_no_pager(many: str) -> None:
    assert "PAGED" not in shown(many, "--merges", ":5", PAGER="echo PAGED")


def test_what_is_longer_goes_through_the_pager(many: str) -> None:
    assert shown(many, "--merges", ":", PAGER="echo PAGED") == "PAGED\n"
    out = shown(many, "--merges", ":", PAGER="sed s/^/PAGED:/")
    assert out.count("PAGED:") == len(out.splitlines()) > 79
    first = shown(many, "--merges", ":", PAGER="head -n 4")
    assert len(first.splitlines()) == 4


@pytest.mark.parametrize(
    "environ", [{"PAGER": ""}, {"PAGER": "cat"}, {"TERM": "dumb", "PAGER": "echo PAGED"}]
)
def test_when_there_is_none(many: str, environ: dict[str, str]) -> None:
    out = shown(many, "--merges", ":", **environ)
    assert "PAGED" not in out
    assert len(out.splitlines()) > 79


def test_no_pager_and_json(many: str) -> None:
    assert len(shown(many, "--merges", ":", "--no-pager", PAGER="echo PAGED").splitlines()) > 79
    assert shown(many, "--merges", ":", "--json", PAGER="echo PAGED").startswith("{")
    assert printed(many, "--merges", ":", "--no-pager") == printed(many, "--merges", ":")


def test_a_pager_that_is_not_there(many: str) -> None:
    with pager(many, "--merges", ":", PAGER="no-such-pager-at-all") as run:
        code, err = ended(run)
    assert len(run.shown.splitlines()) > 79
    assert code == 0
    assert "Traceback" not in err
    assert "no-such-pager-at-all" in err  # the shell says that


def test_less_is_left_by_a_key_and_takes_an_interrupt(many: str) -> None:
    if not any(os.access(f"{folder}/less", os.X_OK) for folder in os.get_exec_path()):
        pytest.skip("there is no less here")
    with pager(many, "--merges", ":", LC_ALL="C.UTF-8") as run:
        run.until(b"\r\n:")
        assert 20 < run.shown.count(b"\n") < 30
        run.type(b"\x03")
        run.read(0.5)
        assert run.process.poll() is None
        for _ in range(1000):  # less throws keys away that come with an interrupt
            with contextlib.suppress(OSError):  # it has ended
                run.type(b"q")
            run.read(0.5)
            if run.process.poll() is not None:
                break
        assert ended(run) == (0, "")


def test_a_reader_who_leaves_gets_no_complaint(many: str) -> None:
    assert shown(many, "--merges", ":", PAGER="true") == ""
