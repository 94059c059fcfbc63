"""Special tokens that two options add: a note says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tokenizers")

from tests.compat.models import document


def run(model: Path, *options: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tokctl", "encode", "-m", str(model), *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_an_end_that_stands_twice(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(document("unigram"))
    done = run(tmp_path / "m.json", "--add-special", "--eos", "</s>", text="a\n")
    assert done.stdout.split()[-2:] == ["1", "1"]
    assert "each text ends with </s> twice" in done.stderr
    for options in (["--add-special"], ["--eos", "</s>"], ["--add-special", "--eos", "<pad>"]):
        assert not run(tmp_path / "m.json", *options, text="a\n").stderr


def test_a_conversation_in_a_template(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(document("unigram"))
    (tmp_path / "t.jinja").write_text("<s>{{ messages[0].content }}")
    chat = json.dumps({"messages": [{"role": "user", "content": "a"}]})
    options = ["--chat", "--chat-template", str(tmp_path / "t.jinja")]
    done = run(tmp_path / "m.json", *options, "--add-special", text=chat + "\n")
    assert "puts <s>, </s> around each conversation" in done.stderr
    assert "around each" not in run(tmp_path / "m.json", *options, text=chat + "\n").stderr
