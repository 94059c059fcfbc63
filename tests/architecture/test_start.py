"""What `tokctl encode` and `tokctl decode` import: every module is waited for at every start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.formats.models import RECIPES, filled
from tests.formats.test_damaged import stripped
from tokctl import formats

#: What text and ids never pass.
ELSEWHERE = {
    "tokctl.analysis",
    "tokctl.formats.hub",
    "tokctl.formats.huggingface.classes",
    "tokctl.model.presets",
    "tokctl.report",
    "tokctl.tokenizer.postprocess",
    "tokctl.tokenizer.sampling",
    "tokctl.tokenizer.iterables",
    "tokctl.training",
    "tokctl.extras.watch",
}
#: Of the standard library: what takes long, and others import when it is not looked after.
SLOW = {
    "asyncio",
    "concurrent.futures",
    "csv",
    "decimal",
    "email",
    "hashlib",
    "http",
    "logging",
    "multiprocessing",
    "random",
    "sqlite3",
    "ssl",
    "statistics",
    "tempfile",
    "unittest",
    "zipfile",
}
#: Most modules of tokctl's own that a start needs, not counting the algorithms, one file each.
MOST_OWN = 56


#: Runs a command line, and says which modules were imported, and from which files.
RUN = """
import atexit, sys
def say():
    for name, module in list(sys.modules.items()):
        print(name, getattr(module, "__file__", None) or "", sep="|", file=sys.stderr)
atexit.register(say)
from tokctl.__main__ import main
main()
"""


def imported(tmp_path: Path, data: bytes, command: str, text: bytes) -> dict[str, str]:
    """The modules that a command imports, and their files."""
    path = tmp_path / "model.json"
    path.write_bytes(data)
    shown = subprocess.run(
        [sys.executable, "-c", RUN, command, "-m", str(path)],
        input=text,
        capture_output=True,
        check=True,
    )
    assert shown.stdout
    lines = shown.stderr.decode().splitlines()
    return {name: file for name, _, file in (line.partition("|") for line in lines)}


@pytest.fixture(params=["ours", "theirs"])
def data(request: pytest.FixtureRequest) -> bytes:
    ours = formats.serialize(filled(RECIPES["gpt2"]))
    return ours if request.param == "ours" else stripped(ours)


@pytest.mark.parametrize(("command", "text"), [("encode", b"abc\n"), ("decode", b"64 65\n")])
def test_a_start_imports_what_it_needs(
    tmp_path: Path, data: bytes, command: str, text: bytes
) -> None:
    found = imported(tmp_path, data, command, text)
    own = {name for name in found if name.split(".")[0] == "tokctl"}
    assert "tokctl._native" in own
    assert not [name for name in own for other in ELSEWHERE if f"{name}.".startswith(f"{other}.")]
    assert found.keys() & SLOW == set()
    counted = {name for name in own if not name.startswith("tokctl.model.algorithms.")}
    assert len(counted) <= MOST_OWN, sorted(counted)
    assert not own & {"tokctl.model.algorithms.job", "tokctl.model.algorithms.merge_training"}
    commands = {
        "train",
        "encode",
        "decode",
        "inspect",
        "compare",
        "recommend",
        "convert",
        "adapt",
        "corpora",
    }
    assert {name for name in commands if f"tokctl.cli.{name}" in own} == {command}

    outside = {name.split(".")[0] for name, file in found.items() if "site-packages" in file}
    assert outside & {"rich", "regex", "numpy", "tqdm", "pydantic"} == set()
    assert {"typer", "orjson"} <= outside
