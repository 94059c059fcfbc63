"""The examples and the limits of `docs/chat.md`."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.chat.forms import TEMPLATES, assistant, user, written
from tests.cli import run as cli
from tests.tools.docs.examples import run
from tokctl import Tokenizer, encode_chat
from tokctl.extras.chat import mask, sandbox
from tokctl.idfiles.packing import OPEN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chat.md"
TEXT = PAGE.read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "import tokctl" in each])
def test_the_example(example: str) -> None:
    assert run(example) == example.count("  # ") > 0


def test_the_limits() -> None:
    assert f"after {sandbox.MOST_STEPS:,} steps" in TEXT
    assert f"at most {sandbox.LONGEST_TEMPLATE:,} characters and {sandbox.MOST_TOKENS:,}" in TEXT
    assert f"read more than {sandbox.MOST_WORK:,} characters" in TEXT
    assert f"make more than {sandbox.MOST_MADE:,}" in TEXT
    assert f"may have {mask.MOST_TURNS} turns" in TEXT
    assert f"; {OPEN} are open at a time" in TEXT


def test_packed_sequences_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example that reads them gives each row back, and lets no document see another."""
    pytest.importorskip("safetensors")
    monkeypatch.chdir(tmp_path)
    (example,) = (each for each in EXAMPLES if "packed.safetensors" in each)
    model = written(tmp_path / "model", TEMPLATES["chatml"])
    chats = [[user("a" * n), assistant("b" * (7 * n % 11))] for n in range(1, 30)]
    Path("chats.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    given = ("encode", "-m", model, "--chat", "--assistant-mask", "--pack", "64", "chats.jsonl")
    assert cli.tokctl(*given, "--as", "safetensors", "-o", "packed.safetensors").code == 0
    rows = [json.loads(line) for line in cli.tokctl(*given, "--as", "jsonl").out.splitlines()]
    found: list[dict[str, Any]] = []
    body = example + "    seen.append(dict(locals()))\n"
    exec(body, {"seen": found})
    tok = Tokenizer.load(model)
    assert sum(len(row["input_ids"]) for row in rows) == sum(
        len(encode_chat(tok, chat).ids) for chat in chats
    )
    assert len(found) == len(rows)
    for row, read in zip(rows, found, strict=True):
        ids, positions, labels = (each.tolist() for each in read["row"])
        assert (ids, positions) == (row["input_ids"], row["position_ids"])
        kept = [id_ if on else -100 for id_, on in zip(ids, row["assistant_mask"], strict=True)]
        assert labels == kept
        assert read["cu_seqlens"].tolist() == [0, *accumulate(row["seq_lengths"])]
        assert [int(each.sum()) for each in read["attend"]] == [at + 1 for at in positions]
