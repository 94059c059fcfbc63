"""Running `tokctl compare` in a folder with a text and two models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from pathlib import Path

import pytest

from tests.metrics.models import TEXT, model
from tokctl.cli.app import run
from tokctl.cli.world import Console


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def figures(self) -> Done:
        """Without how it was made, which tells the command line."""
        return replace(self, out=self.out.partition("\nHow this was made")[0])


Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs `tokctl compare` in a folder with a text and two models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    Path("low.txt").write_text(TEXT)
    model("bpe").save("b.json")
    model("wordpiece").save("w.json")

    def called(*arguments: str, stdin: bytes = b"", terminal: bool = False) -> Done:
        out, err = BytesIO(), StringIO()
        world = Console(BytesIO(stdin), out, err, stdin_is_terminal=terminal)
        code = run(["compare", *arguments], world)
        return Done(code, out.getvalue().decode(), err.getvalue())

    return called


SENTENCE = ("--sentence", "the lowest (new) café")
BOTH = ("-m", "b.json", "-m", "w.json", "low.txt")
